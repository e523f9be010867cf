"""Intervals that speak of other items and of other raters: both are drawn anew (Owen 2007).

With fewer than eight raters there is too little to draw from; the item bootstrap then speaks of these raters alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import Categories, FloatArray, check_codes, number_clusters
from agreement.estimate import FEW_COMMON, LEAST_COMMON, Estimate, list_warnings, undefined
from agreement.intervals import Sampling, interval_from_replicates
from agreement.many import NO_PAIRS, ONE_CATEGORY, Level, krippendorff

LEAST_RATERS = 8
MOST_NUMBERS = 400_000_000
FEWEST_RESAMPLES = 200


def _coincidences(said: FloatArray, drawn: FloatArray, items: FloatArray) -> FloatArray:
    """Return the coincidence matrix when rater r counts drawn[r] times and item i items[i] times.

    A rater drawn twice never meets their own copy: that would be agreement of nobody with anybody.
    """
    counts = np.einsum("irk,r->ik", said, drawn)
    own = np.einsum("irk,r->ik", said, drawn**2)
    total, same = counts.sum(axis=1), own.sum(axis=1)
    several = total**2 - same > 0
    weight = np.where(several, items * total / np.where(several, total**2 - same, 1.0), 0.0)
    return np.asarray((counts * weight[:, None]).T @ counts - np.diag(weight @ own))


def alpha_two_way(
    codes: ArrayLike,
    level: Level,
    categories: Categories,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> Estimate:
    """Return Krippendorff's alpha of N x R codes with an interval over items (or their clusters) and raters."""
    array, chosen = check_codes(codes, len(categories)), sampling or Sampling()
    kept = (array >= 0).sum(axis=1) >= 2
    array = array[kept]
    owner, groups = number_clusters(np.arange(array.shape[0]) if clusters is None else np.asarray(clusters)[kept])
    items, raters = array.shape
    if raters < LEAST_RATERS:
        return undefined(f"fewer than {LEAST_RATERS} raters: too few to draw others from", items)
    if items < LEAST_COMMON:
        return undefined(FEW_COMMON if items else NO_PAIRS, items)
    said = (array[:, :, None] == np.arange(len(categories))).astype(np.float64)
    values = categories.array
    whole = _coincidences(said, np.ones(raters), np.ones(items))
    value = float(krippendorff(whole, level, values))
    if not np.isfinite(value):
        return undefined(ONE_CATEGORY, items)
    rng = np.random.default_rng(chosen.seed)
    affordable = min(chosen.resamples, max(FEWEST_RESAMPLES, MOST_NUMBERS // said.size))
    tables = np.empty((affordable, *whole.shape))
    for index in range(affordable):
        drawn = rng.multinomial(raters, np.full(raters, 1 / raters)).astype(np.float64)
        times = rng.multinomial(groups, np.full(groups, 1 / groups)).astype(np.float64)
        tables[index] = _coincidences(said, drawn, times[owner])
    told = None if clusters is None else groups
    made = interval_from_replicates(value, krippendorff(tables, level, values), None, chosen.level, told)
    method = f"percentile over {'items' if told is None else 'clusters'} and raters" if made.method else ""
    warnings = list_warnings(items, told) + made.warnings
    return replace(made, n=items, clusters=told, method=method, warnings=warnings)
