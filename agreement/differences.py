"""Two judges against one human on the same items: which agrees more, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtr

from agreement.categories import Categories, FloatArray, IntArray, check_codes, number_clusters
from agreement.comparison import pair_statistics
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate_all
from agreement.scores import MOST_NUMBERS, Coefficient, table_statistics
from agreement.units import Units, units_of_rows

TOO_MANY = "too many different scores for an interval here"
MOST_TURNS = 20_000_000  # kinds of clusters times items, beyond which the sign test takes the normal law


@dataclass(frozen=True, slots=True)
class Difference:
    """Second judge minus first on the same items, by name; and McNemar's exact p for their accuracies.

    With clusters p is that of the same test with whole clusters for items.
    """

    n: int
    estimates: Mapping[str, Estimate]
    mcnemar_p: float | None
    sampling: Sampling


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
    sides = [check_codes(side, k).astype(np.int64) for side in (human, *judges)]
    seen = np.logical_and.reduce([side >= 0 for side in sides])
    person, first, second = (side[seen] for side in sides)
    own = None if clusters is None else np.asarray(clusters)[seen]
    found = Triples((person, first, second), (k, k), own).compare(pair_statistics(categories), drawn)
    gained = (second == person).astype(np.int64) - (first == person)
    return Difference(person.size, found, sign_test(gained, own), drawn)


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """What a human, a first and a second judge said of the same items, and how many each of them may say."""

    codes: tuple[IntArray, IntArray, IntArray]
    shape: tuple[int, int]
    clusters: ArrayLike | None

    @property
    def places(self) -> tuple[IntArray, IntArray]:
        """Return where each item falls in two tables that stand one after the other: the human with either judge."""
        person, first, second = self.codes
        rows, columns = self.shape
        return person * columns + first, rows * columns + person * columns + second

    def compare(self, statistics: Mapping[str, Statistic], sampling: Sampling) -> dict[str, Estimate]:
        """Return each statistic of the second judge minus that of the first, all from the same resamples."""
        between = {name: _between(statistic) for name, statistic in statistics.items()}
        n, cells = self.codes[0].size, 2 * self.shape[0] * self.shape[1]
        if n and (units := self._units(cells)) is not None:
            return estimate_all(units, between, sampling)
        table = np.bincount(np.concatenate(self.places), minlength=cells).reshape(2, *self.shape).astype(np.float64)
        why = TOO_MANY if n else "no item has a verdict of all three"
        return {name: _point(statistic, table, n, why) for name, statistic in between.items()}

    def _units(self, cells: int) -> Units | None:
        """Return what is resampled, distinct triples or clusters, each as two tables; None where that is too much."""
        one, two = self.places
        if self.clusters is not None:
            owner, groups = number_clusters(self.clusters)
            if groups * cells > MOST_NUMBERS:
                return None
            counts = np.bincount(np.concatenate([owner * cells + one, owner * cells + two]), minlength=groups * cells)
            return units_of_rows(counts.reshape(groups, 2, *self.shape), one.size, clustered=True)
        rows, columns = self.shape
        held, times = _count(one * columns + self.codes[2], rows * columns**2)
        if held.size * cells > MOST_NUMBERS:
            return None
        tables = np.zeros((held.size, cells))
        tables[np.arange(held.size), held // columns] = 1.0
        tables[np.arange(held.size), rows * columns + held // columns**2 * columns + held % columns] = 1.0
        return Units(tables, times, (2, rows, columns), one.size)


def _count(numbers: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the distinct ones of numbers below a size, and how often each occurs."""
    if size > numbers.size:  # then sorting them is less work than a place for each
        found, times = np.unique(numbers, return_counts=True)
        return found, times.astype(np.int64)
    counts = np.bincount(numbers, minlength=size).astype(np.int64)
    found = np.flatnonzero(counts)
    return found, counts[found]


def _point(statistic: Statistic, table: FloatArray, n: int, why: str) -> Estimate:
    value = float(statistic.compute(table))
    if n >= statistic.least and np.isfinite(value):
        return Estimate(value, n=n, why=why)
    return undefined(statistic.why if n else why, n)


def _between(statistic: Statistic) -> Statistic:
    """Return the second judge's statistic minus the first's, of stacks of two tables."""

    def compute(tables: FloatArray) -> FloatArray:
        return np.asarray(statistic.compute(tables[..., 1, :, :]) - statistic.compute(tables[..., 0, :, :]))

    return Statistic(compute, "percentile", statistic.why, statistic.gap_bounds, statistic.least)


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
    names: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
    triples = Triples(
        (row.reshape(-1), one, two),
        (reference.size, rising.size),
        None if clusters is None else np.asarray(clusters)[seen],
    )
    known = table_statistics(reference, rising)
    return triples.compare({name: known[name] for name in names}, sampling or Sampling())


def exact_sign_p(one: int, other: int) -> float | None:
    """Return the two-sided exact binomial p of one against other at 1/2 (McNemar's exact test); None without any."""
    if one + other == 0:
        return None
    return min(1.0, 2.0 * float(bdtr(min(one, other), one + other, 0.5)))


def sign_test(steps: IntArray, clusters: ArrayLike | None = None) -> float | None:
    """Return the two-sided exact p that steps (-1, 0, 1) up and down are equally likely; None without any.

    With clusters a cluster's steps turn round together, as the two judges (or orders) exchanged in all of it would
    have them: copies of an item say no more than the item. With one item a cluster both are McNemar's exact test. Of
    very many items in clusters of many sizes the normal law of the same sums is taken.
    """
    if clusters is None:
        return exact_sign_p(int((steps > 0).sum()), int((steps < 0).sum()))
    owner, many = number_clusters(clusters)
    sums = np.rint(np.bincount(owner, steps, many)).astype(np.int64)
    sizes, times = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    if not sizes.size:
        return 1.0 if np.any(steps) else None  # what moved in each cluster is in balance there
    if sizes.size == 1:
        return exact_sign_p(int((sums > 0).sum()), int((sums < 0).sum()))
    whole, up = int(sizes @ times), int(sums[sums > 0].sum())
    if sizes.size * whole > MOST_TURNS:
        return min(1.0, 2.0 * float(ndtr((2 * min(up, whole - up) + 1 - whole) / np.sqrt(float(sizes**2 @ times)))))
    chances = _chances_of_sums(sizes, times, whole)
    least = 2.0 ** (1 - int(times.sum()))  # of all ways to turn clusters round, the two most extreme ones
    return min(1.0, max(least, 2.0 * float(chances[: min(up, whole - up) + 1].sum())))


def _chances_of_sums(sizes: IntArray, times: IntArray, whole: int) -> FloatArray:
    """Return how likely each sum from 0 to the whole is when so many clusters of each size count or not at random.

    Of one cluster the characteristic function is (1 + exp(-i t size)) / 2, and of all of them the product.
    """
    length = 1 << whole.bit_length()  # a power of two, for the transform's sake
    turns = np.arange(length // 2 + 1)
    spectrum: NDArray[np.complex128] = np.ones(turns.size, dtype=np.complex128)
    for size, many in zip(sizes.tolist(), times.tolist(), strict=True):
        spectrum *= ((1.0 + np.exp(-2j * np.pi / length * (turns * size % length))) / 2.0) ** many
    return np.maximum(np.fft.irfft(spectrum, length)[: whole + 1], 0.0)


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
