"""Cells: what the text in one cell of a table stands for."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, get_args

from exchange.formats.columns import SCORES
from exchange.formats.conversion import present
from exchange.formulas import restored
from judge.domain import Order, RaterKind, Status


def cell_text(value: Any) -> str | None:
    """Return a cell as text, with the quotation mark of our own export taken off; None if it holds no text."""
    if isinstance(value, str):
        return restored(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and not math.isnan(value)):
        return str(value)
    return None


def fits(field: str, value: Any) -> bool:
    """Say whether a column that bears the name of a field holds such values; an empty cell fits anywhere.

    Many tables have a `status` or an `order` that has nothing to do with ours.
    """
    written = cell_text(value)
    return written in (None, "") or field not in _FITTING or _FITTING[field](written or "")


def _is_number(written: str) -> bool:
    try:
        return math.isfinite(float(written))
    except ValueError:
        return False


def _is_time(written: str) -> bool:
    try:
        datetime.fromisoformat(written)
    except ValueError:
        return False
    return True


_FITTING: dict[str, Callable[[str], bool]] = {
    "kind": lambda written: written.lower() in get_args(RaterKind),
    "status": lambda written: written.lower() in get_args(Status),
    "order": lambda written: written in get_args(Order),
    "seconds": _is_number,
    "created": _is_time,
    "confidence": lambda written: written.isdecimal() and int(written) <= 100,
    "repeat": lambda written: written.lower() in ("true", "false"),
    "metadata": lambda written: isinstance(structure(written), dict),
}
# How such values are written, for whoever wrote them otherwise.
WRITTEN = {
    "kind": " or ".join(get_args(RaterKind)),
    "status": " or ".join(get_args(Status)),
    "order": " or ".join(get_args(Order)),
    "seconds": "a number",
    "created": "a time such as 2026-01-05T10:00:00Z",
    "confidence": "a whole number from 0 to 100",
    "repeat": "true or false",
    "metadata": "a JSON object",
}


def structure(value: Any) -> Any:
    """Return what a cell holds as JSON: a list or an object as it is, or written out; None if neither."""
    if isinstance(value, list | dict):
        return value
    written = (cell_text(value) or "").strip()
    if not written.startswith(("[", "{")):
        return None
    try:
        return json.loads(written)
    except ValueError:
        return None


def parsed_turns(value: Any) -> list[dict[str, Any]] | None:
    """Return a conversation written as JSON in a cell, if that is what the cell holds."""
    turns = structure(value)
    if not isinstance(turns, list) or not turns:
        return None
    if not all(isinstance(turn, dict) and {"role", "content"} <= turn.keys() for turn in turns):
        return None
    return [{"role": turn["role"], "content": turn["content"]} for turn in turns]


def listed(value: Any, separator: str) -> list[Any]:
    """Return the entries of a cell: a JSON list, or texts with a separator between them."""
    found = structure(value)
    if isinstance(found, list):
        return found
    return [entry.strip() for entry in (cell_text(value) or "").split(separator) if entry.strip()]


def rubric_of(cells: Mapping[str, Any]) -> Any:
    """Return the rubric that cells describe: an object in one cell, or the criteria and a cell for each score."""
    found = structure(cells.get("criteria"))
    if isinstance(found, dict):
        return found
    return present({name: cell_text(cells.get(name)) or None for name in ("criteria", *SCORES)})
