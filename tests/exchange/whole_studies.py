"""Whole studies as numbers: three people on the labelled half of the items, two judges on all of them.

People differ in care and in how much they like what stands first, miss some items and are shown some twice. Judges like
length, each in its own measure, and leave some replies unreadable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from storage.facts import Coded, Facts
from storage.ratings import Rater, Ratings

PEOPLE = (("ann", 0.6, 0.1), ("ben", 0.8, 0.0), ("cat", 1.0, 0.2))  # name, noise, liking for what stands first
JUDGES = (("gpt-x", 0.5, 0.3, 0.4), ("gpt-y", 0.7, -0.1, 0.2))  # and liking for length
RATERS = tuple(Rater(name, "human") for name, *_ in PEOPLE) + tuple(Rater(name, "judge") for name, *_ in JUDGES)
PREFERENCES = (-1.2, -0.4, 0.4, 1.2)
SCORES = (-1.1, -0.4, 0.3, 1.0)
FAVOUR = np.array([0.0, 0.3, -0.3, 0.2, -0.2])  # the first judge's, by model
SHOWN_AGAIN = 0.3
MISSED = 0.15
UNREADABLE = 0.03


@dataclass(frozen=True)
class Verdicts:
    """Verdicts of one rater after the other."""

    rows: list[np.ndarray] = field(default_factory=list)

    def add(self, rater: int, item: np.ndarray, code: np.ndarray, order: np.ndarray, repeat: bool = False) -> None:
        n = item.size
        time = 1e9 + 30.0 * np.arange(n)
        self.rows.append(
            np.stack([np.full(n, rater), item, code, order, np.full(n, repeat), np.where(code < 0, 1, 0), time])
        )

    def of(self, facts: Facts) -> Ratings:
        rater, item, code, order, repeat, status, time = np.concatenate(self.rows, axis=1)
        whole = (column.astype(np.int64) for column in (item, rater, code, order))
        return Ratings(
            RATERS, facts, *whole, repeat.astype(np.bool_), status.astype(np.int64), np.full(time.size, 20.0), time
        )


def coded(codes: np.ndarray, names: list[object] | tuple[object, ...] = ()) -> Coded:
    return Coded(tuple(names), codes.astype(np.int64))


def describe_items(rng: np.random.Generator, question: np.ndarray, models: tuple[Coded, Coded], lengths) -> Facts:
    n = question.size
    tags = coded(rng.integers(0, 2, n), [("coding",), ("maths",)])
    questions = coded(question, [f"q{number}" for number in range(int(question.max()) + 1)])
    return Facts(np.arange(n), coded(np.full(n, -1)), questions, *models, tags, *lengths)


def some_lengths(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.exp(rng.normal(6.5, 0.5, n)).round()


def label_twice(rng: np.random.Generator, labelled: np.ndarray) -> list[tuple[np.ndarray, bool]]:
    """Return the items that a person labels, and those of them that come again."""
    own = rng.permutation(labelled[rng.random(labelled.size) >= MISSED])
    return [(own, False), (own[rng.random(own.size) < SHOWN_AGAIN], True)]


def pairwise(rng: np.random.Generator, labelled: int) -> Ratings:
    """Return preferences between four models' answers; judges are asked in both orders."""
    n = 2 * labelled
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    lengths = some_lengths(rng, n), some_lengths(rng, n)
    delta = np.log(lengths[0] / lengths[1])
    strength = np.array([-0.64, -0.16, 0.24, 0.56])
    better = strength[first] - strength[second] + rng.normal(0, 0.8, n) + 0.2 * delta
    given = Verdicts()
    for rater, (_, noise, lean) in enumerate(PEOPLE):
        for items, again in label_twice(rng, np.arange(0, n, 2)):
            order = rng.integers(0, 2, items.size)
            seen = better[items] + lean * (1 - 2 * order) + rng.normal(0, noise, items.size)
            given.add(rater, items, np.digitize(seen, PREFERENCES), order, again)
    for rater, (_, noise, lean, length) in enumerate(JUDGES, len(PEOPLE)):
        seen = better + length * delta + rng.normal(0, noise, n)
        for order in (0, 1):
            code = np.digitize(seen + lean * (1 - 2 * order) + rng.normal(0, 0.3, n), PREFERENCES)
            given.add(rater, np.arange(n), np.where(rng.random(n) < UNREADABLE, -1, code), np.full(n, order))
    models = coded(first, ("w", "x", "y", "z")), coded(second, ("w", "x", "y", "z"))
    return given.of(describe_items(rng, np.arange(n), models, lengths))


def scores(rng: np.random.Generator, labelled: int, shared: bool = False) -> Ratings:
    """Return scores of five models' answers, each to its own question, or all five to each one."""
    n = 2 * labelled
    # Drawn where each item stands for itself: five of each would vary less than items do.
    model = np.tile(np.arange(5), n // 5) if shared else rng.integers(0, 5, n)
    question = np.repeat(np.arange(n // 5), 5) if shared else np.arange(n)
    better = rng.normal(0, 0.5, n)[question] + np.linspace(-0.8, 0.8, 5)[model] + rng.normal(0, 0.6, n)
    length = (some_lengths(rng, n) * np.exp(0.2 * better)).round()
    given = Verdicts()
    for rater, (_, noise, lean) in enumerate(PEOPLE):
        for items, again in label_twice(rng, np.flatnonzero(np.arange(n) // 5 % 2 == 0)):
            code = np.digitize(better[items] + lean + rng.normal(0, noise, items.size), SCORES)
            given.add(rater, items, code, np.full(items.size, -1), again)
    for rater, (_, noise, lean, taste) in enumerate(JUDGES, len(PEOPLE)):
        seen = 0.2 + better + FAVOUR[model] * (lean > 0) + taste * np.log(length / 665) + rng.normal(0, noise, n)
        code = np.where(rng.random(n) < UNREADABLE, -1, np.digitize(seen, SCORES))
        given.add(rater, np.arange(n), code, np.zeros(n))
    models = coded(model, ("v", "w", "x", "y", "z")), coded(np.full(n, -1))
    return given.of(describe_items(rng, question, models, (length, np.full(n, np.nan))))
