"""The app as one object, and its server."""

from __future__ import annotations

import errno
import os
import socket
import time

import gradio as gr

from exchange.background import Runs
from exchange.endpoints import Endpoints
from judge.domain import InputError
from storage.store import Store
from ui.agreement import Agreement
from ui.examples import list_examples
from ui.judges import Judges
from ui.page import Page, Settings, open_door, put_header
from ui.playground import Playground
from ui.review import Review
from ui.settings import SettingsPage
from ui.studies import Studies
from ui.theme import LAUNCH


def build_app(
    store: Store, settings: Settings, endpoints: Endpoints | None = None, runs: Runs | None = None
) -> gr.Blocks:
    """Return the app over a store, ready to launch once; the first page is the one at the root.

    Whoever gives it endpoints and runs of their own closes them when its server has stopped.
    """
    endpoints = endpoints or Endpoints(store, settings.weights)
    runs = runs or Runs(store, endpoints)
    pages: list[Page] = [
        Review(store, endpoints),
        Judges(store, endpoints, runs),
        Agreement(store),
        Studies(store, settings),
        Playground(settings.protocols, list_examples(), store, endpoints),
        SettingsPage(endpoints),
    ]

    def list_studies() -> list[str]:
        return [study.name for study in store.studies()]

    # Files that were sent or fetched are gone from the server a day later.
    with gr.Blocks(title="Accord", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)) as blocks:
        open_door(list_studies, "list_studies")
        _put(pages[0], pages)
    for page in pages[1:]:
        with blocks.route(page.title, page.path, show_in_navbar=False):
            _put(page, pages)
    return blocks


def _put(page: Page, pages: list[Page]) -> None:
    put_header(page, pages)
    page.wire(page.layout())


def start_server(store: Store, settings: Settings, host: str, port: int, root_path: str, open_browser: bool) -> None:
    """Serve the app, print its address, and return after Ctrl-C."""
    _check_address(host, port)
    _spare_own_address_from_proxies(host)
    endpoints = Endpoints(store, settings.weights)
    runs = Runs(store, endpoints)
    try:
        _serve(build_app(store, settings, endpoints, runs), host, port, root_path, open_browser)
    finally:
        runs.close()
        endpoints.close()


def _serve(blocks: gr.Blocks, host: str, port: int, root_path: str, open_browser: bool) -> None:
    blocks.launch(
        **LAUNCH,
        server_name=f"[{host}]" if ":" in host else host,
        server_port=port,
        root_path=root_path,
        inbrowser=open_browser,
        prevent_thread_lock=True,
        quiet=True,
    )
    try:
        print(f"Accord is at {blocks.local_url.rstrip('/')} (Ctrl-C stops it)", flush=True)  # noqa: T201
        while blocks.is_running:
            time.sleep(0.2)
    except KeyboardInterrupt:
        blocks.close(verbose=False)


def _check_address(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on; gradio would find out late and say less."""
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


def _spare_own_address_from_proxies(host: str) -> None:
    # Gradio asks its own server whether it is up, and would ask through a proxy named in the environment.
    spared = [os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or "", "localhost", "127.0.0.1", host]
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(dict.fromkeys(filter(None, spared)))
