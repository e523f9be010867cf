"""The alternative annotator test: may the judge stand in for a human (Calderon, Reichart & Dror, ACL 2025).

Each human is left out in turn, and both he and the judge are compared with the humans who remain. The judge wins an
item if it is at least as close to them as he is; `epsilon` is what the judge's cheapness is worth in that comparison
(.2 against experts, .15 skilled annotators, .1 a crowd).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from agreement.categories import BoolArray, FloatArray, IntArray, number_clusters
from agreement.differences import adjust_p
from agreement.intervals import Sampling, Statistic, resample
from agreement.pairs import divide
from agreement.units import units_of
from judge.domain import InputError

Measure = Literal["match", "rmse"]

LEAST_ITEMS = 30
RATE = 0.05
PASSES_AT = 0.5
ROUNDING = 1e-9  # relative difference of two distances that are the same
EPSILONS = tuple(round(0.05 * step, 2) for step in range(7))


@dataclass(frozen=True, slots=True)
class Annotator:
    """One left-out human: items, how often the judge and the human do at least as well, and the test.

    `p` and `rejected` are None, with a reason, for a human with too few items to be tested.
    """

    index: int
    n: int
    judge_advantage: float | None
    human_advantage: float | None
    p: float | None
    rejected: bool | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class AltTest:
    """The test's outcome: `winning_rate` is omega, `advantage_probability` is rho (for ranking judges)."""

    winning_rate: float | None
    advantage_probability: float | None
    epsilon: float
    passes: bool | None
    annotators: tuple[Annotator, ...]
    curve: tuple[tuple[float, float | None], ...]
    warnings: tuple[str, ...] = ()
    why: str | None = None


@dataclass(frozen=True, eq=False)
class Duel:
    """Where judge and left-out human do at least as well as each other, over the human's items.

    `used` says which of all items those are. What does not depend on the margin is worked out once for all margins.
    """

    judge: BoolArray
    human: BoolArray
    cluster: IntArray | None
    used: BoolArray

    def within(self, items: BoolArray) -> Duel:
        """Return the duel over some of the items."""
        mine = items[self.used]
        cluster = None if self.cluster is None else self.cluster[mine]
        return Duel(self.judge[mine], self.human[mine], cluster, self.used & items)

    @cached_property
    def gap(self) -> FloatArray:
        """Return by item how much better the human does: 1, 0 or -1."""
        return self.human.astype(np.float64) - self.judge.astype(np.float64)

    @cached_property
    def mean(self) -> float:
        """Return the human's mean advantage."""
        return float(self.gap.mean())

    @cached_property
    def spread(self) -> float:
        """Return the standard deviation of the advantage."""
        return float(self.gap.std(ddof=1)) if self.gap.size > 1 else 0.0

    @cached_property
    def drawn(self) -> dict[Sampling, FloatArray]:
        """Return what was resampled, kept for every margin."""
        return {}


@dataclass(frozen=True, eq=False)
class _Distances:
    """How far everybody is from the humans, added up over each item: every pair of raters is compared once.

    `of_human` (humans x items) is of each human from all the others; `of_judge` is the judge's from each human.
    `compared` are the items with a judge and two humans.
    """

    present: BoolArray
    compared: BoolArray
    of_human: FloatArray
    of_judge: FloatArray

    @classmethod
    def of(cls, humans: FloatArray, judge: FloatArray, measure: Measure) -> _Distances:
        """Return the distances of humans (items x humans) and judge (items)."""
        people = np.ascontiguousarray(humans.T)
        present, judged = np.isfinite(people), np.isfinite(judge)
        people, judge = np.where(present, people, 0.0), np.where(judged, judge, 0.0)
        of_human = np.zeros_like(people)
        for one, two in combinations(range(len(people)), 2):
            apart = _apart(people[one], people[two], measure) * (present[one] & present[two])
            of_human[one] += apart
            of_human[two] += apart
        of_judge = np.zeros_like(people)
        for place, (one, here) in enumerate(zip(people, present, strict=True)):
            of_judge[place] = _apart(one, judge, measure) * here
        return cls(present, judged & (present.sum(axis=0) >= 2), of_human, of_judge)

    @cached_property
    def of_judge_from_all(self) -> FloatArray:
        """Return by item how far the judge is from all humans."""
        return np.asarray(self.of_judge.sum(axis=0))

    def hold_duel(self, left_out: int, cluster: IntArray | None) -> Duel:
        """Return the judge's duel with one human: whoever is less far from the others does better."""
        used = self.present[left_out] & self.compared
        of_human = self.of_human[left_out][used]
        of_judge = (self.of_judge_from_all - self.of_judge[left_out])[used]
        same = np.abs(of_judge - of_human) <= ROUNDING * (of_judge + of_human)
        cluster = None if cluster is None else cluster[used]
        return Duel(same | (of_judge < of_human), same | (of_human < of_judge), cluster, used)


