"""Columns: many spellings are known, and a model's name is never taken for its response."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchange.formats.columns import FIELDS, guess_mapping, plain_name

PAIRS = [
    ("response_a", "response_b"),
    ("responseA", "responseB"),
    ("Response A", "Response B"),
    ("answer_a", "answer_b"),
    ("output_1", "output_2"),
    ("output1", "output2"),
    ("response_0", "response_1"),
    ("response 1", "response 2"),
    ("left_answer", "right_answer"),
    ("completion_a", "completion_b"),
    ("model_a_response", "model_b_response"),
    ("candidate_A", "candidate_B"),
    ("orig_response_A", "orig_response_B"),
    ("output_text_a", "output_text_b"),
    ("text1", "text2"),
    ("first_response", "second_response"),
    ("chosen", "rejected"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_responses_are_found_as_a_pair(first: str, second: str) -> None:
    found = guess_mapping(["prompt", second, first])
    assert found == {"response_a": first, "response_b": second, "instruction": "prompt"}


@pytest.mark.parametrize("name", ["prompt", "Question", "instruction", "query", "user_query", "input", "User Prompt"])
def test_questions_are_found(name: str) -> None:
    assert guess_mapping([name, "response"]) == {"instruction": name, "response": "response"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("model_a", "model_b"),
        ("model_1", "model_2"),
        ("Model A", "Model B"),
        ("left_model", "right_model"),
        ("model_a_name", "model_b_name"),
        ("response_a_model", "response_b_model"),
        ("generator_1", "generator_2"),
        ("answer_1_model", "answer_2_model"),
    ],
)
def test_models_are_not_responses(first: str, second: str) -> None:
    found = guess_mapping(["prompt", first, second])
    assert found == {"instruction": "prompt", "model_a": first, "model_b": second}
    both = guess_mapping(["prompt", first, second, "response_a", "response_b"])
    assert (both["response_a"], both["model_a"]) == ("response_a", first)


@pytest.mark.parametrize("names", [["model", "model_name"], ["generator"], ["response_model"], ["model_output_length"]])
def test_one_model_is_not_a_response(names: list[str]) -> None:
    assert "response" not in guess_mapping(["prompt", *names])


def test_a_name_that_could_be_either_is_neither_response() -> None:
    assert not {"response_a", "response"} & guess_mapping(["prompt", "response_model_a", "response_model_b"]).keys()


def test_half_a_pair_is_no_pair() -> None:
    assert guess_mapping(["prompt", "answer_a"]) == {"instruction": "prompt"}
    assert guess_mapping(["prompt", "response_a"]) == {"instruction": "prompt", "response": "response_a"}


def test_a_score_is_a_verdict_on_one_response_only() -> None:
    assert guess_mapping(["prompt", "response", "score"])["label"] == "score"
    assert "label" not in guess_mapping(["prompt", "response_a", "response_b", "score"])


def test_verdict_columns_are_found() -> None:
    found = guess_mapping(["id", "prompt", "response_a", "response_b", "Winner", "annotator", "rationale", "lead_time"])
    wanted = {"id": "id", "label": "Winner", "rater": "annotator", "comment": "rationale", "seconds": "lead_time"}
    assert wanted.items() <= found.items()


def test_our_own_names_mean_themselves() -> None:
    pair = [field for field in sorted(FIELDS) if field not in ("response", "model", "system")]
    assert guess_mapping(pair) == {field: field for field in pair}


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("ResponseA", "response_a"),
        (" answer1 ", "answer_1"),
        ("Model-A  name", "model_a_name"),
        ("ID", "id"),
        ("Ö_1", "ö_1"),
    ],
)
def test_spelling_does_not_matter(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@given(st.lists(st.text()))
def test_a_guess_names_columns_that_are_there_and_each_once(columns: list[str]) -> None:
    found = guess_mapping(columns)
    assert set(found) <= FIELDS
    assert set(found.values()) <= set(columns)
    assert len(set(found.values())) == len(found)
