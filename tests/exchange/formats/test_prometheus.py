"""Prometheus: fields under the data sets' names, verdicts they carry, and rendered prompts left alone."""

from __future__ import annotations

import pytest
from format_samples import PROMETHEUS_DIRECT, PROMETHEUS_PAIR, changed, errors, records, rows_of

from exchange.formats import FORMATS
from exchange.rows import Row

DIRECT, PAIR = PROMETHEUS_DIRECT, PROMETHEUS_PAIR


def test_a_scored_response_with_reference_and_rubric() -> None:
    (record,) = records("prometheus", DIRECT)
    item, verdict = record.item, record.verdicts[0]
    assert (item.id, item.conversation[0].content, item.response_a) == ("1", "Explain tides.", "The moon.")
    assert item.reference_answer == "The moon and the sun."
    assert item.rubric is not None
    assert (item.rubric.criteria, item.rubric.descriptions[4]) == ("Is it complete?", "level 5")
    assert (verdict.label, verdict.comment, verdict.kind) == ("2", "Half of it.", "judge")
    assert verdict.raw == "Half of it. [RESULT] 2"
    assert dict(item.metadata) == {}


def test_a_compared_pair() -> None:
    (record,) = records("prometheus", PAIR)
    assert (record.item.response_a, record.item.response_b) == ("The moon.", "The moon and the sun.")
    assert (record.verdicts[0].label, record.verdicts[0].order) == ("B", "AB")
    assert dict(record.item.metadata) == {"orig_score_A": "2", "orig_score_B": "5"}


def test_plain_names_and_own_ids() -> None:
    row = {"id": 9, "instruction": "Why?", "response_A": "x", "response_B": "", "preference": "a", "source": "web"}
    (record,) = records("prometheus", row)
    assert (record.item.id, record.item.response_b, record.verdicts[0].label) == ("9", "", "A")
    assert dict(record.item.metadata) == {"source": "web"}


def test_a_row_of_biggen_bench() -> None:
    row = {
        "id": "planning_0",
        "capability": "planning",
        "system_prompt": "You plan trips.",
        "input": "Plan.",
        "reference_answer": "Go.",
        "score_rubric": {"criteria": "good?", "score1_description": "bad"},
        "response": "Stay.",
        "response_model_name": "m",
    }
    (record,) = records("prometheus", row)
    assert [turn.role for turn in record.item.conversation] == ["system", "user"]
    assert (record.item.model_a, record.item.rubric and record.item.rubric.criteria) == ("m", "good?")
    assert dict(record.item.metadata) == {"capability": "planning"}
    (record,) = records("prometheus", {**row, "score_rubric": "[good?]", "orig_criteria": "x"})
    assert record.item.rubric is not None
    assert record.item.rubric.criteria == "[good?]"


def test_a_row_without_a_verdict_has_none_and_keeps_the_rest() -> None:
    (record,) = records("prometheus", changed(DIRECT, orig_score=None))
    assert record.verdicts == ()
    assert dict(record.item.metadata) == {"feedback": "Half of it.", "output": "Half of it. [RESULT] 2"}


@pytest.mark.parametrize(
    "row",
    [
        {"instruction": "###Task Description:\n…", "output": "… [RESULT] 4"},
        {"chosen_instruction": "###Task Description:\n…", "rejected_instruction": "###Task Description:\n…"},
        changed(DIRECT, orig_instruction=None),
        changed(DIRECT, orig_response=None),
    ],
)
def test_a_rendered_prompt_is_not_split(row: dict[str, object]) -> None:
    assert FORMATS["prometheus"].recognise(row)
    (error,) = errors("prometheus", row)
    assert "a rendered prompt is not split back" in error


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (changed(PAIR, orig_response_B=None), "orig_response_B: is missing"),
        (changed(PAIR, orig_instruction=""), "orig_instruction: is missing"),
        (changed(PAIR, orig_preference="C"), "orig_preference: must be A, B or tie, not 'C'"),
        (changed(PAIR, orig_preference="4"), "orig_preference: must be A, B or tie, not '4'"),
        (changed(DIRECT, orig_score="4.5"), "orig_score: must be a whole number from 1 to 5, not '4.5'"),
        (changed(DIRECT, orig_score=0), "orig_score: must be a whole number"),
        (changed(DIRECT, id=True), "id: must be text or a whole number"),
    ],
)
def test_a_bad_row_is_named(row: dict[str, object], message: str) -> None:
    assert message in errors("prometheus", row)[0]


def test_rows_of_several_files_without_ids_do_not_collide() -> None:
    rows = [*rows_of([PAIR, PAIR], "a.json"), *rows_of([PAIR], "sub/b.json")]
    found = [row.value["id"] for row in FORMATS["prometheus"].convert(rows) if isinstance(row, Row)]
    assert found == ["1", "2", "b:1"]
