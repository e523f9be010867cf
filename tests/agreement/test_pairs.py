"""Two raters: second implementations, properties, and tables from the literature."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import SquareTable
from statsmodels.stats.inter_rater import cohens_kappa

from agreement import pairs, scores
from agreement.categories import Categories
from agreement.comparison import compare, compare_table, pair_statistics, units_of_pairs, wilson
from agreement.confusion import CLUSTERS_ALIKE, bowker, describe_confusion, standardised_residuals, stuart_maxwell
from agreement.differences import adjust_p, compare_judges, exact_sign_p, sign_test
from agreement.estimate import Estimate
from agreement.intervals import Sampling
from agreement.units import units_of_table
from judge.domain import InputError, Point, Scale


@st.composite
def verdicts(draw):
    k = draw(st.integers(2, 6))
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    first = rng.integers(-1, k, n)
    second = np.where(rng.random(n) < draw(st.floats(0, 1)), first, rng.integers(-1, k, n))
    return k, first, second


def close(one, two):
    assert np.asarray(one) == pytest.approx(np.asarray(two), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("values", [(0.1, 0.2, 0.3), (1.1, 1.2, 1.3), (-0.1, 0.0, 0.1)])
def test_values_from_the_middle_are_equal_on_both_sides(values):
    assert Categories(values, 1).from_middle() == Categories((-0.1, 0.0, 0.1), 1)


@given(verdicts())
def test_kappa_is_scikit_learns(case):
    k, first, second = case
    seen = (first >= 0) & (second >= 0)
    assume(seen.any())
    scale = Categories(tuple(map(float, range(k))))
    table = pairs.count_pairs(first, second, k)
    assume(np.count_nonzero(table.sum(0) + table.sum(1)) > 1)
    for weighting, name in (("nominal", None), ("linear", "linear"), ("quadratic", "quadratic")):
        theirs = cohen_kappa_score(first[seen], second[seen], weights=name, labels=range(k))
        close(pairs.cohen_kappa(table, scale.weights(weighting)), theirs)


@given(verdicts())
def test_standard_error_and_tests_are_statsmodels(case):
    k, first, second = case
    table = pairs.count_pairs(first, second, k) + 1
    scale = Categories(tuple(map(float, range(k))))
    for weighting, kind in (("nominal", None), ("linear", "linear"), ("quadratic", "quadratic")):
        theirs = cohens_kappa(table, wt=kind)
        close(pairs.cohen_kappa(table, scale.weights(weighting)), theirs.kappa)
        close(pairs.kappa_standard_error(table, scale.weights(weighting)), theirs.std_kappa)
    square = SquareTable(table, shift_zeros=False)
    symmetry, homogeneity = square.symmetry(), square.homogeneity()
    close(bowker(units_of_table(table)).statistic, symmetry.statistic)
    close(bowker(units_of_table(table)).p, symmetry.pvalue)
    close(stuart_maxwell(units_of_table(table)).statistic, homogeneity.statistic)
    close(stuart_maxwell(units_of_table(table)).p, homogeneity.pvalue)
    close(standardised_residuals(table), square.standardized_resids)


@pytest.mark.parametrize("test", [bowker, stuart_maxwell])
def test_copies_of_items_in_clusters_say_no_more_about_symmetry_than_once(test):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 3, 200))
    once = test(units_of_pairs(first, second, 3, np.arange(200)))
    copied = test(units_of_pairs(np.tile(first, 4), np.tile(second, 4), 3, np.tile(np.arange(200), 4)))
    assert (copied.statistic, copied.p) == (pytest.approx(once.statistic), pytest.approx(once.p))
    alone = test(units_of_pairs(first, second, 3, None))
    assert once.statistic == pytest.approx(alone.statistic)
    assert once.p == pytest.approx(alone.p, abs=0.02)  # of F with 200 clusters, and of chi-squared


def test_symmetry_is_not_told_from_clusters_that_are_few_or_alike():
    few = bowker(units_of_pairs([0, 1, 0, 0], [1, 2, 2, 0], 3, [0, 1, 2, 2]))
    assert (few.p, few.freedom, few.why) == (None, 3, "3 clusters are too few to tell 3 differences apart")
    assert bowker(units_of_pairs([0, 1], [1, 0], 2, [0, 0])).why == CLUSTERS_ALIKE
    assert stuart_maxwell(units_of_pairs([0, 0, 1], [1, 1, 1], 2, [0, 1, 2])).p is not None


@given(verdicts())
def test_scores_on_a_table_are_scipys(case):
    k, first, second = case
    seen = (first >= 0) & (second >= 0)
    one, two = first[seen], second[seen]
    assume(one.size >= 3)
    assume(np.ptp(one) > 0)
    assume(np.ptp(two) > 0)
    table, values = pairs.count_pairs(first, second, k), np.arange(k, dtype=float)
    close(scores.pearson(table, values, values), stats.pearsonr(one, two).statistic)
    close(scores.spearman(table), stats.spearmanr(one, two).statistic)
    close(scores.kendall(table), stats.kendalltau(one, two).statistic)
    close(scores.mean_absolute_error(table, values, values), np.abs(two - one).mean())
    close(scores.root_mean_square_error(table, values, values), np.sqrt(((two - one) ** 2).mean()))
    close(scores.bias(table, values, values), (two - one).mean())
    lin = 2 * np.cov(one, two, ddof=0)[0, 1] / (one.var() + two.var() + (one.mean() - two.mean()) ** 2)
    close(scores.concordance(table, values, values), lin)


@given(verdicts(), st.randoms(use_true_random=False))
def test_what_must_not_change_kappa(case, random):
    k, first, second = case
    table = pairs.count_pairs(first, second, k)
    scale = Categories(tuple(map(float, range(k))))
    shuffled = np.random.default_rng(random.randint(0, 9999)).permutation(first.size)
    assert (pairs.count_pairs(first[shuffled], second[shuffled], k) == table).all()
    names = np.random.default_rng(random.randint(0, 9999)).permutation(k)
    for compute in (pairs.cohen_kappa, pairs.scott_pi, pairs.gwet_ac):
        for weighting in ("nominal", "linear", "quadratic"):
            weights = scale.weights(weighting)
            value = compute(table, weights)
            close(compute(table.T, weights), value)
            close(compute(table[::-1, ::-1], weights), value)
        close(compute(table[names][:, names], np.eye(k)), compute(table, np.eye(k)))
    stretched = Categories(tuple(3.0 * value - 7.0 for value in scale.values)).weights("quadratic")
    close(pairs.cohen_kappa(table, stretched), pairs.cohen_kappa(table, scale.weights("quadratic")))


@given(verdicts())
def test_a_stack_is_its_tables(case):
    k, first, second = case
    rng = np.random.default_rng(0)
    table = pairs.count_pairs(first, second, k)
    stack = np.stack([table, table.T, rng.integers(0, 4, (k, k)), np.zeros((k, k), dtype=int)])
    values = np.arange(k) - (k - 1) / 2
    scale = Categories(tuple(map(float, values)), 0 if 0.0 in values else None)
    for statistic in (pair_statistics(scale) | scores.table_statistics(values, values)).values():
        together = statistic.compute(stack.astype(float))
        close(together, [float(statistic.compute(one.astype(float))) for one in stack])
        assert np.isnan(together[-1])


def test_kappa_paradox():
    found = compare_table([[118, 5], [2, 0]], Categories((0.0, 1.0)))
    assert found.estimates["exact"].value == pytest.approx(0.944, abs=5e-4)
    assert found.estimates["kappa"].value == pytest.approx(-0.023, abs=5e-4)
    assert found.estimates["ac1"].value == pytest.approx(0.941, abs=5e-4)
    assert found.estimates["pabak"].value == pytest.approx(2 * 0.944 - 1)
    assert any("different stories" in warning for warning in found.warnings)
    assert float(pairs.prevalence_index(found.table)) == pytest.approx(118 / 125)
    assert float(pairs.bias_index(found.table)) == pytest.approx(3 / 125)


def test_published_weighted_kappa():
    """Cohen's psychiatrists (Fleiss, Cohen & Everitt 1969): nominal kappa .429 on 200 patients."""
    table = [[106, 10, 4], [22, 28, 10], [2, 12, 6]]
    assert float(pairs.cohen_kappa(table, np.eye(3))) == pytest.approx(0.429, abs=5e-4)
    assert pairs.kappa_standard_error(table, np.eye(3)) == pytest.approx(0.054, abs=5e-4)


