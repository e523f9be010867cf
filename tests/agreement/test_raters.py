"""The ceiling, the alternative annotator test and the consensus."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from simulation import cover_gap

from agreement import pairs
from agreement.alt_test import run_alt_test
from agreement.categories import Categories
from agreement.ceiling import compare_with_ceiling, score_ceiling
from agreement.combine import take_majority
from agreement.dawid_skene import find_consensus
from agreement.intervals import Sampling
from judge.domain import InputError

SCALE = Categories((-1.0, 0.0, 1.0), 1)


def some_raters(n=200, humans=3, seed=0, missing=0.2, skill=0.7):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, (n, 1))
    codes = np.where(rng.random((n, humans + 1)) < skill, truth, rng.integers(0, 3, (n, humans + 1)))
    codes[:, :humans][rng.random((n, humans)) < missing] = -1
    return codes[:, :humans], codes[:, humans]


def test_ceiling_is_the_mean_of_pairs(quick):
    humans, judge = some_raters()
    judge[:5] = -1
    kept = ((humans >= 0).sum(axis=1) >= 2) & (judge >= 0)
    people, model = humans[kept], judge[kept]

    def kappa(one, two):
        return float(pairs.cohen_kappa(pairs.count_pairs(one, two, 3), np.eye(3)))

    found = compare_with_ceiling((humans, judge), SCALE, "kappa", quick)
    assert found.human_human.value == pytest.approx(
        np.mean([kappa(people[:, a], people[:, b]) for a, b in combinations(range(3), 2)])
    )
    assert found.human_judge.value == pytest.approx(np.mean([kappa(people[:, a], model) for a in range(3)]))
    assert found.gap.value == pytest.approx(found.human_judge.value - found.human_human.value)
    assert found.n == kept.sum()
    cluster = np.arange(200) // 4
    clustered = compare_with_ceiling((humans, judge), SCALE, "exact", quick, cluster)
    assert clustered.gap.clusters == np.unique(cluster[kept]).size


def test_clusters_of_one_have_the_same_law():
    humans, judge = some_raters()
    one = compare_with_ceiling((humans, judge), SCALE, "kappa", Sampling(3000))
    two = compare_with_ceiling((humans, judge), SCALE, "kappa", Sampling(3000), np.arange(200))
    assert one.gap.value == pytest.approx(two.gap.value)
    assert (one.gap.low, one.gap.high) == pytest.approx((two.gap.low, two.gap.high), abs=0.015)


def test_many_humans_are_pooled(quick):
    humans, judge = some_raters(humans=14, missing=0.8)
    found = compare_with_ceiling((humans, judge), SCALE, "exact", quick)
    assert found.pooling == "pooled"
    assert 0.4 < found.human_human.value < 0.9


def test_no_ceiling_without_two_humans():
    found = compare_with_ceiling((np.array([[0, -1], [-1, 1]]), np.array([0, 1])), SCALE)
    assert found.gap.value is None
    assert score_ceiling([[1.0, np.nan]], [1.0]).human_human.value is None


@pytest.mark.parametrize("score", [1.0, 2.0, 1 / 3])
def test_a_judge_who_always_gives_one_score_has_no_correlation(score, quick):
    humans = np.random.default_rng(9).integers(1, 6, (7, 3)).astype(float)
    humans[1, 0] = np.nan
    found = score_ceiling(humans, np.full(7, score), quick)
    assert found.human_human.value is not None
    assert (found.human_judge.value, found.gap.value) == (None, None)


def test_score_ceiling_leaves_the_rater_out(quick):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(300, 1))
    people = truth + rng.normal(size=(300, 4))
    judge = truth[:, 0] + rng.normal(size=300)
    people[rng.random(people.shape) < 0.1] = np.nan
    kept = np.isfinite(people).sum(axis=1) >= 2
    found = score_ceiling(people, judge, quick)
    own, model = [], []
    for human in range(4):
        used = kept & np.isfinite(people[:, human])
        others = np.nanmean(np.delete(people[used], human, axis=1), axis=1)
        own.append(stats.pearsonr(people[used, human], others).statistic)
        model.append(stats.pearsonr(judge[used], others).statistic)
    assert found.human_human.value == pytest.approx(np.mean(own))
    assert found.human_judge.value == pytest.approx(np.mean(model))
    assert found.gap.value == pytest.approx(np.mean(model) - np.mean(own))
    inclusive = np.mean([stats.pearsonr(truth[:, 0], np.nanmean(people, axis=1)).statistic])
    assert found.human_human.value < inclusive


@pytest.mark.parametrize("kind", ["labels", "scores"])
def test_a_judge_like_the_humans_has_no_gap(kind):
    held, mean, error = cover_gap(kind, 150)
    assert 0.9 <= held <= 0.99
    assert abs(mean) < 3.5 * error


def naive_alt_test(humans, judge, epsilon, measure):
    """Follow the paper's words, one item at a time."""
    p_values, rhos = [], []
    for j in range(humans.shape[1]):
        wins_judge, gaps = [], []
        for i in range(humans.shape[0]):
            others = [h for k, h in enumerate(humans[i]) if k != j and not np.isnan(h)]
            if np.isnan(humans[i, j]) or np.isnan(judge[i]) or not others:
                continue
            if measure == "match":
                of_judge, of_human = (sum(v == o for o in others) for v in (judge[i], humans[i, j]))
            else:
                of_judge, of_human = (-sum((v - o) ** 2 for o in others) for v in (judge[i], humans[i, j]))
            wins_judge.append(of_judge >= of_human)
            gaps.append(int(of_human >= of_judge) - int(of_judge >= of_human))
        if len(gaps) < 30:
            continue
        p_values.append(stats.ttest_1samp(gaps, epsilon, alternative="less").pvalue)
        rhos.append(np.mean(wins_judge))
    passed = stats.false_discovery_control(p_values, method="by") <= 0.05
    return np.mean(passed), np.mean(rhos), p_values


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(["match", "rmse"]), st.floats(0.3, 0.9), st.sampled_from([0.1, 0.2]))
def test_alt_test_is_the_papers(seed, measure, skill, epsilon):
    humans, judge = some_raters(120, 4, seed, 0.3, skill)
    people, model = np.where(humans < 0, np.nan, humans), judge.astype(float)
    found = run_alt_test((people, model), measure, epsilon)
    omega, rho, p_values = naive_alt_test(people, model, epsilon, measure)
    assert found.winning_rate == pytest.approx(omega)
    assert found.advantage_probability == pytest.approx(rho)
    assert [a.p for a in found.annotators if a.p is not None] == pytest.approx(p_values, abs=1e-9)
    assert found.passes == (omega >= 0.5)
    rates = [rate for _, rate in found.curve]
    assert rates == sorted(rates)


