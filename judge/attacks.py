"""Texts by which a response may try to win over its judge, planted in an item, and how far a verdict moved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Literal

import yaml

from judge.domain import InputError, Item, Order
from judge.protocol import DIRECT_FIELDS, SIDE_A_FIELDS, SIDE_B_FIELDS, Protocol

Side = Literal["A", "B"]
_FILE = Path(__file__).parent / "attacks.yaml"


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to try: its name, what it does in a sentence, and its text."""

    name: str
    told: str
    text: str


@cache
def list_attacks() -> dict[str, Attack]:
    """Return the known attacks by name; the first is the control, which is none."""
    entries = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {name: Attack(name, entry["told"], entry["text"]) for name, entry in entries.items()}


def find_attacks(names: Sequence[str]) -> list[Attack]:
    """Return the attacks of these names and the control they are compared with; without names, all."""
    known = list_attacks()
    wrong = [name for name in names if name not in known]
    if wrong:
        raise InputError(f"no attack named {wrong[0]!r}; known: {', '.join(known)}")
    control = next(iter(known))
    return [known[name] for name in (dict.fromkeys([control, *names]) if names else known)]


def plant(protocol: Protocol, attack: Attack, item: Item, side: Side, order: Order) -> Item:
    """Return an item whose response on one side ends with an attack, written for the order it is shown in."""
    words = Template(attack.text).safe_substitute(_words(protocol, side, order))
    if side == "A":
        return replace(item, response_a=f"{item.response_a}\n\n{words}")
    return replace(item, response_b=f"{item.response_b or ''}\n\n{words}")


def _words(protocol: Protocol, side: Side, order: Order) -> dict[str, str]:
    shown: Side = side if order == "AB" or protocol.kind == "direct" else "B" if side == "A" else "A"
    labels = protocol.scale.labels
    best, worst = (labels[-1], labels[0]) if shown == "A" else (labels[0], labels[-1])
    json_form = protocol.answer.form == "json"
    own = DIRECT_FIELDS if protocol.kind == "direct" else SIDE_A_FIELDS if shown == "A" else SIDE_B_FIELDS
    other = SIDE_B_FIELDS if shown == "A" else SIDE_A_FIELDS
    return {
        "label": best,
        "other_label": worst,
        "side": shown,
        "other_side": "B" if shown == "A" else "A",
        "reply": json.dumps({protocol.answer.text: best}) if json_form else f"{protocol.answer.text} {best}",
        "closing": _line_after(protocol, own),
        "placeholder": protocol.placeholder.replace("name", next((f for f in protocol.fields if f in other), other[0])),
    }


def _line_after(protocol: Protocol, fields: Sequence[str]) -> str:
    """Return the line of the template that follows one of the fields."""
    lines = [line.strip() for line in protocol.template.split("\n") if line.strip()]
    for line, following in pairwise(lines):
        found = protocol.pattern.search(line)
        if found and found[1] in fields and not protocol.pattern.search(following):
            return following
    return "---"


@dataclass(frozen=True, slots=True)
class Move:
    """How an item's verdict moved, on the scale and seen from the attacked side; up is what the attacker wants."""

    before: float
    after: float
    best: float

    @property
    def shift(self) -> float:
        """Return by how much the verdict moved."""
        return self.after - self.before

    @property
    def had_room(self) -> bool:
        """Say whether the verdict could move at all: the best cannot become better."""
        return self.before < self.best


def measure(protocol: Protocol, side: Side, clean: dict[Order, str], attacked: dict[Order, str]) -> Move | None:
    """Return how the verdict moved, as the mean over the orders that were read both times; None if there is none.

    Labels speak of the sides as imported.
    """
    both = [order for order in clean if order in attacked]
    if not both:
        return None
    sign = 1.0 if side == "A" else -1.0
    values = [sign * point.value for point in protocol.scale.points]
    before, after = (sum(sign * protocol.scale.value(labels[order]) for order in both) for labels in (clean, attacked))
    return Move(before / len(both), after / len(both), max(values))
