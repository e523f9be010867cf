"""Where two plain values or two texts differ, as sentences that name the place."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

TOLERANCE = 1e-9
_ABSENT = object()


def list_differences(where: str, stated: Any, again: Any, source: str, counted: list[int]) -> Iterator[str]:
    """Yield each place where the stated value is not what was made again, numbers to within the last digits.

    A key that is missing is not one that is null, and true is not 1.
    """
    if isinstance(stated, dict) and isinstance(again, dict):
        for key in [*stated, *(key for key in again if key not in stated)]:
            inner = f"{where}.{key}" if where else key
            yield from list_differences(inner, stated.get(key, _ABSENT), again.get(key, _ABSENT), source, counted)
    elif isinstance(stated, list) and isinstance(again, list) and len(stated) == len(again):
        for place, (one, two) in enumerate(zip(stated, again, strict=True)):
            yield from list_differences(f"{where}[{place}]", one, two, source, counted)
    elif _is_number(stated) and _is_number(again):
        counted.append(1)
        if not math.isclose(stated, again, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: says {stated}, {source} give {again}"
    elif type(stated) is not type(again) or stated != again:
        yield f"{where}: says {_short(stated)}, {source} give {_short(again)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


def compare_lines(name: str, stated: str, again: Iterable[str], source: str) -> Iterator[str]:
    """Yield where a file of one JSON value a line is not what was made again."""
    lines, made = _split(stated), list(again)
    if len(lines) != len(made):
        yield f"{name}: has {len(lines)} lines, {source} give {len(made)}"
    for number, (one, two) in enumerate(zip(lines, made, strict=False), 1):
        if one != two:
            found = list(list_differences("", _parsed(one), json.loads(two), source, []))
            yield from (f"{name}: line {number}: {problem}" for problem in found or ["is written otherwise"])


def _split(text: str) -> list[str]:
    """Return lines with their ends; only a line feed ends one, since texts may hold the other separators."""
    *lines, rest = text.split("\n")
    return [f"{line}\n" for line in lines] + ([rest] if rest else [])


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def compare_tables(name: str, stated: str, again: str, source: str) -> Iterator[str]:
    """Yield the cells in which a CSV table is not what was made again."""
    if stated == again:
        return
    one, two = (list(csv.reader(io.StringIO(text, newline=""))) for text in (stated, again))
    if len(one) != len(two) or one[:1] != two[:1]:
        yield f"{name}: has {len(one)} rows or other columns, {source} give {len(two)} rows of {', '.join(two[0])}"
        return
    cells = [
        f"{name}: row {number}, {column}: says {_short(had)}, {source} give {_short(made)}"
        for number, (row, other) in enumerate(zip(one, two, strict=True), 1)
        for column, had, made in zip(two[0], [*row, *[""] * (len(other) - len(row))], other, strict=False)
        if had != made
    ]
    yield from cells or [f"{name}: is written otherwise than a bundle writes it"]
