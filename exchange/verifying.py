"""Checking a bundle: its files by their sums and its seal, and all that follows from others by making it again."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from exchange.agreeing import Source, agree_on, find_field
from exchange.archives import opened_archive
from exchange.bundle import prompt_lines, sealed
from exchange.bundled import Bundled, ratings_of, read_text
from exchange.differences import compare_lines, compare_tables, list_differences
from exchange.evidence import check_verdicts
from exchange.exporting import codebook, csv_lines, lines_of, rows_of
from exchange.panel import Options
from exchange.report import write_report
from judge.domain import AccordError

MOST_PROBLEMS = 50
NEEDED = (
    *("study.json", "items.jsonl", "prompts.jsonl", "calls.jsonl", "verdicts.jsonl", "verdicts.csv", "codebook.md"),
    *("remarks.jsonl", "events.jsonl", "agreement.json", "report.html"),
)
_BROKEN = (AccordError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile)


def verify_bundle(path: Path) -> dict[str, Any]:
    """Return what was checked and what differs; `ok` only if nothing does."""
    counted: list[int] = []
    with opened_archive(path) as archive:
        problems, sums = _check_files(archive)
        if all(name in sums for name in NEEDED):
            problems += _check_contents(archive, sums, counted)
    told = problems[:MOST_PROBLEMS]
    return {"bundle": str(path), "ok": not problems, "files": len(sums), "numbers": len(counted), "problems": told}


def tell_check(found: dict[str, Any]) -> str:
    """Return the outcome for people."""
    if found["ok"]:
        return f"{found['files']} files and {found['numbers']} numbers checked: all as they should be\n"
    return "".join(f"differs: {problem}\n" for problem in found["problems"])


def _check_files(archive: zipfile.ZipFile) -> tuple[list[str], dict[str, str | None]]:
    """Return what is wrong with the files, and the sum of each there is."""
    names = archive.namelist()
    sums = {name: _digest(archive, name) for name in names}
    problems = [f"{name}: stands twice in the archive" for name in sums if names.count(name) > 1]
    problems += [f"{name}: is missing" for name in (*NEEDED, "SHA256SUMS") if name not in sums]
    listed: dict[str, str] = {}
    for line in read_text(archive, "SHA256SUMS").splitlines() if "SHA256SUMS" in sums else ():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    for name, digest in listed.items():
        if name not in sums:
            problems.append(f"{name}: is listed but missing")
        elif sums[name] != digest:
            problems.append(f"{name}: its checksum is not the one listed")
    problems += [f"{name}: is not listed" for name in sorted(set(sums) - set(listed) - {"SHA256SUMS"})]
    return problems, sums


def _digest(archive: zipfile.ZipFile, name: str) -> str | None:
    digest = hashlib.sha256()
    try:
        with archive.open(name) as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except zipfile.BadZipFile:
        return None
    return digest.hexdigest()


def _check_contents(archive: zipfile.ZipFile, sums: dict[str, str | None], counted: list[int]) -> list[str]:
    """Return what is wrong inside the files; one part that cannot be checked does not hide the others."""
    problems: list[str] = []
    try:
        bundle = Bundled.read(archive)
    except _BROKEN as error:
        return [f"the bundle cannot be read: {_told(error)}"]
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "study.json": lambda: _check_study(bundle),
        "verdicts.jsonl": lambda: check_verdicts(bundle),
        "the copies of items and verdicts": lambda: _check_copies(archive, bundle),
        "agreement.json": lambda: _check_numbers(archive, bundle, counted),
        "the seal": lambda: _check_seal(archive, bundle, sums),
    }
    for name, check in parts.items():
        try:
            problems.extend(check())
        except _BROKEN as error:
            problems.append(f"{name}: cannot be made again: {_told(error)}")
    return problems


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, AccordError) else f"{type(error).__name__}: {error}"


def _check_study(bundle: Bundled) -> Iterator[str]:
    """Yield where the settings are not those of the study beside them."""
    study = bundle.study
    if study["items"] != len(bundle.items):
        yield f"study.json: items: says {study['items']}, items.jsonl has {len(bundle.items)}"
    if study["protocol"]["hash"] != bundle.protocol.hash:
        yield "study.json: protocol.hash: is not that of the protocol in the bundle"


def _check_seal(archive: zipfile.ZipFile, bundle: Bundled, sums: dict[str, str | None]) -> Iterator[str]:
    """Yield whether the settings or another file are not those of when the bundle was written."""
    described = {name: value for name, value in bundle.study.items() if name != "seal"}
    others = {name: digest or "" for name, digest in sums.items() if name not in ("study.json", "SHA256SUMS")}
    if sealed(described, others) != read_text(archive, "study.json"):
        yield "study.json: seal: is not that of these settings and of the other files as they are"


def _check_copies(archive: zipfile.ZipFile, bundle: Bundled) -> Iterator[str]:
    """Yield where a file that follows from others is not what they give."""
    beside = "verdicts.jsonl and calls.jsonl"
    yield from compare_lines("items.jsonl", read_text(archive, "items.jsonl"), lines_of(bundle.records()), beside)
    prompts = prompt_lines(bundle.bodies, bundle.protocol)
    yield from compare_lines(
        "prompts.jsonl", read_text(archive, "prompts.jsonl"), prompts, "its items and the protocol"
    )
    table = "".join(csv_lines(rows_of(bundle.study["name"], bundle.records())))
    yield from compare_tables("verdicts.csv", read_text(archive, "verdicts.csv"), table, "items.jsonl and " + beside)
    if read_text(archive, "codebook.md") != codebook():
        yield "codebook.md: does not say what the columns mean"


def _check_numbers(archive: zipfile.ZipFile, bundle: Bundled, counted: list[int]) -> Iterator[str]:
    """Yield where the numbers and the report are not what the verdicts give."""
    stated = json.loads(read_text(archive, "agreement.json"))
    ratings = ratings_of(bundle.items, bundle.verdicts, bundle.protocol.scale.labels)

    def field_of(name: str) -> list[Any]:
        return [find_field(item, name) for item in bundle.items]

    source = Source(bundle.study["name"], bundle.protocol.version, ratings, field_of)
    again = json.loads(json.dumps(agree_on(source, Options())))
    for problem in list_differences("", stated, again, "its verdicts", counted):
        yield f"agreement.json: {problem}"
    if read_text(archive, "report.html") != write_report(again):
        yield "report.html: does not say what its verdicts give"
