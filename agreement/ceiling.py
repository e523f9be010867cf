"""How far humans agree with each other, and how far the judge agrees with them, on the same items.

The ceiling never lets a rater meet himself: a human compared with a mean that includes him looks far better than he
is (.72 where leaving him out gives .38, on Newsroom).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import BoolArray, Categories, FloatArray, IntArray, check_codes, number_clusters
from agreement.comparison import pair_statistics
from agreement.estimate import FEW_COMMON, LEAST_COMMON, Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate_all, interval_from_jackknife
from agreement.pairs import divide
from agreement.tables import LessOne, Places
from agreement.units import Units, sum_by_cluster, take_together, units_of, units_of_rows

MOST_RATERS = 12  # beyond this, a table for every pair of humans holds too little each
MOST_NUMBERS = 2_000_000  # contributions of patterns to tables beyond which they are not written out


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Human with human, human with judge, and judge minus human, on the same items.

    `pooling` says whether each pair of raters has its own coefficient and the mean is shown (`pairs`), or all pairs
    share one table (`pooled`, with more than twelve humans).
    """

    statistic: str
    human_human: Estimate
    human_judge: Estimate
    gap: Estimate
    n: int
    humans: int
    pooling: Literal["pairs", "pooled"]


def mean_defined(values: FloatArray) -> FloatArray:
    """Return the mean over the last axis of what is defined, NaN where nothing is."""
    known: BoolArray = np.isfinite(values)
    return divide(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1).astype(np.float64))


def _contributions(codes: IntArray, k: int, pooled: bool) -> FloatArray:
    """Return each pattern's tables (P, T, K, K): first the pairs of humans, then each human with the judge (last)."""
    humans = codes.shape[1] - 1
    pairs = list(combinations(range(humans), 2))
    places = [(one, two, 0 if pooled else at) for at, (one, two) in enumerate(pairs)]
    after = 1 if pooled else len(pairs)
    places += [(human, humans, after if pooled else after + human) for human in range(humans)]
    rows = np.zeros((codes.shape[0], after + (1 if pooled else humans), k, k))
    for one, two, table in places:
        seen = np.flatnonzero((codes[:, one] >= 0) & (codes[:, two] >= 0))
        rows[seen, table, codes[seen, one], codes[seen, two]] += 1.0
        if pooled and two < humans:  # no human is the first one: count both ways
            rows[seen, table, codes[seen, two], codes[seen, one]] += 1.0
    return rows


def _units(codes: IntArray, k: int, pooled: bool, cluster: IntArray | None) -> Units:
    distinct, times = take_together(codes.astype(np.float64))
    if cluster is None:
        rows = _contributions(distinct.astype(np.int64), k, pooled)
        return Units(rows.reshape(rows.shape[0], -1), times, rows.shape[1:], codes.shape[0])
    index, many = number_clusters(cluster)
    sums = sum_by_cluster(_contributions(codes, k, pooled), index, many)
    return units_of_rows(sums, codes.shape[0], clustered=True)


