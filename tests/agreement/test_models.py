"""Models under review: Bradley-Terry, WildBench's numbers, corrected means, planning."""

from __future__ import annotations

import math

import evalica
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from agreement import planning, wildbench
from agreement.bradley_terry import Games, correlate_rankings, find_components, fit_models, fit_strengths, rank_models
from agreement.intervals import Sampling
from agreement.pairs import cohen_kappa, count_pairs
from agreement.prediction_powered import Sample, choose_weight, correct_mean, correct_share, rogan_gladen
from judge.domain import InputError


def some_games(n=400, models=5, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, models, n)
    second = (first + rng.integers(1, models, n)) % models
    chance = 1 / (1 + np.exp(-(first - second) / 2.0))
    result = np.where(rng.random(n) < 0.2, 0.5, (rng.random(n) < chance).astype(float))
    return Games(first, second, result, models)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_strengths_are_evalicas(seed, models):
    games = some_games(300, models, seed)
    winners = [{1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}[r] for r in games.result]
    wins = np.zeros((models, models))
    np.add.at(wins, (games.first, games.second), games.result)
    np.add.at(wins, (games.second, games.first), 1 - games.result)
    assume(len(find_components(wins)) == 1)
    theirs = evalica.bradley_terry(games.first.tolist(), games.second.tolist(), winners, tolerance=1e-13, limit=100_000)
    logs = np.log(theirs.scores.sort_index().to_numpy())
    assert fit_strengths(wins) == pytest.approx(logs - logs.mean(), abs=1e-6)
    found = rank_models(games, sampling=Sampling(5))
    assert [s.value for s in found.strengths] == pytest.approx(fit_strengths(wins))


def test_ranks_and_clusters():
    games = some_games(2000)
    found = rank_models(games, sampling=Sampling(200), clusters=np.arange(2000) // 10)
    values = [s.value for s in found.strengths]
    assert values == sorted(values)
    assert sum(values) == pytest.approx(0, abs=1e-9)
    assert all(s.low < s.value < s.high and s.clusters == 200 for s in found.strengths)
    assert [rank[0] <= 5 - model <= rank[1] for model, rank in enumerate(found.ranks)] == [True] * 5
    assert found.win_probability + found.win_probability.T == pytest.approx(1)
    assert found.elo()[0].value == pytest.approx(1000 + 400 / math.log(10) * values[0])
    spread = np.sqrt(np.diag(found.covariance))
    widths = np.array([(s.high - s.low) / 2 / 1.96 for s in found.strengths])
    assert widths == pytest.approx(spread, rel=0.35)


def test_games_alone_have_the_law_of_clusters_of_one():
    games = some_games(500)
    one, two = rank_models(games, sampling=Sampling(1500)), rank_models(games, 0.0, Sampling(1500), np.arange(500))
    for a, b in zip(one.strengths, two.strengths, strict=True):
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=0.05)


def test_no_maximum_is_said():
    undefeated = Games([0, 0, 1, 2], [1, 2, 2, 1], [1.0, 1.0, 1.0, 1.0], 3)
    found = rank_models(undefeated)
    assert found.components in (((0,), (1, 2)), ((1, 2), (0,)))
    assert "2 groups" in found.why
    assert all(s.value is None and s.why for s in found.strengths)
    regular = rank_models(undefeated, 1.0, Sampling(50))
    assert regular.why is None
    assert regular.strengths[0].value > regular.strengths[1].value
    apart = rank_models(Games([0, 1, 2, 3], [1, 0, 3, 2], [1.0] * 4, 4))
    assert len(apart.components) == 2
    assert rank_models(Games([], [], [], 2)).strengths[0].value is None


def test_mirrored_games_negate():
    games = some_games()
    found = rank_models(games, sampling=Sampling(5))
    other = rank_models(Games(games.first, games.second, 1 - games.result, 5), sampling=Sampling(5))
    assert [s.value for s in found.strengths] == pytest.approx([-s.value for s in other.strengths])


def test_two_rankings():
    one, two = some_games(1500, seed=1), some_games(1500, seed=2)
    prompts = np.arange(1500) // 10
    made = correlate_rankings((one, two), ("pearson",), (prompts, prompts), sampling=Sampling(100))["pearson"]
    strengths = [[s.value for s in rank_models(g, sampling=Sampling(2)).strengths] for g in (one, two)]
    assert made.value == pytest.approx(stats.pearsonr(*strengths).statistic)
    assert made.low < made.value < made.high
    assert made.clusters == 150
    # So many games that every resample orders the models alike: a value, but nothing to make an interval of.
    ranks = correlate_rankings((one, two), ("spearman",), (prompts, prompts), sampling=Sampling(100))["spearman"]
    assert (ranks.value, ranks.low) == (pytest.approx(1), None)
    assert ranks.why
    same = correlate_rankings((one, one), ("kendall",), (prompts, prompts), sampling=Sampling(50))["kendall"]
    assert same.value == pytest.approx(1)
    lost = Games([0, 0, 1], [1, 2, 2], [1.0, 1.0, 1.0], 3)
    assert correlate_rankings((lost, lost), ("pearson",), ([0, 1, 2], [0, 1, 2]))["pearson"].value is None