def _apart(one: FloatArray, two: FloatArray, measure: Measure) -> FloatArray:
    """Return by item how far two raters are apart; the root of the mean square grows with the sum of squares."""
    return (one != two).astype(np.float64) if measure == "match" else np.asarray((one - two) ** 2)


def _p_value(duel: Duel, epsilon: float, small: str, sampling: Sampling) -> float:
    """Return the one-sided p of: the human's advantage is less than epsilon."""
    gap, mean, spread = duel.gap, duel.mean, duel.spread
    if spread == 0:  # the t statistic is 0/0 or infinite; the data leave no doubt either way
        return 0.0 if mean < epsilon else 1.0
    if duel.cluster is not None:
        lower = int((_resampled_gaps(duel, duel.cluster, sampling) + epsilon <= mean + 1e-12).sum())
        return (1 + lower) / (1 + sampling.resamples)
    if gap.size < LEAST_ITEMS and small == "wilcoxon":
        from scipy.stats import wilcoxon

        return float(wilcoxon(gap - epsilon, alternative="less", method="approx").pvalue)
    return float(stdtr(gap.size - 1, (mean - epsilon) / (spread / np.sqrt(gap.size))))


def _resampled_gaps(duel: Duel, cluster: IntArray, sampling: Sampling) -> FloatArray:
    """Return the mean gap in cluster resamples less what was seen: what the null says of it, at a margin of 0."""
    if sampling not in duel.drawn:
        units = units_of(np.column_stack([duel.gap, np.ones_like(duel.gap)]), cluster)
        mean = Statistic(lambda sums: divide(sums[..., 0], sums[..., 1]))
        duel.drawn[sampling] = resample(units, {"it": mean}, sampling)["it"] - duel.mean
    return duel.drawn[sampling]


def _prepare(raters: tuple[ArrayLike, ArrayLike], measure: Measure) -> tuple[FloatArray, FloatArray]:
    """Return humans and judge with NaN for what is missing."""
    humans, judge = (np.asarray(side, dtype=np.float64) for side in raters)
    if humans.ndim != 2 or judge.shape != humans.shape[:1]:
        raise InputError("Give the humans as items x raters and the judge as one value for each item.")
    if measure == "match":
        humans, judge = np.where(humans < 0, np.nan, humans), np.where(judge < 0, np.nan, judge)
    return humans, judge


def hold_duels(
    raters: tuple[ArrayLike, ArrayLike], measure: Measure = "match", clusters: ArrayLike | None = None
) -> tuple[Duel, ...]:
    """Return the judge's duel (N) with each human (N x R); NaN is missing, as is -1 when labels are matched."""
    humans, judge = _prepare(raters, measure)
    cluster = None if clusters is None else number_clusters(clusters)[0]
    distances = _Distances.of(humans, judge, measure)
    return tuple(distances.hold_duel(index, cluster) for index in range(humans.shape[1]))


def passes_alt_test(raters: tuple[ArrayLike, ArrayLike], measure: Measure = "match", epsilon: float = 0.2) -> bool:
    """Return whether the test is passed, and nothing else: for simulations, which ask it thousands of times."""
    duels = hold_duels(raters, measure)
    p_values = {
        index: _p_value(duel, epsilon, "skip", Sampling())
        for index, duel in enumerate(duels)
        if duel.judge.size >= LEAST_ITEMS
    }
    rate = _rate(p_values)
    return rate is not None and rate >= PASSES_AT


