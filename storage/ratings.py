"""The verdicts of a study as columns of numbers, for statistics over a million of them.

Which verdict counts: of a chain of revisions the last one given before anything was revealed to its rater. What was
said after a reveal is not an independent judgment, and what was withdrawn is none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Float, and_, case, cast, exists, extract, func, literal, or_, select

from judge.domain import RaterKind, Scale
from storage.codec import encode
from storage.held_out import USUAL_SHARE, Part, choose_part
from storage.schema import facts, items, raters, verdicts
from storage.studies import StudyRow
from storage.verdicts import WITHDRAWN

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STATUSES = ("ok", "unreadable", "refused", "cut_off", "failed")
ORDERS = ("AB", "BA")
_LABELS, _ORDERS, _STATUSES = 128, 4, 8  # how many values each part of a packed number has room for
_PACKED = _LABELS * _ORDERS * 2 * _STATUSES * 2 * 2
_NONE = -1e300  # stands for a missing number on its way out of the database: None would make every row an object
_ASIDE = ("after_reveal", "withdrawn")


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
class Coded:
    """A column of texts as numbers: the distinct texts, and the place of each row's in them (-1 for none)."""

    names: tuple[Any, ...]
    codes: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known of the items, in the order of the import; a missing second length is NaN."""

    position: Ints
    cluster: Coded
    question: Coded
    model_a: Coded
    model_b: Coded
    tags: Coded
    length_a: Floats
    length_b: Floats

    def __len__(self) -> int:
        return int(self.position.size)


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
    code: Ints
    order: Ints
    repeat: NDArray[np.bool_]
    status: Ints
    seconds: Floats
    time: Floats
    set_aside: dict[str, int] = field(default_factory=dict)


def code_texts(values: Iterable[Hashable]) -> Coded:
    """Return texts as numbers, each text known by the place where it first stands; None is -1."""
    seen: dict[Hashable, int] = {None: -1}
    codes = [seen.setdefault(value, len(seen) - 1) for value in values]
    return Coded(tuple(name for name in seen if name is not None), np.asarray(codes, dtype=np.int64))


def make_facts(rows: Sequence[Sequence[Any]]) -> Facts:
    """Return the facts from rows of position, cluster, question, model_a, model_b, tags, length_a, length_b."""
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * 8
    position, cluster, question, model_a, model_b, tags, length_a, length_b = columns
    tagged = code_texts(tags)
    return Facts(
        np.asarray(position, dtype=np.int64),
        code_texts(cluster),
        code_texts(question),
        code_texts(model_a),
        code_texts(model_b),
        Coded(tuple(tuple(json.loads(text)) for text in tagged.names), tagged.codes),
        np.asarray(length_a, dtype=np.float64),
        np.asarray([np.nan if length is None else length for length in length_b], dtype=np.float64),
    )


def read_ratings(connection: Connection, study: StudyRow, filters: Filters) -> Ratings:
    """Return the verdicts of a study that count and pass the filters."""
    study_id, scale = study.id, study.study.protocol.scale
    chosen = _chosen_items(connection, filters)
    listed = (
        select(items.c.id, *(facts.c[name] for name in _FACTS))
        .join(items, and_(items.c.study_id == facts.c.study_id, items.c.position == facts.c.position))
        .where(facts.c.study_id == study_id, *chosen)
        .order_by(facts.c.position)
    )
    rows = _fetch(connection, listed)
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    where = [verdicts.c.study_id == study_id, *_chosen_verdicts(study_id, filters, chosen)]
    people = _raters_of(connection, where)
    every = _unpack(_fetch(connection, _packed(scale, connection.dialect.name).where(*where)))
    numbers = np.array([number for number, _ in people], dtype=np.int64)
    # One pass over the verdicts brings those that do not count too: counting them by themselves would be another.
    withdrawn = every["status"] == len(STATUSES)
    aside = withdrawn | every["revealed"]
    counted = ~(aside | every["superseded"])
    known = {name: column[counted] for name, column in every.items()}
    reasons = every["item"][aside], withdrawn[aside]
    item = _place(ids, known["item"])
    ratings = Ratings(
        raters=tuple(rater for _, rater in people),
        facts=make_facts([row[1:] for row in rows]),
        item=item,
        rater=_place(numbers, known["rater"]),
        code=known["label"] - 1,
        order=known["order"] - 1,
        repeat=known["repeat"],
        status=known["status"],
        seconds=known["seconds"],
        time=known["time"],
        set_aside=_count_aside(*reasons),
    )

    def calls_of(rater: int) -> Ints:
        mine = select(func.coalesce(verdicts.c.call_id, 0)).where(*where, *_counts())
        found = mine.where(verdicts.c.rater_id == int(numbers[rater])).order_by(verdicts.c.id)
        return np.asarray([row[0] for row in _fetch(connection, found)], dtype=np.int64)

    found = order_repeats(ratings, calls_of)
    if filters.part == "all":
        return found
    questions = choose_part(found.facts.question.names, filters.part, study.study.seed, filters.test_share)
    kept = np.array([name in questions for name in found.facts.question.names], dtype=np.bool_)
    inside = kept[found.facts.question.codes] if kept.size else np.zeros(0, dtype=np.bool_)
    mine = np.isin(reasons[0], ids[inside])
    return take_items(found, inside, _count_aside(reasons[0][mine], reasons[1][mine]))


def take_items(ratings: Ratings, kept: NDArray[np.bool_], set_aside: dict[str, int]) -> Ratings:
    """Return the ratings of some items alone, as a study of those items would have them."""
    rows = np.flatnonzero(kept[ratings.item])
    present = np.unique(ratings.rater[rows])
    moved = np.cumsum(kept) - 1
    columns = {name: getattr(ratings, name)[rows] for name in ("code", "order", "repeat", "status", "seconds", "time")}
    return Ratings(
        tuple(ratings.raters[place] for place in present),
        _take_facts(ratings.facts, kept),
        moved[ratings.item[rows]],
        np.searchsorted(present, ratings.rater[rows]),
        **columns,
        set_aside=set_aside,
    )


def _take_facts(known: Facts, kept: NDArray[np.bool_]) -> Facts:
    def taken(column: Coded) -> Coded:
        return code_texts(None if code < 0 else column.names[code] for code in column.codes[kept].tolist())

    coded = {name: taken(getattr(known, name)) for name in ("cluster", "question", "model_a", "model_b", "tags")}
    return Facts(known.position[kept], **coded, length_a=known.length_a[kept], length_b=known.length_b[kept])


def order_repeats(ratings: Ratings, calls_of: Callable[[int], Ints]) -> Ratings:
    """Return ratings where the answer that a judge gave first stands first, even if it was read again since.

    Where a judge was asked the same several times, the first answer counts; a later reading of an answer is stored
    after the others but speaks of the same call.
    """
    order = np.arange(ratings.item.size)
    for number, rater in enumerate(ratings.raters):
        mine = np.flatnonzero(ratings.rater == number)
        asked = ratings.item[mine] * 3 + ratings.order[mine] + 1
        if rater.kind == "judge" and np.bincount(asked, minlength=1).max() > 1:
            order[mine] = mine[np.argsort(calls_of(number), kind="stable")]
    if np.array_equal(order, np.arange(order.size)):
        return ratings
    moved = ("item", "rater", "code", "order", "repeat", "status", "seconds", "time")
    columns = {name: getattr(ratings, name)[order] for name in moved}
    return Ratings(ratings.raters, ratings.facts, **columns, set_aside=ratings.set_aside)


_FACTS = ("position", "cluster", "question_hash", "model_a", "model_b", "tags", "length_a", "length_b")
_KINDS = {"human": 0, "judge": 1}


def _chosen_items(connection: Connection, filters: Filters) -> list[ColumnElement[bool]]:
    """Return the conditions on facts that the filters make."""
    chosen: list[ColumnElement[bool]] = []
    if filters.models:
        chosen.append(or_(facts.c.model_a.in_(filters.models), facts.c.model_b.in_(filters.models)))
    if filters.tags:
        # Tags are a JSON list: a quoted tag stands in it exactly where the item has it. LIKE would ignore case.
        find = func.instr if connection.dialect.name == "sqlite" else func.strpos
        chosen.append(or_(*(find(facts.c.tags, encode(tag)) > 0 for tag in filters.tags)))
    return chosen


def _chosen_verdicts(
    study_id: int, filters: Filters, chosen: Sequence[ColumnElement[bool]]
) -> list[ColumnElement[bool]]:
    """Return the conditions on verdicts that the filters make."""
    found: list[ColumnElement[bool]] = []
    if chosen:
        same = and_(items.c.study_id == facts.c.study_id, items.c.position == facts.c.position)
        inside = select(items.c.id).join(facts, same).where(facts.c.study_id == study_id, *chosen)
        found.append(verdicts.c.item_id.in_(inside))
    human: list[ColumnElement[bool]] = []
    if filters.since is not None:
        human.append(verdicts.c.created >= filters.since)
    if filters.until is not None:
        human.append(verdicts.c.created < filters.until)
    if filters.annotators:
        wanted = select(raters.c.id).where(raters.c.kind == "human", raters.c.name.in_(filters.annotators))
        human.append(verdicts.c.rater_id.in_(wanted))
    if human:
        judges = select(raters.c.id).where(raters.c.kind == "judge")
        found.append(or_(verdicts.c.rater_id.in_(judges), and_(*human)))
    return found


def _superseded() -> Any:
    """Return the verdicts in whose place a later one stands that was given before any reveal.

    The list is made once; asking for each verdict whether it has a later one takes longer.
    """
    later = verdicts.alias("later")
    return select(later.c.supersedes).where(later.c.supersedes.is_not(None), ~later.c.after_reveal)


def _counts() -> list[ColumnElement[bool]]:
    """Return the conditions under which a verdict counts: see the module's first lines."""
    return [verdicts.c.status != WITHDRAWN, ~verdicts.c.after_reveal, verdicts.c.id.not_in(_superseded())]


