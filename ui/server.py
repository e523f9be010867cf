"""The web server: the pages behind the gate, the health of the whole, and how it starts and stops."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import sys
import warnings
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import FrameType
from typing import Any

import gradio as gr
import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from exchange.accounts import Accounts
from exchange.background import Runs
from exchange.endpoints import Endpoints
from judge.domain import InputError, StorageError
from judge.switches import is_on
from storage.health import check_health
from storage.store import Store
from ui.app import Guarded, build_app
from ui.assets import Assets
from ui.documents import FRONTEND, Documents, make_heads
from ui.doors import Doors
from ui.front import Front, is_loopback
from ui.gate import Gate, name_of, unusable
from ui.logs import FaultLines
from ui.page import Settings
from ui.sign_in import sign_in_routes
from ui.theme import LAUNCH

MOUNT = {name: value for name, value in LAUNCH.items() if name != "share"}  # only a launch can share
# Longer than somebody reads, and than proxies keep a connection: a request must not meet its end.
LONGEST_IDLE = 75  # seconds
LONGEST_GOODBYE = 3  # seconds that open connections are waited for at the end

OPEN_TO_ALL = (
    "warning: others can reach this address and nobody has to sign in: anybody may read and change every study. "
    "Add an account with: python app.py users add NAME --role admin"
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and the path under which a proxy serves it."""

    host: str
    port: int
    root_path: str = ""

    @property
    def url(self) -> str:
        """Return what a person types into a browser on this machine."""
        host = "localhost" if self.host == "0.0.0.0" else self.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def start_server(
    store: Store, settings: Settings, address: Address, open_browser: bool, environment: Mapping[str, str] = os.environ
) -> None:
    """Serve the app, print its address, and return after Ctrl-C or a request to end."""
    _check_address(address.host, address.port)
    accounts = Accounts(store, demanded=is_on(environment, "ACCORD_AUTH"))
    if accounts.needed() and not accounts.list():
        raise InputError("ACCORD_AUTH is on and nobody has an account: python app.py users add NAME --role admin")
    front = Front.named(environment, address.host, address.root_path)
    endpoints = Endpoints(store, settings.weights)
    runs = Runs(store, endpoints)

    def told() -> None:
        if not is_loopback(address.host) and not accounts.needed():
            print(OPEN_TO_ALL, file=sys.stderr, flush=True)  # noqa: T201
        print(f"Accord is at {address.url} (Ctrl-C stops it)", flush=True)  # noqa: T201
        if open_browser:
            webbrowser.open(address.url)

    async def serve() -> None:
        # Built in a running event loop: without one gradio makes loops of its own and never closes them.
        blocks = build_app(store, settings, endpoints, runs, accounts)
        gate = make_web_app(blocks, accounts, front)
        gate.log = environment.get("ACCORD_LOG", "").strip().lower() == "json"
        if gate.log:
            logging.basicConfig(handlers=[FaultLines()], level=logging.WARNING, force=True)
        await Server(gate, address, told).serve()

    try:
        asyncio.run(serve())
    finally:
        runs.close()
        endpoints.close()


def make_web_app(blocks: Guarded, accounts: Accounts, front: Front) -> Gate:
    """Return the whole as one application: the pages, signing in, and `/health`, behind the gate."""
    web = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @web.get("/health")
    def health() -> JSONResponse:
        found = check_health(accounts.store)
        return JSONResponse(found.told, HTTPStatus.OK if found.well else HTTPStatus.SERVICE_UNAVAILABLE)

    @web.exception_handler(StorageError)
    def tell(request: Request, error: StorageError) -> Response:
        return unusable(request.headers, error)

    web.include_router(sign_in_routes(accounts, front))
    with warnings.catch_warnings():
        # Gradio says so of every app with several pages, also when nobody asked for that mode.
        warnings.filterwarnings("ignore", "SSR mode is not supported with multi-page apps", UserWarning)
        gr.mount_gradio_app(web, blocks, path="/", root_path=front.root_path or None, auth_dependency=name_of, **MOUNT)
    # Only a launch says so; without it gradio takes any file of the machine for one that was uploaded.
    blocks.has_launched = True
    pages = Documents(Assets(web, FRONTEND / "assets"), make_heads(blocks))
    return Gate(Doors(pages, accounts, blocks.guarded_doors()), accounts, front)


class Server(uvicorn.Server):
    """Uvicorn that says when it is there, and that a signal ends without another word."""

    def __init__(self, app: Any, address: Address, ready: Callable[[], None]) -> None:
        # The gate itself decides which proxy it believes, so uvicorn must not rewrite who is at the other end.
        super().__init__(
            uvicorn.Config(
                app,
                host=address.host,
                port=address.port,
                log_level="critical",
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=LONGEST_IDLE,
                timeout_graceful_shutdown=LONGEST_GOODBYE,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then tell."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """End; a second signal does not wait for anybody."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _check_address(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on; uvicorn would find out late and say less."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":  # elsewhere this option would let two servers share the port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror as error:
        raise InputError(
            f"the host {host!r} is not known: use an address of this machine, such as 127.0.0.1"
        ) from error
    except OSError as error:
        reasons = {
            errno.EADDRINUSE: "is in use: stop the program that uses it, or choose another with --port",
            errno.EACCES: "may not be used without special rights: choose one above 1023 with --port",
            errno.EADDRNOTAVAIL: "is not an address of this machine: choose another with --host",
        }
        reason = reasons.get(error.errno or 0, f"cannot be listened on: {error.strerror}")
        raise InputError(f"port {port} on {host} {reason}") from error
