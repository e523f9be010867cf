"""One line of JSON for each request and each fault, for programs that collect logs: never a text or a token."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

from starlette.types import Message, Scope, Send

LONGEST_PATH = 200
MOST_PLACES = 30
FAULTS = logging.getLogger("accord")
SECRET_PARTS = re.compile(r"^(/invite/|/gradio_api/(?:file=|file/|upload_progress|heartbeat/)).+", re.DOTALL)


def write_line(line: str) -> None:
    """Write a line to standard error at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class FaultLines(logging.Handler):
    """Writes what is logged as lines of JSON: which error, and where, but not its words, which may quote texts."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        error = record.exc_info[1] if record.exc_info else None
        told: dict[str, object] = {"time": _now(), "event": "fault" if error else "log", "logger": record.name}
        told["level"] = record.levelname.lower()
        if error is not None:
            places = traceback.extract_tb(error.__traceback__)[-MOST_PLACES:]
            told["error"] = type(error).__qualname__
            told["where"] = [f"{place.filename}:{place.lineno} {place.name}" for place in places]
        write_line(json.dumps(told, ensure_ascii=True))


def logged(scope: Scope, send: Send, user: Callable[[], str], write: Callable[[str], None] = write_line) -> Send:
    """Return a sender that writes a line when the answer begins: when, what, by whom, how it went, how long it took."""
    began = time.perf_counter()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            told = {
                "time": _now(),
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