def _count_aside(item: Ints, withdrawn: NDArray[np.bool_]) -> dict[str, int]:
    """Return how many verdicts do not count, by reason."""
    counts = int(item.size - withdrawn.sum()), int(withdrawn.sum())
    return {name: count for name, count in zip(_ASIDE, counts, strict=True) if count}


def _raters_of(connection: Connection, where: Sequence[ColumnElement[bool]]) -> list[tuple[int, Rater]]:
    """Return the raters with a verdict, people before judges and each by name."""
    given = exists().where(verdicts.c.rater_id == raters.c.id, *where)
    found = connection.execute(select(raters.c.id, raters.c.name, raters.c.kind).where(given)).all()
    listed = [(int(row.id), Rater(row.name, row.kind)) for row in found]
    return sorted(listed, key=lambda entry: (_KINDS[entry[1].kind], entry[1].name))


def _packed(scale: Scale, dialect: str) -> Any:
    """Return the query for item, everything small as one number, seconds and time; few columns come out quicker."""
    label = case({name: code + 1 for code, name in enumerate(scale.labels)}, value=verdicts.c.label, else_=0)
    order = case({name: place + 1 for place, name in enumerate(ORDERS)}, value=verdicts.c.order, else_=0)
    known = {name: place for place, name in enumerate((*STATUSES, WITHDRAWN))}
    status = case(known, value=verdicts.c.status, else_=0)
    again, revealed = (case((flag, 1), else_=0) for flag in (verdicts.c.repeat, verdicts.c.after_reveal))
    superseded = case((verdicts.c.id.in_(_superseded()), 1), else_=0)
    flags = (superseded * 2 + revealed) * _STATUSES + status
    small = ((flags * 2 + again) * _ORDERS + order) * _LABELS + label
    epoch = (
        func.unixepoch(verdicts.c.created) if dialect == "sqlite" else func.floor(extract("epoch", verdicts.c.created))
    )
    columns = (verdicts.c.item_id, verdicts.c.rater_id * literal(_PACKED) + small)
    moments = (func.coalesce(column, literal(_NONE, Float)) for column in (verdicts.c.seconds, cast(epoch, Float)))
    return select(*columns, *moments).order_by(verdicts.c.rater_id, verdicts.c.id)


