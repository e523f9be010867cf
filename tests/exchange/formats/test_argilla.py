"""Argilla: records of both versions, submitted responses and suggestions."""

from __future__ import annotations

from typing import Any

import pytest
from format_samples import ARGILLA_V1, ARGILLA_V2, changed, errors, records


def test_a_record_of_version_1() -> None:
    (record,) = records("argilla", ARGILLA_V1)
    assert (record.item.id, record.item.conversation[0].content) == ("e-1", "Why?")
    assert (record.item.response_a, record.item.response_b) == ("Because.", "Who knows.")
    assert dict(record.item.metadata) == {"difficulty": 3}
    person, model = record.verdicts
    assert (person.rater, person.kind, person.label) == ("u-1", "human", "B")
    assert (model.rater, model.kind, model.label, model.extra) == ("gpt-4", "judge", "A", {"score": 0.9})


def test_a_record_of_version_2() -> None:
    (record,) = records("argilla", ARGILLA_V2)
    assert record.item.id == "r-1"
    assert [(verdict.rater, verdict.label) for verdict in record.verdicts] == [("u-1", "A"), ("gpt-4", "tie")]


def response(user: str | None = "u-1", status: str = "submitted", **answers: Any) -> dict[str, Any]:
    values = {question: {"value": value} for question, value in answers.items()}
    return {"user_id": user, "status": status, "values": values}


@pytest.mark.parametrize(
    ("ranks", "label"),
    [((1, 2), "A"), ((2, 1), "B"), ((1, 1), "tie")],
)
def test_a_ranking_says_who_is_first(ranks: tuple[int, int], label: str) -> None:
    ranking = [{"value": "response-1", "rank": ranks[0]}, {"value": "response-2", "rank": ranks[1]}]
    (record,) = records("argilla", changed(ARGILLA_V1, responses=[response(order_of_quality=ranking)], suggestions=[]))
    assert record.verdicts[0].label == label


def test_other_answers_stay_beside_the_verdict() -> None:
    answers = response(comment="clear", better_one="Response A", tone="calm")
    (record,) = records("argilla", changed(ARGILLA_V1, responses=[answers], suggestions=None))
    (verdict,) = record.verdicts
    assert (verdict.label, verdict.comment, verdict.extra) == ("A", "clear", {"tone": "calm"})


def test_ratings_of_one_response() -> None:
    fields = {"instruction": "Why?", "response": "Because.", "context": "school"}
    (record,) = records("argilla", changed(ARGILLA_V1, fields=fields, responses=[response(rating=4)], suggestions=[]))
    assert (record.item.response_b, record.verdicts[0].label) == (None, "4")
    assert record.item.metadata["context"] == "school"


def test_a_chat_is_a_conversation_and_models_may_be_in_the_metadata() -> None:
    fields = changed(ARGILLA_V2["fields"], prompt=[{"role": "user", "content": "Por quê?"}])
    metadata = [{"name": "model_a", "value": "x"}, {"name": "model_b", "value": "y"}]
    answers = {"preference": [{"value": "y", "user_id": "None"}]}
    (record,) = records("argilla", changed(ARGILLA_V2, fields=fields, metadata=metadata, responses=answers))
    assert record.item.conversation[0].content == "Por quê?"
    assert (record.item.model_a, record.item.model_b) == ("x", "y")
    assert (record.verdicts[0].rater, record.verdicts[0].label) == ("annotator", "B")


@pytest.mark.parametrize("status", ["draft", "discarded", "pending"])
def test_what_was_not_submitted_is_no_verdict(status: str) -> None:
    row = changed(ARGILLA_V1, responses=[response(status=status, preference="A")], suggestions=[])
    assert records("argilla", row)[0].verdicts == ()


def test_a_record_without_an_id_is_named_by_its_number() -> None:
    assert records("argilla", changed(ARGILLA_V1, external_id=None))[0].item.id == "1"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (changed(ARGILLA_V1, fields={"text": "x"}), "fields: no question and responses among the fields (text)"),
        (changed(ARGILLA_V1, fields=None), "fields: is missing"),
        (changed(ARGILLA_V1, responses=[3]), "responses[0]: must be an object"),
        (changed(ARGILLA_V1, responses=[{"values": [1]}]), "responses[0].values: must be an object"),
        (
            changed(ARGILLA_V1, responses=[response(None, preference="A"), response(None, preference="B")]),
            "several have no user_id",
        ),
        (changed(ARGILLA_V1, responses=[response(x="A", y="B")], suggestions=[]), "which of x, y is the verdict?"),
        (changed(ARGILLA_V1, responses=[response(preference=True)]), "preference: cannot be read as a label: True"),
    ],
)
def test_a_bad_record_is_named(row: dict[str, Any], message: str) -> None:
    assert message in errors("argilla", row)[0]
