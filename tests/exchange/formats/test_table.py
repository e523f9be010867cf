"""Tables: rows become items, verdicts are gathered, and text stays as it was."""

from __future__ import annotations

from typing import Any

import pytest
from format_samples import TABLE, changed, errors, outcomes, records, rows_of

from exchange.formats.table import convert_table
from exchange.interchange import record_from_json
from exchange.rows import Row
from judge.domain import InputError


def test_one_row_a_verdict() -> None:
    (record,) = records("csv", TABLE, changed(TABLE, winner="tie", rater="bo"), changed(TABLE, winner="answer_b"))
    assert (record.item.id, record.item.conversation[0].content) == ("007", "Why?")
    assert (record.item.response_a, record.item.response_b) == ("Because.", "Who knows.")
    found = [(verdict.rater, verdict.kind, verdict.label) for verdict in record.verdicts]
    assert found == [("ana", "human", "A"), ("bo", "human", "tie"), ("ana", "human", "B")]


def test_rows_without_an_id_column_are_one_item_when_they_say_the_same() -> None:
    row = changed(TABLE, id=None)
    found = records("csv", row, changed(row, rater="bo"), changed(row, prompt="Who?"))
    assert [(record.item.id, len(record.verdicts)) for record in found] == [("1", 2), ("3", 1)]


def test_a_missing_id_is_the_number_of_the_row() -> None:
    row = {"question": "Why?", "response": "Because."}
    assert [record.item.id for record in records("csv", row, row, {**row, "id": ""})] == ["1", "2", "3"]


def test_rows_without_verdicts_are_streamed() -> None:
    endless = (Row("t.csv", line, {"question": "Why?", "response": str(line)}) for line in iter(int, 1))
    assert isinstance(next(convert_table(endless, {"instruction": "question", "response": "response"})), Row)


def test_the_same_id_with_other_content_is_refused() -> None:
    (error,) = errors("csv", TABLE, changed(TABLE, answer_a="Else."))
    assert error.startswith("file.jsonl:2: response_a: is not the same as on file.jsonl:1")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("'=1+1", "=1+1"),
        ("'+x", "+x"),
        ("'-x", "-x"),
        ("'@x", "@x"),
        ("'\tx", "\tx"),
        ("'\rx", "\rx"),
        ("'quoted'", "'quoted'"),
        ("'", "'"),
        ("007", "007"),
        ("1e5", "1e5"),
        (" spaced ", " spaced "),
        ("naïve 漢字 👩‍🔬", "naïve 漢字 👩‍🔬"),
    ],
)
def test_text_stays_and_neutralised_cells_are_restored(cell: str, text: str) -> None:
    (record,) = records("csv", changed(TABLE, answer_a=cell, note_x=cell))
    assert record.item.response_a == text
    assert record.item.metadata["note_x"] == text


def test_columns_that_agree_describe_the_item_and_the_others_the_verdict() -> None:
    rows = [changed(TABLE, topic_group="x", shift=shift, rater=shift) for shift in ("day", "night")]
    (record,) = records("csv", *rows)
    assert dict(record.item.metadata) == {"topic_group": "x"}
    assert [verdict.extra for verdict in record.verdicts] == [{"shift": "day"}, {"shift": "night"}]


def test_what_a_verdict_may_have_besides() -> None:
    row = {
        "repeat": "true",
        "comment": "short",
        "seconds": "12.5",
        "created": "2026-01-05T10:00:00Z",
        "order": "BA",
        "confidence": "80",
    }
    (record,) = records("csv", {**TABLE, **row, "kind": "judge", "raw": "[RESULT] A"})
    (verdict,) = record.verdicts
    assert (verdict.comment, verdict.seconds, verdict.order, verdict.confidence) == ("short", 12.5, "BA", 80)
    assert verdict.repeat
    assert (verdict.kind, verdict.raw, verdict.created and verdict.created.year) == ("judge", "[RESULT] A", 2026)


def test_columns_that_only_bear_our_names_are_left_as_they_are() -> None:
    row = {
        "status": "done",
        "order": "3",
        "confidence": "0.8",
        "created": "yesterday",
        "kind": "expert",
        "seconds": "?",
    }
    (record,) = records("csv", {**TABLE, **row})
    assert dict(record.item.metadata) == row
    assert record.verdicts[0].label == "A"


