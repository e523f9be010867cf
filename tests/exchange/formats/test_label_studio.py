"""Label Studio: pairwise, choices and rating results; skipped tasks count nowhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from format_samples import LABEL_STUDIO, changed, errors, records


def annotated(*results: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return changed(LABEL_STUDIO, annotations=[{"completed_by": 3, "result": list(results), **changes}])


def result(kind: str, value: Any, name: str = "answer") -> dict[str, Any]:
    return {"type": kind, "from_name": name, "to_name": "x", "value": value}


def test_a_task_with_a_pairwise_annotation() -> None:
    (record,) = records("label-studio", LABEL_STUDIO)
    assert (record.item.id, record.item.response_a, record.item.response_b) == ("12", "Because.", "Who knows.")
    assert dict(record.item.metadata) == {"lang": "en", "project": 5}
    (verdict,) = record.verdicts
    assert (verdict.rater, verdict.kind, verdict.label, verdict.seconds) == ("3", "human", "A", 12.5)
    assert verdict.comment == "clear\nshort"
    assert verdict.created == datetime(2026, 1, 5, 10, 0, 0, 123000, UTC)


@pytest.mark.parametrize(
    ("kind", "value", "label"),
    [
        ("pairwise", {"selected": "right"}, "B"),
        ("choices", {"choices": ["Response B"]}, "B"),
        ("choices", {"choices": ["answer1"]}, "A"),
        ("choices", {"choices": ["Tie"]}, "tie"),
        ("choices", {"choices": ["A++"]}, "A++"),
        ("choices", {"choices": ["muito melhor"]}, "muito melhor"),
        ("rating", {"rating": 4}, "4"),
    ],
)
def test_results_become_labels(kind: str, value: dict[str, Any], label: str) -> None:
    assert records("label-studio", annotated(result(kind, value)))[0].verdicts[0].label == label


@pytest.mark.parametrize(
    "task",
    [
        annotated(),
        annotated(result("pairwise", {"selected": "none"})),
        annotated(result("choices", {"choices": []})),
        annotated(result("pairwise", {"selected": "left"}), was_cancelled=True),
        changed(LABEL_STUDIO, annotations=[]),
    ],
)
def test_an_annotation_that_says_nothing_is_no_verdict(task: dict[str, Any]) -> None:
    assert records("label-studio", task)[0].verdicts == ()


def test_the_annotator_may_be_an_object_and_a_prediction_is_a_judge() -> None:
    person = {"id": 1, "email": "ana@example.org"}
    task = annotated(result("pairwise", {"selected": "left"}), completed_by=person)
    task["predictions"] = [
        {"model_version": "m-1", "score": 0.7, "result": [result("pairwise", {"selected": "right"})]}
    ]
    (record,) = records("label-studio", task)
    assert [(verdict.rater, verdict.kind, verdict.label) for verdict in record.verdicts] == [
        ("ana@example.org", "human", "A"),
        ("m-1", "judge", "B"),
    ]
    assert record.verdicts[1].extra == {"score": 0.7}


def test_of_several_controls_the_one_that_names_a_side_is_the_verdict() -> None:
    tone, region = result("choices", {"choices": ["calm"]}, "tone"), result("labels", {"labels": ["x"]}, "region")
    (record,) = records("label-studio", annotated(tone, region, result("pairwise", {"selected": "left"}, "pw")))
    assert (record.verdicts[0].label, record.verdicts[0].extra) == ("A", {"tone": "calm"})


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (annotated(result("choices", {"choices": ["A", "B"]})), "annotations[0].result[0]: has 2 choices"),
        (annotated(result("pairwise", {"selected": "left"}), completed_by=None), "completed_by: is missing"),
        (changed(LABEL_STUDIO, data={"text1": "a", "text2": "b"}), "data: no question and responses"),
        (changed(LABEL_STUDIO, data=None), "data: is missing"),
        (changed(LABEL_STUDIO, annotations=[{"completed_by": 1, "result": "x"}]), "result: must be a list"),
    ],
)
def test_a_bad_task_is_named(task: dict[str, Any], message: str) -> None:
    assert message in errors("label-studio", task)[0]
