"""Looking into a study: its items, searched and filtered a page at a time, and one of them with all there is on it.

A page begins at a position and is looked for from there on, so that it costs the same at the front of a study as at its
end. A search that has to read very much stops after a while, and the answer says from where it can go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, exists, func, or_, select

from judge.domain import GivenVerdict, Item, RaterKind, StudyError
from storage.codec import encode, item_from_json
from storage.reads import ITEMS_BETWEEN, current_verdicts, verdicts_of
from storage.schema import claims, items, raters, remarks, verdicts
from storage.studies import StudyRow

AnyRow = Row[*tuple[Any, ...]]
State = Literal["any", "none", "progress", "complete", "flagged", "people disagree", "raters disagree"]

PAGE = 25
STRETCH = 5_000  # items looked at in one go
PATIENCE = 1.0  # seconds after which a search begins no further stretch


@dataclass(frozen=True, slots=True)
class Search:
    """Which items to show: a text in id, conversation or responses, a tag, and a state."""

    text: str = ""
    tag: str = ""
    state: State = "any"


@dataclass(frozen=True, slots=True)
class Mark:
    """One current verdict, as short as can be."""

    rater: str
    kind: RaterKind
    label: str | None
    status: str


@dataclass(frozen=True, slots=True)
class Found:
    """An item of a page with the current verdicts on it."""

    item: Item
    position: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of items, and where to look for the next ones, if there may be any."""

    found: tuple[Found, ...]
    next_start: int | None


@dataclass(frozen=True, slots=True)
class Remarked:
    """What somebody remarked on an item, and when: a flag, its taking off, or why they and a judge differ."""

    rater: str
    kind: str
    judge: str | None
    comment: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Detail:
    """An item with every current verdict, the replies they were read from, and what people remarked on it."""

    item: Item
    position: int
    verdicts: tuple[GivenVerdict, ...]
    remarks: tuple[Remarked, ...] = ()


_HUMANS = select(raters.c.id).where(raters.c.kind == "human")


def _labels(*conditions: ColumnElement[bool]) -> ColumnElement[int]:
    """Return how many different labels an item has at the moment."""
    later = verdicts.alias("later")
    return (
        select(func.count(verdicts.c.label.distinct()))
        .where(
            verdicts.c.item_id == items.c.id,
            verdicts.c.status == "ok",
            ~exists().where(later.c.supersedes == verdicts.c.id),
            *conditions,
        )
        .correlate(items)
        .scalar_subquery()
    )


_HELD = exists().where(claims.c.item_id == items.c.id, claims.c.state == "open", ~claims.c.repeat)
_later = remarks.alias("later_remark")
_TAKEN_OFF = exists().where(
    _later.c.item_id == remarks.c.item_id,
    _later.c.rater_id == remarks.c.rater_id,
    _later.c.kind == "unflag",
    _later.c.id > remarks.c.id,
)
_WANTED: ColumnElement[int] = bindparam("wanted")
_STATES: dict[State, ColumnElement[bool]] = {
    "none": items.c.free >= _WANTED,
    "progress": and_(items.c.free < _WANTED, or_(items.c.free > 0, _HELD)),
    "complete": and_(items.c.free <= 0, ~_HELD),
    "flagged": items.c.id.in_(
        select(remarks.c.item_id).where(remarks.c.study_id == bindparam("study"), remarks.c.kind == "flag", ~_TAKEN_OFF)
    ),
    "people disagree": _labels(verdicts.c.rater_id.in_(_HUMANS)) > 1,
    "raters disagree": _labels() > 1,
}
_MARKS = (
    current_verdicts()
    .add_columns(raters.c.name.label("rater"), raters.c.kind)
    .join(raters, raters.c.id == verdicts.c.rater_id)
    .where(verdicts.c.item_id.in_(bindparam("items", expanding=True)))
    .order_by(raters.c.kind, raters.c.name, verdicts.c.id)
)


