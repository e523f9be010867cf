"""What the verdicts say of the models: rewards, win rates and strengths, by people and by each judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from agreement.bradley_terry import BradleyTerry, Games, correlate_rankings, fit_models, keep_players, rank_models
from agreement.categories import BoolArray, FloatArray, IntArray
from agreement.combine import Levels, collapse_codes
from agreement.davidson import fit_davidson
from agreement.estimate import Estimate, undefined
from agreement.intervals import Sampling
from agreement.length import length_controlled_win_rate
from agreement.prediction_powered import Sample
from agreement.scores import RANKED
from agreement.wildbench import (
    GROUP_WEIGHTS,
    LENGTH_RULES,
    average_baselines,
    average_groups,
    estimate_mean,
    find_tasks,
    wb_score,
)
from exchange.findings import estimates, number, numbers
from exchange.judge_findings import NO_PAIR, correct
from exchange.model_terms import describe_terms
from exchange.panel import Panel

MOST_NUMBERS = 20_000_000
MOST_RANKED = 60  # models that are ranked with intervals; more would take minutes
UNSURE = f"strengths of more than {MOST_RANKED} models are fitted without intervals, which would take too long"
RANK_RESAMPLES = 1000
MOST_BASELINES = 20
SHARE = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Voice:
    """Who speaks of the models, on every item; NaN is missing.

    `results` are 1 where A's side is preferred, -1 where B's is, and of several people their mean; `decided` are those
    of their consensus. `rewards` (or scores) come from the labels under a length rule, which is for judges and leaves
    people's as they are; of a judge's two orders under the rule `mean` they come from both.
    """

    raters: tuple[int, ...]
    results: FloatArray
    decided: FloatArray
    rewards: Callable[[float | None], FloatArray]
    ruled: bool = True


def describe_models(panel: Panel) -> dict[str, Any]:
    """Return `models` and `ranking`: by the people together, or by the first judge where there are no people."""
    names = _model_names(panel)
    voices = _voices(panel)
    if not names or not voices:
        return {"models": [], "ranking": None}
    sides = _sides(panel, names)
    rankings = {source: _rank(panel, sides, voice.results, len(names)) for source, voice in voices.items()}
    main = next(iter(voices))
    models = []
    for place, name in enumerate(names):
        part = _part(panel, place, sides)
        by = {
            source: _describe(panel, part, voice, names, rankings[source]) | _corrected(panel, part, voices, source)
            for source, voice in voices.items()
        }
        models.append({"name": name, "source": main, **by[main], "by": by})
    told = {source: _ranking_json(found, names) for source, found in rankings.items()}
    if panel.kind == "pairwise":
        for source, voice in voices.items():
            told[source]["terms"] = describe_terms(panel, sides, len(names), voice.raters)
    return {"models": models, "ranking": {"source": main, **told[main], "by": told, **_alike(panel, sides, voices)}}


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


def _voices(panel: Panel) -> dict[str, Voice]:
    """Return who speaks of the models: the people together, then each judge."""
    found: dict[str, Voice] = {}
    if panel.humans:
        found["humans"] = _people(panel)
    for judge in panel.judges:
        name = panel.ratings.raters[judge].name
        found[f"{name} (judge)" if name == "humans" else name] = _judge(panel, judge)  # that is what people are called
    return found


def _people(panel: Panel) -> Voice:
    """Return what an item's people say on average: every labelled item counts, whether or not they agree."""
    codes, values = panel.declared[:, list(panel.humans)], panel.full.array
    agreed = panel.consensus_on("full")[0]
    decided = np.where(agreed >= 0, np.sign(values[agreed]), np.nan)
    means = panel.people_mean(values, codes)
    return Voice(panel.humans, panel.people_mean(np.sign(values), codes), decided, lambda _: means, ruled=False)


