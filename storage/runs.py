"""Runs of judges: what is still to ask, shared between processes, and every call kept as it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, exists, func, insert, select, update

from judge.domain import Item, Order, Status, StudyError, content_hash
from storage.codec import encode, item_from_json
from storage.owners import is_dead, process_name
from storage.placing import place
from storage.raters import add_absent, add_if_absent, rater_id_of
from storage.reads import ITEMS_BETWEEN
from storage.schema import batch_requests, calls, items, leases, raters, runs, studies, texts, verdicts
from storage.studies import StudyRow, keep_protocol

LEASE = timedelta(seconds=90)
LONGEST_STRETCH = 256
PAGE = 500  # replies that are read again at a time
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """A judge over a study: who asks what, and how often."""

    judge: str
    model: str
    request: Mapping[str, Any]
    orders: tuple[Order, ...] = ("AB", "BA")
    repeats: int = 1
    limit: int | None = None
    reuse: bool = True
    reask: int = 0  # how often a reply without a verdict is asked for again

    @property
    def described(self) -> dict[str, Any]:
        """Return every setting that reaches the model."""
        return {"model": self.model, "request": dict(self.request)}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the database knows it."""

    id: int
    study: StudyRow
    rater_id: int
    settings: RunSettings


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call still to be made; `supersedes` is the verdict it takes the place of, if there was one.

    `reask` is 0 unless a reply had no verdict and is asked for again, for the n-th time.
    """

    item_id: int
    item: Item
    order: Order
    repeat: int
    supersedes: int | None = None
    reask: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """A call to be kept, with the label for the sides as imported."""

    wanted: Wanted
    status: Status
    label: str | None = None
    prompt_hash: str | None = None
    prompt: str | None = None
    raw: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    error: str | None = None
    copy_of: int | None = None


def find_run(connection: Connection, study: StudyRow, settings: RunSettings) -> RunRow | None:
    """Return the run with these settings, if there is one."""
    found = select(runs).where(runs.c.study_id == study.id, runs.c.hash == _run_hash(study, settings))
    row = connection.execute(found).one_or_none()
    return None if row is None else RunRow(row.id, study, row.rater_id, settings)


def _run_hash(study: StudyRow, settings: RunSettings) -> str:
    return content_hash("run", study.study.protocol.hash, settings.judge, encode(settings.described))


def open_run(connection: Connection, study: StudyRow, settings: RunSettings, now: datetime) -> RunRow:
    """Return the run with these settings, making it if it is new."""
    rater_id = rater_id_of(connection, "judge", settings.judge)
    digest = _run_hash(study, settings)
    found = select(runs).where(runs.c.study_id == study.id, runs.c.hash == digest)
    row = connection.execute(found).one_or_none()
    if row is None:
        others = select(exists().where(runs.c.study_id == study.id, runs.c.rater_id == rater_id))
        if connection.execute(others).scalar():
            raise StudyError(
                f"{settings.judge!r} has judged this study with other settings: give the judge another name (--name)"
            )
        new = {
            "study_id": study.id,
            "rater_id": rater_id,
            "protocol_id": keep_protocol(connection, study.study.protocol),
            "model": settings.model,
            "settings": settings.described,
            "hash": digest,
            "created": now,
        }
        add_if_absent(connection, runs, **new)
        row = connection.execute(found).one()
    return RunRow(row.id, study, rater_id, settings)


def begin_pass(connection: Connection, run: RunRow, now: datetime) -> None:
    """Go through the items from the start again, unless another process is in the middle of it."""
    row = connection.execute(select(runs.c.cursor).where(runs.c.id == run.id).with_for_update()).one()
    held = connection.execute(select(leases).where(leases.c.run_id == run.id)).all()
    if row.cursor and all(_is_over(lease, now) for lease in held):
        connection.execute(delete(leases).where(leases.c.run_id == run.id))
        connection.execute(update(runs).where(runs.c.id == run.id).values(cursor=0, finished=None))


def take_stretch(connection: Connection, run: RunRow, now: datetime) -> tuple[int, int] | None:
    """Take the next stretch of items, or that of a process that died; None when there is none."""
    size = connection.execute(select(studies.c.size).where(studies.c.id == run.study.id)).scalar_one()
    total = size if run.settings.limit is None else min(size, run.settings.limit)
    cursor = connection.execute(select(runs.c.cursor).where(runs.c.id == run.id).with_for_update()).scalar_one()
    owner, expires = process_name(), now + LEASE
    if cursor < total:
        last = min(total, cursor + max(8, min(LONGEST_STRETCH, total // 16)))
        connection.execute(update(runs).where(runs.c.id == run.id).values(cursor=last))
        taken = {"run_id": run.id, "first": cursor, "last": last, "owner": owner, "expires": expires}
        connection.execute(insert(leases).values(taken))
        return cursor, last
    for lease in connection.execute(select(leases).where(leases.c.run_id == run.id).order_by(leases.c.first)):
        if lease.owner != owner and _is_over(lease, now):
            mine = and_(leases.c.run_id == run.id, leases.c.first == lease.first, leases.c.owner == lease.owner)
            if connection.execute(update(leases).where(mine).values(owner=owner, expires=expires)).rowcount:
                return int(lease.first), int(lease.last)
    return None


def count_foreign(connection: Connection, run: RunRow) -> int:
    """Return how many stretches of a run are not finished and not this process's: others are at them, or left them."""
    theirs = and_(leases.c.run_id == run.id, leases.c.owner != process_name())
    return int(connection.execute(select(func.count()).select_from(leases).where(theirs)).scalar_one())


