"""What a researcher looks for between people and judges: how sure a judge was, and why they differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, or_, select

from judge.domain import StudyError
from storage.desk import Remark
from storage.raters import rater_id_of
from storage.reads import current_verdicts
from storage.schema import calls, facts, items, raters, remarks, studies, verdicts
from storage.studies import StudyRow

_STUDY: BindParameter[int] = bindparam("study")
_LATE = 50_000  # numbers: no transaction stays open while so many verdicts are stored by others
_NEWEST = select(func.max(verdicts.c.id)).where(verdicts.c.study_id == _STUDY)
_NEWEST_ANYWHERE = select(func.max(verdicts.c.id))
_CHANGES_ANYWHERE = select(func.sum(studies.c.changes))
_ITEM = select(items.c.id).where(items.c.study_id == _STUDY, items.c.name == bindparam("item"))
_SOFT = calls.c.usage["soft_score"].as_float()
_SURE = (
    current_verdicts()
    .with_only_columns(items.c.position, verdicts.c.label, verdicts.c.confidence, _SOFT.label("soft_score"))
    .join(items, items.c.id == verdicts.c.item_id)
    .join(raters, raters.c.id == verdicts.c.rater_id)
    .join(calls, calls.c.id == verdicts.c.call_id, isouter=True)
    .where(
        verdicts.c.study_id == _STUDY,
        raters.c.kind == "judge",
        raters.c.name == bindparam("judge"),
        verdicts.c.label.is_not(None),
        # Without a call there is no soft score: told before anything else is looked up.
        or_(verdicts.c.confidence.is_not(None), verdicts.c.call_id.is_not(None)),
        or_(verdicts.c.confidence.is_not(None), _SOFT.is_not(None)),
    )
    .order_by(verdicts.c.id)
)
_judge = raters.alias("judge")
_CAUSES = (
    select(remarks.c.kind, raters.c.name.label("rater"), items.c.name.label("item"), facts.c.tags)
    .join(raters, raters.c.id == remarks.c.rater_id)
    .join(_judge, _judge.c.id == remarks.c.judge_id)
    .join(items, items.c.id == remarks.c.item_id)
    .join(facts, (facts.c.study_id == items.c.study_id) & (facts.c.position == items.c.position))
    .where(
        remarks.c.study_id == _STUDY,
        _judge.c.name == bindparam("judge"),
        remarks.c.kind.in_(bindparam("kinds", expanding=True)),
    )
    .order_by(remarks.c.id)
)


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure a judge was of a label: what it said itself, and the mean of the scale under its own probabilities."""

    label: str
    confidence: int | None
    soft_score: float | None


@dataclass(frozen=True, slots=True)
class Cause:
    """Why somebody thinks that people and a judge differ on an item."""

    item: str
    kind: str
    rater: str
    tags: tuple[str, ...]


def mark_verdicts(connection: Connection, study: StudyRow | None) -> str:
    """Return a mark, of a study's verdicts or of all: while it stays, every verdict is there and as it was.

    PostgreSQL gives out numbers before it commits, so that the newest may be seen before an older one: there the last
    ones are counted too.
    """
    inside = {} if study is None else {"study": study.id}
    newest = connection.execute(_NEWEST_ANYWHERE if study is None else _NEWEST, inside).scalar() or 0
    changes = connection.execute(_CHANGES_ANYWHERE).scalar() if study is None else study.changes
    if connection.dialect.name == "sqlite":
        return f"{newest}, changes {changes}"
    late = select(func.count()).where(verdicts.c.id > newest - _LATE)
    counted = late if study is None else late.where(verdicts.c.study_id == study.id)
    return f"{newest}, last {connection.execute(counted).scalar_one()}, changes {changes}"


def judge_certainty(connection: Connection, study_id: int, judge: str) -> dict[int, Certainty]:
    """Return by position how sure a judge was, where anything is known of it; of two orders the first stored."""
    found: dict[int, Certainty] = {}
    for row in connection.execute(_SURE, {"study": study_id, "judge": judge}):
        found.setdefault(row.position, Certainty(row.label, row.confidence, row.soft_score))
    return found


def remark_on_item(connection: Connection, place: tuple[int, str], rater: str, remark: Remark, now: datetime) -> None:
    """Keep a researcher's remark on a study's item, which they need not have annotated."""
    study_id, item = place
    item_id = connection.execute(_ITEM, {"study": study_id, "item": item}).scalar()
    if item_id is None:
        raise StudyError(f"there is no item {item!r} in this study")
    row = {
        "study_id": study_id,
        "item_id": item_id,
        "rater_id": rater_id_of(connection, "human", rater),
        "judge_id": None if remark.judge is None else rater_id_of(connection, "judge", remark.judge),
        "kind": remark.kind,
        "comment": remark.comment,
        "created": now,
    }
    connection.execute(insert(remarks).values(row))


def list_causes(connection: Connection, study_id: int, judge: str, kinds: Sequence[str]) -> list[Cause]:
    """Return the newest cause that each person gave for each item on which they and a judge differ."""
    newest = {
        (row.item, row.rater): Cause(row.item, row.kind, row.rater, tuple(json.loads(row.tags)))
        for row in connection.execute(_CAUSES, {"study": study_id, "judge": judge, "kinds": list(kinds)})
    }
    return list(newest.values())
