"""Saving verdicts: idempotent by claim, append-only, and true only after the commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, exists, insert, select, update

from judge.domain import LONGEST_COMMENT, LONGEST_NAME, ClaimError, InputError, Saved, check_text
from storage.claims import HELD, give_back, take_place
from storage.codec import scale_from_json
from storage.counts import add_counts, lock_counts
from storage.schema import WITHDRAWN, claims, protocols, raters, studies, verdicts
from storage.trail import record_event

LONGEST_SECONDS = 366 * 24 * 3600.0  # a page may stay open, but not for ever
MOST_CONFIDENCE = 100


@dataclass(frozen=True, slots=True)
class Submission:
    """What a person sends: a label in the frame they were shown, and what goes with it."""

    label: str
    comment: str | None = None
    seconds: float | None = None
    confidence: int | None = None
    prompt_hash: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no page of ours sends: every door for verdicts leads through here."""
        check_text("the label", self.label, LONGEST_NAME)
        if self.comment is not None:
            check_text("the comment", self.comment, LONGEST_COMMENT)
        if self.seconds is not None and not (_is_number(self.seconds) and 0 <= self.seconds <= LONGEST_SECONDS):
            raise InputError("the seconds must be a number from 0 to those of a year: nothing was stored")
        known = self.confidence is None or (
            _is_number(self.confidence) and self.confidence in range(MOST_CONFIDENCE + 1)
        )
        if not known:
            raise InputError(f"the confidence must be a whole number from 0 to {MOST_CONFIDENCE}: nothing was stored")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def save_verdict(
    connection: Connection, token: str, sent: Submission, now: datetime, rater: str | None = None
) -> Saved:
    """Store what was sent for a claim; the same again changes nothing, another label is a revision."""
    claim = lock_claim(connection, token, rater)
    label = _unswapped(claim, sent.label)
    last = _last_verdict(connection, claim.id)
    if last is not None and _same(last, label, sent):
        return Saved(last.id, last.stored, label, last.revision)
    if claim.state not in HELD:
        _take_again(connection, claim)
    given = {
        "status": "ok",
        "label": label,
        "comment": sent.comment,
        "confidence": sent.confidence,
        "seconds": sent.seconds,
        "prompt_hash": sent.prompt_hash,
    }
    saved = _append(connection, claim, last, now, given)
    if claim.state != "done":
        _finish(connection, claim)
    return saved


def _append(
    connection: Connection, claim: Row[Any], last: Row[Any] | None, now: datetime, given: dict[str, Any]
) -> Saved:
    """Add one more verdict to a claim's chain of revisions."""
    row = {
        "study_id": claim.study_id,
        "item_id": claim.item_id,
        "rater_id": claim.rater_id,
        "claim_id": claim.id,
        "supersedes": None if last is None else last.id,
        "revision": 1 if last is None else last.revision + 1,
        "order": claim.order,
        "repeat": claim.repeat,
        "guideline_version": claim.guideline_version,
        "after_reveal": claim.revealed is not None,
        "created": now,
        "stored": now,
        **given,
    }
    verdict_id = connection.execute(_INSERT, row).scalar_one()
    return Saved(int(verdict_id), now, given.get("label"), row["revision"])


_INSERT = insert(verdicts).returning(verdicts.c.id)
_LAST = select(verdicts).where(verdicts.c.claim_id == bindparam("claim")).order_by(verdicts.c.id.desc()).limit(1)
_SET_STATE = update(claims).where(claims.c.id == bindparam("claim")).values(state=bindparam("to"))
_CLAIM = (
    select(claims, protocols.c.scale, raters.c.name.label("rater"))
    .join(raters, raters.c.id == claims.c.rater_id)
    .join(studies, studies.c.id == claims.c.study_id)
    .join(protocols, protocols.c.id == studies.c.protocol_id)
    .where(claims.c.token == bindparam("token"))
)


def lock_claim(connection: Connection, token: str, rater: str | None) -> Row[Any]:
    """Return a claim with its study's scale, holding it and its rater's counts so that nothing changes under it."""
    check_text("the claim", token, LONGEST_NAME)
    claim = connection.execute(_CLAIM, {"token": token}).one_or_none()
    if claim is None or (rater is not None and claim.rater != rater):
        raise ClaimError("this claim is not known here, or is not yours: nothing was stored. Ask for the next item.")
    if connection.dialect.name == "sqlite":
        return claim  # there the whole transaction holds the one write lock
    # Counts before claim before item, as everywhere: a fixed order of locks cannot deadlock.
    lock_counts(connection, claim.study_id, claim.rater_id)
    return connection.execute(_CLAIM.with_for_update(of=claims), {"token": token}).one()


