"""What the verdicts say of the models: rewards, win rates and strengths, by people and by each judge."""

from __future__ import annotations

from typing import Any

import numpy as np

from agreement.bradley_terry import BradleyTerry, Games, correlate_rankings, rank_models
from agreement.categories import FloatArray, IntArray
from agreement.davidson import fit_davidson
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling
from agreement.length import length_controlled_win_rate, log_ratio
from agreement.wildbench import estimate_mean, reward_values
from exchange.findings import number, numbers
from exchange.judge_findings import correct
from exchange.panel import Panel

MOST_NUMBERS = 20_000_000
MOST_RANKED = 60  # models that are ranked with intervals; more would take minutes
RANK_RESAMPLES = 1000


def describe_models(panel: Panel) -> dict[str, Any]:
    """Return `models` and `ranking`: by the people's consensus, or by the first judge where there are no people."""
    names = _model_names(panel)
    sources = _sources(panel)
    if not names or not sources:
        return {"models": [], "ranking": None}
    sides = _sides(panel, names)
    rankings = {source: _rank(panel, sides, codes, len(names)) for source, codes in sources.items()}
    main = next(iter(sources))
    models = [
        {
            "name": name,
            "source": main,
            **_describe(panel, sides, sources[main], place, rankings[main]),
            "by": {
                source: _describe(panel, sides, codes, place, rankings[source])
                | _corrected(panel, sides, sources, source, place)
                for source, codes in sources.items()
            },
        }
        for place, name in enumerate(names)
    ]
    told = {source: _ranking_json(found, names) for source, found in rankings.items()}
    return {"models": models, "ranking": {"source": main, **told[main], "by": told, **_alike(panel, sides, sources)}}


def _model_names(panel: Panel) -> list[str]:
    facts = panel.ratings.facts
    return sorted(set(facts.model_a.names) | set(facts.model_b.names))


def _sides(panel: Panel, names: list[str]) -> tuple[IntArray, IntArray]:
    """Return for each item which model wrote A and which wrote B, -1 where nobody said."""
    place = {name: at for at, name in enumerate(names)}
    facts = panel.ratings.facts
    sides = []
    for column in (facts.model_a, facts.model_b):
        onto = np.array([*(place[name] for name in column.names), -1], dtype=np.int64)
        sides.append(onto[column.codes])
    return sides[0], sides[1]


def _sources(panel: Panel) -> dict[str, IntArray]:
    """Return who speaks of the models, on the declared scale: the people together, then each judge."""
    found: dict[str, IntArray] = {}
    if panel.humans:
        found["humans"] = panel.agree_on(panel.declared[:, list(panel.humans)], panel.full)[0]
    return found | {panel.ratings.raters[judge].name: panel.declared[:, judge] for judge in panel.judges}


def _own_values(panel: Panel, sides: tuple[IntArray, IntArray], codes: IntArray, place: int) -> FloatArray:
    """Return a model's own reward (or score) on every item; NaN where it took no part or nothing was said."""
    first, second = sides
    if panel.kind == "direct":
        values = np.where(codes >= 0, panel.full.array[codes], np.nan)
        return np.where(first == place, values, np.nan)
    values, _ = reward_values(codes, panel.lengths, panel.full, panel.options.length_k or float("inf"))
    signed = np.where(first == place, values, -values)
    return np.where((first == place) != (second == place), signed, np.nan)


def _describe(
    panel: Panel, sides: tuple[IntArray, IntArray], codes: IntArray, place: int, ranking: BradleyTerry | None
) -> dict[str, Any]:
    values = _own_values(panel, sides, codes, place)
    mean = estimate_mean(values, panel.sampling, panel.cluster)
    if panel.kind == "direct":
        none = undefined("the protocol shows one response at a time").as_dict()
        return {"n": mean.n, "wb_reward": none, "win_rate": none, "bradley_terry": none, "mean_score": mean.as_dict()}
    wins = np.where(np.isfinite(values), (1.0 + np.sign(values)) / 2.0, np.nan)
    took_part = (sides[0] == place) != (sides[1] == place)
    every = float(np.nansum(values)) / int(took_part.sum()) if took_part.any() else None
    delta = log_ratio(*panel.lengths)
    delta = np.where(sides[0] == place, delta, -delta)
    return {
        "n": mean.n,
        "wb_reward": {**mean.as_dict(), "over_all_items": every},
        "win_rate": estimate_mean(wins, panel.sampling, panel.cluster).as_dict(),
        "length_controlled_win_rate": length_controlled_win_rate(wins, delta, panel.cluster).as_dict(),
        "bradley_terry": _strength(ranking, place),
    }