def run_alt_test(
    raters: tuple[ArrayLike, ArrayLike],
    measure: Measure = "match",
    epsilon: float = 0.2,
    *,
    small: Literal["skip", "wilcoxon"] = "skip",
    resampling: tuple[Sampling, ArrayLike] | None = None,
) -> AltTest:
    """Return the test of a judge (N) against humans (N x R); NaN is missing, as is -1 when labels are matched.

    `match` compares labels (codes), `rmse` scores. A human with fewer than 30 items is left out, as in the authors'
    code, or tested by Wilcoxon's signed ranks. With `resampling` (how, clusters) the p-values come from a cluster
    bootstrap: a t-test would take several aspects of one text for independent.
    """
    drawn, clusters = resampling or (Sampling(), None)
    return weigh_duels(hold_duels(raters, measure, clusters), epsilon, small, drawn)


def weigh_duels(
    duels: Sequence[Duel], epsilon: float, small: Literal["skip", "wilcoxon"] = "skip", drawn: Sampling | None = None
) -> AltTest:
    """Return the test's outcome; `drawn` says how duels with clusters are resampled."""
    drawn = drawn or Sampling()
    many = len(duels)
    if many < 2:
        return AltTest(None, None, epsilon, None, (), (), why="the test needs at least two humans")
    least = LEAST_ITEMS if small == "skip" else 2
    tested = [index for index, duel in enumerate(duels) if duel.judge.size >= least]
    p_values = {index: _p_value(duels[index], epsilon, small, drawn) for index in tested}
    rejected = _reject(p_values)
    annotators = tuple(_describe(index, duel, p_values, rejected, least) for index, duel in enumerate(duels))
    rates = tuple((at, _rate({i: _p_value(duels[i], at, small, drawn) for i in tested})) for at in EPSILONS)
    warnings = ("with two humans there is no consensus to compare with, only one other person",) if many == 2 else ()
    if not tested:
        why = f"no human has {least} items with another human and the judge"
        return AltTest(None, None, epsilon, None, annotators, rates, warnings, why)
    omega = _rate(p_values)
    rho = float(np.mean([duels[index].judge.mean() for index in tested]))
    return AltTest(omega, rho, epsilon, omega is not None and omega >= PASSES_AT, annotators, rates, warnings)


def rate_domains(
    duels: Sequence[Duel], domains: ArrayLike, epsilon: float = 0.2, drawn: Sampling | None = None
) -> dict[Any, float | None]:
    """Return omega for each domain, false discoveries controlled over all domains and annotators together.

    None is a domain in which no human has enough items.
    """
    labels = np.asarray(domains)
    p_values: dict[tuple[Any, int], float] = {}
    names = [name.item() for name in np.unique(labels)]
    for name in names:
        here = labels == name
        for index, whole in enumerate(duels):
            duel = whole.within(here)
            if duel.judge.size >= LEAST_ITEMS:
                p_values[name, index] = _p_value(duel, epsilon, "skip", drawn or Sampling())
    adjusted = adjust_p(list(p_values.values()), dependent=True)
    rejected = {key: bool(q <= RATE) for key, q in zip(p_values, adjusted, strict=True)}

    def omega(name: Any) -> float | None:
        own = [found for (domain, _), found in rejected.items() if domain == name]
        return float(np.mean(own)) if own else None

    return {name: omega(name) for name in names}


def _reject(p_values: dict[int, float]) -> dict[int, bool]:
    """Return which hypotheses fall under Benjamini-Yekutieli's control of false discoveries."""
    adjusted = adjust_p(list(p_values.values()), dependent=True)
    return {index: bool(q <= RATE) for index, q in zip(p_values, adjusted, strict=True)}


def _rate(p_values: dict[int, float]) -> float | None:
    return float(np.mean(list(_reject(p_values).values()))) if p_values else None


def _describe(index: int, duel: Duel, p_values: dict[int, float], rejected: dict[int, bool], least: int) -> Annotator:
    n = int(duel.judge.size)
    judge, human = (float(duel.judge.mean()), float(duel.human.mean())) if n else (None, None)
    why = None if index in p_values else f"fewer than {least} items"
    return Annotator(index, n, judge, human, p_values.get(index), rejected.get(index), why)