def _is_over(lease: Row[Any], now: datetime) -> bool:
    """Say whether a stretch is free for others: also one held for longer than can be, since the clock was put back."""
    return not now <= lease.expires <= now + 2 * LEASE or is_dead(lease.owner)


def finish_stretch(connection: Connection, run: RunRow, first: int, now: datetime) -> None:
    """Let a stretch go whose calls have all ended, and the run with it if it was the last."""
    connection.execute(delete(leases).where(leases.c.run_id == run.id, leases.c.first == first))
    finish_if_done(connection, run, now)


def finish_if_done(connection: Connection, run: RunRow, now: datetime) -> None:
    """Mark a run as finished when nobody is at it and nothing of it is in a batch."""
    left = select(
        exists().where(leases.c.run_id == run.id) | exists().where(batch_requests.c.run_id == run.id),
    )
    ended = and_(runs.c.id == run.id, runs.c.cursor >= run.study.study.items)
    if not connection.execute(left).scalar():
        connection.execute(update(runs).where(ended).values(finished=now))


# Made once, like the others that every few calls of a run take: to put a statement together takes longer than it does.
_RENEW = (
    update(leases)
    .where(leases.c.run_id == bindparam("run"), leases.c.owner == bindparam("process"))
    .values(expires=bindparam("until"))
)
_ADD_CALLS = insert(calls).returning(calls.c.id, sort_by_parameter_order=True)
_ADD_VERDICTS = insert(verdicts).returning(verdicts.c.id, sort_by_parameter_order=True)


def renew(connection: Connection, run: RunRow, now: datetime) -> None:
    """Tell the others that this process is still at work."""
    connection.execute(_RENEW, {"run": run.id, "process": process_name(), "until": now + LEASE})


def give_up(connection: Connection, run: RunRow) -> None:
    """Leave what this process has not finished to others."""
    mine = and_(leases.c.run_id == run.id, leases.c.owner == process_name())
    connection.execute(update(leases).where(mine).values(owner="", expires=LONG_AGO))


