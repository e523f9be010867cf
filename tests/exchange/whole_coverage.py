"""How often each interval of `agreement --json` holds the truth, over simulated studies of 300 labelled items.

The truth is what a vast study of the same kind says. Intervals of one kind are counted together, whichever rater or
model they are of.
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from whole_studies import pairwise, scores

from exchange.agreeing import Source, agree_on
from exchange.panel import Options
from judge.protocol import find_protocol
from storage.ratings import Ratings

LABELLED = 300
VAST = 150_000
RESAMPLES = 600
Found = tuple[str, float | None, float | None, float | None]  # where it stands, the value, and its interval
STUDIES: dict[str, tuple[Callable[[np.random.Generator, int], Ratings], str, Options]] = {
    "preferences": (pairwise, "wildbench-pairwise", Options(resamples=RESAMPLES)),
    "scores": (scores, "prometheus-direct", Options(resamples=RESAMPLES)),
    "scores by prompt": (
        partial(scores, shared=True),
        "prometheus-direct",
        Options(resamples=RESAMPLES, cluster="prompt"),
    ),
}


def find_intervals(value: Any, where: str = "") -> Iterator[Found]:
    """Yield every number with an interval, by its place in the JSON; who or what it is of stands in brackets."""
    if isinstance(value, dict):
        if "value" in value and "low" in value:
            yield where, value["value"], value["low"], value["high"]
        for key, part in value.items():
            named = where.endswith((".by", ".against", ".agreement", ".groups")) and key not in ("humans", "all")
            yield from find_intervals(part, f"{where}[{key}]" if named else f"{where}.{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from find_intervals(part, f"{where}[{place}]")


def study(kind: str, seed: int, labelled: int = LABELLED) -> list[Found]:
    """Return every interval of one simulated study."""
    make, protocol, options = STUDIES[kind]
    ratings = make(np.random.default_rng(seed), labelled)
    source = Source(kind, find_protocol(protocol).version, ratings, lambda _: [])
    return list(find_intervals(agree_on(source, options)))


def cover(kind: str, trials: int, pool: ProcessPoolExecutor) -> dict[str, float]:
    """Return for each kind of interval how often it holds the truth."""
    truth = {where: value for where, value, _, _ in study(kind, 10**6, VAST)}
    held: defaultdict[str, list[bool]] = defaultdict(list)
    for found in pool.map(partial(study, kind), range(trials), chunksize=4):
        for where, _, low, high in found:
            true = truth.get(where)
            if true is not None and low is not None and high is not None:
                held[re.sub(r"\[[^]]*\]", "", where).lstrip(".")].append(low - 1e-9 <= true <= high + 1e-9)
    return {name: float(np.mean(one)) for name, one in sorted(held.items())}


def tell(found: dict[str, dict[str, float]]) -> None:
    """Print the mean and the range of each part of the JSON, and how many kinds of numbers it has, by kind of study."""
    parts: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for kind, shares in found.items():
        for name, share in shares.items():
            parts[".".join(name.split(".")[:-1][:2])][kind].append(100 * share)
    print(f"| part of the JSON | {' | '.join(found)} |\n|---|{'---|' * len(found)}")
    for part, by_kind in sorted(parts.items()):
        cells = [
            f"{np.mean(own):.1f} ({min(own):.1f}–{max(own):.1f}), {len(own)}" if (own := by_kind[kind]) else ""
            for kind in found
        ]
        print(f"| `{part}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    many_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        covered = {kind: cover(kind, many_trials, workers) for kind in STUDIES}
    tell(covered)
    # Three standard errors of the simulation itself are granted on either side: there are hundreds of kinds.
    slack = 3 * (0.95 * 0.05 / many_trials) ** 0.5
    outside = {
        f"{name} in {kind}": share
        for kind, shares in covered.items()
        for name, share in shares.items()
        if not 0.93 - slack <= share <= 0.97 + slack
    }
    for name, share in outside.items():
        print(f"outside 93–97 %: {name}, {100 * share:.1f} %")
    sys.exit(any(share < 0.93 for share in outside.values()))
