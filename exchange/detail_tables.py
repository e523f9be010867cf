"""Judges and people looked at closely, as tables: counted otherwise, by order, as scores, by domain, across scales."""

from __future__ import annotations

from typing import Any

from exchange.charts import show_order
from exchange.figures import write_count, write_percent
from exchange.grid import Table
from exchange.sentences import NAMES, Told, told

SILENT = {"unreadable": "unreadable", "refused": "refused", "cut_off": "cut off", "failed": "failed"}


def list_detail_tables(value: dict[str, Any]) -> tuple[Table, ...]:
    """Return the tables that look closer."""
    found = (
        tabulate_ceilings(value),
        tabulate_left_out(value),
        tabulate_labels(value),
        tabulate_otherwise(value),
        tabulate_balance(value),
        tabulate_reliability(value),
        tabulate_votes(value),
        tabulate_orders(value),
        tabulate_scores(value),
        tabulate_replaced(value),
        tabulate_domains(value),
        tabulate_ranks(value),
        tabulate_scales(value),
    )
    return tuple(table for table in found if table.rows)


def tabulate_ceilings(value: dict[str, Any]) -> Table:
    """Return people with each other beside judges with people in every statistic that there is a ceiling of."""
    rows = [
        [
            f"◆ {judge['name']}",
            NAMES[name],
            write_count(found["n"]),
            *(told(found[key], percent=name == "exact") for key in ("human_human", "human_judge", "gap")),
        ]
        for judge in value["judges"]
        for name, found in judge["ceilings"].items()
        if found["n"]
    ]
    head = ["judge", "statistic", "n", "people–people", "people–judge", "gap"]
    return Table("The human ceiling in each statistic", head, rows)


def tabulate_left_out(value: dict[str, Any]) -> Table:
    """Return what judges did not say, and between which ends their agreement lies whatever it would have been."""
    rows = []
    for judge in value["judges"]:
        left = judge["left_out"]
        if not any(left[reason] for reason in SILENT):
            continue
        unknown = Told("–", left["bounds_why"] or "undefined")
        ends = [unknown, unknown] if left["bounds"] is None else [_share(end) for end in left["bounds"]]
        counts = [write_count(left[reason]) for reason in (*SILENT, "items")]
        rows.append([f"◆ {judge['name']}", *counts, *ends])
    head = ["judge", *SILENT.values(), "items without a label", "agreement if none agreed", "agreement if all agreed"]
    return Table("What judges did not say", head, rows)


def tabulate_labels(value: dict[str, Any]) -> Table:
    """Return how often each rater gave each label of the protocol, which kappa and AC must be read beside."""
    labels, rows = value["declared_scale"], []
    order = show_order(labels)
    for rater in value["raters"]:
        counts = rater["labels"]
        total = sum(counts)
        if total:
            shares = (_counted(counts[at], total) for at in order)
            mark = "●" if rater["kind"] == "human" else "◆"
            rows.append([f"{mark} {rater['name']}", write_count(total), *shares])
    return Table("Labels given", ["rater", "n", *(labels[at] for at in order)], rows)


def _counted(count: int, total: int) -> Told:
    return Told(f"{write_count(count)} ({write_percent(count / total)})", estimate=_exactly(count))


def _share(value: float) -> Told:
    return told(_exactly(value), percent=True)


def _exactly(value: float) -> dict[str, Any]:
    """Return a number that has no interval as an estimate, which a CSV file has with all its digits."""
    return {"value": value, "low": None, "high": None}


def tabulate_otherwise(value: dict[str, Any]) -> Table:
    """Return judges against the consensus in the statistics that the first table has no room for."""
    shares = {
        "three_way": "same side or tie",
        "without_ties": "where neither says tie",
        "tie_coverage": "share of those items",
        "judge_decisive": "where people decide",
        "within_one": "within one label",
    }
    numbers = {
        "kappa_linear": "linear kappa",
        "ac2": "AC2",
        "scott_pi": "Scott's pi",
        "pabak": "PABAK",
        "prevalence_index": "prevalence index",
        "bias_index": "bias index",
    }
    known = [judge for judge in value["judges"] if judge["vs_consensus"]["n"]]
    first = known[0]["vs_consensus"] if known else {}
    kept = [key for key in (*shares, *numbers) if key in first]
    rows = [
        [
            f"◆ {judge['name']}",
            write_count(judge["vs_consensus"]["n"]),
            *(told(judge["vs_consensus"][key], percent=key in shares) for key in kept),
        ]
        for judge in known
    ]
    named = shares | numbers
    return Table("Judges against the consensus, counted otherwise", ["judge", "n", *(named[key] for key in kept)], rows)


