"""WildBench: data-set rows, model outputs, pairwise results and score results, in any order and any mix.

Neither outputs nor results hold the question: give the data-set file along with them (the conversation in
an output's own `chat_history` serves where it is missing). Outputs of one model become items with one
response, of two models pairs. When results are there, they say which items there are, and outputs only
fill in responses that the results do not hold.

In pairwise results A and B are as the judge saw them; see `sides` for what they become.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from exchange.formats.conversion import Gathering, Outcome, present
from exchange.formats.fields import identifier, mapping_of, required_text, text, turns, without
from exchange.formats.sides import Side, settle
from exchange.formats.wildbench_results import pairwise_sides, pairwise_verdict, score_verdict, scored_response
from exchange.rows import Row
from judge.domain import InputError

_QUESTION_KEYS = ("session_id", "conversation_input", "checklist", "primary_tag", "secondary_tags")


def recognise(value: Any) -> bool:
    """Say whether a row is one of the four kinds of WildBench rows."""
    return isinstance(value, dict) and _kind(value) is not None


def _kind(value: dict[str, Any]) -> str | None:
    has = value.keys()
    if "parsed_result" in has and {"model_A", "model_B"} <= has:
        return "pair"
    if "model_test" in has and ("parsed_result" in has or "score" in has):
        return "score"
    if {"session_id", "output", "generator"} <= has:
        return "output"
    if isinstance(value.get("conversation_input"), list) and ("session_id" in has or "id" in has):
        return "question"
    return None


@dataclass(slots=True)
class _Shelf:
    """The rows read so far, each kind in its place."""

    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, dict[str, tuple[Row, str]]] = field(default_factory=dict)
    results: list[Row] = field(default_factory=list)

    def put(self, row: Row) -> None:
        value = mapping_of(row)
        kind = _kind(value)
        if kind == "question":
            self._put_question(row, value)
        elif kind == "output":
            self._put_output(row, value)
        elif kind is not None:
            self.results.append(row)
        else:
            raise row.refuse(
                "line: is not a WildBench row: a data-set row has session_id and conversation_input, an output has "
                "session_id, output and generator, a result has parsed_result and model_A, model_B or model_test"
            )

    def _put_question(self, row: Row, value: dict[str, Any]) -> None:
        session = identifier(row, value, "session_id", "id")
        question = _question(row, value)
        if self.questions.setdefault(session, question)["conversation"] != question["conversation"]:
            raise row.refuse(f"conversation_input: differs from another row of session {session!r}")

    def _put_output(self, row: Row, value: dict[str, Any]) -> None:
        session, model = identifier(row, value, "session_id"), required_text(row, value, "generator")
        output = value["output"]
        if isinstance(output, list) and len(output) == 1:
            output = output[0]
        if not isinstance(output, str):
            raise row.refuse("output: must be text, or a list with one text")
        known = self.outputs.setdefault(session, {}).setdefault(model, (row, output))
        if known[1] != output:
            raise row.refuse(f"output: differs from {known[0].source}:{known[0].line}, same session and generator")

    def question(self, row: Row, session: str) -> dict[str, Any]:
        """Return the question's part of an item."""
        if session in self.questions:
            return self.questions[session]
        for output, _ in self.outputs.get(session, {}).values():
            if conversation := _from_history(output.value.get("chat_history")):
                return {"conversation": conversation}
        raise row.refuse(f"session_id: no data-set row for {session!r}: give the WildBench data set with this file")

    def output(self, session: str, model: str) -> str | None:
        """Return a model's output on a question, if its file was given."""
        known = self.outputs.get(session, {}).get(model)
        return known and known[1]


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return items from results, or else from outputs of one or two models."""
    shelf = _Shelf()
    last = None
    for row in rows:
        last = row
        try:
            shelf.put(row)
        except InputError as error:
            yield error
    if shelf.results:
        yield from _judged(shelf)
    elif shelf.outputs:
        yield from _unjudged(shelf)
    elif shelf.questions and last is not None:
        yield last.refuse("line: the data set holds questions only: give the outputs of one or two models with it")


def _question(row: Row, value: dict[str, Any]) -> dict[str, Any]:
    secondary = value.get("secondary_tags") or []
    if not isinstance(secondary, list) or not all(isinstance(tag, str) for tag in secondary):
        raise row.refuse("secondary_tags: must be a list of texts")
    tags = [tag for tag in dict.fromkeys([text(row, value, "primary_tag"), *secondary]) if tag]
    details = [without(turn, ("role", "content")) for turn in value["conversation_input"] if isinstance(turn, dict)]
    metadata = without(value, _QUESTION_KEYS if "session_id" in value else (*_QUESTION_KEYS, "id"))
    return present(
        {
            "conversation": turns(row, value, "conversation_input"),
            "checklist": value.get("checklist"),
            "tags": tags,
            "metadata": metadata | ({"turns": details} if any(details) else {}),
        }
    )


def _from_history(history: Any) -> list[dict[str, str]] | None:
    """Return the conversation in an output's history, where users and assistants take turns."""
    if not isinstance(history, list) or len(history) % 2 == 0 or not all(isinstance(said, str) for said in history):
        return None
    return [{"role": "assistant" if place % 2 else "user", "content": said} for place, said in enumerate(history)]


