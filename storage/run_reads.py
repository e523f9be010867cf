"""Finding runs again: how each stands, what it cost, where it failed, and what it said of one item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import Connection, Row, and_, bindparam, case, exists, func, select, update

from judge.domain import FailureKind, Item, Order, Status, StudyError
from storage.codec import item_from_json
from storage.owners import is_dead
from storage.runs import RunRow
from storage.schema import calls, items, leases, protocols, raters, runs, verdicts

FAILURE_KINDS: tuple[str, ...] = get_args(FailureKind)


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run as a table shows it; `active` says whether some process is at it now."""

    id: int
    judge: str
    model: str
    protocol: str
    request: Mapping[str, Any]
    created: datetime
    finished: datetime | None
    active: bool
    cursor: int
    asked: Mapping[str, Any] | None
    stopped: str | None
    by_status: Mapping[str, int] = field(default_factory=dict)
    by_order: Mapping[str, int] = field(default_factory=dict)
    items: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds_a_call: float | None = None
    consistent: int = 0
    in_both_orders: int = 0


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that brought no label, with all that came back."""

    item: str
    order: Order | None
    repeat: int
    kind: str
    raw: str | None
    error: str | None
    finish_reason: str | None
    created: datetime | None


@dataclass(frozen=True, slots=True)
class StoredCall:
    """What a judge's run has on one item in one order; `verdict` is the number of the verdict that counts now."""

    order: Order
    verdict: int
    status: Status
    label: str | None
    raw: str | None
    finish_reason: str | None
    usage: Mapping[str, Any]
    seconds: float | None
    error: str | None
    created: datetime | None


_later = verdicts.alias("later")
_CURRENT = ~exists().where(_later.c.supersedes == verdicts.c.id)
_CALLS_OF_RUN = and_(calls.c.run_id == bindparam("run"), _CURRENT)
# By the item too, for which there is an index.
_ITS_CALL = and_(calls.c.item_id == verdicts.c.item_id, calls.c.id == verdicts.c.call_id)
_RUNS = (
    select(runs, raters.c.name.label("judge"), protocols.c.name.label("protocol"))
    .join(raters, raters.c.id == runs.c.rater_id)
    .join(protocols, protocols.c.id == runs.c.protocol_id)
    .where(runs.c.study_id == bindparam("study"))
    .order_by(runs.c.id)
)
_HELD = select(leases.c.owner, leases.c.expires).where(leases.c.run_id == bindparam("run"))
_STATUSES = (
    select(verdicts.c.status, calls.c.order, func.count().label("count"))
    .join(calls, _ITS_CALL)
    .where(_CALLS_OF_RUN)
    .group_by(verdicts.c.status, calls.c.order)
)
# Every call counts here, also one that was made good later: it took its tokens and its time.
_SPENT = select(
    func.count().label("calls"),
    func.count(calls.c.item_id.distinct()).label("items"),
    func.coalesce(func.sum(calls.c.usage["prompt_tokens"].as_integer()), 0).label("prompt_tokens"),
    func.coalesce(func.sum(calls.c.usage["completion_tokens"].as_integer()), 0).label("completion_tokens"),
    func.avg(case((calls.c.copy_of.is_(None), calls.c.seconds))).label("seconds"),
).where(calls.c.run_id == bindparam("run"))


def _labels(order: Order) -> Any:
    return (
        select(calls.c.item_id, calls.c.repeat, verdicts.c.label)
        .join(verdicts, _ITS_CALL)
        .where(_CALLS_OF_RUN, verdicts.c.status == "ok", calls.c.order == order)
        .subquery()
    )


_first, _second = _labels("AB"), _labels("BA")
_CONSISTENT = select(
    func.count().label("both"), func.count(case((_first.c.label == _second.c.label, 1))).label("consistent")
).select_from(_first.join(_second, and_(_first.c.item_id == _second.c.item_id, _first.c.repeat == _second.c.repeat)))


def list_runs(connection: Connection, study_id: int, now: datetime) -> list[RunOverview]:
    """Return every run over a study, oldest first, with what came of it."""
    return [_overview(connection, row, now) for row in connection.execute(_RUNS, {"study": study_id}).all()]


def _overview(connection: Connection, row: Row[Any], now: datetime) -> RunOverview:
    this = {"run": row.id}
    by_status: dict[str, int] = {}
    by_order: dict[str, int] = {}
    for counted in connection.execute(_STATUSES, this):
        by_status[counted.status] = by_status.get(counted.status, 0) + counted[2]
        by_order[counted.order] = by_order.get(counted.order, 0) + counted[2]
    spent = connection.execute(_SPENT, this).one()
    pairs = connection.execute(_CONSISTENT, this).one()
    return RunOverview(
        id=row.id,
        judge=row.judge,
        model=row.model,
        protocol=row.protocol,
        request=row.settings.get("request", {}),
        created=row.created,
        finished=row.finished,
        active=is_active(connection, row.id, now),
        cursor=row.cursor,
        asked=row.asked,
        stopped=row.stopped,
        by_status=by_status,
        by_order=by_order,
        items=spent.items,
        calls=spent.calls,
        prompt_tokens=int(spent.prompt_tokens),
        completion_tokens=int(spent.completion_tokens),
        seconds_a_call=spent.seconds,
        consistent=pairs.consistent,
        in_both_orders=pairs.both,
    )


