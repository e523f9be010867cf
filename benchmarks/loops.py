"""How much quicker the tables are than a loop over a package: ratios of one run, for the benchmarks to print."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import krippendorff
import numpy as np
from sklearn.metrics import cohen_kappa_score

from agreement import many, pairs
from agreement.categories import Categories
from agreement.comparison import compare
from agreement.intervals import Sampling, Statistic, estimate
from agreement.units import units_of_table

SCALE = Categories((1.0, 2.0, 3.0, 4.0, 5.0))


def seconds(work: Callable[[], object], times: int) -> float:
    """Return the least time of a few runs: the machine is shared."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def measure_kappa(n: int = 100_000, resamples: int = 2000, loop: int = 10) -> dict[str, float]:
    """Return seconds of quadratic kappa with a BCa interval from codes, and of a scikit-learn bootstrap loop.

    The loop is timed over a few resamples and scaled; it draws percentiles only, without the jackknife of BCa.
    """
    rng = np.random.default_rng(0)
    first = rng.integers(0, 5, n)
    second = np.where(rng.random(n) < 0.5, first, rng.integers(0, 5, n))
    statistic = Statistic(partial(pairs.cohen_kappa, weights=SCALE.weights("quadratic")))
    table = pairs.count_pairs(first, second, 5)

    def ours() -> object:
        return estimate(units_of_table(pairs.count_pairs(first, second, 5)), statistic, Sampling(resamples))

    def theirs() -> None:
        for _ in range(loop):
            at = rng.integers(0, n, n)
            cohen_kappa_score(first[at], second[at], weights="quadratic", labels=range(5))

    kept = partial(estimate, units_of_table(table), statistic, Sampling(resamples))
    found = {"codes": seconds(ours, 10), "table": seconds(kept, 10), "loop": seconds(theirs, 2) / loop * resamples}
    found["everything"] = seconds(lambda: compare(first, second, SCALE, Sampling(resamples)), 3)
    return found | {"ratio": found["loop"] / found["codes"]}


def measure_alpha(n: int = 100_000, raters: int = 10, resamples: int = 1000, loop: int = 3) -> dict[str, float]:
    """Return seconds of ordinal alpha with an interval from codes (60 % missing), and of a loop over krippendorff.

    The loop is given the counts ready made, which is the quickest way to call that package.
    """
    rng = np.random.default_rng(0)
    codes = np.where(rng.random((n, raters)) < 0.5, rng.integers(0, 5, (n, 1)), rng.integers(0, 5, (n, raters)))
    codes[rng.random(codes.shape) < 0.6] = -1
    counts = many.count_labels(codes, 5)

    def ours() -> object:
        return many.alpha(many.count_labels(codes, 5), "ordinal", SCALE, Sampling(resamples))

    def theirs() -> None:
        for _ in range(loop):
            drawn = counts[rng.integers(0, n, n)]
            krippendorff.alpha(value_counts=drawn, value_domain=np.arange(1, 6), level_of_measurement="ordinal")

    found = {"codes": seconds(ours, 5), "loop": seconds(theirs, 2) / loop * resamples}
    return found | {"ratio": found["loop"] / found["codes"]}


if __name__ == "__main__":
    for size in (1000, 100_000, 1_000_000):
        print(f"quadratic kappa, BCa, 2000 resamples, {size} pairs:", measure_kappa(size))
    print("ordinal alpha, 10 raters x 100,000 items, 1000 resamples:", measure_alpha())
