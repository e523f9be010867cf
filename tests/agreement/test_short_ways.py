"""What is counted instead of sorted, or worked out once for several, gives what the long way gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import categories, logistic, wildbench
from agreement import units as resampled
from agreement.alt_test import hold_duels, rate_domains, run_alt_test
from agreement.bradley_terry import Games
from agreement.bradley_terry_terms import fit_terms
from agreement.categories import Categories, code_values, number_clusters
from agreement.combine import take_majority, take_majority_of_others
from agreement.intervals import Sampling, Statistic, _quantiles, estimate
from agreement.logistic import fit_logistic
from agreement.many import count_labels
from agreement.pairs import divide
from agreement.units import count_vectors, take_together, units_of, units_of_kinds
from agreement.wildbench import average_groups, estimate_mean

SHARE = Statistic(lambda sums: divide(sums[..., 0], sums[..., 1]))


@given(st.lists(st.integers(-3, 40), max_size=30))
def test_clusters_are_numbered_in_rising_order_however_they_are_found(clusters: list[int]) -> None:
    found, size = number_clusters(np.array(clusters, dtype=np.int64))
    names, index = np.unique(np.array(clusters, dtype=np.int64), return_inverse=True)
    assert size == names.size
    assert found.tolist() == index.tolist()


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 1 / 3, 0.5, 1e6]), max_size=30), st.integers(1, 40))
def test_values_are_coded_the_same_whether_the_first_ones_tell_all_or_not(values: list[float], few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(categories, "FEW_VALUES", few)
        found = code_values(np.array(values, dtype=np.float64))
    wanted = np.unique(np.array(values, dtype=np.float64), return_inverse=True)
    assert (found[0].tolist(), found[1].tolist()) == (wanted[0].tolist(), wanted[1].tolist())


@given(st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=1, max_size=30))
def test_the_majority_of_the_others_is_that_of_a_study_without_the_rater(rows: list[list[int]]) -> None:
    codes, scale = np.array(rows), Categories((-1.0, 0.0, 1.0), 1)
    found = take_majority_of_others(count_labels(codes, 3), codes[:, 1])
    assert found.tolist() == take_majority(np.delete(codes, 1, axis=1), scale).codes.tolist()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.lists(st.floats(0, 1), min_size=1, max_size=3))
def test_quantiles_are_numpys_to_the_last_digit(values: list[float], shares: list[float]) -> None:
    assert _quantiles(np.array(values), np.array(shares)) == np.quantile(values, shares).tolist()


@pytest.mark.parametrize("clusters", [None, np.random.default_rng(5).integers(0, 200, 500)])
@pytest.mark.parametrize("most", [10, 10**6])
def test_kinds_give_the_units_that_their_rows_give(clusters, most: int, monkeypatch) -> None:
    monkeypatch.setattr(resampled, "MOST_COUNTS", most)
    rng = np.random.default_rng(0)
    rows, kind = rng.integers(0, 2, (8, 2)).astype(float), rng.integers(0, 8, 500)
    short, long = units_of_kinds(rows, kind, clusters), units_of(rows[kind], clusters)
    assert np.array_equal(short.rows, long.rows)
    assert np.array_equal(short.counts, long.counts)
    assert (short.n, short.shape, short.clusters) == (long.n, long.shape, long.clusters)


@pytest.mark.parametrize("least", [0, 2])
@pytest.mark.parametrize("most", [0, 10**6])
def test_vectors_of_counts_are_the_same_whether_counted_or_sorted(most: int, least: int, monkeypatch) -> None:
    monkeypatch.setattr(resampled, "MOST_KEYS", most)
    counts = least + count_labels(np.random.default_rng(1).integers(-1, 4, (300, 5)), 4)
    found, wanted = count_vectors(counts), take_together(counts.astype(float))
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])


def test_resamples_drawn_before_are_those_that_would_be_drawn() -> None:
    rng = np.random.default_rng(2)
    shared = Sampling(500, 7)
    for _ in range(3):
        units = units_of_kinds(np.array([[0.0, 1.0], [1.0, 1.0]]), rng.integers(0, 2, 60))
        first, again = estimate(units, SHARE, shared), estimate(units, SHARE, shared)
        assert first == again == estimate(units, SHARE, Sampling(500, 7))
    assert shared.drawn


def test_a_row_may_stand_for_several_observations_of_a_logistic_fit() -> None:
    rng = np.random.default_rng(3)
    design = np.column_stack([np.ones(40), rng.normal(size=40)])
    times = rng.integers(1, 5, 40)
    each = np.repeat(np.arange(40), times)
    outcome = (rng.random(each.size) < 0.5).astype(float)
    mean = np.bincount(each, outcome) / times
    short, long = fit_logistic(mean, design, np.arange(40), times), fit_logistic(outcome, design[each], each)
    assert short.coefficients == pytest.approx(long.coefficients, rel=1e-10)
    assert short.covariance == pytest.approx(long.covariance, rel=1e-10)
    assert short.groups == long.groups


@pytest.mark.parametrize("rows", ["that tell nearly as much", "that are separated", "that lead astray"])
def test_a_long_logistic_fit_may_begin_where_some_of_its_rows_lead(rows: str, monkeypatch) -> None:
    rng = np.random.default_rng(7)
    design = np.column_stack([np.ones(300), rng.normal(size=300)])
    outcome = (rng.random(300) < 0.4).astype(float)
    if rows == "that are separated":
        outcome[::11] = design[::11, 1] > 0
    elif rows == "that lead astray":
        outcome[::11] = design[::11, 1] > 0
        outcome[11] = 1.0 - outcome[11]
    whole = fit_logistic(outcome, design)
    monkeypatch.setattr(logistic, "LONG", 100)
    monkeypatch.setattr(logistic, "SOME", 30)
    found = fit_logistic(outcome, design)
    assert found.coefficients == pytest.approx(whole.coefficients, rel=1e-9, abs=1e-12)
    assert found.covariance == pytest.approx(whole.covariance, rel=1e-9, abs=1e-12)


def test_games_played_several_times_have_the_terms_of_each_game() -> None:
    rng = np.random.default_rng(4)
    one, two = rng.integers(0, 2, 60), rng.integers(2, 4, 60)
    first, delta, times = rng.choice([-1.0, 1.0], 60), rng.normal(size=60), rng.integers(1, 4, 60)
    each = np.repeat(np.arange(60), times)
    result = rng.choice([0.0, 0.5, 1.0], each.size)
    games = Games(one, two, np.bincount(each, result) / times, 4)
    short = fit_terms(games, first, delta, np.arange(60), times)
    long = fit_terms(Games(one[each], two[each], result, 4), first[each], delta[each], each)
    for name in ("side", "length"):
        found, wanted = getattr(short, name), getattr(long, name)
        assert (found.n, found.clusters) == (wanted.n, wanted.clusters)
        assert (found.value, found.low, found.high) == pytest.approx((wanted.value, wanted.low, wanted.high), rel=1e-9)


@pytest.mark.parametrize("measure", ["match", "rmse"])
def test_duels_are_held_as_the_test_defines_them(measure: str) -> None:
    """Each human's and the judge's closeness to the remaining humans, item by item."""
    rng = np.random.default_rng(8)
    values = np.array([0.1, 0.2, 0.7, 1.3])
    humans = np.where(rng.random((200, 4)) < 0.3, np.nan, values[rng.integers(0, 4, (200, 4))])
    judge = np.where(rng.random(200) < 0.1, np.nan, values[rng.integers(0, 4, 200)])

    def closeness(value: float, others: list[float]) -> float:
        if measure == "match":
            return sum(value == other for other in others) / len(others)
        return -float(np.sqrt(np.mean([(value - other) ** 2 for other in others])))

    for left_out, duel in enumerate(hold_duels((humans, judge), measure)):
        expected = {}
        for at in range(200):
            own, others = humans[at, left_out], [one for one in np.delete(humans[at], left_out) if np.isfinite(one)]
            if np.isfinite(own) and np.isfinite(judge[at]) and others:
                expected[at] = closeness(judge[at], others) - closeness(own, others)
        assert np.flatnonzero(duel.used).tolist() == list(expected)
        assert duel.judge.tolist() == [gap >= -1e-12 for gap in expected.values()]
        assert duel.human.tolist() == [gap <= 1e-12 for gap in expected.values()]


def test_a_domain_is_tested_as_if_it_were_alone() -> None:
    rng = np.random.default_rng(5)
    humans = np.where(rng.random((400, 3)) < 0.2, np.nan, rng.integers(0, 3, (400, 3)).astype(float))
    judge, domains = rng.integers(0, 3, 400).astype(float), np.repeat(["a", "b"], 200)
    only_one = np.where(domains == "a", judge, np.nan)
    found = rate_domains(hold_duels((humans, only_one)), domains, epsilon=0.3)
    assert found["a"] == run_alt_test((humans[:200], judge[:200]), epsilon=0.3).winning_rate
    assert found["b"] is None


@pytest.mark.parametrize("most", [0, 62])
def test_groups_of_items_have_the_average_that_their_own_rows_give(most: int, monkeypatch) -> None:
    monkeypatch.setattr(wildbench, "MOST_BITS", most)
    rng = np.random.default_rng(6)
    values, member = rng.choice([-1.0, 0.0, 1.0, np.nan], 200), rng.random((200, 3)) < 0.4
    weights, every = np.ones(3), np.arange(200)
    alone, clustered = (average_groups(values, member, weights, Sampling(200), by) for by in (None, every))
    assert alone.average.value == pytest.approx(clustered.average.value, rel=1e-12)
    for made, here in zip(alone.groups, member.T, strict=True):
        assert made == estimate_mean(values[here], Sampling(200))
    # Clusters have the wider tails of t, which at this number is hardly wider.
    assert clustered.average.low <= alone.average.low < alone.average.high <= clustered.average.high
    assert clustered.average.low == pytest.approx(alone.average.low, abs=0.01)
    assert clustered.average.high == pytest.approx(alone.average.high, abs=0.01)


def test_labels_are_counted_for_no_rater_and_no_item() -> None:
    assert count_labels(np.zeros((3, 0), dtype=np.int64), 2).tolist() == [[0, 0]] * 3
    assert count_labels(np.zeros((0, 4), dtype=np.int64), len(Categories((0.0, 1.0)))).shape == (0, 2)
