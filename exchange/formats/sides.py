"""Sides: which response is A, for ever, whichever way round a row showed the two.

Rows of the same question and the same two models must become one item. Side A is the model whose name
sorts first; when one model stands on both sides, the response that sorts first. The rule needs no other
row, so files imported one by one agree about it.
"""

from __future__ import annotations

from dataclasses import dataclass

from judge.domain import Order

_MIRRORED = {"A++": "B++", "A+": "B+", "A=B": "A=B", "A": "B", "tie": "tie"}
_MIRRORED |= {other: label for label, other in _MIRRORED.items()}


@dataclass(frozen=True, order=True, slots=True)
class Side:
    """A response under review, and who wrote it."""

    model: str
    response: str


def settle(first: Side, second: Side) -> tuple[Side, Side, Order]:
    """Return sides A and B, and the order in which the row showed them."""
    if second < first:
        return second, first, "BA"
    return first, second, "AB"


def unswap(label: str, order: Order) -> str:
    """Return a label as said of sides A and B, when it was given in the frame of an order."""
    return label if order == "AB" else _MIRRORED[label]
