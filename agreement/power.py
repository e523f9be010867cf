"""The alternative annotator test's chance of being passed, by simulation: bounds are rough, trials are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from agreement.alt_test import Measure, passes_alt_test
from agreement.categories import FloatArray

SIZES = (30, 50, 75, 100, 150, 200, 300, 500)


@dataclass(frozen=True, slots=True)
class Power:
    """The share of simulated studies of this many items that pass."""

    items: int
    passes: float


@dataclass(frozen=True, slots=True)
class Trials:
    """How many studies of each size are simulated, and by which seed."""

    count: int = 200
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected without a pilot: how often a person and the judge hit the truth, on so many labels."""

    annotators: int
    human: float
    judge: float
    labels: int


def simulate_from_pilot(
    raters: tuple[ArrayLike, ArrayLike],
    measure: Measure,
    epsilon: float,
    annotators: int | None = None,
    trials: Trials | None = None,
) -> list[Power]:
    """Return the power at growing sizes, drawing items from a pilot's humans (N x R) and judge (N); NaN is missing.

    With fewer annotators than the pilot has, each simulated study draws its own of them.
    """
    humans, judge = (np.asarray(side, dtype=np.float64) for side in raters)
    useful = (np.isfinite(humans).sum(axis=1) >= 2) & np.isfinite(judge)
    humans, judge = humans[useful], judge[useful]
    if not useful.any():
        return []
    drawn = trials or Trials()
    rng = np.random.default_rng(drawn.seed)

    def draw(items: int) -> tuple[FloatArray, FloatArray]:
        at = rng.integers(0, judge.size, items)
        if annotators is None or annotators >= humans.shape[1]:
            return humans[at], judge[at]
        return humans[at][:, rng.permutation(humans.shape[1])[:annotators]], judge[at]

    return [_share(items, [draw(items) for _ in range(drawn.count)], measure, epsilon) for items in SIZES]


def simulate_from_expectation(expected: Expected, epsilon: float, trials: Trials | None = None) -> list[Power]:
    """Return the power at growing sizes: everyone hits the truth independently, else labels at random."""
    drawn = trials or Trials()
    rng = np.random.default_rng(drawn.seed)

    def draw(items: int) -> tuple[FloatArray, FloatArray]:
        truth = rng.integers(0, expected.labels, (items, 1))
        shape = (items, expected.annotators + 1)
        right = rng.random(shape) < np.append(np.full(expected.annotators, expected.human), expected.judge)
        # Who misses the truth gives one of the other labels.
        wrong = (truth + rng.integers(1, expected.labels, shape)) % expected.labels
        said = np.where(right, truth, wrong).astype(np.float64)
        return said[:, :-1], said[:, -1]

    return [_share(items, [draw(items) for _ in range(drawn.count)], "match", epsilon) for items in SIZES]


def _share(items: int, drawn: list[tuple[FloatArray, FloatArray]], measure: Measure, epsilon: float) -> Power:
    passed = [passes_alt_test(one, measure, epsilon) for one in drawn]
    return Power(items, float(np.mean(passed)))
