"""How often 95 % intervals hold the truth: a few trials in the tests, thousands when this is run by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import simulated_studies

from agreement import many, pairs
from agreement.categories import Categories
from agreement.ceiling import compare_with_ceiling, score_ceiling
from agreement.differences import compare_judges
from agreement.estimate import Estimate
from agreement.intervals import Sampling, Statistic, estimate
from agreement.position import measure_swaps
from agreement.prediction_powered import Sample, correct_mean
from agreement.units import units_of_rows, units_of_table

SCALE = Categories((1.0, 2.0, 3.0, 4.0, 5.0))
PREFERENCE = Categories((-1.0, -0.5, 0.0, 0.5, 1.0), 2)


def coverage(truth: float, draw: Callable[[np.random.Generator, int], Estimate], trials: int, seed: int = 0) -> float:
    """Return the share of defined intervals that hold the truth."""
    rng = np.random.default_rng(seed)
    held, made = 0, 0
    for trial in range(trials):
        found = draw(rng, trial)
        if found.low is not None and found.high is not None:
            made += 1
            held += found.low <= truth <= found.high
    return held / made


def table_of(agree: float, k: int = 5) -> np.ndarray:
    """Return the shares of two raters who share a label with this chance and else label alone."""
    share = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    return agree * np.diag(share) + (1 - agree) * np.outer(share, share)


def cover_kappa(n: int, trials: int, weighting: str = "quadratic", resamples: int = 600) -> float:
    """Return the coverage of kappa's interval."""
    shares, weights = table_of(0.5), SCALE.weights(weighting)
    statistic = Statistic(partial(pairs.cohen_kappa, weights=weights))

    def draw(rng: np.random.Generator, trial: int) -> Estimate:
        table = rng.multinomial(n, shares.reshape(-1)).reshape(shares.shape)
        return estimate(units_of_table(table), statistic, Sampling(resamples, trial))

    return coverage(float(pairs.cohen_kappa(shares, weights)), draw, trials)


def cover_clustered_exact(clusters: int, trials: int, resamples: int = 600) -> float:
    """Return the coverage of the cluster interval for exact agreement, five items a cluster that share their fate."""
    statistic = Statistic(pairs.exact)

    def draw(rng: np.random.Generator, trial: int) -> Estimate:
        hits = rng.binomial(5, rng.beta(3, 2, clusters))
        tables = np.zeros((clusters, 2, 2))
        tables[:, 0, 0], tables[:, 0, 1] = hits, 5 - hits
        return estimate(units_of_rows(tables, 5 * clusters, clustered=True), statistic, Sampling(resamples, trial))

    return coverage(0.6, draw, trials)


def cover_alpha(n: int, trials: int, resamples: int = 600) -> float:
    """Return the coverage of ordinal alpha's interval, three raters, a fifth missing."""

    def codes(rng: np.random.Generator, size: int) -> np.ndarray:
        found = np.where(rng.random((size, 3)) < 0.6, rng.integers(0, 5, (size, 1)), rng.integers(0, 5, (size, 3)))
        found[rng.random(found.shape) < 0.2] = -1
        return many.count_labels(found, 5)

    truth = many.alpha(codes(np.random.default_rng(99), 200_000), "ordinal", SCALE, Sampling(2)).value

    def draw(rng: np.random.Generator, trial: int) -> Estimate:
        return many.alpha(codes(rng, n), "ordinal", SCALE, Sampling(resamples, trial))

    return coverage(float(truth or 0.0), draw, trials)


def cover_corrected(n: int, pool: int, trials: int) -> tuple[float, float]:
    """Return the coverage of the corrected win rate under a biased judge, and of the judge's own."""
    results = []
    for which in ("corrected", "judge_only"):

        def draw(rng: np.random.Generator, _: int, which: str = which) -> Estimate:
            human = (rng.random(n + pool) < 0.5).astype(float)
            judge = np.where(rng.random(n + pool) < 0.75, human, 1.0)
            human[n:] = np.nan
            return getattr(correct_mean(Sample(human, judge)), which)

        results.append(coverage(0.5, draw, trials))
    return results[0], results[1]


def cover_weighted(items: int, trials: int) -> float:
    """Return the coverage of the corrected win rate where a label's chance depends on a judge that is biased."""

    def draw(rng: np.random.Generator, _: int) -> Estimate:
        human = (rng.random(items) < 0.5).astype(float)
        judge = np.where(rng.random(items) < 0.75, human, 1.0)
        chance = np.where(judge > 0, 0.06, 0.18)
        seen = np.where(rng.random(items) < chance, human, np.nan)
        return correct_mean(Sample(seen, judge, chance), "known chances").corrected

    return coverage(0.5, draw, trials)


