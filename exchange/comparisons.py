"""Judges against each other: which agrees more with the same people on the same items."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from agreement.differences import adjust_p, compare_judge_scores, compare_judges
from exchange.findings import estimates
from exchange.panel import Panel
from exchange.score_findings import people_and_judge

NEVER_APART = "on no item is exactly one of the two right"
NO_TRIPLE = "no item has a verdict of both judges and a consensus of people"


def compare_two_judges(panel: Panel) -> list[dict[str, Any]]:
    """Return every two judges against the same people on the same items: differences, second minus first."""
    found = []
    for one, two in combinations(panel.judges, 2):
        sides = panel.codes[:, one], panel.codes[:, two]
        made = compare_judges(panel.consensus[0], sides, panel.categories, panel.sampling, panel.cluster)
        names = panel.ratings.raters[one].name, panel.ratings.raters[two].name
        known = {name: made.estimates[name] for name in ("exact", "kappa", "kappa_quadratic", "ac1")}
        entry = {"a": names[0], "b": names[1], "n": made.n, **estimates(known), "mcnemar_p": made.mcnemar_p}
        entry["mcnemar_p_why"] = None if made.mcnemar_p is not None else NEVER_APART if made.n else NO_TRIPLE
        found.append(entry | (_compare_scores(panel, one, two) if panel.kind == "direct" else {}))
    tested = [entry for entry in found if entry["mcnemar_p"] is not None]
    chances = [entry["mcnemar_p"] for entry in tested]
    # Pairs share judges, items and people: Benjamini and Hochberg's q is for looking round, Yekutieli's for claims.
    for entry, q, dependent in zip(tested, adjust_p(chances), adjust_p(chances, dependent=True), strict=True):
        entry |= {"q": float(q), "q_dependent": float(dependent)}
    return found


def _compare_scores(panel: Panel, one: int, two: int) -> dict[str, Any]:
    """Return how much better the second judge's scores correlate with the mean of people's."""
    (human, first), (_, second) = people_and_judge(panel, one), people_and_judge(panel, two)
    made = compare_judge_scores(human, (first, second), panel.categories.array, panel.sampling, panel.cluster)
    return estimates(made)
