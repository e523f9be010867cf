"""Statistics beyond the first set, each against a published table, a second implementation, or a property."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy.optimize import minimize
from sklearn.metrics import precision_recall_fscore_support

from agreement import ceiling, many
from agreement.alt_test import hold_duels, passes_alt_test, rate_domains, run_alt_test
from agreement.bradley_terry import Games, fit_strengths
from agreement.davidson import fit_davidson
from agreement.intervals import Sampling
from agreement.intraclass import intraclass_correlation
from agreement.power import Expected, Trials, simulate_from_expectation, simulate_from_pilot
from agreement.prediction_powered import Sample, correct_mean
from agreement.ranking_accuracy import measure_ranking_accuracy
from agreement.reference import macro_score
from agreement.two_way import alpha_two_way

SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_intraclass_correlation_as_published():
    found = intraclass_correlation(SHROUT_FLEISS)
    assert found["icc_2_1"].value == pytest.approx(0.29, abs=0.005)
    assert found["icc_2_k"].value == pytest.approx(0.62, abs=0.005)


@given(st.integers(0, 10_000))
def test_intraclass_correlation_from_the_mean_squares(seed):
    rng = np.random.default_rng(seed)
    items, raters = int(rng.integers(3, 12)), int(rng.integers(2, 6))
    scores = rng.integers(1, 6, (items, raters)) + rng.normal(size=(items, 1))
    grand = scores.mean()
    rows = raters * ((scores.mean(axis=1) - grand) ** 2).sum() / (items - 1)
    columns = items * ((scores.mean(axis=0) - grand) ** 2).sum() / (raters - 1)
    rest = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + grand
    error = (rest**2).sum() / ((items - 1) * (raters - 1))
    single = (rows - error) / (rows + (raters - 1) * error + raters * (columns - error) / items)
    with_gaps = np.vstack([scores, np.full((2, raters), np.nan)])
    assert intraclass_correlation(with_gaps, Sampling(50))["icc_2_1"].value == pytest.approx(single, abs=1e-9)


def test_raters_who_contradict_each_other_have_no_reliability_above_one():
    reversed_scores = [[1.0, 5.0], [5.0, 1.0], [2.0, 4.0], [4.0, 2.0]]
    found = intraclass_correlation(reversed_scores, Sampling(50))
    assert found["icc_2_1"].value < 0
    assert (found["icc_2_k"].value, found["icc_2_k"].low) == (None, None)
    assert "cancel out" in found["icc_2_k"].why


@pytest.mark.parametrize(("low", "few"), [(1.0, 1), (1.0, 2), (2.0, 1), (3.0, 2), (2.0, 3)])
def test_raters_who_agree_on_everything_leave_nothing_to_resample(low, few):
    # Some resamples hold one score alone, others vary: rounding is told from neither.
    scores = np.full((21, 3), 5.0)
    scores[:few] = low
    for made in intraclass_correlation(scores, Sampling(50)).values():
        assert made.value == pytest.approx(1.0, abs=1e-12)
        assert (made.low, made.high) == (None, None)
        assert made.why


def test_intraclass_correlation_needs_a_complete_block():
    assert intraclass_correlation([[1.0, np.nan], [np.nan, 2.0]])["icc_2_1"].why
    assert intraclass_correlation([[1.0], [2.0]])["icc_2_1"].why == "fewer than two raters"
    assert intraclass_correlation(np.ones((5, 3)))["icc_2_1"].value is None
    cancelled = intraclass_correlation([[2.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    assert [made.value for made in cancelled.values()] == [pytest.approx(-1), None]


@given(st.integers(0, 10_000))
def test_macro_scores_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (4, 4)) * (rng.random((4, 4)) < 0.7)
    if not table.sum():
        return
    true, said = (np.repeat(side.reshape(-1), table.reshape(-1)) for side in np.indices((4, 4)))
    wanted = precision_recall_fscore_support(true, said, average="macro", zero_division=0)
    found = [float(macro_score(table, name)) for name in ("precision", "recall", "f1")]
    assert found == pytest.approx(wanted[:3], abs=1e-9)


def davidson_games(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, 300)
    second = (first + rng.integers(1, 4, 300)) % 4
    return Games(first, second, rng.choice([0.0, 0.5, 1.0], 300, p=[0.3, 0.3, 0.4]), 4)


@pytest.mark.parametrize("seed", range(5))
def test_davidson_is_where_a_general_optimiser_ends(seed):
    games = davidson_games(seed)

    def loss(parameters):
        theta, tie = np.append(parameters[:3], -parameters[:3].sum()), parameters[3]
        one, two = theta[games.first], theta[games.second]
        middle = tie + (one + two) / 2
        total = np.logaddexp(np.logaddexp(one, two), middle)
        return -np.select([games.result == 1, games.result == 0], [one, two], middle).sum() + total.sum()

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    found = fit_davidson(games)
    assert found.strengths[:3] == pytest.approx(best.x[:3], abs=1e-5)
    assert np.log(found.nu) == pytest.approx(best.x[3], abs=1e-5)
    assert loss(np.append(found.strengths[:3], np.log(found.nu))) <= best.fun + 1e-9


def test_davidson_without_ties_is_bradley_terry_and_says_when_there_is_no_maximum():
    games = davidson_games(0)
    decided = games.result != 0.5
    plain = Games(games.first[decided], games.second[decided], games.result[decided], 4)
    wins = np.zeros((4, 4))
    np.add.at(wins, (plain.first[plain.result == 1], plain.second[plain.result == 1]), 1)
    np.add.at(wins, (plain.second[plain.result == 0], plain.first[plain.result == 0]), 1)
    assert fit_davidson(plain).strengths == pytest.approx(fit_strengths(wins), abs=1e-9)
    assert "groups" in fit_davidson(Games([0, 2], [1, 3], [0.5, 0.5], 4)).why
    assert "every game is a tie" in fit_davidson(Games([0, 1], [1, 0], [0.5, 0.5], 2)).why


@pytest.mark.parametrize(
    "games",
    [
        Games([0, 0, 0], [1, 1, 1], [1, 1, 0.5], 2),
        Games([0, 1, 1, 2], [1, 2, 0, 1], [1, 1, 0.5, 0.5], 3),
        Games([0, 1, 0, 2], [1, 2, 2, 3], [0.5, 0.5, 1, 0.5], 4),
    ],
)
def test_davidson_has_no_maximum_where_an_order_of_the_models_explains_every_game(games):
    found = fit_davidson(games)
    assert "no maximum" in found.why
    assert np.isnan([found.nu, *found.strengths]).all()


def test_davidson_has_a_maximum_where_a_tie_contradicts_the_order():
    found = fit_davidson(Games([0, 1, 0], [1, 2, 2], [1, 1, 0.5], 3))
    one, two, tie = found.strengths[0] - found.strengths[1], found.strengths[1] - found.strengths[2], np.log(found.nu)

    def share(gap):
        return np.array([gap / 2, tie, -gap / 2]) - np.logaddexp.reduce([gap / 2, tie, -gap / 2])

    # At a maximum as many ties are expected as there were: one in three games.
    assert np.exp([share(gap)[1] for gap in (one, two, one + two)]).sum() == pytest.approx(1)
    assert one == pytest.approx(two)


@given(st.integers(0, 10_000))
def test_ranking_accuracy_by_counting_pairs(seed):
    rng = np.random.default_rng(seed)
    human, judge, group = rng.integers(1, 6, 12).astype(float), rng.normal(size=12).round(1), rng.integers(0, 3, 12)
    judge[rng.random(12) < 0.2] = np.nan
    best, total = 0.0, 0
    for threshold in {0.0, *np.abs(judge[:, None] - judge).reshape(-1).round(9)}:
        right = total = 0
        for i in range(12):
            for j in range(i):
                if group[i] == group[j] and np.isfinite(judge[[i, j]]).all():
                    gap = judge[i] - judge[j]
                    said = 0.0 if abs(gap) <= threshold + 1e-12 else np.sign(gap)
                    right, total = right + (said == np.sign(human[i] - human[j])), total + 1
        best = max(best, right / total) if total else best
    found = measure_ranking_accuracy(human, judge, group, Sampling(20))
    assert found.pairs == total
    if total:
        assert found.accuracy.value == pytest.approx(best, abs=1e-12)
    else:
        assert found.accuracy.why


def raters_of(seed, items=60, people=8, missing=0.2):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, (items, 1))
    codes = np.where(rng.random((items, people)) < 0.6, truth, rng.integers(0, 5, (items, people)))
    codes[rng.random(codes.shape) < missing] = -1
    return codes


def test_the_two_way_interval_has_the_same_middle_and_is_wider(five_way):
    codes = raters_of(1)
    counts = many.count_labels(codes, 5)
    one_way = many.alpha(counts, "ordinal", five_way, Sampling(400))
    two_way = alpha_two_way(codes, "ordinal", five_way, Sampling(400))
    assert two_way.value == pytest.approx(one_way.value, abs=1e-12)
    assert two_way.high - two_way.low > one_way.high - one_way.low
    assert alpha_two_way(codes[:, :7], "ordinal", five_way).why


@pytest.mark.parametrize("clustered", [False, True])
def test_many_raters_together_are_what_each_statistic_gives_alone(five_way, clustered):
    counts = many.count_labels(raters_of(2, 80, 4), 5)
    cluster = np.arange(80) // 3 if clustered else None
    found = many.describe_raters(counts, five_way, Sampling(300), cluster)
    for level in ("nominal", "ordinal", "interval"):
        alone = many.alpha(counts, level, five_way, Sampling(300), cluster)
        together = found[f"alpha_{level}"]
        assert together.value == pytest.approx(alone.value, abs=1e-12)
        assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.05)
    weights = five_way.weights("nominal")
    assert found["fleiss_kappa"].value == pytest.approx(many.fleiss_kappa(counts, weights).value, abs=1e-12)
    assert found["fleiss_kappa_pairs"].value == pytest.approx(
        many.fleiss_kappa(counts, weights, "pair").value, abs=1e-12
    )


@pytest.mark.parametrize("people", [3, 14])
@pytest.mark.parametrize("name", ["exact", "kappa_quadratic"])
def test_a_ceiling_of_very_many_items_is_the_same_by_the_short_way(five_way, monkeypatch, people, name):
    codes = raters_of(3, 400, people + 1)
    raters = codes[:, :-1], codes[:, -1]
    cluster = np.arange(400) // 2
    long_way = ceiling.compare_with_ceiling(raters, five_way, name, Sampling(2000), cluster)
    monkeypatch.setattr(ceiling, "MOST_NUMBERS", 1)
    short_way = ceiling.compare_with_ceiling(raters, five_way, name, Sampling(2000), cluster)
    for part in ("human_human", "human_judge", "gap"):
        one, two = getattr(long_way, part), getattr(short_way, part)
        assert two.value == pytest.approx(one.value, abs=1e-12)
        assert two.high - two.low == pytest.approx(one.high - one.low, rel=0.15)


def test_domains_are_tested_together():
    codes = raters_of(4, 300, 5, 0.0)
    raters = codes[:, :4], codes[:, 4]
    alone = rate_domains(hold_duels(raters), np.zeros(300, dtype=int))
    assert alone == {0: run_alt_test(raters).winning_rate}
    split = rate_domains(hold_duels(raters), np.arange(300) % 2)
    assert set(split) == {0, 1}
    assert rate_domains(hold_duels(raters), np.arange(300)) == dict.fromkeys(range(300))
    assert passes_alt_test(raters) == run_alt_test(raters).passes


def test_power_grows_with_items_and_with_a_better_judge():
    good, poor = (simulate_from_expectation(Expected(3, 0.7, judge, 5), 0.2, Trials(60)) for judge in (0.75, 0.4))
    assert good[-1].passes > 0.9
    assert poor[-1].passes < 0.1
    assert good[-1].passes >= good[0].passes
    codes = raters_of(5, 200, 4, 0.0).astype(float)
    pilot = simulate_from_pilot((codes[:, :3], codes[:, 3]), "match", 0.2, trials=Trials(40))
    assert [one.items for one in pilot] == [one.items for one in good]
    assert simulate_from_pilot((codes[:, :3] * np.nan, codes[:, 3]), "match", 0.2) == []


@given(st.integers(0, 10_000))
def test_a_corrected_mean_is_that_of_ppi_python(seed):
    rng = np.random.default_rng(seed)
    human = rng.choice([0.0, 0.5, 1.0], 400)
    judge = np.where(rng.random(400) < 0.7, human, 1.0)
    labelled = np.arange(400) < 150
    found = correct_mean(Sample(np.where(labelled, human, np.nan), judge))
    parts = human[labelled], judge[labelled], judge[~labelled]
    assert found.corrected.value == pytest.approx(float(ppi_mean_pointestimate(*parts, lam=found.weight)[0]), abs=1e-9)
    low, high = (float(end[0]) for end in ppi_mean_ci(*parts, alpha=0.05, lam=found.weight))
    # The package divides by n where we divide by n - 1.
    assert found.corrected.high - found.corrected.low == pytest.approx(high - low, rel=1 / 150)
    assert ppi_mean_pointestimate(*parts)[0] == pytest.approx(found.corrected.value, abs=0.002)


@given(st.integers(0, 10_000))
def test_a_weighted_correction_is_that_of_ppi_python(seed):
    rng = np.random.default_rng(seed)
    human = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], 300)
    judge = np.where(rng.random(300) < 0.6, human, 5.0)
    chance = rng.uniform(0.1, 1.0, 300)
    labelled = rng.random(300) < chance
    found = correct_mean(Sample(np.where(labelled, human, np.nan), judge, chance), "known chances")
    # The package takes the labelled items' predictions and all items' predictions as two samples.
    theirs = ppi_mean_pointestimate(human[labelled], judge[labelled], judge, lam=found.weight, w=1 / chance[labelled])
    assert found.corrected.value == pytest.approx(float(np.ravel(theirs)[0]), abs=1e-9)
    alone = ppi_mean_pointestimate(human[labelled], judge[labelled], judge, lam=0, w=1 / chance[labelled])
    assert found.human_only.value == pytest.approx(float(np.ravel(alone)[0]), abs=1e-9)
