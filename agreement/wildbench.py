"""WildBench's numbers: WB-Reward with its length rule, task groups, and WB-Score (Lin et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import (
    BoolArray,
    Categories,
    FloatArray,
    IntArray,
    check_codes,
    code_numbers,
    code_values,
    number_clusters,
)
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate
from agreement.pairs import divide
from agreement.units import Units, units_of, units_of_times

GROUP_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "Creative Tasks": 0.5,
        "Planning & Reasoning": 1.25,
        "Math & Data Analysis": 1.0,
        "Information/Advice seeking": 0.75,
        "Coding & Debugging": 1.25,
    }
)
# An item may be tagged with a task or with its group.
TASK_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        **{group: group for group in GROUP_WEIGHTS},
        "Information seeking": "Information/Advice seeking",
        "Advice seeking": "Information/Advice seeking",
        "Creative Writing": "Creative Tasks",
        "Editing": "Creative Tasks",
        "Brainstorming": "Creative Tasks",
        "Role playing": "Creative Tasks",
        "Others": "Creative Tasks",
        "Reasoning": "Planning & Reasoning",
        "Planning": "Planning & Reasoning",
        "Math": "Math & Data Analysis",
        "Data Analysis": "Math & Data Analysis",
    }
)
NOTHING_READABLE = "no readable verdict"
MOST_BITS = 62  # of a whole number that says in which groups an item is
LENGTH_RULES: tuple[float, ...] = (0, 100, 500, 1000, 1500, float("inf"))


def apply_length_rule(
    codes: ArrayLike, lengths: tuple[ArrayLike, ArrayLike], categories: Categories, length_k: float
) -> tuple[IntArray, int]:
    """Return codes under the length rule, and how many became ties; a scale without a tie is left as it is.

    A slight win or loss becomes a tie when the winner is longer by more than `length_k` characters; a clear one
    stays. Slight is any preference short of the scale's strongest.
    """
    array = check_codes(codes, len(categories)).astype(np.int64)
    if categories.tie is None or np.isinf(length_k):
        return array, 0
    values = categories.array
    ahead = np.asarray(lengths[0], dtype=np.float64) - np.asarray(lengths[1], dtype=np.float64)
    slight = (values != 0) & (np.abs(values) < np.abs(values).max())
    longer = np.where(values[array] > 0, ahead, -ahead) > length_k
    made = (array >= 0) & slight[array] & longer
    return np.where(made, categories.tie, array), int(made.sum())


_MEAN = Statistic(lambda sums: divide(sums[..., 0], sums[..., 1]))


def estimate_mean(values: FloatArray, sampling: Sampling, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of what is not NaN, with an interval over items or clusters."""
    seen = np.isfinite(values)
    if not seen.any():
        return undefined(NOTHING_READABLE)
    if clusters is None:  # values are few, whatever the number of items
        distinct, code = code_values(values[seen])
        return _estimate_counted(distinct, np.bincount(code), sampling)
    rows = np.column_stack([values[seen], np.ones(int(seen.sum()))])
    units = units_of(rows, number_clusters(np.asarray(clusters)[seen])[0])
    return estimate(units, _MEAN, sampling)


def _estimate_counted(values: FloatArray, times: IntArray, sampling: Sampling) -> Estimate:
    """Return the mean of values that occur so many times."""
    held = times > 0
    if not held.any():
        return undefined(NOTHING_READABLE)
    rows = np.column_stack([values[held], np.ones(int(held.sum()))])
    return estimate(Units(rows, times[held], (2,), int(times.sum())), _MEAN, sampling)


@dataclass(frozen=True, slots=True)
class Averaged:
    """The mean in each group, and their (weighted) average over groups."""

    groups: tuple[Estimate, ...]
    average: Estimate


