"""Does the side on which a response is shown change the verdict? The same estimators serve judges and humans.

Codes are in the identity frame (they speak of response A); A stands first in order AB. Positive effects favour the
response shown first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from agreement import pairs
from agreement.categories import Categories, FloatArray, IntArray, check_codes
from agreement.comparison import settle_shares, units_of_pairs
from agreement.differences import exact_sign_p, sign_test
from agreement.estimate import LEAST_COMMON, Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate_all
from agreement.tables import Tables, see
from agreement.units import Units, units_of_kinds


@dataclass(frozen=True, slots=True)
class SwapConsistency:
    """What changes when the sides change, for a rater who saw both orders of the same items.

    `first` and `second` count the items that moved towards one position; `hard` flips exchange A and B, soft ones
    exchange a side and a tie. `estimates`: consistency, consistency_three_way, kappa, order_effect, fairness,
    turned_to_tie.
    """

    n: int
    left_out: int
    estimates: Mapping[str, Estimate]
    hard_first: int
    hard_second: int
    soft_first: int
    soft_second: int
    p: float | None


def _leanings(categories: Categories) -> tuple[FloatArray, FloatArray]:
    """Return, for each cell (order AB, order BA), whether it leans to the first or the second position."""
    signs = categories.signs()
    lean = signs[:, None] - signs[None, :]
    return (lean > 0).astype(np.float64), (lean < 0).astype(np.float64)


def _fairness(tables: FloatArray | Tables, first: FloatArray, second: FloatArray) -> FloatArray:
    ahead, behind = see(tables).weighted(first), see(tables).weighted(second)
    return pairs.divide(ahead - behind, ahead + behind)


def _order_effect(tables: FloatArray | Tables, values: FloatArray) -> FloatArray:
    return pairs.weighted_agreement(tables, (values[:, None] - values[None, :]) / 2.0)


def _most_effect(categories: Categories) -> tuple[float, float]:
    """Return the order effects of a rater who always takes one position."""
    most = float(np.ptp(categories.array)) / 2.0
    return -most, most


def swap_statistics(categories: Categories) -> dict[str, Statistic]:
    """Return the statistics of a table of order AB (rows) by order BA (columns)."""
    signs, share = categories.signs(), (0.0, 1.0)
    first, second = _leanings(categories)
    same_side = (signs[:, None] == signs[None, :]).astype(np.float64)
    return {
        "consistency": Statistic(pairs.exact, bounds=share),
        "consistency_three_way": Statistic(partial(pairs.weighted_agreement, weights=same_side), bounds=share),
        "kappa": Statistic(
            partial(pairs.cohen_kappa, weights=categories.weights("nominal")),
            why="both orders stay on one label",
            bounds=(-1.0, 1.0),
            least=LEAST_COMMON,
        ),
        "order_effect": Statistic(partial(_order_effect, values=categories.array), bounds=_most_effect(categories)),
        "fairness": Statistic(
            partial(_fairness, first=first, second=second), why="no verdict moved", bounds=(-1.0, 1.0)
        ),
        "turned_to_tie": Statistic(lambda tables: 1.0 - pairs.exact(tables), bounds=share),
    }


def measure_swaps(
    first: ArrayLike,
    second: ArrayLike,
    categories: Categories,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> SwapConsistency:
    """Return how a rater's verdicts in order AB (first) and BA (second) differ on the same items.

    The order effect is the mean of (x_AB - x_BA)/2 in the scale's own values. p is the exact test that moves to the
    first and to the second position are equally likely, of items or of whole clusters.
    """
    k = len(categories)
    units = units_of_pairs(first, second, k, clusters)
    table = np.rint(units.total).astype(np.int64)
    signs = categories.signs()
    hard = signs[:, None] * signs[None, :] < 0
    ahead, behind = (side.astype(bool) for side in _leanings(categories))
    hard_first, hard_second = int(table[ahead & hard].sum()), int(table[behind & hard].sum())
    soft_first, soft_second = int(table[ahead & ~hard].sum()), int(table[behind & ~hard].sum())
    n = int(table.sum())
    drawn = sampling or Sampling()
    found = settle_shares(estimate_all(units, swap_statistics(categories), drawn), units, drawn.level)
    p = exact_sign_p(hard_first + soft_first, hard_second + soft_second)
    if clusters is not None:
        one, two = check_codes(first, k), check_codes(second, k)
        seen = (one >= 0) & (two >= 0)
        p = sign_test(np.sign(signs[one[seen]] - signs[two[seen]]), np.asarray(clusters)[seen])
    left_out = int(np.asarray(first).size) - n
    return SwapConsistency(n, left_out, found, hard_first, hard_second, soft_first, soft_second, p)


@dataclass(frozen=True, slots=True)
class FirstPosition:
    """How often the response shown first wins, among verdicts that decide; ties and missing verdicts apart.

    `p` tests one half. With one order an item it means something only if the sides were randomised, otherwise it is
    confounded with quality: then both estimates are undefined. `left_out` counts verdicts that were kept out for that.
    """

    rate: Estimate
    order_effect: Estimate
    decided: int
    ties: int
    missing: int
    p: float | None
    left_out: int = 0


def _units_by_position(categories: Categories, kind: IntArray, clusters: IntArray | None) -> Units:
    """Return what is resampled of verdicts whose kind is twice the code, plus 1 where A was shown first."""
    value, ahead = np.repeat(categories.array, 2), np.tile([False, True], len(categories))
    won = np.where(ahead, value, -value)
    rows = np.column_stack([won > 0, won != 0, ahead, ahead * value, ~ahead, ~ahead * value]).astype(np.float64)
    return units_of_kinds(rows, kind, clusters)


def measure_first_position(
    verdicts: tuple[ArrayLike, ArrayLike],
    categories: Categories,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
    *,
    balanced: bool = True,
) -> FirstPosition:
    """Return the first position's share of wins, from codes and whether A was shown first for each of them.

    `balanced`: both orders of each item were shown (give items as clusters), or the order was drawn at random. The
    order effect is half the difference of the mean values under AB and under BA; with both orders of every item it is
    the mean of (x_AB - x_BA)/2.
    """
    array = check_codes(verdicts[0], len(categories)).astype(np.int64, copy=False)
    ahead = np.asarray(verdicts[1], dtype=bool)
    seen = array >= 0
    kind = array[seen] * 2 + ahead[seen]
    units = _units_by_position(categories, kind, None if clusters is None else np.asarray(clusters)[seen])
    wins, decided = (int(one) for one in np.rint(units.total[:2]))
    counts = (decided, kind.size - decided, array.size - kind.size)
    if not balanced:
        none = undefined("one order only and not drawn at random: position cannot be told from quality", kind.size)
        return FirstPosition(none, none, *counts, None)
    rate = Statistic(lambda s: pairs.divide(s[..., 0], s[..., 1]), why="no verdict decides", bounds=(0.0, 1.0))
    effect = Statistic(
        lambda s: (pairs.divide(s[..., 3], s[..., 2]) - pairs.divide(s[..., 5], s[..., 4])) / 2.0,
        why="only one of the two orders was shown",
        bounds=_most_effect(categories),
    )
    found = estimate_all(units, {"rate": rate, "effect": effect}, sampling or Sampling())
    return FirstPosition(
        found["rate"], found["effect"], *counts, exact_sign_p(wins, decided - wins) if clusters is None else None
    )
