"""Does the longer response win because it is longer? Never told without the human baseline on the same items.

People prefer longer answers too, often rightly: a rate of .6 is a fact, not a bias, until the humans' rate is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from agreement.categories import BoolArray, Categories, FloatArray, IntArray, check_codes, number_clusters
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate, estimate_all
from agreement.logistic import LARGEST, fit_logistic
from agreement.pairs import divide
from agreement.units import units_of, units_of_kinds

NO_VARIATION = "the lengths do not vary"
NEVER_ALIKE = "no two responses are of about equal length, so nothing tells what would be then"


def log_ratio(length_a: ArrayLike, length_b: ArrayLike) -> FloatArray:
    """Return log(length A / length B), NaN where a response is empty: those are reported apart."""
    one, two = np.asarray(length_a, dtype=np.float64), np.asarray(length_b, dtype=np.float64)
    full = (one > 0) & (two > 0)
    return np.where(full, np.log(np.where(full, one, 1.0) / np.where(full, two, 1.0)), np.nan)


@dataclass(frozen=True, slots=True)
class LongerPreferred:
    """P(the longer response wins | decided, lengths differ): of the judge, of the human, and judge minus human."""

    judge: Estimate
    human: Estimate
    difference: Estimate


def _signs(codes: ArrayLike, categories: Categories) -> tuple[IntArray, BoolArray]:
    array = check_codes(codes, len(categories))
    return np.where(array >= 0, categories.signs()[array], 0), np.asarray(array >= 0)


def measure_longer_preferred(
    raters: tuple[ArrayLike, ArrayLike | None],
    delta: FloatArray,
    categories: Categories,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> LongerPreferred:
    """Return how often the longer response wins with (judge, human), on items that both rated; human may be None."""
    judge, seen = _signs(raters[0], categories)
    longer = np.sign(np.nan_to_num(delta)).astype(np.int64)
    human = np.zeros_like(judge)
    if raters[1] is not None:
        human, known = _signs(raters[1], categories)
        seen &= known
    seen &= np.isfinite(delta) & (longer != 0)
    told = judge * longer > 0, judge != 0, human * longer > 0, human != 0
    kind = np.zeros(int(seen.sum()), dtype=np.int64)  # one of sixteen: a bit for each of the four
    for at, fact in enumerate(told):
        kind += fact[seen].astype(np.int64) << at
    rows = np.arange(16)[:, None] >> np.arange(4) & 1
    none = "no decided verdict on responses of different length"

    def share(at: int) -> Statistic:
        return Statistic(lambda s: divide(s[..., at], s[..., at + 1]), why=none, bounds=(0.0, 1.0))

    one, two = share(0), share(2)
    gap = Statistic(lambda s: one.compute(s) - two.compute(s), "percentile", none, one.gap_bounds)
    both = {"judge": one, "human": two, "gap": gap}
    units = units_of_kinds(rows, kind, None if clusters is None else np.asarray(clusters)[seen])
    found = estimate_all(units, both, sampling or Sampling())
    return LongerPreferred(found["judge"], found["human"], found["gap"])


def measure_length_preference(
    judge: ArrayLike,
    human: ArrayLike,
    delta: FloatArray,
    categories: Categories,
    clusters: ArrayLike | None = None,
) -> Estimate:
    """Return the judge's log-odds for A per standard deviation of log length ratio, at equal human verdict.

    Logistic regression of the judge's decided verdicts on the human's side (-1, 0, 1) and the length ratio.
    """
    side, seen = _signs(judge, categories)
    reference, known = _signs(human, categories)
    used = seen & known & (side != 0) & np.isfinite(delta)
    n = int(used.sum())
    spread = float(np.std(delta[used])) if n else 0.0
    if spread == 0:
        return undefined(NO_VARIATION, n)
    design = np.column_stack([np.ones(n), reference[used], delta[used] / spread])
    if not np.ptp(reference[used]):
        design = design[:, [0, 2]]
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[used])[0]
    fit = fit_logistic((side[used] > 0).astype(np.float64), design, cluster)
    return fit.estimate(design.shape[1] - 1, n, clusters is not None)


def length_controlled_win_rate(
    outcome: ArrayLike, delta: FloatArray, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """Return A's win rate at equal length: a logistic model with tanh(delta/sd), read at delta = 0 (Dubois 2024).

    `outcome` is 1 for A, 0 for B, 1/2 for a tie, NaN for missing.
    """
    won = np.asarray(outcome, dtype=np.float64)
    used = np.isfinite(won) & np.isfinite(delta)
    n = int(used.sum())
    spread = float(np.std(delta[used])) if n else 0.0
    if spread == 0:
        return undefined(NO_VARIATION, n)
    design = np.column_stack([np.ones(n), np.tanh(delta[used] / spread)])
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[used])[0]
    fit = fit_logistic(won[used], design, cluster)
    made = fit.estimate(0, n, clusters is not None, level)
    if made.value is not None and abs(made.value) > LARGEST:
        return undefined(NEVER_ALIKE, n, made.clusters)
    value, low, high = (None if end is None else float(expit(end)) for end in (made.value, made.low, made.high))
    return replace(made, value=value, low=low, high=high)


def partial_spearman(
    score: ArrayLike,
    length: ArrayLike,
    human: ArrayLike,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> Estimate:
    """Return Spearman's correlation of score and length given the human score.

    Ranks are those of the whole sample and stay fixed in the resamples, so the interval is a little narrow for few
    items.
    """
    from scipy.stats import rankdata

    columns = np.column_stack([np.asarray(side, dtype=np.float64) for side in (score, length, human)])
    seen = np.isfinite(columns).all(axis=1)
    n = int(seen.sum())
    if n < 4 or not np.ptp(columns[seen], axis=0).all():
        return undefined("fewer than four items, or something does not vary", n)
    ranks = rankdata(columns[seen], axis=0)
    ranks = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    rows = np.column_stack([np.ones(n), ranks, (ranks[:, :, None] * ranks[:, None, :]).reshape(n, 9)])
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[seen])[0]
    statistic = Statistic(_partial, "percentile", "the human score decides the rest", (-1.0, 1.0))
    return estimate(units_of(rows, cluster), statistic, sampling or Sampling())


def _partial(sums: FloatArray) -> FloatArray:
    mean = divide(sums, sums[..., :1])
    first, second = mean[..., 1:4], mean[..., 4:].reshape(*mean.shape[:-1], 3, 3)
    spread = second - first[..., :, None] * first[..., None, :]
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", spread), 0.0))
    r = divide(spread, scale[..., :, None] * scale[..., None, :])
    xy, xz, yz = r[..., 0, 1], r[..., 0, 2], r[..., 1, 2]
    left = np.maximum((1.0 - xz**2) * (1.0 - yz**2), 0.0)
    return divide(xy - xz * yz, np.where(left < 1e-12, 0.0, np.sqrt(left)))
