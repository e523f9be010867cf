"""Rows: what a file holds before anyone has asked what it means."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from judge.domain import InputError


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file, with the place to name when something is wrong with it.

    Where it was gathered from several lines, `verdicts_at` is the source and line of each of its verdicts.
    """

    source: str
    line: int
    value: Any
    verdicts_at: tuple[tuple[str, int], ...] = ()

    def refuse(self, reason: str) -> InputError:
        """Return the error that names this row."""
        return InputError(f"{self.source}:{self.line}: {reason}")

    def place_of(self, field: str) -> Row:
        """Return this row, at the place of the verdict that a field such as `verdicts[2].label` is of."""
        number = re.match(r"verdicts\[(\d+)\]", field)
        if number is None or not self.verdicts_at:
            return self
        source, line = self.verdicts_at[int(number[1])]
        return replace(self, source=source, line=line)
