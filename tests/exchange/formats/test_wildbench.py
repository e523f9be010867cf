"""WildBench: joins, results of both orders folded into one item, scores."""

from __future__ import annotations

import pytest
from format_samples import (
    WILDBENCH_OUTPUT,
    WILDBENCH_PAIR,
    WILDBENCH_QUESTION,
    WILDBENCH_SCORE,
    changed,
    errors,
    outcomes,
    records,
)

from exchange.rows import Row

QUESTION, OUTPUT, PAIR, SCORE = WILDBENCH_QUESTION, WILDBENCH_OUTPUT, WILDBENCH_PAIR, WILDBENCH_SCORE
SWAPPED = changed(
    PAIR,
    model_A="claude",
    model_B="gpt-4",
    parsed_result={"choice": "A++"},
    meta_data={"batch_req_id": "r2"},
    model_outputs={"claude": "\nx.sort()\n\n", "gpt-4": "<|begin_of_response_B|>\n\nsorted(x)\n\n"},
)


def test_outputs_of_two_models_become_pairs_whatever_the_order_of_the_rows() -> None:
    other = {"session_id": "s1", "output": "x.sort()", "generator": "claude"}
    for rows in ([QUESTION, OUTPUT, other], [other, OUTPUT, QUESTION]):
        (record,) = records("wildbench", *rows)
        item = record.item
        assert (item.model_a, item.response_a) == ("claude", "x.sort()")
        assert (item.model_b, item.response_b) == ("gpt-4", "sorted(x)")
        assert item.id == "s1|claude|gpt-4"
        assert item.cluster == "s1"
        assert [turn.content for turn in item.conversation] == ["Olá 👋", "Hi!", "Write a sort."]
        assert item.checklist == ("Is it stable?", "Is it short?")
        assert item.tags == ("Coding & Debugging", "Math")
        assert item.metadata["intent"] == "to get code"
        assert item.metadata["id"] == 7
        assert item.metadata["turns"][0] == {"language": "Portuguese", "toxic": False}
        assert record.verdicts == ()


def test_outputs_of_one_model_become_items_with_one_response() -> None:
    (record,) = records("wildbench", QUESTION, OUTPUT)
    assert (record.item.id, record.item.model_a, record.item.response_a) == ("s1|gpt-4", "gpt-4", "sorted(x)")
    assert record.item.response_b is None


def test_three_models_are_named_and_refused() -> None:
    others = [changed(OUTPUT, generator=name) for name in ("claude", "llama")]
    (error,) = errors("wildbench", QUESTION, OUTPUT, *others)
    assert "3 models were found (claude, gpt-4, llama)" in error
    assert "exactly one model" in error


def test_an_id_may_stand_for_the_session_id_and_be_a_number() -> None:
    question = {"id": 5, "conversation_input": [{"role": "user", "content": "Hi"}]}
    (record,) = records("wildbench", question, {"session_id": 5, "output": "Hello", "generator": "m"})
    assert record.item.id == "5|m"
    assert dict(record.item.metadata) == {}


def test_both_orders_of_a_pair_are_one_item_with_two_unswapped_verdicts() -> None:
    (record,) = records("wildbench", QUESTION, PAIR, SWAPPED)
    assert (record.item.model_a, record.item.response_a) == ("claude", "x.sort()")
    assert (record.item.model_b, record.item.response_b) == ("gpt-4", "sorted(x)")
    first, second = record.verdicts
    assert (first.order, first.label, first.kind, first.status) == ("BA", "B+", "judge", "ok")
    assert (second.order, second.label) == ("AB", "A++")
    assert first.extra == {"meta_data": {"batch_req_id": "r1"}}
    assert first.raw == '{"analysis of A": "…", "choice": "A+"}'
    assert first.rater == "WildBench judge"


def test_the_judge_is_named_by_the_path_of_the_file() -> None:
    path = "results/eval=gpt-4-turbo/ref=x/m.json"
    (record,) = records("wildbench", QUESTION, PAIR, source=path)
    assert record.verdicts[0].rater == "gpt-4-turbo"


def test_an_item_keeps_the_place_of_its_first_row() -> None:
    (row,) = outcomes("wildbench", QUESTION, PAIR, SWAPPED)
    assert isinstance(row, Row)
    assert row.line == 2


@pytest.mark.parametrize("parsed", [{"N/A": "N/A"}, {"choice": "N/A"}, {"choice": "A"}, {}, "A+", None, {"choice": 3}])
def test_what_upstream_could_not_parse_is_unreadable(parsed: object) -> None:
    (record,) = records("wildbench", QUESTION, {**PAIR, "parsed_result": parsed})
    assert (record.verdicts[0].label, record.verdicts[0].status) == (None, "unreadable")


