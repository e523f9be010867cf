"""Intraclass correlation of scores: raters drawn from many, every rater on every item (Shrout & Fleiss 1979)."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import FloatArray, number_clusters
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate_all
from agreement.pairs import divide
from agreement.units import units_of

NO_VARIANCE = "the scores do not vary, or the variances of items and of raters cancel out"


def _two_way(sums: FloatArray, raters: int, averaged: bool) -> FloatArray:
    """Return ICC(2,1), or ICC(2,k) of the raters' mean, from sums of 1, x_j, all x squared and row sums squared."""
    n = sums[..., 0]
    columns, squares, rows = sums[..., 1 : raters + 1], sums[..., -2], sums[..., -1]
    correction = divide(columns.sum(axis=-1) ** 2, n * raters)
    between_items = rows / raters - correction
    between_raters = divide((columns**2).sum(axis=-1), n) - correction
    rest = squares - correction - between_items - between_raters
    # What does not vary leaves rounding, of either sign, which must not be divided by rounding.
    between_items, between_raters, rest = (
        np.where(part > 1e-12 * squares, part, 0.0) for part in (between_items, between_raters, rest)
    )
    item = divide(between_items, n - 1.0)
    rater = between_raters / (raters - 1.0)
    error = divide(rest, (n - 1.0) * (raters - 1.0))
    if averaged:
        below = item + divide(rater - error, n)
    else:
        below = item + (raters - 1.0) * error + divide(raters * (rater - error), n)
    # Variances that cancel leave next to nothing, never quite 0. Where the raters' mean would have a negative variance,
    # two negative numbers would look like a reliability above 1.
    return divide(item - error, np.where(below > 1e-12 * (item + rater + error), below, 0.0))


def intraclass_correlation(
    scores: ArrayLike, sampling: Sampling | None = None, clusters: ArrayLike | None = None
) -> dict[str, Estimate]:
    """Return `icc_2_1` (one rater) and `icc_2_k` (their mean) over the items that every rater scored (N x R, NaN)."""
    array = np.asarray(scores, dtype=np.float64)
    names = {"icc_2_1": False, "icc_2_k": True}
    kept = np.isfinite(array).all(axis=1) & (array.shape[1] >= 2)
    complete = array[kept]
    if complete.shape[0] < 2:
        why = "fewer than two raters" if array.shape[1] < 2 else "fewer than two items scored by every rater"
        return dict.fromkeys(names, undefined(why, complete.shape[0]))
    centred = complete - complete.mean()
    rows = np.column_stack(
        [np.ones(complete.shape[0]), centred, (centred**2).sum(axis=1), centred.sum(axis=1) ** 2],
    )
    statistics = {
        name: Statistic(
            partial(_two_way, raters=complete.shape[1], averaged=averaged), "percentile", NO_VARIANCE, (-np.inf, 1.0)
        )
        for name, averaged in names.items()
    }
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[kept])[0]
    return estimate_all(units_of(rows, cluster), statistics, sampling or Sampling())
