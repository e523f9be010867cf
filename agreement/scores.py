"""Agreement of scores: correlations, errors and concordance, from tables of counts or from any numbers.

On a declared scale everything here is a function of the K x K table, so it takes stacks like `pairs`. Scores off a
scale (a mean of humans, say) go through their distinct values, or through moments where ranks are not needed.
A correlation needs three items and two raters who vary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import FloatArray, IntArray, number_clusters
from agreement.estimate import FEW_CLUSTERS, UNBOUNDED, Estimate, list_warnings, undefined
from agreement.intervals import (
    Sampling,
    Statistic,
    estimate_all,
    interval_from_jackknife,
    interval_from_replicates,
    resample,
)
from agreement.long_scales import Entries, units_of_cells, units_of_clusters
from agreement.pairs import count_pairs_by_cluster, divide, weighted_agreement
from agreement.tables import LONG, Tables, see
from agreement.units import units_of, units_of_rows, units_of_table
from judge.domain import InputError

Coefficient = Literal["pearson", "spearman", "kendall"]

RANKED: tuple[Coefficient, ...] = ("spearman", "kendall")
NO_VARIANCE = "fewer than three items, or a rater who always gives the same score"
MOST_CELLS = 2500  # distinct first scores x distinct second scores that still make a table
MOST_RANKED = 250_000  # the same, where ranks are made anew in every resample
MOST_NUMBERS = 20_000_000
FEWEST_RESAMPLES = 200
FEW_ENOUGH = 100  # scores whose every pair is sooner compared than they are sorted


def _varied(counts: Tables) -> FloatArray:
    """Return 1 where there are three items and both margins have two categories, else NaN."""
    rows, columns = (np.count_nonzero(margin, axis=-1) for margin in (counts.row, counts.column))
    good = (counts.total >= 3) & (rows > 1) & (columns > 1)
    return np.where(good, 1.0, np.nan)


def _correlate(counts: Tables, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the correlation of the row scores (…, K) with the column scores (…, L) under counts (…, K, L)."""
    total = np.maximum(counts.total, 1.0)[..., None]
    row, column = counts.row, counts.column
    one = first - (row * first).sum(axis=-1, keepdims=True) / total
    two = second - (column * second).sum(axis=-1, keepdims=True) / total
    shared = counts.between(one, two)
    spread = np.sqrt((row * one**2).sum(axis=-1) * (column * two**2).sum(axis=-1))
    return np.asarray(np.clip(divide(shared, spread), -1.0, 1.0) * _varied(counts))


