"""The app as one object, and its server."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Mapping

import gradio as gr

from judge.domain import InputError
from judge.protocol import Protocol
from ui.playground import Playground, list_examples
from ui.theme import LAUNCH


def build_app(protocols: Mapping[str, Protocol]) -> gr.Blocks:
    """Return the app for these protocols, ready to launch once."""
    page = Playground(protocols, list_examples())
    with gr.Blocks(title="Playground · Accord", analytics_enabled=False, fill_width=True) as blocks:
        page.wire(page.layout())
    return blocks


def start_server(protocols: Mapping[str, Protocol], host: str, port: int, root_path: str, open_browser: bool) -> None:
    """Serve the app, print its address, and return after Ctrl-C."""
    _check_address(host, port)
    _spare_own_address_from_proxies(host)
    blocks = build_app(protocols)
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
