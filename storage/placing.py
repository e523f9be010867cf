"""Which of two replies counts, when the same was asked by hand while a run was at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection, and_, bindparam, exists, select

from judge.domain import Status
from storage.schema import calls, runs, verdicts


class Asked(Protocol):
    """What a call was made for; `supersedes` is the verdict it is to replace, if there was one."""

    @property
    def item_id(self) -> int: ...  # noqa: D102
    @property
    def order(self) -> str: ...  # noqa: D102
    @property
    def repeat(self) -> int: ...  # noqa: D102
    @property
    def supersedes(self) -> int | None: ...  # noqa: D102


_HOLD = select(runs.c.id).where(runs.c.id == bindparam("run"))
# Those who keep calls of one run do so side by side; a single item asked by hand waits for them, and they for it.
_HOLD_TOGETHER = _HOLD.with_for_update(read=True, key_share=True)
_HOLD_ALONE = _HOLD.with_for_update()
_later = verdicts.alias("later")
_STANDING = (
    select(calls.c.item_id, calls.c.order, calls.c.repeat, calls.c.error, verdicts.c.id)
    # By the item too, for which there is an index.
    .join(verdicts, and_(verdicts.c.item_id == calls.c.item_id, verdicts.c.call_id == calls.c.id))
    .where(
        calls.c.run_id == bindparam("run"),
        calls.c.item_id.in_(bindparam("items", expanding=True)),
        ~exists().where(_later.c.supersedes == verdicts.c.id),
    )
)


def hold_alone(connection: Connection, run_id: int) -> None:
    """Let nobody else keep calls of a run until the transaction ends."""
    connection.execute(_HOLD_ALONE, {"run": run_id})


def place(connection: Connection, run_id: int, ended: Sequence[tuple[Asked, Status]]) -> list[tuple[bool, int | None]]:
    """Return for each call whether what was read from it counts, and which verdict that replaces.

    The first reply counts, unless a later one was asked for to replace it; the other call is only kept.
    """
    connection.execute(_HOLD_TOGETHER, {"run": run_id})
    where = {"run": run_id, "items": list({wanted.item_id for wanted, _ in ended})}
    standing = {(row.item_id, row.order, row.repeat): row for row in connection.execute(_STANDING, where)}
    placed: list[tuple[bool, int | None]] = []
    for wanted, status in ended:
        before = standing.get((wanted.item_id, wanted.order, wanted.repeat))
        if before is None or before.error is not None:
            placed.append((True, before.id if before else None))
        else:
            placed.append((status != "failed" and wanted.supersedes == before.id, before.id))
    return placed
