"""WildBench results: what a judge said of one response or of two, read from one row.

The label is what the judge itself wrote (`choice`, `score`), not what upstream computed from it. A row
whose reply could not be parsed upstream is an unreadable verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from exchange.formats.conversion import as_extra, present
from exchange.formats.fields import required_text, text, without
from exchange.formats.preferences import FIVE_WAY
from exchange.formats.sides import Side, unswap
from exchange.rows import Row
from judge.domain import Order

RATER = "WildBench judge"
_SCORES = frozenset(str(score) for score in range(1, 11))
_PAIR_KEYS = ("session_id", "parsed_result", "result", "model_A", "model_B", "winner", "extent", "model_outputs")
_SCORE_KEYS = ("session_id", "parsed_result", "result", "model_test", "score", "model_output")
Outputs = Callable[[str], str | None]


def pairwise_sides(row: Row, outputs: Outputs) -> tuple[Side, Side]:
    """Return the two sides as the judge saw them; one model may stand on both."""
    found = row.value.get("model_outputs")
    if found is not None and not isinstance(found, dict):
        raise row.refuse("model_outputs: must be an object with the text of each model")
    models = [required_text(row, row.value, key) for key in ("model_A", "model_B")]
    first, second = (Side(model, _response(row, found or {}, model, model, outputs)) for model in models)
    return first, second


def scored_response(row: Row, outputs: Outputs) -> Side:
    """Return the response that was scored."""
    model = required_text(row, row.value, "model_test")
    return Side(model, _response(row, row.value, "model_output", model, outputs))


def _response(row: Row, found: dict[str, Any], key: str, model: str, outputs: Outputs) -> str:
    response = text(row, found, key)
    if response is not None:
        return _as_given(response)
    response = outputs(model)
    if response is None:
        raise row.refuse(f"model_outputs: has no text of {model!r}: give its outputs file with this one")
    return response


def _as_given(response: str) -> str:
    """Return a response without what upstream cut out of the prompt along with it.

    Its results take the text between two markers: the blank lines around it, and on side B the opening
    marker as well, are the template's. Left in, the same response would differ between the two orders.
    """
    return response.removeprefix("<|begin_of_response_B|>").strip("\n")


def pairwise_verdict(row: Row, order: Order) -> dict[str, Any]:
    """Return the judge's verdict on a pair, un-swapped."""
    choice = _parsed(row).get("choice")
    label = choice.strip() if isinstance(choice, str) and choice.strip() in FIVE_WAY else None
    return _verdict(row, label and unswap(label, order), _PAIR_KEYS) | {"order": order}


def score_verdict(row: Row) -> dict[str, Any]:
    """Return the judge's score of a response."""
    score = _parsed(row).get("score", row.value.get("score"))
    written = str(score).strip() if isinstance(score, str | int) else ""
    return _verdict(row, written if written in _SCORES else None, _SCORE_KEYS)


def _parsed(row: Row) -> dict[str, Any]:
    parsed = row.value.get("parsed_result")
    return parsed if isinstance(parsed, dict) else {}


def _verdict(row: Row, label: str | None, used: tuple[str, ...]) -> dict[str, Any]:
    status = "ok" if label else "unreadable"
    given = {"rater": _judge(row), "kind": "judge", "label": label, "status": status, "raw": _raw(row)}
    return {**as_extra(without(row.value, used)), **present(given)}


def _raw(row: Row) -> str | None:
    """Return the reply, or what upstream kept of it: the parsed object."""
    for key in ("result", "parsed_result"):
        found = row.value.get(key)
        if isinstance(found, str):
            return found
    parsed = row.value.get("parsed_result")
    return None if parsed is None else json.dumps(parsed, ensure_ascii=False)


def _judge(row: Row) -> str:
    """Return the judge's name: upstream writes it into the path of the file only (`…/eval=gpt-4/…`)."""
    found = re.search(r"eval=([^/\\]+)", row.source)
    return found[1] if found else RATER
