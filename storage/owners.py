"""Processes by name: who holds a part of a run, and whether that process is gone."""

from __future__ import annotations

import os
import secrets
import socket
from functools import cache
from pathlib import Path


def process_name() -> str:
    """Return what tells this process from every other: here, on other machines, and with its number before or after."""
    number = os.getpid()
    return f"{socket.gethostname()}:{number}:{_start(number)}"


def is_dead(owner: str) -> bool:
    """Say whether an owner is a process of this machine that is gone; of others one can only wait."""
    host, number, start = (*owner.split(":"), "", "")[:3]
    if host != socket.gethostname() or not number.isdecimal():
        return False
    now = _stat(int(number))
    if now is not None:
        state, began = now
        # One that was killed and that nobody has waited for yet is listed still.
        return state in ("Z", "X") or start not in ("", began)
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return int(number) == os.getpid() and owner != process_name()


@cache
def _start(number: int) -> str:
    """Return when this process began, or, where that cannot be told, a token of its own."""
    now = _stat(number)
    return now[1] if now else secrets.token_hex(4)


def _stat(number: int) -> tuple[str, str] | None:
    """Return a process's state and when it began, in ticks since the machine did; None where Linux does not tell."""
    try:
        told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = told.rpartition(")")[2].split()  # the name before it may hold anything
    return fields[0], fields[19]
