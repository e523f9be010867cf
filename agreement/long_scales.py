"""What is resampled on scales of many labels: what each item or cluster adds to a table, without the cells it leaves.

The units are those of the whole tables, in the same order, so the same seed draws the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from agreement.categories import FloatArray, IntArray, number_clusters
from agreement.pairs import divide
from agreement.tables import Cells, Contributions, Places
from agreement.units import Units, mix, mixing_factors, take_together


@dataclass(frozen=True, slots=True)
class Entries:
    """What owners (0, 1, 2 …) add to places: one number each; several to the same place add up."""

    owner: IntArray
    place: IntArray
    value: FloatArray

    def collect(self, owners: int, width: int) -> csr_array:
        """Return the sums as a matrix, one row an owner."""
        held, which = np.unique(self.owner * width + self.place, return_inverse=True)
        sums = np.bincount(which, self.value, held.size)
        rows = csr_array((sums, np.divmod(held, width)), shape=(owners, width))
        rows.eliminate_zeros()
        return rows


def pair_labels(counts: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return every ordered pair of labels that a row of counts (N, K) has: the row, the one label and the other."""
    row, label = np.nonzero(counts)
    many = np.bincount(row, minlength=counts.shape[0])
    start = np.cumsum(many) - many
    first = np.repeat(np.arange(row.size), many[row])
    within = np.arange(first.size) - np.repeat(np.cumsum(many[row]) - many[row], many[row])
    second = start[row[first]] + within
    return row[first], label[first], label[second]


def pair_ratings(counts: FloatArray) -> Entries:
    """Return an item's ordered pairs of ratings, by the cell of the K x K table that they fall in."""
    row, one, two = pair_labels(counts)
    value = counts[row, one] * (counts[row, two] - (one == two))
    return Entries(row, one * counts.shape[1] + two, value)


def gather_units(
    counts: IntArray, contribute: Callable[[FloatArray], Entries], width: int, cluster: IntArray | None
) -> tuple[csr_array, IntArray]:
    """Return the distinct contributions of items (rows of counts) or of their clusters, and how often each occurs."""
    if cluster is None:
        distinct, times = take_together(counts.astype(np.float64))
        return contribute(distinct).collect(distinct.shape[0], width), times
    index, many = number_clusters(cluster)
    made = contribute(counts.astype(np.float64))
    return take_rows_together(Entries(index[made.owner], made.place, made.value).collect(many, width))


def take_rows_together(rows: csr_array) -> tuple[csr_array, IntArray]:
    """Return the distinct rows and how often each occurs, in the order that `take_together` has."""
    keys = np.zeros(rows.shape[0], dtype=np.uint64)
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    np.add.at(keys, owner, mix(rows.data, mixing_factors(rows.shape[1])[rows.indices]))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if abs(rows[first][inverse] - rows).sum() > 0:  # a collision: rows apart that could be one have the same law
        return rows, np.ones(rows.shape[0], dtype=np.int64)
    return rows[first], np.bincount(inverse).astype(np.int64)


def units_of_cells(rows: csr_array, times: IntArray, shape: tuple[int, int], n: int, clusters: int | None) -> Units:
    """Return units whose sums are the tables that rows of cells, each so many times, add up to."""
    held = np.unique(rows.indices)
    kept = Contributions(Places.of(held.astype(np.int64), shape), csr_array(rows[:, held]))
    return Units(np.zeros((times.size, 0)), times, shape, n, clusters, contributions=kept)


def units_of_clusters(codes: tuple[ArrayLike, ArrayLike], shape: tuple[int, int], cluster: IntArray) -> Units:
    """Return the tables of clusters of two raters' codes, none of them missing."""
    one, two = (np.asarray(side, dtype=np.int64) for side in codes)
    owner, many = number_clusters(cluster)
    rows, times = take_rows_together(
        Entries(owner, one * shape[1] + two, np.ones(one.size)).collect(many, shape[0] * shape[1])
    )
    return units_of_cells(rows, times, shape, int(one.size), many)


def units_of_votes(
    counts: IntArray, contribute: Callable[[FloatArray], Entries], k: int, cluster: IntArray | None
) -> Units:
    """Return the K x K tables of items, given as rows of counts, or of their clusters."""
    rows, times = gather_units(counts, contribute, k * k, cluster)
    return units_of_cells(rows, times, (k, k), counts.shape[0], None if cluster is None else int(times.sum()))


def alpha_of_cells(tables: Cells, level: Literal["nominal", "ordinal", "interval"], values: FloatArray) -> FloatArray:
    """Return Krippendorff's alpha from coincidences by their cells, as `krippendorff` has it of whole tables."""
    used, total = tables.row, tables.total
    if level == "ordinal":
        middle = np.cumsum(used, axis=-1) - used / 2.0
        by_label = np.ascontiguousarray(middle.T)
        gap = by_label[tables.places.row] - by_label[tables.places.column]
        found = np.einsum("cb,cb,cb->b", tables.counts, gap, gap)
        expected = 2.0 * (total * (used * middle**2).sum(axis=-1) - (used * middle).sum(axis=-1) ** 2)
    else:
        apart = 1.0 - np.eye(values.size) if level == "nominal" else (values[:, None] - values[None, :]) ** 2
        found, expected = tables.weighted(apart), ((used @ apart) * used).sum(axis=-1)
    several = np.count_nonzero(used, axis=-1) > 1
    return np.asarray(1.0 - divide(found * (total - 1.0), np.where(several, expected, 0.0)))