def test_ties(five_way):
    table = np.zeros((5, 5), dtype=int)
    table[4, 3], table[4, 2], table[0, 4], table[2, 2] = 3, 2, 1, 4  # A++/A+, A++/tie, B++/A++, tie/tie
    signs = five_way.signs()
    assert float(pairs.without_ties(table, signs)) == pytest.approx(3 / 4)
    assert float(pairs.tie_coverage(table, signs)) == pytest.approx(4 / 10)
    assert float(pairs.judge_decisive(table, signs)) == pytest.approx((3 + 0.5 * 2) / 6)
    found = compare_table(table, five_way).estimates
    assert found["three_way"].value == pytest.approx(7 / 10)
    assert found["within_one"].value == pytest.approx(7 / 10)


def test_collapse_leaves_out_negative_groups():
    table = np.arange(9).reshape(3, 3)
    assert pairs.collapse(table, [0, -1, 1], 2).tolist() == [[0, 2], [6, 8]]
    assert pairs.collapse(table, [0, 0, 0], 1).tolist() == [[36]]


def test_an_unknown_code_is_an_error(three_way):
    with pytest.raises(InputError):
        pairs.count_pairs([0, 3], [0, 1], 3)
    with pytest.raises(InputError):
        pairs.count_pairs([0, -2], [0, 1], 3)
    with pytest.raises(InputError):
        pairs.count_pairs([0.5], [0.5], 3)
    with pytest.raises(InputError):
        three_way.encode(["A", "C"], ("A", "tie", "B"))
    assert three_way.encode(["A", None], ("A", "tie", "B")).tolist() == [0, -1]


