"""Bradley-Terry strengths from wins, with what other tools leave unsaid: whether they exist at all.

The likelihood has a maximum only if every model is reachable from every other along wins (Ford 1957). Where it is
not, fitting anyway returns numbers that depend on when the solver stopped. A tie counts as half a win each way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from agreement.categories import BoolArray, FloatArray, IntArray, code_numbers, code_values, number_clusters
from agreement.estimate import DEFINED_RESAMPLES, FEW_CLUSTERS, Estimate, list_warnings, undefined
from agreement.intervals import (
    Sampling,
    Statistic,
    estimate_all,
    interval_from_jackknife,
    interval_from_replicates,
    leave_each_out,
    resample,
    tails_of,
)
from agreement.scores import Coefficient, correlate_lists
from agreement.units import Units, units_of_rows

STEPS = 60
ELO_SCALE = 400.0 / float(np.log(10.0))
ELO_CENTRE = 1000.0
NO_RANKS = f"fewer than {FEW_CLUSTERS} clusters: too few to draw ranks from"
NO_GAME = "no verdict sets it against another model"


@dataclass(frozen=True, slots=True)
class Games:
    """Games between models numbered from 0: the two sides, and the first's result (1, 1/2, 0)."""

    first: ArrayLike
    second: ArrayLike
    result: ArrayLike
    models: int


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """Strengths that sum to 0, their ranks' intervals and the chance of each model beating each other.

    `components` lists the groups of models within which everyone is reachable along wins; with more than one there is
    no maximum and `why` says so, unless a pseudo-game was added. A model without a game is in none of them and alone
    has no strength. `covariance` is the fit's own, without clusters.
    With fewer clusters than a bootstrap can live on, strengths have the jackknife's intervals and ranks have none.
    """

    strengths: tuple[Estimate, ...]
    ranks: tuple[tuple[int, int] | None, ...]
    win_probability: FloatArray
    covariance: FloatArray
    components: tuple[tuple[int, ...], ...]
    pseudo_game: float
    sampling: Sampling
    why: str | None = None
    why_no_ranks: str | None = None

    def elo(self) -> tuple[Estimate, ...]:
        """Return the strengths on the Elo scale, centred at 1000."""

        def scale(number: float | None) -> float | None:
            return None if number is None else ELO_SCALE * number + ELO_CENTRE

        return tuple(
            Estimate(scale(s.value), scale(s.low), scale(s.high), s.method, s.n, s.clusters, s.why, s.warnings)
            for s in self.strengths
        )


def keep_players(games: Games) -> tuple[Games, IntArray]:
    """Return the games with models numbered among those that have one, and which models those are."""
    one, two = np.asarray(games.first, dtype=np.int64), np.asarray(games.second, dtype=np.int64)
    seen = np.isfinite(np.asarray(games.result, dtype=np.float64)) & (one != two)
    played = [np.bincount(side[seen], minlength=games.models) for side in (one, two)]
    held = np.flatnonzero(played[0] + played[1])
    place = np.zeros(games.models, dtype=np.int64)
    place[held] = np.arange(held.size)
    return Games(place[one], place[two], games.result, held.size), held  # what has no result counts nowhere


def spread_out(array: FloatArray, held: IntArray, models: int) -> FloatArray:
    """Return numbers of the models that played as numbers of all, NaN for the others, along every axis."""
    answer = np.full((models,) * array.ndim, np.nan)
    answer[np.ix_(*(held,) * array.ndim)] = array
    return answer


def _among_all(found: BradleyTerry, held: IntArray, models: int) -> BradleyTerry:
    """Return what was found of the models that played, with the reason for those that did not."""
    place = {int(model): at for at, model in enumerate(held)}
    none = undefined(NO_GAME)
    return replace(
        found,
        strengths=tuple(found.strengths[place[model]] if model in place else none for model in range(models)),
        ranks=tuple(found.ranks[place[model]] if model in place else None for model in range(models)),
        win_probability=spread_out(found.win_probability, held, models),
        covariance=spread_out(found.covariance, held, models),
        components=tuple(tuple(int(held[at]) for at in group) for group in found.components),
    )