def _judge(panel: Panel, judge: int) -> Voice:
    rule, values = panel.options.combine, panel.full.array
    both = panel.combined[judge].rule == "mean"

    def worth(codes: IntArray) -> FloatArray:
        return np.where(codes >= 0, values[codes], np.nan)

    @cache
    def rewards(length_k: float | None) -> FloatArray:
        if both:
            first, second, _ = panel.sides(judge, length_k)
            return np.asarray((worth(first) + worth(second)) / 2.0)
        return worth(panel.combine(judge, rule, length_k).codes)

    # Who wins is told by sides: on coarser levels two strengths of one side agree, and a tie is half a win.
    levels: Levels = "full" if panel.options.levels == "full" else "3"
    codes = panel.combine(judge, rule, panel.options.length_k, levels).codes
    signs = collapse_codes(np.zeros(0, dtype=np.int64), panel.full, levels)[1].signs()
    results = np.where(codes >= 0, signs[codes], np.nan)
    return Voice((judge,), results, results, rewards)


@dataclass(frozen=True, eq=False)
class Part:
    """One model's part in a study: the items it took part in, whether it wrote A there, the other model and the prompt.

    A study of many models has few items of each, so everything about a model is told from those alone.
    """

    place: int
    items: IntArray
    first: BoolArray
    opponent: IntArray
    prompts: IntArray | None

    def own(self, panel: Panel, values: FloatArray) -> FloatArray:
        """Return values of response A as the model's own on its items; NaN where nothing was said."""
        here = values[self.items]
        return here if panel.kind == "direct" else np.where(self.first, here, -here)


def _part(panel: Panel, place: int, sides: tuple[IntArray, IntArray]) -> Part:
    """Return the items in which a model stands on exactly one side; of single responses, those it wrote."""
    wrote, other = (side == place for side in sides)
    items = np.flatnonzero(wrote if panel.kind == "direct" else wrote != other)
    first, (one, two) = wrote[items], (side[items] for side in sides)
    prompts = None if panel.prompts is None else panel.prompts[items]
    return Part(place, items, first, np.where(first, two, one), prompts)


def _describe(panel: Panel, part: Part, voice: Voice, names: list[str], ranking: BradleyTerry | str) -> dict[str, Any]:
    values = part.own(panel, voice.rewards(panel.options.length_k))
    mean = estimate_mean(values, panel.sampling, part.prompts).within(panel.reach)
    tasks = _by_task(panel, part, values)
    if panel.kind == "direct":
        none = undefined(NO_PAIR).as_dict()
        named = dict.fromkeys(("wb_reward", "win_rate", "bradley_terry"), none)
        return {
            "n": mean.n,
            **named,
            "mean_score": mean.as_dict(),
            "wb_score": _wb_score(panel, part, values),
            "tasks": tasks,
        }
    wins = (1.0 + part.own(panel, voice.results)) / 2.0
    every = float(np.nansum(values)) / part.items.size if mean.n else None
    delta = part.own(panel, panel.length_ratio)
    return {
        "n": mean.n,
        "wb_reward": {**mean.as_dict(), "over_all_items": every, **_without_empty(panel, part, values)},
        "win_rate": estimate_mean(wins, panel.sampling, part.prompts).within(SHARE).as_dict(),
        "length_controlled_win_rate": length_controlled_win_rate(wins, delta, part.prompts).as_dict(),
        "bradley_terry": _strength(ranking, part.place),
        "tasks": tasks,
        "length_curve": _length_curve(panel, part, voice),
        "baselines": _baselines(panel, part, values, names),
    }


def _wb_score(panel: Panel, part: Part, values: FloatArray) -> dict[str, Any]:
    ends = panel.full.array.min(), panel.full.array.max()
    made = (
        wb_score(values, panel.sampling, part.prompts)
        if ends == (1, 10)
        else undefined("WB-Score is of scores from 1 to 10")
    )
    return made.as_dict()


