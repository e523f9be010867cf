"""Scores off a scale, and their pooling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from agreement import scores
from agreement.intervals import Sampling
from agreement.pooling import correlate_systems, correlate_within_prompts
from judge.domain import InputError


def some_scores(n, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    one = rng.normal(3, 1, n)
    two = 0.6 * one + rng.normal(0.5, 0.8, n)
    return (one, two) if digits is None else (one.round(digits), two.round(digits))


@settings(max_examples=15)
@given(st.integers(4, 60), st.integers(0, 10**6), st.sampled_from([None, 0, 1]))
def test_every_way_gives_scipys_values(n, seed, digits):
    one, two = some_scores(n, seed, digits)
    found = scores.compare_scores(np.r_[one, np.nan, 1.0], np.r_[two, 1.0, np.nan], Sampling(20))
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        assert found["pearson"].value is None
        return
    wanted = {
        "pearson": stats.pearsonr(one, two).statistic,
        "spearman": stats.spearmanr(one, two).statistic,
        "kendall": stats.kendalltau(one, two).statistic,
        "mae": np.abs(one - two).mean(),
        "rmse": np.sqrt(((one - two) ** 2).mean()),
        "bias": (two - one).mean(),
        "ccc": 2 * np.cov(one, two, ddof=0)[0, 1] / (one.var() + two.var() + (one.mean() - two.mean()) ** 2),
    }
    assert {name: made.value for name, made in found.items()} == pytest.approx(wanted, abs=1e-9)


def test_table_and_direct_intervals_agree():
    one, two = some_scores(400, 1, 0)
    through_table = scores.compare_scores(one, two, Sampling(2000))
    direct = scores._compare_directly(one, two, Sampling(500), None)
    for name, made in through_table.items():
        assert direct[name].value == pytest.approx(made.value, abs=1e-9)
        assert (direct[name].low, direct[name].high) == pytest.approx((made.low, made.high), abs=0.03)


def test_clustered_scores(quick):
    one, two = some_scores(60, 2)
    one, two, cluster = np.repeat(one, 4), np.repeat(two, 4), np.repeat(np.arange(60), 4)
    for digits in (0, 8):
        alone = scores.compare_scores(one.round(digits), two.round(digits), quick)
        together = scores.compare_scores(one.round(digits), two.round(digits), quick, cluster)
        for name in ("pearson", "spearman"):
            assert together[name].clusters == 60
            assert together[name].high - together[name].low > 1.4 * (alone[name].high - alone[name].low)


@pytest.mark.parametrize(("one", "two"), [([], []), ([1.0], [2.0]), ([1.0, 2.0], [1.0, 2.0]), ([1.0] * 9, range(9))])
def test_undefined_correlations(one, two, quick):
    found = scores.compare_scores(one, two, quick)
    for name in ("pearson", "spearman", "kendall", "ccc"):
        assert found[name].value is None
        assert found[name].why


def test_lengths_must_match():
    with pytest.raises(InputError):
        scores.compare_scores([1.0], [1.0, 2.0])


def test_within_prompts(quick):
    rng = np.random.default_rng(0)
    prompt = np.repeat(np.arange(30), 6)
    one = rng.normal(size=180)
    two = one + rng.normal(size=180)
    two[:6] = 1.0
    found = correlate_within_prompts(one, two, prompt, "spearman", quick)
    own = [stats.spearmanr(one[prompt == p], two[prompt == p]).statistic for p in range(1, 30)]
    assert found.estimate.value == pytest.approx(np.mean(own))
    assert (found.prompts, found.left_out) == (30, 1)
    none = correlate_within_prompts([1.0, 2.0], [1.0, 2.0], [0, 0], "kendall", quick)
    assert none.estimate.value is None


def test_between_systems(quick):
    rng = np.random.default_rng(1)
    system, prompt = np.tile(np.arange(6), 50), np.repeat(np.arange(50), 6)
    one = system * 0.5 + rng.normal(size=300)
    two = system * 0.5 + rng.normal(size=300)
    for name in ("pearson", "spearman", "kendall"):
        made = correlate_systems((one, two), system, name, quick, prompt)
        means = [[side[system == s].mean() for s in range(6)] for side in (one, two)]
        wanted = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[name](*means)
        assert made.value == pytest.approx(wanted.statistic)
        assert made.clusters == 50
    assert correlate_systems((one, two), system % 2, "pearson", quick).value is None
