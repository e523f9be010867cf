"""Adding items with the verdicts already given on them, in batches that hold the write lock only briefly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from judge.domain import GivenVerdict, InputError, Item, RaterKind, content_hash
from storage.choices import note_choices
from storage.codec import encode, item_facts, item_hash, item_to_json, verdict_to_json
from storage.counts import add_counts, lock_counts
from storage.raters import rater_id_of
from storage.revisions import Key, Known, key_of, known_verdicts, link_revisions
from storage.schema import calls, facts, items, studies, verdicts
from storage.studies import StudyRow


class Prepared(NamedTuple):
    """An item ready to be stored: everything that can be worked out without the database."""

    name: str
    cluster: str | None
    body: str
    hash: str
    verdicts: tuple[GivenVerdict, ...] = ()
    facts: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Added:
    """How much of what was given is new."""

    items: int = 0
    verdicts: int = 0

    def __add__(self, other: Added) -> Added:
        return Added(self.items + other.items, self.verdicts + other.verdicts)


def prepare(item: Item, given: Iterable[GivenVerdict] = ()) -> Prepared:
    """Work out how an item is stored."""
    value = item_to_json(item)
    body = encode(value)
    return Prepared(item.id, item.cluster, body, item_hash(body), tuple(given), item_facts(value))


def known_hashes(connection: Connection, study_id: int, names: Sequence[str]) -> dict[str, str]:
    """Return the content hashes of those of the names that the study has."""
    found = select(items.c.name, items.c.hash).where(items.c.study_id == study_id, items.c.name.in_(names))
    return {row.name: row.hash for row in connection.execute(found)}


def add_prepared(connection: Connection, study: StudyRow, batch: Sequence[Prepared], now: datetime) -> Added:
    """Store what is new in a batch; what is there already adds nothing, other content under the same id is refused."""
    names = [prepared.name for prepared in batch]
    known = known_hashes(connection, study.id, names)
    for prepared in batch:
        if known.get(prepared.name, prepared.hash) != prepared.hash:
            raise InputError(f"item {prepared.name!r} is in the study with other content: nothing of it was changed")
    # The same item may stand on several lines, each with other verdicts.
    fresh = list({prepared.name: prepared for prepared in batch if prepared.name not in known}.values())
    _insert_items(connection, study, fresh)
    judged = [prepared for prepared in batch if prepared.verdicts]
    if not judged:
        return Added(items=len(fresh))
    return Added(len(fresh), _Verdicts(connection, study, now).add(judged, set(known)))


def _insert_items(connection: Connection, study: StudyRow, fresh: Sequence[Prepared]) -> None:
    if not fresh:
        return
    # The study's row is held until the commit, so that two imports never give out the same positions.
    counted = update(studies).where(studies.c.id == study.id).values(size=studies.c.size + len(fresh))
    total = int(connection.execute(counted.returning(studies.c.size)).scalar_one())
    wanted = connection.execute(select(studies.c.wanted).where(studies.c.id == study.id)).scalar_one()
    rows = [
        {
            "study_id": study.id,
            "position": total - len(fresh) + index,
            "name": prepared.name,
            "hash": prepared.hash,
            "cluster": prepared.cluster,
            "body": prepared.body,
            "free": wanted,
        }
        for index, prepared in enumerate(fresh)
    ]
    connection.execute(insert(items), rows)
    known = [
        {"study_id": study.id, "position": row["position"], **prepared.facts}
        for row, prepared in zip(rows, fresh, strict=True)
    ]
    connection.execute(insert(facts), known)
    note_choices(connection, study.id, known)


class _Verdicts:
    """The adding of one batch's verdicts."""

    def __init__(self, connection: Connection, study: StudyRow, now: datetime) -> None:
        self.connection = connection
        self.study = study
        self.now = now
        self.raters: dict[tuple[RaterKind, str], int] = {}

    def add(self, batch: Sequence[Prepared], known: set[str]) -> int:
        """Store the verdicts that are new and return how many there were."""
        names = [prepared.name for prepared in batch]
        found = select(items.c.name, items.c.id).where(items.c.study_id == self.study.id, items.c.name.in_(names))
        ids = {row.name: row.id for row in self.connection.execute(found)}
        known_before = known_verdicts(self.connection, [ids[name] for name in names if name in known])
        stored = {(one.key.item_id, one.hash) for one in known_before if one.hash is not None}
        rows: list[dict[str, Any]] = []
        for prepared in batch:
            rows += self._new_rows(ids[prepared.name], prepared.verdicts, stored)
        if rows:
            self._link_calls(rows)
            self._insert(rows, known_before)
            self._take_places(rows, {one.key for one in known_before})
        return len(rows)

    def _insert(self, rows: list[dict[str, Any]], stored: Sequence[Known]) -> None:
        """Store the rows; where a person has several on one item, the later ones as revisions of the earlier."""
        columns = verdicts.c.keys()
        values = [{name: value for name, value in row.items() if name in columns} for row in rows]
        keys = [key_of(row) for row in rows]
        given = Counter(key for key in (*keys, *{one.key for one in stored}) if key is not None)
        if not any(given[key] > 1 for key in keys if key is not None):
            self.connection.execute(insert(verdicts), values)
            return
        added = insert(verdicts).returning(verdicts.c.id, sort_by_parameter_order=True)
        numbers = self.connection.execute(added, values).scalars().all()
        new = [
            Known(number, key, row["hash"], row["created"], None, collected=False)
            for number, key, row in zip(numbers, keys, rows, strict=True)
            if key is not None
        ]
        link_revisions(self.connection, stored, new)

    def _new_rows(
        self, item_id: int, given: Sequence[GivenVerdict], stored: set[tuple[int, str]]
    ) -> Iterable[dict[str, Any]]:
        seen: Counter[str] = Counter()
        for verdict in given:
            described = encode(verdict_to_json(verdict))
            # A judge asked twice may say the same twice: the count tells the second from a copy of the first.
            digest = content_hash("verdict", described, str(seen[described]))
            seen[described] += 1
            if (item_id, digest) not in stored:
                stored.add((item_id, digest))
                yield self._row(item_id, verdict, digest)

    def _row(self, item_id: int, verdict: GivenVerdict, digest: str) -> dict[str, Any]:
        return {
            "study_id": self.study.id,
            "item_id": item_id,
            "rater_id": self._rater(verdict.kind, verdict.rater),
            "kind": verdict.kind,
            "raw": verdict.raw,
            "status": verdict.status,
            "label": verdict.label,
            "order": verdict.order,
            "repeat": verdict.repeat,
            "comment": verdict.comment,
            "confidence": verdict.confidence,
            "seconds": verdict.seconds,
            "after_reveal": bool(verdict.extra.get("after_reveal")),
            "hash": digest,
            "extra": dict(verdict.extra) or None,
            "created": verdict.created,
            "stored": self.now,
        }

    def _rater(self, kind: RaterKind, name: str) -> int:
        if (kind, name) not in self.raters:
            self.raters[kind, name] = rater_id_of(self.connection, kind, name)
        return self.raters[kind, name]

    def _link_calls(self, rows: list[dict[str, Any]]) -> None:
        """Keep raw replies as calls, which is where a judge's replies are read again from."""
        replied = [row for row in rows if row["raw"] is not None]
        kept = ("study_id", "item_id", "rater_id", "order", "raw", "created")
        made = [{name: row[name] for name in kept} for row in replied]
        added = insert(calls).returning(calls.c.id, sort_by_parameter_order=True)
        numbers = self.connection.execute(added, made).scalars().all() if made else []
        for row in rows:
            row["call_id"] = None
        for row, number in zip(replied, numbers, strict=True):
            row["call_id"] = number

    def _take_places(self, rows: list[dict[str, Any]], before: set[Key]) -> None:
        """Count imported human verdicts towards the wanted ones: they need not be collected again."""
        keys = {key for key in map(key_of, rows) if key is not None and not key.repeat}
        given = {(key.item_id, key.rater_id) for key in keys - before}
        for taken, found in _inverted(Counter(item_id for item_id, _ in given)).items():
            self.connection.execute(
                update(items).where(items.c.id.in_(found)).values(free=items.c.free - taken),
            )
        for rater_id, done in Counter(rater_id for _, rater_id in given).items():
            lock_counts(self.connection, self.study.id, rater_id)
            add_counts(self.connection, self.study.id, rater_id, done=done)


def _inverted(counts: Counter[int]) -> dict[int, list[int]]:
    by_count: dict[int, list[int]] = {}
    for item_id, count in sorted(counts.items()):
        by_count.setdefault(count, []).append(item_id)
    return by_count
