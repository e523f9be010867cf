"""Several imported verdicts of one person on one item: revisions of each other, by when they were given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from storage.schema import verdicts

_EARLIEST = datetime.min.replace(tzinfo=UTC)
_CLEAR = update(verdicts).where(verdicts.c.id == bindparam("number")).values(supersedes=None)
_LINK = (
    update(verdicts)
    .where(verdicts.c.id == bindparam("number"))
    .values(supersedes=bindparam("before"), revision=bindparam("at"))
)


class Key(NamedTuple):
    """Whose verdicts on what revise each other; a hidden repeat is a judgment of its own."""

    item_id: int
    rater_id: int
    repeat: bool


class Known(NamedTuple):
    """A verdict that is stored, as far as its place among revisions goes."""

    id: int
    key: Key
    hash: str | None
    created: datetime | None
    supersedes: int | None
    collected: bool  # given here, in a claim, and not imported


def known_verdicts(connection: Connection, item_ids: Sequence[int]) -> list[Known]:
    """Return the verdicts that items have, oldest first."""
    if not item_ids:
        return []
    named = ("id", "item_id", "rater_id", "repeat", "hash", "created", "supersedes", "claim_id")
    found = select(*(verdicts.c[name] for name in named)).where(verdicts.c.item_id.in_(item_ids))
    return [
        Known(
            row.id,
            Key(row.item_id, row.rater_id, row.repeat),
            row.hash,
            row.created,
            row.supersedes,
            row.claim_id is not None,
        )
        for row in connection.execute(found.order_by(verdicts.c.id))
    ]


def key_of(row: Mapping[str, Any]) -> Key | None:
    """Return whose verdict a new row is; None for a judge, whose several answers revise nothing."""
    return Key(row["item_id"], row["rater_id"], row["repeat"]) if row["kind"] == "human" else None


def link_revisions(connection: Connection, stored: Iterable[Known], new: Iterable[Known]) -> None:
    """Let each verdict of a person on an item supersede the one given before it; unknown times come first.

    What was collected here goes on being revised in its claim, so it comes after everything imported.
    """
    groups: dict[Key, list[Known]] = {}
    for one in new:
        groups.setdefault(one.key, []).append(one)
    for one in stored:
        if one.key in groups:
            groups[one.key].append(one)
    changed = [change for group in groups.values() if len(group) > 1 for change in _changes(group)]
    if changed:
        # A verdict is superseded by one other at most, also while the links are being changed.
        connection.execute(_CLEAR, [{"number": one.id} for one, _, _ in changed])
        connection.execute(_LINK, [{"number": one.id, "before": before, "at": at} for one, before, at in changed])


def _changes(group: Sequence[Known]) -> Iterator[tuple[Known, int, int]]:
    """Yield each verdict that is to supersede another than it does, with that one and its own number."""
    imported = sorted((one for one in group if not one.collected), key=lambda one: (one.created or _EARLIEST, one.id))
    # The first of what was collected may have been linked to what was then the last import.
    earlier = {None, *(one.id for one in imported)}
    collected = sorted((one for one in group if one.collected and one.supersedes in earlier), key=_unlinked)
    chain = imported + collected[:1]
    for at, (before, one) in enumerate(pairwise(chain), 2):
        if one.supersedes != before.id:
            yield one, before.id, 1 if one.collected else at


def _unlinked(one: Known) -> bool:
    return one.supersedes is None
