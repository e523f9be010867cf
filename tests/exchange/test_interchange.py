"""The interchange format: what is written can be read back, and a bad field is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchange.interchange import FieldError, Record, record_from_json, record_to_json
from judge.domain import GivenVerdict, Item, Rubric, Turn

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
word = text.filter(str.strip).map(str.strip)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(text, children, max_size=3),
    max_leaves=5,
)
KNOWN = {
    "id",
    "conversation",
    "instruction",
    "response",
    "response_a",
    "response_b",
    "model",
    "model_a",
    "model_b",
    "tags",
}
KNOWN |= {
    "reference_answer",
    "checklist",
    "rubric",
    "metadata",
    "verdicts",
    "rater",
    "kind",
    "label",
    "status",
    "order",
}
KNOWN |= {"comment", "seconds", "created", "raw", "repeat", "confidence", "cluster"}
extra = st.dictionaries(
    text.filter(lambda key: key not in KNOWN), plain.filter(lambda value: value is not None), max_size=2
)
times = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
common = {
    "rater": word.filter(lambda name: len(name) <= 200),
    "kind": st.sampled_from(["human", "judge"]),
    "order": st.sampled_from(["AB", "BA", None]),
    "comment": st.none() | text,
    "seconds": st.none() | st.floats(0, 1e6),
    "created": st.none() | times,
    "raw": st.none() | text,
    "repeat": st.booleans(),
    "confidence": st.none() | st.integers(0, 100),
    "extra": extra,
}
verdicts = st.builds(GivenVerdict, label=word, **common) | st.builds(
    GivenVerdict, label=st.none(), status=st.sampled_from(["unreadable", "refused", "cut_off", "failed"]), **common
)
records = st.builds(
    Record,
    item=st.builds(
        Item,
        id=word,
        conversation=st.lists(st.builds(Turn, word, text), min_size=1, max_size=3).map(tuple),
        response_a=text,
        response_b=st.none() | text,
        model_a=st.none() | text.filter(bool),
        model_b=st.none() | text,
        reference_answer=st.none() | text,
        checklist=st.lists(text, max_size=2).map(tuple),
        rubric=st.none() | st.builds(Rubric, text, st.tuples(text, text, text, text, text)),
        tags=st.lists(text, max_size=2).map(tuple),
        metadata=extra,
        cluster=st.none() | text,
    ),
    verdicts=st.lists(verdicts, max_size=3).map(tuple),
)


@given(records)
def test_a_record_written_and_read_back_is_the_same(record: Record) -> None:
    line = record_to_json(record)
    assert "\n" not in line
    again = record_from_json(json.loads(line))
    assert again == record
    assert record_to_json(again) == line


GOOD = {"id": "q", "instruction": "Why?", "response_a": "x"}
SAID = {"rater": "ana", "kind": "human", "label": "A"}
BAD = {
    "a list": ([], "line", "a JSON object, not a list"),
    "id null": ({**GOOD, "id": None}, "id", "missing"),
    "id blank": ({**GOOD, "id": " "}, "id", "must be text"),
    "id true": ({**GOOD, "id": True}, "id", "must be text"),
    "id endless": ({**GOOD, "id": "x" * 501}, "id", "longer"),
    "question twice": ({**GOOD, "conversation": [{"role": "user", "content": "q"}]}, "instruction", "one of the two"),
    "response twice": ({**GOOD, "response": "x"}, "response", "one of the two"),
    "empty conversation": ({"id": "q", "response": "x", "conversation": []}, "conversation", "empty"),
    "turn of text": ({"id": "q", "response": "x", "conversation": ["q"]}, "conversation[0]", "object"),
    "turn without role": (
        {"id": "q", "response": "x", "conversation": [{"content": "q"}]},
        "conversation[0].role",
        "missing",
    ),
    "turn without content": (
        {"id": "q", "response": "x", "conversation": [{"role": "user"}]},
        "conversation[0].content",
        "missing",
    ),
    "checklist text": ({**GOOD, "checklist": "x"}, "checklist", "a list"),
    "checklist of numbers": ({**GOOD, "checklist": ["x", 1]}, "checklist[1]", "text, not a number"),
    "unknown rubric": ({**GOOD, "rubric": "beauty"}, "rubric", "no rubric named"),
    "rubric key": ({**GOOD, "rubric": {"criterion": "x"}}, "rubric.criterion", "not known"),
    "metadata list": ({**GOOD, "metadata": []}, "metadata", "an object"),
    "not a number": ({**GOOD, "score": float("nan")}, "metadata.score", "finite"),
    "NUL": ({**GOOD, "response_a": "a\0b"}, "response_a", "NUL"),
    "half a pair": ({**GOOD, "tags": ["\ud800"]}, "tags[0]", "surrogate"),
    "verdict without rater": ({**GOOD, "verdicts": [{"label": "A"}]}, "verdicts[0].rater", "missing"),
    "an endless name": ({**GOOD, "verdicts": [{**SAID, "rater": "x" * 201}]}, "verdicts[0].rater", "longer"),
    "verdict of a robot": ({**GOOD, "verdicts": [{**SAID, "kind": "robot"}]}, "verdicts[0].kind", "human or judge"),
    "label missing": ({**GOOD, "verdicts": [SAID, {"rater": "b"}]}, "verdicts[1].label", "missing"),
    "label beside failure": ({**GOOD, "verdicts": [{**SAID, "status": "failed"}]}, "verdicts[0].label", "must not"),
    "order": ({**GOOD, "verdicts": [{**SAID, "order": "ba"}]}, "verdicts[0].order", "AB or BA"),
    "negative seconds": ({**GOOD, "verdicts": [{**SAID, "seconds": -1}]}, "verdicts[0].seconds", "0 or more, not -1"),
    "out of the calendar": (
        {**GOOD, "verdicts": [{**SAID, "created": "9999-12-31T23:59:59-14:00"}]},
        "verdicts[0].created",
        "such as",
    ),
    "time": ({**GOOD, "verdicts": [{**SAID, "created": "yesterday"}]}, "verdicts[0].created", "such as"),
}


@pytest.mark.parametrize(("value", "field", "reason"), BAD.values(), ids=BAD)
def test_a_bad_field_is_named_with_the_reason(value: object, field: str, reason: str) -> None:
    with pytest.raises(FieldError) as refused:
        record_from_json(value)
    assert refused.value.field == field
    assert reason in str(refused.value)


def test_what_may_stand_for_something_else_does() -> None:
    record = record_from_json({"id": 7, "instruction": "Why?", "response": "x", "model": "m", "difficulty": 3})
    assert record.item == Item("7", (Turn("user", "Why?"),), "x", model_a="m", metadata={"difficulty": 3})


def test_times_become_utc() -> None:
    line = {**GOOD, "verdicts": [{**SAID, "created": "2026-01-05T12:00:00+02:00"}]}
    assert record_from_json(line).verdicts[0].created == datetime(2026, 1, 5, 10, tzinfo=UTC)
