"""MT-Bench: verdicts on the same question, models and turn are one item, whichever way round."""

from __future__ import annotations

import pytest
from format_samples import MT_BENCH, changed, errors, records

SWAPPED = changed(
    MT_BENCH,
    model_a="alpaca",
    model_b="vicuna",
    conversation_a=MT_BENCH["conversation_b"],
    conversation_b=MT_BENCH["conversation_a"],
    judge="author_1",
)
COMBINED = changed(MT_BENCH, judge="gpt4_pair", winner="tie (inconsistent)")


def test_people_and_judges_give_verdicts_on_one_item() -> None:
    (record,) = records("mt-bench", MT_BENCH, SWAPPED, COMBINED)
    item = record.item
    assert (item.id, item.cluster, item.metadata["turn"]) == ("81|alpaca|vicuna|1", "81", 1)
    assert [turn.content for turn in item.conversation] == ["Write a post."]
    assert (item.response_a, item.response_b) == ("A trip.", "Aloha!")
    expert, author, judge = record.verdicts
    assert (expert.rater, expert.kind, expert.label, expert.order) == ("expert_3", "human", "B", "BA")
    assert (author.label, author.order) == ("A", "AB")
    assert (judge.rater, judge.kind, judge.label, judge.order) == ("gpt4_pair", "judge", "tie", None)
    assert judge.extra == {"winner": "tie (inconsistent)"}


def test_the_second_turn_is_another_item_and_shows_each_dialogue() -> None:
    first, second = records("mt-bench", MT_BENCH, changed(MT_BENCH, turn=2))
    assert second.item.id == "81|alpaca|vicuna|2"
    assert second.item.response_a == "ASSISTANT: A trip.\n\nUSER: Rewrite it.\n\nASSISTANT: A TRIP."
    assert [turn.content for turn in second.item.conversation] == ["Write a post."]
    assert first.item.cluster == second.item.cluster


def test_a_shared_history_stays_in_the_question() -> None:
    shared = [*MT_BENCH["conversation_a"][:3], {"role": "assistant", "content": "Surf."}]
    (record,) = records("mt-bench", changed(MT_BENCH, turn=2, conversation_b=shared))
    assert [turn.content for turn in record.item.conversation] == ["Write a post.", "Aloha!", "Rewrite it."]
    assert (record.item.response_a, record.item.response_b) == ("Surf.", "ALOHA!")


def test_a_shared_answer_before_different_questions_is_part_of_the_dialogues() -> None:
    other = [
        *MT_BENCH["conversation_a"][:2],
        {"role": "user", "content": "Else."},
        {"role": "assistant", "content": "!"},
    ]
    (record,) = records("mt-bench", changed(MT_BENCH, turn=2, conversation_b=other))
    assert [turn.content for turn in record.item.conversation] == ["Write a post."]
    assert record.item.response_a == "ASSISTANT: Aloha!\n\nUSER: Else.\n\nASSISTANT: !"


def test_the_same_model_on_both_sides_folds_by_its_responses() -> None:
    twins = changed(MT_BENCH, model_a="m", model_b="m")
    other = changed(SWAPPED, model_a="m", model_b="m", winner="model_b")
    (record,) = records("mt-bench", twins, other)
    assert (record.item.response_a, record.item.response_b) == ("A trip.", "Aloha!")
    assert [(verdict.order, verdict.label) for verdict in record.verdicts] == [("BA", "B"), ("AB", "B")]


def test_identical_answers_are_still_a_pair() -> None:
    (record,) = records("mt-bench", changed(MT_BENCH, conversation_b=MT_BENCH["conversation_a"]))
    assert record.item.response_a == record.item.response_b == "Aloha!"


def test_an_arena_row_keeps_what_else_it_says() -> None:
    row = changed(MT_BENCH, question_id="ab12", turn=2, judge="arena_user_9", winner="tie (bothbad)", tstamp=1.5)
    (record,) = records("mt-bench", row)
    (verdict,) = record.verdicts
    assert (verdict.kind, verdict.label, verdict.extra) == ("human", "tie", {"winner": "tie (bothbad)", "tstamp": 1.5})


def test_a_judge_may_be_named_with_its_prompt_and_may_fail() -> None:
    (record,) = records("mt-bench", changed(MT_BENCH, judge=["gpt-4", "pair-v2"], winner="error"))
    (verdict,) = record.verdicts
    assert (verdict.rater, verdict.status, verdict.label) == ("gpt-4 pair-v2", "unreadable", None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"winner": "vicuna"}, "winner: must be model_a, model_b or tie, not 'vicuna'"),
        ({"winner": "error"}, "winner: must be"),
        ({"judge": None}, "judge: is missing"),
        ({"judge": [1]}, "judge: is missing"),
        ({"question_id": None}, "question_id: is missing"),
        ({"turn": 0}, "turn: must be a whole number"),
        ({"turn": 3}, "conversation_a: has 2 answers, but turn 3"),
        ({"conversation_a": []}, "conversation_a: is empty"),
        ({"conversation_b": [{"role": "user", "content": "?"}]}, "conversation_b: has 0 answers"),
        (
            {"conversation_b": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]},
            "does not begin with the same question",
        ),
    ],
)
def test_a_bad_row_is_named(changes: dict[str, object], message: str) -> None:
    assert message in errors("mt-bench", changed(MT_BENCH, **changes))[0]


def test_other_answers_under_the_same_id_are_refused() -> None:
    other = [MT_BENCH["conversation_a"][0], {"role": "assistant", "content": "else"}]
    (error,) = errors("mt-bench", MT_BENCH, changed(MT_BENCH, conversation_a=other))
    assert error.startswith("file.jsonl:2: response_b: is not the same as on file.jsonl:1")
