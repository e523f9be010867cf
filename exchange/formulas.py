"""Cells that a spreadsheet would run as a formula, made inert by a quotation mark that can be taken off again."""

from __future__ import annotations

import re

_RUNS = re.compile(r"'*[=+\-@\t\r]")


def neutralised(text: str) -> str:
    """Return a cell that no spreadsheet runs; our labels need it as much as an attacker's text does."""
    return f"'{text}" if _RUNS.match(text) else text


def restored(text: str) -> str:
    """Return what `neutralised` was given."""
    return text[1:] if text.startswith("'") and _RUNS.match(text) else text
