"""Servers of models that somebody has given a name; where they are, never a key."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, insert, select

from storage.schema import endpoints
from storage.trail import record_event


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


def keep_endpoint(connection: Connection, endpoint: NamedEndpoint, now: datetime, by: str) -> None:
    """Store a server under its name, instead of the one that had it."""
    connection.execute(_REMOVE, {"old": endpoint.name})
    connection.execute(insert(endpoints).values(**asdict(endpoint), created=now))
    address = endpoint.base_url or "OpenAI’s own"
    record_event(connection, "endpoint_kept", now, endpoint=endpoint.name, address=address, by=by)


def remove_endpoint(connection: Connection, name: str, now: datetime, by: str) -> None:
    """Forget a named server; nothing is wrong if there is none."""
    if connection.execute(_REMOVE, {"old": name}).rowcount:
        record_event(connection, "endpoint_removed", now, endpoint=name, by=by)
