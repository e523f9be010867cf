"""Every verdict of a study as columns of numbers, read from what is known of them already.

Verdicts are only ever added. So the items that have a new verdict are read again, all their verdicts, and everything
else is as it was: a page after ten new verdicts reads ten items, whatever the study's size. Where a verdict was changed
or removed all the same, which the study counts, everything is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Float,
    Integer,
    Select,
    Text,
    case,
    cast,
    extract,
    func,
    literal,
    select,
)

from judge.domain import Scale
from storage.facts import Facts, Floats, Ints, read_facts
from storage.schema import WITHDRAWN, verdicts
from storage.studies import StudyRow

Bools = NDArray[np.bool_]

STATUSES = ("ok", "unreadable", "refused", "cut_off", "failed")
ORDERS = ("AB", "BA")
MOST_NAMED = 5_000  # verdicts named in one statement
MOST_SECONDS = 1e9  # which no verdict takes
MOST_TOUCHED = 5_000  # items with a new verdict, beyond which reading everything takes no longer
# Where each small part of a packed number begins, in bits: label, order, repeat, status, revealed, superseded, item.
_ORDER, _REPEAT, _STATUS, _REVEALED, _SUPERSEDED, _ITEM = 7, 9, 10, 13, 14, 15
_NONE = -(1 << 60)  # stands for a number that is missing; lists of numbers leave out what is null
_UNEVEN = _NONE + 1  # and for seconds that are no whole number of milliseconds, which are read by themselves


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Verdicts, one a place, by (rater, number): both numbers are the database's, and `item` is a place in the items.

    `code` is the label's place on the scale and `order` 0 for AB, 1 for BA, both -1 where there is none; `status` is
    a place in STATUSES, after which comes withdrawn; `time` is seconds since 1970. `superseded` are those in whose
    place a later one stands that was given before any reveal.
    """

    number: Ints
    rater: Ints
    item: Ints
    code: NDArray[np.int8]
    order: NDArray[np.int8]
    status: NDArray[np.int8]
    repeat: Bools
    revealed: Bools
    superseded: Bools
    seconds: Floats
    time: Floats

    def take(self, chosen: Bools | Ints) -> Rows:
        """Return some of them; by numbers they are sooner taken than by yes and no."""
        places = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        return Rows(*(getattr(self, one.name)[places] for one in fields(self)))

    def join(self, others: Rows) -> Rows:
        """Return them with others after them."""
        return Rows(*(np.concatenate([getattr(rows, one.name) for rows in (self, others)]) for one in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """A study's items, by their numbers in the database and their facts, and every verdict ever stored on them.

    `changes` is how often verdicts had been changed or removed by then.
    """

    items: Ints
    facts: Facts
    rows: Rows
    changes: int


def read_columns(connection: Connection, study: StudyRow, known: Columns | None) -> Columns:
    """Return a study's columns, from what is known of it and what has been added since."""
    scale = study.study.protocol.scale
    if known is not None and known.changes == study.changes:
        touched = _touched_items(connection, study.id, known.rows)
        if len(touched) <= MOST_TOUCHED:
            items, facts = read_facts(connection, study.id, (known.items, known.facts))
            rows = known.rows if not touched else _read_again(connection, scale, known.rows, items, touched)
            if _has_all(connection, study.id, rows):
                return replace(known, items=items, facts=facts, rows=rows)
    items, facts = read_facts(connection, study.id, None)
    everything = _packed(scale, connection.dialect.name).where(verdicts.c.study_id == study.id)
    return Columns(items, facts, _read_rows(connection, everything, items), study.changes)


def _touched_items(connection: Connection, study_id: int, rows: Rows) -> list[int]:
    """Return the items with a verdict that is not known yet."""
    new = (
        select(verdicts.c.item_id)
        .distinct()
        .where(verdicts.c.study_id == study_id, verdicts.c.id > int(rows.number.max(initial=0)))
    )
    return list(connection.execute(new).scalars())


def _has_all(connection: Connection, study_id: int, rows: Rows) -> bool:
    """Return whether no verdict is missing.

    PostgreSQL gives out numbers before it commits, so a verdict may become visible after one with a higher number.
    SQLite has one writer at a time.
    """
    if connection.dialect.name == "sqlite":
        return True
    counted = select(func.count()).select_from(verdicts).where(verdicts.c.study_id == study_id)
    return bool(connection.execute(counted).scalar_one() == rows.number.size)


def _read_again(connection: Connection, scale: Scale, known: Rows, items: Ints, touched: Sequence[int]) -> Rows:
    """Return the rows with those of some items as they are now."""
    theirs = _packed(scale, connection.dialect.name, touched).where(verdicts.c.item_id.in_(touched))
    again = _read_rows(connection, theirs, items)
    changed = np.zeros(items.size, dtype=np.bool_)
    changed[_places(items, np.asarray(touched, dtype=np.int64))] = True
    same = known.take(~changed[known.item])
    both = same.join(again)
    order = np.argsort(both.number, kind="stable")
    return both.take(order[np.argsort(both.rater[order], kind="stable")])


def _read_rows(connection: Connection, statement: Select[Any], items: Ints) -> Rows:
    """Return what `_packed` asks for. Each rater's verdicts come as lists in four texts: a row needs no object."""
    parts = []
    for rater, *lists in connection.execute(statement):
        number, packed, milliseconds, time = (np.fromstring(text, np.int64, sep=",") for text in lists)
        part = np.stack([np.full(number.size, rater, dtype=np.int64), number, packed, milliseconds, time])
        parts.append(part if (np.diff(number) > 0).all() else part[:, np.argsort(number)])
    numbers = np.concatenate(parts, axis=1) if parts else np.zeros((5, 0), dtype=np.int64)
    rows, uneven = _unpack(numbers, items), np.flatnonzero(numbers[3] == _UNEVEN)
    if uneven.size:
        found = _read_seconds(connection, rows.number[uneven])
        rows.seconds[uneven] = [found[number] for number in rows.number[uneven].tolist()]
    return rows


def _read_seconds(connection: Connection, numbers: Ints) -> dict[int, float]:
    """Return the seconds of some verdicts, to the last digit."""
    found: dict[int, float] = {}
    for first in range(0, numbers.size, MOST_NAMED):
        some = numbers[first : first + MOST_NAMED].tolist()
        asked = select(verdicts.c.id, verdicts.c.seconds).where(verdicts.c.id.in_(some))
        found.update((int(row.id), float(row.seconds)) for row in connection.execute(asked))
    return found


def _superseded(touched: Sequence[int] | None) -> Select[Any]:
    """Return the verdicts, of some items or of all, in whose place a later one stands that was given before any reveal.

    The list is made once; asking for each verdict whether it has a later one takes longer.
    """
    later = verdicts.alias("later")
    found = select(later.c.supersedes).where(later.c.supersedes.is_not(None), ~later.c.after_reveal)
    return found if touched is None else found.where(later.c.item_id.in_(touched))


def _packed(scale: Scale, dialect: str, touched: Sequence[int] | None = None) -> Select[Any]:
    """Return the query for each rater's lists of numbers, items with everything small, milliseconds and times."""
    label = case({name: code + 1 for code, name in enumerate(scale.labels)}, value=verdicts.c.label, else_=0)
    order = case({name: place + 1 for place, name in enumerate(ORDERS)}, value=verdicts.c.order, else_=0)
    known = {name: place for place, name in enumerate((*STATUSES, WITHDRAWN))}
    status = case(known, value=verdicts.c.status, else_=0)
    again, revealed = (cast(flag, Integer) for flag in (verdicts.c.repeat, verdicts.c.after_reveal))
    superseded = case((verdicts.c.id.in_(_superseded(touched)), 1), else_=0)
    parts = (order, _ORDER), (again, _REPEAT), (status, _STATUS), (revealed, _REVEALED), (superseded, _SUPERSEDED)
    small = sum((part * literal(1 << at, Integer) for part, at in parts), start=label)
    packed = verdicts.c.item_id * literal(1 << _ITEM, Integer) + small
    sqlite = dialect == "sqlite"
    created = verdicts.c.created
    epoch = func.unixepoch(created) if sqlite else cast(func.floor(extract("epoch", created)), BigInteger)
    time = func.coalesce(epoch, literal(_NONE, BigInteger))
    lists = (_listed(column, sqlite) for column in (verdicts.c.id, packed, _milliseconds(sqlite), time))
    return select(verdicts.c.rater_id, *lists).group_by(verdicts.c.rater_id).order_by(verdicts.c.rater_id)


def _listed(column: ColumnElement[Any], sqlite: bool) -> ColumnElement[str]:
    return func.group_concat(column) if sqlite else func.string_agg(cast(column, Text), ",")


def _milliseconds(sqlite: bool) -> ColumnElement[int]:
    """Return a verdict's seconds as a whole number that gives them back to the last digit, where there is one."""
    seconds = verdicts.c.seconds
    # SQLite cuts a number off to a whole one, PostgreSQL rounds it and takes none that is too large.
    whole = cast(seconds * 1000.0 + 0.5 if sqlite else func.least(seconds, MOST_SECONDS) * 1000.0, BigInteger)
    even = whole.op("/")(literal(1000.0, Float)) == seconds
    return case((seconds.is_(None), literal(_NONE, BigInteger)), (even, whole), else_=_UNEVEN)


def _unpack(numbers: Ints, items: Ints) -> Rows:
    rater, number, packed, milliseconds, time = numbers
    small = (packed & ((1 << _ITEM) - 1)).astype(np.int32)

    def part(first: int, end: int) -> NDArray[np.int8]:
        return np.asarray(small >> first & ((1 << end - first) - 1), dtype=np.int8)

    return Rows(
        number=number,
        rater=rater,
        item=_places(items, packed >> _ITEM),
        code=part(0, _ORDER) - np.int8(1),
        order=part(_ORDER, _REPEAT) - np.int8(1),
        status=part(_STATUS, _REVEALED),
        repeat=part(_REPEAT, _STATUS) == 1,
        revealed=part(_REVEALED, _SUPERSEDED) == 1,
        superseded=part(_SUPERSEDED, _ITEM) == 1,
        seconds=np.where(milliseconds == _NONE, np.nan, milliseconds / 1000.0),
        time=np.where(time == _NONE, np.nan, time.astype(np.float64)),
    )


def _places(items: Ints, wanted: Ints) -> Ints:
    """Return where each wanted item stands among the items, all of which are there."""
    if not items.size:
        return wanted
    first = int(items.min())
    place = np.zeros(int(items.max()) - first + 1, dtype=np.int64)
    place[items - first] = np.arange(items.size)
    return place[wanted - first]


def run_starts(column: NDArray[Any]) -> Ints:
    """Return where each run of equal neighbours begins."""
    return np.flatnonzero(np.concatenate([np.ones(min(column.size, 1), dtype=np.bool_), column[1:] != column[:-1]]))


def distinct_neighbours(numbers: Ints) -> Ints:
    """Return the distinct numbers of a column in which equal ones stand together, such as the raters of rows."""
    return numbers[run_starts(numbers)]


def find_numbers(connection: Connection, conditions: Iterable[ColumnElement[bool]]) -> Ints:
    """Return the numbers of the verdicts that meet the conditions, rising."""
    found = connection.execute(select(verdicts.c.id).where(*conditions).order_by(verdicts.c.id)).cursor.fetchall()
    return np.fromiter(chain.from_iterable(found), np.int64, len(found))
