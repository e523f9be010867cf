"""Two orders, positions and lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.discrete.discrete_model import Logit

from agreement import combine, length, position
from agreement.categories import Categories
from agreement.estimate import Estimate, point, undefined
from agreement.intervals import Sampling
from agreement.logistic import fit_logistic
from judge.domain import InputError

FIVE = Categories((-1.0, -0.5, 0.0, 0.5, 1.0), 2)
ONCE = Sampling(2)


def test_rules_for_two_orders(five_way):
    first = np.array([4, 4, 0, 3, -1, 2, -1])
    second = np.array([4, 3, 4, -1, 1, 1, -1])
    found = {
        rule: combine.combine_orders(first, second, five_way, rule) for rule in ("strict", "drop", "mean", "first")
    }
    assert found["strict"].codes.tolist() == [4, 2, 2, -1, -1, 2, -1]
    assert found["strict"].made_ties == 3
    assert found["drop"].codes.tolist() == [4, -1, -1, -1, -1, -1, -1]
    assert found["drop"].left_out == {"missing": 1, "one_order": 2, "orders_differ": 3}
    assert found["mean"].codes.tolist() == [4, 3, 2, -1, -1, 2, -1]
    assert found["first"].codes.tolist() == first.tolist()
    two = Categories((-1.0, 1.0))
    assert combine.combine_orders([0, 1], [1, 1], two).codes.tolist() == [-1, 1]


@pytest.mark.parametrize("values", [(-1.0, 1.0), (-2.0, -1.0, 1.0, 2.0), (0.0, 0.1, 0.3, 0.4)])
def test_the_mean_of_opposite_verdicts_speaks_for_neither_side(values):
    scale, last = Categories(values), len(values) - 1
    found = combine.combine_orders([last, 0, last], [0, last, last], scale, "mean")
    assert found.codes.tolist() == [-1, -1, last]
    assert found.left_out == {"orders_differ": 2}


def test_levels(five_way, three_way):
    codes = np.array([0, 1, 2, 3, 4, -1])
    three, scale = combine.collapse_codes(codes, five_way, "3")
    assert three.tolist() == [0, 0, 1, 2, 2, -1]
    assert scale == Categories((-1.0, 0.0, 1.0), 1)
    two, scale = combine.collapse_codes(codes, five_way, "2")
    assert two.tolist() == [0, 0, -1, 1, 1, -1]
    assert combine.collapse_codes(codes, five_way, "full")[0].tolist() == codes.tolist()
    assert combine.collapse_codes([0, 1, 2], three_way, "3")[0].tolist() == [2, 1, 0]  # declared from A down
    with pytest.raises(InputError):
        combine.collapse_codes([0], Categories((1.0, 2.0)), "3")


def test_majority(three_way):
    codes = np.array([[0, 0, 1], [0, 1, 2], [-1, -1, -1], [0, 1, -1], [2, -1, -1]])
    found = combine.take_majority(codes, three_way)
    assert found.codes.tolist() == [0, -1, -1, -1, 2]
    assert found.left_out == {"missing": 1, "undecided": 2}
    tied = combine.take_majority(codes, three_way, "tie")
    assert tied.codes.tolist() == [0, 1, -1, 1, 2]
    assert tied.made_ties == 2
    with pytest.raises(InputError):
        combine.take_majority(codes, Categories((1.0, 2.0, 3.0)), "tie")


@given(st.integers(0, 10**6), st.integers(1, 80))
def test_swapping_all_orders_negates_the_effect(seed, n):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(-1, 5, n), rng.integers(-1, 5, n)
    one, two = position.measure_swaps(first, second, FIVE, ONCE), position.measure_swaps(second, first, FIVE, ONCE)
    seen = (first >= 0) & (second >= 0)
    if not seen.any():
        assert one.estimates["order_effect"].value is None
        return
    gap = (FIVE.array[first] - FIVE.array[second])[seen] / 2
    assert one.estimates["order_effect"].value == pytest.approx(gap.mean(), abs=1e-9)
    assert two.estimates["order_effect"].value == pytest.approx(-gap.mean(), abs=1e-9)
    assert one.estimates["consistency"].value == pytest.approx(two.estimates["consistency"].value)
    assert (one.hard_first, one.soft_first) == (two.hard_second, two.soft_second)
    assert one.p == two.p
    fair = one.estimates["fairness"].value
    assert (fair is None) == (one.p is None)
    item, shown = np.tile(np.arange(first.size), 2), np.repeat([1, 0], first.size)
    codes = np.concatenate([np.where(seen, side, -1) for side in (first, second)])
    single = position.measure_first_position((codes, shown), FIVE, ONCE, item)
    assert single.order_effect.value == pytest.approx(gap.mean(), abs=1e-9)


def test_flips_are_counted(five_way):
    # A then B: first wins twice. B then A: second. A then tie: softly first. A++ then A+: no flip, but an effect.
    found = position.measure_swaps([4, 0, 3, 4], [0, 4, 2, 3], five_way)
    assert (found.hard_first, found.hard_second, found.soft_first, found.soft_second) == (1, 1, 1, 0)
    assert found.estimates["fairness"].value == pytest.approx(1 / 3)
    assert found.estimates["consistency"].value == 0
    assert found.estimates["consistency_three_way"].value == pytest.approx(1 / 4)
    assert found.estimates["turned_to_tie"].value == 1


def test_first_position(three_way, quick):
    rng = np.random.default_rng(0)
    ahead = rng.random(2000) < 0.5
    codes = np.where(rng.random(2000) < 0.65, np.where(ahead, 0, 2), np.where(ahead, 2, 0))
    codes[:100], codes[100:150] = 1, -1
    found = position.measure_first_position((codes, ahead), three_way, quick)
    assert (found.decided, found.ties, found.missing) == (1850, 100, 50)
    assert found.rate.low < 0.65 < found.rate.high
    assert found.order_effect.value == pytest.approx(0.3, abs=0.05)
    assert found.p < 1e-9
    unknown = position.measure_first_position((codes, ahead), three_way, quick, balanced=False)
    assert unknown.rate.value is None
    ties = position.measure_first_position((np.ones(40, int), np.arange(40) % 2), three_way, quick)
    assert ties.rate.value is None
    assert ties.order_effect.value == 0
    assert position.measure_first_position((np.full(4, -1), np.ones(4)), three_way, quick).rate.value is None


def test_longer_preferred(three_way, quick):
    delta = length.log_ratio([200, 200, 100, 100, 0, 100], [100, 100, 200, 200, 5, 100])
    assert np.isnan(delta[4])
    judge, human = [0, 0, 2, 0, 0, 0], [0, 2, 2, 1, 0, 0]
    found = length.measure_longer_preferred((judge, human), delta, three_way, quick)
    assert found.judge.value == pytest.approx(3 / 4)
    assert found.human.value == pytest.approx(2 / 3)
    assert found.difference.value == pytest.approx(3 / 4 - 2 / 3)
    assert length.measure_longer_preferred((judge, None), delta, three_way, quick).human.value is None
    same = length.log_ratio([5] * 6, [5] * 6)
    assert length.measure_longer_preferred((judge, human), same, three_way, quick).judge.value is None
    assert length.measure_length_preference(judge, human, same, three_way).value is None
    assert length.length_controlled_win_rate(np.ones(6), same).value is None


def some_outcomes(n):
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    return (rng.random(n) < 1 / (1 + np.exp(-design @ [0.2, 1.0, -0.5]))).astype(float), design


def test_logistic_is_statsmodels():
    outcome, design = some_outcomes(12_000)
    cluster = np.arange(12_000) // 2
    theirs = Logit(outcome, design).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False}, tol=1e-12
    )
    ours = fit_logistic(outcome, design, cluster)
    assert ours.coefficients == pytest.approx(theirs.params, abs=1e-9)
    assert ours.covariance == pytest.approx(theirs.cov_params() * 6000 / 5999, abs=1e-9)
    assert fit_logistic((design[:, 1] > 0).astype(float), design).why
    assert fit_logistic(outcome[:2], design[:2]).why


def test_the_errors_of_a_logistic_fit_with_few_clusters_are_those_of_leaving_each_out():
    outcome, design = some_outcomes(300)
    cluster = np.arange(300) // 5
    ours = fit_logistic(outcome, design, cluster)
    without = [Logit(outcome[cluster != one], design[cluster != one]).fit(disp=0).params for one in range(60)]
    spread = (np.array(without) - ours.coefficients).T @ (np.array(without) - ours.coefficients) * 59 / 60
    assert np.diag(ours.covariance) == pytest.approx(np.diag(spread), rel=0.05)
    # A column that one cluster alone has: without it there is no fit, and the plain errors are told.
    alone = np.column_stack([design, cluster == 7])
    plain = Logit(outcome, alone).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False}, tol=1e-12
    )
    assert fit_logistic(outcome, alone, cluster).covariance == pytest.approx(plain.cov_params() * 60 / 59, abs=1e-7)


def test_length_preference_is_found(three_way):
    rng = np.random.default_rng(1)
    delta, human = rng.normal(size=3000), rng.integers(0, 3, 3000)
    logit = 1.0 * three_way.signs()[human] + 0.7 * delta / delta.std()
    judge = np.where(rng.random(3000) < 1 / (1 + np.exp(-logit)), 0, 2)
    made = length.measure_length_preference(judge, human, delta, three_way, np.arange(3000) // 3)
    assert made.low < 0.7 < made.high
    assert made.clusters == 1000
    constant = length.measure_length_preference(judge, np.ones(3000, int), delta, three_way)
    assert constant.defined


def test_length_controlled_win_rate():
    rng = np.random.default_rng(2)
    delta = rng.normal(1.0, 1.0, 4000)  # A is longer, and only its length wins
    won = (rng.random(4000) < 1 / (1 + np.exp(-1.5 * np.tanh(delta / delta.std())))).astype(float)
    made = length.length_controlled_win_rate(won, delta)
    assert won.mean() > 0.6
    assert made.low < 0.5 < made.high


def test_a_model_that_is_never_as_short_as_others_has_no_win_rate_at_equal_length():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        delta, won = rng.normal(1.0, 0.15, 200), rng.choice([0.0, 0.5, 1.0], 200)
        made = length.length_controlled_win_rate(won, delta)
        assert made.value is None or 1e-7 < made.value < 1 - 1e-7
        assert made.why or made.low < made.value < made.high
    assert length.length_controlled_win_rate(won, delta).why in (None, length.NEVER_ALIKE)


def test_outcomes_that_follow_the_model_exactly_have_a_value_and_no_interval():
    delta = np.array([0.5, -0.5, 1.0, -1.0])
    ties = length.length_controlled_win_rate(np.full(4, 0.5), delta)
    assert ties.value == pytest.approx(0.5)
    assert (ties.low, ties.high) == (None, None)
    assert "exactly" in ties.why
    won = length.length_controlled_win_rate(np.array([0.75, 0.75, 0.75, 0.75]), delta)
    assert won.value == pytest.approx(0.75)
    assert won.low is None


def test_partial_spearman(quick):
    rng = np.random.default_rng(3)
    human = rng.normal(size=500)
    size, score = human + rng.normal(size=500), human + rng.normal(size=500)
    made = length.partial_spearman(score, size, human, quick)
    ranks = np.column_stack([stats.rankdata(side) for side in (score, size, human)])
    precision = np.linalg.inv(np.corrcoef(ranks.T))
    assert made.value == pytest.approx(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]))
    assert made.low < 0 < made.high
    assert length.partial_spearman([1.0] * 9, range(9), range(9), quick).value is None


def test_estimates_as_json():
    assert undefined("nothing", 3).as_dict() == {"value": None, "low": None, "high": None, "n": 3, "why": "nothing"}
    assert point(float("nan"), 3).value is None
    full = Estimate(0.5, 0.4, 0.6, "bca", 10, 4, warnings=("few",)).as_dict()
    assert full["clusters"] == 4
    assert full["warnings"] == ["few"]


def test_orders_that_never_differ_have_the_interval_of_a_share(quick):
    codes = np.arange(40) % 5
    found = position.measure_swaps(codes, codes, FIVE, quick).estimates
    wanted = stats.binomtest(40, 40).proportion_ci(method="wilson")
    for name, ends in (("consistency", (wanted.low, 1.0)), ("turned_to_tie", (0.0, 1.0 - wanted.low))):
        assert (found[name].low, found[name].high) == pytest.approx(ends)
        assert (found[name].method, found[name].why) == ("wilson", None)
    tied = position.measure_swaps(codes, codes, FIVE, quick, np.arange(40) // 2).estimates["consistency"]
    assert (tied.low, tied.high) == (None, None)
    assert tied.why
