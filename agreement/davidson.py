"""Bradley-Terry with ties as an outcome of their own (Davidson 1970), for those who do not want them halved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from agreement.bradley_terry import Games, find_components, fit_strengths, keep_players, spread_out
from agreement.categories import FloatArray

STEPS = 100


@dataclass(frozen=True, slots=True)
class Davidson:
    """Strengths that sum to 0 and nu, the weight of a tie between equals (2 means as likely as a decision).

    A model without a game has the strength NaN, and takes no part.
    """

    strengths: FloatArray
    nu: float
    why: str | None = None


def _tables(games: Games) -> tuple[FloatArray, FloatArray]:
    one, two = np.asarray(games.first, dtype=np.int64), np.asarray(games.second, dtype=np.int64)
    result = np.asarray(games.result, dtype=np.float64)
    wins, ties = np.zeros((2, games.models, games.models))
    np.add.at(wins, (one[result == 1], two[result == 1]), 1.0)
    np.add.at(wins, (two[result == 0], one[result == 0]), 1.0)
    np.add.at(ties, (one[result == 0.5], two[result == 0.5]), 1.0)
    return wins, ties + ties.T


def fit_davidson(games: Games) -> Davidson:
    """Return the maximum-likelihood fit; without any tie it is Bradley-Terry, and without a maximum it says so."""
    own, held = keep_players(games)
    if 0 < own.models < games.models:
        found = fit_davidson(own)
        return replace(found, strengths=spread_out(found.strengths, held, games.models))
    wins, ties = _tables(games)
    none = np.full(games.models, np.nan)
    components = find_components(wins + ties / 2.0)
    if len(components) > 1:
        groups = f"{len(components)} groups not joined by wins in both directions"
        return Davidson(none, float("nan"), f"no maximum: the models fall into {groups}")
    if not ties.any():
        return Davidson(fit_strengths(wins), 0.0)
    if not wins.any():
        return Davidson(none, float("nan"), "no maximum: every game is a tie")
    if _ordered(wins, ties):
        why = "no maximum: an order of the models explains every win and every tie, so strengths would grow without end"
        return Davidson(none, float("nan"), why)
    return _newton(wins, ties)


def _ordered(wins: FloatArray, ties: FloatArray) -> bool:
    """Return whether models can be placed so that winners stand a step or more ahead, and ties are within a step.

    Then no win and no tie is a surprise, and the likelihood grows for ever as steps and nu grow together. Places are
    raised as wins and ties demand until nothing moves; a circle of demands never comes to rest.
    """
    ahead = np.where(wins > 0, 1.0, np.where(ties > 0, -1.0, -np.inf))
    place = np.zeros(wins.shape[0])
    for _ in range(wins.shape[0]):
        raised = np.maximum(place, (place + ahead).max(axis=1))
        if np.array_equal(raised, place):
            return True
        place = raised
    return False


def _newton(wins: FloatArray, ties: FloatArray) -> Davidson:
    """Return the maximum by Newton's method: an exponential family, so the likelihood has one hill."""
    models = wins.shape[0]
    one, two = np.triu_indices(models, 1)
    played = (wins + wins.T + ties)[one, two]
    goal = np.append(wins.sum(axis=1) + ties.sum(axis=1) / 2.0, ties[one, two].sum())
    # What each outcome adds to the strengths of both and to nu: first wins, second wins, tie.
    adds = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 1.0]])
    places = np.column_stack([one, two, np.full(one.size, models)])
    at = np.zeros(models + 1)
    at[:-1] = fit_strengths(wins + ties / 2.0)
    pin = np.zeros((models + 1, models + 1))
    pin[:-1, :-1] = 1.0  # strengths are known up to a constant
    for _ in range(STEPS):
        chance = softmax(at[places] @ adds.T, axis=1)
        mean = chance @ adds
        spread = np.einsum("po,oa,ob->pab", chance, adds, adds) - mean[:, :, None] * mean[:, None, :]
        slope, information = goal.copy(), pin.copy()
        np.add.at(slope, places, -played[:, None] * mean)
        np.add.at(information, (places[:, :, None], places[:, None, :]), played[:, None, None] * spread)
        step = np.linalg.solve(information, slope)
        at = at + step / max(1.0, float(np.abs(step).max()) / 2.0)
        if np.abs(step).max() < 1e-11:
            break
    return Davidson(np.asarray(at[:-1] - at[:-1].mean()), float(np.exp(at[-1])))
