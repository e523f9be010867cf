"""Scores off a scale, and their pooling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from agreement import scores
from agreement.attenuation import correct_attenuation
from agreement.categories import Categories
from agreement.intervals import Sampling
from agreement.many import alpha, count_labels
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
        # Ranks jump, and only resamples tell how far; resampled means are noisier, and Pearson's r of them is lower.
        assert made.method == ("jackknife, t" if name == "pearson" else "percentile")
    assert correlate_systems((one, two), system % 2, "pearson", quick).value is None


def test_systems_with_one_mean_share_a_rank_whatever_they_are_made_of(quick):
    third, two_thirds, four_thirds = np.round([1 / 3, 2 / 3, 4 / 3], 12)
    one = [1, third, two_thirds, four_thirds, two_thirds, two_thirds, four_thirds, two_thirds, 2, 2, 2, 2]
    two = np.repeat([1.0, 3.0, 2.0], 4)
    made = correlate_systems((one, two), np.repeat([0, 1, 2], 4), "spearman", quick)
    assert made.value == pytest.approx(stats.spearmanr([1, 1, 2], [1, 3, 2]).statistic)


FIVE_SCORES = Categories((1.0, 2.0, 3.0, 4.0, 5.0))


def noisy_people(truth, people, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(np.rint(truth[:, None] + rng.normal(0, 0.9, (truth.size, people))), 0, 4).astype(int)


def test_a_mean_of_people_is_as_reliable_as_spearman_and_brown_say():
    codes = noisy_people(np.random.default_rng(1).integers(0, 5, 200), 3)
    one = alpha(count_labels(codes, 5), "interval", FIVE_SCORES).value
    found = correct_attenuation(0.6, codes, FIVE_SCORES)
    assert found.reliability == pytest.approx(3 * one / (1 + 2 * one))
    assert (found.bound, found.relative) == (pytest.approx(found.reliability**0.5), pytest.approx(0.6 / found.bound))
    codes[:100, 2] = -1  # half of the items have two people: 2.4 is the harmonic mean
    fewer = correct_attenuation(0.6, codes, FIVE_SCORES)
    one = alpha(count_labels(codes, 5), "interval", FIVE_SCORES).value
    assert fewer.reliability == pytest.approx(2.4 * one / (1 + 1.4 * one))


def test_a_judge_that_knows_the_truth_reaches_the_bound():
    truth = np.random.default_rng(2).integers(0, 5, 20_000)
    codes = noisy_people(truth, 2)
    r = float(np.corrcoef(truth, codes.mean(axis=1))[0, 1])
    assert correct_attenuation(r, codes, FIVE_SCORES).relative == pytest.approx(1.0, abs=0.02)


def test_people_who_do_not_agree_bound_nothing():
    alone = np.random.default_rng(3).integers(0, 5, (50, 1))
    for codes in (alone, np.full((50, 2), 2), np.column_stack([alone, 4 - alone])):
        found = correct_attenuation(0.5, codes, FIVE_SCORES)
        assert (found.reliability, found.relative) == (None, None)
        assert "beyond chance" in found.why
    assert correct_attenuation(None, noisy_people(alone[:, 0], 2), FIVE_SCORES).why == "the correlation is undefined"


def test_ranks_of_few_clusters_have_the_jackknife_s_interval_however_many_scores_there_are(quick):
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(12), 10)
    one = rng.normal(size=12)[cluster] + rng.normal(size=120)
    two = one + rng.normal(size=120)
    found = scores.compare_scores(one, two, quick, cluster)
    assert {made.method for made in found.values()} == {"jackknife, t"}
    for name, coefficient in (("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        out = np.array([coefficient(one[cluster != g], two[cluster != g]).statistic for g in range(12)])
        half = stats.t.ppf(0.975, 11) * np.sqrt(11 / 12 * ((out - out.mean()) ** 2).sum())
        value = coefficient(one, two).statistic
        assert (found[name].low, found[name].high) == pytest.approx((value - half, min(value + half, 1.0)))
