"""Migrations: run by themselves, lose nothing, back SQLite up, and refuse a database from the future."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, inspect, text

from judge.domain import Item, StorageError, Turn
from judge.protocol import load_protocol
from storage import migrate
from storage.choices import Choices
from storage.imports import prepare
from storage.partial_indexes import metadata
from storage.schema import guidelines, items, studies
from storage.store import Store
from storage.studies import keep_protocol
from storage.verdicts import Submission

PREFERENCE = load_protocol(Path(__file__).parents[1] / "judge/protocols/preference-3way.md").version
NEXT = '''"""A later step."""
import sqlalchemy as sa
from alembic import op
revision = "9999"
down_revision = "{head}"
def upgrade():
    op.add_column("study", sa.Column("motto", sa.Text()))
'''


@pytest.fixture
def later_program(monkeypatch, tmp_path: Path) -> None:
    """Make this the program of a later day, which knows one more step."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.FOLDER, folder)
    (folder / "versions" / "v9999_later.py").write_text(NEXT.format(head=migrate.HEAD), encoding="utf-8")
    monkeypatch.setattr(migrate, "FOLDER", folder)
    monkeypatch.setattr(migrate, "HEAD", "9999")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return str(request.getfixturevalue("new_postgresql")())


def columns(store: Store) -> set[str]:
    return {column["name"] for column in inspect(store.engine).get_columns("study")}


def test_the_migrations_make_the_schema_that_the_program_uses(store) -> None:
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_an_empty_database_of_an_older_schema_is_upgraded(store, database, later_program) -> None:
    store.close()
    upgraded = Store.open(database)
    assert "motto" in columns(upgraded)
    upgraded.close()


def test_a_database_with_verdicts_is_upgraded_and_loses_nothing(store, database, make_study, request) -> None:
    make_study(3)
    store.save_verdict(store.claim_next("s", "ana").token, Submission("A"))
    before = list(store.records("s"))
    store.close()
    request.getfixturevalue("later_program")
    upgraded = Store.open(database)
    assert list(upgraded.records("s")) == before
    assert "motto" in columns(upgraded)
    assert upgraded.claim_next("s", "ana").progress.done == 1
    upgraded.close()
    if database.startswith("sqlite"):
        backup = Store.open(f"sqlite:///{upgraded.backup}") if upgraded.backup else None
        assert backup is not None
        assert list(backup.records("s")) == before
        backup.close()


def test_a_database_of_the_first_schema_is_upgraded_with_what_is_in_it(empty_database, monkeypatch) -> None:
    monkeypatch.setattr(migrate, "HEAD", "0001")
    first = Store.open(empty_database)
    item = prepare(Item("q", (Turn("user", "?"),), "left", "right", "m1", "m2", tags=("code", "hard")))
    row = {"study_id": 1, "position": 0, "name": "q", "hash": item.hash, "body": item.body, "free": 3}
    with first.engine.begin() as connection:  # the way the first program stored a study and an item
        protocol, now = keep_protocol(connection, PREFERENCE), first.clock()
        told = {"wanted": 3, "seed": 0, "blind": True, "reveal": False, "repeat_share": 0.0, "claim_seconds": 900}
        study = {"name": "s", "protocol_id": protocol, "size": 1, "created": now, **told}
        connection.execute(insert(studies).values(study))
        connection.execute(insert(guidelines).values(study_id=1, version=1, body="", created=now))
        connection.execute(insert(items).values(row))
    first.close()
    monkeypatch.undo()
    upgraded = Store.open(empty_database)
    assert list(upgraded.records("s")) == [(item.body, [])]
    assert upgraded.choices("s") == Choices(("code", "hard"), ("m1", "m2"), (), ())
    with upgraded.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    upgraded.close()


def test_opening_again_changes_nothing_and_makes_no_backup(store, database) -> None:
    again = Store.open(database)
    assert again.backup is None
    again.close()


def test_a_database_newer_than_the_program_is_refused_and_left_alone(store, database) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StorageError, match=r"newer Accord \(schema 9999.*Nothing was changed"):
        Store.open(database)
    with store.engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"


def test_several_processes_may_open_a_new_database_at_once(empty_database) -> None:
    errors: list[Exception] = []

    def open_it() -> None:
        try:
            Store.open(empty_database).close()
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_new_database_that_somebody_writes_to_is_waited_for(tmp_path) -> None:
    file = tmp_path / "new.db"
    writer = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    writer.execute("BEGIN IMMEDIATE")  # as a process that has not come as far as WAL
    ends = threading.Timer(0.3, writer.rollback)
    ends.start()
    Store.open(f"sqlite:///{file}").close()
    ends.join()
    writer.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "not a database URL"),
        ("sqlite://", "in memory"),
        ("sqlite:////no/such/folder/x.db", "does not exist"),
        ("mysql://localhost/x", "not supported"),
        ("postgresql://nobody@127.0.0.1:1/x", "cannot be opened"),
    ],
)
def test_a_database_that_cannot_be_used_is_said_to_be_so(url: str, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        Store.open(url)


def test_a_file_that_is_no_database_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("hello " * 1000, encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be opened"):
        Store.open(f"sqlite:///{tmp_path / 'x.db'}")
