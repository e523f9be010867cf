"""Statistics as the plain values that `agreement --json` prints: the names are a contract, keys are only added."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from agreement.categories import FloatArray, IntArray
from agreement.comparison import ONE_CATEGORY, Comparison, compare, units_of_pairs
from agreement.confusion import ChiSquared, describe_confusion
from agreement.estimate import Estimate, undefined
from agreement.pairs import kappa_standard_error
from agreement.reference import score_against_reference
from agreement.votes import Votes
from exchange.panel import Panel

PEOPLE = "humans"
TIED = "items are tied together in clusters, which this formula does not know of: read the interval"
PAIR_KEYS = (
    "exact",
    "kappa",
    "kappa_linear",
    "kappa_quadratic",
    "ac1",
    "ac2",
    "spearman",
    "kendall",
    "pearson",
    "mae",
    "bias",
)


def describe_comparison(one: str, two: str, found: Comparison, labels: tuple[str, ...]) -> dict[str, Any]:
    """Return two raters' agreement: every estimate, and the table with rows for the first."""
    return {
        "a": one,
        "b": two,
        "n": found.n,
        **{name: made.as_dict() for name, made in found.estimates.items()},
        "confusion": found.table.tolist(),
        "labels": list(labels),
        "warnings": list(found.warnings),
    }


def compare_codes(panel: Panel, first: IntArray, second: IntArray, names: tuple[str, str]) -> dict[str, Any]:
    """Return the agreement of two lists of codes on the scale in force."""
    found = compare(first, second, panel.categories, panel.sampling, panel.cluster)
    return describe_comparison(*names, found, panel.labels)


def describe_votes(found: Votes, names: tuple[str, str], labels: tuple[str, ...]) -> dict[str, Any]:
    """Return pooled votes: `n` counts pairs of votes, `n_items` (and the estimates' own `n`) the items they are on."""
    return {**describe_comparison(*names, found.comparison, labels), "n_items": found.items}


def describe_table(panel: Panel, reference: IntArray, codes: IntArray) -> dict[str, Any]:
    """Return what is shown of a confusion matrix beside its counts; the rows' rater is the reference."""
    units = units_of_pairs(reference, codes, len(panel.categories), panel.cluster)
    found = describe_confusion(units)
    alone = panel.cluster is None
    spread = number(kappa_standard_error(found.counts, panel.categories.weights("nominal"))) if alone else None
    return {
        "row_shares": numbers(found.row_shares),
        "residuals": numbers(found.residuals),
        "symmetry": chi_squared(found.symmetry),
        "homogeneity": chi_squared(found.homogeneity),
        "kappa_standard_error": spread,
        "kappa_standard_error_why": (ONE_CATEGORY if alone else TIED) if spread is None else None,
        **estimates(score_against_reference(units, panel.sampling)),
    }


def chi_squared(test: ChiSquared) -> dict[str, Any]:
    """Return a test."""
    value: dict[str, Any] = {"statistic": test.statistic, "freedom": test.freedom, "p": test.p}
    return {**value, "why": test.why} if test.why else value


def number(value: float | None) -> float | None:
    """Return a number JSON can hold; what is not finite is null."""
    return None if value is None or not math.isfinite(value) else float(value)


def numbers(array: FloatArray) -> list[Any]:
    """Return an array as lists, with null for what is undefined."""
    return [numbers(row) if np.ndim(row) else number(float(row)) for row in array]


def none_of(why: str, names: tuple[str, ...] = PAIR_KEYS) -> dict[str, Any]:
    """Return a pair of raters of whom nothing can be said, with the reason."""
    return {"n": 0, **{name: undefined(why).as_dict() for name in names}, "confusion": []}


def estimates(found: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return estimates by name."""
    return {name: made.as_dict() for name, made in found.items()}
