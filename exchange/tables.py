"""A study's agreement as tables for people: in a terminal, in the report and to copy, all from the same rows."""

from __future__ import annotations

import json
from typing import Any

from exchange.detail_tables import chance, list_detail_tables
from exchange.figures import write_count
from exchange.grid import Table, as_text, fit
from exchange.model_tables import list_model_tables
from exchange.sentences import Told, count_undecided, told


def list_tables(value: dict[str, Any]) -> list[Table]:
    """Return every table of a study's agreement that has a row."""
    made = (
        _flow(value),
        _raters(value),
        _judges(value),
        _pairs(value),
        _groups(value),
        _biases(value),
        *list_detail_tables(value),
        _comparisons(value),
        _corrected(value),
        *list_model_tables(value),
        _policies(value),
        _people(value),
        _tried(value),
    )
    return [fit(table) for table in made if table.rows]


LENGTH = ("judge", "human", "difference", "preference")
STEPS = ("sampled", "judged", "readable", "labelled", "overlapping")
_LOST = {
    "not_judged": "items not judged",
    "unreadable": "replies unreadable",
    "refused": "replies refused",
    "cut_off": "replies cut off",
    "failed": "replies failed",
    "not_labelled": "items without a person's label",
    "after_reveal": "verdicts after a reveal",
    "withdrawn": "verdicts withdrawn",
}


def count_flow(value: dict[str, Any]) -> list[tuple[str, int]]:
    """Return how many items there are at each step, and how many items, replies and verdicts are lost on the way."""
    flow, undecided = value["flow"], count_undecided(value)
    lost = [(_LOST[why], int(number)) for why, number in flow["reasons"].items() if number]
    open_items = [("items without a consensus of people", undecided)] if undecided else []
    return [*((step, int(flow[step])) for step in STEPS), *lost, *open_items]


def _flow(value: dict[str, Any]) -> Table:
    rows = [[step, write_count(number)] for step, number in count_flow(value)]
    return Table("Items, from sampled to overlapping", ["step", "count"], rows)


def _raters(value: dict[str, Any]) -> Table:
    head = ["rater", "kind", "verdicts", "missing", "unreadable", "refused", "cut off", "failed"]
    keys = ("verdicts", "missing", "unreadable", "refused", "cut_off", "failed")
    rows = [[mark(rater), rater["kind"], *(write_count(rater[key]) for key in keys)] for rater in value["raters"]]
    return Table("Raters", head, rows)


def mark(rater: dict[str, Any]) -> str:
    """Return a rater's name behind the mark of their kind."""
    return f"{'●' if rater['kind'] == 'human' else '◆'} {rater['name']}"


def _judges(value: dict[str, Any]) -> Table:
    head = [
        "judge",
        "n",
        "agreement",
        "kappa",
        "quadratic kappa",
        "AC1",
        "people–judge",
        "people–people",
        "gap",
        "alt-test",
    ]
    rows = []
    for judge in value["judges"]:
        pair, test = judge["vs_consensus"], judge["alt_test"]
        passes = (
            Told("–", test["why"] or "undefined")
            if test["passes"] is None
            else f"ω {test['winning_rate']:.2f}, {'passes' if test['passes'] else 'fails'}"
        )
        shown = [told(pair["exact"], percent=True), *(told(pair[key]) for key in ("kappa", "kappa_quadratic", "ac1"))]
        ceiling = [told(judge[key]) for key in ("leave_one_out", "human_ceiling", "gap")]
        rows.append([f"◆ {judge['name']}", write_count(pair["n"]), *shown, *ceiling, passes])
    return Table("Judges against the people's consensus and the human ceiling", head, rows)


def _pairs(value: dict[str, Any]) -> Table:
    head = ["first", "second", "n", "agreement", "kappa", "quadratic kappa", "AC1", "Spearman"]
    keys = ("kappa", "kappa_quadratic", "ac1", "spearman")
    marks = {"human": "●", "judge": "◆"}
    rows = [
        [
            *(f"{marks[kind]} {pair[side]}" for side, kind in zip("ab", pair["kinds"], strict=True)),
            write_count(pair["n"]),
            told(pair["exact"], percent=True),
            *(told(pair[key]) for key in keys),
        ]
        for pair in value["pairs"]
    ]
    return Table("Every two raters", head, rows)


def _groups(value: dict[str, Any]) -> Table:
    names = {
        "fleiss_kappa": "Fleiss' kappa, by item",
        "fleiss_kappa_pairs": "by pair",
        "ac1": "AC1",
        "ac2": "AC2",
        "alpha_nominal": "alpha nominal",
        "alpha_ordinal": "alpha ordinal",
        "alpha_interval": "alpha interval",
        "mean_kappa": "mean of pairs' kappas",
        "mean_kappa_by_overlap": "by overlap",
        "alpha_two_way": "alpha ordinal, raters drawn too",
    }
    kept = {key: title for key, title in names.items() if key in value["groups"]["humans"]}
    scores = {"icc_2_1": "ICC(2,1)", "icc_2_k": "ICC(2,k)"} if "icc" in value["groups"]["humans"] else {}
    rows = [
        [
            name,
            write_count(group["raters"]),
            write_count(group["n_items"]),
            *(told(group[key]) for key in kept),
            *(told(group["icc"][key]) for key in scores),
        ]
        for name, group in value["groups"].items()
        if group["raters"] >= 2
    ]
    return Table("Raters together", ["group", "raters", "items", *kept.values(), *scores.values()], rows)


