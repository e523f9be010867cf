"""How many items and annotators a study needs, from a pilot or from what is expected, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agreement.alt_test import Measure
from agreement.pairs import cohen_kappa, count_pairs
from agreement.planning import (
    design_effect,
    items_for_difference,
    items_for_kappa,
    items_for_share,
    labels_for_prediction_powered,
    table_with_kappa,
)
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
    difference: float = 0.05  # between the accuracies of two judges
    discordance: float = 0.25  # the share of items on which exactly one of them is right
    correlation: float = 0.6  # of the judge's labels with the people's
    cluster_size: float = 1.0  # items that belong together, such as the answers to one prompt
    cluster_correlation: float = 0.0  # and how much alike they are

    @property
    def effect(self) -> float:
        """Return by how much items that belong together raise the number needed."""
        return design_effect(self.cluster_size, self.cluster_correlation)


@dataclass(frozen=True, slots=True)
class Judging:
    """How judges relate to the people and to each other; None where a pilot cannot tell."""

    discordance: float
    correlation: float | None


def plan_without_pilot(wishes: Wishes) -> dict[str, Any]:
    """Return the plan from expectations: labels used equally often, raters right independently of each other."""
    table = table_with_kappa(np.ones(wishes.labels), wishes.kappa)
    expected = Expected(wishes.annotators, wishes.human, wishes.judge, wishes.labels)
    simulated = simulate_from_expectation(expected, wishes.epsilon, seed=wishes.seed)
    tables = [("kappa", wishes.kappa, table, np.eye(wishes.labels))]
    return _described(wishes, "expectations", tables, simulated, Judging(wishes.discordance, wishes.correlation))


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
    return {**_described(wishes, "pilot", tables, simulated, _judging(panel, wishes)), "study": study}


def _judging(panel: Panel, wishes: Wishes) -> Judging:
    """Return what a pilot says of its judges; where it has only one, two are taken to differ as is expected."""
    people = panel.consensus[0]
    judges = [panel.codes[:, judge] for judge in panel.judges]
    discordance, correlation = wishes.discordance, None
    if len(judges) >= 2 and (common := (people >= 0) & (judges[0] >= 0) & (judges[1] >= 0)).any():
        discordance = float(np.mean(((judges[0] == people) != (judges[1] == people))[common]))
    if judges and (common := (people >= 0) & (judges[0] >= 0)).any():
        values = panel.categories.array
        pair = values[people[common]], values[judges[0][common]]
        if min(side.std() for side in pair) > 0:
            correlation = float(np.corrcoef(*pair)[0, 1])
    return Judging(discordance, correlation)


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


def _described(
    wishes: Wishes, source: str, tables: list[Any], simulated: list[Power], judging: Judging
) -> dict[str, Any]:
    widths = sorted({wishes.width, *WIDTHS}, reverse=True)
    estimates = []
    for name, kappa, table, weights in tables:
        share = float(np.trace(np.asarray(table)) / np.sum(table)) if np.sum(table) else 0.5
        needed = [
            {
                "half_width": w,
                "items": items_for_kappa(table, weights, w, effect=wishes.effect),
                "items_for_agreement": items_for_share(share, w, effect=wishes.effect),
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
        "two_judges": _two_judges(wishes, judging),
        "prediction_powered": _prediction_powered(widths, wishes, judging),
        "design_effect": wishes.effect,
        "annotators": wishes.annotators,
        "advice": "More items beat more people per item, unless the human ceiling itself is the question: then at "
        "least three people on at least 100 items.",
    }


def _two_judges(wishes: Wishes, judging: Judging) -> dict[str, Any]:
    """Return the items on which a difference between two judges would be seen."""
    told = {"difference": wishes.difference, "discordance": judging.discordance, "power": wishes.power}
    if judging.discordance < wishes.difference:
        why = f"the judges differ in being right on only {judging.discordance:.0%} of the items"
        return {**told, "items": None, "why": why}
    items = items_for_difference(wishes.difference, judging.discordance, power=wishes.power, effect=wishes.effect)
    return {**told, "items": items, "why": None}


def _prediction_powered(widths: list[float], wishes: Wishes, judging: Judging) -> dict[str, Any]:
    """Return the human labels for a win rate near one half, with and without a judge on many more items."""
    if judging.correlation is None:
        return {"correlation": None, "needed": [], "why": "it needs a judge and people on the same items"}
    without = [items_for_share(0.5, width, effect=wishes.effect) for width in widths]
    needed = [
        {
            "half_width": width,
            "labels_without_judge": n,
            "labels": labels_for_prediction_powered(n, judging.correlation),
        }
        for width, n in zip(widths, without, strict=True)
    ]
    return {"correlation": judging.correlation, "needed": needed, "why": None}


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
    lines += [_tell_judges(value["two_judges"]), *_tell_labels(value["prediction_powered"])]
    if value["design_effect"] != 1:
        lines.append(f"  items that belong together: all but the test's are {value['design_effect']:.2f} times as many")
    return "\n".join([*lines, value["advice"]]) + "\n"


def _tell_judges(told: dict[str, Any]) -> str:
    items = f"{told['items']} items" if told["items"] else f"not within reach ({told['why']})"
    return (
        f"  two judges whose accuracies differ by {told['difference']:g}, power {told['power']:.0%}: {items} "
        f"(exactly one is right on {told['discordance']:.0%})"
    )


def _tell_labels(told: dict[str, Any]) -> list[str]:
    if told["why"]:
        return [f"  win rate with a judge on many more items: cannot be told ({told['why']})"]
    head = f"  win rate with a judge on many more items (correlation {told['correlation']:.2f} with people)"
    return [
        head,
        *(
            f"    ± {need['half_width']:g}: {need['labels']} human labels instead of {need['labels_without_judge']}"
            for need in told["needed"]
        ),
    ]
