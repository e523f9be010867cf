"""One rater on their own: how much, how fast, how steadily, and whether the side they saw first won."""

from __future__ import annotations

from typing import Any

import numpy as np

from agreement.categories import IntArray
from agreement.combine import take_majority_of
from agreement.estimate import Estimate, undefined
from agreement.intervals import Statistic, estimate_all, units_of, units_of_kinds
from agreement.pairs import divide
from agreement.position import FirstPosition, measure_first_position, measure_swaps
from exchange.findings import estimates
from exchange.panel import Panel
from storage.columns import STATUSES

UNPAIRED = "half the difference between the means of all verdicts in order AB and of all in order BA"
NOT_INDEPENDENT = "several verdicts are of one item or cluster, so they are not independent: read the interval"
LEAST_SHARE_OF_AN_ORDER = 0.25  # both orders at least so often, for sides to count as drawn at random


def describe_rater(panel: Panel, place: int) -> dict[str, Any]:
    """Return a rater's counts, and for people their pace, steadiness and drift."""
    ratings, rater, rows = panel.ratings, panel.ratings.raters[place], panel.rows[place]
    first = rows[~ratings.repeat[rows]]
    status = np.bincount(ratings.status[first], minlength=len(STATUSES))
    order = ratings.order[first]
    value: dict[str, Any] = {
        "name": rater.name,
        "kind": rater.kind,
        "verdicts": int(status[0]),
        "missing": panel.size - int(np.count_nonzero(np.bincount(ratings.item[first], minlength=1))),
        **{name: int(count) for name, count in zip(STATUSES[1:], status[1:], strict=True)},
        "repeats": int(ratings.repeat[rows].sum()),
        "orders": {"AB": int((order == 0).sum()), "BA": int((order == 1).sum()), "unknown": int((order < 0).sum())},
        "labels": np.bincount(panel.declared[panel.declared[:, place] >= 0, place], minlength=len(panel.full)).tolist(),
        "position": describe_position(panel, place) if panel.kind == "pairwise" else None,
        "self_consistency": describe_repeats(panel, place),
    }
    if rater.kind == "human":
        value |= {"pace": describe_pace(panel, place), "drift": describe_drift(panel, place)}
    return value


def describe_position(panel: Panel, place: int) -> dict[str, Any]:
    """Return how often the response shown first wins with a rater: one estimator for people and judges."""
    found = measure_position(panel, place)
    untested = found.rate.why if found.rate.value is None else NOT_INDEPENDENT
    return {
        "first_position_rate": found.rate.as_dict(),
        "order_effect": {**found.order_effect.as_dict(), "note": UNPAIRED},
        "decided": found.decided,
        "ties": found.ties,
        "missing": found.missing,
        "p": found.p,
        "p_why": untested if found.p is None else None,
    }


def measure_position(panel: Panel, place: int) -> FirstPosition:
    """Return the first position's share of wins, from every verdict whose order is known; items are clusters."""
    ratings = panel.ratings
    rows = panel.rows[place]
    rows = rows[(ratings.order[rows] >= 0) & ~ratings.repeat[rows]]
    if not rows.size:
        none = undefined("no verdict says in which order the sides were shown")
        return FirstPosition(none, none, 0, 0, 0, None)
    ahead = ratings.order[rows] == 0
    balanced = min(ahead.mean(), 1.0 - ahead.mean()) >= LEAST_SHARE_OF_AN_ORDER
    items = ratings.item[rows]
    alone = panel.cluster is None and np.bincount(items).max() == 1
    cluster = None if alone else items if panel.cluster is None else panel.cluster[items]
    verdicts = panel.coarse(ratings.code[rows]), ahead
    return measure_first_position(verdicts, panel.categories, panel.sampling, cluster, balanced=bool(balanced))


def describe_repeats(panel: Panel, place: int) -> dict[str, Any]:
    """Return how far a rater agrees with themselves: hidden repeats of people, second answers of judges."""
    first, again = _both_times(panel, place)
    found = measure_swaps(panel.coarse(first), panel.coarse(again), panel.categories, panel.sampling, panel.cluster)
    why = "no item was given twice in the same study"
    kept = ("consistency", "consistency_three_way", "kappa")
    named = {name: found.estimates[name] if found.n else undefined(why) for name in kept}
    return {"n": found.n, **estimates(named)}


