"""The whole app under its real server, in a thread and a loop of its own."""

import asyncio
import contextlib
import socket
import threading

from exchange.accounts import Accounts
from exchange.background import Runs
from exchange.endpoints import Endpoints
from judge.protocol import list_protocols
from ui.app import build_app
from ui.front import Front
from ui.page import Settings
from ui.server import Address, Server, make_web_app


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Serving(threading.Thread):
    """A running app: where it is, and what is behind it."""

    def __init__(self, store, environment=None, root_path=""):
        super().__init__(daemon=True)
        self.store = store
        self.endpoints = Endpoints(store, environment=environment or {})
        self.runs = Runs(store, self.endpoints)
        self.accounts = Accounts(store)
        self.where = Address("127.0.0.1", free_port())
        self.address = self.where.url
        named = {"ACCORD_HOSTS": "accord.example.org", **(environment or {})}
        self.front = Front.named(named, self.where.host, root_path)
        self.ready = threading.Event()
        self.blocks = self.server = None

    def run(self):
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._serve())

    async def _serve(self):
        self.blocks = build_app(self.store, Settings(list_protocols()), self.endpoints, self.runs, self.accounts)
        web = make_web_app(self.blocks, self.accounts, self.front)
        self.server = Server(web, self.where, self.ready.set)
        await self.server.serve()

    def __enter__(self):
        self.start()
        assert self.ready.wait(120)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.join(30)
        self.runs.close()
        self.endpoints.close()
