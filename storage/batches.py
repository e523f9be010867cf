"""Batches: what is at a server, who hands it in, and each answer kept once.

planned → submitted → collected; or failed, when the server took nothing of it, and lost, when the server forgot it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, select, update

from judge.domain import Order
from storage.owners import is_dead, process_name
from storage.runs import Ended, RunRow, Wanted, keep_calls, last_made, wanted_after
from storage.schema import batch_requests, batches, items

HANDING_IN = timedelta(minutes=30)  # longer than handing in a file of the greatest size may take
Ending = Literal["collected", "failed", "lost"]
Key = tuple[int, Order, int]


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch as the database knows it; `lacks` is what the server would not take when it was planned."""

    id: int
    token: str
    state: str
    requests: int
    lacks: tuple[str, ...]
    input_file: str | None
    remote_id: str | None
    created: datetime


def key_of(wanted: Wanted) -> Key:
    """Return what tells a request of a run from every other."""
    return wanted.item_id, wanted.order, wanted.repeat


def plan_batch(
    connection: Connection, run: RunRow, keys: Sequence[Key], lacks: Sequence[str], now: datetime
) -> BatchRow:
    """Write down which requests are about to be handed in, so that nobody else asks them."""
    new = {
        "run_id": run.id,
        "token": uuid.uuid4().hex,
        "state": "planned",
        "requests": len(keys),
        "lacks": list(lacks),
        "owner": process_name(),
        "expires": now + HANDING_IN,
        "created": now,
    }
    row = connection.execute(insert(batches).values(new).returning(batches)).one()
    named = (dict(zip(("item_id", "order", "repeat"), key, strict=True)) for key in keys)
    connection.execute(insert(batch_requests), [{"run_id": run.id, "batch_id": row.id, **key} for key in named])
    return _batch(row)


_OPEN = (
    select(batches)
    .where(batches.c.run_id == bindparam("run"), batches.c.state.in_(("planned", "submitted")))
    .order_by(batches.c.id)
)


def open_batches(connection: Connection, run: RunRow) -> list[BatchRow]:
    """Return the batches of a run that are not over, oldest first."""
    return [_batch(row) for row in connection.execute(_OPEN, {"run": run.id})]


def take_batch(connection: Connection, batch: BatchRow, now: datetime) -> BatchRow | None:
    """Take over a batch that was planned and not handed in; None while the process that planned it is at it."""
    row = connection.execute(select(batches).where(batches.c.id == batch.id).with_for_update()).one()
    if row.state != "planned" or not (row.owner == process_name() or row.expires < now or is_dead(row.owner)):
        return None
    mine = {"owner": process_name(), "expires": now + HANDING_IN}
    connection.execute(update(batches).where(batches.c.id == batch.id).values(mine))
    return _batch(row)


def note_upload(connection: Connection, batch: BatchRow, input_file: str) -> None:
    """Remember the file at the server that holds a batch's requests."""
    connection.execute(update(batches).where(batches.c.id == batch.id).values(input_file=input_file))


def note_submitted(connection: Connection, batch: BatchRow, remote_id: str) -> None:
    """Remember what the server calls a batch."""
    handed = {"state": "submitted", "remote_id": remote_id}
    connection.execute(update(batches).where(batches.c.id == batch.id).values(handed))


def end_batch(connection: Connection, batch: BatchRow, state: Ending, error: str | None, now: datetime) -> None:
    """Close a batch; what has not come back of it is free to be asked again."""
    connection.execute(delete(batch_requests).where(batch_requests.c.batch_id == batch.id))
    over = {"state": state, "error": error, "collected": now}
    connection.execute(update(batches).where(batches.c.id == batch.id).values(over))


_KEYS = (
    select(batch_requests.c.item_id, batch_requests.c.order, batch_requests.c.repeat)
    .where(batch_requests.c.batch_id == bindparam("batch"))
    .order_by(batch_requests.c.item_id, batch_requests.c.order, batch_requests.c.repeat)
)
_SOME_KEYS = _KEYS.where(batch_requests.c.item_id.in_(bindparam("items", expanding=True)))
_BODIES = select(items.c.id, items.c.body).where(items.c.id.in_(bindparam("items", expanding=True)))


def batch_keys(connection: Connection, batch: BatchRow) -> list[Key]:
    """Return what has not come back of a batch."""
    return [(row.item_id, row.order, row.repeat) for row in connection.execute(_KEYS, {"batch": batch.id})]


def batch_wanted(connection: Connection, run: RunRow, batch: BatchRow, item_ids: Sequence[int]) -> list[Wanted]:
    """Return the calls that have not come back of a batch, for some of its items."""
    known = {row.id: row for row in connection.execute(_BODIES, {"items": list(item_ids)})}
    made = last_made(connection, run, item_ids)
    return [
        wanted_after(known[row.item_id], row.order, row.repeat, made.get((row.item_id, row.order, row.repeat)))
        for row in connection.execute(_SOME_KEYS, {"batch": batch.id, "items": list(item_ids)})
    ]


_COME_BACK = delete(batch_requests).where(
    and_(
        batch_requests.c.run_id == bindparam("run"),
        batch_requests.c.item_id == bindparam("item"),
        batch_requests.c.order == bindparam("as_order"),
        batch_requests.c.repeat == bindparam("as_repeat"),
    )
)


def keep_batch_calls(
    connection: Connection, run: RunRow, batch: BatchRow, ended: Sequence[Ended], now: datetime
) -> list[Ended]:
    """Store those answers of a batch that nobody has stored yet, and return them."""
    connection.execute(select(batches.c.id).where(batches.c.id == batch.id).with_for_update())
    here = {"batch": batch.id, "items": sorted({call.wanted.item_id for call in ended})}
    missing = {(row.item_id, row.order, row.repeat) for row in connection.execute(_SOME_KEYS, here)}
    kept = [call for call in ended if key_of(call.wanted) in missing]
    if kept:
        keep_calls(connection, run, kept, now)
        keys = (dict(zip(("item", "as_order", "as_repeat"), key_of(call.wanted), strict=True)) for call in kept)
        connection.execute(_COME_BACK, [{"run": run.id, **key} for key in keys])
    return kept


def count_pending(connection: Connection, run: RunRow) -> int:
    """Return how many requests of a run are in batches and have not come back."""
    counted = select(func.count()).select_from(batch_requests).where(batch_requests.c.run_id == run.id)
    return int(connection.execute(counted).scalar_one())


def _batch(row: Row[Any]) -> BatchRow:
    known = (row.id, row.token, row.state, row.requests, tuple(row.lacks), row.input_file, row.remote_id, row.created)
    return BatchRow(*known)