def test_categories_come_from_the_scale():
    scale = Scale((Point("B", -1), Point("tie", 0, tie=True), Point("A", 1)))
    assert Categories.of(scale) == Categories((-1.0, 0.0, 1.0), 1)


EDGES = {
    "empty": ([], []),
    "all null": ([-1, -1], [-1, -1]),
    "no overlap": ([0, -1], [-1, 2]),
    "one item": ([2], [2]),
    "one item apart": ([0], [2]),
    "one category": ([1] * 40, [1] * 40),
    "both constant apart": ([0] * 40, [2] * 40),
    "one rater constant": ([0] * 40, [0, 1, 2, 0] * 10),
    "perfect": ([0, 1, 2, 2] * 10, [0, 1, 2, 2] * 10),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name, three_way, quick):
    first, second = (np.array(side, dtype=int) for side in EDGES[name])
    found = compare(first, second, three_way, quick)
    for made in found.estimates.values():
        if made.value is None:
            assert made.why
            assert made.low is made.high is None
        elif made.low is None:
            assert made.why
        else:
            assert made.low <= made.value + 1e-9
            assert made.value <= made.high + 1e-9
    kappa, ac, exact = (found.estimates[key] for key in ("kappa", "ac1", "exact"))
    if name in ("empty", "all null", "no overlap"):
        assert all(made.value is None for made in found.estimates.values())
    if name in ("one item", "one category"):
        assert kappa.value is None
        assert (ac.value, ac.why[:15]) == (
            (1, "single category") if name == "one category" else (None, "fewer than two ")
        )
        assert exact.method == "wilson"
        assert exact.low < 1
    if name == "one rater constant":
        assert kappa.value == pytest.approx(0)
        assert any("zero variance" in warning for warning in kappa.warnings)
    if name == "both constant apart":
        assert kappa.value == pytest.approx(0)
    if name == "perfect":
        assert kappa.value == 1
        assert kappa.low is None
    assert found.estimates["spearman"].defined == (name == "perfect")


