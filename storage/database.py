"""A database open for reading and writing: connections, transactions, and the tries that a broken tie costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from judge.domain import InputError, StorageError
from storage.engine import ASKED_EVERY, WRITE, open_engine
from storage.faults import UNKEEPABLE, explained, is_tie, is_unkeepable
from storage.migrate import migrate
from storage.turns import FairLock

Result = TypeVar("Result")
TRIES = 5


def _now() -> datetime:
    return datetime.now(UTC)


class Database:
    """A database brought to this program's schema; what is written in one transaction is kept whole or not at all."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime] = _now) -> None:
        self.engine = engine
        self.clock = clock
        self.backup: Path | None = None
        self._is_sqlite = engine.dialect.name == "sqlite"
        # SQLite has one writer at a time: threads of one process queue here, in order, instead of polling its lock.
        self._one_writer = FairLock() if self._is_sqlite else nullcontext()

    @classmethod
    def open(cls, database: str, clock: Callable[[], datetime] = _now) -> Self:
        """Open a database by its URL and bring it to this program's schema."""
        store = cls(open_engine(database), clock)
        try:
            store.backup = migrate(store.engine)
        except DBAPIError as error:
            store.close()
            raise StorageError(f"the database {store.engine.url!r} cannot be opened: {error.orig}") from error
        except StorageError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Let every connection go."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the database throughout."""
        options = {} if self._is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with (
            self._in_clear_words(),
            self.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def asking(self) -> Iterator[Connection]:
        """Give a connection for one query, which PostgreSQL answers without the way there and back of a transaction."""
        options = {} if self._is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        with self._in_clear_words(), self.engine.connect().execution_options(**options) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are all kept when the block ends, or none."""
        with self._in_clear_words(), self._transaction() as connection:
            yield connection

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        """Do a piece of work in one transaction, again when the database broke a tie between two of them."""
        with self._in_clear_words():
            for _ in range(TRIES - 1):
                try:
                    with self._transaction() as connection:
                        return work(connection)
                except DBAPIError as error:
                    if not is_tie(error):
                        raise
            with self._transaction() as connection:
                return work(connection)

    def give_way(self) -> None:
        """Let others write before one goes on with a long work: SQLite gives its lock to whoever happens to ask."""
        if self._is_sqlite:
            time.sleep(1.2 * ASKED_EVERY)  # longer than anybody who waits lets pass between two tries

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with (
            self._one_writer,
            self.engine.connect().execution_options(**{WRITE: True}) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _in_clear_words(self) -> Iterator[None]:
        """Turn what is wrong with the database into what a person can do; a fault of ours stays what it is."""
        try:
            yield
        except UnicodeEncodeError as error:
            raise InputError(UNKEEPABLE) from error
        except SQLAlchemyError as error:
            if is_unkeepable(error):
                raise InputError(UNKEEPABLE) from error
            told = explained(error)
            if told is None:
                raise
            if self._is_sqlite:
                # A connection that met a full or locked disk may stay unable to write when that is long over.
                self.engine.dispose()
            raise told from error
