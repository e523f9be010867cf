"""Who may give the next verdict on what: exactly N different raters for each item.

A place is taken by one conditional write on the item (`free` goes down only while it is above zero), so that two
people can never be handed the same one, whatever the database and however many processes there are.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, and_, bindparam, exists, func, insert, or_, select, update

from judge.domain import Item, NothingToDo, Order, Progress
from storage.codec import item_from_json
from storage.counts import count_shown, find_counts, lock_counts
from storage.raters import find_rater, rater_id_of
from storage.schema import UtcTime, claims, items, verdicts
from storage.shuffle import shuffle_key, shuffled
from storage.studies import StudyRow

HELD = ("open", "done")
SEEN = ("open", "done", "skipped")
FIRST_LOOK = 16
LONGEST_LOOK = 512
FEW = 256
NOWHERE = -1  # a position no item has
CLOCKS_DIFFER = timedelta(minutes=1)  # at most, between machines that share a database
REPEAT_GAP = 10  # how many other items lie at least between an item and its hidden repeat


@dataclass(frozen=True, slots=True)
class Asking:
    """One rater asking one study for work."""

    study: StudyRow
    rater: str
    rater_id: int
    now: datetime
    counts: Row[Any]

    @property
    def progress(self) -> Progress:
        """Return how far this rater has come."""
        return Progress(self.counts.done, self.study.study.items, self.counts.skipped)

    @property
    def who(self) -> dict[str, int]:
        """Return what the queries below are asked with."""
        return {"study": self.study.id, "rater": self.rater_id}

    @property
    def key(self) -> int:
        """Return what this rater's shuffle and sides are made from."""
        return shuffle_key(self.study.study.seed, self.study.study.name, self.rater)


_OPEN = and_(claims.c.study_id == bindparam("study"), claims.c.state == "open")
_EXPIRED = and_(_OPEN, claims.c.expires < bindparam("now", type_=UtcTime))
# No claim lasts so long: the clock was put back since it was made.
_TOO_LONG = and_(_OPEN, claims.c.expires > bindparam("latest", type_=UtcTime))
_ANY_DUE = select(or_(exists().where(_EXPIRED), exists().where(_TOO_LONG)))
_SHORTEN = update(claims).where(_TOO_LONG).values(expires=bindparam("until"))
_DUE = (
    select(claims.c.id, claims.c.item_id, claims.c.repeat)
    .where(_EXPIRED)
    .order_by(claims.c.item_id)
    .with_for_update(skip_locked=True)
)
_TAKE = update(items).where(items.c.id == bindparam("item"), items.c.free > 0).values(free=items.c.free - 1)
_GIVE_BACK = update(items).where(items.c.id == bindparam("item")).values(free=items.c.free + 1)
_HELD = (
    select(claims.c.id, claims.c.token)
    .where(claims.c.study_id == bindparam("study"), claims.c.rater_id == bindparam("rater"), claims.c.state == "open")
    .order_by(claims.c.id)
    .limit(1)
)
_RENEW = update(claims).where(claims.c.id == bindparam("claim")).values(expires=bindparam("until"))
_INSERT = insert(claims)
_BODY = select(items.c.body).where(items.c.id == bindparam("item"))


def expire_claims(connection: Connection, study: StudyRow, now: datetime) -> int:
    """Return the places of claims whose time is up to the queue; say how many there were.

    Claims from before the clock was put back run out after the usual time, and not when the clock is there again.
    """
    until = now + timedelta(seconds=study.study.claim_seconds)
    connection.execute(_SHORTEN, {"study": study.id, "latest": until + CLOCKS_DIFFER, "until": until})
    rows = connection.execute(_DUE, {"study": study.id, "now": now}).all()
    for row in rows:
        connection.execute(update(claims).where(claims.c.id == row.id).values(state="expired"))
        if not row.repeat:
            give_back(connection, row.item_id)
    return len(rows)


def any_expired(connection: Connection, study: StudyRow, now: datetime) -> bool:
    """Say whether a claim's time is up, or further away than it can be."""
    latest = now + timedelta(seconds=study.study.claim_seconds) + CLOCKS_DIFFER
    return bool(connection.execute(_ANY_DUE, {"study": study.id, "now": now, "latest": latest}).scalar())


