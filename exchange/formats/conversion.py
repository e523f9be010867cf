"""Conversion: rows of a foreign file in, rows in the interchange shape or errors out, one after the other.

A row that cannot be converted does not end the conversion: its error takes its place in the stream, so
that the caller can show several at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from exchange.interchange import VERDICT_KEYS
from exchange.rows import Row
from judge.domain import InputError

Outcome = Row | InputError
Converter = Callable[[Iterable[Row]], Iterator[Outcome]]


def convert_each(rows: Iterable[Row], convert: Callable[[Row], dict[str, Any]]) -> Iterator[Outcome]:
    """Convert rows that stand for one item each; an error stands where its row stood."""
    for row in rows:
        try:
            value = convert(row)
        except InputError as error:
            yield error
        else:
            yield Row(row.source, row.line, value)


@dataclass(slots=True)
class Numbering:
    """Ids for rows without one: their number, and from the second file on its name as well."""

    sources: list[str] = field(default_factory=list)

    def name(self, source: str, number: int) -> str:
        """Return the id of a row."""
        if source not in self.sources:
            self.sources.append(source)
        if source == self.sources[0]:
            return str(number)
        return f"{PurePath(source).stem}:{number}"


@dataclass(slots=True)
class _Gathered:
    row: Row
    item: dict[str, Any]
    parts: list[tuple[list[dict[str, Any]], dict[str, Any]]]
    verdicts_at: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class Gathering:
    """Items that several rows speak of: one item each, with the verdicts of all its rows."""

    items: dict[str, _Gathered] = field(default_factory=dict)

    def add(self, row: Row, item: dict[str, Any], verdicts: list[dict[str, Any]], details: dict[str, Any]) -> None:
        """Add a row's verdicts to its item; refuse the row when its id stands for another content.

        Details on which all rows of an item agree describe the item; the others describe the verdict they
        stand beside.
        """
        known = self.items.setdefault(item["id"], _Gathered(row, item, []))
        if known.item != item:
            changed = next(key for key in (*item, *known.item) if item.get(key) != known.item.get(key))
            raise row.refuse(
                f"{changed}: is not the same as on {known.row.source}:{known.row.line}, "
                f"which has the same id {item['id']!r}: one id stands for one item"
            )
        known.parts.append((verdicts, details))
        known.verdicts_at += [(row.source, row.line)] * len(verdicts)

    def rows(self) -> Iterator[Row]:
        """Yield the items, in the order and with the place of their first rows."""
        for known in self.items.values():
            yield Row(known.row.source, known.row.line, _merged(known), tuple(known.verdicts_at))


def _merged(known: _Gathered) -> dict[str, Any]:
    details = [part for _, part in known.parts]
    shared = {key: found for key, found in details[0].items() if all(part.get(key) == found for part in details)}
    value = dict(known.item)
    if metadata := {**value.get("metadata", {}), **shared}:
        value["metadata"] = metadata
    verdicts = [
        {**as_extra({key: found for key, found in part.items() if key not in shared}), **verdict}
        for given, part in known.parts
        for verdict in given
    ]
    if verdicts:
        value["verdicts"] = verdicts
    return value


def as_extra(found: dict[str, Any]) -> dict[str, Any]:
    """Return foreign keys as extra keys of a verdict; one that means something of ours is renamed."""
    return {f"original_{key}" if key in VERDICT_KEYS else key: value for key, value in found.items()}


def present(value: dict[str, Any]) -> dict[str, Any]:
    """Return what is there: what is missing is left out, never written as null or as an empty list."""
    return {key: found for key, found in value.items() if found is not None and found not in ([], {})}
