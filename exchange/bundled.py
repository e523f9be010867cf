"""A bundle read back: its study, protocol, items, calls and verdicts, and the ratings that count among them."""

from __future__ import annotations

import json
import math
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from exchange.exporting import StoredRecord
from judge.domain import InputError
from judge.protocol import Protocol, load_protocol
from storage.codec import encode, item_facts, item_from_json, item_to_json, verdict_from_row
from storage.columns import ORDERS, STATUSES
from storage.facts import make_facts
from storage.ratings import Rater, Ratings, order_repeats
from storage.schema import WITHDRAWN

_KINDS = {"human": 0, "judge": 1}
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Bundled:
    """What the other files of a bundle follow from."""

    study: Row
    protocol: Protocol
    items: list[Row]
    verdicts: list[Row]
    calls: dict[int, Row]

    @classmethod
    def read(cls, archive: zipfile.ZipFile) -> Bundled:
        """Read a bundle's primary files."""
        study = json.loads(read_text(archive, "study.json"))
        items, verdicts = (list(_lines(archive, name)) for name in ("items.jsonl", "verdicts.jsonl"))
        calls = {call["id"]: call for call in _lines(archive, "calls.jsonl")}
        return cls(study, _protocol(archive, study["protocol"]["name"]), items, verdicts, calls)

    @property
    def bodies(self) -> Iterator[str]:
        """Yield each item's JSON text as it was imported, without what is not an item's."""
        return (encode(item_to_json(item_from_json(item))) for item in self.items)

    @property
    def current(self) -> list[Row]:
        """Return the verdicts that no later one supersedes and that were not withdrawn."""
        later = {row["supersedes"] for row in self.verdicts if "supersedes" in row}
        return [row for row in self.verdicts if row["id"] not in later and row["status"] != WITHDRAWN]

    def records(self) -> Iterator[StoredRecord]:
        """Yield each item's JSON text with its current verdicts, as the database gives them."""
        given: dict[str, list[Row]] = {}
        for row in self.current:
            given.setdefault(row["item"], []).append(row)
        for item, body in zip(self.items, self.bodies, strict=True):
            yield body, [verdict_from_row(self._completed(row)) for row in given.get(item["id"], ())]

    def _completed(self, row: Row) -> Row:
        """Return a verdict with its time as a time and what its call tells of it."""
        call = self.calls.get(row.get("call_id", 0), {})
        usage = call.get("usage") or {}
        created = row.get("created")
        return {
            **row,
            "created": None if created is None else datetime.fromisoformat(created),
            "raw": call.get("raw"),
            "reask": usage.get("reask"),
            "soft_score": usage.get("soft_score"),
        }


def read_text(archive: zipfile.ZipFile, name: str) -> str:
    """Return the text of a bundle's file."""
    return archive.read(name).decode()


def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[Row]:
    with archive.open(name) as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"{name}: line {number}: is not JSON") from error


def _protocol(archive: zipfile.ZipFile, name: str) -> Protocol:
    with tempfile.TemporaryDirectory() as folder:
        for entry in archive.namelist():
            if entry.startswith("protocols/") and entry.endswith(".md"):
                (Path(folder) / Path(entry).name).write_bytes(archive.read(entry))
        return load_protocol(Path(folder) / f"{Path(name).name}.md")


def ratings_of(items: list[dict[str, Any]], verdicts: list[dict[str, Any]], labels: tuple[str, ...]) -> Ratings:
    """Return the verdicts of a bundle that count, by the rule by which the database gives them."""
    place = {item["id"]: at for at, item in enumerate(items)}
    superseded = {row["supersedes"] for row in verdicts if "supersedes" in row and not row.get("after_reveal")}
    kept = [
        row
        for row in verdicts
        if row["status"] != WITHDRAWN and not row.get("after_reveal") and row["id"] not in superseded
    ]
    raters = sorted({(_KINDS[row["kind"]], row["rater"], row["kind"]) for row in verdicts})
    named = [Rater(name, kind) for _, name, kind in raters]
    number = {(rater.kind, rater.name): at for at, rater in enumerate(named)}
    code, order = ({name: at for at, name in enumerate(names)} for names in (labels, ORDERS))

    def column(values: Iterator[Any], kind: type = np.int64) -> Any:
        return np.array(list(values), dtype=kind)

    aside = {
        "after_reveal": sum(bool(row.get("after_reveal")) and row["status"] != WITHDRAWN for row in verdicts),
        "withdrawn": sum(row["status"] == WITHDRAWN for row in verdicts),
    }
    ratings = Ratings(
        raters=tuple(named),
        facts=make_facts([_facts(at, item) for at, item in enumerate(items)]),
        item=column(place[row["item"]] for row in kept),
        rater=column(number[row["kind"], row["rater"]] for row in kept),
        code=column((code.get(row.get("label") or "", -1) for row in kept), np.int8),
        order=column((order.get(row.get("order") or "", -1) for row in kept), np.int8),
        repeat=column((bool(row["repeat"]) for row in kept), np.bool_),
        status=column((STATUSES.index(row["status"]) for row in kept), np.int8),
        seconds=column((row.get("seconds", np.nan) for row in kept), np.float64),
        time=column((_moment(row.get("created")) for row in kept), np.float64),
        set_aside={why: count for why, count in aside.items() if count},
    )
    calls = column(row.get("call_id", 0) for row in kept)
    return order_repeats(ratings, lambda rater: calls[ratings.rater == rater])


def _facts(position: int, item: dict[str, Any]) -> list[Any]:
    known = item_facts(item)
    names = ("cluster", "question_hash", "model_a", "model_b", "tags", "length_a", "length_b")
    return [position, *(known[name] for name in names)]


def _moment(text: str | None) -> float:
    return float("nan") if text is None else float(math.floor(datetime.fromisoformat(text).timestamp()))
