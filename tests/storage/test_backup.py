"""Copies of a database that is being written, and the way back from them."""

from __future__ import annotations

import sqlite3
import threading

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
