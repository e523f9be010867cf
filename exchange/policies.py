"""How much of a judge's agreement is the rule: every way of counting ties, two orders and length, side by side."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import numpy as np

from agreement.combine import Levels, Rule, collapse_codes
from agreement.comparison import pair_statistics, settle_shares, units_of_pairs
from agreement.intervals import estimate_all
from exchange.panel import Panel

LENGTH_RULES = (None, 100, 500, 1000)
SHOWN = ("exact", "kappa")


def list_policies(panel: Panel, judge: int) -> list[dict[str, Any]]:
    """Return exact agreement and kappa with the consensus under every rule for levels, orders and length."""
    if not panel.humans:
        return []
    pairwise = panel.kind == "pairwise"
    levels: tuple[Levels, ...] = get_args(Levels) if pairwise else ("full",)
    rules: tuple[Rule, ...] = get_args(Rule) if panel.has_both_orders(judge) else ("first",)
    lengths = LENGTH_RULES if pairwise and panel.full.tie is not None and len(panel.full) > 3 else (None,)
    # What becomes of an item depends on its two labels alone, of which there are few kinds.
    places = len(panel.full) + 1
    every = np.repeat(np.arange(places) - 1, places), np.tile(np.arange(places) - 1, places)
    sides = {k: panel.sides(judge, k) for k in lengths}
    kinds = {k: (first + 1) * places + second + 1 for k, (first, second, _) in sides.items()}
    found = []
    for level in levels:
        consensus, categories = panel.consensus_on(level)[0], collapse_codes(every[0], panel.full, level)[1]
        statistics = {name: pair_statistics(categories)[name] for name in SHOWN}
        for rule, k in product(rules, lengths):
            codes = panel.combine_sides(judge, every, rule, level).codes[kinds[k]]
            units = units_of_pairs(consensus, codes, len(categories), panel.cluster)
            made = settle_shares(estimate_all(units, statistics, panel.sampling), units, panel.sampling.level)
            named = {name: made[name].as_dict() for name in SHOWN}
            found.append({"levels": level, "combine": rule, "length_k": k, "n": units.n, **named})
    return found
