"""The interchange format: one item a line, as JSON, with the verdicts already given on it.

Every complaint names the field; the caller adds the file and the line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, get_args

from judge.domain import LONGEST_NAME, GivenVerdict, InputError, Item, Order, RaterKind, Rubric, Status, Turn
from judge.protocol import read_text
from judge.rubrics import find_rubric
from storage.codec import DESCRIPTIONS, encode, item_to_json, rubric_from_json, verdict_to_json

_ITEM_KEYS = (
    "id",
    "conversation",
    "instruction",
    "response",
    "response_a",
    "response_b",
    "model",
    "model_a",
    "model_b",
    "reference_answer",
    "checklist",
    "rubric",
    "tags",
    "metadata",
    "cluster",
    "verdicts",
)
VERDICT_KEYS = (
    "rater",
    "kind",
    "label",
    "status",
    "order",
    "comment",
    "confidence",
    "seconds",
    "created",
    "raw",
    "repeat",
)
_LONGEST_ID = 500


class FieldError(InputError):
    """A field of a record is wrong."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a file: an item and the verdicts given on it."""

    item: Item
    verdicts: tuple[GivenVerdict, ...] = ()


def record_from_json(value: Any) -> Record:
    """Check one JSON object and return the item and verdicts it describes."""
    if not isinstance(value, dict):
        raise FieldError("line", f"must be a JSON object, not {_kind(value)}")
    item = _item(value)
    given = _list(value, "verdicts")
    return Record(item, tuple(_verdict(entry, f"verdicts[{index}]") for index, entry in enumerate(given)))


def _item(value: Mapping[str, Any]) -> Item:
    response_a = _text(value, "response_a")
    if response_a is None:
        response_a = _text(value, "response")
        if response_a is None:
            raise FieldError("response_a", "is missing (or `response`, for one response)")
    elif "response" in value:
        raise FieldError("response", "stands beside response_a: give one of the two")
    return Item(
        id=_id(value),
        conversation=_conversation(value),
        response_a=response_a,
        response_b=_text(value, "response_b"),
        model_a=_text(value, "model_a") or _text(value, "model"),
        model_b=_text(value, "model_b"),
        reference_answer=_text(value, "reference_answer"),
        checklist=_texts(value, "checklist"),
        rubric=_rubric(value),
        tags=_texts(value, "tags"),
        metadata=_metadata(value),
        cluster=_text(value, "cluster"),
    )


def _id(value: Mapping[str, Any]) -> str:
    found = value.get("id")
    if isinstance(found, bool) or not isinstance(found, str | int) or not str(found).strip():
        raise FieldError("id", "is missing: every item needs an id of its own" if found is None else "must be text")
    if len(str(found)) > _LONGEST_ID:
        raise FieldError("id", f"is longer than {_LONGEST_ID} characters")
    return _storable(str(found), "id")


def _conversation(value: Mapping[str, Any]) -> tuple[Turn, ...]:
    if "conversation" not in value:
        instruction = _text(value, "instruction")
        if instruction is None:
            raise FieldError("conversation", "is missing (or `instruction`, for a single question)")
        return (Turn("user", instruction),)
    if "instruction" in value:
        raise FieldError("instruction", "stands beside conversation: give one of the two")
    turns = _list(value, "conversation")
    if not turns:
        raise FieldError("conversation", "is empty: the last turn is the question")
    return tuple(_turn(turn, f"conversation[{index}]") for index, turn in enumerate(turns))


def _turn(value: Any, where: str) -> Turn:
    if not isinstance(value, dict):
        _refuse(where, "an object with role and content", value)
    role, content = _text(value, "role", where), _text(value, "content", where)
    if not role or not role.strip():
        raise FieldError(f"{where}.role", "is missing: user, assistant, system or tool")
    if content is None:
        raise FieldError(f"{where}.content", "is missing")
    return Turn(role.strip(), content)


def _rubric(value: Mapping[str, Any]) -> Rubric | None:
    found = value.get("rubric")
    if found is None:
        return None
    if isinstance(found, str):
        try:
            return find_rubric(found)
        except InputError as error:
            raise FieldError("rubric", str(error)) from error
    if not isinstance(found, dict):
        _refuse("rubric", "an object with criteria, or the name of a rubric", found)
    unknown = [key for key in found if key not in ("criteria", *DESCRIPTIONS)]
    if unknown:
        raise FieldError(f"rubric.{unknown[0]}", f"is not known; known: criteria, {', '.join(DESCRIPTIONS)}")
    for name in found:
        _text(found, name, "rubric")
    return rubric_from_json(found)


def _metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        _refuse("metadata", "an object", metadata)
    unknown = {key: found for key, found in value.items() if key not in _ITEM_KEYS}
    merged = {**(metadata or {}), **unknown}
    _check_plain(merged, "metadata")
    return merged


