"""The Batch API: many requests in one file, answered within a day at half the price.

A batch is never created twice: the server keeps its token, and an attempt whose outcome is unknown is looked
for by it before there is another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from judge.client import Client
from judge.completions import read_completion
from judge.domain import Failure, Reply, Scale
from judge.refusals import fault_in, said

MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000  # the servers' limit is 200 MB
PRICE = 0.5  # of what the same call costs by itself
TRANSFER = 600.0  # seconds for a file of the greatest size
OVER = ("completed", "failed", "expired", "cancelled")
TOKEN = "accord"  # noqa: S105 (the name under which a server keeps a batch's token)
CLOCKS = timedelta(hours=26)  # how far a server's clock, or its idea of a time zone, may be off
_NONE_HERE = "the server has no Batch API: leave --batch out"
_UNKNOWN_OUTCOME = ("connection", "timeout", "server", "rate", "bug")


@dataclass(frozen=True, slots=True)
class Remote:
    """A batch as the server describes it."""

    id: str
    state: str
    done: int = 0
    total: int = 0
    files: tuple[str, ...] = ()
    error: str = ""


class Batches:
    """The batches of one endpoint."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def upload(self, path: Path) -> str | Failure:
        """Hand a file of requests over and return what the server calls it."""

        async def send(api: Any) -> str:
            with path.open("rb") as file:
                return str((await api.files.create(file=(path.name, file), purpose="batch")).id)

        sent = await self._client.send(send, seconds=TRANSFER)
        return Failure("request", _NONE_HERE, fatal=True) if sent is None else sent

    async def create(self, input_file: str, token: str, since: datetime) -> Remote | Failure:
        """Start a batch; after an attempt whose outcome is unknown, look whether it was made."""

        async def send(api: Any) -> Remote:
            wanted = {"input_file_id": input_file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
            return self._remote(await api.batches.create(**wanted, metadata={TOKEN: token}))

        made: Remote | Failure | None = Failure("request", _NONE_HERE, fatal=True)
        for delay in (*self._client.delays(), None):
            made = await self._client.send(send, once=True)
            if not isinstance(made, Failure) or made.fatal or not may_exist(made):
                break
            found = await self.find(token, since)
            if found is not None:
                return found
            if delay is not None:
                await self._client.pause(delay)
        return Failure("request", _NONE_HERE, fatal=True) if made is None else made

    async def find(self, token: str, since: datetime) -> Remote | Failure | None:
        """Return the batch with this token among those made since a moment; None when there is none."""
        oldest = (since - CLOCKS).timestamp()

        async def send(api: Any) -> Remote | None:
            async for batch in api.batches.list(limit=100):  # the newest first
                if batch.created_at < oldest:
                    break
                if (batch.metadata or {}).get(TOKEN) == token:
                    return self._remote(batch)
            return None

        return await self._client.send(send, seconds=TRANSFER)

    async def look(self, remote_id: str) -> Remote | Failure | None:
        """Return how a batch stands; None when the server does not know it."""

        async def send(api: Any) -> Remote:
            return self._remote(await api.batches.retrieve(remote_id))

        return await self._client.send(send)

    async def fetch(self, file: str, target: Path) -> Failure | bool:
        """Write a file of answers to a path; False when the server no longer has it."""

        async def send(api: Any) -> bool:
            async with api.files.with_streaming_response.content(file) as response:
                await response.stream_to_file(target)
            return True

        return await self._client.send(send, seconds=TRANSFER) or False

    def read(self, line: bytes, scale: Scale) -> tuple[str, Reply | Failure] | None:
        """Return a request's name and its answer; None for a line that is neither."""
        try:
            told = json.loads(line)
            name, response, error = str(told["custom_id"]), told.get("response"), told.get("error")
            status, body = (response["status_code"], response["body"]) if response else (0, None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        try:
            return name, self._answer(status, body, scale) if status else self._never_asked(error)
        except Exception as fault:  # noqa: BLE001 (one answer must not take the others with it)
            return name, fault_in(fault)

    def _answer(self, status: Any, body: Any, scale: Scale) -> Reply | Failure:
        if status == 200:
            reply = read_completion(body, scale)
            if reply is None:
                return Failure("server", "the batch's output holds no completion for this request")
            return self._client.clean(reply)
        refused = body.get("error", body) if isinstance(body, dict) else body
        return self._client.explain(status, refused)

    def _never_asked(self, told: object) -> Failure:
        error: Mapping[str, Any] = told if isinstance(told, dict) else {}
        text = self._client.scrub(f"{said(error) or 'no reason is given'} ({error.get('code') or 'no code'})")
        if error.get("code") == "batch_expired":
            return Failure("timeout", f"the batch expired before this was answered: {text}")
        return Failure("server", f"the batch ended without an answer to this: {text}")

    def _remote(self, batch: Any) -> Remote:
        counts, errors = batch.request_counts, batch.errors.data if batch.errors else None
        told = [f"{each.message} ({each.code})" + (f", line {each.line}" if each.line else "") for each in errors or ()]
        return Remote(
            batch.id,
            batch.status,
            done=(counts.completed or 0) + (counts.failed or 0) if counts else 0,
            total=counts.total or 0 if counts else 0,
            files=tuple(file for file in (batch.output_file_id, batch.error_file_id) if file),
            error=self._client.scrub("; ".join(told[:3])),
        )


def may_exist(failure: Failure) -> bool:
    """Say whether what was asked for may have been done all the same."""
    return failure.kind in _UNKNOWN_OUTCOME


def request_line(name: str, body: Mapping[str, Any]) -> bytes:
    """Return one line of a file of requests."""
    line = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line).encode() + b"\n"
