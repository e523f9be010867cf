"""Judges and people looked at closely, as tables: counted otherwise, by order, as scores, by domain, across scales."""

from __future__ import annotations

from typing import Any

from exchange.figures import write_count, write_percent
from exchange.grid import Table
from exchange.sentences import Told, told


def list_detail_tables(value: dict[str, Any]) -> tuple[Table, ...]:
    """Return the tables that look closer."""
    found = (
        tabulate_otherwise(value),
        tabulate_balance(value),
        tabulate_reliability(value),
        tabulate_votes(value),
        tabulate_orders(value),
        tabulate_scores(value),
        tabulate_domains(value),
        tabulate_ranks(value),
        tabulate_scales(value),
    )
    return tuple(table for table in found if table.rows)


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
    head = ["judge", "n", "labels as often, p", "exchanged alike, p", *scores.values()]
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
    return Told("–", why) if p is None else Told("< 0.001" if p < 0.001 else f"{p:.3f}")


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
    rows = [
        [
            f"◆ {judge['name']}",
            write_count(judge["vs_consensus"]["mae"]["n"]),
            *(told(judge["vs_consensus"][key]) for key in kept),
            told(judge["vs_consensus"]["pooled"]["within_prompts"]),
            told(judge["vs_consensus"]["pooled"]["between_models"]),
            told(judge["vs_consensus"]["ranking_accuracy"], percent=True),
            _tell_attenuation(judge["vs_consensus"]["attenuation"]),
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
    return Table("Alternative annotator test by first tag", ["judge", "tag", "ω", ""], rows)


def tabulate_ranks(value: dict[str, Any]) -> Table:
    """Return how far each judge ranks the models as people do."""
    found = (value["ranking"] or {}).get("agreement", {})
    rows = [[f"◆ {name}", told(made), told(made["kendall"])] for name, made in found.items()]
    head = ["judge", "Spearman of strengths", "Kendall tau-b of strengths"]
    return Table("Models ranked by judge and by people", head, rows)


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