def _by_task(panel: Panel, part: Part, values: FloatArray) -> dict[str, Any]:
    """Return WildBench's task groups and their weighted macro average; an item counts once in each of its groups."""
    tags = panel.ratings.facts.tags
    known = find_tasks(tags.names)
    if not known.any():
        why = "no item has one of WildBench's task tags"
        return {"groups": {}, "macro": undefined(why).as_dict(), "left_out": int(np.isfinite(values).sum())}
    member = np.vstack([known, np.zeros_like(known[:1])])[tags.codes[part.items]]
    weights = np.array(list(GROUP_WEIGHTS.values()))
    found = average_groups(values, member, weights, panel.sampling, part.prompts)
    outside = np.isfinite(values) & ~member.any(axis=1)

    def told(made: Estimate) -> dict[str, Any]:
        return made.within(panel.reach).as_dict()

    return {
        "groups": {name: told(made) for name, made in zip(GROUP_WEIGHTS, found.groups, strict=True)},
        "macro": told(found.average),
        "left_out": int(outside.sum()),
    }


def _length_curve(panel: Panel, part: Part, voice: Voice) -> list[dict[str, Any]]:
    """Return WB-Reward under every usual length rule, on scales that know a slight preference and a tie."""
    if not voice.ruled or panel.full.tie is None or len(panel.full) <= 3:
        return []
    curve = []
    for limit in LENGTH_RULES:
        values = part.own(panel, voice.rewards(limit))
        made = estimate_mean(values, panel.sampling, part.prompts).within(panel.reach).as_dict()
        curve.append({"length_k": limit if np.isfinite(limit) else None, **made})
    return curve


def _baselines(panel: Panel, part: Part, values: FloatArray, names: list[str]) -> dict[str, Any]:
    """Return WB-Reward against each model it met, and their mean, which WildBench calls mix."""
    met = part.opponent
    if np.count_nonzero(np.bincount(met[met >= 0])) > MOST_BASELINES:
        why = f"more than {MOST_BASELINES} models were met"
        return {"against": {}, "mix": undefined(why).as_dict()}
    against, mix = average_baselines(values, met, panel.sampling, part.prompts)
    bounded = {names[at]: made.within(panel.reach).as_dict() for at, made in against.items()}
    return {"against": bounded, "mix": mix.within(panel.reach).as_dict()}


def _without_empty(panel: Panel, part: Part, values: FloatArray) -> dict[str, Any]:
    """Return how many of its items have an empty response, and the reward without those; nothing where none has."""
    empty = (panel.lengths[0][part.items] == 0) | (panel.lengths[1][part.items] == 0)
    if not empty.any():
        return {"empty_responses": 0}
    rest = estimate_mean(np.where(empty, np.nan, values), panel.sampling, part.prompts).within(panel.reach)
    return {"empty_responses": int(empty.sum()), "without_empty": rest.as_dict()}


def _strength(ranking: BradleyTerry | str, place: int) -> dict[str, Any]:
    if isinstance(ranking, str):
        return undefined(ranking).as_dict()
    rank, strength = ranking.ranks[place], ranking.strengths[place]
    value = {**strength.as_dict(), "rank": None if rank is None else list(rank), "elo": ranking.elo()[place].as_dict()}
    return value if rank is not None else value | {"rank_why": strength.why or ranking.why_no_ranks}


def _games(sides: tuple[IntArray, IntArray], results: FloatArray, models: int) -> tuple[Games, IntArray]:
    values = (1.0 + results) / 2.0
    kept = np.flatnonzero((sides[0] >= 0) & (sides[1] >= 0) & (sides[0] != sides[1]) & np.isfinite(values))
    return Games(sides[0][kept], sides[1][kept], values[kept], models), kept


