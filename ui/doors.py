"""A short way to the doors that pages call all day: the same address, handlers and answers as through Gradio.

Gradio takes several times longer over a call than the call itself takes, which is too long with fifty people at work.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, get_type_hints

import gradio as gr
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from exchange.accounts import Accounts, Role
from judge.domain import InputError, StorageError
from ui.gate import API, BEYOND_ROLE, FAULT, name_of, refused
from ui.logs import FAULTS


class Door:
    """A handler that scripts may call, the least role that may, and the kinds of values it takes."""

    def __init__(self, handler: Callable[..., Any], least: Role) -> None:
        self.handler = handler
        self.least: Role = least
        hints = get_type_hints(handler)
        self._kinds = [hints[name] for name in inspect.signature(handler).parameters]

    def fits(self, data: list[Any]) -> bool:
        """Say whether the values are as many as the handler takes, and each of its kind."""
        kinds = [kind for kind in self._kinds if kind is not gr.Request]
        return len(data) == len(kinds) and all(map(isinstance, data, kinds))

    def call(self, data: list[Any], request: gr.Request) -> Any:
        """Call the handler with what was sent, and with the request where it asks for it."""
        left = iter(data)
        return self.handler(*(request if kind is gr.Request else next(left) for kind in self._kinds))


class Doors:
    """Answers the calls of known doors itself and leaves everything else to the app behind it."""

    def __init__(self, app: ASGIApp, accounts: Accounts, doors: Mapping[str, Door]) -> None:
        self.app = app
        self.accounts = accounts
        self.doors = {f"{API}run/{name}": door for name, door in doors.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call, or hand the request on."""
        door = self.doors.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if door is None:
            await self.app(scope, receive, send)
        else:
            answer = await self._answer(door, Request(scope, receive))
            await answer(scope, receive, send)

    async def _answer(self, door: Door, request: Request) -> Response:
        data = _data(await request.body())
        asking = gr.Request(request, username=name_of(request) or None)
        try:
            return await run_in_threadpool(self._called, door, data, asking)
        except (StorageError, InputError) as error:
            return refused(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        except Exception:  # noqa: BLE001 (whatever it is, the page must be told, and who runs the server)
            FAULTS.exception("a door broke")
            return refused(HTTPStatus.INTERNAL_SERVER_ERROR, FAULT)

    def _called(self, door: Door, data: list[Any] | None, asking: gr.Request) -> Response:
        if not self.accounts.allows(asking.username, door.least):
            return refused(HTTPStatus.FORBIDDEN, BEYOND_ROLE)
        if data is None or not door.fits(data):
            return refused(HTTPStatus.UNPROCESSABLE_ENTITY, 'send {"data": […]} with what this door takes')
        return JSONResponse({"data": [door.call(data, asking)]})


def _data(body: bytes) -> list[Any] | None:
    """Return the values that were sent, or None when it is something else."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return None
    data = sent.get("data") if isinstance(sent, dict) else None
    return data if isinstance(data, list) else None
