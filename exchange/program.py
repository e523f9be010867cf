"""Which program this is: numbers that another one made may have been made otherwise."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

ROOMS = ("judge", "storage", "agreement", "exchange")  # everything that has a hand in a number


@cache
def program_digest() -> str:
    """Return what changes with any line of what makes the numbers."""
    digest = sha256()
    for room in ROOMS:
        for path in sorted((Path(__file__).parents[1] / room).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
