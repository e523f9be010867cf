"""Studies from afar: how far each is, and how the people in it work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import Connection, Row, bindparam, case, func, select

from judge.domain import Scale, Study
from storage.schema import claims, items, progress, raters, studies, verdicts
from storage.studies import StudyRow, list_study_rows

AnyRow = Row[*tuple[Any, ...]]

LATEST = 200  # over how many of a person's verdicts the median and the leaning are taken


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
