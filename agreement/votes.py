"""Every vote counted: pairs of votes on the same item in one table, whoever gave them.

This is how MT-Bench counts agreement (setup S1 with ties, S2 without): an item with three people has three pairs of
votes with the judge. Votes on one item are not independent, so items (or their clusters) are what is resampled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import Categories, FloatArray, check_codes
from agreement.comparison import Comparison, compare_table, compare_units
from agreement.intervals import Sampling
from agreement.long_scales import Entries, pair_ratings, units_of_votes
from agreement.many import count_labels, units_of_counts
from agreement.tables import LONG
from agreement.units import Units


@dataclass(frozen=True, slots=True)
class Votes:
    """The comparison, whose `n` counts pairs of votes, and the number of items they are on."""

    comparison: Comparison
    items: int


def pool_with_judge(
    people: ArrayLike,
    judge: ArrayLike,
    categories: Categories,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> Votes:
    """Return every person's vote (N x R codes; rows of the table) with the judge's (N codes) on the same item."""
    k = len(categories)
    counts, codes = count_labels(people, k), check_codes(judge, k).astype(np.int64)
    kept = (counts.sum(axis=1) > 0) & (codes >= 0)
    numbers, cluster = np.column_stack([counts, codes])[kept], None if clusters is None else np.asarray(clusters)[kept]

    def contribute(rows: FloatArray) -> FloatArray:
        tables = np.zeros((rows.shape[0], k, k))
        tables[np.arange(rows.shape[0]), :, rows[:, k].astype(np.int64)] = rows[:, :k]
        return tables

    def enter(rows: FloatArray) -> Entries:
        owner, label = np.nonzero(rows[:, :k])
        return Entries(owner, label * k + rows[owner, k].astype(np.int64), rows[owner, label])

    if k * k > LONG:
        return _pool(units_of_votes(numbers, enter, k, cluster), categories, sampling)
    return _pool(units_of_counts(numbers, 0, contribute, cluster), categories, sampling)


def pool_people(
    people: ArrayLike, categories: Categories, sampling: Sampling | None = None, clusters: ArrayLike | None = None
) -> Votes:
    """Return every two people's votes on the same item; nobody is the first, so the table has each pair both ways."""
    k = len(categories)

    def contribute(counts: FloatArray) -> FloatArray:
        tables = counts[:, :, None] * counts[:, None, :]
        tables[:, np.arange(k), np.arange(k)] -= counts
        return tables

    counts, cluster = count_labels(people, k), None if clusters is None else np.asarray(clusters)
    if k * k > LONG:
        kept = counts.sum(axis=1) >= 2
        units = units_of_votes(counts[kept], pair_ratings, k, None if cluster is None else cluster[kept])
    else:
        units = units_of_counts(counts, 2, contribute, cluster)
    found = _pool(units, categories, sampling)
    return replace(found, comparison=replace(found.comparison, n=found.comparison.n // 2))


def _pool(units: Units, categories: Categories, sampling: Sampling | None) -> Votes:
    if units.clusters is None and units.total.sum() == units.n:  # one pair of votes an item: nothing is tied together
        return Votes(compare_table(units.total, categories, sampling), units.n)
    tied = units if units.clusters is not None else replace(units, clusters=units.n)
    return Votes(compare_units(tied, categories, sampling), units.n)
