"""Two raters, everything that is shown of them, from one set of resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from agreement import pairs, scores
from agreement.categories import Categories, FloatArray, IntArray, check_codes, number_clusters
from agreement.estimate import LEAST_COMMON, SKEWED_SHARE, Estimate, undefined
from agreement.intervals import Sampling, Statistic, estimate_all
from agreement.long_scales import units_of_clusters
from agreement.tables import LONG, Tables, reorder
from agreement.units import Units, units_of_rows, units_of_table

ONE_CATEGORY = "both raters stay on one label, so chance agreement is certain"
PARADOX = 0.2
SHARES = ("exact", "three_way", "within_one", "tie_coverage", "consistency", "consistency_three_way", "turned_to_tie")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two raters' agreement: the table (rows: first), every estimate by name, and what to beware of."""

    n: int
    table: IntArray
    estimates: Mapping[str, Estimate]
    warnings: tuple[str, ...]
    sampling: Sampling


def pair_statistics(categories: Categories) -> dict[str, Statistic]:
    """Return the agreement statistics of a K x K table on this scale."""
    signs, share = categories.signs(), (0.0, 1.0)
    found = {
        "exact": Statistic(pairs.exact, bounds=share),
        "within_one": Statistic(pairs.within_one, bounds=share),
        "pabak": Statistic(pairs.pabak, bounds=(-1.0, 1.0), least=LEAST_COMMON),
        "scott_pi": _chance_corrected(pairs.scott_pi, categories.weights("nominal")),
        "kappa": _chance_corrected(pairs.cohen_kappa, categories.weights("nominal")),
        "kappa_linear": _chance_corrected(pairs.cohen_kappa, categories.weights("linear")),
        "kappa_quadratic": _chance_corrected(pairs.cohen_kappa, categories.weights("quadratic")),
        "ac1": _gwet(categories.weights("nominal")),
        "ac2": _gwet(categories.weights("quadratic")),
    }
    if len(categories) == 2:
        found["prevalence_index"] = Statistic(pairs.prevalence_index, bounds=(-1.0, 1.0))
        found["bias_index"] = Statistic(pairs.bias_index, bounds=(-1.0, 1.0))
    if categories.tie is not None:
        three = partial(pairs.weighted_agreement, weights=(signs[:, None] == signs).astype(np.float64))
        none = "no item where neither says tie"
        found["three_way"] = Statistic(three, bounds=share)
        found["without_ties"] = Statistic(partial(pairs.without_ties, signs=signs), why=none, bounds=share)
        found["tie_coverage"] = Statistic(partial(pairs.tie_coverage, signs=signs), bounds=share)
        decisive = partial(pairs.judge_decisive, signs=signs)
        found["judge_decisive"] = Statistic(decisive, why="the first rater never decides", bounds=share)
    return found


def _chance_corrected(compute: Callable[..., FloatArray], weights: FloatArray) -> Statistic:
    return Statistic(partial(compute, weights=weights), why=ONE_CATEGORY, bounds=(-1.0, 1.0), least=LEAST_COMMON)


def _gwet(weights: FloatArray) -> Statistic:
    return replace(_chance_corrected(pairs.gwet_ac, weights), bounds=pairs.gwet_bounds(weights))


def compare(
    first: ArrayLike,
    second: ArrayLike,
    categories: Categories,
    sampling: Sampling | None = None,
    clusters: ArrayLike | None = None,
) -> Comparison:
    """Return everything about two raters' codes on the same items; with clusters, they are what is resampled."""
    return compare_units(units_of_pairs(first, second, len(categories), clusters), categories, sampling)


def units_of_pairs(first: ArrayLike, second: ArrayLike, k: int, clusters: ArrayLike | None) -> Units:
    """Return what is resampled of two raters' codes: the table's cells, or the tables of clusters that have a pair."""
    if clusters is None:
        return units_of_table(pairs.count_pairs(first, second, k))
    cluster, many = number_clusters(clusters)
    if k * k > LONG:
        one, two = check_codes(first, k), check_codes(second, k)
        seen = (one >= 0) & (two >= 0)
        return units_of_clusters((one[seen], two[seen]), (k, k), cluster[seen])
    tables = pairs.count_pairs_by_cluster(first, second, k, cluster, many)
    tables = tables[tables.sum(axis=(1, 2)) > 0]
    return units_of_rows(tables, int(tables.sum()), clustered=True)


