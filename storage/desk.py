"""An annotator's desk: what they hold and have answered, their pace, and what they remark on an item."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, exists, func, insert, select

from judge.domain import Claim, ClaimError, Held, JudgeVerdict, OwnVerdict, Pace, Progress
from storage.claims import HELD
from storage.codec import item_from_json, scale_from_json
from storage.raters import rater_id_of
from storage.schema import calls, claims, items, progress, protocols, raters, remarks, studies, verdicts
from storage.verdicts import WITHDRAWN, lock_claim

RECENT = 20  # how many verdicts a pace is the median of

_CLAIM = (
    select(
        claims,
        items.c.body,
        studies.c.name.label("study"),
        studies.c.size,
        raters.c.name.label("rater"),
        protocols.c.scale,
        progress.c.done,
        progress.c.skipped,
    )
    .join(items, items.c.id == claims.c.item_id)
    .join(studies, studies.c.id == claims.c.study_id)
    .join(protocols, protocols.c.id == studies.c.protocol_id)
    .join(raters, raters.c.id == claims.c.rater_id)
    .join(progress, (progress.c.study_id == claims.c.study_id) & (progress.c.rater_id == claims.c.rater_id))
)
_RATER = select(raters.c.id).where(raters.c.kind == "human", raters.c.name == bindparam("rater")).scalar_subquery()
_BY_TOKEN = _CLAIM.where(claims.c.token == bindparam("token"))
_BY_ITEM = (
    _CLAIM.where(
        claims.c.study_id == bindparam("study_id"),
        claims.c.rater_id == _RATER,
        items.c.name == bindparam("item"),
        claims.c.state.in_(HELD),
    )
    .order_by(claims.c.id.desc())
    .limit(1)
)
_MINE = _CLAIM.where(
    claims.c.study_id == bindparam("study_id"),
    claims.c.rater_id == bindparam("rater_id"),
    claims.c.state.in_(HELD),
).limit(1)
_STEPS = {
    "back": _MINE.where(claims.c.id < bindparam("at")).order_by(claims.c.id.desc()),
    "on": _MINE.where(claims.c.id > bindparam("at")).order_by(claims.c.id),
}
_OWN = select(verdicts).where(verdicts.c.claim_id == bindparam("claim")).order_by(verdicts.c.id.desc()).limit(1)
_FLAG = (
    select(remarks.c.kind)
    .where(
        remarks.c.item_id == bindparam("item_id"),
        remarks.c.rater_id == bindparam("rater_id"),
        remarks.c.kind.in_(("flag", "unflag")),
    )
    .order_by(remarks.c.id.desc())
    .limit(1)
)
_SECONDS = (
    select(verdicts.c.seconds)
    .where(
        verdicts.c.study_id == bindparam("study_id"),
        verdicts.c.rater_id == _RATER,
        verdicts.c.seconds.is_not(None),
    )
    .order_by(verdicts.c.id.desc())
    .limit(RECENT)
)
_TEAM = select(func.coalesce(func.sum(progress.c.done), 0)).where(progress.c.study_id == bindparam("study_id"))
_later = verdicts.alias("later")
_JUDGES = (
    select(verdicts, raters.c.name.label("judge"), calls.c.raw, calls.c.finish_reason)
    .join(raters, raters.c.id == verdicts.c.rater_id)
    .join(calls, calls.c.id == verdicts.c.call_id, isouter=True)
    .where(
        verdicts.c.item_id == bindparam("item_id"),
        raters.c.kind == "judge",
        verdicts.c.status != WITHDRAWN,
        ~exists().where(_later.c.supersedes == verdicts.c.id),
    )
    .order_by(raters.c.name, verdicts.c.order, verdicts.c.id)
)


def held_claim(connection: Connection, token: str, rater: str | None) -> Held:
    """Return a claim of this rater with what they said of it."""
    row = connection.execute(_BY_TOKEN, {"token": token}).one_or_none()
    if row is None or (rater is not None and row.rater != rater):
        raise ClaimError("this claim is not known here, or is not yours. Ask for the next item.")
    return _held(connection, row)


def find_held(connection: Connection, study_id: int, rater: str, item: str) -> Held | None:
    """Return the claim that a rater holds or has answered on an item, if there is one."""
    row = connection.execute(_BY_ITEM, {"study_id": study_id, "rater": rater, "item": item}).one_or_none()
    return None if row is None else _held(connection, row)


def neighbour(connection: Connection, token: str, rater: str | None, way: Literal["back", "on"]) -> Held | None:
    """Return the claim before or after this one among those its rater holds or has answered."""
    row = connection.execute(_BY_TOKEN, {"token": token}).one_or_none()
    if row is None or (rater is not None and row.rater != rater):
        raise ClaimError("this claim is not known here, or is not yours. Ask for the next item.")
    asked = {"study_id": row.study_id, "rater_id": row.rater_id, "at": row.id}
    found = connection.execute(_STEPS[way], asked).one_or_none()
    return None if found is None else _held(connection, found)


def _held(connection: Connection, row: Row[Any]) -> Held:
    claim = Claim(
        token=row.token,
        study=row.study,
        rater=row.rater,
        item=item_from_json(json.loads(row.body)),
        order=row.order,
        expires=row.expires,
        progress=Progress(row.done, row.size, row.skipped),
    )
    flag = connection.execute(_FLAG, {"item_id": row.item_id, "rater_id": row.rater_id}).scalar()
    return Held(claim, row.state, _own(connection, row), row.revealed is not None, flag == "flag")


def _own(connection: Connection, row: Row[Any]) -> OwnVerdict | None:
    last = connection.execute(_OWN, {"claim": row.id}).one_or_none()
    if last is None or last.status == WITHDRAWN:
        return None
    label = scale_from_json(row.scale).mirror(last.label) if row.order == "BA" else last.label
    return OwnVerdict(label, last.comment, last.confidence, last.stored, last.revision)


def pace(connection: Connection, study_id: int, wanted: int, size: int, rater: str) -> Pace:
    """Return how quick a rater is and how far everybody has come."""
    seconds = sorted(connection.execute(_SECONDS, {"study_id": study_id, "rater": rater}).scalars())
    given = connection.execute(_TEAM, {"study_id": study_id}).scalar_one()
    return Pace(seconds[len(seconds) // 2] if seconds else None, int(given), wanted * size)


def judge_verdicts(connection: Connection, token: str) -> list[JudgeVerdict]:
    """Return what the judges said of a claim's item; the caller has made sure that it may be seen."""
    item_id = connection.execute(select(claims.c.item_id).where(claims.c.token == token)).scalar_one()
    return [
        JudgeVerdict(row.judge, row.status, row.label, row.order, row.raw, row.finish_reason)
        for row in connection.execute(_JUDGES, {"item_id": item_id})
    ]


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rater remarks on an item: a flag, or why they and a judge differ."""

    kind: str
    judge: str | None = None
    comment: str | None = None


def add_remark(connection: Connection, token: str, remark: Remark, now: datetime, rater: int | None) -> None:
    """Keep a remark on a claim's item."""
    claim = lock_claim(connection, token, rater)
    row = {
        "study_id": claim.study_id,
        "item_id": claim.item_id,
        "rater_id": claim.rater_id,
        "judge_id": None if remark.judge is None else rater_id_of(connection, "judge", remark.judge),
        "kind": remark.kind,
        "comment": remark.comment,
        "created": now,
    }
    connection.execute(insert(remarks).values(row))
