"""Numbers for reading, written one way on every page, in every table and in the report."""

from __future__ import annotations

from collections.abc import Sequence


def write_percent(share: float, places: int = 0) -> str:
    """Return a share of one in percent: whole, unless what is known of it is finer than a point."""
    return _signed(f"{100 * share:.{places}f}", " %")


def write_decimal(value: float, places: int = 2) -> str:
    """Return a coefficient with two decimals, unless more are needed to tell it from 0."""
    return _signed(f"{value:.{places}f}", "")


def write_count(number: int) -> str:
    """Return how many there are, thousands apart."""
    return f"{number:,}"


def write_ranks(ends: Sequence[int] | None) -> str:
    """Return an interval of ranks; a rank that is certain stands alone, and nothing is known of none."""
    return "–".join(map(str, dict.fromkeys(ends or ())))


def _signed(digits: str, unit: str) -> str:
    """Return digits behind a real minus sign, which a zero does not have."""
    size = digits.removeprefix("-")
    minus = "−" if size != digits and float(size) else ""
    return f"{minus}{size}{unit}"
