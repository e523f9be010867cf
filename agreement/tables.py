"""Stacks of K x L tables of counts as statistics see them: whole, or only the cells that hold anything.

Two raters' statistics ask little of a table: its sums under weights and its margins. A scale from 0 to 100 has ten
thousand cells, of which a study of thousands of items fills a part; adding up those gives the same numbers many times
sooner. Rank correlations alone need more, and each kind of stack has its own way to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from agreement.categories import FloatArray, IntArray

LONG = 400  # cells, beyond which a table is kept by those that hold anything


class Tables(Protocol):
    """A stack of tables (…, K, L)."""

    @property
    def total(self) -> FloatArray:
        """Return the number of pairs (…)."""

    @property
    def row(self) -> FloatArray:
        """Return how often the first rater gives each label (…, K)."""

    @property
    def column(self) -> FloatArray:
        """Return how often the second rater gives each label (…, L)."""

    @property
    def diagonal(self) -> FloatArray:
        """Return how often both give each label (…, K)."""

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return the sum of the cells under weights (K, L)."""

    def between(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the sum of the cells under the products of scores of rows (…, K) and of columns (…, L)."""

    def balance(self) -> FloatArray:
        """Return the ordered pairs of pairs that both raters put in the same order less those in opposite orders."""


def see(tables: ArrayLike | Tables) -> Tables:
    """Return tables as a stack that can be asked: an array is taken whole."""
    return tables if isinstance(tables, Whole | Cells | LessOne) else Whole(np.asarray(tables, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Whole:
    """Every cell of every table (…, K, L)."""

    counts: FloatArray

    @property
    def total(self) -> FloatArray:
        """Return the number of pairs."""
        return np.asarray(self.counts.sum(axis=(-2, -1)))

    @property
    def row(self) -> FloatArray:
        """Return the first rater's margin."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def column(self) -> FloatArray:
        """Return the second rater's margin."""
        return np.asarray(self.counts.sum(axis=-2))

    @property
    def diagonal(self) -> FloatArray:
        """Return the cells where both say the same."""
        return np.asarray(np.einsum("...kk->...k", self.counts))

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return the sum of the cells under weights."""
        return np.asarray((self.counts * weights).sum(axis=(-2, -1)))

    def between(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the sum of the cells under products of scores."""
        return np.asarray((first * (self.counts @ second[..., None])[..., 0]).sum(axis=-1))

    def balance(self) -> FloatArray:
        """Return the pairs in the same order less those in opposite orders."""
        return np.asarray((self.counts * lower_less_higher(self.counts)).sum(axis=(-2, -1)))


def lower_less_higher(counts: FloatArray) -> FloatArray:
    """Return for each cell the pairs in the same order with it less those in the opposite one."""
    for axis in (-2, -1):
        until = np.cumsum(counts, axis=axis)
        counts = 2.0 * until - counts - counts.sum(axis=axis, keepdims=True)
    return counts


@dataclass(frozen=True, eq=False)
class Places:
    """Which cells hold anything, row by row and from left to right."""

    row: IntArray
    column: IntArray
    shape: tuple[int, int]

    @classmethod
    def of(cls, flat: IntArray, shape: tuple[int, int]) -> Places:
        """Return the places of cells numbered row by row, in rising order."""
        row, column = np.divmod(flat, shape[1])
        return cls(row, column, shape)

    @cached_property
    def by_row(self) -> csr_array:
        """Return the matrix that adds up cells by row."""
        return _gather(self.row, self.shape[0])

    @cached_property
    def by_column(self) -> csr_array:
        """Return the matrix that adds up cells by column."""
        return _gather(self.column, self.shape[1])


def _gather(group: IntArray, groups: int) -> csr_array:
    return csr_array((np.ones(group.size), (group, np.arange(group.size))), shape=(groups, group.size))


@dataclass(frozen=True, eq=False)
class Cells:
    """A stack (b) of tables by the cells that hold anything: `counts` are (cells, b), each cell's side by side."""

    counts: FloatArray
    places: Places

    @cached_property
    def total(self) -> FloatArray:
        """Return the number of pairs."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def row(self) -> FloatArray:
        """Return the first rater's margin."""
        return np.asarray((self.places.by_row @ self.counts).T)

    @cached_property
    def column(self) -> FloatArray:
        """Return the second rater's margin."""
        return np.asarray((self.places.by_column @ self.counts).T)

    @property
    def diagonal(self) -> FloatArray:
        """Return the cells where both say the same."""
        same = np.flatnonzero(self.places.row == self.places.column)
        found = np.zeros((self.counts.shape[1], self.places.shape[0]))
        found[:, self.places.row[same]] = self.counts[same].T
        return found

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return the sum of the cells under weights."""
        return np.asarray(weights[self.places.row, self.places.column] @ self.counts)

    def between(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the sum of the cells under products of scores."""
        one, two = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
        return np.asarray(np.einsum("cb,cb,cb->b", self.counts, one[self.places.row], two[self.places.column]))

    def balance(self) -> FloatArray:
        """Return the pairs in the same order less those in opposite orders."""
        # Row by row, beside what stands in the rows passed: `below` are their counts left of each column.
        below = np.zeros((self.places.shape[1] + 1, self.counts.shape[1]))
        answer = np.zeros(self.counts.shape[1])
        none = np.zeros((1, self.counts.shape[1]))
        ends = np.cumsum(np.bincount(self.places.row, minlength=self.places.shape[0]))
        for start, end in zip(ends - np.diff(ends, prepend=0), ends, strict=True):
            own, column = self.counts[start:end], self.places.column[start:end]
            answer += (own * (below[column] + below[column + 1] - below[-1])).sum(axis=0)
            steps = np.diff(column, prepend=-1, append=below.shape[0] - 1)
            below += np.repeat(np.vstack([none, np.cumsum(own, axis=0)]), steps, axis=0)
        return 2.0 * answer


@dataclass(frozen=True, eq=False)
class LessOne:
    """The tables that are left of one when a single pair is taken out of each of its cells in turn."""

    counts: FloatArray
    places: Places

    @cached_property
    def total(self) -> FloatArray:
        """Return the number of pairs."""
        return np.full(self.places.row.size, self.counts.sum() - 1.0)

    @cached_property
    def row(self) -> FloatArray:
        """Return the first rater's margin."""
        return _less(self.counts.sum(axis=1), self.places.row)

    @cached_property
    def column(self) -> FloatArray:
        """Return the second rater's margin."""
        return _less(self.counts.sum(axis=0), self.places.column)

    @property
    def diagonal(self) -> FloatArray:
        """Return the cells where both say the same."""
        found = np.repeat(np.diag(self.counts)[None], self.places.row.size, axis=0)
        same = np.flatnonzero(self.places.row == self.places.column)
        found[same, self.places.row[same]] -= 1.0
        return found

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return the sum of the cells under weights."""
        return np.asarray((self.counts * weights).sum() - weights[self.places.row, self.places.column])

    def between(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the sum of the cells under products of scores."""
        every = np.arange(self.places.row.size)
        own = first[every, self.places.row] * second[every, self.places.column]
        return np.asarray(((first @ self.counts) * second).sum(axis=-1) - own)

    def balance(self) -> FloatArray:
        """Return the pairs in the same order less those in opposite orders."""
        order = lower_less_higher(self.counts)
        return np.asarray((self.counts * order).sum() - 2.0 * order[self.places.row, self.places.column])


def _less(margin: FloatArray, group: IntArray) -> FloatArray:
    found = np.repeat(margin[None], group.size, axis=0)
    found[np.arange(group.size), group] -= 1.0
    return found


def reorder(tables: ArrayLike | Tables, order: IntArray) -> Tables:
    """Return square tables with their labels in another order: the first is what was at order[0]."""
    place = np.argsort(order)
    if isinstance(tables, Cells):
        row, column = place[tables.places.row], place[tables.places.column]
        rising = np.lexsort((column, row))
        return Cells(tables.counts[rising], Places(row[rising], column[rising], tables.places.shape))
    if isinstance(tables, LessOne):
        moved = Places(place[tables.places.row], place[tables.places.column], tables.places.shape)
        return LessOne(tables.counts[np.ix_(order, order)], moved)
    return Whole(np.asarray(tables, dtype=np.float64)[..., order, :][..., order])


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each distinct unit adds to a table, by the cells that any of them fills; None: each fills its own, once."""

    places: Places
    cells: csr_array | None = None

    def draw(self, weights: FloatArray) -> Cells:
        """Return the tables of units drawn so many times (b, U)."""
        drawn = np.ascontiguousarray(weights.T)
        return Cells(drawn if self.cells is None else np.asarray(self.cells.T @ drawn), self.places)

    def total(self, counts: IntArray) -> FloatArray:
        """Return the table of all units (K, L)."""
        table = np.zeros(self.places.shape)
        table[self.places.row, self.places.column] = counts if self.cells is None else self.cells.T @ counts
        return table

    def leave_out(self, counts: IntArray, start: int, end: int) -> Cells | LessOne:
        """Return the tables without one unit, for each of some distinct units."""
        if self.cells is None:
            some = Places(self.places.row[start:end], self.places.column[start:end], self.places.shape)
            return LessOne(self.total(counts), some)
        whole = np.asarray(self.cells.T @ counts, dtype=np.float64)
        return Cells(np.ascontiguousarray(whole[:, None] - self.cells[start:end].toarray().T), self.places)
