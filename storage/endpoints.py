"""Servers of models that somebody has given a name; where they are, never a key."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, insert, select

from storage.schema import endpoints


@dataclass(frozen=True, slots=True)
class NamedEndpoint:
    """A server under its name: the model to ask, the variable that may hold the key, USD per million tokens."""

    name: str
    model: str
    base_url: str | None
    key_env: str
    price_prompt: float | None = None
    price_completion: float | None = None


_COLUMNS = [endpoints.c[name] for name in NamedEndpoint.__dataclass_fields__]
_ALL = select(*_COLUMNS).order_by(endpoints.c.name)
_REMOVE = delete(endpoints).where(endpoints.c.name == bindparam("old"))


def list_endpoints(connection: Connection) -> list[NamedEndpoint]:
    """Return every named server, by name."""
    return [NamedEndpoint(*row) for row in connection.execute(_ALL)]


def keep_endpoint(connection: Connection, endpoint: NamedEndpoint, now: datetime) -> None:
    """Store a server under its name, instead of the one that had it."""
    remove_endpoint(connection, endpoint.name)
    connection.execute(insert(endpoints).values(**asdict(endpoint), created=now))


def remove_endpoint(connection: Connection, name: str) -> None:
    """Forget a named server; nothing is wrong if there is none."""
    connection.execute(_REMOVE, {"old": name})
