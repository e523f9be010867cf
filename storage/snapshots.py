"""A large study's columns as one row of the database, for whoever starts without knowing any of them.

A snapshot may be older than its study: what has been added since is read as it is for columns in memory. One from
before a verdict was changed or removed, or in another form, is not read.
"""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update

from storage.columns import ORDERS, STATUSES, Columns, Rows, run_starts
from storage.facts import CODED, Coded, Facts, Ints
from storage.raters import add_if_absent
from storage.schema import snapshots
from storage.studies import StudyRow

_LAYOUT = 2  # of the bytes
_MEANT = _LAYOUT, STATUSES, ORDERS, *(one.name for part in (Rows, Facts) for one in fields(part))
FORM = sha256(repr(_MEANT).encode()).hexdigest()  # of the columns: another program may know others
_ITEMS, _FACT, _ROW = "items", "fact_", "row_"
_LENGTH = np.dtype("<i8")
_NARROW, _UNKNOWN = np.int32, np.iinfo(np.int32).min
_LONG_RUNS = 8  # equal neighbours as a rule, from which a column is kept by its runs
_ALIGNED = 8  # bytes, at a multiple of which each part begins


def write_snapshot(connection: Connection, study_id: int, columns: Columns) -> None:
    """Keep a study's columns as they are now, in place of older ones."""
    values = {"form": FORM, "changes": columns.changes, "body": pack_columns(columns)}
    kept = connection.execute(update(snapshots).where(snapshots.c.study_id == study_id).values(**values))
    if not kept.rowcount:
        add_if_absent(connection, snapshots, study_id=study_id, **values)


def read_snapshot(connection: Connection, study: StudyRow) -> Columns | None:
    """Return a study's columns as they were kept, if they were and no verdict in them has been changed since."""
    wanted = select(snapshots.c.body).where(
        snapshots.c.study_id == study.id, snapshots.c.form == FORM, snapshots.c.changes == study.changes
    )
    body = connection.execute(wanted).scalar_one_or_none()
    return None if body is None else unpack_columns(body, study.changes)


def pack_columns(columns: Columns) -> bytes:
    """Return columns as bytes that `unpack_columns` makes the same columns of.

    The bytes are those of the numbers themselves, after a head that tells where each column begins: a million verdicts
    are read in the time that it takes to copy them.
    """
    facts = columns.facts
    arrays: dict[str, NDArray[Any]] = {
        _ITEMS: columns.items,
        **{_ROW + one.name: getattr(columns.rows, one.name) for one in fields(Rows)},
        **{_FACT + one.name: _codes_of(getattr(facts, one.name)) for one in fields(Facts)},
    }
    told, parts = {}, []
    for name, array in arrays.items():
        narrow, scale = _narrowed(array)
        kept, lengths = _as_runs(narrow)
        told[name] = (array.dtype.str, kept.dtype.str, kept.size, scale, lengths.size)
        parts += [kept, lengths]
    head = json.dumps({"arrays": told, "names": {name: getattr(facts, name).names for name in CODED}}).encode()
    return b"".join(_aligned(part) for part in (len(head).to_bytes(_ALIGNED), head, *(p.tobytes() for p in parts)))


def unpack_columns(body: bytes, changes: int) -> Columns:
    """Return the columns that `pack_columns` made the bytes of."""
    size = int.from_bytes(body[:_ALIGNED])
    head = json.loads(body[_ALIGNED : _ALIGNED + size])
    at, arrays = _ALIGNED + _padded(size), {}
    for name, (meant, kept, many, scale, runs) in head["arrays"].items():
        numbers = np.frombuffer(body, kept, many, at)
        at += _padded(numbers.nbytes)
        lengths = np.frombuffer(body, _LENGTH, runs, at)
        at += lengths.nbytes
        whole = _widened(numbers, meant, scale)
        arrays[name] = np.repeat(whole, lengths) if runs else whole
    names = head["names"]
    names["tags"] = [tuple(tags) for tags in names["tags"]]
    facts: dict[str, Any] = {one.name: arrays[_FACT + one.name] for one in fields(Facts)}
    facts |= {name: Coded(tuple(names[name]), facts[name]) for name in CODED}
    rows = Rows(*(arrays[_ROW + one.name] for one in fields(Rows)))
    return Columns(arrays[_ITEMS], Facts(**facts), rows, changes)


def _codes_of(column: Coded | NDArray[Any]) -> NDArray[Any]:
    return column.codes if isinstance(column, Coded) else column


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _aligned(part: bytes) -> bytes:
    return part.ljust(_padded(len(part)), b"\0")


def _as_runs(array: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return a column's numbers, and how often each is repeated where most are: the raters, say, who stand together."""
    starts = run_starts(array)
    if starts.size * _LONG_RUNS > array.size:
        return array, np.zeros(0, dtype=_LENGTH)
    return array[starts], np.diff(starts, append=array.size).astype(_LENGTH)


def _narrowed(array: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return numbers in half the room where that loses nothing, and how many of them make 1 (0: as they are)."""
    if array.dtype == np.int64:
        narrow = array.astype(_NARROW)
        return (narrow, 1) if np.array_equal(narrow, array) else (array, 0)
    for scale in (1, 1000) if array.dtype == np.float64 else ():
        with np.errstate(over="ignore"):  # too large is told by the comparison
            whole = np.rint(array * scale)
        held = np.abs(whole) < abs(_UNKNOWN)
        narrow = np.where(held, whole, _UNKNOWN).astype(_NARROW)
        if np.array_equal(_widened(narrow, array.dtype, scale), array, equal_nan=True):
            return narrow, scale
    return array, 0


def _widened(kept: NDArray[Any], meant: Any, scale: int) -> NDArray[Any]:
    """Return numbers as they were before they were made narrow; what is not known of times has a number for it."""
    if not scale or np.dtype(meant) == np.int64:
        return kept.astype(meant)
    return np.where(kept == _UNKNOWN, np.nan, kept / scale)
