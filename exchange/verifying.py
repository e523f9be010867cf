"""Checking a bundle: its files by their checksums, its numbers by computing them again from its verdicts."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from exchange.agreeing import Source, agree_on, find_field
from exchange.archives import opened_archive
from exchange.formulas import restored
from exchange.panel import Options
from exchange.report import write_report
from judge.domain import AccordError, ProtocolVersion
from judge.protocol import load_protocol
from storage.codec import item_facts
from storage.ratings import ORDERS, STATUSES, Rater, Ratings, make_facts, order_repeats
from storage.verdicts import WITHDRAWN

TOLERANCE = 1e-9
MOST_PROBLEMS = 50
_KINDS = {"human": 0, "judge": 1}


def verify_bundle(path: Path) -> dict[str, Any]:
    """Return what was checked and what differs; `ok` only if nothing does."""
    with opened_archive(path) as archive:
        problems, files = _check_files(archive)
        numbers = 0
        if "agreement.json" not in files:
            problems.append("agreement.json: is missing, so no number can be checked")
        else:
            try:
                numbers, found = _check_numbers(archive)
                problems += found
            except (AccordError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
                problems.append(f"the numbers cannot be computed again: {type(error).__name__}: {error}")
    told = problems[:MOST_PROBLEMS]
    return {"bundle": str(path), "ok": not problems, "files": len(files), "numbers": numbers, "problems": told}


def tell_check(found: dict[str, Any]) -> str:
    """Return the outcome for people."""
    if found["ok"]:
        return f"{found['files']} files and {found['numbers']} numbers checked: all as they should be\n"
    return "".join(f"differs: {problem}\n" for problem in found["problems"])


def _check_files(archive: zipfile.ZipFile) -> tuple[list[str], set[str]]:
    """Return what is wrong with the files, and which there are."""
    names = set(archive.namelist())
    if "SHA256SUMS" not in names:
        return ["SHA256SUMS: is missing"], names
    problems = []
    listed: dict[str, str] = {}
    for line in _text(archive, "SHA256SUMS").splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    for name, digest in listed.items():
        if name not in names:
            problems.append(f"{name}: is listed but missing")
        elif _digest(archive, name) != digest:
            problems.append(f"{name}: its checksum is not the one listed")
    problems += [f"{name}: is not listed" for name in sorted(names - set(listed) - {"SHA256SUMS"})]
    return problems, names


def _digest(archive: zipfile.ZipFile, name: str) -> str | None:
    digest = hashlib.sha256()
    try:
        with archive.open(name) as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except zipfile.BadZipFile:
        return None
    return digest.hexdigest()


def _text(archive: zipfile.ZipFile, name: str) -> str:
    return archive.read(name).decode()


def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    with archive.open(name) as file:
        for line in file:
            yield json.loads(line)


def _check_numbers(archive: zipfile.ZipFile) -> tuple[int, list[str]]:
    """Return how many numbers were computed again, and which differ."""
    stated = json.loads(_text(archive, "agreement.json"))
    study = json.loads(_text(archive, "study.json"))
    protocol = _protocol(archive, study["protocol"]["name"])
    problems = []
    if protocol.hash != study["protocol"]["hash"]:
        problems.append("study.json: protocol.hash: is not that of the protocol in the bundle")
    items, verdicts = list(_lines(archive, "items.jsonl")), list(_lines(archive, "verdicts.jsonl"))
    problems += _check_copies(archive, items, verdicts)
    ratings = ratings_of(items, verdicts, protocol.scale.labels)
    source = Source(study["name"], protocol, ratings, lambda name: [find_field(item, name) for item in items])
    again = json.loads(json.dumps(agree_on(source, Options.from_dict(stated))))
    counted: list[int] = []
    problems += [f"agreement.json: {problem}" for problem in _differences("", stated, again, counted)]
    if "report.html" not in archive.namelist():
        problems.append("report.html: is missing")
    elif _text(archive, "report.html") != write_report(again):
        problems.append("report.html: does not say what its verdicts give")
    return len(counted), problems


def _protocol(archive: zipfile.ZipFile, name: str) -> ProtocolVersion:
    with tempfile.TemporaryDirectory() as folder:
        for entry in archive.namelist():
            if entry.startswith("protocols/") and entry.endswith(".md"):
                (Path(folder) / Path(entry).name).write_bytes(archive.read(entry))
        return load_protocol(Path(folder) / f"{Path(name).name}.md").version


def _differences(where: str, stated: Any, again: Any, counted: list[int]) -> Iterator[str]:
    """Yield each place where the stated value is not what was computed, numbers to within the last digits."""
    if isinstance(stated, dict) and isinstance(again, dict):
        for key in [*stated, *(key for key in again if key not in stated)]:
            yield from _differences(f"{where}.{key}" if where else key, stated.get(key), again.get(key), counted)
    elif isinstance(stated, list) and isinstance(again, list) and len(stated) == len(again):
        for place, (one, two) in enumerate(zip(stated, again, strict=True)):
            yield from _differences(f"{where}[{place}]", one, two, counted)
    elif _is_number(stated) and _is_number(again):
        counted.append(1)
        if not math.isclose(stated, again, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: says {stated}, its verdicts give {again}"
    elif stated != again:
        yield f"{where}: says {_short(stated)}, its verdicts give {_short(again)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _check_copies(archive: zipfile.ZipFile, items: list[dict[str, Any]], verdicts: list[dict[str, Any]]) -> list[str]:
    """Return whether the verdicts beside the items, and in the table, are those of the full list."""
    later = {row["supersedes"] for row in verdicts if "supersedes" in row}
    current = [row for row in verdicts if row["id"] not in later and row["status"] != WITHDRAWN]
    wanted = Counter(_key(row["item"], row) for row in current)
    beside = Counter(_key(item["id"], row) for item in items for row in item.get("verdicts", ()))
    problems = [] if beside == wanted else ["items.jsonl: its verdicts are not those of verdicts.jsonl"]
    rows = csv.DictReader(io.StringIO(_text(archive, "verdicts.csv"), newline=""))
    listed = Counter(_key(restored(row["item"]), {name: restored(text) for name, text in row.items()}) for row in rows)
    return problems if listed == wanted else [*problems, "verdicts.csv: its verdicts are not those of verdicts.jsonl"]


def _key(item: str, row: dict[str, Any]) -> tuple[str | None, ...]:
    return (item, *(row.get(name) or None for name in ("rater", "kind", "label", "order")))


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
        code=column(code.get(row.get("label") or "", -1) for row in kept),
        order=column(order.get(row.get("order") or "", -1) for row in kept),
        repeat=column((bool(row["repeat"]) for row in kept), np.bool_),
        status=column(STATUSES.index(row["status"]) for row in kept),
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
