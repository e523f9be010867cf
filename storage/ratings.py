"""The verdicts of a study as columns of numbers, for statistics over a million of them.

Which verdict counts: of a chain of revisions the last one given before anything was revealed to its rater. What was
said after a reveal is not an independent judgment, and what was withdrawn is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from judge.domain import RaterKind
from storage.columns import MOST_NAMED, STATUSES, Columns, Rows, distinct_neighbours, find_numbers, run_starts
from storage.facts import Coded, Facts, Floats, Ints, take_facts
from storage.held_out import USUAL_SHARE, Part
from storage.schema import raters, verdicts
from storage.studies import StudyRow

_ASIDE = ("after_reveal", "withdrawn")
_KINDS = {"human": 0, "judge": 1}
_MOVED = ("item", "rater", "code", "order", "repeat", "status", "seconds", "time")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which part of a study is meant; several values of one kind are alternatives, and empty is everything.

    `annotators`, `since` and `until` choose human verdicts only: judges are compared with whoever is left. `part` is
    the held-out division of the items, of which `test_share` goes to the test part.
    """

    tags: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    annotators: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    part: Part = "all"
    test_share: float = USUAL_SHARE


EVERYTHING = Filters()


@dataclass(frozen=True, slots=True)
class Rater:
    """Who gave verdicts."""

    name: str
    kind: RaterKind


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Every verdict that counts, one row each, in the order of (rater, time stored).

    `item` and `rater` are places in `facts` and `raters`; `code` is the label's place on the scale, -1 where there is
    none; `order` is 0 for AB, 1 for BA, -1 unknown; `status` a place in STATUSES; `time` seconds since 1970, NaN
    unknown. `set_aside` counts verdicts that do not count, by reason.
    """

    raters: tuple[Rater, ...]
    facts: Facts
    item: Ints
    rater: Ints
    code: NDArray[np.int8]
    order: NDArray[np.int8]
    repeat: NDArray[np.bool_]
    status: NDArray[np.int8]
    seconds: Floats
    time: Floats
    set_aside: dict[str, int] = field(default_factory=dict)


def choose_ratings(
    connection: Connection, study: StudyRow, columns: Columns, filters: Filters, part: NDArray[np.bool_] | None
) -> Ratings:
    """Return those of a study's verdicts that count and pass the filters; `part` are the items of the wanted part."""
    inside = _chosen_items(columns.facts, filters, part)
    given = columns.rows if inside is None else columns.rows.take(inside[columns.rows.item])
    people = _people_of(connection, given)
    chosen = _chosen_people(connection, study.id, filters, people, given)
    if chosen is not None:
        given = given.take(chosen)
        present = set(distinct_neighbours(given.rater).tolist())
        people = {number: rater for number, rater in people.items() if number in present}
    withdrawn = given.status == len(STATUSES)
    aside = withdrawn | given.revealed
    left_out = aside | given.superseded
    counted = given.take(~left_out) if left_out.any() else given
    set_aside = _count_aside(withdrawn[aside])
    found = order_repeats(
        _as_ratings(counted, people, columns.facts, set_aside),
        lambda rater: _calls_of(connection, study.id, list(people)[rater], counted),
    )
    return found if inside is None else _renumber(found, inside)


def _as_ratings(rows: Rows, people: dict[int, Rater], facts: Facts, set_aside: dict[str, int]) -> Ratings:
    starts = run_starts(rows.rater)  # a rater's rows stand together
    places = {number: place for place, number in enumerate(people)}
    whose = np.array([places[number] for number in rows.rater[starts].tolist()], dtype=np.int64)
    return Ratings(
        raters=tuple(people.values()),
        facts=facts,
        item=rows.item,
        rater=np.repeat(whose, np.diff(starts, append=rows.rater.size)),
        code=rows.code,
        order=rows.order,
        repeat=rows.repeat,
        status=rows.status,
        seconds=rows.seconds,
        time=rows.time,
        set_aside=set_aside,
    )


def _renumber(ratings: Ratings, kept: NDArray[np.bool_]) -> Ratings:
    """Return ratings that speak of some items alone with those items' own places and facts."""
    return replace(ratings, facts=take_facts(ratings.facts, kept), item=(np.cumsum(kept) - 1)[ratings.item])


