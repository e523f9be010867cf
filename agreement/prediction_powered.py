"""A human mean, made sharper by a judge's verdicts on items no human has seen (Angelopoulos et al. 2023).

The judge's own mean is biased and its interval covers the truth next to never; its errors on the humanly labelled
items correct it. This rests on one assumption: the labelled items are a random sample, or their chances of being
chosen are known. Items chosen because the judge was in doubt, without known chances, cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from agreement.categories import FloatArray, IntArray
from agreement.estimate import Estimate, list_warnings, undefined

Selection = Literal["random", "known chances", "judge's doubt"]
SMALL = 100


@dataclass(frozen=True, slots=True)
class Sample:
    """Items with their judge's value, and the human's where there is one (NaN elsewhere).

    `chance` is the known probability that a labelled item was chosen for labelling; `cluster` numbers the prompts.
    """

    human: FloatArray
    judge: FloatArray
    chance: FloatArray | None = None
    cluster: IntArray | None = None


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """The corrected mean beside the two it is made of; `gain` is effective labels per label, `weight` is lambda."""

    corrected: Estimate
    human_only: Estimate
    judge_only: Estimate
    weight: float
    gain: float | None
    labelled: int
    unlabelled: int
    assumption: str = "the labelled items are a random sample of all items"


def _mean_weights(chance: FloatArray | None, size: int) -> FloatArray:
    weights = np.ones(size) if chance is None else 1.0 / chance
    return np.asarray(weights / weights.sum())


def _variance(influence: FloatArray, cluster: IntArray | None) -> tuple[float, int]:
    """Return the variance of a sum of centred influences, and the number of independent parts."""
    owner = np.arange(influence.size) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    sums = np.bincount(owner, influence)
    parts = int(sums.size)
    return (float(parts / (parts - 1) * (sums**2).sum()) if parts > 1 else float("nan")), parts


def _interval(value: float, variance: float, freedom: int, n: int, level: float) -> Estimate:
    if not np.isfinite(variance):
        return Estimate(value, n=n, why="an interval needs two independent labelled items")
    tail = (1.0 + level) / 2.0
    z = float(ndtri(tail)) if freedom >= SMALL else float(stdtrit(freedom, tail))
    half = z * float(np.sqrt(variance))
    method = "normal" if freedom >= SMALL else "t"
    return Estimate(value, value - half, value + half, method, n, warnings=list_warnings(n))


def choose_weight(human: FloatArray, judge: FloatArray, pool: FloatArray) -> float:
    """Return the weight of the judge that makes the variance least (PPI++), within 0 and 1.

    A judge who never varies gets 0: the answer is then the humans' alone.
    """
    every = np.concatenate([judge, pool])
    if human.size < 2 or pool.size == 0 or np.ptp(every) == 0:
        return 0.0
    shared = float(np.cov(human, judge)[0, 1])
    return float(np.clip(shared / ((1.0 + human.size / pool.size) * every.var(ddof=1)), 0.0, 1.0))


def correct_mean(sample: Sample, selection: Selection = "random", level: float = 0.95) -> PredictionPowered:
    """Return the mean human value over all items: labelled ones corrected by, and unlabelled ones read off, the judge.

    With clusters the variance comes from the clusters' sums over both parts, so a prompt that has labelled and
    unlabelled items is counted once.
    """
    judged = np.isfinite(sample.judge)
    labelled, pooled = judged & np.isfinite(sample.human), judged & ~np.isfinite(sample.human)
    n, size = int(labelled.sum()), int(pooled.sum())
    refusal = _refuse(sample, selection, n)
    if refusal:
        none = undefined(refusal, n)
        return PredictionPowered(none, none, none, 0.0, None, n, size)
    human, judge, pool = sample.human[labelled], sample.judge[labelled], sample.judge[pooled]
    share = _mean_weights(None if sample.chance is None else sample.chance[labelled], n)
    weight = choose_weight(human, judge, pool)
    owner = None if sample.cluster is None else np.concatenate([sample.cluster[labelled], sample.cluster[pooled]])

    def estimate(lam: float, keep_human: float) -> tuple[Estimate, float]:
        rest = keep_human * human - lam * judge
        middle = float(share @ rest)
        parts = share * (rest - middle)
        value = middle + (lam * float(pool.mean()) if size else 0.0)
        spread = lam * (pool - pool.mean()) / size if size else np.zeros(0)
        if owner is not None:
            # A judge without weight must not lend its clusters to the count of independent parts.
            variance, groups = _variance(np.concatenate([parts, spread]), owner) if lam else _variance(parts, owner[:n])
            return _interval(value, variance, groups - 1, n, level), variance
        variance = _variance(parts, None)[0] + (_variance(spread, None)[0] if size > 1 else 0.0)
        return _interval(value, variance, n - 1, n, level), variance

    corrected, variance = estimate(weight, 1.0)
    alone, variance_alone = estimate(0.0, 1.0)
    gain = variance_alone / variance if np.isfinite(variance) and variance > 0 else None
    return PredictionPowered(corrected, alone, _judge_only(sample.judge[judged], level), weight, gain, n, size)


def _refuse(sample: Sample, selection: Selection, n: int) -> str | None:
    if selection == "judge's doubt":
        return "the labelled items were chosen by the judge's doubt with unknown chances: no correction is valid"
    if selection == "known chances" and sample.chance is None:
        return "the chances with which items were chosen for labelling are not given"
    return "no item has both a human and a judge value" if n == 0 else None


def _judge_only(values: FloatArray, level: float) -> Estimate:
    made = _interval(float(values.mean()), float(values.var(ddof=1) / values.size) if values.size > 1 else np.nan,
                     values.size - 1, values.size, level)  # fmt: skip
    warnings = (*made.warnings, "biased: the judge's own mean, not corrected by any human")
    return Estimate(made.value, made.low, made.high, made.method, made.n, None, made.why, warnings)


def rogan_gladen(positive: tuple[int, int], confusion: ArrayLike, level: float = 0.95) -> Estimate:
    """Return the true share of positives from a judge's share (positives, items) and its labelled confusion.

    `confusion` is 2 x 2, rows human (negative, positive), columns judge. The error counts both samples (delta method).
    Undefined unless the judge is better than chance.
    """
    table = np.asarray(confusion, dtype=np.float64)
    hits, size = positive
    negatives, positives = table.sum(axis=1)
    if size == 0 or negatives == 0 or positives == 0:
        return undefined("it needs judged items and humanly labelled items of both kinds", size)
    specificity, sensitivity = float(table[0, 0] / negatives), float(table[1, 1] / positives)
    youden = sensitivity + specificity - 1.0
    if youden <= 0:
        return undefined("the judge is no better than chance (sensitivity + specificity <= 1)", size)
    share = hits / size
    value = (share + specificity - 1.0) / youden
    variance = share * (1 - share) / size
    variance += value**2 * sensitivity * (1 - sensitivity) / positives
    variance += (1 - value) ** 2 * specificity * (1 - specificity) / negatives
    half = float(ndtri((1.0 + level) / 2.0) * np.sqrt(variance)) / youden
    value = min(max(value, 0.0), 1.0)
    return Estimate(value, max(0.0, value - half), min(1.0, value + half), "delta", size, warnings=list_warnings(size))
