"""Studies whose truth is what a vast one says, for intervals that no formula tells the truth of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from agreement.bradley_terry import Games, rank_models
from agreement.categories import Categories
from agreement.ceiling import compare_with_ceiling, score_ceiling
from agreement.estimate import Estimate
from agreement.intervals import Sampling
from agreement.intraclass import intraclass_correlation
from agreement.length import (
    length_controlled_win_rate,
    measure_length_preference,
    measure_longer_preferred,
    partial_spearman,
)
from agreement.pooling import correlate_systems
from agreement.position import measure_first_position, measure_swaps
from agreement.prediction_powered import correct_share
from agreement.scores import compare_scores
from agreement.wildbench import estimate_mean

PREFERENCE = Categories((-1.0, -0.5, 0.0, 0.5, 1.0), 2)
CUTS = (-1.2, -0.4, 0.4, 1.2)
STRENGTHS = np.array([-0.8, -0.2, 0.3, 0.7])
VAST = 400_000
Study = Callable[[np.random.Generator, int], Any]
Described = dict[str, Estimate]


def cover(make: Study, describe: Callable[[Any, Sampling], Described], trials: int, resamples: int) -> dict[str, float]:
    """Return how often each interval holds what a vast study says, over studies of 300 items."""
    truth = {name: made.value for name, made in describe(make(np.random.default_rng(99), VAST), Sampling(2)).items()}
    rng = np.random.default_rng(0)
    held, made_of = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for trial in range(trials):
        for name, made in describe(make(rng, 300), Sampling(resamples, trial)).items():
            if made.low is not None:
                made_of[name] += 1
                held[name] += made.low <= truth[name] <= made.high
    return {name: held[name] / made_of[name] for name in truth}


def two_orders(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a judge's labels in both orders, three in ten of them moved to the first position."""
    truth = rng.integers(0, 5, n)

    def said(towards: int) -> np.ndarray:
        moved = truth + rng.integers(-1, 2, n) + towards * (rng.random(n) < 0.3)
        return np.where(rng.random(n) < 0.5, truth, np.clip(moved, 0, 4))

    return said(1), said(-1)


def describe_orders(sides: tuple[np.ndarray, np.ndarray], sampling: Sampling) -> Described:
    """Return swap consistency, fairness and the first-position rate."""
    n = sides[0].size
    swaps = measure_swaps(*sides, PREFERENCE, sampling).estimates
    shown = np.concatenate(sides), np.repeat([True, False], n)
    first = measure_first_position(shown, PREFERENCE, sampling, np.tile(np.arange(n), 2))
    return {"consistency": swaps["consistency"], "fairness": swaps["fairness"], "first": first.rate}


