"""Intervals by resampling what a statistic depends on, not the items.

A statistic here is a function of sums: a K x K table, a coincidence matrix, a few moments. Items (or clusters) with
equal contributions are interchangeable, so a resample is a multinomial draw over the distinct contributions and one
matrix product. This is the item (cluster) bootstrap itself, not an approximation, at a cost that does not grow with
the number of items. The unit is the cluster wherever there are clusters: two verdicts on one prompt are not two
independent facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from agreement.categories import BoolArray, FloatArray, IntArray
from agreement.estimate import (
    DEFINED_RESAMPLES,
    FEW_CLUSTERS,
    FEW_COMMON,
    UNBOUNDED,
    Estimate,
    list_warnings,
    undefined,
)
from agreement.units import Units

Method = Literal["bca", "percentile", "jackknife"]
Sums = Any  # an array of sums (b, *shape), or the `Tables` of a long scale
UNDEFINED_RESAMPLES = "it is defined in only"
ASIDE = "the resamples lie to one side of it: too few items for what it asks of them"
BLOCK = 2_000_000  # numbers held at once while resampling
MOST_DRAWN = 4_000_000  # numbers of resamples kept for whoever asks for the same ones
MOST_DISTINCT = 10_000  # distinct units beyond which the jackknife says what a bootstrap does, and sooner
LARGE = 2_000  # units from which a smooth statistic without skew needs no resamples: 2000 of them are less sure
NO_SKEW = 0.005  # acceleration below which BCa moves an interval by less than 2000 resamples are sure of


@dataclass(frozen=True, slots=True)
class Sampling:
    """How intervals are made; the same seed gives compared statistics the same resamples.

    `drawn` keeps them by what they were drawn from: several statistics of the same counts need them drawn once.
    """

    resamples: int = 2000
    seed: int = 0
    level: float = 0.95
    drawn: dict[bytes, FloatArray] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A function from stacked sums (…, *shape) to numbers (…), how its interval is made, and the items it needs.

    What jumps with the sums, such as a correlation of a few ranks, is not `smooth`: only resamples tell how far.
    """

    compute: Callable[[Any], FloatArray]
    method: Method = "bca"
    why: str = "it is undefined on these verdicts"
    bounds: tuple[float, float] = UNBOUNDED
    least: int = 1
    smooth: bool = True

    @property
    def gap_bounds(self) -> tuple[float, float]:
        """Return between what the difference of two such numbers lies."""
        span = self.bounds[1] - self.bounds[0]
        return -span, span


def _draw(units: Units, sampling: Sampling) -> Iterator[Sums]:
    """Yield resampled sums in blocks (b, *shape)."""
    known, drawn = units.counts.tobytes(), sampling.drawn
    if known in drawn:
        yield _sums(units, drawn[known])
        return
    for weights in _draw_weights(units, sampling.resamples, np.random.default_rng(sampling.seed)):
        if weights.shape[0] == sampling.resamples and weights.size <= MOST_DRAWN:
            while drawn and sum(one.size for one in drawn.values()) + weights.size > MOST_DRAWN:
                del drawn[next(iter(drawn))]
            drawn[known] = weights
        yield _sums(units, weights)


