"""Many raters, from N x K counts: how many raters gave item i the label k.

Which raters gave which label does not matter to any of these, so a missing verdict needs no treatment: the item has
fewer ratings. Each coefficient is a function of sums over items, which is what the intervals resample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import Categories, FloatArray, IntArray, check_codes, number_clusters
from agreement.estimate import FEW_COMMON, LEAST_COMMON, Estimate, point, undefined
from agreement.intervals import Sampling, Statistic, estimate, estimate_all
from agreement.long_scales import Entries, alpha_of_cells, gather_units, pair_ratings, units_of_cells
from agreement.pairs import cohen_kappa, count_pairs, divide, gwet_ac, gwet_bounds, gwet_chance
from agreement.tables import LONG, Cells
from agreement.units import Units, count_vectors, sum_by_cluster, units_of_rows

Level = Literal["nominal", "ordinal", "interval"]
FleissKind = Literal["item", "pair"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
FLEISS: Mapping[str, FleissKind] = MappingProxyType({"fleiss_kappa": "item", "fleiss_kappa_pairs": "pair"})

ONE_CATEGORY = "every rating is the same label, so chance agreement is certain"
NO_PAIRS = "no item has two ratings"
GREY_OVERLAP = 10


def count_labels(codes: ArrayLike, k: int) -> IntArray:
    """Return N x K counts from N x R codes (-1 is missing)."""
    array = check_codes(codes, k)
    counts = np.zeros((k, array.shape[0]), dtype=np.int64)  # label by label in memory, for those who add up labels
    for rater in array.T:
        for label in range(k):
            counts[label] += rater == label
    return counts.T


def units_of_counts(
    counts: ArrayLike, least: int, contribute: Callable[[FloatArray], FloatArray], cluster: IntArray | None
) -> Units:
    """Return what is resampled: the contributions of items with at least `least` ratings, or of their clusters."""
    numbers = np.asarray(counts)
    kept = numbers.sum(axis=1) >= least
    if not kept.all():
        numbers = numbers[kept]
    n = numbers.shape[0]
    if cluster is not None:
        array = numbers.astype(np.float64)
        index, many = number_clusters(cluster[kept])
        return units_of_rows(sum_by_cluster(contribute(array), index, many), n, clustered=True)
    # Distinct count vectors first: there are few of them, whatever the number of items.
    distinct, times = count_vectors(numbers)
    rows = contribute(distinct)
    return Units(rows.reshape(rows.shape[0], int(np.prod(rows.shape[1:]))), times, rows.shape[1:], n)


def coincidences(counts: ArrayLike) -> FloatArray:
    """Return each item's K x K coincidences: its ordered pairs of ratings, weighted 1/(m - 1); all 0 when m < 2."""
    array = np.asarray(counts, dtype=np.float64)
    k = array.shape[1]
    pairs = array[:, :, None] * array[:, None, :]
    pairs[:, np.arange(k), np.arange(k)] -= array
    return np.asarray(pairs / np.maximum(array.sum(axis=1) - 1.0, 1.0)[:, None, None])


def add_coincidences(counts: ArrayLike) -> FloatArray:
    """Return the sum of all items' coincidences (K, K)."""
    array = np.asarray(counts, dtype=np.float64)
    shared = array / np.maximum(array.sum(axis=1) - 1.0, 1.0)[:, None]
    return np.asarray(shared.T @ array - np.diag(shared.sum(axis=0)))


def krippendorff(tables: ArrayLike | Cells, level: Level, values: FloatArray) -> FloatArray:
    """Return Krippendorff's alpha from stacked coincidence matrices (…, K, K).

    The ordinal distance depends on how often each label is used, so it is made anew for every table of a stack. It is
    the square of a difference of mid-ranks: Krippendorff's sum of the counts between two labels telescopes to that.
    """
    if isinstance(tables, Cells):
        return alpha_of_cells(tables, level, values)
    observed = np.asarray(tables, dtype=np.float64)
    used = observed.sum(axis=-1)
    total = used.sum(axis=-1)
    if level == "nominal":
        apart: FloatArray = 1.0 - np.eye(observed.shape[-1])
    else:
        scores = np.cumsum(used, axis=-1) - used / 2.0 if level == "ordinal" else values
        apart = (scores[..., :, None] - scores[..., None, :]) ** 2
    found = (observed * apart).sum(axis=(-2, -1))
    # The distance of a label from itself is 0, so the correction [c=k] n_c of the expected table never counts.
    expected = (used[..., :, None] * used[..., None, :] * apart).sum(axis=(-2, -1))
    return np.asarray(1.0 - divide(found * (total - 1.0), expected))