def find_components(wins: FloatArray) -> tuple[tuple[int, ...], ...]:
    """Return the strongly connected groups of the graph of who has beaten whom (a tie is half a win each way)."""
    reach = _reach(wins)
    together = reach & reach.T
    first = together.argmax(axis=1)  # the first model of each one's group
    return tuple(tuple(int(model) for model in np.flatnonzero(first == one)) for one in np.unique(first))


def _reach(wins: FloatArray) -> BoolArray:
    """Return, for each matrix of a stack, who is reachable from whom along wins; everyone from themselves."""
    models = wins.shape[-1]
    reach = ((wins > 0) | np.eye(models, dtype=bool)).astype(np.float64)
    for _ in range(max(1, int(np.ceil(np.log2(max(models, 2)))))):
        reach = (reach @ reach > 0).astype(np.float64)
    return np.asarray(reach > 0)


def _connected(wins: FloatArray) -> BoolArray:
    """Return for each matrix of a stack whether everyone is reachable from everyone."""
    return np.asarray(_reach(wins).all(axis=(-2, -1)))


def fit_strengths(wins: FloatArray, pseudo_game: float = 0.0) -> FloatArray:
    """Return strengths (…, M) from win matrices (…, M, M), by Newton's method; NaN where there is no maximum.

    A pseudo-game adds to every model that many games, half won, against a player of strength 0.
    """
    stack = wins.reshape(-1, *wins.shape[-2:])
    models = stack.shape[-1]
    good = np.ones(stack.shape[0], dtype=bool) if pseudo_game > 0 else _connected(stack)
    answer = np.full(stack.shape[:2], np.nan)
    if good.any():
        answer[good] = _newton(stack[good], pseudo_game)
    return answer.reshape(*wins.shape[:-2], models)


def _newton(wins: FloatArray, pseudo_game: float) -> FloatArray:
    models = wins.shape[-1]
    played = wins + wins.swapaxes(-1, -2)
    # Strengths are known up to a constant: the added ones pin their sum without moving the fit.
    pin = 0.0 if pseudo_game > 0 else 1.0
    theta = np.zeros(wins.shape[:2])
    for _ in range(STEPS):
        chance = expit(theta[:, :, None] - theta[:, None, :])
        slope = (wins - played * chance).sum(axis=-1) + pseudo_game * (0.5 - expit(theta))
        step = np.linalg.solve(_information(theta, played, pseudo_game) + pin, slope[..., None])[..., 0]
        # Newton may leap from a flat place; a leap of more than 2 is cut, which keeps it going up.
        theta = theta + step / np.maximum(1.0, np.abs(step).max(axis=-1, keepdims=True) / 2.0)
        if np.abs(step).max() < 1e-11:
            break
    return np.asarray(theta - theta.sum(axis=-1, keepdims=True) / models)


def _information(theta: FloatArray, played: FloatArray, pseudo_game: float) -> FloatArray:
    chance = expit(theta[..., :, None] - theta[..., None, :])
    weight = played * chance * (1.0 - chance)
    own = expit(theta)
    diagonal = weight.sum(axis=-1) + pseudo_game * own * (1.0 - own)
    return np.asarray(diagonal[..., None] * np.eye(theta.shape[-1]) - weight)


