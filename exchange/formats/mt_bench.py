"""MT-Bench and Chatbot Arena: pairwise judgments with both conversations.

A row is one verdict: `question_id`, `model_a`, `model_b`, `winner`, `judge`, `conversation_a`,
`conversation_b`, `turn`. Verdicts on the same question, models and turn become one item.

From the second turn on the two conversations differ before the last question, because each model answered
the first one itself. What people compared were the dialogues, so the item's question is where the two
still agree, and each response is the rest of its dialogue, turns labelled.

`model_a` was shown first to people. The GPT-4 verdicts are already combined from both orders (hence
`tie (inconsistent)`): they have no order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from exchange.formats.conversion import Gathering, Outcome, as_extra, present
from exchange.formats.fields import identifier, mapping_of, required_text, turns, without
from exchange.formats.sides import Side, settle, unswap
from exchange.rows import Row
from judge.domain import InputError, Order

_KEYS = ("question_id", "model_a", "model_b", "winner", "judge", "conversation_a", "conversation_b", "turn")
_PEOPLE = re.compile(r"(expert|author|human|annotator|arena_user)", re.IGNORECASE)
_WINNERS = {"model_a": "A", "model_b": "B"}
Turns = list[dict[str, str]]


def recognise(value: Any) -> bool:
    """Say whether a row is a pairwise judgment with two conversations."""
    return (
        isinstance(value, dict)
        and all(key in value for key in ("model_a", "model_b", "winner"))
        and all(isinstance(value.get(key), list) for key in ("conversation_a", "conversation_b"))
    )


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return one item for each question, pair of models and turn, with all its verdicts."""
    gathering = Gathering()
    for row in rows:
        try:
            item, verdict = _judgment(row)
            gathering.add(row, item, [verdict], {})
        except InputError as error:
            yield error
    yield from gathering.rows()


def _judgment(row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    value = mapping_of(row)
    question = identifier(row, value, "question_id")
    turn = _turn(row, value)
    left, right = (_until(row, value, key, turn) for key in ("conversation_a", "conversation_b"))
    shared = _shared(left, right)
    if not shared:
        raise row.refuse("conversation_b: does not begin with the same question as conversation_a")
    first = Side(required_text(row, value, "model_a"), _response(left[len(shared) :]))
    second = Side(required_text(row, value, "model_b"), _response(right[len(shared) :]))
    side_a, side_b, order = settle(first, second)
    item = {
        "id": "|".join([question, side_a.model, side_b.model, *([str(turn)] if turn else [])]),
        "conversation": shared,
        "response_a": side_a.response,
        "response_b": side_b.response,
        "model_a": side_a.model,
        "model_b": side_b.model,
        "metadata": present({"question_id": question, "turn": turn}),
        "cluster": question,
    }
    return item, _verdict(row, value, order)


def _turn(row: Row, value: dict[str, Any]) -> int | None:
    turn = value.get("turn")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int) or turn < 1):
        raise row.refuse("turn: must be a whole number from 1")
    return turn


def _until(row: Row, value: dict[str, Any], key: str, turn: int | None) -> Turns:
    """Return a conversation up to the answer under review: the stored ones go on to the last turn."""
    conversation = turns(row, value, key)
    answers = [index for index, message in enumerate(conversation) if message["role"] == "assistant"]
    if len(answers) < (turn or 1):
        raise row.refuse(f"{key}: has {len(answers)} answers, but turn {turn or 1} is under review")
    return conversation[: answers[turn - 1 if turn else -1] + 1]


def _shared(left: Turns, right: Turns) -> Turns:
    """Return the turns on which both agree, up to the last question among them."""
    count = 0
    for mine, other in zip(left[:-1], right[:-1], strict=False):
        if mine != other:
            break
        count += 1
    while count and left[count - 1]["role"] != "user":
        count -= 1
    return left[:count]


def _response(rest: Turns) -> str:
    if len(rest) == 1:
        return rest[0]["content"]
    return "\n\n".join(f"{message['role'].upper()}: {message['content']}" for message in rest)


def _verdict(row: Row, value: dict[str, Any], order: Order) -> dict[str, Any]:
    judge = value.get("judge")
    rater = " ".join(judge) if isinstance(judge, list) and all(isinstance(part, str) for part in judge) else judge
    if not isinstance(rater, str) or not rater.strip():
        raise row.refuse("judge: is missing: who gave this verdict")
    person = _PEOPLE.match(rater) is not None
    winner = required_text(row, value, "winner")
    label = _WINNERS.get(winner) or ("tie" if winner.startswith("tie") else None)
    if label is None and (person or winner != "error"):
        raise row.refuse(f"winner: must be model_a, model_b or tie, not {winner!r}")
    return {
        **as_extra(without(value, _KEYS)),
        # Not every tie is one: the file says which are orders that disagreed, or two bad answers.
        **({"winner": winner} if label == "tie" and winner != "tie" else {}),
        **present(
            {
                "rater": rater,
                "kind": "human" if person else "judge",
                "label": label and unswap(label, order),
                "status": None if person else "ok" if label else "unreadable",
                "order": order if person else None,
            }
        ),
    }
