"""All formats: each knows its own rows and no others', and a bad row is an error in the stream, not the end of it."""

from __future__ import annotations

from typing import Any

import pytest
from format_samples import ACCORD, PROMETHEUS_DIRECT, SAMPLES, TABLE, outcomes, records, rows_of

from exchange.formats import FORMATS, detect
from exchange.rows import Row
from judge.domain import InputError

EACH = [(name, place) for name, samples in SAMPLES.items() for place in range(len(samples))]


def test_the_formats_are_those_of_the_command_line() -> None:
    assert list(FORMATS) == list(SAMPLES)
    assert all(each.name == name and each.description.endswith(".") for name, each in FORMATS.items())


@pytest.mark.parametrize(("name", "place"), EACH)
def test_a_sample_is_recognised_by_its_own_format_only(name: str, place: int) -> None:
    sample = SAMPLES[name][place]
    assert [other for other, each in FORMATS.items() if each.recognise(sample)] == [name]
    assert detect(sample) == name


@pytest.mark.parametrize(
    "value", [None, [], {}, "text", 3, {"id": "q1"}, {"a": 1, "b": 2}, {"fields": {}}, {"data": {}}]
)
def test_anything_else_is_no_format(value: Any) -> None:
    assert detect(value) is None


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [None, [], {}, "text", 3])
def test_a_row_that_is_no_object_of_the_format_is_an_error_with_its_place(name: str, value: Any) -> None:
    if name == "accord":
        assert outcomes(name, value) == rows_of([value])
        return
    (error,) = outcomes(name, value)
    assert isinstance(error, InputError)
    assert str(error).startswith("file.jsonl:1: ")


@pytest.mark.parametrize("name", FORMATS)
def test_no_rows_give_nothing(name: str) -> None:
    assert outcomes(name) == []


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("accord", "wildbench")])
def test_the_rows_around_a_bad_one_are_converted(name: str) -> None:
    sample = SAMPLES[name][0]
    found = outcomes(name, "bad", sample)
    assert [type(outcome) for outcome in found] == [InputError, Row]
    assert [(row.source, row.line) for row in found if isinstance(row, Row)] == [("file.jsonl", 2)]


def test_the_interchange_format_is_left_as_it_is() -> None:
    assert outcomes("accord", ACCORD) == rows_of([ACCORD])
    assert records("accord", *SAMPLES["accord"])[1].item.id == "3"


def test_a_line_of_a_text_table_is_never_the_interchange_format() -> None:
    assert detect(ACCORD, is_table=True) == "csv"
    assert detect({**ACCORD, "conversation": [{"role": "user", "content": "?"}]}, is_table=True) == "accord"
    assert detect(PROMETHEUS_DIRECT, is_table=True) == "prometheus"
    assert detect(TABLE, is_table=True) == "csv"
