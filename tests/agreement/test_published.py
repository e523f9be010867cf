"""Published figures and golden values, from the real verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from agreement import pairs
from agreement.bradley_terry import Games, fit_models
from agreement.categories import Categories
from agreement.combine import combine_orders, joint_agreement, take_majority
from agreement.comparison import compare, compare_table
from agreement.confusion import bowker, stuart_maxwell
from agreement.dawid_skene import find_consensus
from agreement.intervals import Sampling
from agreement.length import log_ratio, measure_length_preference, measure_longer_preferred
from agreement.many import alpha, count_labels, fleiss_kappa, gwet_many
from agreement.planning import items_for_kappa
from agreement.position import measure_swaps
from agreement.scores import compare_scores
from agreement.units import units_of_table

HUMANS = ("annotator1", "annotator2", "annotator3")
TABLES = (
    "pandalm:annotator1-annotator2",
    "pandalm:annotator1-annotator3",
    "pandalm:annotator2-annotator3",
    "pandalm:majority-gpt-3.5-turbo",
    "pandalm:majority-pandalm-7b",
    "autoj:human-order0",
    "autoj:human-order1",
    "autoj:order0-order1",
)


def codes_for(name, pandalm, autoj, three_way):
    study, raters = name.split(":")
    source = dict(pandalm) if study == "pandalm" else {**autoj, "order0": autoj["AB"], "order1": autoj["BA"]}
    if study == "pandalm":
        source["majority"] = take_majority(np.column_stack([pandalm[h] for h in HUMANS]), three_way, "tie").codes
    first, second = raters.split("-", 1)
    return source[first], source[second]


@pytest.mark.parametrize("name", TABLES)
def test_two_raters_match_golden(name, golden, pandalm, autoj, three_way):
    first, second = codes_for(name, pandalm, autoj, three_way)
    truth = golden[name]
    found = compare(first, second, three_way, Sampling(seed=0))
    assert found.table.tolist() == truth["table"]
    assert found.n == truth["n"]
    assert found.estimates["exact"].value == pytest.approx(truth["exact"], abs=1e-12)
    for weighting, key in (("nominal", "kappa"), ("linear", "kappa_linear"), ("quadratic", "kappa_quadratic")):
        weights = three_way.weights(weighting)
        made = found.estimates[key]
        assert made.value == pytest.approx(truth[f"kappa_{weighting}"], abs=1e-9)
        assert pairs.kappa_standard_error(found.table, weights) == pytest.approx(
            truth[f"kappa_{weighting}_se"], abs=1e-9
        )
        assert float(pairs.gwet_ac(found.table, weights)) == pytest.approx(truth[f"gwet_{weighting}"], abs=6e-6)
        assert (made.low, made.high) == pytest.approx(truth[f"kappa_{weighting}_bca95_seed0_B2000"], abs=0.006)


def test_three_humans_match_golden(golden, pandalm, three_way):
    truth = golden["pandalm:humans"]
    counts = count_labels(np.column_stack([pandalm[h] for h in HUMANS]), 3)
    for level in ("nominal", "ordinal", "interval"):
        made = alpha(counts, level, three_way)
        assert made.value == pytest.approx(truth[f"alpha_{level}"], abs=1e-9)
        assert (made.low, made.high) == pytest.approx(truth[f"alpha_{level}_ci95_seed0_B2000"], abs=0.006)
    for kind in ("item", "pair"):
        value = fleiss_kappa(counts, np.eye(3), kind).value
        assert value == pytest.approx(truth[f"fleiss_{kind}"], abs=1e-9)
        assert value == pytest.approx(truth["irrCAC_fleiss"], abs=6e-6)
    for weighting in ("nominal", "quadratic"):
        value = gwet_many(counts, three_way.weights(weighting)).value
        assert value == pytest.approx(truth[f"gwet_{weighting}"], abs=6e-6)


def test_pandalm_published_figures(pandalm, three_way):
    published = {(0, 1): 0.85, (0, 2): 0.88, (1, 2): 0.86}
    for (one, two), value in published.items():
        table = pairs.count_pairs(pandalm[HUMANS[one]], pandalm[HUMANS[two]], 3)
        assert round(float(pairs.cohen_kappa(table, np.eye(3))), 2) == value
    majority = take_majority(np.column_stack([pandalm[h] for h in HUMANS]), three_way, "tie")
    assert np.bincount(majority.codes).tolist() == [422, 105, 472]


def test_autoj_published_figures(autoj, three_way):
    assert joint_agreement(autoj["human"], (autoj["AB"], autoj["BA"])).value == pytest.approx(0.5496, abs=5e-5)
    swaps = measure_swaps(autoj["AB"], autoj["BA"], three_way)
    assert swaps.estimates["consistency"].value == pytest.approx(0.8341, abs=5e-5)
    assert float(pairs.exact(pairs.count_pairs(autoj["human"], autoj["AB"], 3))) == pytest.approx(0.5999, abs=5e-5)
    strict = combine_orders(autoj["AB"], autoj["BA"], three_way)
    assert strict.made_ties == 1392 - 1161


def test_autoj_panels_are_defined(autoj, three_way, quick):
    swaps = measure_swaps(autoj["AB"], autoj["BA"], three_way, quick, autoj["scenario"])
    assert swaps.hard_first + swaps.soft_first + swaps.hard_second + swaps.soft_second == 231
    assert swaps.estimates["order_effect"].clusters == 58
    delta = log_ratio(autoj["length_a"], autoj["length_b"])
    longer = measure_longer_preferred((autoj["AB"], autoj["human"]), delta, three_way, quick, autoj["scenario"])
    assert longer.judge.value > 0.5
    assert longer.difference.low < longer.difference.value < longer.difference.high
    slope = measure_length_preference(autoj["AB"], autoj["human"], delta, three_way, autoj["scenario"])
    assert slope.low < slope.value < slope.high


@pytest.mark.parametrize(
    ("name", "weighting", "wanted"),
    [
        ("pandalm:annotator1-annotator2", "nominal", (88, 349, 970)),
        ("autoj:human-order0", "nominal", (168, 672, 1865)),
        ("autoj:human-order0", "quadratic", (248, 990, 2748)),
    ],
)
def test_planning_from_pilots(name, weighting, wanted, golden, three_way):
    weights = three_way.weights(weighting)
    found = [items_for_kappa(golden[name]["table"], weights, half) for half in (0.10, 0.05, 0.03)]
    assert found == pytest.approx(wanted, abs=1)


def test_consensus_of_the_three_annotators(pandalm, three_way):
    codes = np.column_stack([pandalm[h] for h in HUMANS])
    found = find_consensus(codes, 3)
    assert found.why is None
    assert found.differs < 0.02
    majority = take_majority(codes, three_way).codes
    assert (found.codes == majority)[majority >= 0].mean() > 0.98


def test_kept_table_gives_the_same_as_codes(golden, three_way):
    table = golden["autoj:human-order0"]["table"]
    first, second = np.nonzero(np.ones((3, 3)))
    times = np.array(table).reshape(-1)
    again = compare(np.repeat(first, times), np.repeat(second, times), three_way)
    assert again.estimates == compare_table(table, three_way).estimates


def test_weights_of_ones_own_are_cohens_1968():
    apart = np.array([[0, 1, 3], [1, 0, 6], [3, 6, 0]])
    table = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
    assert round(float(pairs.cohen_kappa(table, 1 - apart / 6)), 3) == 0.348


@pytest.mark.parametrize(
    ("table", "nominal", "linear"),
    [
        ([[10, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]], 0.0724, 0.0655),
        ([[38, 5, 0, 1], [33, 11, 3, 0], [10, 14, 5, 6], [3, 7, 3, 10]], 0.0505, 0.0517),
        ([[5, 3, 0, 0], [3, 11, 4, 0], [2, 13, 3, 4], [1, 2, 4, 14]], 0.0785, 0.0730),
    ],
)
def test_standard_errors_of_the_sas_manual(table, nominal, linear):
    scale = Categories((1.0, 2.0, 3.0, 4.0))
    found = [round(pairs.kappa_standard_error(table, scale.weights(name)), 4) for name in ("nominal", "linear")]
    assert found == [nominal, linear]


def test_unaided_vision_of_stuart_1955():
    table = [[1520, 266, 124, 66], [234, 1512, 432, 78], [117, 362, 1772, 205], [36, 82, 179, 492]]
    margins, symmetry = stuart_maxwell(units_of_table(table)), bowker(units_of_table(table))
    assert (round(margins.statistic, 2), margins.freedom) == (11.96, 3)
    assert (round(symmetry.statistic, 2), symmetry.freedom) == (19.11, 6)
    assert round(float(pairs.cohen_kappa(table, np.eye(4))), 3) == 0.595


def test_peak_flow_of_bland_and_altman_1986():
    large = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
    small = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
    found = compare_scores(large, small, Sampling(resamples=50))
    assert [round(found[name].value, 3) for name in ("pearson", "ccc")] == [0.943, 0.943]
    assert round(found["bias"].value, 1) == 2.1


def test_citations_between_journals_of_stigler_1994():
    cited = np.array([[0, 730, 498, 221], [33, 0, 68, 17], [320, 813, 0, 142], [284, 276, 325, 0]])
    first, second = (np.repeat(side.reshape(-1), cited.reshape(-1)) for side in np.indices((4, 4)))
    found = fit_models(Games(first, second, np.ones(first.size), 4), "not asked for")
    ahead = [round(one.value - found.strengths[0].value, 3) for one in found.strengths[1:]]
    assert ahead == [-2.949, -0.480, 0.269]
    spread = found.covariance
    errors = [round(float(np.sqrt(spread[0, 0] + spread[at, at] - 2 * spread[0, at])), 3) for at in (1, 2, 3)]
    assert errors == [0.103, 0.061, 0.071]
