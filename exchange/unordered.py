"""A scale without an order: what needs one is undefined, with the reason, wherever the numbers are drawn from."""

from __future__ import annotations

from typing import Any

NO_ORDER = "the scale's labels have no order"
# Statistics of distances, ranks or means of labels, by their names in `agreement --json`.
NEED_ORDER = frozenset(
    {
        "within_one",
        "kappa_linear",
        "kappa_quadratic",
        "ac2",
        "pearson",
        "spearman",
        "kendall",
        "mae",
        "rmse",
        "bias",
        "ccc",
        "alpha_ordinal",
        "alpha_interval",
        "alpha_two_way",
        "icc",
        "ranking_accuracy",
        "pooled",
        "mean_score",
        "wb_score",
        "tasks",
        "corrected_win_rate",
        "preference",
        "consistency_three_way",
        "order_effect",
        "fairness",
    }
)
_ESTIMATE = {"value": None, "low": None, "high": None}
_ATTENUATION = {"reliability": None, "bound": None, "relative": None, "why": NO_ORDER}
_OF_A_MEAN = ("weight", "gain", "effective", "threshold")


def blank_ordered(value: Any, *, needs_order: bool = False) -> Any:
    """Return a value of `agreement --json` with every estimate that needs an order undefined."""
    if isinstance(value, list):
        return [blank_ordered(one, needs_order=needs_order) for one in value]
    if not isinstance(value, dict):
        return value
    found = {
        name: _ATTENUATION
        if name == "attenuation"
        else blank_ordered(one, needs_order=needs_order or name in NEED_ORDER)
        for name, one in value.items()
    }
    if not needs_order or not _ESTIMATE.keys() <= value.keys():
        return found
    kept = {name: one for name, one in found.items() if name not in ("method", "warnings")}
    return kept | _ESTIMATE | {name: None for name in _OF_A_MEAN if name in kept} | {"why": NO_ORDER}