def browse_items(connection: Connection, row: StudyRow, search: Search, start: int) -> FoundPage:
    """Return the first items from a position on that a search finds."""
    query, chosen, at = _filtered(connection, search), list[tuple[AnyRow, Item]](), start
    patient_until = perf_counter() + PATIENCE
    while at < row.study.items:
        asked = {"study": row.id, "first": at, "last": at + STRETCH, "wanted": row.study.wanted}
        with connection.execution_options(yield_per=2 * PAGE).execute(query, asked) as read:
            for found, item in _matching(read, search):
                if len(chosen) == PAGE:
                    return FoundPage(_marked(connection, chosen), found.position)
                chosen.append((found, item))
        at += STRETCH
        if perf_counter() > patient_until:
            break
    return FoundPage(_marked(connection, chosen), at if at < row.study.items else None)


def _filtered(connection: Connection, search: Search) -> Select[Any]:
    """Return the query for what may match; the texts are looked at again when they are read."""
    query = ITEMS_BETWEEN
    if search.state != "any":
        query = query.where(_STATES[search.state])
    for part, shape in ((search.text, "%{}%"), (search.tag, '%"{}"%')):
        if part:
            query = query.where(_like(connection, shape.format(_pattern(part))))
    return query


def _like(connection: Connection, pattern: str) -> ColumnElement[bool]:
    """Return whether an item's JSON is like a pattern, whatever the case of its ASCII letters."""
    escape = "\x1b"  # not the backslash, which JSON is full of
    if connection.dialect.name == "sqlite":
        return items.c.body.like(pattern, escape=escape)
    # Under another collation PostgreSQL makes a lower-case copy of every text, letter by letter.
    return items.c.body.collate("C").ilike(pattern, escape=escape)


def _pattern(text: str) -> str:
    """Return the pattern for a text as it stands in JSON; it may let too much through, which is looked at again.

    A letter whose case no database is sure of may be any; so may `_`, and what `%` stands for.
    """
    return "".join("_" if _is_unsure(letter) else letter for letter in encode(text)[1:-1])


def _is_unsure(letter: str) -> bool:
    return not letter.isascii() and (letter.lower() != letter.upper() or "\ud800" <= letter <= "\udfff")


def _matching(read: Any, search: Search) -> Iterator[tuple[AnyRow, Item]]:
    sought = search.text.casefold()
    for found in read:
        item = item_from_json(json.loads(found.body))
        if search.tag and search.tag.casefold() not in map(str.casefold, item.tags):
            continue
        if not sought or any(sought in text.casefold() for text in _texts(item)):
            yield found, item


def _texts(item: Item) -> Iterator[str]:
    yield item.id
    yield from (turn.content for turn in item.conversation)
    yield item.response_a
    if item.response_b is not None:
        yield item.response_b


def _marked(connection: Connection, chosen: list[tuple[AnyRow, Item]]) -> tuple[Found, ...]:
    marks: dict[int, list[Mark]] = {found.id: [] for found, _ in chosen}
    for row in connection.execute(_MARKS, {"items": list(marks)}) if marks else ():
        marks[row.item_id].append(Mark(row.rater, row.kind, row.label, row.status))
    return tuple(Found(item, found.position, tuple(marks[found.id])) for found, item in chosen)


_ITEM = select(items).where(items.c.study_id == bindparam("study"), items.c.name == bindparam("name"))


_judge = raters.alias("judge")
_REMARKS = (
    select(remarks, raters.c.name.label("rater"), _judge.c.name.label("judge"))
    .join(raters, raters.c.id == remarks.c.rater_id)
    .join(_judge, _judge.c.id == remarks.c.judge_id, isouter=True)
    .where(remarks.c.item_id == bindparam("item"))
    .order_by(remarks.c.id)
)


def item_detail(connection: Connection, row: StudyRow, name: str) -> Detail:
    """Return one item with every current verdict on it."""
    found = connection.execute(_ITEM, {"study": row.id, "name": name}).one_or_none()
    if found is None:
        raise StudyError(f"there is no item {name!r} in the study {row.study.name!r}")
    given = verdicts_of(connection, [found.id]).get(found.id, [])
    remarked = tuple(
        Remarked(each.rater, each.kind, each.judge, each.comment, each.created)
        for each in connection.execute(_REMARKS, {"item": found.id})
    )
    return Detail(item_from_json(json.loads(found.body)), found.position, tuple(given), remarked)
