"""Bradley-Terry with terms for side and length: beside statsmodels, and with leanings that were put in."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from agreement.bradley_terry import Games
from agreement.bradley_terry_terms import NEVER_EXCHANGED, fit_terms
from agreement.length import NO_VARIATION


def some_games(n, side=0.6, length=0.4, seed=0):
    """Return games of three models with these leanings, who was shown first, length ratios and prompts."""
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 3, n)
    two = (one + rng.integers(1, 3, n)) % 3
    first, delta = rng.choice([1.0, -1.0], n), rng.normal(0, 0.5, n)
    strength = np.array([0.5, 0.0, -0.5])
    odds = strength[one] - strength[two] + side * first + length * delta / delta.std()
    won = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float)
    return Games(one, two, won, 3), first, delta, np.arange(n) // 2


def test_the_terms_are_those_of_statsmodels():
    games, first, delta, cluster = some_games(400)
    found = fit_terms(games, first, delta, cluster)
    design = np.column_stack(
        [first, delta / delta.std(), *((games.first == m) * 1.0 - (games.second == m) for m in (1, 2))]
    )
    fit = sm.Logit(games.result, design).fit(disp=0)
    assert found.side.value == pytest.approx(fit.params[0], abs=1e-9)
    assert found.length.value == pytest.approx(fit.params[1], abs=1e-9)
    assert (found.side.n, found.side.clusters) == (400, 200)
    assert found.side.low < found.side.value < found.side.high


def test_leanings_that_were_put_in_are_found_and_none_is_none():
    found = fit_terms(*some_games(20_000))
    assert found.side.value == pytest.approx(0.6, abs=0.06)
    assert found.length.value == pytest.approx(0.4, abs=0.06)
    none = fit_terms(*some_games(20_000, side=0.0, length=0.0, seed=5))
    for term in (none.side, none.length):
        assert term.low < 0 < term.high


def test_exchanging_every_side_turns_both_terms_for_the_other_response():
    games, first, delta, cluster = some_games(500)
    mirrored = Games(games.second, games.first, 1.0 - games.result, 3)
    found, other = fit_terms(games, first, delta, cluster), fit_terms(mirrored, -first, -delta, cluster)
    assert other.side.value == pytest.approx(found.side.value)
    assert other.length.value == pytest.approx(found.length.value)


def test_what_nothing_tells_apart_has_its_reason():
    games, first, delta, cluster = some_games(100)
    same = fit_terms(games, np.ones(100), delta, cluster)
    assert (same.side.value, same.side.why) == (None, NEVER_EXCHANGED)
    assert same.length.value is not None
    level = fit_terms(games, first, np.zeros(100), cluster)
    assert (level.length.value, level.length.why) == (None, NO_VARIATION)
    nobody = fit_terms(Games([], [], [], 3), np.zeros(0), np.zeros(0), np.zeros(0, dtype=int))
    assert nobody.side.value is None
    always = Games(np.zeros(50, dtype=int), np.ones(50, dtype=int), np.ones(50), 2)
    assert "separated" in fit_terms(always, first[:50], delta[:50], cluster[:50]).side.why
