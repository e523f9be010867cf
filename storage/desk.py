"""An annotator's desk: what they hold and have answered, their pace, and what they remark on an item."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, exists, func, insert, select

from judge.domain import (
    LONGEST_COMMENT,
    LONGEST_NAME,
    Claim,
    ClaimError,
    Held,
    JudgeVerdict,
    OwnVerdict,
    Pace,
    Progress,
    Study,
    check_text,
)
from storage.claims import HELD
from storage.codec import item_from_json
from storage.raters import rater_id_of
from storage.schema import WITHDRAWN, calls, claims, items, progress, raters, remarks, studies, verdicts
from storage.studies import STUDY_COLUMNS, join_study, study_in
from storage.verdicts import lock_claim

RECENT = 20  # how many verdicts a pace is the median of

_own, _newer = verdicts.alias("own"), verdicts.alias("newer")
_FLAG = (
    select(remarks.c.kind)
    .where(
        remarks.c.item_id == claims.c.item_id,
        remarks.c.rater_id == claims.c.rater_id,
        remarks.c.kind.in_(("flag", "unflag")),
    )
    .order_by(remarks.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
# One query for all that a page shows of a claim: several would cost an annotator's wait.
_CLAIM = (
    select(
        claims,
        items.c.body,
        raters.c.name.label("rater"),
        progress.c.done,
        progress.c.skipped,
        *(
            _own.c[name].label(f"own_{name}")
            for name in ("status", "label", "comment", "confidence", "stored", "revision")
        ),
        _FLAG.label("flag"),
        *STUDY_COLUMNS,
    )
    .join(items, items.c.id == claims.c.item_id)
    .join(studies, studies.c.id == claims.c.study_id)
    .join(raters, raters.c.id == claims.c.rater_id)
    .join(progress, (progress.c.study_id == claims.c.study_id) & (progress.c.rater_id == claims.c.rater_id))
    .join(_own, (_own.c.claim_id == claims.c.id) & ~exists().where(_newer.c.supersedes == _own.c.id), isouter=True)
)
_CLAIM = join_study(_CLAIM)
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
_STUDY = select(studies.c.id).where(studies.c.name == bindparam("study")).scalar_subquery()
_SECONDS = (
    select(verdicts.c.seconds)
    .where(
        verdicts.c.study_id == _STUDY,
        verdicts.c.rater_id == _RATER,
        verdicts.c.seconds.is_not(None),
    )
    .order_by(verdicts.c.id.desc())
    .limit(RECENT)
)
_TEAM = select(func.coalesce(func.sum(progress.c.done), 0)).where(progress.c.study_id == _STUDY)
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
    return _held(_claim_of(connection, token, rater))


def _claim_of(connection: Connection, token: str, rater: str | None) -> Row[Any]:
    check_text("the claim", token, LONGEST_NAME)
    row = connection.execute(_BY_TOKEN, {"token": token}).one_or_none()
    if row is None or (rater is not None and row.rater != rater):
        raise ClaimError("this claim is not known here, or is not yours. Ask for the next item.")
    return row


def find_held(connection: Connection, study_id: int, rater: str, item: str) -> Held | None:
    """Return the claim that a rater holds or has answered on an item, if there is one."""
    row = connection.execute(_BY_ITEM, {"study_id": study_id, "rater": rater, "item": item}).one_or_none()
    return None if row is None else _held(row)


def neighbour(connection: Connection, token: str, rater: str | None, way: Literal["back", "on"]) -> Held | None:
    """Return the claim before or after this one among those its rater holds or has answered."""
    row = _claim_of(connection, token, rater)
    asked = {"study_id": row.study_id, "rater_id": row.rater_id, "at": row.id}
    found = connection.execute(_STEPS[way], asked).one_or_none()
    return None if found is None else _held(found)


def _held(row: Row[Any]) -> Held:
    study = study_in(row)
    claim = Claim(
        token=row.token,
        study=study.name,
        rater=row.rater,
        item=item_from_json(json.loads(row.body)),
        order=row.order,
        expires=row.expires,
        progress=Progress(row.done, study.items, row.skipped),
    )
    return Held(claim, study, row.state, _own_verdict(row, study), row.revealed is not None, row.flag == "flag")


def _own_verdict(row: Row[Any], study: Study) -> OwnVerdict | None:
    if row.own_status is None or row.own_status == WITHDRAWN:
        return None
    label = study.protocol.scale.mirror(row.own_label) if row.order == "BA" else row.own_label
    return OwnVerdict(label, row.own_comment, row.own_confidence, row.own_stored, row.own_revision)


def pace(connection: Connection, study: Study, rater: str) -> Pace:
    """Return how quick a rater is and how far everybody has come."""
    seconds = sorted(connection.execute(_SECONDS, {"study": study.name, "rater": rater}).scalars())
    given = connection.execute(_TEAM, {"study": study.name}).scalar_one()
    return Pace(seconds[len(seconds) // 2] if seconds else None, int(given), study.wanted * study.items)


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

    def __post_init__(self) -> None:
        """Refuse what cannot be kept."""
        for what, text, longest in (
            ("the remark", self.kind, LONGEST_NAME),
            ("the judge's name", self.judge, LONGEST_NAME),
            ("the comment", self.comment, LONGEST_COMMENT),
        ):
            if text is not None:
                check_text(what, text, longest)


def add_remark(connection: Connection, token: str, remark: Remark, now: datetime, rater: str | None) -> None:
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