def take_place(connection: Connection, item_id: int) -> bool:
    """Take one of an item's free places, if there is one: the one write that decides."""
    return connection.execute(_TAKE, {"item": item_id}).rowcount == 1


def give_back(connection: Connection, item_id: int) -> None:
    """Return a place to the queue."""
    connection.execute(_GIVE_BACK, {"item": item_id})


def claim_next(connection: Connection, study: StudyRow, rater: str, now: datetime) -> str | NothingToDo:
    """Give a rater the item they hold already, a hidden repeat that is due, or the next free item in their shuffle.

    Returns the token of the claim.
    """
    rater_id = rater_id_of(connection, "human", rater)
    counts = lock_counts(connection, study.id, rater_id)
    asking = Asking(study, rater, rater_id, now, counts)
    if (held := connection.execute(_HELD, asking.who).one_or_none()) is not None:
        return _renewed(connection, asking, held)
    if study.study.closed is not None:
        return NothingToDo("study is closed", asking.progress)
    if (again := _due_repeat(connection, asking)) is not None:
        return _claim_repeat(connection, asking, again)
    cursor = counts.cursor if counts.shuffled == study.study.items else 0
    if counts.done + counts.skipped >= study.study.items:
        return NothingToDo("finished", asking.progress)
    while (found := _next_free(connection, asking, cursor)) is not None:
        item, cursor = found
        if take_place(connection, item.id):
            return _claim_item(connection, asking, item, cursor)
    return NothingToDo(_why_nothing(connection, asking), asking.progress)


def foresee_next(connection: Connection, study: StudyRow, rater: str, now: datetime) -> Item | None:
    """Return the item that a rater will most likely be given after the one they hold; nothing is taken."""
    rater_id = find_rater(connection, "human", rater)
    counts = None if rater_id is None else find_counts(connection, study.id, rater_id)
    if rater_id is None or counts is None or counts.shuffled != study.study.items:
        return None
    found = _next_free(connection, Asking(study, rater, rater_id, now, counts), counts.cursor)
    return None if found is None else _item(connection, found[0].id)


def _renewed(connection: Connection, asking: Asking, held: Row[*tuple[Any, ...]]) -> str:
    expires = asking.now + timedelta(seconds=asking.study.study.claim_seconds)
    connection.execute(_RENEW, {"claim": held.id, "until": expires})
    return str(held.token)


def _item(connection: Connection, item_id: int) -> Item:
    return item_from_json(json.loads(connection.execute(_BODY, {"item": item_id}).scalar_one()))


_NOT_SEEN = and_(
    ~exists().where(
        claims.c.study_id == bindparam("study"),
        claims.c.rater_id == bindparam("rater"),
        claims.c.item_id == items.c.id,
        claims.c.state.in_(SEEN),
    ),
    ~exists().where(verdicts.c.item_id == items.c.id, verdicts.c.rater_id == bindparam("rater")),
)
_ORDER_BEFORE = (
    select(claims.c.order)
    .where(
        claims.c.study_id == bindparam("study"),
        claims.c.rater_id == bindparam("rater"),
        claims.c.item_id == items.c.id,
    )
    .limit(1)
    .scalar_subquery()
)
_FREE = select(items.c.id, items.c.position, _ORDER_BEFORE.label("seen")).where(
    items.c.study_id == bindparam("study"), items.c.free > 0, _NOT_SEEN
)
_FEW_FREE = _FREE.limit(FEW)


@cache
def _free_at(count: int) -> Select[Any]:
    """Return the query for the free ones of so many positions; one for any number would be written anew each time."""
    return _FREE.where(items.c.position.in_([bindparam(f"position_{number}") for number in range(count)]))


_SOME_FREE = select(func.count()).select_from(
    select(items.c.id).where(items.c.study_id == bindparam("study"), items.c.free > 0).limit(FEW + 1).subquery()
)