def _both_times(panel: Panel, place: int) -> tuple[IntArray, IntArray]:
    if panel.ratings.raters[place].kind == "human":
        return panel.first_labels(place), panel.first_labels(place, repeat=True)
    ratings, rows = panel.ratings, panel.rows[place]
    asked = ratings.item[rows] * 2 + np.maximum(ratings.order[rows], 0)
    order = np.argsort(asked, kind="stable")
    later = np.flatnonzero(np.diff(asked[order], prepend=-1) == 0)
    starts = np.flatnonzero(np.diff(asked[order], prepend=-1) != 0)
    second = later[np.isin(later - 1, starts)]
    first, again = np.full((2, panel.size), -1, dtype=np.int64)
    # Of the two orders one is enough here: the first in which the item was asked twice.
    chosen = second[::-1]
    items = ratings.item[rows[order[chosen]]]
    first[items], again[items] = ratings.code[rows[order[chosen - 1]]], ratings.code[rows[order[chosen]]]
    return first, again


def count_later_labels(panel: Panel, place: int) -> int:
    """Return how often a judge was asked the same several times, and only a later answer has a label."""
    ratings, rows = panel.ratings, panel.rows[place]
    asked = ratings.item[rows] * 2 + np.maximum(ratings.order[rows], 0)
    first = np.unique(asked, return_index=True)[1]
    silent = asked[first][ratings.code[rows[first]] < 0]
    return int(np.isin(silent, asked[ratings.code[rows] >= 0]).sum())


def describe_pace(panel: Panel, place: int) -> dict[str, Any]:
    """Return how long a person looks at an item, in seconds."""
    seconds = panel.ratings.seconds[panel.rows[place]]
    known = seconds[np.isfinite(seconds)]
    if not known.size:
        return {"n": 0, "median": None, "low": None, "high": None, "why": "no verdict has a time"}
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    return {"n": int(known.size), "median": float(middle), "low": float(low), "high": float(high)}


def describe_drift(panel: Panel, place: int) -> dict[str, Any]:
    """Return a person's agreement with the other people in the first and the second half of their work."""
    names = ("early", "late", "difference")
    counts, label = panel.people_counts.copy(), panel.codes[:, place]
    labelled = np.flatnonzero(label >= 0)
    counts[labelled, label[labelled]] -= 1
    others = take_majority_of(counts, panel.categories).codes
    ratings, rows = panel.ratings, panel.rows[place]
    rows = rows[~ratings.repeat[rows] & np.isfinite(ratings.time[rows])]
    rows = rows[np.argsort(ratings.time[rows], kind="stable")]
    items = ratings.item[rows]
    own = panel.coarse(ratings.code[rows])
    seen = (others[items] >= 0) & (own >= 0)
    items, own = items[seen], own[seen]
    if items.size < 4:
        why = "fewer than four items with a time and with a majority of other people"
        return estimates(dict.fromkeys(names, undefined(why, int(items.size))))
    late = np.arange(items.size) >= items.size // 2
    right = own == others[items]
    return estimates(_halves(panel, late * 2 + right, items))


def _halves(panel: Panel, kind: IntArray, items: IntArray) -> dict[str, Estimate]:
    """Return agreement early and late, from verdicts whose kind is 2 for late, plus 1 for right."""
    rows = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])

    def share(at: int) -> Statistic:
        return Statistic(lambda sums: divide(sums[..., at], sums[..., at + 1]), "percentile", bounds=(0.0, 1.0))

    early, late = share(0), share(2)
    change = Statistic(lambda sums: late.compute(sums) - early.compute(sums), "percentile", bounds=late.gap_bounds)
    units = units_of_kinds(rows, kind) if panel.cluster is None else units_of(rows[kind], panel.cluster[items])
    named = {"early": early, "late": late, "difference": change}
    return estimate_all(units, named, panel.sampling)