def lengths(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return people's and a judge's labels where the judge likes length more, and the log ratio of lengths."""
    delta, quality = rng.normal(0, 0.6, n), rng.normal(0, 1, n)
    human, judge = (np.digitize(quality + taste * delta + rng.normal(0, 0.7, n), CUTS) for taste in (0.3, 0.8))
    return human, judge, delta


def describe_lengths(study: tuple[np.ndarray, np.ndarray, np.ndarray], sampling: Sampling) -> Described:
    """Return what length does to a judge."""
    human, judge, delta = study
    found = measure_longer_preferred((judge, human), delta, PREFERENCE, sampling)
    won = (1 + np.sign(PREFERENCE.array[judge])) / 2
    return {
        "longer": found.judge,
        "difference": found.difference,
        "slope": measure_length_preference(judge, human, delta, PREFERENCE),
        "controlled": length_controlled_win_rate(won, delta),
    }


def rewards(rng: np.random.Generator, n: int, a_prompt: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rewards, so many to a prompt that they share something with."""
    prompts = n // a_prompt
    shared = np.repeat(rng.normal(0, 0.35, prompts), a_prompt)
    return PREFERENCE.array[np.digitize(shared + rng.normal(0.2, 0.6, n), (-0.9, -0.3, 0.3, 0.9))], np.repeat(
        np.arange(prompts), a_prompt
    )


def describe_rewards(study: tuple[np.ndarray, np.ndarray], sampling: Sampling) -> Described:
    """Return WB-Reward and the win rate."""
    values, prompts = study
    wins = (1 + np.sign(values)) / 2
    return {"reward": estimate_mean(values, sampling, prompts), "wins": estimate_mean(wins, sampling, prompts)}


def scores(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three people's scores, a judge's that like length, and the lengths."""
    quality = rng.normal(0, 1, n)
    people = 3 + quality[:, None] + np.array([0.4, 0.0, -0.3]) + rng.normal(0, 0.8, (n, 3))
    judge = np.clip(np.round(3.4 + 0.8 * quality + rng.normal(0, 0.7, n)), 1, 5)
    return np.clip(np.round(people), 1, 5), judge, np.exp(6 + 0.4 * (judge - 3) + rng.normal(0, 0.5, n))


def describe_scores(study: tuple[np.ndarray, np.ndarray, np.ndarray], sampling: Sampling) -> Described:
    """Return correlations, concordance and the intraclass correlation."""
    people, judge, length = study
    mean = people.mean(axis=1).round(12)
    found = compare_scores(mean, judge, sampling)
    return {
        **{name: found[name] for name in ("pearson", "kendall", "ccc")},
        "icc": intraclass_correlation(people, sampling)["icc_2_1"],
        "left out": score_ceiling(people, judge, sampling).human_judge,
        "partial": partial_spearman(judge, length, mean, sampling),
    }


def labels(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return three people's labels, a fifth missing, and a judge's."""
    skill, truth = np.array([0.7, 0.5, 0.6, 0.65]), rng.integers(0, 5, (n, 1))
    codes = np.where(rng.random((n, 4)) < skill, truth, rng.integers(0, 5, (n, 4)))
    codes[:, :3][rng.random((n, 3)) < 0.2] = -1
    return codes[:, :3], codes[:, 3]


def describe_labels(study: tuple[np.ndarray, np.ndarray], sampling: Sampling) -> Described:
    """Return how far the judge agrees with people, and people with each other."""
    found = compare_with_ceiling(study, PREFERENCE, "kappa_quadratic", sampling)
    return {"judge": found.human_judge, "people": found.human_human}


def games(rng: np.random.Generator, n: int) -> Games:
    """Return games of four models."""
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    won = rng.random(n) < 1 / (1 + np.exp(STRENGTHS[second] - STRENGTHS[first]))
    return Games(first, second, won.astype(float), 4)


def describe_games(study: Games, sampling: Sampling) -> Described:
    """Return the weakest model's strength."""
    return {"strength": rank_models(study, 0.0, sampling).strengths[0]}


def shares(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return people's sides on one item in six, and on all a judge's, which errs."""
    n *= 6
    human = (rng.random(n) < 0.4).astype(np.int64)
    judge = np.where(rng.random(n) < np.where(human == 1, 0.85, 0.8), human, 1 - human)
    return np.where(np.arange(n) % 6 == 0, human, -1), judge


def systems(rng: np.random.Generator, n: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Return people's and a judge's scores of five models on the same prompts, the judge with favourites."""
    prompts = n // 5
    quality = np.repeat(rng.normal(0, 0.6, prompts), 5) + np.tile(np.linspace(-0.8, 0.8, 5), prompts)
    human, judge = (quality + rng.normal(0, 0.7, n) for _ in range(2))
    favour = np.tile([0.0, 0.5, -0.5, 0.3, -0.3], prompts)
    return (human, judge + favour), np.tile(np.arange(5), prompts), np.repeat(np.arange(prompts), 5)


def rows(trials: int, resamples: int) -> Iterator[tuple[str, str, float]]:
    """Yield every interval with how it is made and its coverage."""
    found = cover(two_orders, describe_orders, trials, resamples)
    yield "swap consistency", "BCa", found["consistency"]
    yield "fairness of what moved", "BCa", found["fairness"]
    yield "first-position rate, both orders", "BCa over items", found["first"]
    found = cover(lengths, describe_lengths, trials, resamples)
    yield "longer preferred", "BCa", found["longer"]
    yield "longer preferred, judge minus people", "percentile, joint", found["difference"]
    yield "preference for length at equal human verdict", "cluster-robust, t", found["slope"]
    yield "length-controlled win rate", "cluster-robust, t", found["controlled"]
    for a_prompt, method in ((5, "BCa over clusters"), (25, "jackknife, t")):
        found = cover(partial(rewards, a_prompt=a_prompt), describe_rewards, trials, resamples)
        yield f"WB-Reward, {300 // a_prompt} prompts of {a_prompt}", method, found["reward"]
        yield f"win rate, {300 // a_prompt} prompts of {a_prompt}", method, found["wins"]
    found = cover(labels, describe_labels, trials, resamples)
    yield "judge with people, quadratic kappa", "BCa", found["judge"]
    yield "people with each other, quadratic kappa", "BCa", found["people"]
    found = cover(scores, describe_scores, trials, resamples)
    yield "Pearson's r with the mean of people", "BCa", found["pearson"]
    yield "Kendall's tau-b", "BCa", found["kendall"]
    yield "Lin's concordance", "BCa", found["ccc"]
    yield "ICC(2,1)", "percentile", found["icc"]
    yield "judge with the mean of other people, Pearson's r", "BCa", found["left out"]
    yield "partial Spearman of score and length", "percentile", found["partial"]
    yield "Bradley–Terry strength", "percentile", cover(games, describe_games, trials, resamples)["strength"]
    found = cover(shares, lambda study, _: {"share": correct_share(*study)}, trials, resamples)
    yield "Rogan and Gladen's share, 300 labels of 1,800", "delta", found["share"]
    found = cover(
        systems,
        lambda study, drawn: {"r": correlate_systems(*study[:2], "pearson", drawn, study[2])},
        trials,
        resamples,
    )
    yield "Pearson's r between five models, 60 prompts", "jackknife, t", found["r"]