def test_alt_test_edges():
    same = np.tile(np.arange(40)[:, None] % 3, 3)
    perfect = run_alt_test((same, same[:, 0]))
    assert (perfect.winning_rate, perfect.advantage_probability, perfect.passes) == (1.0, 1.0, True)
    assert perfect.curve[0] == (0.0, 0.0)  # no difference and no allowance: p is 1, where scipy says NaN
    worst = run_alt_test((same, (same[:, 0] + 1) % 3))
    assert (worst.winning_rate, worst.passes) == (0.0, False)
    assert run_alt_test((same[:, :1], same[:, 0])).why
    few = run_alt_test((same[:10], same[:10, 0]))
    assert few.winning_rate is None
    assert few.passes is None
    assert all(annotator.why for annotator in few.annotators)
    assert run_alt_test((same[:10], same[:10, 0]), small="wilcoxon").winning_rate == 1.0
    assert "consensus" in run_alt_test((same[:, :2], same[:, 0])).warnings[0]
    with pytest.raises(InputError):
        run_alt_test((same, same[:5, 0]))


def test_alt_test_small_and_clustered():
    humans, judge = some_raters(25, 3, 1, 0.0, 0.8)
    assert run_alt_test((humans, judge), small="wilcoxon").winning_rate is not None
    humans, judge = some_raters(60, 3, 1, 0.0, 0.8)
    repeated = np.repeat(humans, 5, axis=0), np.repeat(judge, 5)
    naive = run_alt_test(repeated)
    honest = run_alt_test(repeated, resampling=(Sampling(2000), np.repeat(np.arange(60), 5)))
    assert all(h.p >= n.p for h, n in zip(honest.annotators, naive.annotators, strict=True))


def test_consensus_finds_the_truth_and_the_raters():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2000)
    skills = (0.9, 0.85, 0.55, 0.5, 0.45)
    codes = np.column_stack([np.where(rng.random(2000) < s, truth, rng.integers(0, 3, 2000)) for s in skills])
    codes[rng.random(codes.shape) < 0.1] = -1
    found = find_consensus(codes, 3)
    majority = take_majority(codes, SCALE).codes
    assert (found.codes == truth).mean() > (majority == truth).mean() + 0.02
    for rater, skill in enumerate(skills):
        wanted = np.full((3, 3), (1 - skill) / 3) + np.eye(3) * skill
        assert found.confusion[rater] == pytest.approx(wanted, abs=0.06)
    assert found.posterior.sum(axis=1) == pytest.approx(1)
    assert 0 < found.differs < 0.3
    order = np.random.default_rng(1).permutation(5)
    assert (find_consensus(codes[:, order], 3).codes == found.codes).mean() > 0.999


@pytest.mark.parametrize(
    "codes",
    [np.zeros((50, 2), int), np.full((50, 3), -1), np.zeros((9, 3), int), np.where(np.eye(50, 4) > 0, 1, -1)],
)
def test_consensus_refuses(codes):
    found = find_consensus(codes, 3)
    assert found.codes is None
    assert found.why
