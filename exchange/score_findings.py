"""Scores against people's: the reference is the mean of an item's people, whether or not a label has a majority."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

import numpy as np

from agreement.attenuation import correct_attenuation
from agreement.categories import FloatArray
from agreement.pooling import correlate_systems, correlate_within_prompts
from agreement.ranking_accuracy import measure_ranking_accuracy
from agreement.scores import Coefficient, compare_scores
from exchange.findings import estimates
from exchange.panel import Panel

MAIN: Coefficient = "spearman"


def outcomes(panel: Panel) -> FloatArray:
    """Return what each label is worth: A's share of a win, or the score."""
    values = panel.categories.array
    return values if panel.kind == "direct" else (1.0 + np.sign(values)) / 2.0


def people_and_judge(panel: Panel, judge: int) -> tuple[FloatArray, FloatArray]:
    """Return what an item's people say on average and what the judge says; NaN is missing."""
    worth, codes = outcomes(panel), panel.codes[:, judge]
    people = panel.people_mean(worth, panel.codes[:, list(panel.humans)])
    return people, np.where(codes >= 0, worth[codes], np.nan)


def compare_judge_scores(panel: Panel, judge: int) -> dict[str, Any]:
    """Return every statistic of a judge's scores against the mean of people's, each with its own number of items."""
    human, model = people_and_judge(panel, judge)
    found = compare_scores(human, model, panel.sampling, panel.cluster)
    people = panel.codes[:, list(panel.humans)]
    return {
        **estimates(found),
        "scores_against": "the mean of an item's people",
        "attenuation": asdict(correct_attenuation(found["pearson"].value, people, panel.categories)),
        "ranking_accuracy": describe_ranking(panel, human, model),
        "pooled": describe_pooling(panel, human, model),
    }


def describe_ranking(panel: Panel, human: FloatArray, model: FloatArray) -> dict[str, Any]:
    """Return whether the judge orders the answers to a question as people do (acc_eq), ties calibrated."""
    found = measure_ranking_accuracy(human, model, panel.ratings.facts.question.codes, panel.sampling)
    return {**found.accuracy.as_dict(), "threshold": found.threshold, "pairs": found.pairs}


def describe_pooling(panel: Panel, human: FloatArray, model: FloatArray) -> dict[str, Any]:
    """Return the correlations within prompts and between models: other questions than over items."""
    found = {name: _pool(panel, human, model, name) for name in get_args(Coefficient)}
    return {**found[MAIN], "coefficient": MAIN, **found}


def _pool(panel: Panel, human: FloatArray, model: FloatArray, coefficient: Coefficient) -> dict[str, Any]:
    facts = panel.ratings.facts
    within = correlate_within_prompts(human, model, facts.question.codes, coefficient, panel.sampling)
    named = facts.model_a.codes >= 0
    sides = np.where(named, human, np.nan), np.where(named, model, np.nan)
    systems = correlate_systems(sides, facts.model_a.codes, coefficient, panel.sampling, panel.cluster)
    return {
        "within_prompts": {**within.estimate.as_dict(), "prompts": within.prompts, "left_out": within.left_out},
        "between_models": systems.as_dict(),
    }
