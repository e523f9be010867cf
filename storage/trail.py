"""The trail of who signed in, saw, exported or changed what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select

from storage.schema import events, raters, studies


@dataclass(frozen=True, slots=True)
class TrailSearch:
    """Which lines of the trail are wanted; what is empty leaves all of them."""

    kinds: Sequence[str] = ()
    who: str = ""
    study: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the trail."""

    id: int
    at: datetime
    kind: str
    who: str  # empty when nobody had to sign in
    study: str | None
    details: Mapping[str, Any]


# An annotator's act names the rater; everything else the account, or the way in which it was done.
_WHO = func.coalesce(raters.c.name, events.c.details["by"].as_string(), "")
_LINES = (
    select(
        events.c.id,
        events.c.created.label("at"),
        events.c.kind,
        _WHO.label("who"),
        studies.c.name.label("study"),
        events.c.details,
    )
    .join(raters, raters.c.id == events.c.rater_id, isouter=True)
    .join(studies, studies.c.id == events.c.study_id, isouter=True)
    .order_by(events.c.id.desc())
)


def record_event(
    connection: Connection,
    kind: str,
    now: datetime,
    study_id: int | None = None,
    rater_id: int | None = None,
    **details: Any,
) -> None:
    """Add a line, in the transaction of what it tells."""
    row = {"study_id": study_id, "rater_id": rater_id, "kind": kind, "details": details, "created": now}
    connection.execute(insert(events).values(row))


def read_trail(connection: Connection, search: TrailSearch, before: int | None, most: int) -> list[Entry]:
    """Return the newest lines that a search finds, from before a number on."""
    wanted = _LINES.limit(most)
    if before is not None:
        wanted = wanted.where(events.c.id < before)
    if search.kinds:
        wanted = wanted.where(events.c.kind.in_(search.kinds))
    if search.who:
        wanted = wanted.where(_WHO.is_not_distinct_from(search.who))
    if search.study:
        wanted = wanted.where(studies.c.name == search.study)
    return [Entry(**row._asdict()) for row in connection.execute(wanted)]
