"""The interchange format itself: nothing to convert."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from exchange.formats.conversion import Outcome
from exchange.rows import Row

# With one of these a row is a line of a table that holds a verdict, or a Prometheus row: not an item with odd
# extra keys.
_OF_OTHERS = ("label", "rater", "winner", "annotator", "preference", "score1_description", "response_A", "score_rubric")


_OWN_NAMES = ("conversation", "response_a")


def is_meant(value: dict[str, Any]) -> bool:
    """Say whether an object bears our names, so that it must be an item in our format with something wrong in it."""
    return any(name in value for name in _OWN_NAMES) and not any(name in value for name in _OF_OTHERS)


def recognise(value: Any) -> bool:
    """Say whether a row is an item in the interchange format."""
    if not isinstance(value, dict) or isinstance(value.get("id"), bool | None):
        return False
    question = isinstance(value.get("conversation"), list) or isinstance(value.get("instruction"), str)
    responses = {key for key in ("response", "response_a", "response_b") if isinstance(value.get(key), str)}
    return question and len(responses - {"response_b"}) == 1 and not any(key in value for key in _OF_OTHERS)


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return the rows as they are."""
    yield from rows
