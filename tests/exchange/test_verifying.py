"""Bundles that are checked: every file by its sum, every number by computing it again."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from exchange.bundle import write_bundle
from exchange.verifying import verify_bundle
from judge.domain import GivenVerdict, InputError, Item, Turn
from storage.imports import prepare
from storage.verdicts import Submission

LABELS = ("A", "tie", "B")


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """Use SQLite unless a test asks for both: a bundle no longer knows where it came from."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return str(request.getfixturevalue("sqlite_database"))
    return str(request.getfixturevalue("new_postgresql")())


@pytest.fixture
def bundle(store, make_study, tmp_path: Path) -> Path:
    make_study(3, reveal=True, wanted=2)
    items = []
    for n in range(20):
        given = [GivenVerdict(who, "human", LABELS[(n + at) % 3], order="AB") for at, who in enumerate(("eva", "gus"))]
        given += [
            GivenVerdict("=gpt|x", "judge", LABELS[n % 3], order=order, raw=f"reply {n}") for order in ("AB", "BA")
        ]
        item = Item(
            f"=x{n}", (Turn("user", f"Q{n}"),), "left" * n, "right", "m1", "m2", tags=("t",), cluster=f"c{n // 2}"
        )
        items.append(prepare(item, given))
    store.add_prepared("s", items)
    for _ in range(3):
        claim = store.claim_next("s", "ana")
        store.save_verdict(claim.token, Submission("tie", seconds=3.25))
        store.save_verdict(claim.token, Submission("A", seconds=4.5))
        store.reveal(claim.token)
        store.save_verdict(claim.token, Submission("B"))
    path = tmp_path / "study.zip"
    with path.open("wb") as file:
        write_bundle(store, "s", file)
    return path


def rewritten(path: Path, name: str, change: Callable[[str], str], *, forge_sums: bool = True) -> Path:
    """Write the bundle with one file changed, its checksum forged to match or left as it was."""
    with zipfile.ZipFile(path) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    before = files[name]
    files[name] = change(before.decode()).encode()
    assert files[name] != before
    if forge_sums:
        old, new = (hashlib.sha256(text).hexdigest() for text in (before, files[name]))
        files["SHA256SUMS"] = files["SHA256SUMS"].replace(old.encode(), new.encode())
    target = path.with_name("changed.zip")
    with zipfile.ZipFile(target, "w") as archive:
        for entry, content in files.items():
            archive.writestr(entry, content)
    return target


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_bundle_is_right_as_it_was_written(bundle: Path) -> None:
    found = verify_bundle(bundle)
    assert found["problems"] == []
    assert found["ok"]
    assert found["numbers"] > 500


@pytest.mark.parametrize(
    "name", ["study.json", "items.jsonl", "calls.jsonl", "prompts.jsonl", "codebook.md", "report.html"]
)
def test_any_changed_file_is_found_by_its_checksum(bundle: Path, name: str) -> None:
    found = verify_bundle(rewritten(bundle, name, lambda text: text + " ", forge_sums=False))
    assert not found["ok"]
    assert any(problem.startswith(f"{name}: its checksum") for problem in found["problems"])


def raise_one_number(text: str) -> str:
    value = json.loads(text)
    value["judges"][0]["swap_consistency"]["value"] -= 1e-6
    return json.dumps(value)


FORGERIES = {
    "a number": ("agreement.json", raise_one_number, "judges[0].swap_consistency.value"),
    "a count": ("agreement.json", lambda text: text.replace('"labelled": 23', '"labelled": 24'), "flow.labelled"),
    "the sentence": (
        "report.html",
        lambda text: text.replace("agrees with people", "agrees well with people"),
        "report.html",
    ),
    "a verdict": ("verdicts.jsonl", lambda text: text.replace('"label": "A"', '"label": "B"', 1), "its verdicts"),
    "a verdict beside its item": (
        "items.jsonl",
        lambda text: text.replace('"label": "A"', '"label": "B"', 1),
        "items.jsonl",
    ),
    "a cell of the table": ("verdicts.csv", lambda text: text.replace(",tie,", ",A,", 1), "verdicts.csv"),
    "the scale": ("protocols/preference-3way.md", lambda text: text.replace("value: 1", "value: 2", 1), ""),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_with_matching_checksums_is_found_by_computing_again(bundle: Path, name: str) -> None:
    path, change, told = FORGERIES[name]
    found = verify_bundle(rewritten(bundle, path, change))
    assert not found["ok"]
    assert any(told in problem for problem in found["problems"])


def test_missing_and_added_files_are_found(bundle: Path) -> None:
    with zipfile.ZipFile(bundle, "a") as archive:
        archive.writestr("extra.txt", "hello")
    assert "extra.txt: is not listed" in verify_bundle(bundle)["problems"]


def test_the_command_tells_by_its_exit_status(bundle: Path, accord, tmp_path: Path) -> None:
    done = accord("verify", bundle, "--json")
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True)
    broken = rewritten(bundle, "agreement.json", raise_one_number)
    done = accord("verify", broken)
    assert done.returncode == 1
    assert b"judges[0].swap_consistency.value" in done.stdout
    (tmp_path / "not.zip").write_text("hello")
    assert accord("verify", tmp_path / "not.zip").returncode == 2
    with pytest.raises(InputError):
        verify_bundle(tmp_path / "absent.zip")
