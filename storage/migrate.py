"""Bringing a database to the schema of this program, and refusing one that is ahead of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from judge.domain import StorageError
from storage.engine import WRITE, create_private

HEAD = "0008"
FOLDER = Path(__file__).parent / "migrations"


def migrate(engine: Engine) -> Path | None:
    """Upgrade the database if it is behind, after backing SQLite up; return the backup's path, if one was made."""
    with engine.connect() as connection:
        if current_revision(connection) == HEAD:
            return None
    # One process upgrades, the others wait and then find nothing to do.
    with engine.connect().execution_options(**{WRITE: True}) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7206)"))
        current = current_revision(connection)
        if current == HEAD:
            return None
        return _upgrade(connection, current)


def current_revision(connection: Connection) -> str | None:
    """Return the database's revision; None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection, current: str | None) -> Path | None:
    # Imported here because a database that is up to date never needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise StorageError(
            f"this database was written by a newer Accord (schema {current}; this one knows {HEAD}): "
            "update Accord, or name another database. Nothing was changed."
        )
    backup = _back_up(connection, current) if current is not None else None
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
    return backup


def _back_up(connection: Connection, current: str) -> Path | None:
    if connection.dialect.name != "sqlite":
        return None
    source = Path(str(connection.engine.url.database))
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = source.with_name(f"{source.name}.before-{HEAD}-from-{current}-{moment}")
    create_private(target)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
    return target