def tabulate_balance(value: dict[str, Any]) -> Table:
    """Return whether a judge uses the labels as people's consensus does, and how well it finds each of them."""
    scores = {"macro_precision": "macro precision", "macro_recall": "macro recall", "macro_f1": "macro F1"}
    head = ["judge", "n", "Stuart–Maxwell p", "Bowker p", *scores.values()]
    rows = []
    for judge in value["judges"]:
        found = judge["vs_consensus"].get("table")
        if found:
            tests = [chance(found[key]["p"], found[key].get("why", "")) for key in ("homogeneity", "symmetry")]
            shown = [told(found[key], percent=True) for key in scores]
            rows.append([f"◆ {judge['name']}", write_count(judge["vs_consensus"]["n"]), *tests, *shown])
    return Table("Which labels the judges give, beside the consensus", head, rows)


def tabulate_reliability(value: dict[str, Any]) -> Table:
    """Return what each person says given the true label, where the consensus is Dawid and Skene's."""
    labels, found = value["scale"], value["consensus"].get("confusion", {})
    rows = [
        [f"● {name}", label, *(write_percent(share) for share in shares)]
        for name, matrix in found.items()
        for label, shares in zip(labels, matrix, strict=True)
    ]
    differs = write_percent(value["consensus"]["differs_from_majority"], 1) if found else ""
    title = f"What people say by the true label (Dawid and Skene, {differs} of items not as the most said)"
    return Table(title, ["person", "true label", *(f"says {label}" for label in labels)], rows)


def tabulate_votes(value: dict[str, Any]) -> Table:
    """Return judges and people against every person's vote, all pairs of votes in one table (MT-Bench's S1 and S2)."""
    shares = {
        "exact": "agreement",
        "without_ties": "where neither says tie",
        "tie_coverage": "share of those votes",
    }
    numbers = {"kappa": "kappa", "kappa_quadratic": "quadratic kappa", "ac1": "AC1"}
    people = ("● people", value["groups"]["humans"]["pooled_pairs"])
    found = [people, *((f"◆ {judge['name']}", judge["vs_humans"]) for judge in value["judges"])]
    known = [(name, votes) for name, votes in found if votes["n"]]
    kept = [key for key in (*shares, *numbers) if known and key in known[0][1]]
    rows = [
        [
            name,
            write_count(votes["n"]),
            write_count(votes["n_items"]),
            *(told(votes[key], percent=key in shares) for key in kept),
        ]
        for name, votes in known
    ]
    named = shares | numbers
    head = ["with people's votes", "pairs of votes", "items", *(named[key] for key in kept)]
    return Table("Every person's vote counted", head, rows)


def tabulate_orders(value: dict[str, Any]) -> Table:
    """Return what changes in a judge's verdicts when the sides change."""
    shares = {
        "consistency": "same label",
        "consistency_three_way": "same side or tie",
        "joint": "right in both orders",
        "accuracy_ab": "right in order AB",
        "accuracy_ba": "right in order BA",
    }
    head = ["judge", "n", *shares.values(), "kappa", "order effect", "fairness", "moved to first, second", "p"]
    rows = []
    for judge in value["judges"] if value["kind"] == "pairwise" else ():
        swap = judge["swap"]
        if not swap["n"]:
            continue  # it was asked in one order only, which is among what to beware of
        moved = [swap[f"hard_{place}"] + swap[f"soft_{place}"] for place in ("first", "second")]
        rows.append(
            [
                f"◆ {judge['name']}",
                write_count(swap["n"]),
                *(told(swap[key], percent=True) for key in shares),
                *(told(swap[key]) for key in ("kappa", "order_effect", "fairness")),
                f"{moved[0]}, {moved[1]}",
                chance(swap["p"], "no verdict moved"),
            ]
        )
    return Table("A judge's two orders", head, rows)


def chance(p: float | None, why: str) -> Told:
    """Return a p-value for reading."""
    if p is None:
        return Told("–", why)
    return Told("< 0.001" if p < 0.001 else f"{p:.3f}", estimate=_exactly(p))