def test_the_better_judge(three_way, quick):
    rng = np.random.default_rng(3)
    human = rng.integers(0, 3, 500)
    poor = np.where(rng.random(500) < 0.4, human, rng.integers(0, 3, 500))
    good = np.where(rng.random(500) < 0.8, human, rng.integers(0, 3, 500))
    found = compare_judges(human, (poor, good), three_way, quick)
    for name in ("exact", "kappa", "kappa_quadratic"):
        alone = [compare(human, judge, three_way, quick).estimates[name].value for judge in (poor, good)]
        assert found.estimates[name].value == pytest.approx(alone[1] - alone[0])
        assert found.estimates[name].low > 0
    right = [int(((poor == human) & (good != human)).sum()), int(((poor != human) & (good == human)).sum())]
    assert found.mcnemar_p == pytest.approx(stats.binomtest(right[0], sum(right)).pvalue, abs=1e-12)
    again = compare_judges(human, (good, good), three_way, quick)
    assert again.estimates["kappa"].value == 0
    assert again.mcnemar_p is None
    clustered = compare_judges(human, (poor, good), three_way, quick, np.arange(500) // 5)
    assert clustered.estimates["exact"].clusters == 100
    copies = [np.tile(side, 3) for side in (human, poor, good)]
    thrice = compare_judges(copies[0], (copies[1], copies[2]), three_way, quick, np.tile(np.arange(500), 3))
    assert thrice.mcnemar_p == found.mcnemar_p


@pytest.mark.parametrize(("k", "n"), [(3, 400), (101, 300), (101, 3000)])
def test_two_judges_are_compared_in_little_memory_on_any_scale(k, n):
    rng = np.random.default_rng(0)
    scale, human = Categories(tuple(map(float, range(k)))), rng.integers(0, k, n)
    judges = [np.where(rng.random(n) < skill, human, rng.integers(0, k, n)) for skill in (0.5, 0.8)]
    tracemalloc.start()
    found = compare_judges(human, (judges[0], judges[1]), scale, Sampling(resamples=10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    tables = [pairs.count_pairs(human, judge, k) for judge in judges]
    for name, weighting in (("kappa", "nominal"), ("kappa_quadratic", "quadratic")):
        first, second = (float(pairs.cohen_kappa(table, scale.weights(weighting))) for table in tables)
        assert found.estimates[name].value == pytest.approx(second - first, abs=1e-12)
    assert peak < 400e6
    assert (found.estimates["kappa"].low is None) == (n == 3000)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.booleans())
def test_adjusted_p_is_scipys(p_values, dependent):
    theirs = stats.false_discovery_control(p_values, method="by" if dependent else "bh")
    close(adjust_p(p_values, dependent), theirs)


def test_sign_test():
    assert exact_sign_p(0, 0) is None
    assert exact_sign_p(3, 3) == 1
    assert exact_sign_p(0, 10) == pytest.approx(2 / 1024)


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 5)), min_size=1, max_size=30))
def test_sign_test_of_clusters_counts_every_way_of_turning_them_round(said):
    steps, clusters = (np.array(side) for side in zip(*said, strict=True))
    sums = [int(steps[clusters == one].sum()) for one in np.unique(clusters)]
    ways = [
        abs(sum(turn * own for turn, own in zip(turns, sums, strict=True)))
        for turns in product((1, -1), repeat=len(sums))
    ]
    wanted = np.mean(np.array(ways) >= abs(sum(sums))) if steps.any() else None
    assert sign_test(steps, clusters) == (None if wanted is None else pytest.approx(wanted, abs=1e-12))
    assert sign_test(steps, np.arange(steps.size)) == sign_test(steps)


def test_sign_test_of_very_many_items_takes_the_normal_law(monkeypatch):
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(400), rng.integers(1, 30, 400))
    for lean in (0.5, 0.51, 0.53):
        steps = np.where(rng.random(clusters.size) < lean, 1, -1)
        exact = sign_test(steps, clusters)
        with monkeypatch.context() as changed:
            changed.setattr("agreement.differences.MOST_TURNS", 1)
            assert sign_test(steps, clusters) == pytest.approx(exact, abs=0.002)


def test_sign_test_takes_no_cluster_for_several_items():
    rng = np.random.default_rng(0)
    clusters, wrong = np.repeat(np.arange(60), 5), np.zeros(2)
    for _ in range(300):
        lean = rng.choice([-1, 0, 1], 60, p=[0.3, 0.4, 0.3])[clusters]  # nobody is better, but clusters go together
        steps = np.where(rng.random(300) < 0.6, lean, rng.integers(-1, 2, 300))
        wrong += sign_test(steps) < 0.05, sign_test(steps, clusters) < 0.05
    assert wrong[0] > 2 * 15
    assert wrong[1] < 1.6 * 15


def test_the_same_seed_gives_the_same_estimate(three_way):
    table = [[20, 3, 1], [2, 9, 4], [0, 5, 30]]
    assert (
        compare_table(table, three_way, Sampling(200, 5)).estimates
        == compare_table(table, three_way, Sampling(200, 5)).estimates
    )
    assert (
        compare_table(table, three_way, Sampling(200, 5)).estimates
        != compare_table(table, three_way, Sampling(200, 6)).estimates
    )


def test_a_table_as_it_is_shown():
    found = describe_confusion(units_of_table([[3, 1, 0], [0, 0, 0], [1, 0, 5]]))
    assert found.row_shares[0].tolist() == [0.75, 0.25, 0.0]
    assert np.isnan(found.row_shares[1]).all()
    assert np.isnan(found.residuals[1]).all()
    assert found.symmetry.freedom == 2
    perfect = describe_confusion(units_of_table(np.eye(3, dtype=int)))
    assert perfect.symmetry.p is None
    assert perfect.homogeneity.why


def test_bounds_of_what_was_left_out():
    assert pairs.bound_agreement([[6, 2], [0, 0]], 2) == (0.6, 0.8)
    assert pairs.bound_agreement([[6, 2], [0, 0]], 0) == (0.75, 0.75)
    assert pairs.bound_agreement(np.zeros((2, 2)), 0) is None


@pytest.mark.parametrize("n", [1, 3, 17, 41, 120, 999])
def test_wilsons_interval_ends_at_the_value_where_all_agree_or_none(n):
    for value in (0.0, 1.0):
        made = wilson(Estimate(value, n=n), 0.95)
        assert (made.low if value == 0 else made.high) == value