def _number_games(games: Games) -> tuple[FloatArray, IntArray]:
    """Return the kinds of games as win matrices (U, M, M), and each game's kind; without a result it is -1."""
    one, two = np.asarray(games.first, dtype=np.int64), np.asarray(games.second, dtype=np.int64)
    result = np.asarray(games.result, dtype=np.float64)
    seen, models = np.isfinite(result) & (one != two), games.models
    kind = np.full(result.size, -1, dtype=np.int64)
    results, which = code_values(result[seen])
    many = max(results.size, 1)
    number = (one[seen] * models + two[seen]) * many + which
    kinds, kind[seen] = code_numbers(number)
    pair, which = np.divmod(kinds, many)
    rows = np.zeros((kinds.size, models, models))
    rows[np.arange(kinds.size), pair // models, pair % models] = results[which]
    rows[np.arange(kinds.size), pair % models, pair // models] += 1.0 - results[which]
    return rows, kind


def _count_wins(games: Games, clusters: ArrayLike | None) -> Units:
    """Return the units whose sums are win matrices: games of one kind, or clusters."""
    rows, kind = _number_games(games)
    seen, shape = kind >= 0, (games.models, games.models)
    n = int(seen.sum())
    if clusters is None:
        times = np.bincount(kind[seen], minlength=rows.shape[0])
        return Units(rows.reshape(rows.shape[0], games.models**2), times, shape, n)
    owner, many = number_clusters(np.asarray(clusters)[seen])
    return units_of_rows(_sum_wins(rows, kind[seen], owner, many), n, clustered=True)


def _sum_wins(rows: FloatArray, kind: IntArray, owner: IntArray, many: int) -> FloatArray:
    """Return the win matrix of each of so many clusters (G, M, M) from its games' kinds."""
    held, times = np.unique(owner * max(rows.shape[0], 1) + kind, return_counts=True)
    cluster, which = np.divmod(held, max(rows.shape[0], 1))
    sums = np.zeros((many, *rows.shape[1:]))
    np.add.at(sums, cluster, rows[which] * times[:, None, None])
    return sums


def rank_models(
    games: Games, pseudo_game: float = 0.0, sampling: Sampling | None = None, clusters: ArrayLike | None = None
) -> BradleyTerry:
    """Return strengths and rank intervals; prompts (clusters), not verdicts, are what is resampled."""
    own, held = keep_players(games)
    if 0 < own.models < games.models:
        return _among_all(rank_models(own, pseudo_game, sampling, clusters), held, games.models)
    units, drawn = _count_wins(games, clusters), sampling or Sampling(resamples=1000)
    wins = units.total
    components = find_components(wins)
    models = games.models
    if len(components) > 1 and pseudo_game <= 0:
        why = f"no maximum: the models fall into {len(components)} groups not joined by wins in both directions"
        none = Estimate(None, n=units.n, clusters=units.clusters, why=why)
        empty = np.full((models, models), np.nan)
        return BradleyTerry((none,) * models, (None,) * models, empty, empty, components, pseudo_game, drawn, why)
    theta = fit_strengths(wins, pseudo_game)
    few = units.clusters is not None and units.clusters < FEW_CLUSTERS
    found = _leave_out(units, pseudo_game) if few else _replicate(units, pseudo_game, drawn)
    describe = _describe_few if few else _describe
    strengths = tuple(describe(float(theta[model]), found[:, model], units, drawn) for model in range(models))
    ranks = (None,) * models if few else _rank_intervals(found, tails_of(drawn.level, units.clusters))
    why_no_ranks = NO_RANKS if few else None
    covariance = np.asarray(np.linalg.pinv(_information(theta, wins + wins.T, pseudo_game), hermitian=True), np.float64)
    chance = expit(theta[:, None] - theta[None, :])
    return BradleyTerry(strengths, ranks, chance, covariance, components, pseudo_game, drawn, why_no_ranks=why_no_ranks)


def _replicate(units: Units, pseudo_game: float, sampling: Sampling) -> FloatArray:
    """Return resampled strengths (B, M); the models are fitted together, so they come from one pass."""
    parts: list[FloatArray] = []

    def keep(wins: FloatArray) -> FloatArray:
        parts.append(fit_strengths(wins, pseudo_game))
        return parts[-1][..., 0]

    resample(units, {"it": Statistic(keep)}, sampling)
    return np.concatenate(parts)


def _leave_out(units: Units, pseudo_game: float) -> FloatArray:
    """Return the strengths (U, M) without each distinct cluster."""
    return np.concatenate([fit_strengths(wins, pseudo_game) for wins in leave_each_out(units)])


def _describe(value: float, replicates: FloatArray, units: Units, sampling: Sampling) -> Estimate:
    return _counted(interval_from_replicates(value, replicates, None, sampling.level, units.clusters), units)


def _describe_few(value: float, left_out: FloatArray, units: Units, sampling: Sampling) -> Estimate:
    return _counted(interval_from_jackknife(value, left_out, units.counts, sampling.level), units)


def _counted(made: Estimate, units: Units) -> Estimate:
    warnings = list_warnings(units.n, units.clusters) + made.warnings
    return replace(made, n=units.n, clusters=units.clusters, warnings=warnings)


def _rank_intervals(replicates: FloatArray, tails: FloatArray) -> tuple[tuple[int, int] | None, ...]:
    """Return each model's interval of ranks (1 is best), from the resamples that have a maximum."""
    known = replicates[np.isfinite(replicates).all(axis=1)]
    if known.shape[0] < DEFINED_RESAMPLES * replicates.shape[0]:
        return (None,) * int(replicates.shape[1])
    ranks = 1 + (known[:, None, :] > known[:, :, None] + 1e-9).sum(axis=-1)
    low: FloatArray = np.quantile(ranks, tails[0], axis=0, method="lower")
    high: FloatArray = np.quantile(ranks, tails[1], axis=0, method="higher")
    return tuple((int(low[model]), int(high[model])) for model in range(ranks.shape[1]))


def _rank(strengths: FloatArray) -> FloatArray:
    """Return average ranks along the last axis; equal is equal up to the solver's last digits."""
    ahead = strengths[..., :, None] - strengths[..., None, :]
    same: BoolArray = np.abs(ahead) <= 1e-9
    ranks = ((ahead > 0) & ~same).sum(axis=-1) + same.sum(axis=-1) / 2.0
    return np.where(np.isfinite(strengths), ranks, np.nan)


def _correlate_stack(sides: FloatArray) -> FloatArray:
    """Return Pearson's r of the two lists of each pair (…, 2, M); NaN for a constant list or fewer than three."""
    centred = sides - sides.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=-1).prod(axis=-1))
    shared = (centred[..., 0, :] * centred[..., 1, :]).sum(axis=-1)
    flat = ~(spread > 1e-12) | (sides.shape[-1] < 3)
    return np.where(flat, np.nan, shared / np.where(flat, 1.0, spread))


