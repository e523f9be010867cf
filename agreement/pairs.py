"""Two raters, from a table of counts: rows are the first rater (the reference, if there is one), columns the second.

Every statistic takes one table (K, K) or a stack (…, K, K), whole or by its cells (`tables`), and returns one number or
a stack, NaN where undefined, so that two thousand resamples cost one call. Kappa is written as 1 - Do/De on
disagreements: De is then exactly 0 when both raters stay on one category, with no rounding to hide it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import FloatArray, IntArray, check_codes
from agreement.tables import Tables, see
from judge.domain import InputError


def count_pairs(first: ArrayLike, second: ArrayLike, k: int) -> IntArray:
    """Return the K x K table of two raters' codes; an item that either left out is not counted."""
    one, two = check_codes(first, k), check_codes(second, k)
    if one.shape != two.shape or one.ndim != 1:
        raise InputError("Two raters are compared on the same items: give two lists of codes of one length.")
    # A row and a column for the missing verdicts cost less than looking for them.
    wide = one.astype(np.int64) * (k + 1)
    wide += two
    wide += k + 2
    return np.bincount(wide, minlength=(k + 1) ** 2).reshape(k + 1, k + 1)[1:, 1:].astype(np.int64)


def count_pairs_by_cluster(first: ArrayLike, second: ArrayLike, k: int, cluster: IntArray, clusters: int) -> IntArray:
    """Return a K x K table for each cluster; `cluster` numbers the items' clusters from 0."""
    one, two = check_codes(first, k), check_codes(second, k)
    seen = (one >= 0) & (two >= 0)
    cell = (cluster[seen] * k + one[seen]) * k + two[seen]
    return np.bincount(cell, minlength=clusters * k * k).reshape(clusters, k, k).astype(np.int64)


