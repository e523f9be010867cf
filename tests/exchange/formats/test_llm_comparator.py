"""LLM Comparator: scores become the five labels by the tool's own thresholds, and stay beside them."""

from __future__ import annotations

from typing import Any

import pytest
from format_samples import LLM_COMPARATOR, changed, errors, outcomes, records

from exchange.rows import Row


def file_with(**changes: Any) -> dict[str, Any]:
    return {**LLM_COMPARATOR, "examples": [changed(LLM_COMPARATOR["examples"][0], **changes)]}


def test_an_example_is_an_item_with_one_verdict() -> None:
    (record,) = records("llm-comparator", LLM_COMPARATOR)
    item, (verdict,) = record.item, record.verdicts
    assert (item.id, item.response_a, item.response_b) == ("1", "Seoul.", "Busan.")
    assert (item.model_a, item.model_b, item.tags) == ("ABC 1.1", "ABC 1.0", ("Travel",))
    assert dict(item.metadata) == {"score": 0.5, "words": 2}
    assert (verdict.rater, verdict.kind, verdict.label, verdict.extra) == (
        "LLM Comparator",
        "judge",
        "A+",
        {"score": 0.5},
    )


@pytest.mark.parametrize(
    ("score", "label"),
    [
        (1.5, "A++"),
        (1.26, "A++"),
        (1.25, "A+"),
        (1, "A+"),
        (0.26, "A+"),
        (0.25, "A=B"),
        (0, "A=B"),
        (-0.0, "A=B"),
        (-0.25, "A=B"),
        (-0.3, "B+"),
        (-1.25, "B+"),
        (-1.3, "B++"),
        (-1.5, "B++"),
    ],
)
def test_scores_become_labels(score: float, label: str) -> None:
    (record,) = records("llm-comparator", file_with(score=score))
    assert (record.verdicts[0].label, record.verdicts[0].extra["score"]) == (label, score)


def test_ratings_are_the_verdicts_and_the_mean_is_not() -> None:
    ratings = [
        {"score": 1.5, "is_flipped": False, "rationale": "A says more.", "rating_label": "A is much better"},
        {"score": -0.5, "is_flipped": True, "rationale": "B is kind.", "rating_label": "A is slightly better"},
        {"score": None, "is_flipped": True},
    ]
    (record,) = records("llm-comparator", file_with(individual_rater_scores=ratings))
    first, second, third = record.verdicts
    assert (first.label, first.order, first.comment) == ("A++", "AB", "A says more.")
    assert (second.label, second.order) == ("B+", "BA")
    assert second.extra == {"score": -0.5, "rating_label": "A is slightly better"}
    assert (third.status, third.label) == ("unreadable", None)
    assert record.item.metadata["score"] == 0.5


def test_an_example_without_a_score_has_no_verdict() -> None:
    (record,) = records("llm-comparator", file_with(score=None))
    assert record.verdicts == ()


def test_texts_may_come_in_pieces_but_pictures_cannot() -> None:
    pieces = [{"type": "text", "data": "Seo"}, {"type": "text", "data": "ul"}]
    (record,) = records("llm-comparator", file_with(output_text_a=pieces))
    assert record.item.response_a == "Seoul"
    picture = [{"type": "image_byte", "data": "…"}]
    assert "examples[0].input_text[0]: is not text" in errors("llm-comparator", file_with(input_text=picture))[0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (file_with(score=4), "examples[0].score: must be a number from -1.5"),
        (file_with(score="1"), "examples[0].score: must be a number"),
        (file_with(output_text_b=None), "examples[0].output_text_b: is missing"),
        (file_with(custom_fields=[1]), "examples[0].custom_fields: must be an object"),
        ({**LLM_COMPARATOR, "models": [{"name": "x"}]}, "models: must name two models, not 1"),
        ({**LLM_COMPARATOR, "examples": [3]}, "examples[0]: must be an object"),
    ],
)
def test_a_bad_file_is_named(value: dict[str, Any], message: str) -> None:
    assert message in errors("llm-comparator", value)[0]


def test_examples_after_a_bad_one_are_converted() -> None:
    good = LLM_COMPARATOR["examples"][0]
    found = outcomes("llm-comparator", {**LLM_COMPARATOR, "examples": [{}, good, good]})
    assert [row.value["id"] for row in found if isinstance(row, Row)] == ["2", "3"]