def compare_table(table: ArrayLike, categories: Categories, sampling: Sampling | None = None) -> Comparison:
    """Return everything about two raters' kept table of counts, at a cost that does not depend on the counts."""
    return compare_units(units_of_table(table), categories, sampling)


def compare_units(units: Units, categories: Categories, sampling: Sampling | None = None) -> Comparison:
    """Return the same from any units whose sum is the table."""
    table, drawn = np.rint(units.total).astype(np.int64), sampling or Sampling()
    statistics = pair_statistics(categories)
    values = categories.array
    order = np.argsort(values)  # ranks need rising rows; a scale may be declared from its best label down
    rising = scores.table_statistics(values[order], values[order])
    if (order[1:] < order[:-1]).any():
        rising = {name: replace(one, compute=_reordered(one, order)) for name, one in rising.items()}
    statistics |= rising
    n = int(table.sum())
    if n == 0:
        none = undefined("no item has both verdicts", 0, units.clusters)
        return Comparison(0, table, dict.fromkeys(statistics, none), (), drawn)
    top = pairs.top_share(table)
    found = estimate_all(units, statistics, drawn, top)
    found = settle_shares(found, units, drawn.level)
    found = {name: _flag_constant(name, made, table) for name, made in found.items()}
    return Comparison(n, table, found, _beware(found, table, top), drawn)


def _reordered(statistic: Statistic, order: IntArray) -> partial[FloatArray]:
    def compute(tables: FloatArray | Tables) -> FloatArray:
        return statistic.compute(reorder(tables, order))

    return partial(compute)


def _flag_constant(name: str, made: Estimate, table: IntArray) -> Estimate:
    """Say what a formula hides: a constant rater's kappa of 0, and an AC of 1 on a single category."""
    row, column = np.count_nonzero(table.sum(axis=1)), np.count_nonzero(table.sum(axis=0))
    single = np.count_nonzero(table.sum(axis=1) + table.sum(axis=0)) == 1
    if name in ("ac1", "ac2") and single and made.defined:
        return Estimate(
            made.value, n=made.n, clusters=made.clusters, why="single category: 1 by the formula, no interval"
        )
    if name.startswith("kappa") and made.defined and 1 in (row, column):
        return replace(made, warnings=(*made.warnings, "zero variance: one rater always gives the same label"))
    return made


def _beware(found: Mapping[str, Estimate], table: IntArray, top: float) -> tuple[str, ...]:
    """Return the warnings on the comparison as a whole: small samples, skew, and the kappa paradox."""
    warnings = list(found["exact"].warnings)
    kappa, ac = found["kappa"].value, found["ac1"].value
    if (kappa is not None and ac is not None and abs(kappa - ac) > PARADOX) or top > SKEWED_SHARE:
        shares = " / ".join(
            ", ".join(f"{100 * share:.0f} %" for share in side / max(table.sum(), 1))
            for side in (table.sum(1), table.sum(0))
        )
        warnings.append(f"kappa and AC may tell different stories here: the labels' shares are {shares}")
    return tuple(warnings)


def settle_shares(found: Mapping[str, Estimate], units: Units, level: float) -> dict[str, Estimate]:
    """Return estimates with Wilson's interval for shares of all items that no resample varies, if items stand alone."""
    certain = {name for name, made in found.items() if name in SHARES and made.low is None and units.clusters is None}
    return {name: wilson(made, level) if name in certain else made for name, made in found.items()}


def wilson(made: Estimate, level: float) -> Estimate:
    """Return Wilson's interval for a share where resampling cannot vary: all agree, or none."""
    if made.value is None or made.n == 0:
        return made
    z = float(ndtri((1.0 + level) / 2.0))
    n, p = made.n, made.value
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    # At 0 and at 1 an end is the value itself, which rounding would miss by the last digit.
    low, high = min(max(0.0, centre - half), p), max(min(1.0, centre + half), p)
    return replace(made, low=low, high=high, method="wilson", why=None)