def _unpack(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=4 * len(rows))
    item, packed, seconds, time = flat.reshape(-1, 4).T
    rater, small = np.divmod(packed.astype(np.int64), _PACKED)
    rest, label = np.divmod(small.astype(np.int32), _LABELS)
    rest, order = np.divmod(rest, _ORDERS)
    rest, again = np.divmod(rest, 2)
    flags, status = np.divmod(rest, _STATUSES)
    return {
        "item": item.astype(np.int64),
        "rater": rater,
        "label": label.astype(np.int64),
        "order": order.astype(np.int64),
        "repeat": again == 1,
        "status": status.astype(np.int64),
        "revealed": flags % 2 == 1,
        "superseded": flags >= 2,
        "seconds": np.where(seconds == _NONE, np.nan, seconds),
        "time": np.where(time == _NONE, np.nan, time),
    }


def _place(known: Ints, wanted: Ints) -> Ints:
    """Return where each wanted number stands among the known ones, all of which are there."""
    rank = np.argsort(known, kind="stable")
    return rank[np.searchsorted(known[rank], wanted)] if known.size else wanted


def _fetch(connection: Connection, statement: Any) -> Sequence[Any]:
    """Return plain tuples: a million rows need no more than that."""
    return connection.execute(statement).cursor.fetchall()
