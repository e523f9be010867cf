"""How many items and annotators a study needs, from a pilot or from what is expected, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agreement.alt_test import Measure
from agreement.pairs import cohen_kappa, count_pairs
from agreement.planning import items_for_kappa, items_for_share, table_with_kappa
from agreement.power import Expected, Power, simulate_from_expectation, simulate_from_pilot
from exchange.agreeing import make_panel, read_source
from exchange.panel import Options, Panel
from judge.domain import InputError
from storage.store import Store

WIDTHS = (0.1, 0.05, 0.03)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted, and what is expected where there is no pilot."""

    width: float = 0.05
    kappa: float = 0.5
    labels: int = 5
    annotators: int = 3
    judge: float = 0.7
    human: float = 0.7
    epsilon: float = 0.2
    power: float = 0.8
    seed: int = 0


def plan_without_pilot(wishes: Wishes) -> dict[str, Any]:
    """Return the plan from expectations: labels used equally often, raters right independently of each other."""
    table = table_with_kappa(np.ones(wishes.labels), wishes.kappa)
    expected = Expected(wishes.annotators, wishes.human, wishes.judge, wishes.labels)
    simulated = simulate_from_expectation(expected, wishes.epsilon, seed=wishes.seed)
    return _described(wishes, "expectations", [("kappa", wishes.kappa, table, np.eye(wishes.labels))], simulated)


def plan_from_pilot(store: Store, study: str, wishes: Wishes) -> dict[str, Any]:
    """Return the plan from a pilot's own tables and verdicts."""
    options = Options(seed=wishes.seed)
    panel = make_panel(read_source(store, study, options), options)
    tables = list(_pilot_tables(panel))
    if not tables:
        raise InputError(f"study {study!r} has no two raters with a common item: plan without --study")
    simulated: list[Power] = []
    if len(panel.humans) >= 2 and panel.judges:
        ordinal = panel.kind == "direct" or len(panel.categories) > 3
        values = panel.categories.array if ordinal else np.arange(len(panel.categories), dtype=np.float64)
        people, judge = panel.codes[:, list(panel.humans)], panel.codes[:, panel.judges[0]]
        sides = [np.where(side >= 0, values[side], np.nan) for side in (people, judge)]
        measure: Measure = "rmse" if ordinal else "match"
        simulated = simulate_from_pilot((sides[0], sides[1]), measure, wishes.epsilon, seed=wishes.seed)
    return {**_described(wishes, "pilot", tables, simulated), "study": study}


def _pilot_tables(panel: Panel) -> Any:
    """Yield name, kappa, table and weights: people with each other, and the judges with their consensus."""
    weights = panel.categories.weights("nominal")
    k = len(panel.categories)
    people = panel.humans[:2]
    if len(people) == 2:
        table = count_pairs(panel.codes[:, people[0]], panel.codes[:, people[1]], k)
        yield "people with each other", _kappa(table, weights), table, weights
    for judge in panel.judges if panel.humans else ():
        table = count_pairs(panel.consensus[0], panel.codes[:, judge], k)
        if table.sum():
            yield f"{panel.ratings.raters[judge].name} with people", _kappa(table, weights), table, weights


def _kappa(table: Any, weights: Any) -> float | None:
    found = float(cohen_kappa(table, weights))
    return found if np.isfinite(found) else None


def _described(wishes: Wishes, source: str, tables: list[Any], simulated: list[Power]) -> dict[str, Any]:
    widths = sorted({wishes.width, *WIDTHS}, reverse=True)
    estimates = []
    for name, kappa, table, weights in tables:
        share = float(np.trace(np.asarray(table)) / np.sum(table)) if np.sum(table) else 0.5
        needed = [
            {
                "half_width": w,
                "items": items_for_kappa(table, weights, w),
                "items_for_agreement": items_for_share(share, w),
            }
            for w in widths
        ]
        estimates.append({"of": name, "kappa": kappa, "agreement": share, "needed": needed})
    enough = next((one.items for one in simulated if one.passes >= wishes.power), None)
    return {
        "source": source,
        "wishes": asdict(wishes),
        "kappa": estimates,
        "alt_test": {
            "epsilon": wishes.epsilon,
            "power": [asdict(one) for one in simulated],
            "items": enough,
            "why": None if enough else _why_not(simulated),
        },
        "annotators": wishes.annotators,
        "advice": "More items beat more people per item, unless the human ceiling itself is the question: then at "
        "least three people on at least 100 items.",
    }


def _why_not(simulated: list[Power]) -> str:
    if not simulated:
        return "it needs two people and a judge on the same items"
    return f"even {simulated[-1].items} items pass in only {simulated[-1].passes:.0%} of the simulated studies"


def tell_plan(value: dict[str, Any]) -> str:
    """Return a plan for people."""
    lines = [f"From {'the pilot ' + value['study'] if value['source'] == 'pilot' else 'what you expect'}:"]
    for made in value["kappa"]:
        kappa = "–" if made["kappa"] is None else f"{made['kappa']:.2f}"
        lines.append(f"  {made['of']} (kappa {kappa}, agreement {made['agreement']:.0%})")
        for need in made["needed"]:
            items = "cannot be told" if need["items"] is None else f"{need['items']} items"
            lines.append(
                f"    ± {need['half_width']:g}: {items} for kappa, {need['items_for_agreement']} for agreement"
            )
    test, wishes = value["alt_test"], value["wishes"]
    told = f"{test['items']} items" if test["items"] else f"not within reach ({test['why']})"
    lines.append(f"  alternative annotator test, epsilon {test['epsilon']:g}, power {wishes['power']:.0%}: {told}")
    lines += [f"    {one['items']} items: passes in {one['passes']:.0%} of simulated studies" for one in test["power"]]
    return "\n".join([*lines, value["advice"]]) + "\n"
