"""WildBench's numbers: WB-Reward with its length rule, task groups, and WB-Score (Lin et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import BoolArray, Categories, FloatArray, IntArray, check_codes, number_clusters
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate, units_of
from agreement.pairs import divide

TASK_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "Information seeking": "Information/Advice seeking",
        "Advice seeking": "Information/Advice seeking",
        "Creative Writing": "Creative Tasks",
        "Editing": "Creative Tasks",
        "Brainstorming": "Creative Tasks",
        "Role playing": "Creative Tasks",
        "Others": "Creative Tasks",
        "Coding & Debugging": "Coding & Debugging",
        "Reasoning": "Planning & Reasoning",
        "Planning": "Planning & Reasoning",
        "Math": "Math & Data Analysis",
        "Data Analysis": "Math & Data Analysis",
    }
)
GROUP_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "Creative Tasks": 0.5,
        "Planning & Reasoning": 1.25,
        "Math & Data Analysis": 1.0,
        "Information/Advice seeking": 0.75,
        "Coding & Debugging": 1.25,
    }
)
LENGTH_RULES: tuple[float, ...] = (0, 100, 500, 1000, 1500, float("inf"))


@dataclass(frozen=True, slots=True)
class Reward:
    """WB-Reward from response A's side: over readable verdicts, and over all rows as WildBench's script divides."""

    reward: Estimate
    over_all_rows: float | None
    length_k: float
    made_ties: int
    missing: int


def reward_values(
    codes: ArrayLike,
    lengths: tuple[ArrayLike, ArrayLike] | None,
    categories: Categories,
    length_k: float = float("inf"),
) -> tuple[FloatArray, int]:
    """Return each verdict's reward for A (NaN is missing) and how many slight wins the length rule made ties.

    A slight win or loss becomes a tie when the winner is longer by more than `length_k` characters; a clear one
    stays. Slight is any preference short of the scale's strongest.
    """
    array = check_codes(codes, len(categories))
    values = np.where(array >= 0, categories.array[array], np.nan)
    if lengths is None or np.isinf(length_k):
        return values, 0
    made = _ruled_out(values, lengths, categories, length_k)
    return np.where(made, 0.0, values), int(made.sum())


def _ruled_out(
    values: FloatArray, lengths: tuple[ArrayLike, ArrayLike], categories: Categories, length_k: float
) -> BoolArray:
    """Return which verdicts are slight preferences for a response longer by more than `length_k`."""
    ahead = np.asarray(lengths[0], dtype=np.float64) - np.asarray(lengths[1], dtype=np.float64)
    slight = (values != 0) & (np.abs(values) < np.abs(categories.array).max())
    longer = np.where(values > 0, ahead, -ahead) > length_k
    return np.asarray(slight & longer & np.isfinite(values))


def apply_length_rule(
    codes: ArrayLike, lengths: tuple[ArrayLike, ArrayLike], categories: Categories, length_k: float
) -> tuple[IntArray, int]:
    """Return codes under the length rule, and how many became ties; a scale without a tie is left as it is."""
    array = check_codes(codes, len(categories)).astype(np.int64)
    if categories.tie is None or np.isinf(length_k):
        return array, 0
    values = np.where(array >= 0, categories.array[array], np.nan)
    made = _ruled_out(values, lengths, categories, length_k)
    return np.where(made, categories.tie, array), int(made.sum())


def measure_reward(
    codes: ArrayLike,
    lengths: tuple[ArrayLike, ArrayLike] | None,
    categories: Categories,
    length_k: float = float("inf"),
    resampling: tuple[Sampling, ArrayLike | None] | None = None,
) -> Reward:
    """Return WB-Reward (mean of ±1, ±1/2, 0) with an interval over prompts: resampling is (how, clusters)."""
    values, made = reward_values(codes, lengths, categories, length_k)
    sampling, clusters = resampling or (Sampling(), None)
    missing = int(np.isnan(values).sum())
    mean = estimate_mean(values, sampling, clusters)
    total = float(np.nansum(values)) / values.size if values.size else None
    return Reward(mean, total, length_k, made, missing)


def estimate_mean(values: FloatArray, sampling: Sampling, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of what is not NaN, with an interval over items or clusters."""
    seen = np.isfinite(values)
    if not seen.any():
        return undefined("no readable verdict")
    rows = np.column_stack([values[seen], np.ones(int(seen.sum()))])
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[seen])[0]
    return estimate(units_of(rows, cluster), Statistic(lambda s: divide(s[..., 0], s[..., 1])), sampling)


def reward_curve(
    codes: ArrayLike,
    lengths: tuple[ArrayLike, ArrayLike],
    categories: Categories,
    resampling: tuple[Sampling, ArrayLike | None] | None = None,
) -> tuple[Reward, ...]:
    """Return WB-Reward under every usual length rule, all on the same resamples."""
    return tuple(measure_reward(codes, lengths, categories, k, resampling) for k in LENGTH_RULES)


def average_baselines(rewards: Sequence[Estimate]) -> Estimate:
    """Return the mean over baselines ("mix"); a missing baseline makes it undefined, never 0."""
    known = [made.value for made in rewards if made.value is not None]
    if not rewards or len(known) < len(rewards):
        return undefined(f"{len(rewards) - len(known)} of {len(rewards)} baselines are missing")
    return Estimate(float(np.mean(known)), n=min(made.n for made in rewards))


@dataclass(frozen=True, slots=True)
class TaskMeans:
    """The mean in each task group, and their weighted macro average over the groups that have items."""

    groups: Mapping[str, Estimate]
    macro: Estimate


def measure_by_task(
    values: ArrayLike,
    tags: Sequence[Sequence[str]],
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> TaskMeans:
    """Return means by WildBench's five task groups; an item counts once in each group that one of its tags falls in."""
    array = np.asarray(values, dtype=np.float64)
    names = list(GROUP_WEIGHTS)
    member = np.zeros((array.size, len(names)))
    for item, own in enumerate(tags):
        for name in {TASK_GROUPS[tag] for tag in own if tag in TASK_GROUPS}:
            member[item, names.index(name)] = 1.0
    seen = np.isfinite(array)
    rows = np.stack([array[seen, None] * member[seen], member[seen]], axis=-1)
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[seen])[0]
    units, drawn = units_of(rows, cluster), sampling or Sampling()
    held = np.flatnonzero(member[seen].sum(axis=0))
    weights = np.array([GROUP_WEIGHTS[name] for name in names])

    def macro(sums: FloatArray) -> FloatArray:
        means = divide(sums[..., held, 0], sums[..., held, 1])
        return np.asarray(means @ weights[held] / weights[held].sum())

    def group(at: int) -> Estimate:
        mask = seen & (member[:, at] > 0)
        return estimate_mean(np.where(mask, array, np.nan), drawn, clusters)

    means = {name: group(at) for at, name in enumerate(names)}
    if not held.size:
        return TaskMeans(means, undefined("no item has a known task tag"))
    return TaskMeans(means, estimate(units, Statistic(macro), drawn))


def wb_score(scores: ArrayLike, sampling: Sampling | None = None, clusters: ArrayLike | None = None) -> Estimate:
    """Return WB-Score, (mean score - 5) x 2 for scores of 1 to 10: so that 0 is a middling answer."""
    values = (np.asarray(scores, dtype=np.float64) - 5.0) * 2.0
    return estimate_mean(values, sampling or Sampling(), clusters)
