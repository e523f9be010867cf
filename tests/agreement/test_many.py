"""Many raters: the krippendorff package, statsmodels, properties and edges."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from agreement import many, pairs
from agreement.categories import Categories
from agreement.intervals import Sampling

ONCE = Sampling(resamples=2)


@st.composite
def ratings(draw, missing=True):
    k, raters, n = draw(st.integers(2, 5)), draw(st.integers(2, 6)), draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = np.where(rng.random((n, raters)) < 0.5, rng.integers(0, k, (n, 1)), rng.integers(0, k, (n, raters)))
    if missing:
        codes[rng.random(codes.shape) < draw(st.floats(0, 0.8))] = -1
    return k, codes


def close(one, two):
    assert one == pytest.approx(two, abs=1e-9, nan_ok=True)


@given(ratings(), st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_is_the_krippendorff_packages(case, level):
    k, codes = case
    counts = many.count_labels(codes, k)
    scale = Categories(tuple(map(float, range(k))))
    pairable = counts[counts.sum(axis=1) >= 2]
    made = many.alpha(counts, level, scale, ONCE)
    if np.count_nonzero(pairable.sum(axis=0)) < 2 or pairable.shape[0] < 2:  # of one item it says 0 whatever was said
        assert made.value is None
        assert made.why
        return
    theirs = krippendorff.alpha(value_counts=counts, value_domain=np.arange(k), level_of_measurement=level)
    close(made.value, theirs)


@given(ratings(missing=False))
def test_fleiss_is_statsmodels(case):
    k, codes = case
    counts = many.count_labels(codes, k)
    assume(np.count_nonzero(counts.sum(axis=0)) > 1)
    for kind in ("item", "pair"):
        close(many.fleiss_kappa(counts, np.eye(k), kind, ONCE).value, statsmodels_fleiss(counts))


@given(ratings())
def test_what_must_not_change(case):
    k, codes = case
    rng = np.random.default_rng(1)
    scale = Categories(tuple(map(float, range(k))))
    counts = many.count_labels(codes, k)
    other = many.count_labels(codes[rng.permutation(codes.shape[0])][:, rng.permutation(codes.shape[1])], k)
    for level in ("nominal", "ordinal", "interval"):
        value = many.alpha(counts, level, scale, ONCE).value
        close(many.alpha(other, level, scale, ONCE).value, value)
        close(many.alpha(counts[:, ::-1], level, scale, ONCE).value, value)
    renamed = counts[:, rng.permutation(k)]
    close(many.alpha(renamed, "nominal", scale, ONCE).value, many.alpha(counts, "nominal", scale, ONCE).value)
    for weighting in ("nominal", "quadratic"):
        weights = scale.weights(weighting)
        close(many.gwet_many(other, weights, ONCE).value, many.gwet_many(counts, weights, ONCE).value)


@given(ratings(missing=False))
def test_two_complete_raters_are_the_two_rater_formulas(case):
    k, codes = case
    codes = codes[:, :2]
    counts, table = many.count_labels(codes, k), pairs.count_pairs(codes[:, 0], codes[:, 1], k)
    assume(np.count_nonzero(counts.sum(axis=0)) > 1)
    scale = Categories(tuple(map(float, range(k))))
    for weighting in ("nominal", "linear", "quadratic"):
        weights = scale.weights(weighting)
        close(many.fleiss_kappa(counts, weights, "item", ONCE).value, float(pairs.scott_pi(table, weights)))
        close(many.gwet_many(counts, weights, ONCE).value, float(pairs.gwet_ac(table, weights)))


def test_alpha_tends_to_pi():
    rng = np.random.default_rng(0)
    codes = np.where(rng.random((50_000, 2)) < 0.6, rng.integers(0, 3, (50_000, 1)), rng.integers(0, 3, (50_000, 2)))
    scale = Categories((-1.0, 0.0, 1.0), 1)
    value = many.alpha(many.count_labels(codes, 3), "nominal", scale, ONCE).value
    assert value == pytest.approx(
        float(pairs.scott_pi(pairs.count_pairs(codes[:, 0], codes[:, 1], 3), np.eye(3))), abs=1e-4
    )


def test_krippendorffs_own_example():
    """Krippendorff (2011), 4 observers, 12 units: nominal .743, ordinal .815, interval .849."""
    nan = -1
    data = np.array([
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]).T  # fmt: skip
    counts = many.count_labels(np.where(data < 0, -1, data - 1), 5)
    scale = Categories((1.0, 2.0, 3.0, 4.0, 5.0))
    found = [many.alpha(counts, level, scale, ONCE).value for level in ("nominal", "ordinal", "interval")]
    assert found == pytest.approx([0.743, 0.815, 0.849], abs=5e-4)


@pytest.mark.parametrize("codes", [np.zeros((0, 3), int), np.full((4, 3), -1), np.array([[0, -1], [-1, 1]])])
def test_no_pairs(codes, three_way):
    counts = many.count_labels(codes, 3)
    made = [
        many.alpha(counts, "ordinal", three_way),
        many.fleiss_kappa(counts, np.eye(3)),
        many.gwet_many(counts, np.eye(3)),
    ]
    assert all(one.value is None and one.why for one in made)


def test_one_category(three_way):
    counts = many.count_labels(np.ones((10, 3), int), 3)
    assert many.alpha(counts, "ordinal", three_way).value is None
    assert many.fleiss_kappa(counts, np.eye(3)).value is None
    made = many.gwet_many(counts, np.eye(3))
    assert (made.value, made.low) == (1, None)
    assert "single category" in made.why


def test_clusters_widen(three_way, quick):
    rng = np.random.default_rng(2)
    base = np.repeat(
        np.where(rng.random((60, 3)) < 0.6, rng.integers(0, 3, (60, 1)), rng.integers(0, 3, (60, 3))), 5, axis=0
    )
    counts = many.count_labels(base, 3)
    alone = many.alpha(counts, "nominal", three_way, quick)
    together = many.alpha(counts, "nominal", three_way, quick, np.arange(300) // 5)
    assert alone.value == pytest.approx(together.value)
    assert together.clusters == 60
    assert together.high - together.low > 1.7 * (alone.high - alone.low)
    fleiss = many.fleiss_kappa(counts, np.eye(3), "item", quick, np.arange(300) // 5)
    assert fleiss.clusters == 60


@settings(max_examples=20)
@given(ratings())
def test_every_pair(case):
    k, codes = case
    found = many.compare_every_pair(codes, np.eye(k))
    raters = codes.shape[1]
    assert len(found.pairs) == raters * (raters - 1) // 2
    for pair in found.pairs:
        assert pair.grey == (pair.overlap < 10)
        if pair.overlap < 2:
            assert pair.kappa.value is None
    known = [pair for pair in found.pairs if pair.kappa.value is not None]
    if known:
        close(found.mean.value, np.mean([pair.kappa.value for pair in known]))