def test_rankings_are_correlated_by_every_coefficient_on_the_same_strengths():
    games = [some_games(60, seed=seed) for seed in (6, 7)]
    prompts = np.arange(60)
    both = correlate_rankings((games[0], games[1]), ("spearman", "kendall"), (prompts, prompts), sampling=Sampling(200))
    strengths = [[s.value for s in rank_models(g, sampling=Sampling(2)).strengths] for g in games]
    assert both["spearman"].value == pytest.approx(stats.spearmanr(*strengths).statistic)
    assert both["kendall"].value == pytest.approx(stats.kendalltau(*strengths).statistic)
    assert both["kendall"].low < both["kendall"].value
    # Models that beat each other equally often are tied, whatever the solver's last digits say.
    even = Games([0, 1, 2, 0, 1, 2, 0], [1, 2, 0, 1, 2, 0, 3], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5], 4)
    assert correlate_rankings((even, even), ("kendall",), (range(7), range(7)))["kendall"].value is None


def test_length_rule(five_way, quick):
    codes = np.array([3, 3, 4, 1, 0, 2, -1])  # A+, A+, A++, B+, B++, tie, missing
    lengths = ([900, 300, 900, 100, 100, 5, 5], [100, 200, 100, 900, 900, 5, 5])
    found, made = wildbench.apply_length_rule(codes, lengths, five_way, 500)
    assert (found.tolist(), made) == ([2, 3, 4, 2, 0, 2, -1], 2)
    values = np.where(codes >= 0, five_way.array[codes], np.nan)
    off = wildbench.estimate_mean(values, quick)
    assert (off.value, off.n) == (pytest.approx(0.5 / 6), 6)
    clustered = wildbench.estimate_mean(values, quick, np.arange(7))
    assert clustered.value == pytest.approx(off.value)
    edge, _ = wildbench.apply_length_rule([3], ([600], [100]), five_way, 500)
    assert edge.tolist() == [3]  # longer by exactly K is not longer by more than K


def test_task_groups(quick):
    tasks = wildbench.TASK_GROUPS.keys() - wildbench.GROUP_WEIGHTS.keys()
    assert len(tasks) == 11  # the twelfth, "Coding & Debugging", has the name of its group
    assert all(wildbench.TASK_GROUPS[group] == group for group in wildbench.GROUP_WEIGHTS)
    assert set(wildbench.TASK_GROUPS.values()) == set(wildbench.GROUP_WEIGHTS)
    values = [1.0, 0.0, 0.5, np.nan, 0.25]
    tags = [["Math", "Data Analysis"], ["Math", "Coding & Debugging"], ["Editing"], ["Editing"], ["unheard of"]]
    weights = np.array(list(wildbench.GROUP_WEIGHTS.values()))
    found = wildbench.average_groups(np.array(values), wildbench.find_tasks(tags), weights, quick)
    groups = dict(zip(wildbench.GROUP_WEIGHTS, found.groups, strict=True))
    assert groups["Math & Data Analysis"].value == 0.5
    assert groups["Coding & Debugging"].value == 0
    assert groups["Creative Tasks"].value == 0.5
    assert groups["Planning & Reasoning"].value is None
    assert found.average.value == pytest.approx((0.5 * 1.0 + 0 * 1.25 + 0.5 * 0.5) / 2.75)
    assert found.average.n == 3
    nobody = wildbench.average_groups(np.ones(1), wildbench.find_tasks([["?"]]), weights, quick)
    assert nobody.average.value is None


