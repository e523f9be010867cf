"""Several verdicts made one: a judge's two orders, a scale's coarser levels, and the humans' majority.

Codes are in the identity frame: they speak of response A whatever side it was shown on. Whatever is left out is
counted, by reason, so that it can be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import MISSING, Categories, IntArray, check_codes
from agreement.estimate import Estimate
from agreement.intervals import Sampling, Statistic, estimate
from agreement.many import count_labels
from agreement.pairs import divide
from agreement.units import units_of_kinds
from judge.domain import InputError

Rule = Literal["strict", "drop", "mean", "first"]
Levels = Literal["full", "3", "2"]


@dataclass(frozen=True, slots=True)
class Combined:
    """One code an item, the rule that made it, and how many items it left out or turned to ties, by reason."""

    codes: IntArray
    rule: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    made_ties: int = 0


def combine_orders(first: ArrayLike, second: ArrayLike, categories: Categories, rule: Rule = "strict") -> Combined:
    """Return one verdict from a judge's two orders (first: shown AB, second: shown BA).

    `strict`: the label if both orders agree, otherwise the tie, or nothing on a scale without one (MT-Bench's
    conservative rule). `drop`: the label if both agree, otherwise nothing. `mean`: the declared label nearest to the
    mean value, the less decided of two equally near, and nothing half-way between A and B. `first`: the first order
    alone. All but `first` need both orders: a verdict beside an unreadable one says nothing of what the other would
    have been. Where the other was never asked for, `take_single_orders` comes first.
    """
    one, two = (check_codes(side, len(categories)).astype(np.int64, copy=False) for side in (first, second))
    if rule == "first":
        return Combined(one, rule, _reasons(missing=int((one < 0).sum())))
    both = (one >= 0) & (two >= 0)
    reasons = _reasons(missing=int(((one < 0) & (two < 0)).sum()), one_order=int(((one < 0) != (two < 0)).sum()))
    if rule == "mean":
        codes = np.full(one.shape, MISSING, dtype=np.int64)
        values = categories.array
        means = (values[:, None] + values) / 2.0
        codes[both] = nearest_code(means.reshape(-1), categories)[one[both] * values.size + two[both]]
        return Combined(codes, rule, reasons | _reasons(orders_differ=int((both & (codes < 0)).sum())))
    differ = both & (one != two)
    codes = np.where(both & ~differ, one, MISSING)
    if rule == "strict" and categories.tie is not None:
        codes[differ] = categories.tie
        return Combined(codes, rule, reasons, int(differ.sum()))
    return Combined(codes, rule, reasons | _reasons(orders_differ=int(differ.sum())))


def take_single_orders(
    codes: tuple[ArrayLike, ArrayLike], asked: tuple[ArrayLike, ArrayLike]
) -> tuple[IntArray, IntArray, int]:
    """Return both orders' codes with an item that was asked in one order only taken as that order has it, and how many.

    Nothing was left unsaid there, so every rule then gives the one verdict there is. An item that was asked in both
    orders stays as it is, whatever came of it.
    """
    one, two = (np.asarray(side, dtype=np.int64) for side in codes)
    seen_one, seen_two = (np.asarray(side, dtype=np.bool_) for side in asked)
    filled = np.where(seen_one | ~seen_two, one, two), np.where(seen_two | ~seen_one, two, one)
    alone = (seen_one != seen_two) & (filled[0] >= 0)
    return *filled, int(alone.sum())


def _reasons(**counts: int) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def nearest_code(values: ArrayLike, categories: Categories) -> IntArray:
    """Return the declared label nearest to each value; of two equally near, the one nearer to the middle.

    Half-way between the two labels beside the middle, which speak for either side, there is none.
    """
    declared = categories.array
    off_middle = np.abs(declared - (declared.max() + declared.min()) / 2.0).round(12)
    order = np.argsort(off_middle, kind="stable")
    gap = np.abs(np.asarray(values, dtype=np.float64)[:, None] - declared[order]).round(12)
    best = np.argmin(gap, axis=1)
    alike = (gap == gap.min(axis=1, keepdims=True)) & (off_middle[order] == off_middle[order][best][:, None])
    return np.where(alike.sum(axis=1) > 1, MISSING, order[best]).astype(np.int64)


def joint_agreement(
    human: ArrayLike,
    orders: tuple[ArrayLike, ArrayLike],
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> Estimate:
    """Return the share of items where both orders give the human's label: Auto-J's agreement."""
    person, one, two = (np.asarray(side) for side in (human, *orders))
    seen = (person >= 0) & (one >= 0) & (two >= 0)
    right = (person == one) & (person == two)
    rows, kind = np.array([[0.0, 1.0], [1.0, 1.0]]), right[seen].astype(np.int64)
    units = units_of_kinds(rows, kind, None if clusters is None else np.asarray(clusters)[seen])
    share = Statistic(lambda sums: divide(sums[..., 0], sums[..., 1]), bounds=(0.0, 1.0))
    return estimate(units, share, sampling or Sampling())


def collapse_codes(codes: ArrayLike, categories: Categories, levels: Levels) -> tuple[IntArray, Categories]:
    """Return codes on a coarser scale, and that scale: `3` is B, tie, A; `2` is B, A with ties left out.

    Always from the full codes: a two-way table cannot be had from a three-way agreement.
    """
    array = check_codes(codes, len(categories)).astype(np.int64, copy=False)
    if levels == "full":
        return array, categories
    signs = categories.signs()
    if not ((signs > 0).any() and (signs < 0).any()):
        raise InputError("Only a scale that prefers one of two responses can be taken as three or two levels.")
    if levels == "3" and (signs == 0).any():
        onto, coarse = signs + 1, Categories((-1.0, 0.0, 1.0), 1)
    else:
        onto, coarse = np.where(signs > 0, 1, np.where(signs < 0, 0, MISSING)), Categories((-1.0, 1.0))
    return np.where(array >= 0, onto[array], MISSING), coarse


def take_majority(
    codes: ArrayLike, categories: Categories, undecided: Literal["missing", "tie"] = "missing"
) -> Combined:
    """Return the label that more than half of an item's raters gave (N x R codes).

    Without one the item is missing, or a tie if asked for; an item nobody rated is always missing.
    """
    return take_majority_of(count_labels(codes, len(categories)), categories, undecided)


def take_majority_of(
    counts: IntArray, categories: Categories, undecided: Literal["missing", "tie"] = "missing"
) -> Combined:
    """Return the same from how many raters gave each item each label (N x K)."""
    rated = counts.sum(axis=1)
    answer = _more_than_half(counts.T, rated)
    clear = answer != MISSING
    open_items = (rated > 0) & ~clear
    if undecided == "tie":
        if categories.tie is None:
            raise InputError("This scale has no tie to give to undecided items.")
        answer[open_items] = categories.tie
        return Combined(answer, "majority", _reasons(missing=int((rated == 0).sum())), int(open_items.sum()))
    return Combined(answer, "majority", _reasons(missing=int((rated == 0).sum()), undecided=int(open_items.sum())))


def take_majority_of_others(counts: IntArray, own: IntArray) -> IntArray:
    """Return the label that more than half of the other raters gave; `own` are those of one among the counted."""
    rest = (given - (own == code) for code, given in enumerate(counts.T))
    return _more_than_half(rest, counts.sum(axis=1) - (own >= 0))


def _more_than_half(given: Iterable[IntArray], rated: IntArray) -> IntArray:
    """Return the one label that more than half of an item's ratings are, from how often each label was given."""
    answer = np.full(rated.size, MISSING, dtype=np.int64)
    for code, times in enumerate(given):
        answer[2 * times > rated] = code
    return answer
