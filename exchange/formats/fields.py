"""Fields of foreign rows: what they must be, and an error that names them when they are not.

Only what a converter has to look into is checked here; the rest is left to the interchange format's check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from exchange.rows import Row


def mapping_of(row: Row) -> dict[str, Any]:
    """Return the row's value, which must be an object."""
    if not isinstance(row.value, dict):
        raise row.refuse("line: must be a JSON object")
    return row.value


def text(row: Row, value: Mapping[str, Any], key: str, where: str = "") -> str | None:
    """Return a text that may be missing."""
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise row.refuse(f"{where}{key}: must be text, not {type(found).__name__}")
    return found


def required_text(row: Row, value: Mapping[str, Any], key: str, where: str = "") -> str:
    """Return a text that must be there, though it may be empty."""
    found = text(row, value, key, where)
    if found is None:
        raise row.refuse(f"{where}{key}: is missing")
    return found


def identifier(row: Row, value: Mapping[str, Any], *keys: str) -> str:
    """Return the first id found under the keys, as text; a number is an id too."""
    for key in keys:
        found = value.get(key)
        if isinstance(found, str) and found.strip():
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if found not in (None, ""):
            raise row.refuse(f"{key}: must be text or a whole number")
    raise row.refuse(f"{keys[0]}: is missing")


def objects(row: Row, value: Mapping[str, Any], key: str, where: str = "") -> list[dict[str, Any]]:
    """Return a list of objects that may be missing."""
    found = value.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise row.refuse(f"{where}{key}: must be a list")
    for index, entry in enumerate(found):
        if not isinstance(entry, dict):
            raise row.refuse(f"{where}{key}[{index}]: must be an object")
    return found


def turns(row: Row, value: Mapping[str, Any], key: str) -> list[dict[str, str]]:
    """Return a conversation, with nothing but role and content in its turns."""
    found = objects(row, value, key)
    if not found:
        raise row.refuse(f"{key}: is empty or missing: a list of turns with role and content is needed")
    return [
        {
            "role": required_text(row, turn, "role", f"{key}[{index}]."),
            "content": required_text(row, turn, "content", f"{key}[{index}]."),
        }
        for index, turn in enumerate(found)
    ]


def without(value: Mapping[str, Any], used: Iterable[str]) -> dict[str, Any]:
    """Return the keys that were not used: nothing a file says is thrown away."""
    taken = set(used)
    return {key: found for key, found in value.items() if key not in taken and found is not None}