@pytest.mark.parametrize(
    ("field", "ours", "theirs", "told"),
    [
        ("kind", "Human", "model", "'model' is not human or judge, unlike the cells before it"),
        ("status", "ok", "lost", "'lost' is not ok or"),
        ("created", "2026-01-05", "5.1.2026", "is not a time such as 2026-01-05T10:00:00Z"),
        ("confidence", "1", "0.8", "is not a whole number from 0 to 100"),
        ("seconds", "12.5", "NA", "leave the cell empty"),
    ],
)
def test_a_column_holds_our_values_on_every_line_or_on_none(field: str, ours: str, theirs: str, told: str) -> None:
    rows = [{**TABLE, "rater": name, field: cell} for name, cell in (("ana", ""), ("ben", ours), ("gpt", theirs))]
    (error,) = errors("csv", *rows)
    assert f"{field}: " in error
    assert told in error
    (error,) = errors("csv", rows[2], rows[0], rows[1])
    assert f"{field}: {ours!r} is " in error
    assert "unlike the cells before it" in error


@pytest.mark.parametrize(("score", "label"), [(4.5, "4.5"), (0.5, "0.5"), (4.0, "4"), (True, "true")])
def test_a_number_that_is_no_whole_one_is_left_to_the_scale(score: float, label: str) -> None:
    (verdict,) = records("csv", {"question": "Why?", "response": "x", "score": score})[0].verdicts
    assert verdict.label == label


def test_kind_and_status_may_be_written_large() -> None:
    rows = [{**TABLE, "kind": "Human"}, {**TABLE, "rater": "gpt", "kind": "Judge", "winner": "", "status": "Refused"}]
    found = [(verdict.kind, verdict.status) for verdict in records("csv", *rows)[0].verdicts]
    assert found == [("human", "ok"), ("judge", "refused")]


def test_a_judge_without_a_label() -> None:
    row = {**changed(TABLE, rater=None), "judge": "gpt-4", "winner": "", "status": "refused"}
    (verdict,) = records("csv", row)[0].verdicts
    assert (verdict.rater, verdict.kind, verdict.status, verdict.label) == ("gpt-4", "judge", "refused", None)


def test_without_a_column_for_raters_the_verdict_column_is_the_rater() -> None:
    row = {"question": "Why?", "response": "Because.", "human_score": 4.0}
    (verdict,) = records("csv", row)[0].verdicts
    assert (verdict.rater, verdict.label) == ("human_score", "4")


@pytest.mark.parametrize(
    ("given", "label"),
    [("gpt-x", "A"), ("llama", "B"), ("model_b", "B"), ("Response A", "A"), ("A=B", "A=B"), ("B++", "B++"), ("1", "1")],
)
def test_a_winner_may_be_named_in_several_ways(given: str, label: str) -> None:
    (record,) = records("csv", changed(TABLE, model_a="gpt-x", model_b="llama", winner=given))
    assert record.verdicts[0].label == label


def test_the_same_model_on_both_sides_names_neither() -> None:
    (record,) = records("csv", changed(TABLE, model_a="m", model_b="m", winner="m"))
    assert record.verdicts[0].label == "m"


def test_numbered_columns_name_their_own_sides() -> None:
    row = {"prompt": "Why?", "response_0": "x", "response_1": "y", "preference": "response_1", "worker_id": "w"}
    assert records("csv", row)[0].verdicts[0].label == "B"


def test_chosen_and_rejected_make_no_verdict() -> None:
    (record,) = records("csv", {"prompt": "Why?", "chosen": "x", "rejected": "y"})
    assert (record.item.response_a, record.verdicts) == ("x", ())


def test_an_empty_second_response_is_one_only_if_a_model_wrote_it() -> None:
    row = {"prompt": "Why?", "response_a": "", "response_b": ""}
    (single,) = records("csv", row)
    assert (single.item.response_a, single.item.response_b) == ("", None)
    (pair,) = records("csv", {**row, "model_a": "x", "model_b": "y"})
    assert pair.item.response_b == ""


def test_a_missing_response_is_not_an_empty_one() -> None:
    (row,) = outcomes("csv", {"prompt": "Why?", "response_a": None, "response_b": "x"})
    assert isinstance(row, Row)
    with pytest.raises(InputError, match="response_a: is missing"):
        record_from_json(row.value)


