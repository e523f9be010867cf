"""Whether a store can be worked with: what a monitor asks."""

from __future__ import annotations

from dataclasses import dataclass

from judge.domain import StorageError
from storage.migrate import HEAD, current_revision
from storage.store import Store


@dataclass(frozen=True, slots=True)
class Health:
    """What was found, by part; nothing in it tells where the database is."""

    well: bool
    told: dict[str, str]


def check_health(store: Store) -> Health:
    """Ask the database for its schema, and say what is wrong, if something is."""
    try:
        with store.reading() as connection:
            revision = current_revision(connection)
    except StorageError:
        return Health(False, {"database": "cannot be reached", "schema": "unknown"})
    if revision == HEAD:
        return Health(True, {"database": "ok", "schema": "current"})
    return Health(False, {"database": "ok", "schema": f"is {revision}, and this program needs {HEAD}"})
