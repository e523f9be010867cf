"""Cells that a spreadsheet would run as a formula, made inert by a quotation mark that can be taken off again."""

from __future__ import annotations

import unicodedata

_SIGNS = frozenset("=+-@＝＋－＠")
_BREAKS = ("\t", "\r", "\n")
_UNSEEN = ("Zs", "Zl", "Zp", "Cc", "Cf")  # blanks, and what takes no place: spreadsheets skip them before a sign


def _runs(text: str) -> bool:
    """Say whether a spreadsheet may run a cell, with or without quotation marks before it."""
    bare = text.lstrip("'")
    first = next((each for each in bare if unicodedata.category(each) not in _UNSEEN), "")
    return first in _SIGNS or bare.startswith(_BREAKS)


def neutralised(text: str) -> str:
    """Return a cell that no spreadsheet runs; our labels need it as much as an attacker's text does."""
    return f"'{text}" if _runs(text) else text


def restored(text: str) -> str:
    """Return what `neutralised` was given."""
    return text[1:] if text.startswith("'") and _runs(text) else text