def test_the_same_model_may_stand_on_both_sides() -> None:
    twins = changed(PAIR, model_B="gpt-4", model_outputs={"gpt-4": "same"}, parsed_result={"choice": "B+"})
    (record,) = records("wildbench", QUESTION, twins)
    assert (record.item.model_a, record.item.model_b) == ("gpt-4", "gpt-4")
    assert record.item.response_a == record.item.response_b == "same"
    assert (record.verdicts[0].order, record.verdicts[0].label) == ("AB", "B+")


def test_other_responses_under_the_same_models_are_refused() -> None:
    other = changed(SWAPPED, model_outputs={"claude": "else", "gpt-4": "sorted(x)"})
    (error,) = errors("wildbench", QUESTION, PAIR, other)
    assert error.startswith("file.jsonl:3: response_a: is not the same as on file.jsonl:2")


def test_several_pairs_of_a_session_are_several_items_of_a_cluster() -> None:
    other = changed(PAIR, model_B="llama", model_outputs={"gpt-4": "sorted(x)", "llama": "?"})
    found = records("wildbench", QUESTION, PAIR, other)
    assert [record.item.id for record in found] == ["s1|claude|gpt-4", "s1|gpt-4|llama"]
    assert {record.item.cluster for record in found} == {"s1"}


def test_outputs_fill_in_what_results_do_not_hold() -> None:
    claude = {"session_id": "s1", "output": "x.sort()", "generator": "claude"}
    (record,) = records("wildbench", QUESTION, OUTPUT, claude, changed(PAIR, model_outputs=None))
    assert (record.item.response_a, record.item.response_b) == ("x.sort()", "sorted(x)")
    (error,) = errors("wildbench", QUESTION, OUTPUT, changed(PAIR, model_outputs=None))
    assert "no text of 'claude'" in error


def test_scores_become_verdicts_on_one_response() -> None:
    (record,) = records("wildbench", QUESTION, SCORE)
    assert (record.item.id, record.item.response_a, record.item.response_b) == ("s1|gpt-4", "sorted(x)", None)
    assert (record.verdicts[0].label, record.verdicts[0].order) == ("8", None)
    assert '"strengths": "short"' in (record.verdicts[0].raw or "")


@pytest.mark.parametrize(("parsed", "label"), [({"score": 10}, "10"), ({"score": " 3 "}, "3"), ({}, "8")])
def test_a_score_may_be_written_in_several_ways(parsed: object, label: str) -> None:
    (record,) = records("wildbench", QUESTION, {**SCORE, "parsed_result": parsed})
    assert record.verdicts[0].label == label


@pytest.mark.parametrize("score", ["11", "8.5", "N/A", 0, None, True])
def test_a_score_off_the_scale_is_unreadable(score: object) -> None:
    (record,) = records("wildbench", QUESTION, {**SCORE, "parsed_result": {"score": score}, "score": score})
    assert record.verdicts[0].status == "unreadable"


def test_the_history_in_an_output_serves_where_the_data_set_is_missing() -> None:
    (record,) = records("wildbench", changed(OUTPUT, chat_history=["Hi", "Hello", "Sort."]))
    assert [turn.role for turn in record.item.conversation] == ["user", "assistant", "user"]


def test_what_is_missing_is_said() -> None:
    assert "give the WildBench data set" in errors("wildbench", PAIR)[0]
    assert "give the outputs of one or two models" in errors("wildbench", QUESTION)[0]
    assert "give the WildBench data set" in errors("wildbench", changed(OUTPUT, chat_history=["Hi", "Hello"]))[0]
    other = changed(OUTPUT, session_id="s2", generator="claude")
    assert ["has no output of" in error for error in errors("wildbench", QUESTION, OUTPUT, other)] == [True, True]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (changed(OUTPUT, output=["a", "b"]), "output: must be text, or a list with one text"),
        ({**OUTPUT, "output": None}, "output: must be text"),
        (changed(OUTPUT, generator=3), "generator: must be text"),
        (changed(PAIR, model_outputs=["x"]), "model_outputs: must be an object"),
        (changed(QUESTION, conversation_input=["x"]), "conversation_input[0]: must be an object"),
        (changed(QUESTION, conversation_input=[{"role": "user"}]), "conversation_input[0].content: is missing"),
        (changed(QUESTION, secondary_tags=[["x"]]), "secondary_tags: must be a list of texts"),
        (
            changed(QUESTION, conversation_input=[{"role": "user", "content": "?"}]),
            "differs from another row of session",
        ),
        ({"session_id": "s1"}, "is not a WildBench row"),
    ],
)
def test_a_bad_row_is_named(row: dict[str, object], message: str) -> None:
    assert any(message in error for error in errors("wildbench", QUESTION, row))


def test_the_same_output_twice_counts_once_and_another_one_is_refused() -> None:
    assert len(records("wildbench", QUESTION, QUESTION, OUTPUT, OUTPUT)) == 1
    assert "output: differs" in errors("wildbench", QUESTION, OUTPUT, changed(OUTPUT, output="else"))[0]