def _biases(value: dict[str, Any]) -> Table:
    head = [
        "rater",
        "first position wins",
        "order effect",
        "longer wins",
        "people's",
        "difference",
        "longer, at people's verdict",
        "both orders agree",
    ]
    rows = []
    for rater in value["raters"] if value["kind"] == "pairwise" else ():
        position = rater["position"]
        judge = next(
            (one for one in value["judges"] if rater["kind"] == "judge" and one["name"] == rater["name"]), None
        )
        length = judge["length"] if judge else None
        shown = [told(length[key], percent=key != "preference") for key in LENGTH] if length else [""] * len(LENGTH)
        swapped = judge["swap_consistency"] if judge else rater["self_consistency"]["consistency"]
        first = [told(position["first_position_rate"], percent=True), told(position["order_effect"])]
        rows.append([mark(rater), *first, *shown, told(swapped, percent=True)])
    return Table("Position and length", head, rows)


def _comparisons(value: dict[str, Any]) -> Table:
    names = {"exact": "agreement", "kappa": "kappa", "ac1": "AC1"}
    names |= {"pearson": "Pearson"} if value["kind"] == "direct" else {}
    differences = [f"{name}, second − first" for name in names.values()]
    head = ["first", "second", "n", *differences, "McNemar p", "q", "q, dependent"]
    rows = [
        [
            f"◆ {pair['a']}",
            f"◆ {pair['b']}",
            write_count(pair["n"]),
            *(told(pair[key], percent=key == "exact") for key in names),
            chance(pair["mcnemar_p"], pair["mcnemar_p_why"] or ""),
            chance(pair.get("q"), pair["mcnemar_p_why"] or ""),
            chance(pair.get("q_dependent"), pair["mcnemar_p_why"] or ""),
        ]
        for pair in value["comparisons"]
    ]
    return Table("Judge against judge, on the same items and people", head, rows)


def _corrected(value: dict[str, Any]) -> Table:
    percent, two = value["kind"] == "pairwise", len(value["scale"]) == 2
    head = ["judge", "of", "corrected", "people only", "judge only (biased)", "labels' worth", "Rogan–Gladen"]
    rows = []
    for judge in value["judges"]:
        made = judge["corrected_win_rate"]
        shown = [told(part, percent=percent) for part in (made, made["human_only"], made["judge_only"])]
        gain = Told("–", "there is no interval") if made["gain"] is None else f"{made['gain']:.2f}×"
        other = [told(made["rogan_gladen"], percent=percent)] if two else []
        rows.append([f"◆ {judge['name']}", made["of"], *shown, gain, *other])
    return Table("Corrected by people's labels (prediction-powered)", head if two else head[:-1], rows)


def _policies(value: dict[str, Any]) -> Table:
    head = ["judge", "levels", "two orders", "length rule", "n", "agreement", "kappa"]
    rows = [
        [
            f"◆ {judge['name']}",
            policy["levels"],
            policy["combine"],
            "none" if policy["length_k"] is None else f"> {policy['length_k']}",
            write_count(policy["n"]),
            told(policy["exact"], percent=True),
            told(policy["kappa"]),
        ]
        for judge in value["judges"]
        for policy in judge["policies"]
    ]
    return Table("How much of it is the rule", head, rows)


def _people(value: dict[str, Any]) -> Table:
    head = ["annotator", "median seconds", "with themselves", "early", "late", "drift"]
    rows = []
    for rater in value["raters"]:
        if rater["kind"] == "human":
            pace, drift = rater["pace"], rater["drift"]
            shown = [told(drift[key], percent=True) for key in ("early", "late")]
            again = told(rater["self_consistency"]["consistency"], percent=True)
            middle = Told("–", pace["why"]) if pace["median"] is None else f"{pace['median']:.0f}"
            rows.append([mark(rater), middle, again, *shown, told(drift["difference"], percent=True)])
    return Table("Annotators", head, rows)


def _tried(value: dict[str, Any]) -> Table:
    head = ["judge", "protocol", "hash", "settings", "study"]
    rows = [
        [
            f"◆ {one['judge']}",
            one["protocol"],
            one["protocol_hash"].rpartition(":")[2][:12],
            "came with a file" if one["settings"] is None else json.dumps(one["settings"], ensure_ascii=False),
            ", ".join(one["studies"]),
        ]
        for one in value["split"].get("tried", ())
    ]
    return Table("Tried on the test part", head, rows)


def tell_all(value: dict[str, Any]) -> str:
    """Return everything for a terminal: the sentence, the tables, what to beware of."""
    parts = [value["sentence"], *(f"{table.title}\n{as_text(table)}" for table in list_tables(value))]
    if value["warnings"]:
        parts.append("Beware\n" + "\n".join(f"- {warning}" for warning in value["warnings"]))
    return "\n\n".join(parts) + "\n"
