"""Do scores order items as people do, ties included? Tie-calibrated pairwise accuracy (Deutsch et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import FloatArray, number_clusters
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate
from agreement.pairs import divide
from agreement.units import units_of_rows
from judge.domain import InputError


@dataclass(frozen=True, slots=True)
class RankingAccuracy:
    """acc_eq with its interval over groups, the tie threshold that was best, and how many pairs were compared."""

    accuracy: Estimate
    threshold: float | None
    pairs: int


def measure_ranking_accuracy(
    human: ArrayLike, judge: ArrayLike, groups: ArrayLike | None = None, sampling: Sampling | None = None
) -> RankingAccuracy:
    """Return the share of pairs of items in a group that the judge orders, or ties, as the human does.

    The judge's scores count as tied when they differ by no more than a threshold; it is chosen to be best, anew in
    every resample. Scores of NaN are missing. Without groups all items make one, which has no interval.
    """
    one, two = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    if one.shape != two.shape or one.ndim != 1:
        raise InputError("Two lists of scores for the same items must have one length.")
    seen = np.isfinite(one) & np.isfinite(two)
    owner, many = number_clusters(np.zeros(one.size) if groups is None else groups)
    held = np.flatnonzero(seen)
    held = held[np.argsort(owner[held], kind="stable")]
    parts = np.split(held, np.cumsum(np.bincount(owner[held], minlength=many))[:-1])
    parts = [part for part in parts if part.size >= 2]
    if not parts:
        return RankingAccuracy(undefined("no group has two items with both scores", int(seen.sum())), None, 0)
    seen_gaps = np.abs(np.concatenate([_differences(two, part) for part in parts])).round(12)
    gaps = np.unique(np.append(seen_gaps, 0.0))  # at 0 only equal scores are tied
    rows = np.stack([_right_by_threshold(one, two, part, gaps) for part in parts])
    pairs = int(rows[:, -1].sum())

    def best(sums: FloatArray) -> FloatArray:
        return divide(sums[..., :-1].max(axis=-1), sums[..., -1])

    units = units_of_rows(rows, int(seen.sum()), clustered=True)
    statistic = Statistic(best, "percentile", bounds=(0.0, 1.0), smooth=False)
    made = estimate(units, statistic, sampling or Sampling())
    return RankingAccuracy(made, float(gaps[int(rows.sum(axis=0)[:-1].argmax())]), pairs)


def _differences(values: FloatArray, part: ArrayLike) -> FloatArray:
    own = values[np.asarray(part)]
    upper = np.triu_indices(own.size, 1)
    return np.asarray(own[upper[0]] - own[upper[1]])


def _right_by_threshold(one: FloatArray, two: FloatArray, part: ArrayLike, gaps: FloatArray) -> FloatArray:
    """Return how many pairs of a group are right at each threshold, and how many pairs there are."""
    people, model = np.sign(_differences(one, part)), _differences(two, part).round(12)
    right = [((np.where(np.abs(model) <= gap, 0.0, np.sign(model))) == people).sum() for gap in gaps]
    return np.array([*right, people.size], dtype=np.float64)
