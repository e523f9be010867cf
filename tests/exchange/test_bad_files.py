"""Bad files: exit status 2, a message that names the line and the field, and a database that has not changed."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import app

ROOT = Path(__file__).parents[2]
PREFERENCE = ROOT / "tests" / "judge" / "protocols" / "preference-3way.md"
GOOD = {"id": "q1", "instruction": "Why?", "response_a": "x", "response_b": "y"}
SAID = {"rater": "ana", "kind": "human", "label": "A"}


def line(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode() + b"\n"


def without(*names: str) -> bytes:
    return json.dumps({name: value for name, value in GOOD.items() if name not in names}).encode() + b"\n"


def deep(depth: int) -> bytes:
    return b'{"id": "q1", "metadata": ' + b"[" * depth + b"]" * depth + b"}\n"


def repeated(text: str, rows: int) -> bytes:
    """Return a Parquet file in which one text stands in every row, and is written once."""
    file = io.BytesIO()
    table = {"id": list(map(str, range(rows))), "instruction": ["?"] * rows, "response_a": [text] * rows}
    parquet.write_table(pa.table(table), file, compression="zstd")
    return file.getvalue()


# name: (file's bytes, file name, what the message must contain)
BAD: dict[str, tuple[bytes | Callable[[], bytes], str, str]] = {
    "empty": (b"", "x.jsonl", "is empty"),
    "blank lines only": (b"\n \n\n", "x.jsonl", "is empty"),
    "an empty list": (b"[]", "x.json", "empty list"),
    "truncated line": (line() + line(id="q2")[:-20], "x.jsonl", "x.jsonl:2: is not JSON"),
    "truncated first line": (line()[:-20], "x.jsonl", "x.jsonl:1: is not JSON"),
    "not JSON at all": (b"hello\nworld\n", "x.jsonl", "x.jsonl:1: is not JSON"),
    "a key twice": (
        line() + line(id="q2").replace(b"{", b'{"verdicts": [], "verdicts": [], ', 1),
        "x.jsonl",
        "x.jsonl:2: is not JSON that can be taken: 'verdicts' stands twice in one object",
    ),
    "a number on a line": (line() + b"17\n", "x.jsonl", "x.jsonl:2: line: must be a JSON object"),
    "a list on a line": (line() + b"[1]\n", "x.jsonl", "x.jsonl:2: line: must be a JSON object"),
    "bad UTF-8": (line() + line(id="q2").replace(b"Why?", b"\xff\xfe?"), "x.jsonl", "x.jsonl:2: is not UTF-8"),
    "UTF-16": ("{}".encode("utf-16"), "x.jsonl", "UTF-16"),
    "binary": (b"\x7fELF\0\0\1\2" * 50, "x.jsonl", "binary file"),
    "an image under another name": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "x.jsonl", "x.jsonl"),
    "not a number": (line(metadata={"x": 1}).replace(b'"x": 1', b'"x": NaN'), "x.jsonl", "NaN is not a JSON value"),
    "infinity": (line(metadata={"x": 1}).replace(b'"x": 1', b'"x": 1e999'), "x.jsonl", "metadata.x: is not a finite"),
    "a huge number": (line(metadata={"x": 1}).replace(b": 1}", b": " + b"9" * 5000 + b"}"), "x.jsonl", "x.jsonl:1"),
    "nested too deeply": (lambda: deep(100_000), "x.jsonl", "x.jsonl:1: is nested too deeply"),
    "a line of 51 MB": (lambda: line(response_a="x" * 51_000_000), "x.jsonl", "x.jsonl:1: is longer than 50 MB"),
    "a bomb": (lambda: gzip.compress((b" " * 999 + b"\n") * 40_000), "x.jsonl.gz", "unpack it yourself"),
    "a Parquet bomb of repetition": (lambda: repeated("x" * 50_000, 400), "x.parquet", "unpack it yourself"),
    "a Parquet bomb of one text": (lambda: repeated("x" * 10_000_000, 1), "x.parquet", "unpack it yourself"),
    "half a gzip file": (lambda: gzip.compress(line() * 1000)[:-10], "x.jsonl.gz", "gzip"),
    "gzip in name only": (line(), "x.jsonl.gz", "gzip"),
    "no id": (without("id"), "x.jsonl", "x.jsonl:1: id: is missing"),
    "an id that is a list": (line(id=[]), "x.jsonl", "id: must be text"),
    "an id of blanks": (line(id="  "), "x.jsonl", "id: must be text"),
    "an endless id": (line(id="x" * 600), "x.jsonl", "id: is longer"),
    "no question": (without("instruction"), "x.jsonl", "conversation: is missing"),
    "two questions": (line(conversation=[{"role": "user", "content": "q"}]), "x.jsonl", "instruction: stands beside"),
    "no response": (without("response_a"), "x.jsonl", "response_a: is missing"),
    "one response for a pair": (without("response_b"), "x.jsonl", "x.jsonl:1: item 'q1' has one response"),
    "a response that is a number": (line(response_b=5), "x.jsonl", "response_b: must be text, not a number"),
    "a conversation that is text": (
        b'{"id": "q", "conversation": "x", "response_a": "x"}',
        "x.jsonl",
        "conversation: must be",
    ),
    "a turn without content": (
        b'{"id": "q", "conversation": [{"role": "user"}], "response_a": "x", "response_b": "y"}',
        "x.jsonl",
        "conversation[0].content: is missing",
    ),
    "a checklist that is text": (line(checklist="be good"), "x.jsonl", "checklist: must be a list"),
    "tags that are numbers": (line(tags=[1]), "x.jsonl", "tags[0]: must be text"),
    "an unknown rubric": (line(rubric="beauty"), "x.jsonl", "rubric: no rubric named"),
    "metadata that is a list": (line(metadata=[1]), "x.jsonl", "metadata: must be an object"),
    "NUL in a text": (line(response_a="a\0b"), "x.jsonl", "response_a: contains a NUL"),
    "half a surrogate pair": (line().replace(b'"x"', b'"\\ud800"'), "x.jsonl", "response_a: contains half a surrogate"),
    "an unknown label": (line(verdicts=[{**SAID, "label": "C"}]), "x.jsonl", "verdicts[0].label: 'C' is not a label"),
    "a verdict without a label": (line(verdicts=[{"rater": "ana"}]), "x.jsonl", "verdicts[0].label: is missing"),
    "a verdict without a rater": (line(verdicts=[{"label": "A"}]), "x.jsonl", "verdicts[0].rater: is missing"),
    "a label beside a failure": (
        line(verdicts=[{**SAID, "status": "failed"}]),
        "x.jsonl",
        "verdicts[0].label: must not",
    ),
    "an unknown kind of rater": (line(verdicts=[{**SAID, "kind": "cat"}]), "x.jsonl", "verdicts[0].kind: must be"),
    "an unknown order": (line(verdicts=[{**SAID, "order": "up"}]), "x.jsonl", "verdicts[0].order: must be AB or BA"),
    "a time that is none": (line(verdicts=[{**SAID, "created": "noon"}]), "x.jsonl", "verdicts[0].created: must be"),
    "seconds below zero": (line(verdicts=[{**SAID, "seconds": -3}]), "x.jsonl", "verdicts[0].seconds: must be"),
    "verdicts that are text": (line(verdicts="A"), "x.jsonl", "verdicts: must be a list"),
    "the same id twice with different content": (
        line() + line(response_a="z"),
        "x.jsonl",
        "x.jsonl:2: id: 'q1' stands twice",
    ),
    "an id the study has with other content": (
        line(id="kept", response_a="changed"),
        "x.jsonl",
        "x.jsonl:1: id: 'kept' is in",
    ),
    "a table without a header": (b"", "x.csv", "is empty"),
    "a table row with too many cells": (
        b"id,instruction,response_a,response_b\n1,q,a,b,c\n",
        "x.csv",
        "x.csv:2: has more",
    ),
    "a table row with too few cells": (b"id,instruction,response_a,response_b\n1,q,a\n", "x.csv", "x.csv:2: has fewer"),
    "a table in another encoding": (
        b"id,instruction,response_a,response_b\n1,caf\xe9,a,b\n",
        "x.csv",
        "x.csv:2: is not UTF-8",
    ),
    "a table without responses": (b"id,colour\n1,red\n", "x.csv", "x.csv"),
    "not a Parquet file": (b"PAR1 but not really", "x.parquet", "is not a Parquet file"),
}
assert len(BAD) >= 40


@pytest.fixture
def command(tmp_path: Path, monkeypatch, capsys):
    """Run a command in this process, as `python app.py` would, and return its exit status and messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACCORD_DATABASE", raising=False)

    def run(*words: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            app.main(list(map(str, words)))
        return int(ended.value.code or 0), capsys.readouterr().err

    return run


@pytest.fixture
def kept(command, tmp_path: Path) -> bytes:
    """A study with one item, as it is exported."""
    (tmp_path / "kept.jsonl").write_bytes(line(id="kept", verdicts=[SAID]))
    assert command("import", "kept.jsonl", "--study", "s", "--protocol", PREFERENCE) == (0, "")
    command("export", "--study", "s", "--out", "before.jsonl")
    return (tmp_path / "before.jsonl").read_bytes()


@pytest.mark.parametrize(("content", "name", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_and_changes_nothing(
    command, kept: bytes, tmp_path: Path, content: bytes | Callable[[], bytes], name: str, message: str
) -> None:
    (tmp_path / name).write_bytes(content() if callable(content) else content)
    status, told = command("import", name, "--study", "s", "--protocol", PREFERENCE)
    assert status == 2
    assert message in told
    assert "Traceback" not in told
    command("export", "--study", "s", "--out", "after.jsonl")
    assert (tmp_path / "after.jsonl").read_bytes() == kept


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a\\b", "CON", "x\u202egnp", "q'; DROP TABLE item; --", "<b>"]
)
def test_an_id_that_looks_like_a_path_or_worse_is_only_an_id(command, tmp_path: Path, name: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(line(id=name))
    assert command("import", "x.jsonl", "--study", name, "--protocol", PREFERENCE)[0] == 0
    assert command("export", "--study", name, "--out", "out.jsonl")[0] == 0
    assert json.loads((tmp_path / "out.jsonl").read_bytes())["id"] == name


def test_every_bad_line_is_counted_and_the_first_twenty_are_listed(command, tmp_path: Path) -> None:
    lines = [line(id=f"q{n}") if n % 2 else line(id=f"q{n}", response_a=n) for n in range(100)]
    (tmp_path / "x.jsonl").write_bytes(b"".join(lines))
    status, told = command("import", "x.jsonl", "--study", "s", "--protocol", PREFERENCE)
    assert status == 2
    assert "nothing was imported: 50 bad lines" in told
    assert told.count("x.jsonl:") == 20
    assert "x.jsonl:39: response_a: must be text" in told
    assert "and 30 more" in told
    assert command("export", "--study", "s")[0] == 2


def test_a_missing_file_and_a_folder_are_refused(command, tmp_path: Path) -> None:
    for name in ("absent.jsonl", "."):
        status, told = command("import", name, "--study", "s", "--protocol", PREFERENCE)
        assert status == 2
        assert "cannot be read" in told


def test_another_protocol_for_a_study_that_has_one_is_refused(command, kept: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(line())
    status, told = command("import", "x.jsonl", "--study", "s", "--protocol", "wildbench-pairwise")
    assert status == 2
    assert "import into a new study" in told
