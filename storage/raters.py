"""Raters: people and judges, each known once by kind and name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, Insert, Table, bindparam, select

from judge.domain import LONGEST_NAME, InputError, RaterKind, check_text
from storage.schema import raters

_KNOWN = select(raters.c.id).where(raters.c.kind == bindparam("kind"), raters.c.name == bindparam("name"))


def rater_id_of(connection: Connection, kind: RaterKind, name: str) -> int:
    """Return the number of this rater, storing them if they are new."""
    check_text("a rater's name", name, LONGEST_NAME)
    if not name.strip():
        raise InputError(f"a rater needs a name of at most {LONGEST_NAME} characters")
    found = find_rater(connection, kind, name)
    if found is None:
        add_if_absent(connection, raters, kind=kind, name=name)
        found = int(connection.execute(_KNOWN, {"kind": kind, "name": name}).scalar_one())
    return found


def find_rater(connection: Connection, kind: RaterKind, name: str) -> int | None:
    """Return the number of this rater, if they are known."""
    found = connection.execute(_KNOWN, {"kind": kind, "name": name}).scalar()
    return None if found is None else int(found)


def add_if_absent(connection: Connection, table: Table, **values: Any) -> None:
    """Insert a row unless it is there: two processes may meet the same new thing at the same moment."""
    add_absent(connection, table, [values])


def add_absent(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those of the rows that are not there, in one go."""
    if rows:
        connection.execute(_add_absent(connection.dialect.name, table), rows)


@cache
def _add_absent(dialect: str, table: Table) -> Insert:
    chosen = import_module(f"sqlalchemy.dialects.{dialect}")  # the other one need not be loaded
    added: Insert = chosen.insert(table).on_conflict_do_nothing()
    return added