def _rank(panel: Panel, sides: tuple[IntArray, IntArray], results: FloatArray, models: int) -> BradleyTerry | str:
    """Return the models' strengths, or why there can be none."""
    if panel.kind == "direct":
        return NO_PAIR
    if models < 2:
        return "only one model is named"
    games, kept = _games(sides, results, models)
    if kept.size == 0:
        return "no two models met on an item with a verdict"
    if keep_players(games)[0].models > MOST_RANKED:
        return fit_models(games, UNSURE)
    sampling = Sampling(min(panel.options.resamples, RANK_RESAMPLES), panel.options.seed)
    cluster = None if panel.prompts is None else panel.prompts[kept]
    return rank_models(games, 0.0, sampling, cluster)


def _ranking_json(found: BradleyTerry | str, names: list[str]) -> dict[str, Any]:
    ties = {"ties": "half a win each"}
    if isinstance(found, str):
        nothing: dict[str, Any] = {"win_probability": [], "components": [], "without_games": []}
        return {**nothing, **ties, "why": found, "without_intervals": None}
    played = {model for group in found.components for model in group}
    return {
        "win_probability": numbers(found.win_probability),
        "components": [[names[model] for model in group] for group in found.components],
        "without_games": [name for model, name in enumerate(names) if model not in played],
        **ties,
        "why": found.why,
        "without_intervals": UNSURE if len(played) > MOST_RANKED and not found.why else None,
    }


def _corrected(panel: Panel, part: Part, voices: dict[str, Voice], source: str) -> dict[str, Any]:
    """Return a judge's win rate and WB-Reward of a model (or its mean score), corrected by the people's verdicts."""
    if source == "humans" or "humans" not in voices:
        return {}
    both = voices["humans"], voices[source]
    people, model = (part.own(panel, voice.rewards(panel.options.length_k)) for voice in both)
    chance = None if panel.chance is None else panel.chance[part.items]
    worth = correct(panel, Sample(people, model, chance, part.prompts), panel.reach)
    if panel.kind == "direct":
        return {"corrected_win_rate": worth}
    wins = [(1.0 + part.own(panel, voice.results)) / 2.0 for voice in both]
    return {
        "corrected_win_rate": correct(panel, Sample(wins[0], wins[1], chance, part.prompts), SHARE),
        "corrected_wb_reward": worth,
    }


def _alike(panel: Panel, sides: tuple[IntArray, IntArray], voices: dict[str, Voice]) -> dict[str, Any]:
    """Return how far each judge ranks the models as people do, and the strengths when ties are a third outcome."""
    models = len(_model_names(panel))
    if panel.kind == "direct":
        return {"agreement": {}, "davidson": None}
    main = next(iter(voices.values()))
    fitted = fit_davidson(_games(sides, main.decided, models)[0])
    davidson = {"strengths": [number(one) for one in fitted.strengths], "nu": number(fitted.nu), "why": fitted.why}
    agreement: dict[str, Any] = {}
    if "humans" in voices:
        people = _games(sides, main.results, models)
        for name, voice in list(voices.items())[1:]:
            alike = estimates(_rank_alike(panel, people, _games(sides, voice.results, models)))
            agreement[name] = {**alike["spearman"], "kendall": alike["kendall"]}
    return {"agreement": agreement, "davidson": davidson}


def _rank_alike(panel: Panel, people: tuple[Games, IntArray], judge: tuple[Games, IntArray]) -> dict[str, Estimate]:
    """Return Spearman's and Kendall's correlation of the models' strengths by people and by a judge."""
    models, why = people[0].models, None
    if models < 3:
        why = "fewer than three models"
    elif models > MOST_RANKED or 2 * panel.size * models**2 > MOST_NUMBERS:
        why = "too many models and items for an interval here"
    elif not people[1].size or not judge[1].size:
        why = "no two models that met have verdicts of both"
    if why:
        return dict.fromkeys(map(str, RANKED), undefined(why))
    owner = np.arange(panel.size) if panel.prompts is None else panel.prompts
    sampling = Sampling(min(panel.options.resamples, RANK_RESAMPLES), panel.options.seed)
    clusters = owner[people[1]], owner[judge[1]]
    return correlate_rankings((people[0], judge[0]), RANKED, clusters, 0.0, sampling)