def _verdict(value: Any, where: str) -> GivenVerdict:
    if not isinstance(value, dict):
        _refuse(where, "an object", value)
    extra = {key: found for key, found in value.items() if key not in VERDICT_KEYS}
    _check_plain(extra, where)
    rater = _text(value, "rater", where)
    if not rater or not rater.strip():
        raise FieldError(f"{where}.rater", "is missing: who gave this verdict")
    if len(rater) > LONGEST_NAME:
        raise FieldError(f"{where}.rater", f"is longer than {LONGEST_NAME} characters")
    status: Status = _choice(value, "status", get_args(Status), where) or "ok"
    label = _label(value, where)
    if (label is None) == (status == "ok"):
        reason = "is missing" if label is None else f"must not stand beside status {status!r}"
        raise FieldError(f"{where}.label", reason)
    return GivenVerdict(
        rater=rater.strip(),
        kind=_choice(value, "kind", get_args(RaterKind), where) or "human",
        label=label,
        status=status,
        order=_choice(value, "order", get_args(Order), where),
        comment=_text(value, "comment", where),
        seconds=_seconds(value, where),
        created=_created(value, where),
        raw=_text(value, "raw", where),
        repeat=_flag(value, "repeat", where),
        confidence=_confidence(value, where),
        extra=extra,
    )


def _label(value: Mapping[str, Any], where: str) -> str | None:
    """Return a label; a score may be written as a number."""
    found = value.get("label")
    if isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found):
        return str(found)
    if found is not None and not isinstance(found, str):
        _refuse(f"{where}.label", "a label of the scale", found)
    return found


def _flag(value: Mapping[str, Any], key: str, where: str) -> bool:
    found = value.get(key, False)
    if not isinstance(found, bool):
        _refuse(f"{where}.{key}", "true or false", found)
    return found


def _confidence(value: Mapping[str, Any], where: str) -> int | None:
    found = value.get("confidence")
    if found is not None and (isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= 100):
        _refuse(f"{where}.confidence", "a whole number from 0 to 100", found)
    return found


def _seconds(value: Mapping[str, Any], where: str) -> float | None:
    found = value.get("seconds")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        _refuse(f"{where}.seconds", "a number of seconds", found)
    if not 0 <= found < math.inf:
        raise FieldError(f"{where}.seconds", f"must be a number of seconds, 0 or more, not {found}")
    return float(found)


def _created(value: Mapping[str, Any], where: str) -> datetime | None:
    found = _text(value, "created", where)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(found)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:  # a zone may lead out of the calendar
        reason = f"must be a time such as 2026-01-05T10:00:00Z, not {found!r}"
        raise FieldError(f"{where}.created", reason) from error


def _choice(value: Mapping[str, Any], key: str, choices: tuple[Any, ...], where: str) -> Any:
    found = value.get(key)
    if found is not None and found not in choices:
        raise FieldError(f"{where}.{key}", f"must be {' or '.join(choices)}, not {found!r}")
    return found


def _text(value: Mapping[str, Any], key: str, where: str = "") -> str | None:
    name = f"{where}.{key}" if where else key
    found = value.get(key)
    if found is None:
        return None
    if not isinstance(found, str):
        _refuse(name, "text", found)
    return _storable(found, name)


def _texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    entries = _list(value, key)
    for index, entry in enumerate(entries):
        if not isinstance(entry, str):
            _refuse(f"{key}[{index}]", "text", entry)
        _storable(entry, f"{key}[{index}]")
    return tuple(entries)


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        _refuse(key, "a list", found)
    return found


def _storable(text: str, name: str) -> str:
    # PostgreSQL stores no NUL, and half a surrogate pair is not text in any encoding.
    if "\0" in text:
        raise FieldError(name, "contains a NUL character: remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FieldError(name, f"contains half a surrogate pair at character {error.start}: repair the file") from error
    return text


def _check_plain(value: Any, name: str) -> None:
    stack = [(value, name)]
    while stack:
        current, where = stack.pop()
        if isinstance(current, dict):
            for key, child in current.items():
                stack += [(key, where), (child, f"{where}.{key}")]
        elif isinstance(current, list):
            stack += [(child, f"{where}[{index}]") for index, child in enumerate(current)]
        elif isinstance(current, str):
            _storable(current, where)
        elif isinstance(current, float) and not math.isfinite(current):
            raise FieldError(where, "is not a finite number, which JSON cannot hold")


def _refuse(name: str, wanted: str, found: Any) -> NoReturn:
    raise FieldError(name, f"must be {wanted}, not {_kind(found)}")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", dict: "an object", list: "a list", str: "text", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def record_to_json(record: Record) -> str:
    """Return the line that describes a record: the same bytes for the same record, always."""
    value = item_to_json(record.item)
    if record.verdicts:
        value["verdicts"] = [verdict_to_json(verdict) for verdict in record.verdicts]
    return encode(value)


def read_item(path: Path) -> Item:
    """Return the one item that a file holds."""
    text = read_text(path, InputError)
    try:
        return record_from_json(json.loads(text)).item
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is not one item in JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not one item in JSON: {error}") from error
    except FieldError as error:
        raise InputError(f"{path}: {error}") from error