def cover_gap(kind: str, trials: int, resamples: int = 400) -> tuple[float, float, float]:
    """Return, for a judge who is just one more human, how often the gap's interval holds 0, and its mean and error."""
    values = []

    def draw(rng: np.random.Generator, trial: int) -> Estimate:
        if kind == "scores":
            everyone = rng.normal(size=(300, 1)) + rng.normal(size=(300, 5))
            everyone[:, :4][rng.random((300, 4)) < 0.1] = np.nan
            made = score_ceiling(everyone[:, :4], everyone[:, 4], Sampling(resamples, trial)).gap
        else:
            truth = rng.integers(0, 5, (300, 1))
            codes = np.where(rng.random((300, 4)) < 0.7, truth, rng.integers(0, 5, (300, 4)))
            codes[:, :3][rng.random((300, 3)) < 0.2] = -1
            made = compare_with_ceiling((codes[:, :3], codes[:, 3]), SCALE, "kappa", Sampling(resamples, trial)).gap
        values.append(made.value)
        return made

    held = coverage(0.0, draw, trials)
    return held, float(np.mean(values)), float(np.std(values) / np.sqrt(trials))


def cover_difference(n: int, trials: int, resamples: int = 600) -> float:
    """Return the coverage of the paired difference in kappa of two judges against one human."""

    def codes(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        human = rng.integers(0, 5, size)
        one, two = (np.where(rng.random(size) < share, human, rng.integers(0, 5, size)) for share in (0.5, 0.6))
        return human, one, np.where(rng.random(size) < 0.3, one, two)

    human, one, two = codes(np.random.default_rng(99), 2_000_000)
    weights = SCALE.weights("nominal")
    kappas = [float(pairs.cohen_kappa(pairs.count_pairs(human, side, 5), weights)) for side in (one, two)]

    def draw(rng: np.random.Generator, trial: int) -> Estimate:
        person, first, second = codes(rng, n)
        return compare_judges(person, (first, second), SCALE, Sampling(resamples, trial)).estimates["kappa"]

    return coverage(kappas[1] - kappas[0], draw, trials)


def cover_order_effect(n: int, trials: int, resamples: int = 600) -> float:
    """Return the coverage of the order effect of a judge who leans to the first position."""

    def draw(rng: np.random.Generator, trial: int) -> Estimate:
        first, second = rng.choice(5, n, p=[0.1, 0.15, 0.2, 0.25, 0.3]), rng.choice(5, n, p=[0.2] * 5)
        return measure_swaps(first, second, PREFERENCE, Sampling(resamples, trial)).estimates["order_effect"]

    shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    return coverage(float(shares @ PREFERENCE.array - PREFERENCE.array.mean()) / 2, draw, trials)


def rows(trials: int, resamples: int) -> Iterator[tuple[str, str, float]]:
    """Yield every kind of interval with how it is made and its coverage, at 300 items unless it says otherwise."""
    yield "Cohen's kappa, nominal", "BCa", cover_kappa(300, trials, "nominal", resamples)
    yield "Cohen's kappa, quadratic", "BCa", cover_kappa(300, trials, "quadratic", resamples)
    yield "Krippendorff's alpha, ordinal, a fifth missing", "percentile", cover_alpha(300, trials, resamples)
    yield "exact agreement, 60 clusters of 5", "BCa over clusters", cover_clustered_exact(60, trials, resamples)
    yield "difference of two judges' kappas", "percentile, paired", cover_difference(300, trials, resamples)
    yield "gap to the human ceiling, labels", "percentile, joint", cover_gap("labels", trials, resamples)[0]
    yield "gap to the human ceiling, scores", "percentile, joint", cover_gap("scores", trials, resamples)[0]
    yield "order effect", "BCa", cover_order_effect(300, trials, resamples)
    yield "corrected win rate, 300 labels of 3,300", "normal", cover_corrected(300, 3000, trials)[0]
    yield "corrected win rate, about 330 labels of unequal chances", "normal", cover_weighted(3300, trials)
    yield "Cohen's kappa, quadratic, 6,000 items", "jackknife", cover_kappa(6000, trials, "quadratic", resamples)
    yield "Krippendorff's alpha, 6,000 items", "jackknife", cover_alpha(6000, trials, resamples)
    yield from simulated_studies.rows(trials, resamples)


if __name__ == "__main__":
    many_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print("| interval | made by | holds the truth |\n|---|---|---|")
    # Two standard errors of the simulation itself are granted on either side.
    slack = 2 * (0.95 * 0.05 / many_trials) ** 0.5
    failed = False
    for name, method, held in rows(many_trials, 600):
        print(f"| {name} | {method} | {100 * held:.1f} % |", flush=True)
        failed |= not 0.93 - slack <= held <= 0.97 + slack
    sys.exit(failed)
