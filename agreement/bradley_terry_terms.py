"""What side and length add to a win at equal strength of the models: Bradley-Terry with two more terms.

The log odds that A wins are the difference of the two models' strengths, plus `side` where A was shown first (minus it
where B was), plus `length` for each standard deviation of the log ratio of lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agreement.bradley_terry import Games, find_components
from agreement.categories import FloatArray, IntArray, number_clusters
from agreement.estimate import Estimate, undefined
from agreement.length import NO_VARIATION
from agreement.logistic import fit_logistic

NEVER_EXCHANGED = "the sides were never exchanged, so nothing tells position from the item's own order"
MOST_NUMBERS = 4_000_000  # games times terms, beyond which a fit takes longer than all else on the page
NO_GAME = "no two models met on an item with a verdict and two responses"
TOO_MANY = "too many verdicts and models for a fit here"


@dataclass(frozen=True, slots=True)
class Terms:
    """The log odds that the first position adds, and a standard deviation of the log ratio of lengths."""

    side: Estimate
    length: Estimate


def fit_terms(
    games: Games, first: FloatArray, delta: FloatArray, cluster: IntArray, times: IntArray | None = None
) -> Terms:
    """Return both terms with cluster-robust intervals; `first` is 1 where A was shown first, -1 where B was, 0 unknown.

    A tie counts as half a win, and a game may stand for so many `times` with their mean result. A term that nothing
    tells apart is left out of the model and has its reason.
    """
    known = np.isfinite(delta)
    one, two, won = (np.asarray(part)[known] for part in (games.first, games.second, games.result))
    side, ratio = first[known], delta[known]
    many = np.ones(side.size, dtype=np.int64) if times is None else times[known]
    n, groups = int(many.sum()), number_clusters(cluster[known])[1]
    if n == 0 or side.size * (games.models + 1) > MOST_NUMBERS:
        none = undefined(TOO_MANY if n else NO_GAME, n, groups)
        return Terms(none, none)
    columns: dict[str, FloatArray] = {}
    if np.ptp(side):
        columns["side"] = side
    if spread := float(np.sqrt(np.average((ratio - np.average(ratio, weights=many)) ** 2, weights=many))):
        columns["length"] = ratio / spread
    rows = [*columns.values(), *_strengths_of(one, two, games.models)]
    design = np.array(rows).reshape(len(rows), side.size).T
    fit = fit_logistic(won.astype(np.float64), design, cluster[known], many)
    place = {name: at for at, name in enumerate(columns)}

    def term(name: str, why_not: str) -> Estimate:
        return fit.estimate(place[name], n, clustered=True) if name in place else undefined(why_not, n, groups)

    return Terms(term("side", NEVER_EXCHANGED), term("length", NO_VARIATION))


def _strengths_of(one: IntArray, two: IntArray, models: int) -> list[FloatArray]:
    """Return the columns of the models' strengths.

    Only differences of strengths are told, between models that a chain of games joins: one of each such group, and a
    model without a game, is the measure of the rest.
    """
    met = np.zeros((models, models))
    met[one, two] = met[two, one] = 1.0
    measure = [min(group) for group in find_components(met)]
    told = [model for model in range(models) if model not in measure]
    return [(one == model).astype(np.float64) - (two == model) for model in told]