def is_active(connection: Connection, run_id: int, now: datetime) -> bool:
    """Say whether some process, here or elsewhere, is at a run."""
    held = connection.execute(_HELD, {"run": run_id}).all()
    return any(lease.expires >= now and not is_dead(lease.owner) for lease in held)


_NOTE = update(runs).where(runs.c.id == bindparam("run"))


def note_start(connection: Connection, run_id: int, asked: Mapping[str, Any]) -> None:
    """Keep what somebody asked of a run, so that it can be gone on with."""
    connection.execute(_NOTE.values(asked=dict(asked), stopped=None), {"run": run_id})


def note_end(connection: Connection, run_id: int, stopped: str | None) -> None:
    """Keep why a run was stopped; nothing when it came to its end."""
    connection.execute(_NOTE.values(stopped=stopped), {"run": run_id})


_ASKED = select(runs.c.asked).where(runs.c.id == bindparam("run"), runs.c.study_id == bindparam("study"))


def asked_of(connection: Connection, study_id: int, run_id: int) -> dict[str, Any]:
    """Return what was asked of a run of this study when it was last started here."""
    asked = connection.execute(_ASKED, {"run": run_id, "study": study_id}).scalar()
    if asked is None:
        raise StudyError("this run was not started on this page: choose its judge above and start it again")
    return dict(asked)


# A failure tells its kind before the colon; a reply without a label is of the kind that its status says.
_KIND = case(
    *((and_(verdicts.c.status == "failed", calls.c.error.like(f"{kind}:%")), kind) for kind in FAILURE_KINDS),
    else_=verdicts.c.status,
)
_WITHOUT_LABEL = and_(_CALLS_OF_RUN, verdicts.c.status != "ok", calls.c.study_id == bindparam("study"))
_KINDS = (
    select(_KIND.label("kind"), func.count().label("count"))
    .join(calls, _ITS_CALL)
    .where(_WITHOUT_LABEL)
    .group_by(_KIND)
)
_FAILED = (
    select(
        items.c.name.label("item"),
        calls.c.order,
        calls.c.repeat,
        _KIND.label("kind"),
        calls.c.raw,
        calls.c.error,
        calls.c.finish_reason,
        calls.c.created,
    )
    .join(calls, _ITS_CALL)
    .join(items, items.c.id == calls.c.item_id)
    .where(_WITHOUT_LABEL, bindparam("kind") == _KIND)
    .order_by(items.c.position, calls.c.order, calls.c.repeat)
    .limit(bindparam("count"))
    .offset(bindparam("skip"))
)


def failures_by_kind(connection: Connection, study_id: int, run_id: int) -> dict[str, int]:
    """Return how many calls of a run brought no label, by kind, the most frequent first."""
    rows = connection.execute(_KINDS, {"study": study_id, "run": run_id})
    return {kind: count for count, kind in sorted(((row[1], row.kind) for row in rows), reverse=True)}


def failed_calls(connection: Connection, study_id: int, run_id: int, page: tuple[str, int, int]) -> list[FailedCall]:
    """Return a page (kind, count, skipped) of the calls that brought no label, in the order of the items."""
    kind, count, skip = page
    where = {"study": study_id, "run": run_id, "kind": kind, "count": count, "skip": skip}
    return [FailedCall(*row) for row in connection.execute(_FAILED, where)]


_MADE = (
    select(calls.c.item_id, calls.c.order, calls.c.repeat)
    .distinct()
    .join(items, items.c.id == calls.c.item_id)
    .where(
        calls.c.run_id == bindparam("run"),
        calls.c.error.is_(None),
        calls.c.order.in_(bindparam("orders", expanding=True)),
        calls.c.repeat < bindparam("repeats"),
        items.c.position < bindparam("limit"),
    )
)
_COUNT_MADE = select(func.count()).select_from(_MADE.subquery())


def made_calls(connection: Connection, run: RunRow) -> int:
    """Return how many of the calls that a run consists of have brought a reply already."""
    settings = run.settings
    limit = settings.limit or run.study.study.items
    where = {"run": run.id, "orders": list(settings.orders), "repeats": settings.repeats, "limit": limit}
    return int(connection.execute(_COUNT_MADE, where).scalar_one())


_ITEM = select(items.c.id, items.c.body).where(
    items.c.study_id == bindparam("study"), items.c.name == bindparam("name")
)
_ON_ITEM = (
    select(
        calls.c.order,
        verdicts.c.id.label("verdict"),
        verdicts.c.status,
        verdicts.c.label,
        calls.c.raw,
        calls.c.finish_reason,
        calls.c.usage,
        calls.c.seconds,
        calls.c.error,
        calls.c.created,
    )
    .join(calls, _ITS_CALL)
    .where(_CALLS_OF_RUN, calls.c.item_id == bindparam("item"), calls.c.repeat == 0)
    .order_by(calls.c.id)
)


def find_item(connection: Connection, study_id: int, name: str) -> tuple[int, Item]:
    """Return an item of a study by its name, with its number."""
    row = connection.execute(_ITEM, {"study": study_id, "name": name}).one_or_none()
    if row is None:
        raise StudyError(f"the study has no item {name!r}")
    return row.id, item_from_json(json.loads(row.body))


def calls_on_item(connection: Connection, run_id: int, item_id: int) -> dict[Order, StoredCall]:
    """Return what a run has on one item, by order; of repeats the first."""
    found = connection.execute(_ON_ITEM, {"run": run_id, "item": item_id})
    return {row.order: StoredCall(**row._mapping) for row in found}  # noqa: SLF001 (SQLAlchemy's public name)
