"""Opening a database: SQLite by default, PostgreSQL by its URL with no other change."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError

from judge.domain import StorageError

WRITE = "accord_write"
_BUSY_SECONDS = 60
_USED, _IDLE_SECONDS = "accord_used", 2.0
ASKED_EVERY = 0.005  # seconds between two tries to get SQLite's lock; one thread of a process asks at a time


def open_engine(database: str) -> Engine:
    """Return an engine for a database URL; nothing is connected yet."""
    url = _checked_url(database)
    if url.get_backend_name() == "sqlite":
        engine = create_engine(
            url, pool_size=20, max_overflow=80, hide_parameters=True, connect_args={"timeout": _BUSY_SECONDS}
        )
        event.listen(engine, "do_connect", _make_file)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = create_engine(url, pool_size=10, max_overflow=40, hide_parameters=True)
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", partial(_check_idle, engine.dialect))
    return engine


def create_private(path: Path) -> None:
    """Make an empty file that nobody but its owner may read, unless it is there; SQLite makes one for everybody."""
    with suppress(OSError):  # whoever opens it next finds out, and says it better
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _make_file(dialect: Any, record: Any, arguments: list[Any], named: Any) -> None:  # noqa: ARG001
    create_private(Path(str(arguments[0])))


def _note_use(connection: Any, record: Any) -> None:  # noqa: ARG001
    record.info[_USED] = time.monotonic()


def _check_idle(dialect: Any, connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001
    """Replace a connection that died with the server while nobody used it; to ask each time would double the work."""
    if time.monotonic() - record.info.get(_USED, time.monotonic()) < _IDLE_SECONDS:
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise DisconnectionError from error


def _checked_url(database: str) -> URL:
    try:
        url = make_url(database)
    except ArgumentError as error:
        raise StorageError(
            f"{database!r} is not a database URL: give sqlite:///accord.db or postgresql://user@host/name"
        ) from error
    backend = url.get_backend_name()
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise StorageError("a database in memory would lose its verdicts: name a file, such as sqlite:///accord.db")
        folder = Path(url.database).absolute().parent
        if not folder.is_dir():
            raise StorageError(f"the folder {folder} does not exist: make it, or name another database")
        return url
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise StorageError(f"{backend} is not supported: use sqlite or postgresql")


def _prepare_sqlite(connection: sqlite3.Connection, record: Any) -> None:  # noqa: ARG001
    # The driver must not begin transactions by itself: a write has to take its lock at the start (see below).
    connection.isolation_level = None
    # WAL lets readers and one writer work side by side; FULL makes a commit survive a power cut, not only a kill.
    _when_free(lambda: connection.execute("PRAGMA journal_mode = WAL"))
    for setting in ("synchronous = FULL", "foreign_keys = ON", f"busy_timeout = {_BUSY_SECONDS}000"):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    # A read that later turns into a write fails at once when another process has written in between;
    # taking the write lock at the start waits its turn instead.
    if not connection.get_execution_options().get(WRITE, False):
        connection.exec_driver_sql("BEGIN")
        return
    # SQLite itself asks for the lock less and less often, so that a process which writes without a pause, such as an
    # import, would keep it for itself.
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        _when_free(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    finally:
        driver.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS}000")


def _when_free(ask: Callable[[], object]) -> None:
    """Ask for what only one may have, until nobody else has it: SQLite does not always wait by itself."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            ask()
        except (OperationalError, sqlite3.OperationalError) as error:
            code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
            if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(ASKED_EVERY)
