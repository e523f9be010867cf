"""Simulated raters, whose leanings are known: what goes in can be compared with what the statistics report.

A simulated rater sees two responses as one number: how much better A is than B (the qualities that the item's writer
gave them), plus `longer` for each unit of log(length A / length B), plus `first` for the response that is shown first,
plus a normal error of size `noise`, drawn anew for every verdict. Where that number falls between the scale's cuts is
the label. A single response is seen as its quality, plus `longer` for each unit of log(length / 300), plus `lift`,
plus the error. So the chance of every label is known exactly (`label_chances`), and nothing else is in the verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from judge.domain import ORDERS, GivenVerdict, InputError, Item, Order, ProtocolVersion, RaterKind

CUTS = {
    ("pairwise", 2): (0.0,),
    ("pairwise", 3): (-0.5, 0.5),
    ("pairwise", 5): (-1.4, -0.4, 0.4, 1.4),
    ("direct", 5): (1.5, 2.5, 3.5, 4.5),
}
USUAL_LENGTH = 300.0
BEGIN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SimulatedRater:
    """A rater and everything that decides their verdicts."""

    name: str
    kind: RaterKind
    noise: float
    first: float = 0.0
    longer: float = 0.0
    lift: float = 0.0
    silent: float = 0.0  # the share of replies that hold no verdict
    repeats: float = 0.0  # the share of items that are shown a second time
    seconds: float = 30.0


def label_chances(
    rater: SimulatedRater, item: Item, protocol: ProtocolVersion, order: Order = "AB"
) -> NDArray[np.float64]:
    """Return the chance of each label of the scale, lowest first, when the rater sees the item in this order."""
    cuts = CUTS.get((protocol.kind, len(protocol.scale.labels)))
    if cuts is None:
        raise InputError(f"verdicts on the scale of {protocol.name} cannot be simulated")
    below = ndtr((np.asarray(cuts) - _seen(rater, item, order)) / rater.noise)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def _seen(rater: SimulatedRater, item: Item, order: Order) -> float:
    if item.response_b is None:
        length = math.log(max(len(item.response_a), 1) / USUAL_LENGTH)
        return _quality(item, "b" if item.id.endswith("/b") else "a") + rater.longer * length + rater.lift
    length = math.log(max(len(item.response_a), 1) / max(len(item.response_b), 1))
    place = rater.first if order == "AB" else -rater.first
    return _quality(item, "a") - _quality(item, "b") + rater.longer * length + place


def _quality(item: Item, side: str) -> float:
    found = item.metadata.get(f"quality_{side}")
    if not isinstance(found, int | float):
        raise InputError(f"item {item.id!r} has no quality_{side} in its metadata: nothing can be simulated")
    return float(found)


def simulate_verdicts(
    items: Sequence[Item], protocol: ProtocolVersion, raters: Sequence[SimulatedRater], seed: int
) -> list[tuple[GivenVerdict, ...]]:
    """Return every rater's verdicts on every item, the same for the same seed.

    People see each item in one order, drawn at random, and some items twice; judges see pairs in both orders.
    """
    rng = np.random.default_rng(seed)
    given: list[list[GivenVerdict]] = [[] for _ in items]
    for rater in raters:
        for at, verdict in _work(rater, items, protocol, rng):
            given[at].append(verdict)
    return [tuple(verdicts) for verdicts in given]


def _work(
    rater: SimulatedRater, items: Sequence[Item], protocol: ProtocolVersion, rng: np.random.Generator
) -> Iterator[tuple[int, GivenVerdict]]:
    places = [int(at) for at in rng.permutation(len(items))]
    again = places[: round(rater.repeats * len(items))]
    now = BEGIN
    for turn, at in enumerate([*places, *again]):
        orders: tuple[Order, ...] = ORDERS if protocol.kind == "pairwise" else ("AB",)
        if rater.kind == "human":
            orders = (orders[int(rng.integers(len(orders)))],)
        for order in orders:
            label = str(rng.choice(protocol.scale.labels, p=label_chances(rater, items[at], protocol, order)))
            silent = bool(rng.random() < rater.silent)
            seconds = round(float(rater.seconds * rng.lognormal(0.0, 0.4)), 1)
            now += timedelta(seconds=round(seconds))
            yield (
                at,
                GivenVerdict(
                    rater=rater.name,
                    kind=rater.kind,
                    label=None if silent else label,
                    status="unreadable" if silent else "ok",
                    order=order,
                    seconds=seconds if rater.kind == "human" else None,
                    created=now,
                    repeat=turn >= len(places),
                ),
            )