def _draw_weights(units: Units, resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield how often each distinct unit is drawn (b, U), in blocks."""
    size, distinct = units.size, units.counts.size
    # Drawing unit by unit costs its number, a multinomial draw about a dozen times the number of distinct ones.
    singly = size < 12 * distinct
    owner = np.repeat(np.arange(distinct), units.counts) if singly else np.zeros(0, dtype=np.int64)
    block = max(1, min(resamples, BLOCK // max(distinct, units.rows.shape[1], owner.size, 1)))
    for start in range(0, resamples, block):
        many = min(block, resamples - start)
        if singly:
            drawn = owner[rng.integers(0, size, (many, size))] + np.arange(many)[:, None] * distinct
            weights = np.bincount(drawn.reshape(-1), minlength=many * distinct).reshape(many, distinct)
        else:
            weights = rng.multinomial(size, units.counts / size, size=many)
        yield weights.astype(np.float64)


def _sums(units: Units, weights: FloatArray) -> Sums:
    """Return what statistics are given of units drawn so many times (b, U)."""
    if units.contributions is not None:
        return units.contributions.draw(weights)
    return _stack(_sum_up(units, weights), units.shape)


def _sum_up(units: Units, weights: FloatArray) -> FloatArray:
    """Return the sums (cells, b) of units drawn so many times.

    A table's cells are put in place rather than multiplied by an identity: on a busy machine the threads of a matrix
    product cost more than the rest of the interval.
    """
    if units.places is None:
        return np.asarray(weights @ units.rows).T
    sums = np.zeros((units.rows.shape[1], weights.shape[0]))
    sums[units.places] = weights.T
    return sums


def _stack(sums: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return sums (cells, b) as (b, *shape), each cell's numbers side by side in memory.

    A statistic adds up the cells of thousands of small tables: cell by cell that is many times quicker than table by
    table.
    """
    apart = np.ascontiguousarray(sums).reshape(*shape, sums.shape[1])
    return np.moveaxis(apart, -1, 0)


def leave_each_out(units: Units) -> Iterator[Sums]:
    """Yield the sums without one unit, for each distinct unit, in blocks."""
    total = units.total.reshape(-1)
    block = max(1, BLOCK // max(total.size, 1))
    for start in range(0, units.counts.size, block):
        if units.contributions is not None:
            yield units.contributions.leave_out(units.counts, start, min(start + block, units.counts.size))
            continue
        rows = units.rows[start : start + block]
        yield _stack((total - rows).T, units.shape)


def _evaluate(blocks: Iterator[Sums], statistics: Mapping[str, Statistic]) -> dict[str, FloatArray]:
    parts: dict[str, list[FloatArray]] = {name: [] for name in statistics}
    for block in blocks:
        for name, statistic in statistics.items():
            parts[name].append(np.asarray(statistic.compute(block), dtype=np.float64))
    return {name: np.concatenate(part) if part else np.zeros(0) for name, part in parts.items()}


def resample(units: Units, statistics: Mapping[str, Statistic], sampling: Sampling) -> dict[str, FloatArray]:
    """Return each statistic's replicates, all on the same resamples."""
    if not statistics:
        return {}
    return _evaluate(_draw(units, sampling), statistics)


def estimate_all(
    units: Units, statistics: Mapping[str, Statistic], sampling: Sampling, top_share: float | None = None
) -> dict[str, Estimate]:
    """Return every statistic with its interval, all from the same resamples."""
    if units.n == 0 or units.size == 0:
        return {name: undefined("no item has the verdicts that this needs", 0, units.clusters) for name in statistics}
    values = {name: float(statistic.compute(units.total)) for name, statistic in statistics.items()}
    few = units.clusters is not None and units.clusters < FEW_CLUSTERS
    many = units.counts.size > MOST_DISTINCT
    sure = {name for name, one in statistics.items() if few or one.method == "jackknife" or (one.smooth and many)}
    large = {name for name, one in statistics.items() if one.smooth and units.size >= LARGE}
    left_out = {name: one for name, one in statistics.items() if name in sure | large or one.method == "bca"}
    jackknife = _evaluate(leave_each_out(units), left_out) if left_out else {}
    sure |= _without_skew(jackknife, large, units.counts)
    replicates = resample(units, {name: one for name, one in statistics.items() if name not in sure}, sampling)
    warnings = list_warnings(units.n, units.clusters, top_share)
    answer = {}
    for name, statistic in statistics.items():
        if units.n < statistic.least or not np.isfinite(values[name]):
            why = FEW_COMMON if units.n < statistic.least else statistic.why
            answer[name] = undefined(why, units.n, units.clusters)
            continue
        if name in sure:
            made = interval_from_jackknife(values[name], jackknife[name], units.counts, sampling.level)
        else:
            jack = (jackknife[name], units.counts) if statistic.method == "bca" else None
            made = interval_from_replicates(values[name], replicates[name], jack, sampling.level, units.clusters)
        answer[name] = _bounded(replace(made, n=units.n, clusters=units.clusters), statistic.bounds, warnings)
    return answer


def estimate(units: Units, statistic: Statistic, sampling: Sampling, top_share: float | None = None) -> Estimate:
    """Return one statistic with its interval."""
    return estimate_all(units, {"it": statistic}, sampling, top_share)["it"]


def _bounded(made: Estimate, bounds: tuple[float, float], warnings: tuple[str, ...]) -> Estimate:
    return replace(made.within(bounds), warnings=warnings + made.warnings)


def interval_from_jackknife(value: float, left_out: FloatArray, counts: IntArray, level: float) -> Estimate:
    """Return value ± t(G-1) times the jackknife standard error.

    It is for fewer clusters than a bootstrap can live on, and for so many units that both say the same.
    """
    size = int(counts.sum())
    if size < 2:
        return Estimate(value, why="an interval needs at least two items or clusters")
    if not np.isfinite(left_out).all():
        return Estimate(value, why="it is undefined without one of the items or clusters")
    if float(np.ptp(left_out)) <= 1e-12 * max(1.0, abs(value)):
        return Estimate(value, why="no item or cluster alone changes it, so they say nothing of the uncertainty")
    centre = float(counts @ left_out) / size
    spread = float(np.sqrt((size - 1) / size * (counts @ (left_out - centre) ** 2)))
    half = float(stdtrit(size - 1, (1.0 + level) / 2.0)) * spread
    return Estimate(value, value - half, value + half, "jackknife, t")


def interval_from_replicates(
    value: float,
    replicates: FloatArray,
    jackknife: tuple[FloatArray, IntArray] | None,
    level: float,
    clusters: int | None = None,
) -> Estimate:
    """Return a percentile interval, or BCa where the jackknife (values, multiplicities) is given (Efron 1987).

    Undefined replicates are dropped; when they are more than a tenth there is no interval. Nor is there one that would
    not hold the value: a dozen items on a scale of a hundred labels, say, are less alike than any resample of them.
    """
    finite = replicates[np.isfinite(replicates)]
    warnings: tuple[str, ...] = ()
    if finite.size < DEFINED_RESAMPLES * replicates.size or finite.size == 0:
        return Estimate(value, why=f"{UNDEFINED_RESAMPLES} {finite.size} of {replicates.size} resamples")
    if finite.size < replicates.size:
        warnings = (f"{replicates.size - finite.size} of {replicates.size} resamples are undefined and left out",)
    slack = 1e-12 * max(1.0, abs(value))
    if float(np.ptp(finite)) <= slack:
        return Estimate(value, why="the resamples do not vary, so they say nothing of the uncertainty")
    tails, method = tails_of(level, clusters), "percentile"
    if jackknife is not None:
        same: BoolArray = np.abs(finite - value) <= slack
        below = float((finite < value - slack).mean() + same.mean() / 2.0)
        tails, method = _correct(tails, below, _acceleration(*jackknife), finite.size), "bca"
    low, high = _quantiles(finite, tails)
    if not low - slack <= value <= high + slack:
        return Estimate(value, why=ASIDE, warnings=warnings)
    return Estimate(value, low, high, method, warnings=warnings)


def tails_of(level: float, clusters: int | None) -> FloatArray:
    """Return between which shares of the replicates an interval lies.

    Resampled clusters vary less than clusters do, and by how much is itself uncertain: so few of them as studies have
    need wider tails, as t is wider than the normal distribution (Hesterberg 2015). Of items there are enough.
    """
    if clusters is None or clusters < 2:
        return np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    reach = float(stdtrit(clusters - 1, (1.0 + level) / 2.0)) * math.sqrt(clusters / (clusters - 1))
    return np.asarray(ndtr(np.array([-reach, reach])))


def _quantiles(values: FloatArray, shares: FloatArray) -> list[float]:
    """Return what `np.quantile` does, to the last digit, without its many ways of doing it."""
    last = values.size - 1
    at = [last * float(share) for share in shares]
    below = [min(math.floor(one), last) for one in at]
    above = [min(one + 1, last) for one in below]
    ranked = np.partition(values, sorted({*below, *above}))
    found = []
    for low, high, place, one in zip(ranked[below].tolist(), ranked[above].tolist(), below, at, strict=True):
        part, step = one - place, high - low
        found.append(high - step * (1.0 - part) if part >= 0.5 else low + step * part)
    return found


def _without_skew(jackknife: Mapping[str, FloatArray], names: Collection[str], counts: IntArray) -> set[str]:
    """Return those statistics of many units that vary evenly, so that their intervals are even too, or not at all."""
    if not names:
        return set()
    left_out = np.stack([jackknife[name] for name in names])
    with np.errstate(divide="ignore", invalid="ignore"):  # what is undefined without some unit is not even
        gap = (left_out @ counts / counts.sum())[:, None] - left_out
        skew = gap**3 @ counts / (6.0 * (gap**2 @ counts) ** 1.5)
        noise = 1e-12 * np.maximum(1.0, np.abs(left_out).max(axis=1))
        even = (np.ptp(left_out, axis=1) <= noise) | (np.abs(skew) < NO_SKEW)
    return {name for name, one in zip(names, even, strict=True) if one}


def _acceleration(left_out: FloatArray, counts: IntArray) -> float:
    """Return the skewness of the jackknife values / 6; each distinct unit counts as often as it occurs."""
    defined = np.isfinite(left_out)
    values, counts = left_out[defined], counts[defined]
    if values.size == 0:
        return 0.0
    gap = float(counts @ values) / float(counts.sum()) - values
    square = float(counts @ gap**2)
    # Values that differ by rounding alone have no skewness to speak of.
    alike = square <= counts.sum() * (1e-14 * max(1.0, float(np.abs(values).max()))) ** 2
    return 0.0 if alike else float(counts @ gap**3) / (6.0 * square**1.5)


def _correct(tails: FloatArray, below: float, acceleration: float, size: int) -> FloatArray:
    bias = float(ndtri(min(max(below, 0.5 / size), 1.0 - 0.5 / size)))
    moved = bias + ndtri(tails)
    return np.asarray(ndtr(bias + moved / (1.0 - acceleration * moved)))
