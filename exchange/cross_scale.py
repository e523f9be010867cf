"""Do scores and preferences tell the same story? Differences of scores against verdicts on the same pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from agreement.categories import Categories, FloatArray, IntArray
from agreement.comparison import compare
from agreement.scores import compare_scores
from exchange.findings import describe_comparison, estimates
from exchange.panel import Panel
from judge.domain import InputError

SIGNS = Categories((-1.0, 0.0, 1.0), 1)


def check_across_scales(pairs: Panel, scores: Panel, names: tuple[list[str], list[str]]) -> dict[str, Any]:
    """Return, for people and for each judge in both studies, how far score differences match preferences.

    `names` are the items' ids in the two studies: under a direct protocol a pair's responses are ID/a and ID/b.
    """
    if (pairs.kind, scores.kind) != ("pairwise", "direct"):
        raise InputError("--scores names a study of scores (direct protocol), beside a study of pairs")
    if scores.scale.nominal:
        raise InputError("--scores: the labels of its scale have no order, so they cannot be scores")
    place = {name: at for at, name in enumerate(names[1])}
    known = [names[0][int(at)] for at in pairs.ratings.facts.position]
    sides = [np.array([place.get(f"{name}/{side}", -1) for name in known], dtype=np.int64) for side in "ab"]
    if not ((sides[0] >= 0) & (sides[1] >= 0)).any():
        raise InputError("--scores: none of its items are the responses (ID/a, ID/b) of this study's pairs")
    found = [_compare(pairs, "humans", (_people_values(pairs), _people_values(scores)), sides)]
    judged = {scores.ratings.raters[judge].name: judge for judge in scores.judges}
    for judge in pairs.judges:
        name = pairs.ratings.raters[judge].name
        if name in judged:
            own = [_values(panel, panel.declared[:, at]) for panel, at in ((pairs, judge), (scores, judged[name]))]
            found.append(_compare(pairs, name, (own[0], own[1]), sides))
    return {"raters": found}


def _values(panel: Panel, codes: IntArray) -> FloatArray:
    return np.where(codes >= 0, panel.full.array[codes], np.nan)


def _people_values(panel: Panel) -> FloatArray:
    """Return the mean value of people's labels on each item."""
    return panel.people_mean(panel.full.array, panel.declared[:, list(panel.humans)])


def _compare(panel: Panel, name: str, values: tuple[FloatArray, FloatArray], sides: list[IntArray]) -> dict[str, Any]:
    """Return one rater's preferences against the differences of their scores."""
    preferred, scored = values
    first, second = (np.where(side >= 0, scored[side], np.nan) for side in sides)
    gap = first - second
    seen = np.isfinite(preferred) & np.isfinite(gap)
    codes = [np.where(seen, np.sign(np.nan_to_num(side)).astype(np.int64) + 1, -1) for side in (preferred, gap)]
    made = compare(codes[0], codes[1], SIGNS, panel.sampling, panel.cluster)
    pair = describe_comparison("preference", "score difference", made, ("B", "tie", "A"))
    ranks = compare_scores(
        np.where(seen, preferred, np.nan), np.where(seen, gap, np.nan), panel.sampling, panel.cluster
    )
    kept = {f"values_{key}": ranks[key] for key in ("spearman", "kendall", "pearson")}
    left_out = int((np.isfinite(preferred) & ~seen).sum())
    return {"rater": name, **pair, **estimates(kept), "left_out": left_out}