def _count_wins_together(games: tuple[Games, Games], clusters: tuple[ArrayLike, ArrayLike]) -> Units:
    """Return the prompts as units whose sums are two raters' win matrices."""
    models = games[0].models
    owner, many = number_clusters(np.concatenate([np.asarray(side) for side in clusters]))
    halves = np.split(owner, [np.asarray(clusters[0]).size])
    sides = [_number_games(one) for one in games]
    if all(np.bincount(own).max(initial=0) <= 1 for own in halves):
        # One game a prompt and rater: two games of few kinds make few kinds of prompts, whatever their number.
        wins = [np.concatenate([rows, np.zeros((1, models, models))]) for rows, _ in sides]
        place = np.full((2, many), -1)  # who has no game there has a matrix of zeros, which is the last one
        for which, (own, (_, kind)) in enumerate(zip(halves, sides, strict=True)):
            place[which, own] = kind
        held, times = np.unique((place[0] + 1) * wins[1].shape[0] + place[1] + 1, return_counts=True)
        one, two = np.divmod(held, wins[1].shape[0])
        together = np.stack([wins[0][one - 1], wins[1][two - 1]], axis=1)
        return Units(together.reshape(held.size, -1), times, together.shape[1:], int(owner.size), many)
    sums = [
        _sum_wins(rows, kind[kind >= 0], own[kind >= 0], many) for own, (rows, kind) in zip(halves, sides, strict=True)
    ]
    return units_of_rows(np.stack(sums, axis=1), int(owner.size), clustered=True)