def compare_with_ceiling(
    raters: tuple[ArrayLike, ArrayLike],
    categories: Categories,
    name: str = "kappa",
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> Ceiling:
    """Return the ceiling of humans (N x R codes) and judge (N codes) in one of `pair_statistics`' statistics."""
    return compare_with_ceilings(raters, categories, (name,), sampling, clusters)[name]


def compare_with_ceilings(
    raters: tuple[ArrayLike, ArrayLike],
    categories: Categories,
    names: Sequence[str],
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> dict[str, Ceiling]:
    """Return the ceilings in several statistics, all from the same resamples.

    Only items with two humans and the judge count, for all three numbers, and only pairs of raters with two such items:
    the same pairs in every resample. The gap's interval is joint.
    """
    k = len(categories)
    humans, judge = check_codes(raters[0], k).astype(np.int64), check_codes(raters[1], k).astype(np.int64)
    kept = ((humans >= 0).sum(axis=1) >= 2) & (judge >= 0)
    codes = np.asfortranarray(np.column_stack([humans, judge])[kept])  # rater by rater: pairs of them are compared
    many, n = humans.shape[1], codes.shape[0]
    pooling: Literal["pairs", "pooled"] = "pooled" if many > MOST_RATERS else "pairs"
    if not n:
        none = undefined("no item has two humans and the judge")
        return {name: Ceiling(name, none, none, none, 0, many, pooling) for name in names}
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[kept])[0]
    split = 1 if pooling == "pooled" else many * (many - 1) // 2
    known, drawn = pair_statistics(categories), sampling or Sampling()
    if n * (split + (1 if pooling == "pooled" else many)) * k * k > MOST_NUMBERS:
        tables = _pair_up(codes, k, pooling == "pooled")
        made = {name: _estimate_by_influence(tables, known[name], cluster, drawn.level) for name in names}
        return {name: Ceiling(name, *three, n, many, pooling) for name, three in made.items()}
    units = _units(codes, k, pooling == "pooled", cluster)
    held = _held(units, split, pooling == "pooled")
    wanted = {f"{name}/{part}": one for name in names for part, one in _three(known[name], split, held).items()}
    found = estimate_all(units, wanted, drawn)
    parts = {name: [found[f"{name}/{part}"] for part in ("hh", "hj", "gap")] for name in names}
    return {name: Ceiling(name, hh, hj, gap, n, many, pooling) for name, (hh, hj, gap) in parts.items()}


def _held(units: Units, split: int, pooled: bool) -> BoolArray:
    """Return which tables have two common items: the pairs of raters that count, the same ones in every resample."""
    common = units.total.sum(axis=(-2, -1))
    if pooled:
        common[:split] /= 2.0  # each pair of humans is there both ways
    return np.asarray((common >= LEAST_COMMON) & (units.n >= LEAST_COMMON))


def _three(base: Statistic, split: int, held: BoolArray) -> dict[str, Statistic]:
    """Return human with human, human with judge and their difference, as statistics of the pairs' tables."""
    last: list[tuple[FloatArray, FloatArray]] = []
    places = np.flatnonzero(held)
    people, judged = places[places < split], places[places >= split]

    def compute(tables: FloatArray) -> FloatArray:
        # All three are asked of the same tables one after the other: the pairs are worked out once.
        if not last or last[0][0] is not tables:
            last[:] = [(tables, np.asarray(base.compute(tables)))]
        return last[0][1]

    def human(tables: FloatArray) -> FloatArray:
        return mean_defined(compute(tables)[..., people])

    def judge(tables: FloatArray) -> FloatArray:
        return mean_defined(compute(tables)[..., judged])

    parts = {
        "hh": (human, people.size, base.bounds),
        "hj": (judge, judged.size, base.bounds),
        "gap": (lambda tables: judge(tables) - human(tables), min(people.size, judged.size), base.gap_bounds),
    }
    return {
        name: Statistic(part, "percentile" if name == "gap" else "bca", base.why if pairs else FEW_COMMON, bounds)
        for name, (part, pairs, bounds) in parts.items()
    }


@dataclass(frozen=True, slots=True)
class Paired:
    """Tables of pairs of raters (T, K, K), and for each pair the cell of its table that each item falls in.

    Cells count from 1; at 0 are items that the pair has not both rated. Where `pooled`, all pairs fill one table, and
    where `mirrored` it has each of them both ways.
    """

    cells: list[IntArray]
    tables: FloatArray
    pooled: bool
    mirrored: bool

    @property
    def common(self) -> FloatArray:
        """Return how many items each table is of."""
        return np.asarray(self.tables.sum(axis=(-2, -1)) / (2.0 if self.mirrored else 1.0))


def _pair_up(codes: IntArray, k: int, pooled: bool) -> tuple[Paired, Paired]:
    """Return the humans in pairs, and each human with the judge, who stands last."""
    humans = codes.shape[1] - 1
    return (
        _count_together(codes, list(combinations(range(humans), 2)), k, (pooled, pooled)),
        _count_together(codes, [(human, humans) for human in range(humans)], k, (pooled, False)),
    )


def _count_together(codes: IntArray, pairs: list[tuple[int, int]], k: int, pooling: tuple[bool, bool]) -> Paired:
    pooled, mirrored = pooling
    seen = codes >= 0
    cells = [np.where(seen[:, one] & seen[:, two], codes[:, one] * k + codes[:, two] + 1, 0) for one, two in pairs]
    counted = np.stack([np.bincount(cell, minlength=k * k + 1)[1:] for cell in cells]).reshape(-1, k, k)
    tables: FloatArray = (counted.sum(axis=0, keepdims=True) if pooled else counted).astype(np.float64)
    return Paired(cells, tables + tables.swapaxes(1, 2) if mirrored else tables, pooled, mirrored)


def _estimate_by_influence(
    tables: tuple[Paired, Paired], base: Statistic, cluster: IntArray | None, level: float
) -> tuple[Estimate, Estimate, Estimate]:
    """Return human-human, human-judge and gap for very many items, by the jackknife.

    What leaving an item out changes is added up from its tables, each of which has only K x K kinds of items.
    """
    (human, change_human), (judge, change_judge) = (_leave_each_out(paired, base) for paired in tables)
    n = change_human.size
    owner, groups = (None, None) if cluster is None else number_clusters(cluster)
    answer = []
    three = (
        (human, change_human, base.bounds),
        (judge, change_judge, base.bounds),
        (judge - human, change_judge - change_human, base.gap_bounds),
    )
    for value, change, bounds in three:
        if not np.isfinite(value):
            answer.append(undefined(base.why, n, groups))
            continue
        left_out = np.asarray(value + (change if owner is None else np.bincount(owner, change)))
        made = interval_from_jackknife(value, left_out, np.ones(left_out.size, dtype=np.int64), level)
        answer.append(replace(made.within(bounds), n=n, clusters=groups))
    return answer[0], answer[1], answer[2]


def _leave_each_out(paired: Paired, base: Statistic) -> tuple[float, FloatArray]:
    """Return the mean statistic over pairs of raters, and how it changes without each item."""
    tables, k = paired.tables, paired.tables.shape[-1]
    values = np.where(paired.common >= LEAST_COMMON, base.compute(tables), np.nan)
    steps = np.zeros((tables.shape[0], k * k + 1))  # the first place is for items that the pair has not both rated
    for at, table in enumerate(tables):
        places, changed = _without_one(table, base, paired.mirrored)
        steps[at, places + 1] = np.nan_to_num(changed - values[at])
    defined = max(int(np.isfinite(values).sum()), 1)
    change = np.zeros(paired.cells[0].size)
    for at, cell in enumerate(paired.cells):
        change += steps[0 if paired.pooled else at][cell]
    return float(mean_defined(values)), change / defined


def _without_one(table: FloatArray, base: Statistic, mirrored: bool) -> tuple[IntArray, FloatArray]:
    """Return the cells of a table that hold anything, and the statistic without one item of each, in blocks."""
    k = table.shape[0]
    places = np.flatnonzero(table)
    if not mirrored:
        return places, np.asarray(base.compute(LessOne(table, Places.of(places, (k, k)))))
    block = max(1, MOST_NUMBERS // table.size)
    parts = []
    for start in range(0, places.size, block):
        one, two = np.divmod(places[start : start + block], k)
        less = np.repeat(table[None], one.size, axis=0)
        less[np.arange(one.size), one, two] -= 1.0
        less[np.arange(one.size), two, one] -= 1.0
        parts.append(np.asarray(base.compute(less)))
    return places, np.concatenate(parts) if parts else np.zeros(0)


def _correlate_moments(sums: FloatArray) -> FloatArray:
    """Return Pearson's r from stacked sums (…, 6) of 1, x, y, xx, yy, xy."""
    mean = divide(sums, sums[..., :1])
    _, x, y, xx, yy, xy = np.moveaxis(mean, -1, 0)
    var_x, var_y = xx - x**2, yy - y**2
    # What does not vary has a variance of next to nothing, never quite 0, and always less than its mean square.
    flat = ~((var_x > 1e-12 * xx) & (var_y > 1e-12 * yy)) | (sums[..., 0] < 3)
    return np.where(flat, np.nan, (xy - x * y) / np.sqrt(np.where(flat, 1.0, var_x * var_y)))


def score_ceiling(
    humans: ArrayLike, judge: ArrayLike, sampling: Sampling | None = None, clusters: ArrayLike | None = None
) -> Ceiling:
    """Return the ceiling of scores (NaN is missing): each human, and the judge, against the mean of the other humans.

    The judge too is compared with means that leave out one human at a time, so that both face the same noise.
    """
    people, model = np.asarray(humans, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    present = np.isfinite(people)
    kept = (present.sum(axis=1) >= 2) & np.isfinite(model)
    many = people.shape[1]
    if not kept.any():
        none = undefined("no item has two humans and the judge")
        return Ceiling("pearson", none, none, none, 0, many, "pairs")
    people, model, present = people[kept], model[kept], present[kept]
    centre = float(people[present].mean())
    people, model = np.where(present, people - centre, 0.0), model - centre
    others = (people.sum(axis=1, keepdims=True) - people) / (present.sum(axis=1, keepdims=True) - 1)
    rows = np.stack(
        [_moment_rows(people, others, present), _moment_rows(model[:, None] + 0 * people, others, present)], 1
    )
    cluster = None if clusters is None else number_clusters(np.asarray(clusters)[kept])[0]
    why = "no human has three items and scores that vary"

    units = units_of(rows, cluster)

    def side(at: int) -> Statistic:
        # The humans who have a correlation at all, the same ones in every resample.
        held = np.flatnonzero(np.isfinite(_correlate_moments(units.total[at])))
        return Statistic(
            lambda sums: mean_defined(_correlate_moments(sums[..., at, held, :])), why=why, bounds=(-1.0, 1.0)
        )

    human, against = side(0), side(1)
    gap = Statistic(lambda sums: against.compute(sums) - human.compute(sums), "percentile", why, human.gap_bounds)
    found = estimate_all(units, {"hh": human, "hj": against, "gap": gap}, sampling or Sampling())
    return Ceiling("pearson", found["hh"], found["hj"], found["gap"], int(kept.sum()), many, "pairs")


def _moment_rows(one: FloatArray, two: FloatArray, present: BoolArray) -> FloatArray:
    parts = [np.ones_like(one), one, two, one**2, two**2, one * two]
    return np.stack([np.where(present, part, 0.0) for part in parts], axis=-1)