def _strength(ranking: BradleyTerry | None, place: int) -> dict[str, Any]:
    if ranking is None:
        return undefined(f"no two models met with a verdict, or there are more than {MOST_RANKED}").as_dict()
    rank = ranking.ranks[place]
    elo = ranking.elo()[place]
    return {**ranking.strengths[place].as_dict(), "rank": None if rank is None else list(rank), "elo": elo.as_dict()}


def _games(sides: tuple[IntArray, IntArray], codes: IntArray, panel: Panel, models: int) -> tuple[Games, IntArray]:
    values = np.where(codes >= 0, (1.0 + np.sign(panel.full.array[codes])) / 2.0, np.nan)
    kept = np.flatnonzero((sides[0] >= 0) & (sides[1] >= 0) & (sides[0] != sides[1]) & np.isfinite(values))
    return Games(sides[0][kept], sides[1][kept], values[kept], models), kept


def _rank(panel: Panel, sides: tuple[IntArray, IntArray], codes: IntArray, models: int) -> BradleyTerry | None:
    if panel.kind == "direct" or not 2 <= models <= MOST_RANKED:
        return None
    games, kept = _games(sides, codes, panel, models)
    if kept.size == 0:
        return None
    sampling = Sampling(min(panel.options.resamples, RANK_RESAMPLES), panel.options.seed)
    cluster = None if panel.cluster is None else panel.cluster[kept]
    return rank_models(games, 0.0, sampling, cluster)


def _ranking_json(found: BradleyTerry | None, names: list[str]) -> dict[str, Any]:
    if found is None:
        return {
            "win_probability": [],
            "components": [],
            "ties": "half a win each",
            "why": "no two models met with a verdict",
        }
    return {
        "win_probability": numbers(found.win_probability),
        "components": [[names[model] for model in group] for group in found.components],
        "ties": "half a win each",
        "why": found.why,
    }


def _corrected(
    panel: Panel, sides: tuple[IntArray, IntArray], sources: dict[str, IntArray], source: str, place: int
) -> dict[str, Any]:
    """Return a judge's win rate and WB-Reward of a model (or its mean score), corrected by the people's verdicts."""
    if source == "humans" or "humans" not in sources:
        return {}
    people, model = (_own_values(panel, sides, sources[name], place) for name in ("humans", source))
    if panel.kind == "direct":
        return {"corrected_win_rate": correct(panel, people, model)}
    wins = [np.where(np.isfinite(side), (1.0 + np.sign(side)) / 2.0, np.nan) for side in (people, model)]
    return {
        "corrected_win_rate": correct(panel, wins[0], wins[1]),
        "corrected_wb_reward": correct(panel, people, model),
    }


def _alike(panel: Panel, sides: tuple[IntArray, IntArray], sources: dict[str, IntArray]) -> dict[str, Any]:
    """Return how far each judge ranks the models as people do, and the strengths when ties are a third outcome."""
    models = len(_model_names(panel))
    if panel.kind == "direct":
        return {"agreement": {}, "davidson": None}
    main, kept = _games(sides, next(iter(sources.values())), panel, models)
    fitted = fit_davidson(main)
    davidson = {"strengths": [number(one) for one in fitted.strengths], "nu": number(fitted.nu), "why": fitted.why}
    agreement: dict[str, Any] = {}
    if "humans" in sources:
        for name, codes in list(sources.items())[1:]:
            agreement[name] = _rank_alike(panel, (main, kept), _games(sides, codes, panel, models)).as_dict()
    return {"agreement": agreement, "davidson": davidson}


def _rank_alike(panel: Panel, people: tuple[Games, IntArray], judge: tuple[Games, IntArray]) -> Estimate:
    models = people[0].models
    if models < 3:
        return undefined("fewer than three models")
    if models > MOST_RANKED or 2 * panel.size * models**2 > MOST_NUMBERS:
        return undefined("too many models and items for an interval here")
    if not people[1].size or not judge[1].size:
        return undefined("no two models that met have verdicts of both")
    owner = np.arange(panel.size) if panel.cluster is None else panel.cluster
    sampling = Sampling(min(panel.options.resamples, RANK_RESAMPLES), panel.options.seed)
    clusters = owner[people[1]], owner[judge[1]]
    return correlate_rankings((people[0], judge[0]), "spearman", clusters, 0.0, sampling)
