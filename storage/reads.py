"""Finding again what was kept: items with their current verdicts, progress, events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam, exists, select

from judge.domain import GivenVerdict, Progress, StudyError
from storage.codec import verdict_from_row
from storage.schema import WITHDRAWN, calls, events, items, progress, raters, remarks, verdicts

CHUNK = 500
_NAMES = select(items.c.name).where(items.c.study_id == bindparam("study")).order_by(items.c.position)


# The items of a study from one position up to another.
ITEMS_BETWEEN = (
    select(items.c.id, items.c.position, items.c.body)
    .where(
        items.c.study_id == bindparam("study"),
        items.c.position >= bindparam("first"),
        items.c.position < bindparam("last"),
    )
    .order_by(items.c.position)
)


def current_verdicts() -> Select[Any]:
    """Return the query for verdicts that no later one supersedes and that were not withdrawn."""
    later = verdicts.alias("later")
    return select(verdicts).where(
        ~exists().where(later.c.supersedes == verdicts.c.id),
        verdicts.c.status != WITHDRAWN,
    )


def stored_records(connection: Connection, study_id: int) -> Iterator[tuple[str, list[GivenVerdict]]]:
    """Yield each item's JSON text with its current verdicts, in the order of the import, a chunk at a time."""
    after = -1
    page = select(items.c.id, items.c.position, items.c.body).where(items.c.study_id == study_id)
    while True:
        chunk = connection.execute(page.where(items.c.position > after).order_by(items.c.position).limit(CHUNK)).all()
        if not chunk:
            return
        given = verdicts_of(connection, [row.id for row in chunk])
        for row in chunk:
            yield row.body, given.get(row.id, [])
        after = chunk[-1].position


def item_names(connection: Connection, study_id: int, count: int | None = None) -> list[str]:
    """Return the names of a study's items, or of its first so many, in the order of the import."""
    return list(connection.execute(_NAMES.limit(count), {"study": study_id}).scalars())


def names_at(connection: Connection, study_id: int, positions: Sequence[int]) -> list[str]:
    """Return the names of the items at a few positions."""
    wanted = select(items.c.position, items.c.name).where(items.c.study_id == study_id, items.c.position.in_(positions))
    found = {row.position: row.name for row in connection.execute(wanted)}
    gone = next((position for position in positions if position not in found), None)
    if gone is not None:
        raise StudyError(f"the item in place {gone + 1} of the study is no longer there: somebody removed it by hand")
    return [found[position] for position in positions]


def verdicts_of(connection: Connection, item_ids: list[int]) -> dict[int, list[GivenVerdict]]:
    """Return the current verdicts on items, with the replies they were read from."""
    wanted = (
        current_verdicts()
        .add_columns(raters.c.name.label("rater"), raters.c.kind, calls.c.raw)
        .add_columns(
            calls.c.usage["reask"].as_integer().label("reask"),
            calls.c.usage["soft_score"].as_float().label("soft_score"),
        )
        .join(raters, raters.c.id == verdicts.c.rater_id)
        .join(calls, calls.c.id == verdicts.c.call_id, isouter=True)
        .where(verdicts.c.item_id.in_(item_ids))
        .order_by(verdicts.c.id)
    )
    found: dict[int, list[GivenVerdict]] = {}
    for row in connection.execute(wanted).mappings():
        found.setdefault(row["item_id"], []).append(verdict_from_row(row))
    return found


def all_verdicts(connection: Connection, study_id: int) -> Iterator[dict[str, Any]]:
    """Yield every verdict ever stored, superseded and withdrawn ones too, oldest first."""
    wanted = (
        select(verdicts, raters.c.name.label("rater"), raters.c.kind, items.c.name.label("item"))
        .join(raters, raters.c.id == verdicts.c.rater_id)
        .join(items, items.c.id == verdicts.c.item_id)
        .where(verdicts.c.study_id == study_id)
        .order_by(verdicts.c.id)
    )
    yield from _told(connection, wanted, ("study_id", "item_id", "rater_id", "hash"))


def all_calls(connection: Connection, study_id: int) -> Iterator[dict[str, Any]]:
    """Yield every call with its raw reply, oldest first."""
    wanted = (
        select(calls, raters.c.name.label("rater"), items.c.name.label("item"))
        .join(raters, raters.c.id == calls.c.rater_id)
        .join(items, items.c.id == calls.c.item_id)
        .where(calls.c.study_id == study_id)
        .order_by(calls.c.id)
    )
    yield from _told(connection, wanted, ("study_id", "item_id", "rater_id"))


def all_remarks(connection: Connection, study_id: int) -> Iterator[dict[str, Any]]:
    """Yield every remark on a study's items, oldest first."""
    judge = raters.alias("judge")
    wanted = (
        select(remarks, raters.c.name.label("rater"), judge.c.name.label("judge"), items.c.name.label("item"))
        .join(raters, raters.c.id == remarks.c.rater_id)
        .join(judge, judge.c.id == remarks.c.judge_id, isouter=True)
        .join(items, items.c.id == remarks.c.item_id)
        .where(remarks.c.study_id == study_id)
        .order_by(remarks.c.id)
    )
    yield from _told(connection, wanted, ("study_id", "item_id", "rater_id", "judge_id"))


def _told(connection: Connection, wanted: Select[Any], hidden: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for row in connection.execution_options(yield_per=CHUNK).execute(wanted).mappings():
        yield {str(name): value for name, value in row.items() if value is not None and name not in hidden}


def rater_progress(connection: Connection, study_id: int, total: int) -> dict[str, Progress]:
    """Return how far each human rater of a study has come."""
    counted = (
        select(raters.c.name, progress.c.done, progress.c.skipped)
        .join(raters, raters.c.id == progress.c.rater_id)
        .where(progress.c.study_id == study_id)
        .order_by(raters.c.name)
    )
    return {row.name: Progress(row.done, total, row.skipped) for row in connection.execute(counted)}


def study_events(connection: Connection, study_id: int) -> list[dict[str, Any]]:
    """Return the trail of a study, oldest first."""
    found = (
        select(events.c.kind, events.c.created, events.c.details, raters.c.name)
        .join(raters, raters.c.id == events.c.rater_id, isouter=True)
        .where(events.c.study_id == study_id)
        .order_by(events.c.id)
    )
    return [
        {"kind": row.kind, "at": row.created, "rater": row.name, **row.details} for row in connection.execute(found)
    ]


def item_bodies(connection: Connection, study_id: int, positions: Iterable[int] | None = None) -> dict[int, str]:
    """Return items' JSON texts by position: all of a study's, or those asked for."""
    wanted = select(items.c.position, items.c.body).where(items.c.study_id == study_id)
    if positions is not None:
        wanted = wanted.where(items.c.position.in_(list(positions)))
    return {int(position): body for position, body in connection.execute(wanted)}
