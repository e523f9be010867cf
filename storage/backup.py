"""Copies of a SQLite database, taken while others write, and put back only when they are whole."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from judge.domain import StorageError
from storage.database import Database
from storage.engine import create_private, open_engine
from storage.trail import record_event

BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database, and would read into another one


def back_up(database: str, target: Path) -> None:
    """Copy a database as it is at one moment, while others read and write; the copy is checked before it is named."""
    source = _file_of(database)
    if not source.exists():
        raise StorageError(f"there is no database at {source}")
    if target.exists():
        raise StorageError(f"{target} exists already: name another file, or remove it first")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    create_private(unfinished)
    try:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(unfinished)) as new:
            # All at once, as of one moment: in pieces it would begin anew after every write of another process.
            old.backup(new, pages=-1)
            new.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        check_copy(unfinished)
        unfinished.replace(target)
    except (sqlite3.Error, OSError) as error:
        raise StorageError(f"the copy could not be made: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def note_copy(database: str, by: str) -> None:
    """Write into the trail that a copy was made; a database that can only be read is copied without that."""
    known = Database(open_engine(database))  # as it is: a copy is no time to bring it to another schema
    try:
        with known.writing() as connection:
            record_event(connection, "backup", known.clock(), by=by)
    except (StorageError, SQLAlchemyError):
        pass
    finally:
        known.close()


def restore(copy: Path, database: str) -> None:
    """Make a database of a copy that is whole; one that is there already is never written over."""
    target = _file_of(database)
    if target.exists():
        raise StorageError(f"{target} exists: stop Accord and move it away first; nothing was changed")
    if left := next((f"{target}{end}" for end in BESIDE if Path(f"{target}{end}").exists()), None):
        raise StorageError(
            f"{left} is left of another database and would be read into this one: stop Accord and move it away first; "
            "nothing was changed"
        )
    if not copy.is_file():
        raise StorageError(f"there is no file {copy}")
    check_copy(copy)
    back_up(f"sqlite:///{copy.absolute()}", target)


def check_copy(path: Path) -> None:
    """Refuse a file that is damaged, or is no database of Accord's."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            state = connection.execute("PRAGMA integrity_check").fetchone()[0]
            loose = connection.execute("PRAGMA foreign_key_check").fetchone()
            known = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise StorageError(f"{path} is not a whole database of Accord's: {error}") from error
    if state != "ok" or loose or not known:
        raise StorageError(f"{path} is damaged ({state if state != 'ok' else 'rows are missing'}); nothing was changed")


def _file_of(database: str) -> Path:
    try:
        url = make_url(database)
    except ArgumentError as error:
        raise StorageError(f"{database!r} is not a database URL") from error
    if url.get_backend_name() != "sqlite" or not url.database:
        raise StorageError("this is for SQLite; for PostgreSQL use pg_dump and pg_restore, which work while it is used")
    return Path(url.database)