def alpha(
    counts: ArrayLike,
    level: Level,
    categories: Categories,
    sampling: Sampling | None = None,
    cluster: IntArray | None = None,
) -> Estimate:
    """Return Krippendorff's alpha with a percentile interval over items (or clusters), for these raters."""
    units = units_of_counts(counts, 2, coincidences, cluster)
    if units.n == 0:
        return undefined(NO_PAIRS)
    compute = partial(krippendorff, level=level, values=categories.array)
    statistic = Statistic(compute, "percentile", ONE_CATEGORY, (-1.0, 1.0), LEAST_COMMON)
    return estimate(units, statistic, sampling or Sampling())


def _rating_pairs(array: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each item's weighted agreeing pairs and all its ordered pairs."""
    rated = array.sum(axis=1)
    agreeing = (array * (array @ weights - 1.0)).sum(axis=1)
    return agreeing, rated * (rated - 1.0)


def _fleiss_rows(array: FloatArray, weights: FloatArray) -> FloatArray:
    agreeing, pairs = _rating_pairs(array, weights)
    ones = np.ones_like(pairs)
    return np.column_stack([divide(agreeing, pairs), ones, agreeing, pairs, array])


def _fleiss(sums: FloatArray, weights: FloatArray, kind: FleissKind) -> FloatArray:
    at = 0 if kind == "item" else 2
    agreed = divide(sums[..., at], sums[..., at + 1])
    used = sums[..., 4:]
    apart = divide(((used @ (1.0 - weights)) * used).sum(axis=-1), used.sum(axis=-1) ** 2)
    return np.asarray(1.0 - divide(1.0 - agreed, apart))


def fleiss_kappa(
    counts: ArrayLike,
    weights: FloatArray,
    kind: FleissKind = "item",
    sampling: Sampling | None = None,
    cluster: IntArray | None = None,
) -> Estimate:
    """Return Fleiss' kappa, generalised to weights and to missing ratings.

    With missing ratings there are several definitions. Here items with fewer than two ratings are left out of
    everything; `item` gives each remaining item one vote in the observed agreement, `pair` each pair of ratings;
    chance agreement comes from the pooled ratings. With equal numbers of ratings both are Fleiss (1971).
    """
    units = units_of_counts(counts, 2, partial(_fleiss_rows, weights=weights), cluster)
    if units.n == 0:
        return undefined(NO_PAIRS)
    compute = partial(_fleiss, weights=weights, kind=kind)
    statistic = Statistic(compute, "percentile", ONE_CATEGORY, (-np.inf, 1.0), LEAST_COMMON)
    return estimate(units, statistic, sampling or Sampling())


def describe_raters(
    counts: ArrayLike, categories: Categories, sampling: Sampling | None = None, cluster: IntArray | None = None
) -> dict[str, Estimate]:
    """Return alpha at every level and both Fleiss kappas, all from the same resamples: drawing is what costs."""
    k, nominal = len(categories), categories.weights("nominal")
    cells = k * k

    def contribute(array: FloatArray) -> FloatArray:
        return np.hstack([coincidences(array).reshape(-1, cells), _fleiss_rows(array, nominal)])

    def of_alpha(sums: FloatArray, level: Level) -> FloatArray:
        return krippendorff(sums[..., :cells].reshape(*sums.shape[:-1], k, k), level, categories.array)

    def of_fleiss(sums: FloatArray, kind: FleissKind) -> FloatArray:
        return _fleiss(sums[..., cells:], nominal, kind)

    computed: dict[str, Callable[[FloatArray], FloatArray]] = {
        **{f"alpha_{level}": partial(of_alpha, level=level) for level in LEVELS},
        **{name: partial(of_fleiss, kind=kind) for name, kind in FLEISS.items()},
    }
    if cells > LONG:
        return _describe_long(np.asarray(counts), categories, sampling or Sampling(), cluster)
    units = units_of_counts(counts, 2, contribute, cluster)
    if units.n == 0:
        return dict.fromkeys(computed, undefined(NO_PAIRS))
    return estimate_all(units, _over_items(computed), sampling or Sampling())


def _over_items(computed: Mapping[str, Callable[[Any], FloatArray]]) -> dict[str, Statistic]:
    return {
        name: Statistic(compute, "percentile", ONE_CATEGORY, (-np.inf if name in FLEISS else -1.0, 1.0), LEAST_COMMON)
        for name, compute in computed.items()
    }


def _describe_long(
    counts: IntArray, categories: Categories, sampling: Sampling, cluster: IntArray | None
) -> dict[str, Estimate]:
    """Return the same on a long scale: coincidences are kept by their cells."""
    k, nominal = len(categories), categories.weights("nominal")
    cells = k * k

    def contribute(array: FloatArray) -> Entries:
        pairs, rest = pair_ratings(array), _fleiss_rows(array, nominal)
        shared = pairs.value / np.maximum(array.sum(axis=1) - 1.0, 1.0)[pairs.owner]
        owner, place = np.nonzero(rest)
        return Entries(
            np.concatenate([pairs.owner, owner]),
            np.concatenate([pairs.place, cells + place]),
            np.concatenate([shared, rest[owner, place]]),
        )

    kept = counts.sum(axis=1) >= 2
    groups = None if cluster is None else cluster[kept]
    rows, times = gather_units(counts[kept], contribute, cells + k + 4, groups)
    n, clusters = int(kept.sum()), None if cluster is None else int(times.sum())
    tables = units_of_cells(rows[:, :cells], times, (k, k), n, clusters)
    rest = Units(rows[:, cells:].toarray(), times, (k + 4,), n, clusters)
    alphas = {f"alpha_{level}": partial(krippendorff, level=level, values=categories.array) for level in LEVELS}
    kappas = {name: partial(_fleiss, weights=nominal, kind=kind) for name, kind in FLEISS.items()}
    if n == 0:
        return dict.fromkeys([*alphas, *kappas], undefined(NO_PAIRS))
    return estimate_all(tables, _over_items(alphas), sampling) | estimate_all(rest, _over_items(kappas), sampling)


def _gwet_rows(array: FloatArray, weightings: Sequence[FloatArray]) -> FloatArray:
    found = [_rating_pairs(array, weights) for weights in weightings]
    pairs = found[0][1]
    several = (pairs > 0).astype(np.float64)
    shares = [np.where(pairs > 0, agreeing / np.maximum(pairs, 1.0), 0.0) for agreeing, _ in found]
    return np.column_stack([several, np.ones_like(several), array / array.sum(axis=1, keepdims=True), *shares])


def _gwet(sums: FloatArray, weights: FloatArray, place: int) -> FloatArray:
    k = weights.shape[0]
    agreed = divide(sums[..., 2 + k + place], sums[..., 0])
    expected = gwet_chance(divide(sums[..., 2 : 2 + k], sums[..., 1:2]), weights)
    return divide(agreed - expected, 1.0 - expected)


def gwet_together(
    counts: ArrayLike,
    weightings: Mapping[str, FloatArray],
    sampling: Sampling | None = None,
    cluster: IntArray | None = None,
) -> dict[str, Estimate]:
    """Return Gwet's coefficient under each of several weights, all from the same resamples."""
    array = np.asarray(counts)
    common = int((array.sum(axis=1) >= 2).sum())
    if common < LEAST_COMMON:
        why = FEW_COMMON if common else NO_PAIRS
        return dict.fromkeys(weightings, undefined(why, int((array.sum(axis=1) > 0).sum())))
    units = units_of_counts(array, 1, partial(_gwet_rows, weightings=list(weightings.values())), cluster)
    if np.count_nonzero(array.sum(axis=0)) == 1:
        why = "single category: 1 by the formula, no interval"
        return dict.fromkeys(weightings, Estimate(1.0, n=units.n, clusters=units.clusters, why=why))
    statistics = {
        name: Statistic(partial(_gwet, weights=weights, place=place), "bca", NO_PAIRS, gwet_bounds(weights))
        for place, (name, weights) in enumerate(weightings.items())
    }
    return estimate_all(units, statistics, sampling or Sampling())


def gwet_many(
    counts: ArrayLike, weights: FloatArray, sampling: Sampling | None = None, cluster: IntArray | None = None
) -> Estimate:
    """Return Gwet's AC1/AC2 for many raters: agreement over items with two ratings, chance over items with one."""
    return gwet_together(counts, {"it": weights}, sampling, cluster)["it"]


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters' agreement; below ten common items it is shown greyed, below two it is undefined."""

    first: int
    second: int
    overlap: int
    kappa: Estimate
    ac: Estimate

    @property
    def grey(self) -> bool:
        """Return whether the overlap is too small to read much into."""
        return self.overlap < GREY_OVERLAP


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """Every pair of raters, and kappa averaged over the defined pairs: each alike, and each by its overlap."""

    pairs: tuple[RaterPair, ...]
    mean: Estimate
    weighted_mean: Estimate


def compare_every_pair(codes: ArrayLike, weights: FloatArray) -> PairMatrix:
    """Return kappa, AC and overlap of every two raters of N x R codes."""
    k = weights.shape[0]
    array = check_codes(codes, k)
    pairs = []
    for first, second in combinations(range(array.shape[1]), 2):
        table = count_pairs(array[:, first], array[:, second], k)
        overlap = int(table.sum())
        if overlap < LEAST_COMMON:
            none = undefined(FEW_COMMON, overlap)
            pairs.append(RaterPair(first, second, overlap, none, none))
            continue
        kappa = point(float(cohen_kappa(table, weights)), overlap, "both raters stay on one label")
        pairs.append(RaterPair(first, second, overlap, kappa, point(float(gwet_ac(table, weights)), overlap)))
    known = [(pair.kappa.value, pair.overlap) for pair in pairs if pair.kappa.value is not None]
    if not known:
        none = undefined("no two raters have a defined kappa")
        return PairMatrix(tuple(pairs), none, none)
    values, overlaps = np.array(known).T
    total = int(overlaps.sum())
    even = point(float(values.mean()), total)
    return PairMatrix(tuple(pairs), even, point(float(np.average(values, weights=overlaps)), total))
