"""Copies of a database that is being written, and the way back from them."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from judge.domain import StorageError, Study
from judge.protocol import find_protocol
from storage.backup import back_up, restore
from storage.store import Store
from storage.verdicts import Submission


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


def test_a_copy_taken_while_verdicts_come_in_holds_all_that_were_saved_before_it(
    store, database, make_study, tmp_path
) -> None:
    make_study(300, wanted=1)
    saved, stop = [], threading.Event()

    def annotate() -> None:
        while not stop.is_set() and len(saved) < 300:
            claim = store.claim_next("s", "ana")
            store.save_verdict(claim.token, Submission("A"))
            saved.append(claim.item.id)

    writer = threading.Thread(target=annotate)
    writer.start()
    while len(saved) < 5:
        stop.wait(0.01)
    before = set(saved)
    back_up(database, tmp_path / "copy.db")
    stop.set()
    writer.join()
    again = f"sqlite:///{tmp_path / 'again.db'}"
    restore(tmp_path / "copy.db", again)
    restored = Store.open(again)
    given = [verdict for _, verdicts in restored.records("s") for verdict in verdicts]
    assert len(before) <= len(given) <= len(saved)
    counted = restored.progress("s")["ana"].done
    assert counted == len(given)
    assert restored.claim_next("s", "ben") is not None
    restored.close()


WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("PRAGMA synchronous = OFF")
print(flush=True)
for _ in range(300_000):
    connection.execute("INSERT INTO event (kind, created, details) VALUES ('x', '2026-01-01 00:00:00', '{}')")
"""


def test_a_copy_is_done_while_another_process_writes_all_the_time(store, database, tmp_path) -> None:
    for _ in range(20):  # some five thousand pages
        store.record_event("x", None, text="z" * 1_000_000)
    words = [sys.executable, "-c", WRITER, str(store.engine.url.database)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        back_up(database, tmp_path / "copy.db")
        assert writer.poll() is None
        writer.kill()


def test_a_database_and_its_copies_are_their_owners_alone(tmp_path) -> None:
    new = Store.open(f"sqlite:///{tmp_path / 'new.db'}")
    back_up(f"sqlite:///{tmp_path / 'new.db'}", tmp_path / "copy.db")
    files = list(tmp_path.iterdir())
    assert {path.name for path in files} >= {"new.db", "new.db-wal", "copy.db"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    new.close()


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_nothing_is_restored_beside_what_another_database_left(store, database, tmp_path, end) -> None:
    back_up(database, tmp_path / "copy.db")
    Path(f"{tmp_path / 'new.db'}{end}").write_bytes(b"pages of another")
    with pytest.raises(StorageError, match=f"{end} is left of another database"):
        restore(tmp_path / "copy.db", f"sqlite:///{tmp_path / 'new.db'}")
    assert not (tmp_path / "new.db").exists()


def test_a_database_that_is_there_is_never_written_over(store, database, tmp_path) -> None:
    store.create_study(Study("kept", find_protocol("wildbench-pairwise").version))
    back_up(database, tmp_path / "copy.db")
    with pytest.raises(StorageError, match="nothing was changed"):
        restore(tmp_path / "copy.db", database)
    with pytest.raises(StorageError, match="exists already"):
        back_up(database, tmp_path / "copy.db")
    assert store.find_study("kept")


def test_a_damaged_or_foreign_file_is_not_restored(store, database, tmp_path) -> None:
    back_up(database, tmp_path / "copy.db")
    whole = (tmp_path / "copy.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.db").write_text("no database " * 100)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    for name in ("cut.db", "text.db", "other.db", "missing.db"):
        with pytest.raises(StorageError):
            restore(tmp_path / name, f"sqlite:///{tmp_path / 'new.db'}")
        assert not (tmp_path / "new.db").exists()


def test_postgresql_is_told_its_own_way(tmp_path) -> None:
    with pytest.raises(StorageError, match="pg_dump"):
        back_up("postgresql://x@y/z", tmp_path / "copy.db")
