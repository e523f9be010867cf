"""How many items and annotators a study needs, before it is run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from agreement.categories import FloatArray, IntArray
from agreement.pairs import kappa_standard_error
from judge.domain import InputError


def _z(level: float) -> float:
    return float(ndtri((1.0 + level) / 2.0))


def design_effect(mean_cluster_size: float, correlation: float) -> float:
    """Return by how much clusters raise the number of items needed: 1 + (mean size - 1) x correlation (Kish)."""
    return 1.0 + (mean_cluster_size - 1.0) * correlation


def items_for_share(share: float, half_width: float, level: float = 0.95, effect: float = 1.0) -> int:
    """Return the items needed to know an agreement rate to within ± half_width."""
    _check_width(half_width)
    return math.ceil(effect * _z(level) ** 2 * share * (1.0 - share) / half_width**2 - 1e-9)


def items_for_kappa(
    pilot: ArrayLike, weights: FloatArray, half_width: float, level: float = 0.95, effect: float = 1.0
) -> int | None:
    """Return the items needed to know kappa to within ± half_width, from a pilot's table; None if it says nothing."""
    _check_width(half_width)
    spread = kappa_standard_error(pilot, weights) * math.sqrt(float(np.sum(pilot)))
    if not math.isfinite(spread) or spread == 0:
        return None
    return math.ceil(effect * (_z(level) * spread / half_width) ** 2 - 1e-9)


def items_for_mean(spread: float, half_width: float, level: float = 0.95, effect: float = 1.0) -> int:
    """Return the items needed to know a mean score to within ± half_width, from the scores' standard deviation."""
    _check_width(half_width)
    return math.ceil(effect * (_z(level) * spread / half_width) ** 2 - 1e-9)


def items_for_correlation(r: float, half_width: float, level: float = 0.95, effect: float = 1.0) -> int:
    """Return the items needed to know Pearson's r to within ± half_width (Bonett and Wright 2000)."""
    _check_width(half_width)
    return math.ceil(effect * ((1.0 - r**2) ** 2 * (_z(level) / half_width) ** 2 + 3.0) - 1e-9)


@dataclass(frozen=True, slots=True)
class Spread:
    """How much agreement of people with a judge varies from item to item, and from person to person on one item."""

    between: float
    within: float

    def items(self, annotators: int, half_width: float, level: float = 0.95, effect: float = 1.0) -> int:
        """Return the items needed to know that agreement to within ± half_width with so many people on each."""
        _check_width(half_width)
        variance = self.between + self.within / annotators
        return math.ceil(effect * variance * (_z(level) / half_width) ** 2 - 1e-9)


def spread_of(people: IntArray, judge: IntArray) -> Spread | None:
    """Return the spread in a pilot's codes (items x people, items), by a one-way analysis of variance."""
    seen = (people >= 0) & (judge >= 0)[:, None]
    right = ((people == judge[:, None]) & seen).sum(axis=1)
    many = seen.sum(axis=1)
    right, many = right[many > 0], many[many > 0]
    if many.size < 2 or many.sum() == many.size:
        return None
    share = right / many
    within = float((many * share * (1.0 - share)).sum() / (many - 1).sum())
    between = float(np.var(share, ddof=1)) - within * float((1.0 / many).mean())
    return Spread(max(between, 0.0), within)


def expected_spread(human: float, judge: float, labels: int) -> Spread:
    """Return the spread where everyone hits the truth independently, and otherwise gives one of the other labels."""
    chances = human, (1.0 - human) / (labels - 1)  # that a person says what the judge says: it is right, or wrong
    between = judge * (1.0 - judge) * (chances[0] - chances[1]) ** 2
    within = judge * chances[0] * (1.0 - chances[0]) + (1.0 - judge) * chances[1] * (1.0 - chances[1])
    return Spread(between, within)


def table_with_kappa(shares: ArrayLike, kappa: float) -> FloatArray:
    """Return the table (of shares) of two raters who use labels in these shares and agree at this nominal kappa.

    For planning without a pilot: with chance kappa they share a label, otherwise each labels on his own.
    """
    share = np.asarray(shares, dtype=np.float64)
    share = share / share.sum()
    return np.asarray(kappa * np.diag(share) + (1.0 - kappa) * np.outer(share, share))


def items_for_kappa_without_pilot(
    shares: ArrayLike, kappa: float, half_width: float, level: float = 0.95, effect: float = 1.0
) -> int | None:
    """Return the items needed for nominal kappa, from the labels' expected shares and the kappa hoped for."""
    table = table_with_kappa(shares, kappa)
    return items_for_kappa(table, np.eye(table.shape[0]), half_width, level, effect)


def items_for_difference(
    difference: float, discordance: float, level: float = 0.95, power: float = 0.8, effect: float = 1.0
) -> int:
    """Return the items needed to see a paired difference in accuracy of two judges (McNemar; Connor 1987).

    `discordance` is the share of items where exactly one of them is right.
    """
    if not 0 < abs(difference) <= discordance <= 1:
        raise InputError("The difference cannot exceed the share of items where exactly one judge is right.")
    root = _z(level) * math.sqrt(discordance) + float(ndtri(power)) * math.sqrt(discordance - difference**2)
    return math.ceil(effect * root**2 / difference**2 - 1e-9)


def labels_for_prediction_powered(classical: int, correlation: float) -> int:
    """Return the human labels needed where `classical` would do without a judge, given many unlabelled items.

    A judge who says the opposite of people saves none: its weight in the corrected number is never below 0.
    """
    return math.ceil(classical * (1.0 - max(correlation, 0.0) ** 2) - 1e-9)


def power_of_alt_test(
    gap: tuple[float, float], items: int, annotators: int, epsilon: float = 0.2, rate: float = 0.05
) -> float:
    """Return a lower bound on the chance that one annotator's hypothesis is rejected.

    `gap` is the mean and standard deviation of W_human - W_judge. The bound takes the strictest step of
    Benjamini-Yekutieli, rate/(m H_m), as if no other annotator were rejected.
    """
    mean, spread = gap
    harmonic = sum(1.0 / step for step in range(1, annotators + 1))
    strict = float(ndtri(1.0 - rate / (annotators * harmonic)))
    if spread == 0:
        return 1.0 if mean < epsilon else 0.0
    return float(ndtr((epsilon - mean) * math.sqrt(items) / spread - strict))


def _check_width(half_width: float) -> None:
    if not half_width > 0:
        raise InputError("The half-width of an interval is above 0.")