def order_repeats(ratings: Ratings, calls_of: Callable[[int], Ints]) -> Ratings:
    """Return ratings where the answer that a judge gave first stands first, even if it was read again since.

    Where a judge was asked the same several times, the first answer counts; a later reading of an answer is stored
    after the others but speaks of the same call.
    """
    order: Ints | None = None
    for number, rater in enumerate(ratings.raters):
        if rater.kind == "human":
            continue
        mine = np.flatnonzero(ratings.rater == number)
        asked = ratings.item[mine] * 3 + ratings.order[mine] + 1
        if np.bincount(asked, minlength=1).max() > 1:
            order = np.arange(ratings.item.size) if order is None else order
            order[mine] = mine[np.argsort(calls_of(number), kind="stable")]
    if order is None:
        return ratings
    return replace(ratings, **{name: getattr(ratings, name)[order] for name in _MOVED})


def _calls_of(connection: Connection, study_id: int, rater: int, rows: Rows) -> Ints:
    """Return the call that each of a rater's verdicts among the rows was read from, 0 where there is none."""
    listed = (
        select(verdicts.c.id, func.coalesce(verdicts.c.call_id, 0))
        .where(verdicts.c.study_id == study_id, verdicts.c.rater_id == rater)
        .order_by(verdicts.c.id)
    )
    numbers, calls = np.array(connection.execute(listed).cursor.fetchall(), dtype=np.int64).reshape(-1, 2).T
    return np.asarray(calls[np.searchsorted(numbers, rows.number[rows.rater == rater])])


def _chosen_items(facts: Facts, filters: Filters, part: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return which items the filters choose; None where they choose all."""
    if not (filters.models or filters.tags):
        return part
    inside = np.ones(len(facts), dtype=np.bool_) if part is None else part.copy()
    if filters.models:
        inside &= _named(facts.model_a, filters.models) | _named(facts.model_b, filters.models)
    if filters.tags:
        having = [not wanted.isdisjoint(own) for wanted in [set(filters.tags)] for own in facts.tags.names]
        inside &= np.array([*having, False])[facts.tags.codes]
    return inside


def _named(column: Coded, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
    return np.array([*(name in wanted for name in column.names), False])[column.codes]


def _chosen_people(
    connection: Connection, study_id: int, filters: Filters, people: dict[int, Rater], rows: Rows
) -> NDArray[np.bool_] | None:
    """Return which rows the filters on people choose; None where they choose all."""
    if not filters.annotators and filters.since is None and filters.until is None:
        return None
    judges = [number for number, rater in people.items() if rater.kind == "judge"]
    chosen = np.ones(rows.number.size, dtype=np.bool_)
    if filters.annotators:
        named = [number for number, rater in people.items() if rater.name in filters.annotators]
        chosen = np.isin(rows.rater, named)
    known = np.isfinite(rows.time)
    if filters.since is not None:
        chosen &= known & _is_after(connection, study_id, rows, filters.since)
    if filters.until is not None:
        chosen &= known & ~_is_after(connection, study_id, rows, filters.until)
    return chosen | np.isin(rows.rater, judges)


def _is_after(connection: Connection, study_id: int, rows: Rows, moment: datetime) -> NDArray[np.bool_]:
    """Return which verdicts were given at a moment or after it.

    The columns keep whole seconds, so the database is asked about those near it.
    """
    second = math.floor(moment.timestamp())
    after = rows.time > second + 1
    near = np.flatnonzero(np.abs(rows.time - second) <= 1)
    if near.size:
        numbers = rows.number[near]
        which = verdicts.c.id.in_(numbers.tolist()) if near.size <= MOST_NAMED else verdicts.c.study_id == study_id
        after[near] = np.isin(numbers, find_numbers(connection, [which, verdicts.c.created >= moment]))
    return after


def _count_aside(withdrawn: NDArray[np.bool_]) -> dict[str, int]:
    """Return how many verdicts do not count, by reason."""
    counts = int((~withdrawn).sum()), int(withdrawn.sum())
    return {name: count for name, count in zip(_ASIDE, counts, strict=True) if count}


def _people_of(connection: Connection, rows: Rows) -> dict[int, Rater]:
    """Return by number the raters with a verdict, people before judges and each by name."""
    present = distinct_neighbours(rows.rater).tolist()
    found = connection.execute(select(raters.c.id, raters.c.name, raters.c.kind).where(raters.c.id.in_(present))).all()
    listed = [(int(row.id), Rater(row.name, row.kind)) for row in found]
    return dict(sorted(listed, key=lambda entry: (_KINDS[entry[1].kind], entry[1].name)))