def test_wb_score_and_mix(quick):
    made = wildbench.wb_score([5, 7, 9, np.nan], quick)
    assert made.value == pytest.approx(4)
    assert wildbench.wb_score([np.nan], quick).value is None
    values, opponent = np.array([1.0, 1.0, 0.5, 0.0, np.nan, 1.0]), np.array([0, 0, 2, 2, 2, -1])
    against, mix = wildbench.average_baselines(values, opponent, quick)
    assert {name: made.value for name, made in against.items()} == {0: 1.0, 2: 0.25}
    assert mix.value == pytest.approx(0.625)
    _, missing = wildbench.average_baselines(values, np.array([0, 0, 0, 0, 1, -1]), quick)
    assert missing.why == "1 of 2 baselines are missing"
    for clusters in (None, np.arange(6) // 2):
        assert wildbench.average_baselines(values, np.full(6, -1), quick, clusters)[1].value is None


def test_corrected_mean_is_the_formula():
    rng = np.random.default_rng(0)
    human = rng.integers(0, 2, 450).astype(float)
    judge = np.where(rng.random(450) < 0.8, human, rng.random(450).round())
    known, pool = slice(0, 150), slice(150, 450)
    hidden = human.copy()
    hidden[pool] = np.nan
    found = correct_mean(Sample(hidden, judge))
    lam = np.cov(human[known], judge[known])[0, 1] / ((1 + 150 / 300) * judge.var(ddof=1))
    assert found.weight == pytest.approx(lam)
    rest = human[known] - lam * judge[known]
    value = lam * judge[pool].mean() + rest.mean()
    variance = lam**2 * judge[pool].var(ddof=1) / 300 + rest.var(ddof=1) / 150
    assert found.corrected.value == pytest.approx(value)
    half = stats.norm.ppf(0.975) * np.sqrt(variance)
    assert (found.corrected.low, found.corrected.high) == pytest.approx((value - half, value + half))
    assert found.gain == pytest.approx(human[known].var(ddof=1) / (150 * variance))
    assert found.gain > 1
    assert found.human_only.value == pytest.approx(human[known].mean())
    assert any("biased" in warning for warning in found.judge_only.warnings)
    single = correct_mean(Sample(hidden, judge, cluster=np.arange(450)))
    assert single.corrected.low == pytest.approx(found.corrected.low, abs=1e-3)
    weighted = correct_mean(Sample(hidden, judge, chance=np.full(450, 0.3)), "known chances")
    # With equal chances both ways of taking the judge's mean are the same but for how the best weight is estimated.
    assert weighted.corrected.value == pytest.approx(value, abs=1e-3)
    assert weighted.corrected.high - weighted.corrected.low == pytest.approx(2 * half, rel=0.02)
    assert (found.effective, weighted.effective) == pytest.approx((150, 150))
    doubled = Sample(np.tile(hidden, 2), np.tile(judge, 2), cluster=np.tile(np.arange(450), 2))
    twice = correct_mean(doubled).corrected
    assert twice.high - twice.low == pytest.approx(found.corrected.high - found.corrected.low, rel=0.02)


def test_labels_of_one_cluster_have_no_gain():
    human, judge = np.array([1.0, 0.0, 1.0, np.nan, np.nan, np.nan]), np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    found = correct_mean(Sample(human, judge, cluster=np.array([0, 0, 0, 1, 1, 2])))
    assert found.corrected.low is not None
    assert "two independent" in found.human_only.why
    assert found.gain is None


@pytest.mark.parametrize(("labels", "method"), [(99, "t"), (100, "normal")])
def test_from_a_hundred_labels_on_an_interval_is_normal(labels, method):
    rng = np.random.default_rng(0)
    human = np.where(np.arange(300) < labels, rng.random(300), np.nan)
    made = correct_mean(Sample(human, rng.random(300))).human_only
    quantile = stats.norm.ppf(0.975) if method == "normal" else stats.t.ppf(0.975, labels - 1)
    spread = np.nanstd(human, ddof=1) / np.sqrt(labels)
    assert (made.method, made.high) == (method, pytest.approx(np.nanmean(human) + quantile * spread))


def test_design_weights_undo_selection():
    rng = np.random.default_rng(1)
    human = (rng.random(40_000) < 0.3).astype(float)
    judge = np.where(rng.random(40_000) < 0.8, human, 1 - human)
    chance = np.where(human > 0, 0.4, 0.1)
    seen = np.where(rng.random(40_000) < chance, human, np.nan)
    right, wrong = correct_mean(Sample(seen, judge, chance), "known chances"), correct_mean(Sample(seen, judge))
    assert right.human_only.value == pytest.approx(0.3, abs=0.02)
    assert wrong.human_only.value > 0.5
    # What is left unlabelled is no random rest either: the judge's mean has to be that over all items.
    assert right.corrected.low < 0.3 < right.corrected.high
    assert not wrong.corrected.low < 0.3 < wrong.corrected.high
    assert right.gain > 1
    assert right.effective < right.labelled
    assert right.corrected.high - right.corrected.low < right.human_only.high - right.human_only.low


def test_a_weighted_correction_over_prompts_counts_each_prompt_once():
    rng = np.random.default_rng(2)
    human = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 300)
    judge = np.where(rng.random(300) < 0.7, human, 1.0)
    chance = rng.uniform(0.2, 0.9, 300)
    seen = np.where(rng.random(300) < chance, human, np.nan)
    once = correct_mean(Sample(seen, judge, chance, np.arange(300)), "known chances").corrected
    plain = correct_mean(Sample(seen, judge, chance), "known chances").corrected
    assert (once.low, once.high) == pytest.approx((plain.low, plain.high), abs=1e-3)
    three = Sample(*(np.tile(part, 3) for part in (seen, judge, chance, np.arange(300))))
    thrice = correct_mean(three, "known chances").corrected
    assert thrice.value == pytest.approx(once.value)
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, rel=0.02)


