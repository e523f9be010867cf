"""Intervals: the same law as resampling items, scipy's BCa, and coverage."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats
from simulation import cover_alpha, cover_clustered_exact, cover_corrected, cover_kappa

from agreement import intervals, many, pairs
from agreement.categories import Categories
from agreement.intervals import Sampling, Statistic
from agreement.units import Units, sum_by_cluster, take_together, units_of_rows, units_of_table

KAPPA = Statistic(partial(pairs.cohen_kappa, weights=np.eye(3)))


def some_codes(n, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    return first, np.where(rng.random(n) < 0.5, first, rng.integers(0, 3, n))


def test_the_table_bootstrap_has_the_law_of_the_item_bootstrap():
    first, second = some_codes(200)
    units = units_of_table(pairs.count_pairs(first, second, 3))
    ours = intervals.resample(units, {"k": KAPPA}, Sampling(3000, 1))["k"]
    rng = np.random.default_rng(2)
    drawn = (rng.integers(0, 200, 200) for _ in range(3000))
    theirs = [float(pairs.cohen_kappa(pairs.count_pairs(first[at], second[at], 3), np.eye(3))) for at in drawn]
    assert stats.ks_2samp(ours, theirs).pvalue > 0.01


def test_the_pattern_bootstrap_has_the_law_of_the_item_bootstrap():
    rng = np.random.default_rng(5)
    codes = np.where(rng.random((150, 4)) < 0.5, rng.integers(0, 3, (150, 1)), rng.integers(0, 3, (150, 4)))
    counts = many.count_labels(codes, 3)
    values = np.array([-1.0, 0.0, 1.0])
    units = many.units_of_counts(counts, 2, many.coincidences, None)
    compute = partial(many.krippendorff, level="ordinal", values=values)
    ours = intervals.resample(units, {"a": Statistic(compute)}, Sampling(2000, 1))["a"]
    rows = many.coincidences(counts)
    theirs = [float(compute(rows[rng.integers(0, 150, 150)].sum(axis=0))) for _ in range(2000)]
    assert stats.ks_2samp(ours, theirs).pvalue > 0.01


def test_drawing_singly_and_by_kind_have_one_law():
    rows, counts = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([10, 12, 8])
    few = Units(rows, counts, (2,), 30)
    apart = Units(np.repeat(rows, counts, axis=0), np.ones(30, dtype=np.int64), (2,), 30)
    ratio = {"r": Statistic(lambda s: pairs.divide(s[..., 0], s[..., 1]))}
    one, two = (intervals.resample(units, ratio, Sampling(4000, seed))["r"] for seed, units in enumerate((few, apart)))
    assert stats.ks_2samp(one, two).pvalue > 0.01


def test_bca_is_scipys():
    first, second = some_codes(80)
    units = units_of_table(pairs.count_pairs(first, second, 3))
    ours = intervals.estimate(units, KAPPA, Sampling(20_000, 1))

    def kappa(one, two):
        return float(pairs.cohen_kappa(pairs.count_pairs(one.astype(int), two.astype(int), 3), np.eye(3)))

    theirs = stats.bootstrap(
        (first, second), kappa, paired=True, vectorized=False, n_resamples=4000, method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_the_jackknife_over_cells_is_the_jackknife_over_items():
    first, second = some_codes(60)
    units = units_of_table(pairs.count_pairs(first, second, 3))
    cells = np.concatenate([KAPPA.compute(block) for block in intervals.leave_each_out(units)])
    keep = ~np.eye(60, dtype=bool)
    items = [float(pairs.cohen_kappa(pairs.count_pairs(first[k], second[k], 3), np.eye(3))) for k in keep]
    assert np.sort(np.repeat(cells, units.counts)) == pytest.approx(np.sort(items))


def test_clusters_have_the_tails_of_t_so_that_nothing_jumps_where_the_jackknife_ends():
    rng = np.random.default_rng(4)
    shares = rng.beta(3, 2, 20)
    statistic = Statistic(lambda sums: pairs.divide(sums[..., 0], sums[..., 1]), "percentile")

    def width(clusters):
        rows = np.column_stack([shares, np.ones(20)])[:clusters]
        made = intervals.estimate(units_of_rows(rows, 5 * clusters, clustered=True), statistic, Sampling(20_000))
        return made.method, made.high - made.low

    assert [width(clusters)[0] for clusters in (19, 20)] == ["jackknife, t", "percentile"]
    resampled = np.std(shares, ddof=1) * 2 * stats.t.ppf(0.975, 19) / np.sqrt(20)
    assert width(20)[1] == pytest.approx(resampled, rel=0.02)


def test_few_clusters_take_the_jackknife():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=12), np.ones(12)])
    mean = Statistic(lambda s: pairs.divide(s[..., 0], s[..., 1]))
    made = intervals.estimate(units_of_rows(rows, 60, clustered=True), mean, Sampling())
    low, high = stats.t.interval(0.95, 11, rows[:, 0].mean(), stats.sem(rows[:, 0]))
    assert (made.low, made.high) == pytest.approx((low, high))
    assert made.method == "jackknife, t"
    assert any("clusters" in warning for warning in made.warnings)
    one = intervals.estimate(units_of_rows(rows[:1], 5, clustered=True), mean, Sampling())
    assert (one.low, one.why) == (None, "an interval needs at least two items or clusters")


def test_very_many_distinct_units_take_the_jackknife_too(monkeypatch):
    rng = np.random.default_rng(4)
    tables = rng.multinomial(6, np.full(9, 1 / 9) + 0.05 * (np.eye(3).reshape(-1) - 1 / 3), size=1500).reshape(-1, 3, 3)
    units = units_of_rows(tables, 9000, clustered=True)
    drawn = intervals.estimate(units, KAPPA, Sampling())
    monkeypatch.setattr(intervals, "MOST_DISTINCT", 10)
    direct = intervals.estimate(units, KAPPA, Sampling())
    assert (drawn.method, direct.method) == ("bca", "jackknife, t")
    assert (direct.low, direct.high) == pytest.approx((drawn.low, drawn.high), abs=0.002)


@pytest.mark.parametrize("weighting", ["nominal", "quadratic"])
def test_at_thousands_of_items_the_jackknife_gives_what_very_many_resamples_do(weighting):
    table = np.array([[9000, 2200, 800], [1500, 11000, 2500], [600, 2400, 20_000]])
    kappa = partial(pairs.cohen_kappa, weights=Categories((-1.0, 0.0, 1.0)).weights(weighting))
    units = units_of_table(table)
    made = intervals.estimate(units, Statistic(kappa), Sampling())
    drawn = intervals.estimate(units, Statistic(kappa, smooth=False), Sampling(200_000, 3))
    assert (made.method, drawn.method) == ("jackknife, t", "bca")
    half = (drawn.high - drawn.low) / 2
    assert (made.low, made.high) == pytest.approx((drawn.low, drawn.high), abs=0.02 * half)


def test_rare_disagreements_are_resampled_however_many_items_there_are():
    table = np.array([[14_000, 4, 0], [3, 5_000, 1], [0, 2, 1_000]])
    made = intervals.estimate(units_of_table(table), KAPPA, Sampling())
    assert made.method == "bca"
    assert made.value - made.low > 1.2 * (made.high - made.value)  # a few more would cost more than a few less bring


def test_undefined_resamples():
    sometimes = Statistic(lambda s: np.where(s[..., 0] > s[..., 1], 1.0 * s[..., 0], np.nan))
    units = units_of_table(np.array([11, 9]))
    made = intervals.estimate(units, sometimes, Sampling(500))
    assert made.value == 11
    assert made.low is None
    assert "resamples" in made.why
    rarely = intervals.interval_from_replicates(0.5, np.r_[np.linspace(0, 1, 95), [np.nan] * 5], None, 0.95)
    assert rarely.low is not None
    assert "5 of 100" in rarely.warnings[0]


def test_skew_and_size_are_warned_of(three_way):
    from agreement.comparison import compare_table

    warnings = compare_table([[20, 1, 0], [1, 0, 0], [0, 0, 1]], three_way).estimates["kappa"].warnings
    assert any("30 items" in warning for warning in warnings)
    assert any("one category holds" in warning for warning in warnings)


def test_rows_taken_together():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (500, 4)).astype(float)
    rows[::7] *= -0.0
    distinct, counts = take_together(rows)
    wanted, times = np.unique(rows, axis=0, return_counts=True)
    order = np.lexsort(distinct.T[::-1])
    assert (distinct[order] == wanted).all()
    assert (counts[order] == times).all()
    assert take_together(np.zeros((0, 3)))[1].size == 0


def test_cluster_sums():
    rows = np.arange(12.0).reshape(6, 2)
    assert sum_by_cluster(rows, np.array([0, 1, 0, 1, 2, 2]), 3).tolist() == [[4, 6], [8, 10], [18, 20]]


@pytest.mark.parametrize("weighting", ["nominal", "quadratic"])
def test_kappa_intervals_cover(weighting):
    assert 0.92 <= cover_kappa(300, 500, weighting) <= 0.98


def test_alpha_intervals_cover():
    assert 0.92 <= cover_alpha(300, 300) <= 0.98


@pytest.mark.parametrize("clusters", [8, 60])
def test_cluster_intervals_cover(clusters):
    assert 0.92 <= cover_clustered_exact(clusters, 500) <= 0.98


def test_a_biased_judge_is_corrected():
    corrected, judge = cover_corrected(300, 3000, 500)
    assert 0.92 <= corrected <= 0.98
    assert judge < 0.1


def test_categories_need_two_values():
    from judge.domain import InputError

    with pytest.raises(InputError):
        Categories((1.0,))
    with pytest.raises(InputError):
        Categories((1.0, 1.0))