def pearson(tables: ArrayLike | Tables, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Pearson's r of the values of rows and columns."""
    return _correlate(see(tables), first, second)


def spearman(tables: ArrayLike | Tables) -> FloatArray:
    """Return Spearman's rho with average ranks for ties; rows and columns stand in rising order."""
    counts = see(tables)
    ranks = [np.cumsum(margin, axis=-1) - margin / 2.0 for margin in (counts.row, counts.column)]
    return _correlate(counts, ranks[0], ranks[1])


def kendall(tables: ArrayLike | Tables) -> FloatArray:
    """Return Kendall's tau-b (ties corrected, as scores on a scale are full of them)."""
    counts = see(tables)
    total = counts.total**2
    untied = (total - (counts.row**2).sum(axis=-1)) * (total - (counts.column**2).sum(axis=-1))
    return np.asarray(np.clip(divide(counts.balance(), np.sqrt(untied)), -1.0, 1.0) * _varied(counts))


def mean_absolute_error(tables: ArrayLike | Tables, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the mean distance between the two scores."""
    return weighted_agreement(tables, np.abs(second[None, :] - first[:, None]))


def root_mean_square_error(tables: ArrayLike | Tables, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the root of the mean squared difference of the two scores."""
    return np.asarray(np.sqrt(weighted_agreement(tables, (second[None, :] - first[:, None]) ** 2)))


def bias(tables: ArrayLike | Tables, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the mean of second minus first: judge minus human."""
    return weighted_agreement(tables, second[None, :] - first[:, None])


def concordance(tables: ArrayLike | Tables, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Lin's concordance correlation (population moments, as Lin 1989)."""
    counts = see(tables)
    gap = bias(counts, first, second)
    middle = float(first.mean())
    one, two = first - middle, second - middle
    mean_one, mean_two = divide(counts.row @ one, counts.total), divide(counts.column @ two, counts.total)
    var_one = divide(counts.row @ one**2, counts.total) - mean_one**2
    var_two = divide(counts.column @ two**2, counts.total) - mean_two**2
    shared = weighted_agreement(counts, one[:, None] * two[None, :]) - mean_one * mean_two
    return np.asarray(divide(2.0 * shared, var_one + var_two + gap**2) * _varied(counts))


MOMENTS: Mapping[str, tuple[Callable[..., FloatArray], tuple[float, float]]] = MappingProxyType(
    {
        "pearson": (pearson, (-1.0, 1.0)),
        "mae": (mean_absolute_error, (0.0, np.inf)),
        "rmse": (root_mean_square_error, (0.0, np.inf)),
        "bias": (bias, UNBOUNDED),
        "ccc": (concordance, (-1.0, 1.0)),
    }
)


def table_statistics(first: FloatArray, second: FloatArray) -> dict[str, Statistic]:
    """Return the score statistics of a table whose rows and columns have these values, in rising order."""
    found = {
        name: Statistic(partial(compute, first=first, second=second), why=NO_VARIANCE, bounds=bounds)
        for name, (compute, bounds) in MOMENTS.items()
    }
    found["spearman"] = Statistic(spearman, why=NO_VARIANCE, bounds=(-1.0, 1.0))
    found["kendall"] = Statistic(kendall, why=NO_VARIANCE, bounds=(-1.0, 1.0))
    return found


def compare_scores(
    first: ArrayLike, second: ArrayLike, sampling: Sampling | None = None, clusters: ArrayLike | None = None
) -> dict[str, Estimate]:
    """Return every score statistic of two lists of scores (NaN is missing), item-level: over all items at once."""
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != two.shape or one.ndim != 1:
        raise InputError("Two lists of scores for the same items must have one length.")
    seen = np.isfinite(one) & np.isfinite(two)
    one, two = one[seen], two[seen]
    if one.size == 0:
        return {name: undefined("no item has both scores") for name in table_statistics(one, two)}
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[seen])[0]
    drawn = sampling or Sampling()
    values_one, code_one = np.unique(one, return_inverse=True)
    values_two, code_two = np.unique(two, return_inverse=True)
    cells = values_one.size * values_two.size
    groups = 1 if cluster is None else int(cluster.max()) + 1
    if cells > MOST_CELLS or cells * groups > MOST_NUMBERS:
        return _compare_directly(one, two, drawn, cluster)
    shape = values_one.size, values_two.size
    if cluster is not None and cells > LONG:
        return estimate_all(
            units_of_clusters((code_one, code_two), shape, cluster), table_statistics(values_one, values_two), drawn
        )
    k = max(shape)
    tables = count_pairs_by_cluster(
        code_one, code_two, k, np.zeros_like(code_one) if cluster is None else cluster, groups
    )
    tables = tables[:, : values_one.size, : values_two.size]
    units = units_of_table(tables[0]) if cluster is None else units_of_rows(tables, one.size, clustered=True)
    return estimate_all(units, table_statistics(values_one, values_two), drawn)


def _moments(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return what every statistic but the rank ones sums over items; centred, so that no digits are lost."""
    gap = two - one
    middle = (one.mean() + two.mean()) / 2.0
    one, two = one - middle, two - middle
    return np.column_stack([np.ones_like(one), one, two, one**2, two**2, one * two, gap, np.abs(gap), gap**2])


def _from_moments(sums: FloatArray) -> dict[str, FloatArray]:
    mean = divide(sums, sums[..., :1])
    x, y, xx, yy, xy, gap, size, square = np.moveaxis(mean[..., 1:], -1, 0)
    var_x, var_y, shared = xx - x**2, yy - y**2, xy - x * y
    flat = (sums[..., 0] < 3) | (var_x <= 1e-13 * (xx + 1e-300)) | (var_y <= 1e-13 * (yy + 1e-300))
    varied = np.where(flat, np.nan, 1.0)
    safe = np.where(flat, 1.0, np.maximum(var_x * var_y, 1e-300))
    correlation = np.clip(shared / np.sqrt(safe), -1.0, 1.0) * varied
    lin = divide(2.0 * shared, var_x + var_y + gap**2) * varied
    return {"pearson": correlation, "mae": size, "rmse": np.sqrt(square), "bias": gap, "ccc": lin}


def _compare_directly(
    one: FloatArray, two: FloatArray, sampling: Sampling, cluster: IntArray | None
) -> dict[str, Estimate]:
    """Return the same for scores with too many distinct values for a table: moments, and ranks item by item."""

    def pick(name: str) -> Callable[[FloatArray], FloatArray]:
        return lambda sums: _from_moments(sums)[name]

    units = units_of(_moments(one, two), cluster)
    linear = {name: Statistic(pick(name), why=NO_VARIANCE, bounds=bounds) for name, (_, bounds) in MOMENTS.items()}
    found = estimate_all(units, linear, sampling)
    return found | _resample_ranks((one, two), sampling, cluster)


def correlate_lists(one: FloatArray, two: FloatArray, name: str) -> FloatArray:
    """Return one coefficient of each two short lists of a stack (…, M), as `rank_correlation` has it."""
    lists = np.stack([one, two])
    if name == "kendall":
        order = np.sign(lists[..., :, None] - lists[..., None, :])
        lists = order.reshape(*order.shape[:-2], order.shape[-1] ** 2)
    if name == "spearman":
        apart = lists[..., :, None] - lists[..., None, :]
        lists = (apart > 0).sum(axis=-1) + (apart == 0).sum(axis=-1) / 2.0
    centred = lists - lists.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred[0] ** 2).sum(axis=-1) * (centred[1] ** 2).sum(axis=-1))
    varied = np.isfinite(one + two).all(axis=-1) & (np.ptp(one, axis=-1) > 0) & (np.ptp(two, axis=-1) > 0)
    return np.where(varied, divide((centred[0] * centred[1]).sum(axis=-1), spread), np.nan)


def rank_correlation(one: FloatArray, two: FloatArray, name: str) -> float:
    """Return one coefficient of two lists; NaN with fewer than three items or a constant list."""
    from scipy import stats

    if one.size < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    if name == "kendall" and one.size <= FEW_ENOUGH:
        first, second = (np.sign(side[:, None] - side) for side in (one, two))
        return float((first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum()))
    if name == "kendall":
        return float(stats.kendalltau(one, two).statistic)
    if name == "spearman":
        one, two = stats.rankdata(one), stats.rankdata(two)
    return float(np.corrcoef(one, two)[0, 1])


def _resample_ranks(
    both: tuple[FloatArray, FloatArray], sampling: Sampling, cluster: IntArray | None
) -> dict[str, Estimate]:
    """Return rank coefficients with percentile intervals: ranks change with every resample, so items are drawn.

    Of few clusters the intervals are the jackknife's, as everywhere.
    """
    n = both[0].size
    groups = None if cluster is None else int(cluster.max()) + 1
    affordable = min(sampling.resamples, max(FEWEST_RESAMPLES, MOST_NUMBERS // n))
    values = {name: rank_correlation(*both, name) for name in RANKED}
    if not np.isfinite(list(values.values())).all():
        return dict.fromkeys(RANKED, undefined(NO_VARIANCE, n, groups))
    warnings = list_warnings(n, groups)
    if cluster is not None and groups is not None and groups < FEW_CLUSTERS:
        few = {name: _leave_clusters_out(both, cluster, name, value, sampling) for name, value in values.items()}
        return {name: replace(made, n=n, clusters=groups, warnings=warnings) for name, made in few.items()}
    owner = np.arange(n) if cluster is None else cluster
    replicates = _replicate_ranks(both, owner, Sampling(affordable, sampling.seed))
    if affordable < sampling.resamples:
        warnings = (*warnings, f"{affordable} resamples only: ranks of so many different scores are slow")
    answer: dict[str, Estimate] = {}
    for name, value in values.items():
        made = interval_from_replicates(value, replicates[name], None, sampling.level, groups)
        answer[name] = replace(made, n=n, clusters=groups, warnings=warnings + made.warnings)
    return answer


def _leave_clusters_out(
    both: tuple[FloatArray, FloatArray], cluster: IntArray, name: str, value: float, sampling: Sampling
) -> Estimate:
    """Return a rank coefficient with the jackknife's interval, for fewer clusters than a bootstrap can live on."""
    kept = [cluster != one for one in range(int(cluster.max()) + 1)]
    left_out = np.array([rank_correlation(both[0][own], both[1][own], name) for own in kept])
    once = np.ones(left_out.size, dtype=np.int64)
    return interval_from_jackknife(value, left_out, once, sampling.level).within((-1.0, 1.0))


def _replicate_ranks(both: tuple[FloatArray, FloatArray], owner: IntArray, sampling: Sampling) -> dict[str, FloatArray]:
    """Return the rank coefficients of items drawn with their owners: from tables, or one by one where they are vast."""
    (values_one, one), (values_two, two) = (np.unique(side, return_inverse=True) for side in both)
    shape, groups = (values_one.size, values_two.size), int(owner.max()) + 1
    if shape[0] * shape[1] <= MOST_RANKED:
        entries = Entries(owner, one * shape[1] + two, np.ones(owner.size))
        rows = entries.collect(groups, shape[0] * shape[1])
        units = units_of_cells(rows, np.ones(groups, dtype=np.int64), shape, owner.size, groups)
        return resample(units, {"spearman": Statistic(spearman), "kendall": Statistic(kendall)}, sampling)
    members = np.split(np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner))[:-1])
    rng = np.random.default_rng(sampling.seed)
    found: dict[str, FloatArray] = {name: np.empty(sampling.resamples) for name in RANKED}
    for index in range(sampling.resamples):
        chosen = np.concatenate([members[group] for group in rng.integers(0, groups, groups)])
        for name in RANKED:
            found[name][index] = rank_correlation(both[0][chosen], both[1][chosen], name)
    return found
