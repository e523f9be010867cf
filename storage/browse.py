"""Looking a study over: how far it is, who works on it, and its items, searched and filtered a page at a time.

A page begins at a position and is looked for from there on, so that it costs the same at the front of a study as at its
end. A search that has to read very much stops after a while, and the answer says from where it can go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from time import perf_counter
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, case, exists, func, or_, select

from judge.domain import GivenVerdict, Item, RaterKind, Scale, Study, StudyError
from storage.codec import encode, item_from_json
from storage.reads import current_verdicts, verdicts_of
from storage.schema import claims, items, progress, raters, studies, verdicts
from storage.studies import StudyRow, list_study_rows

AnyRow = Row[*tuple[Any, ...]]
State = Literal["any", "none", "progress", "complete", "people disagree", "raters disagree"]

PAGE = 25
STRETCH = 5_000  # items looked at in one go
PATIENCE = 1.0  # seconds after which a search begins no further stretch
LATEST = 200  # over how many of a person's verdicts the median and the share are taken
TAGGED = 1_000  # among how many items the tags are looked for


@dataclass(frozen=True, slots=True)
class Overview:
    """How far a study is: verdicts of people towards those wanted, and who gave any."""

    study: Study
    given: int
    people: int
    judges: int

    @property
    def wanted(self) -> int:
        """Return how many verdicts of people the study wants in all."""
        return self.study.wanted * self.study.items


@dataclass(frozen=True, slots=True)
class Annotator:
    """How one person works; median and preference are over their latest verdicts."""

    name: str
    done: int
    skipped: int
    repeats: int
    seconds: float | None
    # Pairwise: of the verdicts that prefer a side, the share for the one shown as A. Direct: the mean score.
    leaning: float | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Places:
    """How many items still have a place free, and how many places are held at the moment."""

    items: int
    held: int


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
class Detail:
    """An item with every current verdict and the replies they were read from."""

    item: Item
    position: int
    verdicts: tuple[GivenVerdict, ...]


_GIVEN = select(
    progress.c.study_id,
    func.sum(progress.c.done).label("given"),
    func.sum(case((progress.c.done > 0, 1), else_=0)).label("people"),
).group_by(progress.c.study_id)
# A look-up for each study and judge: what PostgreSQL would make of EXISTS reads every verdict there is.
_ANY_VERDICT = (
    select(verdicts.c.id)
    .where(verdicts.c.study_id == studies.c.id, verdicts.c.rater_id == raters.c.id)
    .limit(1)
    .correlate(studies, raters)
    .scalar_subquery()
)
_JUDGES = (
    select(studies.c.id, func.count().label("judges"))
    .join_from(studies, raters, raters.c.kind == "judge")
    .where(_ANY_VERDICT.is_not(None))
    .group_by(studies.c.id)
)


def list_overviews(connection: Connection) -> list[Overview]:
    """Return how far every study is, by name."""
    given = {row.study_id: row for row in connection.execute(_GIVEN)}
    judges = {row.id: row.judges for row in connection.execute(_JUDGES)}
    return [_overview(row, given.get(row.id), judges.get(row.id, 0)) for row in list_study_rows(connection)]


def study_overview(connection: Connection, row: StudyRow) -> Overview:
    """Return how far one study is."""
    given = connection.execute(_GIVEN.where(progress.c.study_id == row.id)).one_or_none()
    judges = connection.execute(_JUDGES.where(studies.c.id == row.id)).one_or_none()
    return _overview(row, given, judges.judges if judges else 0)


def _overview(row: StudyRow, given: AnyRow | None, judges: int) -> Overview:
    return Overview(row.study, int(given.given) if given else 0, int(given.people) if given else 0, judges)


_FREE_ITEMS = select(func.count()).where(items.c.study_id == bindparam("study"), items.c.free > 0)
_HELD_PLACES = select(func.count()).where(
    claims.c.study_id == bindparam("study"), claims.c.state == "open", ~claims.c.repeat
)


def free_places(connection: Connection, study_id: int) -> Places:
    """Return how much there is left to claim."""
    asked = {"study": study_id}
    return Places(
        connection.execute(_FREE_ITEMS, asked).scalar_one(), connection.execute(_HELD_PLACES, asked).scalar_one()
    )


_COUNTS = (
    select(raters.c.id, raters.c.name, progress.c.done, progress.c.skipped, progress.c.repeats)
    .join(raters, raters.c.id == progress.c.rater_id)
    .where(progress.c.study_id == bindparam("study"))
)
_LATEST = (
    select(verdicts)
    .where(verdicts.c.study_id == bindparam("study"), verdicts.c.rater_id == bindparam("rater"))
    .order_by(verdicts.c.id.desc())
    .limit(LATEST)
)
_LAST_CLAIM = select(func.max(claims.c.created)).where(
    claims.c.study_id == bindparam("study"), claims.c.rater_id == bindparam("rater")
)


def list_annotators(connection: Connection, row: StudyRow) -> list[Annotator]:
    """Return how each person of a study works, by name."""
    kind, scale = row.study.protocol.kind, row.study.protocol.scale
    people = []
    for person in connection.execute(_COUNTS, {"study": row.id}).all():
        rows = connection.execute(_LATEST, {"study": row.id, "rater": person.id}).all()
        # Whatever supersedes one of these is younger, and so among them.
        superseded = {given.supersedes for given in rows}
        latest = [given for given in rows if given.id not in superseded and given.status == "ok"]
        last = rows[0].stored if rows else None
        if last is None:  # they have looked and given nothing: worth knowing when
            last = connection.execute(_LAST_CLAIM, {"study": row.id, "rater": person.id}).scalar()
        seconds = [given.seconds for given in latest if given.seconds is not None]
        leaning = _mean_score(latest, scale) if kind == "direct" else _share_of_a(latest, scale)
        middle = median(seconds) if seconds else None
        people.append(Annotator(person.name, person.done, person.skipped, person.repeats, middle, leaning, last))
    return sorted(people, key=lambda person: person.name.casefold())


def _mean_score(given: Sequence[AnyRow], scale: Scale) -> float | None:
    return sum(scale.value(row.label) for row in given) / len(given) if given else None


def _share_of_a(given: Sequence[AnyRow], scale: Scale) -> float | None:
    """Return how often the side that was shown as A is preferred, where one is."""
    preferred = [(scale.value(row.label) > 0) != (row.order == "BA") for row in given if scale.value(row.label)]
    return sum(preferred) / len(preferred) if preferred else None


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
_WANTED: ColumnElement[int] = bindparam("wanted")
_STATES: dict[State, ColumnElement[bool]] = {
    "none": items.c.free >= _WANTED,
    "progress": and_(items.c.free < _WANTED, or_(items.c.free > 0, _HELD)),
    "complete": and_(items.c.free <= 0, ~_HELD),
    "people disagree": _labels(verdicts.c.rater_id.in_(_HUMANS)) > 1,
    "raters disagree": _labels() > 1,
}
_ITEMS = (
    select(items.c.id, items.c.position, items.c.body)
    .where(
        items.c.study_id == bindparam("study"),
        items.c.position >= bindparam("first"),
        items.c.position < bindparam("last"),
    )
    .order_by(items.c.position)
)
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
    query = _ITEMS
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


def item_detail(connection: Connection, row: StudyRow, name: str) -> Detail:
    """Return one item with every current verdict on it."""
    found = connection.execute(_ITEM, {"study": row.id, "name": name}).one_or_none()
    if found is None:
        raise StudyError(f"there is no item {name!r} in the study {row.study.name!r}")
    given = verdicts_of(connection, [found.id]).get(found.id, [])
    return Detail(item_from_json(json.loads(found.body)), found.position, tuple(given))


def some_tags(connection: Connection, study_id: int) -> list[str]:
    """Return the tags of the first items, sorted: enough to choose from."""
    first = connection.execute(_ITEMS, {"study": study_id, "first": 0, "last": TAGGED})
    return sorted({tag for row in first for tag in json.loads(row.body).get("tags", ())})
