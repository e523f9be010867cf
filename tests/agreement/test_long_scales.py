"""On scales of many labels tables are kept by their cells: every number is the one that whole tables give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agreement import many, votes
from agreement.categories import Categories
from agreement.comparison import compare, compare_units, units_of_pairs
from agreement.intervals import Sampling, _acceleration
from agreement.pairs import count_pairs, count_pairs_by_cluster
from agreement.scores import compare_scores, correlate_lists, rank_correlation
from agreement.units import Units, units_of_rows

LABELS = 24


def some_codes(n: int, raters: int, seed: int = 0) -> np.ndarray:
    """Return codes that agree more or less, a tenth of them missing."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, LABELS, (n, 1))
    near = np.clip(true + rng.integers(-5, 6, (n, raters)), 0, LABELS - 1)
    return np.where(rng.random((n, raters)) < 0.1, -1, near)


def same(found: dict, wanted: dict) -> None:
    assert found.keys() == wanted.keys()
    for name, made in wanted.items():
        one = found[name]
        assert (one.method, one.n, one.clusters, one.why) == (made.method, made.n, made.clusters, made.why)
        for mine, theirs in zip((one.value, one.low, one.high), (made.value, made.low, made.high), strict=True):
            assert mine == theirs if theirs is None else mine == pytest.approx(theirs, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("values", [range(LABELS), range(LABELS, 0, -1)])
def test_two_raters_by_cells_are_two_raters_of_whole_tables(values: range) -> None:
    codes, scale = some_codes(300, 2), Categories(tuple(map(float, values)))
    table = count_pairs(*codes.T, LABELS)
    held = np.flatnonzero(table)
    whole = Units(np.eye(table.size)[held], table.reshape(-1)[held], table.shape, int(table.sum()))
    found, wanted = compare(*codes.T, scale, Sampling(200)), compare_units(whole, scale, Sampling(200))
    assert np.array_equal(found.table, wanted.table)
    same(found.estimates, wanted.estimates)


@pytest.mark.parametrize("groups", [10, 60])
def test_clusters_by_cells_are_clusters_of_whole_tables(groups: int) -> None:
    codes, scale = some_codes(300, 2, 1), Categories(tuple(map(float, range(LABELS))))
    cluster = np.arange(300) * groups // 300
    whole = units_of_rows(count_pairs_by_cluster(*codes.T, LABELS, cluster, groups), 0, clustered=True)
    kept = units_of_pairs(*codes.T, LABELS, cluster)
    assert np.array_equal(kept.total, whole.total)
    whole = Units(whole.rows, whole.counts, whole.shape, kept.n, whole.clusters)
    same(compare_units(kept, scale, Sampling(200)).estimates, compare_units(whole, scale, Sampling(200)).estimates)


@pytest.mark.parametrize("cluster", [None, np.arange(200) // 3])
def test_groups_and_votes_are_those_of_whole_tables(cluster: np.ndarray | None, monkeypatch) -> None:
    codes, scale = some_codes(200, 4, 2), Categories(tuple(map(float, range(LABELS))))
    people, judge = codes[:, :3], codes[:, 3]

    def tell() -> list[dict]:
        counts = many.count_labels(people, LABELS)
        return [
            many.describe_raters(counts, scale, Sampling(200), cluster),
            votes.pool_people(people, scale, Sampling(200), cluster).comparison.estimates,
            votes.pool_with_judge(people, judge, scale, Sampling(200), cluster).comparison.estimates,
        ]

    found = tell()
    for module in (many, votes):
        monkeypatch.setattr(module, "LONG", 10**6)
    for one, wanted in zip(found, tell(), strict=True):
        same(one, wanted)


@pytest.mark.parametrize("cluster", [None, np.arange(120) // 2])
def test_ranks_from_tables_are_those_item_by_item(cluster: np.ndarray | None, monkeypatch) -> None:
    rng = np.random.default_rng(3)
    one, two = rng.integers(0, 99, 120) / 3, rng.integers(0, 99, 120) / 3
    found = compare_scores(one, two + one, Sampling(50), cluster)
    monkeypatch.setattr("agreement.scores.MOST_RANKED", 0)
    same(found, compare_scores(one, two + one, Sampling(50), cluster))


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(3, 6), st.sampled_from(["pearson", "spearman", "kendall"]))
def test_short_lists_correlate_together_as_each_alone(seed: int, size: int, name: str) -> None:
    lists = np.random.default_rng(seed).integers(0, 4, (2, 7, size)).astype(float)
    alone = [rank_correlation(one, two, name) for one, two in zip(*lists, strict=True)]
    assert correlate_lists(*lists, name) == pytest.approx(alone, nan_ok=True)


def test_what_differs_by_rounding_alone_has_no_skewness() -> None:
    values = 0.1 + np.array([0.0, 1e-17, 2e-17, 5e-17])
    assert _acceleration(np.append(values, np.nextafter(0.1, 1)), np.ones(5, dtype=np.int64)) == 0
    assert _acceleration(np.array([0.1, 0.1, 0.4]), np.ones(3, dtype=np.int64)) != 0


def test_an_interval_that_would_not_hold_its_value_is_none():
    one = np.arange(14) * 7
    found = compare(one, one + 1, Categories(tuple(map(float, range(101)))), Sampling(200)).estimates
    # Any resample repeats some label, and so looks less alike by chance than the fourteen items themselves.
    for name in ("scott_pi", "ac1"):
        assert found[name].value < 0
        assert (found[name].low, found[name].high, found[name].method) == (None, None, "")
        assert "to one side" in found[name].why
    assert found["kappa_quadratic"].low < found["kappa_quadratic"].value < found["kappa_quadratic"].high