def tabulate_scores(value: dict[str, Any]) -> Table:
    """Return a judge's scores against people's: over all items, within prompts, and between models."""
    keys = {
        "pearson": "Pearson",
        "spearman": "Spearman",
        "kendall": "Kendall tau-b",
        "ccc": "Lin's concordance",
        "mae": "MAE",
        "rmse": "RMSE",
        "bias": "bias",
    }
    known = [judge for judge in value["judges"] if value["kind"] == "direct" and judge["vs_consensus"]["mae"]["n"]]
    kept = [key for key in keys if known and key in known[0]["vs_consensus"]]
    pooled = ["Spearman within prompts", "Spearman between models", "pairs ordered alike", "Pearson over its bound"]
    pooled.append("longer, at people's verdict")
    rows = [
        [
            f"◆ {judge['name']}",
            write_count(judge["vs_consensus"]["mae"]["n"]),
            *(told(judge["vs_consensus"][key]) for key in kept),
            told(judge["vs_consensus"]["pooled"]["within_prompts"]),
            told(judge["vs_consensus"]["pooled"]["between_models"]),
            told(judge["vs_consensus"]["ranking_accuracy"], percent=True),
            _tell_attenuation(judge["vs_consensus"]["attenuation"]),
            told(judge["length"]["preference"]),
        ]
        for judge in known
    ]
    return Table(
        "Scores of judges against the mean of people", ["judge", "n", *(keys[key] for key in kept), *pooled], rows
    )


def _tell_attenuation(found: dict[str, Any]) -> str:
    """Return a correlation relative to the most it can be, given how well people's mean is known."""
    if found["relative"] is None:
        return Told("–", found["why"])
    why = f"people's mean has the reliability {found['reliability']:.2f}, so r can be {found['bound']:.2f} at most"
    return Told(f"{found['relative']:.2f}", why)


def tabulate_replaced(value: dict[str, Any]) -> Table:
    """Return the alternative annotator test for each person, and over all of them what judges are ranked by."""
    rows = []
    for judge in value["judges"]:
        test, name = judge["alt_test"], f"◆ {judge['name']}"
        for one in test["annotators"]:
            unknown = Told("–", one["why"] or "undefined")
            found = (one["judge_advantage"], one["human_advantage"])
            shares = (unknown if share is None else _share(share) for share in found)
            may = unknown if one["p"] is None else "yes" if one["rejected"] else "no"
            rows.append([name, f"● {one['name']}", write_count(one["n"]), *shares, chance(one["p"], unknown.why), may])
        if test["advantage_probability"] is not None:
            passes = f"ω {test['winning_rate']:.2f}"
            rows.append([name, "mean (ρ)", "", _share(test["advantage_probability"]), "", "", passes])
    head = ["judge", "person", "n", "judge as close", "person as close", "p", "may be replaced"]
    return Table("Alternative annotator test, person by person", head, rows)


def tabulate_domains(value: dict[str, Any]) -> Table:
    """Return the alternative annotator test by the items' first tag, false discoveries controlled over all."""
    rows = []
    for judge in value["judges"]:
        if all(found["winning_rate"] is None for found in judge["alt_test"]["domains"]):
            continue  # the test as a whole says why
        for found in judge["alt_test"]["domains"]:
            rate = found["winning_rate"]
            shown = Told("–", "no person has 30 items there with the judge and another person")
            passes = shown if rate is None else "passes" if rate >= 0.5 else "fails"
            rows.append([f"◆ {judge['name']}", found["domain"], shown if rate is None else f"{rate:.2f}", passes])
    return Table("Alternative annotator test by first tag", ["judge", "tag", "ω", "alt-test"], rows)


def tabulate_ranks(value: dict[str, Any]) -> Table:
    """Return how far each judge ranks the models as people do."""
    found = (value["ranking"] or {}).get("agreement", {})
    rows = [
        [f"◆ {name}", _count_ranked(value, name), told(made), told(made["kendall"])] for name, made in found.items()
    ]
    head = ["judge", "models", "Spearman of strengths", "Kendall tau-b of strengths"]
    return Table("Models ranked by judge and by people", head, rows)


def _count_ranked(value: dict[str, Any], judge: str) -> str:
    strengths = ((model["bradley_terry"], model["by"][judge]["bradley_terry"]) for model in value["models"])
    return write_count(sum(people["value"] is not None and own["value"] is not None for people, own in strengths))


def tabulate_scales(value: dict[str, Any]) -> Table:
    """Return whether scores and preferences tell the same story."""
    scales = value.get("cross_scale", {"raters": (), "study": ""})
    head = ["rater", "n", "left out", "same side or tie", "kappa", "Spearman", "Kendall tau-b"]
    rows = [
        [
            "● people" if one["rater"] == "humans" else f"◆ {one['rater']}",
            write_count(one["n"]),
            write_count(one["left_out"]),
            told(one["exact"], percent=True),
            *(told(one[key]) for key in ("kappa", "values_spearman", "values_kendall")),
        ]
        for one in scales["raters"]
    ]
    return Table(f"Preferences against differences of scores ({scales['study']})", head, rows)
