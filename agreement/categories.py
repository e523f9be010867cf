"""The declared labels of a scale as numbers: categories, weights and distances never come from the data.

Codes index the declared labels in their declared order; -1 is a missing verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judge.domain import InputError, Scale

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Weighting = Literal["nominal", "linear", "quadratic"]

FEW_VALUES = 1_000  # among which all values are found that there are, as a rule
MISSING = -1


@dataclass(frozen=True, slots=True)
class Categories:
    """The values of the declared labels, in declared order, and which of them means a tie.

    Without an order two labels are the same or not: every weighting is then the nominal one.
    """

    values: tuple[float, ...]
    tie: int | None = None
    ordered: bool = True

    def __post_init__(self) -> None:
        if len(self.values) < 2:
            raise InputError("A scale needs at least two labels to speak of agreement.")
        if len(set(self.values)) != len(self.values):
            raise InputError(f"Two labels of the scale share a value: {self.values}. Give each its own.")

    @classmethod
    def of(cls, scale: Scale) -> Categories:
        """Return the categories of a protocol's scale."""
        tie = next((index for index, point in enumerate(scale.points) if point.tie), None)
        return cls(tuple(float(point.value) for point in scale.points), tie, not scale.nominal)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def array(self) -> FloatArray:
        """Return the values as an array."""
        return np.asarray(self.values, dtype=np.float64)

    def from_middle(self) -> Categories:
        """Return the categories with values counted from the middle of the scale, so that their signs tell the side.

        The middle is the middle label, or half-way between the two that stand there.
        """
        size = len(self.values)
        middle = (self.values[(size - 1) // 2] + self.values[size // 2]) / 2.0
        # Rounded, so that two labels as far from the middle have the same value but for its sign.
        return Categories(tuple(round(value - middle, 12) for value in self.values), self.tie)

    def weights(self, weighting: Weighting) -> FloatArray:
        """Return agreement weights: 1 on the diagonal, less the further apart two declared values are."""
        if weighting == "nominal" or not self.ordered:
            return np.eye(len(self.values))
        values = self.array
        gap = np.abs(values[:, None] - values[None, :]) / (values.max() - values.min())
        return np.asarray(1.0 - (gap if weighting == "linear" else gap**2))

    def signs(self) -> IntArray:
        """Return who each label prefers: 1 for A, 0 for neither, -1 for B; values must count from the middle."""
        return np.sign(self.array).astype(np.int64)

    def encode(self, labels: Sequence[str | None], names: Sequence[str]) -> IntArray:
        """Return codes of labels; None is missing and an unknown label is an error."""
        index: dict[str | None, int] = {name: code for code, name in enumerate(names)}
        index[None] = MISSING
        unknown = {label for label in labels if label not in index}
        if unknown:
            raise InputError(f"Labels that the scale does not have: {', '.join(sorted(map(str, unknown)))}.")
        return np.fromiter((index[label] for label in labels), np.int64, len(labels))


def check_codes(codes: ArrayLike, k: int) -> NDArray[np.integer[Any]]:
    """Return codes as integers, after making sure that each is -1 or one of k categories."""
    array = np.asarray(codes)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError("Codes are whole numbers: the index of a label, or -1 for a missing verdict.")
    if array.min() < MISSING or array.max() >= k:
        raise InputError(f"Codes go from -1 (missing) to {k - 1}; found {array.min()} to {array.max()}.")
    return array


def code_values(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct values, rising, and the place of each one's among them: finite values, few of many items."""
    some = np.unique(values[:FEW_VALUES])
    for find in (_count_steps, _search):  # each sooner done than sorting all of them
        place = find(some, values)
        if np.array_equal(some[place], values):
            return some, place
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, place


def _count_steps(some: FloatArray, values: FloatArray) -> IntArray:
    """Return the place of each value among rising ones, by how many of their least steps it is from the first.

    Labels and their means are few such steps apart. Any place stands for a value that is not among them, and for all of
    them where the steps are very many.
    """
    step = np.diff(some).min(initial=np.inf)
    if some.size < 2 or (some[-1] - some[0]) / step >= FEW_VALUES:
        return np.zeros(values.size, dtype=np.int64)
    slots = np.rint((some - some[0]) / step).astype(np.int64)
    place = np.zeros(slots[-1] + 1, dtype=np.int64)
    place[slots] = np.arange(some.size)
    return np.asarray(place[np.rint((values - some[0]) / step).clip(0, slots[-1]).astype(np.int64)])


def _search(some: FloatArray, values: FloatArray) -> IntArray:
    """Return the place of each value among rising ones, and any place for a value that is not among them."""
    return np.minimum(np.searchsorted(some, values), some.size - 1)


def code_numbers(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct whole numbers, rising, and the place of each one among them."""
    if numbers.size and numbers.min() >= 0 and numbers.max() < 8 * numbers.size:
        used = np.bincount(numbers) > 0  # small whole numbers are sooner counted than sorted
        return np.flatnonzero(used), (np.cumsum(used) - 1)[numbers]
    distinct, place = np.unique(numbers, return_inverse=True)
    return distinct, place


def number_clusters(clusters: ArrayLike) -> tuple[IntArray, int]:
    """Return each item's cluster as 0, 1, 2 … and how many there are."""
    array = np.asarray(clusters).reshape(-1)
    names, index = code_numbers(array) if array.dtype.kind == "i" else np.unique(array, return_inverse=True)
    return index.astype(np.int64, copy=False), int(names.size)