def divide(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Return top / bottom, NaN where the bottom is 0."""
    over, under = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(over / np.where(under == 0, np.nan, under))


def _shares(tables: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    counts = np.asarray(tables, dtype=np.float64)
    joint = divide(counts, counts.sum(axis=(-2, -1), keepdims=True))
    return joint, joint.sum(axis=-1), joint.sum(axis=-2)


def weighted_agreement(tables: ArrayLike | Tables, weights: FloatArray) -> FloatArray:
    """Return the mean agreement weight of the pairs of verdicts."""
    counts = see(tables)
    return divide(counts.weighted(weights), counts.total)


def exact(tables: ArrayLike | Tables) -> FloatArray:
    """Return the share of items with equal labels."""
    counts = see(tables)
    return divide(counts.diagonal.sum(axis=-1), counts.total)


def within_one(tables: ArrayLike | Tables) -> FloatArray:
    """Return the share of items whose labels are equal or neighbours on the declared scale."""
    counts = see(tables)
    place = np.arange(counts.row.shape[-1])
    return weighted_agreement(counts, (np.abs(place[:, None] - place) <= 1).astype(np.float64))


def without_ties(tables: ArrayLike | Tables, signs: IntArray) -> FloatArray:
    """Return the share of equal sides among items where neither rater says tie (MT-Bench's setup S2).

    Always read it with `tie_coverage`: two raters who rarely decide can agree on all that they decide.
    """
    counts = see(tables)
    product = signs[:, None] * signs[None, :]
    same, decided = (which.astype(np.float64) for which in (product > 0, product != 0))
    return divide(counts.weighted(same), counts.weighted(decided))


def tie_coverage(tables: ArrayLike | Tables, signs: IntArray) -> FloatArray:
    """Return the share of items where neither rater says tie."""
    return weighted_agreement(tables, (signs[:, None] * signs[None, :] != 0).astype(np.float64))


def judge_decisive(tables: ArrayLike | Tables, signs: IntArray) -> FloatArray:
    """Return agreement on items where the first rater (the human) decides; a tie of the second counts one half."""
    counts = see(tables)
    decides = (signs != 0)[:, None] + np.zeros(signs.size)
    score = decides * (1.0 + signs[:, None] * signs[None, :]) / 2.0
    return divide(counts.weighted(score), counts.weighted(decides))


def cohen_kappa(tables: ArrayLike | Tables, weights: FloatArray) -> FloatArray:
    """Return Cohen's kappa, weighted over the declared values (Cohen 1960, 1968).

    Undefined when both raters stay on one and the same category. One constant rater gives 0 by the formula.
    """
    counts = see(tables)
    apart = 1.0 - weights
    expected = ((counts.row @ apart) * counts.column).sum(axis=-1)
    return np.asarray(1.0 - divide(counts.weighted(apart) * counts.total, expected))


def scott_pi(tables: ArrayLike | Tables, weights: FloatArray) -> FloatArray:
    """Return Scott's pi: kappa with the two raters' shares pooled."""
    counts = see(tables)
    apart = 1.0 - weights
    pooled = (counts.row + counts.column) / 2.0
    expected = ((pooled @ apart) * pooled).sum(axis=-1)
    return np.asarray(1.0 - divide(counts.weighted(apart) * counts.total, expected))


def gwet_ac(tables: ArrayLike | Tables, weights: FloatArray) -> FloatArray:
    """Return Gwet's AC1 (nominal weights) or AC2 (any other); K counts the declared categories (Gwet 2008, 2014).

    A single used category gives 1 by the formula: the caller says so and shows no interval.
    """
    counts = see(tables)
    agreed = weighted_agreement(counts, weights)
    expected = gwet_chance(divide((counts.row + counts.column) / 2.0, counts.total[..., None]), weights)
    return divide(agreed - expected, 1.0 - expected)


def gwet_chance(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Gwet's chance agreement from the shares of the categories."""
    k = weights.shape[0]
    return np.asarray(weights.sum() / (k * (k - 1)) * (shares * (1.0 - shares)).sum(axis=-1))


def gwet_bounds(weights: FloatArray) -> tuple[float, float]:
    """Return between what Gwet's coefficient lies: chance agreement is greatest when all labels are used alike."""
    k = weights.shape[0]
    chance = float(gwet_chance(np.full(k, 1.0 / k), weights))
    return -chance / (1.0 - chance), 1.0


def pabak(tables: ArrayLike | Tables) -> FloatArray:
    """Return the prevalence- and bias-adjusted kappa, (K po - 1)/(K - 1): 2 po - 1 for two labels (Byrt 1993)."""
    counts = see(tables)
    k = counts.row.shape[-1]
    return np.asarray((k * exact(counts) - 1.0) / (k - 1.0))


def prevalence_index(tables: ArrayLike) -> FloatArray:
    """Return (a - d)/n of a 2 x 2 table (Byrt 1993)."""
    counts = _two_by_two(tables)
    return divide(counts[..., 0, 0] - counts[..., 1, 1], counts.sum(axis=(-2, -1)))


def bias_index(tables: ArrayLike) -> FloatArray:
    """Return (b - c)/n of a 2 x 2 table (Byrt 1993)."""
    counts = _two_by_two(tables)
    return divide(counts[..., 0, 1] - counts[..., 1, 0], counts.sum(axis=(-2, -1)))


def _two_by_two(tables: ArrayLike) -> FloatArray:
    counts = np.asarray(tables, dtype=np.float64)
    if counts.shape[-2:] != (2, 2):
        raise InputError("The prevalence and bias indices are for two labels.")
    return counts


def kappa_standard_error(table: ArrayLike, weights: FloatArray) -> float:
    """Return the large-sample standard error of weighted kappa, by its influence function (Fleiss, Cohen, Everitt)."""
    joint, row, column = _shares(table)
    apart = 1.0 - weights
    by_row, by_column = apart @ column, row @ apart
    observed, expected = float((joint * apart).sum()), float(row @ apart @ column)
    total = float(np.sum(table))
    if total == 0 or expected == 0:
        return float("nan")
    influence = -(apart - observed) / expected
    influence = influence + observed * (by_row[:, None] + by_column[None, :] - 2.0 * expected) / expected**2
    return float(np.sqrt((joint * influence**2).sum() / total))


def collapse(tables: ArrayLike, groups: ArrayLike, size: int) -> FloatArray:
    """Return the tables with categories merged: category c becomes groups[c]; a negative group is left out."""
    onto = np.asarray(groups)
    map_to = np.zeros((size, onto.size))
    kept = np.flatnonzero(onto >= 0)
    map_to[onto[kept], kept] = 1.0
    return np.asarray(map_to @ np.asarray(tables, dtype=np.float64) @ map_to.T)


def top_share(table: ArrayLike) -> float:
    """Return the largest share that one category has with either rater; NaN for an empty table."""
    _, row, column = _shares(table)
    return float(max(row.max(), column.max()))


def bound_agreement(table: ArrayLike, left_out: int) -> tuple[float, float] | None:
    """Return where exact agreement would lie had every left-out verdict disagreed, or agreed; None without items."""
    counts = np.asarray(table, dtype=np.float64)
    total = float(counts.sum()) + left_out
    agreed = float(np.trace(counts))
    return (agreed / total, (agreed + left_out) / total) if total else None