def test_corrected_mean_refuses():
    human, judge = np.array([1.0, 0.0, np.nan]), np.array([1.0, 0.0, 1.0])
    for found in (
        correct_mean(Sample(human, judge), "judge's doubt"),
        correct_mean(Sample(human, judge), "known chances"),
        correct_mean(Sample(np.full(3, np.nan), judge)),
        correct_mean(Sample(human, judge, np.array([0.5, 0.0, 1.0])), "known chances"),
        correct_mean(Sample(human, judge, np.array([0.5, np.nan, 1.0])), "known chances"),
        correct_mean(Sample(human, judge, np.array([0.5, 1.5, 1.0])), "known chances"),
    ):
        assert found.corrected.value is None
        assert found.corrected.why
    constant = correct_mean(Sample(np.array([1.0, 0.0, 1.0, np.nan]), np.ones(4)))
    assert constant.weight == 0
    assert constant.corrected == constant.human_only
    lone = correct_mean(Sample(np.array([1.0, np.nan]), np.ones(2)))
    assert lone.corrected.low is None
    assert choose_weight(human[:2], judge[:2], np.zeros(0)) == 0


def test_rogan_gladen():
    made = rogan_gladen((420, 1000), [[80, 20], [10, 90]])
    assert made.value == pytest.approx((0.42 + 0.8 - 1) / 0.7)
    assert made.low < made.value < made.high
    assert rogan_gladen((4, 10), [[5, 5], [5, 5]]).value is None
    assert rogan_gladen((4, 10), [[0, 0], [5, 5]]).value is None


def test_where_every_judged_item_is_labelled_a_corrected_share_is_as_sure_as_people_s_own():
    rng = np.random.default_rng(4)
    human = (rng.random(400) < 0.4).astype(np.int64)
    judge = np.where(rng.random(400) < 0.8, human, 1 - human)
    made, own = correct_share(human, judge), correct_mean(Sample(human.astype(float), judge.astype(float))).human_only
    assert made.method == "delta, normal"
    assert (made.value, made.low, made.high) == pytest.approx((own.value, own.low, own.high))
    clustered = correct_share(human, judge, np.arange(400))
    assert (clustered.low, clustered.high) == pytest.approx((made.low, made.high))
    seen = np.where(np.arange(400) < 100, human, -1)
    apart = rogan_gladen((int(judge.sum()), 400), count_pairs(seen, judge, 2))
    assert correct_share(seen, judge).value == apart.value
    assert correct_share(seen, judge).high < apart.high


def test_planning():
    assert planning.items_for_share(0.5, 0.05) == 385
    assert planning.items_for_share(0.5, 0.05, effect=planning.design_effect(5, 0.25)) == 769
    assert planning.items_for_kappa([[5, 0], [0, 0]], np.eye(2), 0.1) is None
    assert float(cohen_kappa(planning.table_with_kappa([0.2, 0.3, 0.5], 0.6), np.eye(3))) == pytest.approx(0.6)
    assert planning.items_for_kappa_without_pilot([0.5, 0.5], 0.0, 0.1) == 385
    assert planning.labels_for_prediction_powered(400, 0.5) == 300
    needed = planning.items_for_difference(0.05, 0.25)
    assert needed == math.ceil((1.959964 * 0.5 + 0.841621 * math.sqrt(0.25 - 0.0025)) ** 2 / 0.0025)
    assert planning.power_of_alt_test((0.0, 0.6), 100, 3) > planning.power_of_alt_test((0.0, 0.6), 50, 3)
    assert planning.power_of_alt_test((0.0, 0.0), 50, 3) == 1
    with pytest.raises(InputError):
        planning.items_for_difference(0.3, 0.2)
    with pytest.raises(InputError):
        planning.items_for_share(0.5, 0)


def test_strengths_without_intervals_are_those_with_them():
    rng = np.random.default_rng(4)
    games = Games(rng.integers(0, 5, 80), rng.integers(0, 5, 80), rng.choice([0.0, 0.5, 1.0], 80), 5)
    found, bare = rank_models(games, sampling=Sampling(20, 0)), fit_models(games, "too many")
    assert [one.value for one in bare.strengths] == pytest.approx([one.value for one in found.strengths])
    assert {(one.low, one.why) for one in bare.strengths} == {(None, "too many")}
    assert bare.win_probability == pytest.approx(found.win_probability)
    lost = fit_models(Games([0, 0], [1, 1], [1.0, 1.0], 2), "too many")
    assert lost.strengths[0].value is None
    assert "2 groups not joined" in lost.strengths[0].why
