"""What is wrong with a database that cannot be used for the moment, in words that a person can act on."""

from __future__ import annotations

import sqlite3

from sqlalchemy import exc

from judge.domain import StorageError

_FULL = "the disk under the database is full: nothing can be stored until whoever runs the server makes room"
_READ_ONLY = "the database can only be read: nothing can be stored until whoever runs the server puts that right"
_BROKEN = "the disk under the database does not work: nothing can be stored until whoever runs the server puts it right"
_DAMAGED = "the database is damaged: whoever runs the server has to stop Accord and restore a copy"
_AWAY = "the database cannot be reached: wait a moment and try again"
_BUSY = "the database has too much to do: wait a moment and try again"
_KEPT = "What was saved before is kept."
UNKEEPABLE = "a text contains a NUL character or half a surrogate pair, which cannot be kept or found: remove it"

_OURS = (exc.DataError, exc.IntegrityError, exc.ProgrammingError)
_BY_CODE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_IOERR: _BROKEN,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_CANTOPEN: _AWAY,
}
_BY_STATE = {
    "53100": _FULL,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "58030": _BROKEN,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "57014": _BUSY,
}
_BY_CLASS = {"40": _BUSY, "53": _BUSY, "55": _BUSY, "08": _AWAY, "57": _AWAY}


def explained(error: exc.SQLAlchemyError) -> StorageError | None:
    """Return what to tell of an error that is the database's; None when the fault is in what was asked of it."""
    if isinstance(error, exc.TimeoutError):  # every connection of the pool is in use
        return _told(_BUSY)
    if not isinstance(error, exc.DBAPIError):
        return None
    state = getattr(error.orig, "sqlstate", None)
    if state in _BY_STATE:  # also where it comes as if it were our fault
        return _told(_BY_STATE[state])
    if isinstance(error, _OURS):
        return None
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        known = _BY_CODE.get(code & 0xFF)  # the rest of the number says where in SQLite it was
    elif state:
        known = _BY_CLASS.get(state[:2])
    else:
        known = _AWAY
    return _told(known) if known else None


def is_unkeepable(error: exc.SQLAlchemyError) -> bool:
    """Say whether PostgreSQL was given a NUL character, which it has no place for."""
    return isinstance(error, exc.DataError) and "NUL" in str(error.orig)


def is_tie(error: exc.SQLAlchemyError) -> bool:
    """Say whether PostgreSQL gave up one of two transactions that stood in each other's way: it may be tried again."""
    return isinstance(error, exc.DBAPIError) and getattr(error.orig, "sqlstate", None) in ("40001", "40P01")


def _told(what: str) -> StorageError:
    return StorageError(f"{what}. {_KEPT}")