def correlate_rankings(
    games: tuple[Games, Games],
    coefficients: tuple[Coefficient, ...],
    clusters: tuple[ArrayLike, ArrayLike],
    pseudo_game: float = 0.0,
    sampling: Sampling | None = None,
) -> dict[str, Estimate]:
    """Return how far two raters (humans, judge) order the models alike, prompts resampled for both together.

    `clusters` names the prompt of each game of each rater; a prompt in both is drawn for both. Models that only one
    of the two has games of take part in that one's strengths alone.
    """
    held = [keep_players(side)[1] for side in games]
    both = np.intersect1d(held[0], held[1])
    if both.size < 3:
        return dict.fromkeys(map(str, coefficients), undefined("fewer than three models that both have verdicts on"))
    last: list[tuple[FloatArray, FloatArray]] = []

    def fit(wins: FloatArray) -> FloatArray:
        sides = [
            fit_strengths(wins[..., which, own[:, None], own], pseudo_game)[..., np.isin(own, both)]
            for which, own in enumerate(held)
        ]
        return np.stack(sides, axis=-2)

    def compute(wins: FloatArray, coefficient: Coefficient) -> FloatArray:
        # Every coefficient is asked of the same wins one after the other: the models are fitted once.
        if not last or last[0][0] is not wins:
            last[:] = [(wins, fit(wins))]
        strengths = last[0][1]
        if coefficient == "pearson":
            return _correlate_stack(strengths)
        ranks = _rank(strengths)
        if coefficient == "spearman":
            return _correlate_stack(ranks)
        return correlate_lists(ranks[..., 0, :], ranks[..., 1, :], coefficient)

    why = "strengths that have no maximum, or that do not differ"
    statistics: dict[str, Statistic] = {
        name: Statistic(partial(compute, coefficient=name), "percentile", why, (-1.0, 1.0), smooth=False)
        for name in coefficients
    }
    return estimate_all(_count_wins_together(games, clusters), statistics, sampling or Sampling(resamples=1000))


def fit_models(games: Games, why: str) -> BradleyTerry:
    """Return strengths without intervals, and why there are none; for more models than can be resampled."""
    own, held = keep_players(games)
    if 0 < own.models < games.models:
        return _among_all(fit_models(own, why), held, games.models)
    one, two = np.asarray(games.first, dtype=np.int64), np.asarray(games.second, dtype=np.int64)
    result = np.asarray(games.result, dtype=np.float64)
    seen = np.isfinite(result) & (one != two)
    models = games.models
    wins = np.zeros((models, models))
    np.add.at(wins, (one[seen], two[seen]), result[seen])
    np.add.at(wins, (two[seen], one[seen]), 1.0 - result[seen])
    components, theta = find_components(wins), fit_strengths(wins)
    chance = expit(theta[:, None] - theta[None, :])
    unranked = (None,) * models
    if len(components) > 1:
        groups = f"the models fall into {len(components)} groups not joined by wins in both directions"
        none = Estimate(None, n=int(seen.sum()), why=f"no maximum: {groups}")
        return BradleyTerry((none,) * models, unranked, chance, chance, components, 0.0, Sampling(0), none.why)
    strengths = tuple(Estimate(float(value), n=int(seen.sum()), why=why) for value in theta)
    covariance = np.asarray(np.linalg.pinv(_information(theta, wins + wins.T, 0.0), hermitian=True), np.float64)
    return BradleyTerry(strengths, unranked, chance, covariance, components, 0.0, Sampling(0))
