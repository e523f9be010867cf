"""Bundles that somebody made to do harm: each is refused in words, and none is unpacked first."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from exchange.verifying import verify_bundle
from judge.domain import InputError

NAMES = (
    *("study.json", "items.jsonl", "prompts.jsonl", "calls.jsonl", "verdicts.jsonl", "verdicts.csv", "codebook.md"),
    *("remarks.jsonl", "events.jsonl", "agreement.json", "report.html", "SHA256SUMS"),
)
DEEP = b"[" * 100_000 + b"]" * 100_000


def packed(path: Path, **content: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in NAMES:
            archive.writestr(name, content.get(name.partition(".")[0], b"{}"))


def patched(path: Path, local: int, central: int, value: int) -> None:
    """Write a number into the heads of every part: where the archive says how a part is packed."""
    packed(path)
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        at = data.find(mark)
        while at >= 0:
            struct.pack_into("<H", data, at + place, value)
            at = data.find(mark, at + 4)
    path.write_bytes(data)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "deep": lambda path: packed(path, study=DEEP, agreement=DEEP, items=DEEP, verdicts=DEEP),
    "sums that are no text": lambda path: packed(path, SHA256SUMS=b"\xff\xfe  items.jsonl\n"),
    "settings that are no text": lambda path: packed(path, study=b"\xff\xfe{}"),
    "encrypted": lambda path: patched(path, 6, 8, 1),
    "packed in an unknown way": lambda path: patched(path, 8, 10, 99),
    "a bomb": lambda path: packed(path, report=b" " * 60_000_000),
    "cut": lambda path: (packed(path), path.write_bytes(path.read_bytes()[:200]))[0],
    "no archive": lambda path: path.write_bytes(b"PK\x03\x04 and no more"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_bundle_made_to_do_harm_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    HOSTILE[kind](tmp_path / "x.zip")
    try:
        found = verify_bundle(tmp_path / "x.zip")
    except InputError as refused:
        assert "is not a bundle that can be read" in str(refused)  # noqa: PT017
    else:
        assert not found["ok"]
        assert found["problems"]
