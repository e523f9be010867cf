"""The cards of the agreement page that speak of the people: how far they agree, and how each of them works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exchange.glossary import AC1, MEANINGS
from ui.agreement_parts import (
    cell,
    count_cell,
    estimate_cell,
    show_card,
    show_cells,
    show_dash,
    show_listing,
    show_rater,
)
from ui.display import escape

Value = dict[str, Any]
TOGETHER = {
    "alpha_ordinal": ("Krippendorff's alpha, ordinal", MEANINGS["alpha ordinal"]),
    "alpha_nominal": ("Krippendorff's alpha, nominal", MEANINGS["alpha nominal"]),
    "fleiss_kappa": ("Fleiss' kappa", "Kappa for any number of raters, every item counted alike"),
    "ac1": ("Gwet's AC1", AC1),
    "fleiss_kappa_pairs": ("Fleiss' kappa, by pairs", "The same with every pair of verdicts counted alike"),
    "ac2": ("Gwet's AC2", MEANINGS["AC2"]),
    "alpha_interval": ("Krippendorff's alpha, interval", MEANINGS["alpha interval"]),
    "mean_kappa": ("mean of pairwise kappas", "Cohen's kappa of every two people, averaged"),
    "mean_kappa_by_overlap": ("the same, by common items", "Pairs with more items in common count for more"),
    "alpha_two_way": (
        "alpha, ordinal, other raters drawn too",
        "The interval allows for other people too, not only other items",
    ),
}
SCORES = {
    "icc_2_1": ("ICC(2,1)", MEANINGS["ICC(2,1)"]),
    "icc_2_k": ("ICC(2,k)", MEANINGS["ICC(2,k)"]),
}


def list_people_cards(value: Value) -> Iterator[str]:
    """Yield how far people agree with each other, and how fast and steadily each of them works."""
    yield _together(value)
    yield _people(value)


def _together(value: Value) -> str:
    group = value["groups"]["humans"]
    found = [(named, group[key]) for key, named in TOGETHER.items() if key in group]
    found += [(named, group["icc"][key]) for key, named in SCORES.items() if key in group.get("icc", {})]
    rows = [
        cell(f'<span title="{escape(meant)}">{escape(name)}</span>', name)
        + estimate_cell(made)
        + count_cell(made.get("n", 0))
        for (name, meant), made in found
    ]
    table = show_cells("People together", [("statistic", ""), ("value", ""), ("n", "")], rows)
    meant = (
        "How far all people agree with each other; 1 is perfect, 0 is what chance gives, missing labels are allowed."
    )
    listing = show_listing("people-together", table, meanings=dict(named for named, _ in found))
    return show_card("people-together", "People together", meant, listing)


def _people(value: Value) -> str:
    heads = [
        ("Annotator", ""),
        ("Verdicts", ""),
        ("Pace", "Median seconds on an item"),
        ("With themselves", "Agreement on items they were secretly given twice"),
        ("Early", "Agreement with the majority of the others, first half of their work"),
        ("Late", "The same in the second half"),
        ("Drift", "Late minus early"),
    ]
    rows = []
    for rater in value["raters"]:
        if rater["kind"] == "human":
            pace, drift = rater["pace"], rater["drift"]
            seconds = pace["median"]
            rows.append(
                cell(show_rater("human", rater["name"]), rater["name"])
                + count_cell(rater["verdicts"])
                + (cell(show_dash(pace["why"])) if seconds is None else cell(f"{seconds:.0f} s", seconds))
                + estimate_cell(rater["self_consistency"]["consistency"], percent=True)
                + "".join(estimate_cell(drift[key], percent=True) for key in ("early", "late", "difference"))
            )
    table = show_cells("Annotators", heads, rows, sorts=True)
    listing = show_listing("annotators", table, meanings={name: meant for name, meant in heads if meant})
    return show_card("annotators", "Annotators", "How fast and how steadily each person works.", listing, wide=True)