_MADE = (
    select(calls.c.id.label("call"), calls.c.item_id, calls.c.order, calls.c.repeat, calls.c.error)
    .add_columns(verdicts.c.id, verdicts.c.status)
    .join(verdicts, verdicts.c.call_id == calls.c.id)
    .where(calls.c.run_id == bindparam("run"), calls.c.item_id.in_(bindparam("items", expanding=True)))
    .order_by(calls.c.id, verdicts.c.id)
)
_IN_BATCHES = select(batch_requests.c.item_id, batch_requests.c.order, batch_requests.c.repeat).where(
    batch_requests.c.run_id == bindparam("run"), batch_requests.c.item_id.in_(bindparam("items", expanding=True))
)


@dataclass(frozen=True, slots=True)
class Made:
    """How an item, order and repeat stands: the last verdict, and how many calls brought a reply."""

    verdict: int
    status: Status
    replies: int

    def missing(self, settings: RunSettings) -> bool:
        """Say whether it is to be asked again: after a failure, and without a verdict as often as was wished."""
        return self.status == "failed" or (self.status != "ok" and self.replies <= settings.reask)


def last_made(connection: Connection, run: RunRow, item_ids: Sequence[int]) -> dict[tuple[int, str, int], Made]:
    """Return how each item, order and repeat of a run stands."""
    made: dict[tuple[int, str, int], Made] = {}
    replied: dict[tuple[int, str, int], set[int]] = {}
    for row in connection.execute(_MADE, {"run": run.id, "items": list(item_ids)}):
        key = row.item_id, row.order, row.repeat
        replies = replied.setdefault(key, set())
        if row.error is None:
            replies.add(row.call)
        made[key] = Made(row.id, row.status, len(replies))
    return made


def wanted_in(connection: Connection, run: RunRow, first: int, last: int) -> list[Wanted]:
    """Return the calls of a stretch that have brought no reply yet and are in no batch."""
    where = {"study": run.study.id, "first": first, "last": last}
    stretch = connection.execute(ITEMS_BETWEEN, where).all()
    ids = [item.id for item in stretch]
    made = last_made(connection, run, ids)
    away = {tuple(row) for row in connection.execute(_IN_BATCHES, {"run": run.id, "items": ids})}
    missing: list[Wanted] = []
    for item in stretch:
        for order in run.settings.orders:
            for repeat in range(run.settings.repeats):
                before = made.get((item.id, order, repeat))
                if (item.id, order, repeat) not in away and (before is None or before.missing(run.settings)):
                    missing.append(wanted_after(item, order, repeat, before))
    return missing


def wanted_after(item: Row[*tuple[Any, ...]], order: Order, repeat: int, before: Made | None) -> Wanted:
    """Return the call to make after what has been made."""
    known = item_from_json(json.loads(item.body))
    if before is None:
        return Wanted(item.id, known, order, repeat)
    return Wanted(item.id, known, order, repeat, before.verdict, before.replies)


def keep_reading(
    connection: Connection, call: Row[*tuple[Any, ...]], read: tuple[str, str | None], now: datetime
) -> None:
    """Add what a newer reading makes of a stored reply; the older verdict stays, superseded."""
    row = {
        "study_id": call.study_id,
        "item_id": call.item_id,
        "rater_id": call.rater_id,
        "call_id": call.id,
        "supersedes": call.verdict_id,
        "revision": call.revision + 1,
        "status": read[0],
        "label": read[1],
        "order": call.order,
        "repeat": False,
        "after_reveal": False,
        "created": now,
        "stored": now,
    }
    connection.execute(insert(verdicts).values(row))