def average_groups(
    values: FloatArray,
    member: BoolArray,
    weights: FloatArray,
    sampling: Sampling,
    clusters: ArrayLike | None = None,
) -> Averaged:
    """Return the means over groups of items (N x G), which may overlap, and the weighted average of those with items.

    All groups are resampled together, by item or cluster.
    """
    seen = np.isfinite(values)
    known, inside = values[seen], member[seen]
    held = np.flatnonzero(inside.any(axis=0))

    def average(sums: FloatArray) -> FloatArray:
        found = divide(sums[..., held, 0], sums[..., held, 1])
        return np.asarray(found @ weights[held] / weights[held].sum())

    if not held.size:
        nothing = (undefined(NOTHING_READABLE),) * inside.shape[1]
        return Averaged(nothing, undefined("no group has a readable verdict"))
    if clusters is None:  # few values in few sets of groups, whatever the number of items
        counted = _Counted.of(known, inside)
        means = tuple(_estimate_counted(counted.values, times, sampling) for times in counted.by_group())
        units = counted.units()
    else:
        owner = np.asarray(clusters)[seen]
        means = tuple(estimate_mean(known[here], sampling, owner[here]) for here in inside.T)
        units = units_of(_contributions(known, inside), owner)
    made = estimate(units, Statistic(average), sampling)
    return Averaged(means, replace(made, n=int(inside.any(axis=1).sum())))


def _contributions(values: FloatArray, inside: BoolArray) -> FloatArray:
    """Return what each value adds to its groups' sums and sizes."""
    return np.stack([values[:, None] * inside, inside.astype(np.float64)], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """How many items (V x S) have each distinct value and are in each set of groups; `sets` (S x G) says which."""

    values: FloatArray
    sets: BoolArray
    times: IntArray

    @classmethod
    def of(cls, values: FloatArray, inside: BoolArray) -> _Counted:
        """Count values, each in its set of groups."""
        distinct, code = code_values(values)
        sets, place = _distinct_sets(inside)
        times = np.bincount(code * len(sets) + place, minlength=distinct.size * len(sets))
        return cls(distinct, sets, times.reshape(distinct.size, len(sets)))

    def by_group(self) -> IntArray:
        """Return how often each group has each value (G x V)."""
        return np.asarray((self.times @ self.sets.astype(np.int64)).T)

    def units(self) -> Units:
        """Return what is resampled: each group's sum and size."""
        every = np.repeat(self.values, len(self.sets)), np.tile(self.sets, (self.values.size, 1))
        return units_of_times(_contributions(*every), self.times.reshape(-1))


def _distinct_sets(inside: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the distinct sets of groups that items are in (S x G), and the place of each item's among them."""
    if inside.shape[1] > MOST_BITS:
        sets, place = np.unique(inside, axis=0, return_inverse=True)
        return sets, place.reshape(-1)
    bits = 2 ** np.arange(inside.shape[1])
    numbers, place = code_numbers(inside @ bits)
    return (numbers[:, None] & bits) > 0, place


def average_baselines(
    values: FloatArray, opponent: IntArray, sampling: Sampling, clusters: ArrayLike | None = None
) -> tuple[dict[int, Estimate], Estimate]:
    """Return the mean against each opponent (-1 is none), and the mean over opponents: WildBench's "mix".

    An opponent without a readable verdict makes the mix undefined: a missing baseline is missing, never 0.
    """
    names = np.flatnonzero(np.bincount(opponent[opponent >= 0]))
    member = opponent[:, None] == names
    found = average_groups(values, member, np.ones(names.size), sampling, clusters)
    against = {int(name): made for name, made in zip(names, found.groups, strict=True)}
    missing = sum(made.value is None for made in found.groups)
    mix = undefined(f"{missing} of {names.size} baselines are missing") if missing or not against else found.average
    return against, mix


def find_tasks(tags: Sequence[Sequence[str]]) -> BoolArray:
    """Return which of the task groups (in the order of GROUP_WEIGHTS) each list of tags falls into."""
    names = list(GROUP_WEIGHTS)
    member = np.zeros((len(tags), len(names)), dtype=np.bool_)
    for place, own in enumerate(tags):
        for tag in own:
            if tag in TASK_GROUPS:
                member[place, names.index(TASK_GROUPS[tag])] = True
    return member


def wb_score(scores: ArrayLike, sampling: Sampling | None = None, clusters: ArrayLike | None = None) -> Estimate:
    """Return WB-Score, (mean score - 5) x 2 for scores of 1 to 10: so that 0 is a middling answer."""
    values = (np.asarray(scores, dtype=np.float64) - 5.0) * 2.0
    return estimate_mean(values, sampling or Sampling(), clusters).within((-8.0, 10.0))
