"""One line of JSON for each request, for programs that collect logs: never a text, a question or a token."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from starlette.types import Message, Scope, Send

LONGEST_PATH = 200
SECRET_PARTS = re.compile(r"^(/invite/|/gradio_api/(?:file=|file/|upload_progress|heartbeat/)).+", re.DOTALL)


def write_line(line: str) -> None:
    """Write a line to standard error at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def logged(scope: Scope, send: Send, user: Callable[[], str], write: Callable[[str], None] = write_line) -> Send:
    """Return a sender that writes a line when the answer begins: when, what, by whom, how it went, how long it took."""
    began = time.perf_counter()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            told = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "event": "request",
                "method": scope["method"],
                "path": SECRET_PARTS.sub(r"\1…", scope["path"])[:LONGEST_PATH],
                "status": message["status"],
                "ms": round((time.perf_counter() - began) * 1000, 1),
                "user": user() or None,
            }
            write(json.dumps(told, ensure_ascii=True))
        await send(message)

    return sending
