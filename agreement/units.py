"""What is resampled: distinct contributions to the sums a statistic is a function of, and how many units make each.

Items (or clusters) with equal contributions are interchangeable: there are few kinds of them, whatever their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agreement.categories import FloatArray, IntArray, number_clusters
from agreement.tables import LONG, Contributions, Places

MOST_KEYS = 1_000_000  # kinds of rows for which counters are held
MOST_COUNTS = 4_000_000  # clusters times kinds, for which each cluster's kinds are counted


@dataclass(frozen=True, slots=True)
class Units:
    """What is resampled: distinct contributions (U, cells) and how many units make each.

    `places` is the one cell that each row fills with a 1, where that is all it does, as with a table of counts. Of a
    long table `contributions` are kept instead of rows, and statistics are given `Tables`.
    """

    rows: FloatArray
    counts: IntArray
    shape: tuple[int, ...]
    n: int
    clusters: int | None = None
    places: IntArray | None = None
    contributions: Contributions | None = None

    @property
    def total(self) -> FloatArray:
        """Return the sums over all units, in the statistic's shape."""
        if self.contributions is not None:
            return self.contributions.total(self.counts)
        return np.asarray(self.counts @ self.rows).reshape(self.shape)

    @property
    def size(self) -> int:
        """Return how many units there are."""
        return int(self.counts.sum())


def units_of_table(table: ArrayLike) -> Units:
    """Return the cells of a table of counts (K x K, K x K x K …) as units: each item falls in one cell."""
    counts = np.asarray(table, dtype=np.int64)
    flat = counts.reshape(-1)
    held = np.flatnonzero(flat)
    if counts.ndim == 2 and flat.size > LONG:
        kept = Contributions(Places.of(held, (counts.shape[0], counts.shape[1])))
        return Units(np.zeros((held.size, 0)), flat[held], counts.shape, int(flat.sum()), contributions=kept)
    rows = np.zeros((held.size, flat.size))
    rows[np.arange(held.size), held] = 1.0
    return Units(rows, flat[held], counts.shape, int(flat.sum()), places=held)


def units_of_rows(rows: ArrayLike, n: int, clustered: bool = False) -> Units:
    """Return units from one contribution (*shape) per item or per cluster, equal ones taken together."""
    array = np.asarray(rows, dtype=np.float64)
    size = array.shape[0]
    distinct, counts = take_together(array.reshape(size, int(np.prod(array.shape[1:]))))
    return Units(distinct, counts, array.shape[1:], n, size if clustered else None)


def units_of_kinds(rows: ArrayLike, kind: IntArray, clusters: ArrayLike | None = None) -> Units:
    """Return units where an item's contribution is that of its kind, one row a kind: kinds are counted, not sorted."""
    array = np.asarray(rows, dtype=np.float64)
    kinds = array.reshape(array.shape[0], -1)
    if clusters is None:
        return units_of_times(array, np.bincount(kind, minlength=len(kinds)))
    owner, many = number_clusters(clusters)
    if many * len(kinds) > MOST_COUNTS:
        return units_of(array[kind], owner)
    given = np.bincount(owner * len(kinds) + kind, minlength=many * len(kinds)).reshape(many, len(kinds))
    vectors, times = count_vectors(given)
    return Units(*take_together(vectors @ kinds, times), array.shape[1:], int(kind.size), many)


def units_of_times(rows: ArrayLike, times: IntArray) -> Units:
    """Return units of contributions that so many items make."""
    array, held = np.asarray(rows, dtype=np.float64), times > 0
    kinds = array[held].reshape(int(held.sum()), int(np.prod(array.shape[1:])))
    return Units(*take_together(kinds, times[held]), array.shape[1:], int(times.sum()))


def sum_by_cluster(rows: ArrayLike, cluster: IntArray, clusters: int) -> FloatArray:
    """Return the sum of the items' contributions in each cluster."""
    array = np.asarray(rows, dtype=np.float64)
    flat = array.reshape(array.shape[0], int(np.prod(array.shape[1:])))
    sums = np.stack([np.bincount(cluster, column, clusters).astype(np.float64) for column in flat.T], axis=1)
    return sums.reshape(clusters, *array.shape[1:])


def units_of(rows: ArrayLike, cluster: IntArray | None = None) -> Units:
    """Return units from one contribution per item, summed by cluster where `cluster` numbers them."""
    array = np.asarray(rows, dtype=np.float64)
    if cluster is None:
        return units_of_rows(array, array.shape[0])
    index, many = number_clusters(cluster)
    return units_of_rows(sum_by_cluster(array, index, many), array.shape[0], clustered=True)


def take_together(rows: FloatArray, times: IntArray | None = None) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows and how often each occurs, where each row stands for itself or for so many.

    Sorting one hash per row is many times quicker than sorting rows; a collision would be seen and is then avoided.
    """
    if rows.shape[0] == 0:
        return rows, np.zeros(0, dtype=np.int64)
    keys = mix(rows, mixing_factors(rows.shape[1])).sum(axis=1, dtype=np.uint64)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    distinct = rows[first]
    if not np.array_equal(distinct[inverse], rows):
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, np.bincount(inverse.reshape(-1), times).astype(np.int64)


def count_vectors(counts: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows of small whole numbers, and how often each occurs."""
    low, high = (int(counts.min()), int(counts.max())) if counts.size else (0, 0)
    base = high - low + 1
    if base ** counts.shape[1] > MOST_KEYS:
        return take_together(counts.astype(np.float64))
    key = np.zeros(counts.shape[0], dtype=np.int64)  # a row is one number in this base, and is counted, not sorted
    for column in counts.T:
        key = key * base + (column - low)
    times = np.bincount(key)
    held = np.flatnonzero(times)
    places = base ** np.arange(counts.shape[1] - 1, -1, -1)
    return take_together((held[:, None] // places % base + low).astype(np.float64), times[held])


def mixing_factors(width: int) -> NDArray[np.uint64]:
    """Return what the cells of a row are multiplied by in its hash."""
    return np.random.default_rng(0).integers(1, 2**63, width, dtype=np.uint64) | np.uint64(1)


def mix(numbers: FloatArray, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return what numbers add to the hash of their row; 0 adds nothing."""
    bits = np.ascontiguousarray(numbers + 0.0).view(np.uint64)  # + 0.0 makes one zero of the two
    mixed = (bits ^ (bits >> np.uint64(29))) * factors
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))
