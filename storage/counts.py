"""How far each rater has come in a study: counted as it happens, so that progress never costs a scan.

The statements of this module and its neighbours are made once: building one takes longer than running it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, select, update

from storage.raters import add_if_absent
from storage.schema import progress

_MINE = and_(progress.c.study_id == bindparam("study"), progress.c.rater_id == bindparam("rater"))
_COUNTS = select(progress).where(_MINE).with_for_update()
_SEEN = select(progress).where(_MINE)
_ADD = (
    update(progress)
    .where(_MINE)
    .values(
        {
            name: progress.c[name] + bindparam(f"more_{name}")
            for name in ("done", "skipped", "repeats", "shown", "swapped")
        }
    )
)
_SHOWN = (
    update(progress)
    .where(_MINE)
    .values(
        cursor=bindparam("to"),
        shuffled=bindparam("of"),
        shown=progress.c.shown + 1,
        swapped=progress.c.swapped + bindparam("exchanged"),
    )
)


def lock_counts(connection: Connection, study: int, rater: int) -> Row[Any]:
    """Return a rater's counts, holding them so that two requests of one rater wait for each other."""
    row = connection.execute(_COUNTS, {"study": study, "rater": rater}).one_or_none()
    if row is not None:
        return row
    add_if_absent(connection, progress, study_id=study, rater_id=rater)
    return connection.execute(_COUNTS, {"study": study, "rater": rater}).one()


def find_counts(connection: Connection, study: int, rater: int) -> Row[Any] | None:
    """Return a rater's counts as they are, holding nothing."""
    return connection.execute(_SEEN, {"study": study, "rater": rater}).one_or_none()


def add_counts(  # noqa: PLR0913 (one argument for each thing that is counted)
    connection: Connection,
    study: int,
    rater: int,
    *,
    done: int = 0,
    skipped: int = 0,
    repeats: int = 0,
    shown: int = 0,
    swapped: int = 0,
) -> None:
    """Add to a rater's counts."""
    more = {"done": done, "skipped": skipped, "repeats": repeats, "shown": shown, "swapped": swapped}
    connection.execute(_ADD, {"study": study, "rater": rater, **{f"more_{name}": more[name] for name in more}})


def count_shown(connection: Connection, study: int, rater: int, walked: tuple[int, int], *, swapped: bool) -> None:
    """Count an item that a rater is shown, and how far they have walked through their shuffle of how many items."""
    cursor, total = walked
    connection.execute(_SHOWN, {"study": study, "rater": rater, "to": cursor, "of": total, "exchanged": int(swapped)})
