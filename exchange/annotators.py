"""One rater on their own: how much, how fast, how steadily, and whether the side they saw first won."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agreement.categories import IntArray
from agreement.combine import take_majority_of_others
from agreement.estimate import Estimate, undefined
from agreement.intervals import Statistic, estimate_all
from agreement.pairs import divide
from agreement.position import FirstPosition, measure_first_position, measure_swaps
from agreement.units import units_of_kinds
from agreement.wildbench import apply_length_rule
from exchange.findings import estimates
from exchange.panel import Panel
from storage.columns import STATUSES

UNPAIRED = "half the difference between the means of all verdicts in order AB and of all in order BA"
OF_BOTH = (
    ", of items that have both: the others are nearly all in one of them, where position cannot be told from quality"
)
NO_SIDES = "scores have no sides"
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
        "order_effect": {**found.order_effect.as_dict(), "note": f"{UNPAIRED}{OF_BOTH if found.left_out else ''}"},
        "decided": found.decided,
        "ties": found.ties,
        "missing": found.missing,
        "left_out": found.left_out,
        "p": found.p,
        "p_why": untested if found.p is None else None,
    }


def measure_position(panel: Panel, place: int) -> FirstPosition:
    """Return the first position's share of wins, from every item whose order is known; items are clusters."""
    ratings = panel.ratings
    rows = panel.rows[place]
    rows = rows[(ratings.order[rows] >= 0) & ~ratings.repeat[rows]]
    if not rows.size:
        none = undefined("no verdict says in which order the sides were shown")
        return FirstPosition(none, none, 0, 0, 0, None)
    asked_as = ratings.item[rows] * 2 + ratings.order[rows]
    if np.bincount(asked_as).max() > 1:  # of a judge's several answers to the same, the first
        rows = rows[np.unique(asked_as, return_index=True)[1]]
    asked = rows.size
    rows, balanced = _balance_orders(panel, rows)
    items, ahead = ratings.item[rows], ratings.order[rows] == 0
    alone = panel.cluster is None and np.bincount(items).max() == 1
    cluster = None if alone else items if panel.cluster is None else panel.cluster[items]
    verdicts = panel.coarse(_ruled_codes(panel, place, rows)), ahead
    found = measure_first_position(verdicts, panel.categories, panel.sampling, cluster, balanced=balanced)
    return replace(found, left_out=asked - rows.size)


def _balance_orders(panel: Panel, rows: IntArray) -> tuple[IntArray, bool]:
    """Return the rows from which position can be told from quality, and whether it can.

    Labels in both orders of an item always do. Those in one order do if they are in either by chance, and are left out
    beside others if not: a run that stopped half-way through its second order has its favourites first.
    """
    ratings = panel.ratings
    items, order, said = ratings.item[rows], ratings.order[rows], ratings.code[rows] >= 0
    seen = np.zeros((2, panel.size), dtype=np.bool_)
    seen[order[said], items[said]] = True
    paired = (seen[0] & seen[1])[items]
    single = said & ~paired
    share = float(order[single].mean()) if single.any() else 0.5
    if min(share, 1.0 - share) >= LEAST_SHARE_OF_AN_ORDER:
        return rows, True
    return (rows[~single], True) if paired.any() else (rows, False)


def _ruled_codes(panel: Panel, place: int, rows: IntArray) -> NDArray[np.integer[Any]]:
    """Return the rows' codes on the declared scale; the length rule in force is for judges."""
    codes, items, limit = panel.ratings.code[rows], panel.ratings.item[rows], panel.options.length_k
    if limit is None or place not in panel.judges:
        return codes
    one, two = panel.lengths
    return apply_length_rule(codes, (one[items], two[items]), panel.full, limit)[0]


def describe_repeats(panel: Panel, place: int) -> dict[str, Any]:
    """Return how far a rater agrees with themselves: hidden repeats of people, second answers of judges."""
    first, again = _both_times(panel, place)
    found = measure_swaps(panel.coarse(first), panel.coarse(again), panel.categories, panel.sampling, panel.cluster)
    why = "no item was given twice in the same study"
    kept = ("consistency", "consistency_three_way", "kappa")
    named = {name: found.estimates[name] if found.n else undefined(why) for name in kept}
    if panel.kind == "direct" and found.n:
        named["consistency_three_way"] = undefined(NO_SIDES, found.n)
    return {"n": found.n, **estimates(named)}


def _both_times(panel: Panel, place: int) -> tuple[IntArray, IntArray]:
    if panel.ratings.raters[place].kind == "human":
        return panel.first_labels(place), panel.first_labels(place, repeat=True)
    ratings, rows = panel.ratings, panel.rows[place]
    first, again = np.full((2, panel.size), -1, dtype=np.int64)
    asked = ratings.item[rows] * 2 + np.maximum(ratings.order[rows], 0)
    if np.bincount(asked, minlength=1).max() < 2:
        return first, again
    order = np.argsort(asked, kind="stable")
    later = np.flatnonzero(np.diff(asked[order], prepend=-1) == 0)
    starts = np.flatnonzero(np.diff(asked[order], prepend=-1) != 0)
    second = later[np.isin(later - 1, starts)]
    # Of the two orders one is enough here: the first in which the item was asked twice.
    chosen = second[::-1]
    items = ratings.item[rows[order[chosen]]]
    first[items], again[items] = ratings.code[rows[order[chosen - 1]]], ratings.code[rows[order[chosen]]]
    return first, again


def count_later_labels(panel: Panel, place: int) -> int:
    """Return how often a judge was asked the same several times, and only a later answer has a label."""
    ratings, rows = panel.ratings, panel.rows[place]
    asked = ratings.item[rows] * 2 + np.maximum(ratings.order[rows], 0)
    if np.bincount(asked, minlength=1).max() < 2:
        return 0
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
    others = take_majority_of_others(panel.people_counts, panel.codes[:, place])
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
    units = units_of_kinds(rows, kind, None if panel.cluster is None else panel.cluster[items])
    named = {"early": early, "late": late, "difference": change}
    return estimate_all(units, named, panel.sampling)
