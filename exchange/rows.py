"""Rows: what a file holds before anyone has asked what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judge.domain import InputError


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file, with the place to name when something is wrong with it."""

    source: str
    line: int
    value: Any

    def refuse(self, reason: str) -> InputError:
        """Return the error that names this row."""
        return InputError(f"{self.source}:{self.line}: {reason}")
