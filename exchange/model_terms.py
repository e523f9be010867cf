"""What position and length add to a model's chance of winning, by people and by each judge."""

from __future__ import annotations

from typing import Any

import numpy as np

from agreement.bradley_terry import Games
from agreement.bradley_terry_terms import fit_terms
from agreement.categories import IntArray
from exchange.panel import Panel

FIRST = np.array([1.0, -1.0, 0.0])  # by order: AB, BA, and not known, which stands at -1


def describe_terms(
    panel: Panel, sides: tuple[IntArray, IntArray], models: int, raters: tuple[int, ...]
) -> dict[str, Any]:
    """Return the terms of side and length from every verdict of these raters; `sides` are the models of each item."""
    ratings = panel.ratings
    rows = np.concatenate([panel.rows[rater] for rater in raters])
    rows = rows[~ratings.repeat[rows] & (ratings.code[rows] >= 0)]
    result = (1.0 + np.sign(panel.full.array)) / 2.0
    # Verdicts on one item in one order differ in their result alone: they are one game, played several times.
    kind = ratings.item[rows] * 3 + ratings.order[rows] + 1
    times, won = np.bincount(kind), np.bincount(kind, result[ratings.code[rows]])
    first, second = sides
    met = (first >= 0) & (second >= 0) & (first != second)
    played = np.flatnonzero(times)
    played = played[met[played // 3]]
    item, order = played // 3, played % 3 - 1
    games = Games(sides[0][item], sides[1][item], won[played] / times[played], models)
    cluster = item if panel.prompts is None else panel.prompts[item]
    found = fit_terms(games, FIRST[order], panel.length_ratio[item], cluster, times[played])
    return {"side": found.side.as_dict(), "length": found.length.as_dict()}
