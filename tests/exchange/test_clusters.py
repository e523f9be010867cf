"""Intervals that resample clusters: what stands in copies says no more than once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_studies import check_estimates, human, item, judged, label_of, put

from exchange.agreeing import agree
from exchange.panel import Options
from exchange.report import write_report
from storage.store import Store

pytestmark = pytest.mark.one_database
COPIES = 4
PEOPLE = tuple(f"p{at}" for at in range(8))


def copied(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every item so many times, told apart by their question and tied together by a field."""
    return [
        one
        | {"id": f"{one['id']}-{at}", "instruction": f"{one['instruction']} {at}", "metadata": {"source": one["id"]}}
        for one in items
        for at in range(COPIES)
    ]


def width(made: dict[str, Any]) -> float:
    return float(made["high"] - made["low"])


def sides(number: int) -> list[dict[str, Any]]:
    right = "A+" if number % 3 else "B+"
    people = [human("ana", right)] if number % 2 else []
    return [*people, judged("B+" if number % 5 == 0 else right)]


def test_errors_of_a_judge_and_of_its_own_mean_follow_the_clusters(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, copied([item(n, sides(n)) for n in range(60)]))
    alone, tied = (
        agree(store, "s", Options(resamples=400, cluster=cluster, levels="2"))["judges"][0]
        for cluster in ("item", "source")
    )
    for find in (
        lambda judge: judge["vs_consensus"]["table"]["macro_f1"],
        lambda judge: judge["corrected_win_rate"]["judge_only"],
        lambda judge: judge["corrected_win_rate"]["rogan_gladen"],
    ):
        assert find(tied)["value"] == pytest.approx(find(alone)["value"])
        assert width(find(tied)) == pytest.approx(COPIES**0.5 * width(find(alone)), rel=0.3)


def test_p_values_take_copies_for_no_more_than_one(store: Store, tmp_path: Path) -> None:
    def verdicts(number: int) -> list[dict[str, Any]]:
        right = "A+" if number % 3 else "B+"
        first, second = right if number % 4 else "A=B", right if number % 7 else "A=B"
        return [human("ana", right), judged(first), judged("A=B", "BA"), judged(second, name="k")]

    items = [item(number, verdicts(number)) for number in range(60)]
    put(store, tmp_path, items, study="once")
    put(store, tmp_path, copied(items))
    rules = Options(resamples=50, combine="first")
    once, tied = agree(store, "once", rules), agree(store, "s", replace(rules, cluster="source"))
    loose = agree(store, "s", rules)
    for find in (lambda value: value["comparisons"][0]["mcnemar_p"], lambda value: value["judges"][0]["swap"]["p"]):
        assert find(tied) == pytest.approx(find(once))
        assert find(loose) < find(once) < 0.5


def test_agreement_of_people_follows_the_clusters_whatever_the_coefficient(store: Store, tmp_path: Path) -> None:
    def scores(number: int) -> list[dict[str, Any]]:
        return [human(name, str(1 + (number + (number * at) % 3 % 2) % 5)) for at, name in enumerate(PEOPLE)]

    items = [
        {"id": f"q{n}", "instruction": f"Q{n}?", "response": "x", "rubric": "helpfulness", "verdicts": scores(n)}
        for n in range(40)
    ]
    put(store, tmp_path, copied(items), protocol="prometheus-direct-no-reference")
    rules = [Options(resamples=200, cluster=cluster, two_way=True) for cluster in ("item", "source")]
    alone, tied = (agree(store, "s", one)["groups"]["humans"] for one in rules)
    for find in (lambda group: group["icc"]["icc_2_1"], lambda group: group["icc"]["icc_2_k"]):
        assert width(find(tied)) > 1.4 * width(find(alone))
    assert tied["alpha_two_way"]["clusters"] == 40
    assert tied["alpha_two_way"]["method"] == "percentile over clusters and raters"
    assert width(tied["alpha_two_way"]) > width(alone["alpha_two_way"])


def met(number: int, prompts: int) -> dict[str, Any]:
    models = (("m1", "m2"), ("m2", "m3"), ("m3", "m1"))[number % 3]
    made = item(number, [human("ana", label_of(number * number + number // 5))], model_a=models[0], model_b=models[1])
    return made | {"instruction": f"Question {number % prompts}?"}


def test_numbers_about_models_resample_questions_without_being_asked(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, [met(n, 40) for n in range(120)])
    usual, named = (agree(store, "s", Options(resamples=100, cluster=cluster)) for cluster in ("item", "prompt"))
    for one, other in zip(usual["models"], named["models"], strict=True):
        assert one == other
        assert one["wb_reward"]["clusters"] <= one["bradley_terry"]["clusters"] == 40
        assert one["bradley_terry"]["rank"] is not None
    assert "clusters" not in usual["groups"]["humans"]["alpha_nominal"]


def test_strengths_of_few_questions_have_the_jackknife_s_interval_and_no_ranks(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, [met(n, 12) for n in range(120)])
    value = agree(store, "s", Options(resamples=100))
    check_estimates(value)
    for model in value["models"]:
        strength = model["bradley_terry"]
        assert (strength["method"], strength["clusters"], strength["rank"]) == ("jackknife, t", 12, None)
        assert strength["rank_why"] == "fewer than 20 clusters: too few to draw ranks from"
        assert strength["low"] < strength["value"] < strength["high"]
    assert "too few to draw ranks from" in write_report(value)
