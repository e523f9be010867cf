"""A human mean, made sharper by a judge's verdicts on items no human has seen (Angelopoulos et al. 2023).

The judge's own mean is biased and its interval covers the truth next to never; its errors on the humanly labelled
items correct it. This rests on one assumption: the labelled items are a random sample, or their chances of being
chosen are known. Items chosen because the judge was in doubt, without known chances, cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from agreement.categories import FloatArray, IntArray, number_clusters
from agreement.estimate import Estimate, list_warnings, undefined
from agreement.pairs import count_pairs

Selection = Literal["random", "known chances", "judge's doubt"]
SMALL = 100  # labels (or clusters), below which an interval is from t
ASSUMPTIONS: dict[Selection, str] = {
    "random": "the labelled items are a random sample of all items",
    "known chances": "each item had a known chance above 0 of being labelled, by which it is weighted",
    "judge's doubt": "none can be made: the labelled items were chosen by the judge's doubt",
}


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
    """The corrected mean beside the two it is made of; `gain` is effective labels per label, `weight` is lambda.

    `effective` is how many labels of equal chance the labels at hand are worth (Kish): all of them under a random
    sample, fewer the more their chances differ.
    """

    corrected: Estimate
    human_only: Estimate
    judge_only: Estimate
    weight: float
    gain: float | None
    labelled: int
    unlabelled: int
    selection: Selection = "random"
    effective: float | None = None

    def within(self, bounds: tuple[float, float]) -> PredictionPowered:
        """Return it with no mean beyond what a single value can be."""
        found = (one.within(bounds) for one in (self.corrected, self.human_only, self.judge_only))
        corrected, human_only, judge_only = found
        return replace(self, corrected=corrected, human_only=human_only, judge_only=judge_only)

    @property
    def assumption(self) -> str:
        """Return what the correction rests on."""
        return ASSUMPTIONS[self.selection]


def _mean_weights(chance: FloatArray | None, size: int) -> FloatArray:
    weights = np.ones(size) if chance is None else 1.0 / chance
    return np.asarray(weights / weights.sum())


def _variance(influence: FloatArray, cluster: IntArray | None) -> tuple[float, int]:
    """Return the variance of a sum of centred influences, and the number of independent parts."""
    owner = np.arange(influence.size) if cluster is None else number_clusters(cluster)[0]
    sums = np.bincount(owner, influence)
    parts = int(sums.size)
    return (float(parts / (parts - 1) * (sums**2).sum()) if parts > 1 else float("nan")), parts


def _interval(value: float, variance: float, freedom: int, n: int, level: float) -> Estimate:
    if not np.isfinite(variance):
        return Estimate(value, n=n, why="an interval needs two independent labelled items")
    if variance <= 1e-24 * max(1.0, value**2):
        return Estimate(value, n=n, why="the values do not vary, so they say nothing of the uncertainty")
    tail = (1.0 + level) / 2.0
    small = freedom + 1 < SMALL
    z = float(stdtrit(freedom, tail) if small else ndtri(tail))
    half = z * float(np.sqrt(variance))
    method = "t" if small else "normal"
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


def choose_weighted(share: FloatArray, human: FloatArray, judge: FloatArray, every: FloatArray) -> float:
    """Return the weight of the judge that makes the variance least where labels have unequal chances, within 0 and 1.

    `share` are the labels' weights, which sum to 1; `every` are the judge's values on all items, the labelled first.
    """
    if human.size < 2 or np.ptp(every) == 0:
        return 0.0
    people = share * (human - share @ human)
    model = (every - every.mean()) / every.size
    model[: judge.size] -= share * (judge - share @ judge)
    below = float(model @ model)
    return float(np.clip(-(people @ model[: judge.size]) / below, 0.0, 1.0)) if below > 0 else 0.0


def correct_mean(sample: Sample, selection: Selection = "random", level: float = 0.95) -> PredictionPowered:
    """Return the mean human value over all items: labelled ones corrected by, and unlabelled ones read off, the judge.

    A random sample leaves a random rest, from which the judge's mean is taken. Labels of known, unequal chances do
    not: then the judge's mean is that over all items and each label counts as often as its chance is small (the
    survey statistician's difference estimator). With clusters the variance comes from the clusters' sums over both
    parts, so a prompt that has labelled and unlabelled items is counted once.
    """
    judged = np.isfinite(sample.judge)
    labelled, pooled = judged & np.isfinite(sample.human), judged & ~np.isfinite(sample.human)
    n, size = int(labelled.sum()), int(pooled.sum())
    chance = sample.chance[labelled] if selection == "known chances" and sample.chance is not None else None
    refusal = _refuse(chance, selection, n)
    if refusal:
        none = undefined(refusal, n)
        return PredictionPowered(none, none, none, 0.0, None, n, size, selection)
    human, judge, pool = sample.human[labelled], sample.judge[labelled], sample.judge[pooled]
    share = _mean_weights(chance, n)
    base = pool if chance is None else np.concatenate([judge, pool])
    weight = choose_weight(human, judge, pool) if chance is None else choose_weighted(share, human, judge, base)
    centre = float(base.mean()) if base.size else 0.0
    owner = None if sample.cluster is None else np.concatenate([sample.cluster[labelled], sample.cluster[pooled]])

    def estimate(lam: float) -> tuple[Estimate, float]:
        rest = human - lam * judge
        middle = float(share @ rest)
        parts, spread = share * (rest - middle), lam * (pool - centre) / max(base.size, 1)
        if chance is not None:
            parts = parts + lam * (judge - centre) / base.size
        variance, freedom = _combine(parts, spread if lam else spread[:0], owner)
        made = _interval(middle + lam * centre, variance, freedom, n, level)
        if owner is not None:
            made = replace(made, clusters=freedom + 1, warnings=list_warnings(n, freedom + 1))
        return made, variance

    corrected, variance = estimate(weight)
    alone, variance_alone = estimate(0.0)
    gain = variance_alone / variance if np.isfinite([variance, variance_alone]).all() and variance > 0 else None
    judge_only = _judge_only(sample.judge[judged], None if sample.cluster is None else sample.cluster[judged], level)
    kish = float(1.0 / (share @ share))
    return PredictionPowered(corrected, alone, judge_only, weight, gain, n, size, selection, kish)


def _combine(parts: FloatArray, spread: FloatArray, owner: IntArray | None) -> tuple[float, int]:
    """Return the variance of labelled and unlabelled influences together, and its degrees of freedom.

    A judge without weight has no unlabelled influences, and must not lend their clusters to the count.
    """
    if owner is not None:
        every = np.concatenate([parts, spread])
        variance, groups = _variance(every, owner[: every.size])
        return variance, groups - 1
    return _variance(parts, None)[0] + (_variance(spread, None)[0] if spread.size > 1 else 0.0), parts.size - 1


def _refuse(chance: FloatArray | None, selection: Selection, n: int) -> str | None:
    if selection == "judge's doubt":
        return "the labelled items were chosen by the judge's doubt with unknown chances: no correction is valid"
    if selection == "known chances" and chance is None:
        return "the chances with which items were chosen for labelling are not given"
    if n == 0:
        return "no item has both a human and a judge value"
    unknown = 0 if chance is None else int((~((chance > 0) & (chance <= 1))).sum())
    return f"{unknown} of {n} labelled items have no chance above 0 and up to 1" if unknown else None


def _judge_only(values: FloatArray, cluster: IntArray | None, level: float) -> Estimate:
    middle = float(values.mean())
    variance, parts = _variance((values - middle) / values.size, cluster)
    made = _interval(middle, variance, parts - 1, values.size, level)
    warnings = (*made.warnings, "biased: the judge's own mean, not corrected by any human")
    return replace(made, warnings=warnings)


def correct_share(human: IntArray, judge: IntArray, cluster: IntArray | None = None, level: float = 0.95) -> Estimate:
    """Return Rogan and Gladen's share of label 1 from a judge's codes (0, 1) and people's (-1 where there are none).

    The labelled items are among the judged ones, so the errors of the share and of both error rates go together: the
    variance is that of the items' (or clusters') sums of what each adds to all three.
    """
    said = int((judge == 1).sum()), int((judge >= 0).sum())
    table = count_pairs(human, judge, 2)
    made = rogan_gladen(said, table, level)
    if made.value is None:
        return made
    negatives, positives = table.sum(axis=1)
    share, specificity, sensitivity = said[0] / said[1], table[0, 0] / negatives, table[1, 1] / positives
    youden = sensitivity + specificity - 1.0
    value = (share + specificity - 1.0) / youden
    yes = (judge == 1).astype(np.float64)
    adds = (yes - share) / said[1]
    adds += np.where(human == 0, (1.0 - value) * (1.0 - yes - specificity) / negatives, 0.0)
    adds -= np.where(human == 1, value * (yes - sensitivity) / positives, 0.0)
    seen = judge >= 0
    variance, parts = _variance(adds[seen] / youden, None if cluster is None else cluster[seen])
    found = _interval(made.value, variance, parts - 1, said[1], level).within((0.0, 1.0))
    groups, over = (None, "") if cluster is None else (parts, " over clusters")
    method = f"delta{over}, {found.method}" if found.method else ""
    return replace(found, method=method, clusters=groups, warnings=list_warnings(said[1], groups))


def rogan_gladen(positive: tuple[int, int], confusion: ArrayLike, level: float = 0.95) -> Estimate:
    """Return the true share of positives from a judge's share (positives, items) and its labelled confusion.

    `confusion` is 2 x 2, rows human (negative, positive), columns judge. The error counts both samples (delta method),
    which must be two: where the labelled items are among the judged ones, `correct_share` has the error.
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