def _judged(shelf: _Shelf) -> Iterator[Outcome]:
    gathering = Gathering()
    for row in shelf.results:
        try:
            item, verdict = _pair_result(row, shelf) if _kind(row.value) == "pair" else _score_result(row, shelf)
            gathering.add(row, item, [verdict], {})
        except InputError as error:
            yield error
    yield from gathering.rows()


def _pair_result(row: Row, shelf: _Shelf) -> tuple[dict[str, Any], dict[str, Any]]:
    session = identifier(row, row.value, "session_id", "id")
    side_a, side_b, order = settle(*pairwise_sides(row, lambda model: shelf.output(session, model)))
    return _pair(session, side_a, side_b, shelf.question(row, session)), pairwise_verdict(row, order)


def _score_result(row: Row, shelf: _Shelf) -> tuple[dict[str, Any], dict[str, Any]]:
    session = identifier(row, row.value, "session_id", "id")
    side = scored_response(row, lambda model: shelf.output(session, model))
    return _single(session, side, shelf.question(row, session)), score_verdict(row)


def _pair(session: str, side_a: Side, side_b: Side, question: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"{session}|{side_a.model}|{side_b.model}",
        **question,
        "response_a": side_a.response,
        "response_b": side_b.response,
        "model_a": side_a.model,
        "model_b": side_b.model,
        "cluster": session,
    }


def _single(session: str, side: Side, question: dict[str, Any]) -> dict[str, Any]:
    identity = {"id": f"{session}|{side.model}", "cluster": session}
    return identity | question | {"response": side.response, "model": side.model}


def _unjudged(shelf: _Shelf) -> Iterator[Outcome]:
    models = sorted({model for outputs in shelf.outputs.values() for model in outputs})
    if len(models) > 2:
        row = next(outputs[models[-1]][0] for outputs in shelf.outputs.values() if models[-1] in outputs)
        found = f"outputs of {len(models)} models were found ({', '.join(models)})"
        yield row.refuse(f"generator: {found}: give those of exactly one model, to score, or two, to compare")
        return
    for session, outputs in shelf.outputs.items():
        row = next(iter(outputs.values()))[0]
        if missing := [model for model in models if model not in outputs]:
            yield row.refuse(f"session_id: session {session!r} has no output of {missing[0]}")
            continue
        try:
            question = shelf.question(row, session)
        except InputError as error:
            yield error
            continue
        side, *others = (Side(model, outputs[model][1]) for model in models)
        value = _pair(session, side, others[0], question) if others else _single(session, side, question)
        yield Row(row.source, row.line, value)
