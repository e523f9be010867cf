"""Gradio's scripts and styles, packed once and sent from memory.

Gradio packs each of them anew for every visitor, one after the other: most of what a first page takes.
"""

from __future__ import annotations

import gzip
from http import HTTPStatus
from mimetypes import guess_type
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = "/assets/"
TEXTS = (".js", ".css")  # the others are packed in themselves


class Assets:
    """Answers for the texts of one folder itself and leaves everything else to the app behind it."""

    def __init__(self, app: ASGIApp, folder: Path) -> None:
        self.app = app
        self.files = {f"{FOLDER}{file.name}": file for file in folder.iterdir() if file.suffix in TEXTS}
        self._packed: dict[str, bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file that the folder held at the start, or hand the request on."""
        file = self.files.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if file is None or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            await self.app(scope, receive, send)
            return
        if scope["path"] not in self._packed:
            self._packed[scope["path"]] = await run_in_threadpool(_pack, file)
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        answer = Response(self._packed[scope["path"]], HTTPStatus.OK, headers, guess_type(file.name)[0])
        await answer(scope, receive, send)


def _pack(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), mtime=0)
