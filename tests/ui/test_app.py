"""The app as a whole: how it is put together, and how its server starts and stops."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exchange.background import Runs
from exchange.endpoints import Endpoints
from judge.domain import InputError
from judge.protocol import list_protocols
from storage.store import Store
from ui.app import build_app
from ui.page import Settings
from ui.server import OPEN_TO_ALL, Address, start_server

ROOT = Path(__file__).parents[2]
SETTINGS = Settings(list_protocols())
PUBLIC = {"next_item", "submit_verdict", "skip_item", "agreement"}


@pytest.fixture
def empty(tmp_path):
    store = Store.open(f"sqlite:///{tmp_path / 'accord.db'}")
    yield store
    store.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def build_two(store):
    # In a running event loop: without one gradio makes loops of its own and never closes them.
    endpoints = Endpoints(store)
    runs = Runs(store, endpoints)
    return build_app(store, SETTINGS, endpoints, runs), build_app(store, SETTINGS, endpoints, runs)


def test_only_the_promised_doors_are_public_and_apps_share_nothing(empty):
    with ThreadPoolExecutor() as apart:  # a browser test in this process keeps an event loop of its own running
        first, second = apart.submit(asyncio.run, build_two(empty)).result()
    assert first is not second
    events = first.get_config_file()["dependencies"]
    assert {event["api_name"] for event in events if event["api_visibility"] != "private"} == PUBLIC
    assert first.analytics_enabled is False


def test_a_busy_port_is_told_with_what_to_do(empty):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} on 127.0.0.1 is in use: .* --port"):
            start_server(empty, SETTINGS, Address("127.0.0.1", port), open_browser=False)


@pytest.mark.parametrize(("host", "complaint"), [("no-such-host.invalid", "not known"), ("192.0.2.1", "--host")])
def test_a_wrong_host_is_told_with_what_to_do(empty, host, complaint):
    with pytest.raises(InputError, match=complaint):
        start_server(empty, SETTINGS, Address(host, free_port()), open_browser=False)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(
    ("host", "name", "warning"), [("127.0.0.1", "127.0.0.1", ""), ("0.0.0.0", "localhost", OPEN_TO_ALL + "\n")]
)
def test_the_server_prints_its_address_and_whom_it_lets_in_and_ctrl_c_ends_it_quietly(tmp_path, host, name, warning):
    port = free_port()
    words = [sys.executable, str(ROOT / "app.py"), "serve", "--host", host, "--port", str(port)]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == f"Accord is at http://{name}:{port} (Ctrl-C stops it)\n"
        server.send_signal(signal.SIGINT)
        rest, errors = server.communicate(timeout=20)
    assert (server.returncode, rest, errors) == (0, "", warning)
