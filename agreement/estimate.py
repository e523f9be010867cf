"""What every statistic of this room returns: a number with its interval, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

FEW_ITEMS = 30
FEW_CLUSTERS = 20
SKEWED_SHARE = 0.8
SKEWED_ITEMS = 100
DEFINED_RESAMPLES = 0.9
UNBOUNDED = (-math.inf, math.inf)
LEAST_COMMON = 2  # items without which agreement beyond chance means nothing: one item has no chance to agree by
FEW_COMMON = "fewer than two common items"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval and how both were made.

    Undefined is `value=None` with a reason, never 0 or 1. A value may stand without an interval: then `why` says
    what kept the interval from being made. `method` names the interval, `n` counts items, `clusters` is None where
    every item stands for itself.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    n: int = 0
    clusters: int | None = None
    why: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def defined(self) -> bool:
        """Return whether there is a value."""
        return self.value is not None

    def within(self, bounds: tuple[float, float]) -> Estimate:
        """Return it with nothing beyond what is possible: an interval from t knows no bounds of its own."""
        value, low, high = (
            None if end is None else min(max(end, bounds[0]), bounds[1]) for end in (self.value, self.low, self.high)
        )
        return replace(self, value=value, low=low, high=high)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that `agreement --json` prints: always value, low and high; the rest where it says more."""
        answer: dict[str, Any] = {"value": self.value, "low": self.low, "high": self.high, "n": self.n}
        if self.method:
            answer["method"] = self.method
        if self.clusters is not None:
            answer["clusters"] = self.clusters
        if self.why:
            answer["why"] = self.why
        if self.warnings:
            answer["warnings"] = list(self.warnings)
        return answer


def undefined(why: str, n: int = 0, clusters: int | None = None) -> Estimate:
    """Return an estimate that cannot be made, with the reason."""
    return Estimate(None, n=n, clusters=clusters, why=why)


def point(value: float, n: int, why: str = "it is undefined on these verdicts") -> Estimate:
    """Return a value without an interval; a NaN becomes undefined, for the reason given."""
    if math.isfinite(value):
        return Estimate(float(value), n=n)
    return undefined(why, n)


def list_warnings(n: int, clusters: int | None = None, top_share: float | None = None) -> tuple[str, ...]:
    """Return what a reader must know before trusting an interval.

    The thresholds are where simulated coverage of the 95 % intervals falls below 90 %.
    """
    found = []
    if n < FEW_ITEMS:
        found.append(f"fewer than {FEW_ITEMS} items ({n})")
    if clusters is not None and clusters < FEW_CLUSTERS:
        found.append(f"fewer than {FEW_CLUSTERS} clusters ({clusters})")
    if top_share is not None and top_share > SKEWED_SHARE and n < SKEWED_ITEMS:
        found.append(f"one category holds {100 * top_share:.0f} % of the verdicts and there are only {n} items")
    return tuple(found)
