"""A confusion matrix as it is shown, and whether two raters differ in one direction.

Bowker's test asks whether label by label as many verdicts went one way as the other, Stuart and Maxwell's whether both
raters use the labels equally often. Where items are tied together in clusters, what clusters add to the differences is
weighed against how much they vary, as Hotelling does: copies of an item say no more than once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, fdtrc

from agreement.categories import FloatArray, IntArray
from agreement.pairs import divide
from agreement.units import Units

NEVER_EXCHANGED = "no two labels were ever exchanged"
CLUSTERS_ALIKE = "every cluster differs in the same way, or none does, so they say nothing of the uncertainty"
TOO_MANY_LABELS = "too many labels for a test by cluster"


@dataclass(frozen=True, slots=True)
class ChiSquared:
    """A chi-squared test, or one of F where there are clusters; `p` is None with a reason where it cannot be made."""

    statistic: float | None
    freedom: int
    p: float | None
    why: str | None = None


def bowker(units: Units) -> ChiSquared:
    """Return Bowker's test of symmetry, over the pairs of cells that hold anything."""
    table = units.total
    one, two = np.triu_indices(table.shape[0], 1)
    moved = table[one, two] + table[two, one]
    held = moved > 0
    if not held.any():
        return ChiSquared(None, 0, None, NEVER_EXCHANGED)
    one, two = one[held], two[held]
    if units.clusters is not None:
        return _test_by_cluster(units, lambda tables: tables[:, one, two] - tables[:, two, one])
    statistic = float(((table[one, two] - table[two, one]) ** 2 / moved[held]).sum())
    return ChiSquared(statistic, one.size, float(chdtrc(one.size, statistic)))


def stuart_maxwell(units: Units) -> ChiSquared:
    """Return the Stuart-Maxwell test that both raters use the labels equally often."""
    table = units.total
    row, column = table.sum(axis=1), table.sum(axis=0)
    # A category on which the raters never differ carries no information and makes the matrix singular.
    moved = (row + column - 2.0 * np.diag(table)) > 0
    if not moved.any():
        return ChiSquared(None, 0, None, NEVER_EXCHANGED)
    if units.clusters is not None:
        return _test_by_cluster(units, lambda tables: (tables.sum(axis=2) - tables.sum(axis=1))[:, moved])
    counts, difference = table[np.ix_(moved, moved)], (row - column)[moved]
    spread = -(counts + counts.T)
    np.fill_diagonal(spread, 0.0)
    np.fill_diagonal(spread, -spread.sum(axis=1))
    statistic, freedom = _weigh(difference, spread)
    return ChiSquared(statistic, freedom, float(chdtrc(freedom, statistic)))


def _weigh(difference: FloatArray, spread: FloatArray) -> tuple[float, int]:
    """Return the squared differences over their spread, and how many of them are free.

    One is the sum of the others within each connected group of labels, hence rank and pseudo-inverse.
    """
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    return float(difference @ np.linalg.pinv(spread, hermitian=True) @ difference), freedom


def _test_by_cluster(units: Units, differ: Callable[[FloatArray], FloatArray]) -> ChiSquared:
    """Return the test of differences that clusters' tables (U, K, K) add to."""
    if units.contributions is not None:
        return ChiSquared(None, 0, None, TOO_MANY_LABELS)
    each, times, clusters = differ(units.rows.reshape(-1, *units.shape)), units.counts, units.size
    statistic, freedom = _weigh(times @ each, (each * times[:, None]).T @ each)
    if 1 < clusters <= freedom:
        return ChiSquared(None, freedom, None, f"{clusters} clusters are too few to tell {freedom} differences apart")
    if freedom == 0 or clusters - statistic < 1e-9 * clusters:
        return ChiSquared(None, freedom, None, CLUSTERS_ALIKE)
    # Against the spread around their mean, which is less than the spread around none (Hotelling 1931).
    ratio = statistic / (clusters - statistic) * (clusters - freedom) / freedom
    return ChiSquared(statistic, freedom, float(fdtrc(freedom, clusters - freedom, ratio)))


def standardised_residuals(table: ArrayLike) -> FloatArray:
    """Return (O - E)/sqrt(E (1 - row share)(1 - column share)), NaN where a margin is empty or full."""
    counts = np.asarray(table, dtype=np.float64)
    total = counts.sum()
    row, column = (divide(counts.sum(axis=axis), total) for axis in (1, 0))
    expected = row[:, None] * column[None, :] * total
    spread = expected * (1.0 - row)[:, None] * (1.0 - column)[None, :]
    return divide(counts - expected, np.sqrt(spread))


@dataclass(frozen=True, slots=True)
class Confusion:
    """A table as it is shown: counts, shares given the first rater's label, residuals, and two tests of balance."""

    counts: IntArray
    row_shares: FloatArray
    residuals: FloatArray
    symmetry: ChiSquared
    homogeneity: ChiSquared


def describe_confusion(units: Units) -> Confusion:
    """Return everything that is shown of a table; a label that the first rater never gave has NaN shares."""
    counts = np.rint(units.total).astype(np.int64)
    shares = divide(counts.astype(np.float64), counts.sum(axis=1, keepdims=True).astype(np.float64))
    return Confusion(counts, shares, standardised_residuals(counts), bowker(units), stuart_maxwell(units))