def _unswapped(claim: Row[Any], label: str) -> str:
    scale = scale_from_json(claim.scale)
    if label not in scale.labels:
        raise ClaimError(f"{label!r} is not a label of this study ({' '.join(scale.labels)}): nothing was stored")
    return scale.mirror(label) if claim.order == "BA" else label


def _last_verdict(connection: Connection, claim_id: int) -> Row[Any] | None:
    return connection.execute(_LAST, {"claim": claim_id}).one_or_none()


def _same(last: Row[Any], label: str, sent: Submission) -> bool:
    return (last.status, last.label, last.comment, last.confidence) == ("ok", label, sent.comment, sent.confidence)


def _take_again(connection: Connection, claim: Row[Any]) -> None:
    """Let a late verdict in, if the place is still free and the rater has not done the item meanwhile."""
    others = exists().where(
        claims.c.item_id == claim.item_id,
        claims.c.rater_id == claim.rater_id,
        claims.c.repeat == claim.repeat,
        claims.c.state.in_(HELD),
        claims.c.id != claim.id,
    )
    if connection.execute(select(others)).scalar():
        raise ClaimError("this claim has run out and you have taken the item again since: nothing was stored")
    if not claim.repeat and not take_place(connection, claim.item_id):
        raise ClaimError("this claim has run out and its place has gone to somebody else: nothing was stored")


def _finish(connection: Connection, claim: Row[Any]) -> None:
    connection.execute(_SET_STATE, {"claim": claim.id, "to": "done"})
    add_counts(
        connection,
        claim.study_id,
        claim.rater_id,
        done=int(not claim.repeat),
        repeats=int(claim.repeat),
        skipped=-int(claim.state == "skipped"),
    )


def undo_verdict(connection: Connection, token: str, now: datetime, rater: str | None = None) -> Saved:
    """Withdraw a claim's verdict by a further revision and open the claim again; its place stays held."""
    claim = lock_claim(connection, token, rater)
    last = _last_verdict(connection, claim.id)
    if claim.state != "done" or last is None:
        raise ClaimError("there is no verdict to undo here")
    saved = _append(connection, claim, last, now, {"status": WITHDRAWN})
    length = connection.execute(select(studies.c.claim_seconds).where(studies.c.id == claim.study_id)).scalar_one()
    reopened = {"state": "open", "expires": now + timedelta(seconds=length)}
    connection.execute(update(claims).where(claims.c.id == claim.id).values(reopened))
    add_counts(connection, claim.study_id, claim.rater_id, done=-int(not claim.repeat), repeats=-int(claim.repeat))
    return saved


def skip_item(connection: Connection, token: str, reason: str, now: datetime, rater: str | None = None) -> None:
    """Give a place back and record why; skipping twice changes nothing."""
    check_text("the reason", reason, LONGEST_COMMENT)
    claim = lock_claim(connection, token, rater)
    if claim.state in ("skipped", "expired"):
        return
    if claim.state == "done":
        raise ClaimError("this item has your verdict already: undo it first")
    connection.execute(_SET_STATE, {"claim": claim.id, "to": "skipped"})
    add_counts(connection, claim.study_id, claim.rater_id, skipped=int(not claim.repeat))
    if not claim.repeat:  # what was not answered does not count towards the balance of the sides
        give_back(connection, claim.item_id)
        swapped = int(claim.order == "BA")
        add_counts(connection, claim.study_id, claim.rater_id, shown=-1, swapped=-swapped)
    record_event(connection, "skip", now, claim.study_id, claim.rater_id, item=claim.item_id, reason=reason)


def reveal(connection: Connection, token: str, now: datetime, rater: str | None = None) -> None:
    """Record that a rater may now see what was hidden; only after their verdict."""
    claim = lock_claim(connection, token, rater)
    if claim.state != "done":
        raise ClaimError("what is hidden is shown only after your verdict")
    if claim.revealed is None:
        connection.execute(update(claims).where(claims.c.id == claim.id).values(revealed=now))
        record_event(connection, "reveal", now, claim.study_id, claim.rater_id, item=claim.item_id)