def test_cells_may_hold_json() -> None:
    row = {
        "id": "1",
        "conversation": '[{"role": "user", "content": "Olá"}, {"role": "user", "content": "?"}]',
        "response_a": "[1, 2]",
        "tags": '["a", "b"]',
        "checklist": "one?\ntwo?",
        "rubric": '{"criteria": "good?"}',
        "metadata": '{"k": [1]}',
    }
    (record,) = records("csv", row)
    assert [turn.content for turn in record.item.conversation] == ["Olá", "?"]
    assert (record.item.response_a, record.item.tags, record.item.checklist) == ("[1, 2]", ("a", "b"), ("one?", "two?"))
    assert record.item.rubric is not None
    assert (record.item.rubric.criteria, dict(record.item.metadata)) == ("good?", {"k": [1]})


def test_a_question_that_only_looks_like_json_is_text() -> None:
    for question in ("[1, 2", "[1, 2]", '{"role": "user"}', '[{"role": "user"}]'):
        (record,) = records("csv", {"prompt": question, "response": "x"})
        assert record.item.conversation[0].content == question


def test_plain_lists_rubrics_and_system_prompts() -> None:
    row = {"prompt": "Why?", "response": "x", "tags": "a; b", "criteria": "good?", "score1_description": "bad"}
    (record,) = records("csv", {**row, "system_prompt": "Be kind."})
    assert record.item.tags == ("a", "b")
    assert record.item.rubric is not None
    assert record.item.rubric.descriptions[0] == "bad"
    assert [turn.role for turn in record.item.conversation] == ["system", "user"]


def mapped(mapping: dict[str, str], *values: dict[str, Any]) -> list[Any]:
    found = convert_table(rows_of(values, "t.csv"), mapping)
    return [str(each) if isinstance(each, InputError) else record_from_json(each.value) for each in found]


def test_a_mapping_may_name_a_column_for_each_rater() -> None:
    row = {"Frage": "Warum?", "Eins": "Darum.", "Zwei": "Wer weiß.", "Ana": "Eins", "Bo": ""}
    mapping = {"instruction": "Frage", "response_a": "Eins", "response_b": "Zwei", "label:ana": "Ana", "label:bo": "Bo"}
    (record,) = mapped(mapping, row)
    assert [(verdict.rater, verdict.label) for verdict in record.verdicts] == [("ana", "A")]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"prompt": "x"}, "mapping: 'prompt' is not a field"),
        ({"label:": "x"}, "mapping: 'label:' is not a field"),
        ({"instruction": "Frage"}, "t.csv:1: Frage: there is no such column; there are: a, b"),
        ({"instruction": "a"}, "t.csv:1: response_a: no column is known to hold it"),
        ({"response": "a"}, "t.csv:1: instruction: no column is known to hold it"),
        ({"instruction": "a", "response": "b", "metadata": "b"}, "b: must be a JSON object"),
        ({"instruction": "a", "response": "b", "label": "b", "seconds": "b"}, "b: must be a number of seconds"),
        ({"instruction": "a", "response": "b", "label": "b", "repeat": "b"}, "b: must be true or false"),
    ],
)
def test_a_bad_mapping_is_named(mapping: dict[str, str], message: str) -> None:
    (error,) = mapped(mapping, {"a": "1", "b": "x"})
    assert message in error


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (changed(TABLE, prompt=""), "prompt: is empty: an item needs its question"),
        (changed(TABLE, rater=""), "rater: is empty: who gave this verdict"),
        (changed(TABLE, prompt=None), "instruction: no column is known to hold it"),
        (changed(TABLE, answer_a=["x"]), "answer_a: must be text"),
    ],
)
def test_a_bad_row_is_named(row: dict[str, Any], message: str) -> None:
    assert message in errors("csv", row)[0]


def test_what_is_no_label_is_not_left_out_in_silence() -> None:
    mapping = {"instruction": "a", "response": "b", "label:ana": "c"}
    assert mapped(mapping, {"a": "1", "b": "x", "c": [4]}) == ["t.csv:1: c: must be a label of the scale"]
    (error,) = mapped(mapping, {"a": "1", "b": "x", "c": "4", "verdicts": [{"rater": "ben", "label": "4"}]})
    assert "verdicts: a table's verdicts are columns: import the file with --format accord" in error


def test_missing_numbers_of_a_parquet_file_are_missing() -> None:
    (record,) = records("csv", {"question": "Why?", "response": "x", "score": float("nan"), "tokens": 12, "ok": True})
    assert record.verdicts == ()
    assert dict(record.item.metadata) == {"tokens": "12", "ok": "true"}


def test_an_item_keeps_the_place_of_its_first_row() -> None:
    found = outcomes("csv", TABLE, TABLE)
    assert [row.line for row in found if isinstance(row, Row)] == [1]