def _next_free(connection: Connection, asking: Asking, cursor: int) -> tuple[Row[*tuple[Any, ...]], int] | None:
    """Return the first free item in the rater's shuffle from the cursor on, and the cursor behind it.

    The shuffle is walked in growing steps; when few items are free, or at its end, those are looked at instead.
    """
    total, key = asking.study.study.items, asking.key
    look = FIRST_LOOK
    while cursor < total:
        ranks = {shuffled(rank, total, key): rank for rank in range(cursor, min(cursor + look, total))}
        positions = [*ranks, *[NOWHERE] * (look - len(ranks))]
        at = {f"position_{number}": position for number, position in enumerate(positions)}
        rows = connection.execute(_free_at(look), {**asking.who, **at}).all()
        if rows:
            first = min(rows, key=lambda row: ranks[row.position])
            return first, ranks[first.position] + 1
        cursor = min(cursor + look, total)
        look = min(look * 4, LONGEST_LOOK)
        if connection.execute(_SOME_FREE, {"study": asking.study.id}).scalar_one() <= FEW:
            break
    rows = connection.execute(_FEW_FREE, asking.who).all()
    return (min(rows, key=lambda row: shuffle_key(key, row.position)), cursor) if rows else None


def _claim_item(connection: Connection, asking: Asking, item: Row[*tuple[Any, ...]], cursor: int) -> str:
    order = item.seen or _side(asking, item.id)
    walked = cursor, asking.study.study.items
    count_shown(connection, asking.study.id, asking.rater_id, walked, swapped=order == "BA")
    return _insert_claim(connection, asking, item.id, order, repeat=False)


def _side(asking: Asking, item_id: int) -> Order:
    """Return which way round to show an item: the way this rater has had less often, else by the seed."""
    if asking.study.study.protocol.kind == "direct":
        return "AB"
    ahead = 2 * asking.counts.swapped - asking.counts.shown
    if ahead == 0:
        return "BA" if shuffle_key(asking.key, "side", item_id) % 2 else "AB"
    return "AB" if ahead > 0 else "BA"


def _insert_claim(connection: Connection, asking: Asking, item_id: int, order: Order, *, repeat: bool) -> str:
    token = secrets.token_urlsafe(18)
    row = {
        "token": token,
        "study_id": asking.study.id,
        "item_id": item_id,
        "rater_id": asking.rater_id,
        "order": order,
        "repeat": repeat,
        "state": "open",
        "guideline_version": asking.study.study.guideline_version,
        "created": asking.now,
        "expires": asking.now + timedelta(seconds=asking.study.study.claim_seconds),
    }
    connection.execute(_INSERT, row)
    return token


def _due_repeat(connection: Connection, asking: Asking) -> Row[Any] | None:
    """Return the claim to show again, when the study asks for repeats and one is due."""
    share, counts = asking.study.study.repeat_share, asking.counts
    if share <= 0 or counts.repeats >= int(share * counts.done) or counts.done <= REPEAT_GAP:
        return None
    mine = and_(claims.c.study_id == asking.study.id, claims.c.rater_id == asking.rater_id, claims.c.state == "done")
    repeated = select(claims.c.item_id).where(mine, claims.c.repeat)
    oldest = select(claims).where(mine, ~claims.c.repeat, claims.c.item_id.not_in(repeated)).order_by(claims.c.id)
    rows = connection.execute(oldest.limit(REPEAT_GAP + 1)).all()
    return rows[0] if len(rows) > REPEAT_GAP else None


def _claim_repeat(connection: Connection, asking: Asking, again: Row[Any]) -> str:
    swapped: Order = "AB" if again.order == "BA" else "BA"
    order = "AB" if asking.study.study.protocol.kind == "direct" else swapped
    return _insert_claim(connection, asking, again.item_id, order, repeat=True)


_WAITING = select(
    exists().where(
        items.c.study_id == bindparam("study"),
        exists().where(
            claims.c.study_id == bindparam("study"),
            claims.c.state == "open",
            claims.c.rater_id != bindparam("rater"),
            ~claims.c.repeat,
            claims.c.item_id == items.c.id,
        ),
        _NOT_SEEN,
    )
)


def _why_nothing(connection: Connection, asking: Asking) -> Literal["finished", "all items are held by others"]:
    return "all items are held by others" if connection.execute(_WAITING, asking.who).scalar() else "finished"