def keep_calls(connection: Connection, run: RunRow, ended: Sequence[Ended], now: datetime) -> list[int]:
    """Store calls and what was read from them, and return for each the verdict that stands now."""
    placed = place(connection, run.id, [(call.wanted, call.status) for call in ended])
    prompts = {call.prompt_hash: call.prompt for call in ended if call.prompt_hash and call.prompt is not None}
    # In one order everywhere, so that two processes that keep the same prompts never wait for each other.
    add_absent(connection, texts, [{"hash": digest, "body": prompts[digest]} for digest in sorted(prompts)])
    rows = [
        {
            "study_id": run.study.id,
            "item_id": call.wanted.item_id,
            "rater_id": run.rater_id,
            "run_id": run.id,
            "order": call.wanted.order,
            "repeat": call.wanted.repeat,
            "prompt_hash": call.prompt_hash,
            "raw": call.raw,
            "finish_reason": call.finish_reason,
            "model": call.model,
            "usage": dict(call.usage),
            "seconds": call.seconds,
            "error": call.error,
            "copy_of": call.copy_of,
            "created": now,
        }
        for call in ended
    ]
    numbers = connection.execute(_ADD_CALLS, rows).scalars().all()
    given = [
        {
            "study_id": run.study.id,
            "item_id": call.wanted.item_id,
            "rater_id": run.rater_id,
            "call_id": number,
            "supersedes": supersedes,
            "revision": 1,
            "status": call.status,
            "label": call.label,
            "order": call.wanted.order,
            "repeat": False,
            "seconds": call.seconds,
            "prompt_hash": call.prompt_hash,
            "after_reveal": False,
            "created": now,
            "stored": now,
        }
        for call, number, (counts, supersedes) in zip(ended, numbers, placed, strict=True)
        if counts
    ]
    new = iter(connection.execute(_ADD_VERDICTS, given).scalars().all() if given else [])
    return [next(new) if counts else int(standing or 0) for counts, standing in placed]


_SAME_PROMPT = (
    select(calls)
    .join(runs, runs.c.id == calls.c.run_id)
    .where(
        calls.c.prompt_hash.in_(bindparam("prompts", expanding=True)),
        calls.c.error.is_(None),
        runs.c.model == bindparam("model"),
        calls.c.copy_of.is_(None),
    )
    .order_by(calls.c.id)
)


def known_replies(
    connection: Connection, settings: RunSettings, prompts: Sequence[str]
) -> dict[tuple[str, int], Row[Any]]:
    """Return replies that the same model gave to the same prompts under the same settings, in this study or another."""
    wanted = _SAME_PROMPT.add_columns(runs.c.settings)
    found = connection.execute(wanted, {"prompts": list(prompts), "model": settings.model})
    same = encode(settings.described)
    return {(row.prompt_hash, row.repeat): row for row in found if encode(row.settings) == same}


def run_counts(connection: Connection, run_id: int) -> dict[str, int]:
    """Return how many current verdicts of a run there are by status."""
    later = verdicts.alias("later")
    counted = (
        select(verdicts.c.status, func.count())
        .join(calls, calls.c.id == verdicts.c.call_id)
        .where(calls.c.run_id == run_id, ~exists().where(later.c.supersedes == verdicts.c.id))
        .group_by(verdicts.c.status)
    )
    return {row.status: row[1] for row in connection.execute(counted)}


def judge_calls(connection: Connection, study_id: int) -> Iterator[Row[*tuple[Any, ...]]]:
    """Yield every call that brought a reply, with the verdict now read from it, a page at a time."""
    later = verdicts.alias("later")
    wanted = (
        select(
            calls.c.id,
            calls.c.study_id,
            calls.c.run_id,
            calls.c.item_id,
            calls.c.rater_id,
            calls.c.order,
            calls.c.raw,
            calls.c.finish_reason,
            items.c.name.label("item"),
            raters.c.name.label("judge"),
            verdicts.c.id.label("verdict_id"),
            verdicts.c.label,
            verdicts.c.status,
            verdicts.c.revision,
        )
        .join(verdicts, verdicts.c.call_id == calls.c.id)
        .join(items, items.c.id == calls.c.item_id)
        .join(raters, raters.c.id == calls.c.rater_id)
        .where(calls.c.study_id == study_id, calls.c.raw.is_not(None))
        .where(~exists().where(later.c.supersedes == verdicts.c.id))
        .order_by(calls.c.id)
        .limit(PAGE)
    )
    after = 0
    while page := connection.execute(wanted.where(calls.c.id > after)).all():
        yield from page
        after = page[-1].id
