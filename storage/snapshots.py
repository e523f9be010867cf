"""A large study's columns as one row of the database, for whoever starts without knowing any of them.

A snapshot may be older than its study: what has been added since is read as it is for columns in memory. One from
before a verdict was changed or removed, or in another form, is not read.
"""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update

from storage.columns import ORDERS, STATUSES, Columns, Rows
from storage.facts import CODED, Coded, Facts
from storage.raters import add_if_absent
from storage.schema import snapshots
from storage.studies import StudyRow

_MEANT = STATUSES, ORDERS, *(one.name for part in (Rows, Facts) for one in fields(part))
FORM = sha256(repr(_MEANT).encode()).hexdigest()  # of the columns: another program may know others
_ITEMS, _NAMES, _FACT, _ROW = "items", "names", "fact_", "row_"
_NARROWER: dict[Any, Any] = {np.dtype(np.int64): np.int32, np.dtype(np.float64): np.float32}
_WIDER: dict[Any, Any] = {np.dtype(narrow): wide for wide, narrow in _NARROWER.items()}


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
    """Return columns as bytes that `unpack_columns` makes the same columns of."""
    facts = columns.facts
    names = {name: getattr(facts, name).names for name in CODED}
    arrays: dict[str, NDArray[Any]] = {
        _ITEMS: columns.items,
        _NAMES: np.frombuffer(json.dumps(names).encode(), np.uint8),
        **{_ROW + one.name: getattr(columns.rows, one.name) for one in fields(Rows)},
        **{_FACT + one.name: _codes_of(getattr(facts, one.name)) for one in fields(Facts)},
    }
    body = BytesIO()
    np.savez(body, allow_pickle=False, **{name: _narrowed(array) for name, array in arrays.items()})
    return body.getvalue()


def unpack_columns(body: bytes, changes: int) -> Columns:
    """Return the columns that `pack_columns` made the bytes of."""
    with np.load(BytesIO(body), allow_pickle=False) as packed:
        arrays = {name: _widened(packed[name]) for name in packed}
    names = json.loads(arrays[_NAMES].tobytes())
    names["tags"] = [tuple(tags) for tags in names["tags"]]
    facts: dict[str, Any] = {one.name: arrays[_FACT + one.name] for one in fields(Facts)}
    facts |= {name: Coded(tuple(names[name]), facts[name]) for name in CODED}
    rows = Rows(*(arrays[_ROW + one.name] for one in fields(Rows)))
    return Columns(arrays[_ITEMS], Facts(**facts), rows, changes)


def _codes_of(column: Coded | NDArray[Any]) -> NDArray[Any]:
    return column.codes if isinstance(column, Coded) else column


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in half the room where that loses nothing."""
    if array.dtype not in _NARROWER:
        return array
    with np.errstate(over="ignore"):  # too large is told by the comparison
        narrow = array.astype(_NARROWER[array.dtype])
    return narrow if np.array_equal(narrow, array, equal_nan=array.dtype.kind == "f") else array


def _widened(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(_WIDER[array.dtype]) if array.dtype in _WIDER else array
