"""Scores are held against the mean of an item's people, on every item that a person has scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from small_studies import check_estimates, human, judged, put
from whole_studies import scores

from exchange.agreeing import Source, agree, agree_on
from exchange.annotators import NO_SIDES
from exchange.panel import Options
from exchange.report import write_report
from judge.protocol import find_protocol
from storage.store import Store

pytestmark = pytest.mark.one_database
PEOPLE = ("ana", "ben", "eva")


def scored(count: int = 60) -> list[dict[str, Any]]:
    rng = np.random.default_rng(4)
    items = []
    for n in range(count):
        truth = int(rng.integers(1, 6))
        near = [str(int(np.clip(truth + step, 1, 5))) for step in rng.integers(-1, 2, 5)]
        people = [human(name, label) for name, label in zip(PEOPLE[: 1 + n % 3], near[:3], strict=False)]
        verdicts = [*people, judged(near[3]), judged(near[4], name="k")]
        items.append(
            {"id": f"q{n}", "instruction": f"Q{n // 4}?", "response": "x" * (n % 7 + 1), "rubric": "helpfulness"}
            | {"verdicts": verdicts, "model_a": f"m{n % 4}"}
        )
    return items


def sides(items: list[dict[str, Any]], judge: str = "j") -> tuple[np.ndarray, np.ndarray]:
    people = [np.mean([int(v["label"]) for v in one["verdicts"] if v["kind"] == "human"]) for one in items]
    model = [next(int(v["label"]) for v in one["verdicts"] if v["rater"] == judge) for one in items]
    return np.array(people), np.array(model, dtype=float)


@pytest.fixture
def items(store: Store, tmp_path: Path) -> list[dict[str, Any]]:
    made = scored()
    put(store, tmp_path, made, protocol="prometheus-direct-no-reference")
    return made


@pytest.fixture
def value(items: list[dict[str, Any]], store: Store) -> dict[str, Any]:
    found = agree(store, "s", Options(resamples=100))
    check_estimates(found)
    return found


def test_correlations_and_errors_are_against_the_mean_of_people(items, value) -> None:
    people, model = sides(items)
    against = value["judges"][0]["vs_consensus"]
    gap = model - people
    spread = people.var() + model.var() + gap.mean() ** 2
    right = {
        "pearson": stats.pearsonr(people, model).statistic,
        "spearman": stats.spearmanr(people, model).statistic,
        "kendall": stats.kendalltau(people, model).statistic,
        "mae": np.abs(gap).mean(),
        "rmse": np.sqrt((gap**2).mean()),
        "bias": gap.mean(),
        "ccc": 2 * np.cov(people, model, ddof=0)[0, 1] / spread,
    }
    for name, expected in right.items():
        made = against[name]
        assert (made["value"], made["n"]) == (pytest.approx(expected), 60)
        assert made["low"] < made["value"] < made["high"]
    assert against["n"] == sum(map(sum, against["confusion"])) < 60  # labels stay those of the consensus
    assert against["kappa"]["n"] == against["n"]
    report = write_report(value)
    assert "Scores of judges against the mean of people" in report
    assert "Pearson, second − first" in report


def test_pooled_correlations_have_three_coefficients_against_the_mean(items, value) -> None:
    people, model = sides(items)
    pooled = value["judges"][0]["vs_consensus"]["pooled"]
    known = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    for name, correlate in known.items():
        means = [[side[at::4].mean() for at in range(4)] for side in (people, model)]
        assert pooled[name]["between_models"]["value"] == pytest.approx(correlate(*means).statistic)
        own = [slice(4 * prompt, 4 * prompt + 4) for prompt in range(15)]
        varied = [part for part in own if np.ptp(people[part]) and np.ptp(model[part])]
        expected = np.mean([correlate(people[part], model[part]).statistic for part in varied])
        within = pooled[name]["within_prompts"]
        assert (within["value"], within["prompts"]) == (pytest.approx(expected), 15)
        assert within["left_out"] == 15 - len(varied)
    assert pooled["within_prompts"] == pooled["spearman"]["within_prompts"]


def test_ranking_length_means_and_corrections_use_the_mean_too(items, value) -> None:
    people, model = sides(items)
    judge = value["judges"][0]
    pairs = [(one, two) for one in range(60) for two in range(one + 1, 60) if one // 4 == two // 4]
    right = [
        np.mean(
            [
                np.sign(people[a] - people[b]) == np.sign(d) * (abs(d) > limit)
                for a, b in pairs
                for d in [model[a] - model[b]]
            ]
        )
        for limit in range(5)
    ]
    assert judge["vs_consensus"]["ranking_accuracy"]["value"] == pytest.approx(max(right))
    assert judge["length"]["preference"]["n"] == 60
    corrected = judge["corrected_win_rate"]
    assert (corrected["labelled"], corrected["human_only"]["value"]) == (60, pytest.approx(people.mean()))
    first = value["models"][0]
    assert (first["mean_score"]["value"], first["mean_score"]["n"]) == (pytest.approx(people[0::4].mean()), 15)
    assert first["by"]["j"]["corrected_win_rate"]["human_only"]["value"] == pytest.approx(people[0::4].mean())


def test_two_judges_correlations_with_people_are_compared_on_the_same_items(items, value) -> None:
    found = value["comparisons"][0]
    for name, correlate in {"pearson": stats.pearsonr, "spearman": stats.spearmanr}.items():
        one, two = (correlate(*sides(items, judge)).statistic for judge in "jk")
        assert (found[name]["value"], found[name]["n"]) == (pytest.approx(two - one), 60)
        assert found[name]["low"] < found[name]["value"] < found[name]["high"]


def test_where_people_never_agree_on_a_label_their_mean_is_still_a_reference(store: Store, tmp_path: Path) -> None:
    made = scored(40)
    for n, one in enumerate(made):
        low = n % 4 + 1
        one["verdicts"] = [human("ana", str(low)), human("ben", str(low + 1)), judged(str(n % 5 + 1))]
    put(store, tmp_path, made, protocol="prometheus-direct-no-reference")
    value = agree(store, "s", Options(resamples=100))
    against = value["judges"][0]["vs_consensus"]
    assert (against["n"], against["kappa"]["value"]) == (0, None)
    assert (against["pearson"]["n"], value["judges"][0]["corrected_win_rate"]["labelled"]) == (40, 40)
    assert "Scores of judges" in write_report(value)


def test_what_the_noise_of_people_allows_stands_beside_the_correlation(value) -> None:
    against = value["judges"][0]["vs_consensus"]
    told = against["attenuation"]
    assert 0 < told["reliability"] < 1
    assert told["relative"] == pytest.approx(against["pearson"]["value"] / told["reliability"] ** 0.5)
    assert told["why"] is None


def test_scores_given_twice_are_compared_as_scores_and_have_no_sides():
    study = Source("s", find_protocol("prometheus-direct").version, scores(np.random.default_rng(0), 60), lambda _: [])
    again = agree_on(study, Options(resamples=50))["raters"][0]["self_consistency"]
    assert again["consistency"]["low"] < again["consistency"]["value"] < again["consistency"]["high"]
    assert (again["consistency_three_way"]["value"], again["consistency_three_way"]["why"]) == (None, NO_SIDES)
