"""Two judges against one human on the same items: which agrees more, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from agreement.categories import Categories, FloatArray, IntArray, check_codes, number_clusters
from agreement.comparison import pair_statistics
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate_all, units_of_rows, units_of_table
from agreement.scores import MOST_NUMBERS, Coefficient, table_statistics


@dataclass(frozen=True, slots=True)
class Difference:
    """Second judge minus first on the same items, by name; and McNemar's exact p for their accuracies."""

    n: int
    estimates: Mapping[str, Estimate]
    mcnemar_p: float | None
    sampling: Sampling


def count_triples(codes: tuple[ArrayLike, ArrayLike, ArrayLike], k: int, clusters: ArrayLike | None = None) -> IntArray:
    """Return the K x K x K table (of each cluster, if given) of three raters, on the items that all three have."""
    one, two, three = (check_codes(side, k).astype(np.int64) for side in codes)
    seen = (one >= 0) & (two >= 0) & (three >= 0)
    cell = (one[seen] * k + two[seen]) * k + three[seen]
    if clusters is None:
        return np.bincount(cell, minlength=k**3).reshape(k, k, k).astype(np.int64)
    cluster, many = number_clusters(np.asarray(clusters)[seen])
    return np.bincount(cluster * k**3 + cell, minlength=many * k**3).reshape(many, k, k, k).astype(np.int64)


def compare_judges(
    human: ArrayLike,
    judges: tuple[ArrayLike, ArrayLike],
    categories: Categories,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> Difference:
    """Return how much better the second judge agrees with the human than the first, on the items that all three have.

    Both are resampled together: whether two intervals overlap says nothing about a difference.
    """
    k, drawn = len(categories), sampling or Sampling()
    counts = count_triples((human, *judges), k, clusters)
    table = counts if clusters is None else counts.sum(axis=0)
    n = int(table.sum())
    units = units_of_table(table) if clusters is None else units_of_rows(counts, n, clustered=True)

    statistics = {name: _between(statistic) for name, statistic in pair_statistics(categories).items()}
    place = np.arange(k)
    both = int(table[place, place, place].sum())
    first, second = int(table[place, place, :].sum()) - both, int(table[place, :, place].sum()) - both
    return Difference(n, estimate_all(units, statistics, drawn), exact_sign_p(first, second), drawn)


def _between(statistic: Statistic) -> Statistic:
    """Return the second judge's statistic minus the first's, of tables human x first x second."""

    def compute(tables: FloatArray) -> FloatArray:
        return np.asarray(statistic.compute(tables.sum(axis=-2)) - statistic.compute(tables.sum(axis=-1)))

    return Statistic(compute, "percentile", statistic.why, least=statistic.least)


def compare_judge_scores(
    human: ArrayLike,
    judges: tuple[ArrayLike, ArrayLike],
    values: ArrayLike,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Return how much better the second judge's scores (of the declared values) correlate with any human scores.

    NaN is missing; items that all three have are counted, and both judges are resampled together.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (human, *judges)]
    seen = np.isfinite(np.stack(sides)).all(axis=0)
    rising = np.unique(np.asarray(values, dtype=np.float64))
    reference, row = np.unique(sides[0][seen], return_inverse=True)
    one, two = (np.searchsorted(rising, side[seen]) for side in sides[1:])
    n, shape = int(seen.sum()), (reference.size, rising.size, rising.size)
    names: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
    if n == 0:
        return dict.fromkeys(names, undefined("no item has all three scores"))
    owner, many = number_clusters(np.zeros(n) if clusters is None else np.asarray(clusters)[seen])
    size = int(np.prod(shape))
    if size * max(many, 1) > MOST_NUMBERS:
        return dict.fromkeys(names, undefined("too many different scores for an interval here", n))
    cell = (row.reshape(-1) * rising.size + one) * rising.size + two
    counts = np.bincount(owner * size + cell, minlength=many * size).reshape(-1, *shape)
    units = units_of_table(counts.sum(axis=0)) if clusters is None else units_of_rows(counts, n, clustered=True)
    known = table_statistics(reference, rising)
    return estimate_all(units, {name: _between(known[name]) for name in names}, sampling or Sampling())


def exact_sign_p(one: int, other: int) -> float | None:
    """Return the two-sided exact binomial p of one against other at 1/2 (McNemar's exact test); None without any."""
    if one + other == 0:
        return None
    return min(1.0, 2.0 * float(bdtr(min(one, other), one + other, 0.5)))


def adjust_p(p_values: ArrayLike, dependent: bool = False) -> FloatArray:
    """Return q-values: Benjamini-Hochberg for exploration, Benjamini-Yekutieli where the tests depend on each other."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.size == 0:
        return p
    rank = np.argsort(p)
    steps = np.arange(1, p.size + 1)
    factor = float((1.0 / steps).sum()) if dependent else 1.0
    raised = p[rank] * p.size * factor / steps
    answer = np.empty_like(p)
    answer[rank] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return answer
