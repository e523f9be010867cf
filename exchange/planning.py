"""How many items and annotators a study needs, from a pilot or from what is expected, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agreement.alt_test import Measure
from agreement.categories import Categories, FloatArray, IntArray
from agreement.pairs import cohen_kappa, count_pairs
from agreement.planning import (
    Spread,
    design_effect,
    expected_spread,
    items_for_correlation,
    items_for_difference,
    items_for_kappa,
    items_for_mean,
    items_for_share,
    labels_for_prediction_powered,
    spread_of,
    table_with_kappa,
)
from agreement.power import Expected, Power, Trials, simulate_from_expectation, simulate_from_pilot
from exchange.agreeing import make_panel, read_source
from exchange.figures import write_percent
from exchange.panel import Options, Panel
from exchange.unordered import NO_ORDER
from judge.domain import InputError
from storage.store import Store

WIDTHS = (0.1, 0.05, 0.03)
ANNOTATORS = (2, 3, 5)
Table = FloatArray | IntArray
ADVICE = (
    "More items beat more people per item, unless the human ceiling itself is the question: then at least three people "
    "on at least 100 items."
)


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
    def widths(self) -> list[float]:
        """Return the half-widths that are planned for: the one wanted among the usual ones."""
        return sorted({self.width, *WIDTHS}, reverse=True)

    @property
    def effect(self) -> float:
        """Return by how much items that belong together raise the number needed."""
        return design_effect(self.cluster_size, self.cluster_correlation)


@dataclass(frozen=True, eq=False)
class Basis:
    """What a plan is made from; None and empty where a pilot cannot tell.

    `tables` are two raters' tables by name, `power` the simulated power by the number of people, `scores` the standard
    deviation of people's scores where they give scores.
    """

    source: str
    categories: Categories
    tables: Mapping[str, Table]
    people: int
    power: dict[int, list[Power]]
    spread: Spread | None
    discordance: float
    correlation: float | None
    scores: float | None = None


def plan_without_pilot(wishes: Wishes) -> dict[str, Any]:
    """Return the plan from expectations: labels used equally often, raters right independently of each other."""
    if wishes.kappa < (least := -1 / (wishes.labels - 1)):
        raise InputError(f"kappa cannot be below {least:.2f} on {wishes.labels} labels that are used equally often")
    power = {
        many: simulate_from_expectation(
            Expected(many, wishes.human, wishes.judge, wishes.labels), wishes.epsilon, Trials(seed=wishes.seed)
        )
        for many in sorted({*ANNOTATORS, wishes.annotators})
    }
    basis = Basis(
        "expectations",
        Categories(tuple(map(float, range(wishes.labels)))),
        {"kappa": table_with_kappa(np.ones(wishes.labels), wishes.kappa)},
        wishes.annotators,
        power,
        expected_spread(wishes.human, wishes.judge, wishes.labels),
        wishes.discordance,
        wishes.correlation,
    )
    return _described(wishes, basis)


def plan_from_pilot(store: Store, study: str, wishes: Wishes, options: Options | None = None) -> dict[str, Any]:
    """Return the plan from a pilot's own tables and verdicts, under the rules of its statistics."""
    rules = options or Options()
    panel = make_panel(read_source(store, study, rules), rules)
    tables = dict(_pilot_tables(panel))
    if not tables:
        raise InputError(f"study {study!r} has no two raters with a common item: plan without --study")
    discordance, correlation = _compare_judges(panel, wishes)
    codes = panel.codes[:, list(panel.humans)]
    judges = _known_judges(panel)
    spread = spread_of(codes, panel.codes[:, judges[0]]) if judges else None
    scores = None
    if panel.kind == "direct" and panel.by_distance and np.count_nonzero(codes >= 0) > 1:
        scores = float(panel.categories.array[codes[codes >= 0]].std(ddof=1))
    power = _pilot_power(panel, wishes)
    people = len(panel.humans)
    basis = Basis("pilot", panel.categories, tables, people, power, spread, discordance, correlation, scores)
    return {
        **_described(wishes, basis),
        "study": study,
        "options": {"levels": rules.levels, "combine": rules.combine},
    }


def _known_judges(panel: Panel) -> list[int]:
    """Return the judges that have an item in common with people: of others a pilot knows nothing."""
    labelled = (panel.codes[:, list(panel.humans)] >= 0).any(axis=1)
    return [judge for judge in panel.judges if (labelled & (panel.codes[:, judge] >= 0)).any()]


def _pilot_power(panel: Panel, wishes: Wishes) -> dict[int, list[Power]]:
    """Return the power with as many people as the pilot has, and with fewer of them."""
    judges = _known_judges(panel)
    if len(panel.humans) < 2 or not judges:
        return {}
    ordinal = panel.by_distance
    values = panel.categories.array if ordinal else np.arange(len(panel.categories), dtype=np.float64)
    people, judge = panel.codes[:, list(panel.humans)], panel.codes[:, judges[0]]
    sides = [np.where(side >= 0, values[side], np.nan) for side in (people, judge)]
    measure: Measure = "rmse" if ordinal else "match"
    every = len(panel.humans)
    return {
        many: simulate_from_pilot((sides[0], sides[1]), measure, wishes.epsilon, many, Trials(seed=wishes.seed))
        for many in sorted({every, *(number for number in (*ANNOTATORS, wishes.annotators) if number < every)})
    }


def _compare_judges(panel: Panel, wishes: Wishes) -> tuple[float, float | None]:
    """Return how often exactly one of two judges is right, and the first one's correlation with the people.

    Where a pilot has only one judge, two are taken to differ as is expected.
    """
    people = panel.consensus[0]
    judges = [panel.codes[:, judge] for judge in _known_judges(panel)]
    discordance = wishes.discordance
    if len(judges) >= 2 and (common := (people >= 0) & (judges[0] >= 0) & (judges[1] >= 0)).any():
        discordance = float(np.mean(((judges[0] == people) != (judges[1] == people))[common]))
    told = bool(judges) and not panel.scale.nominal
    return discordance, _correlate(panel.categories, people, judges[0]) if told else None


def _correlate(categories: Categories, one: IntArray, two: IntArray) -> float | None:
    common = (one >= 0) & (two >= 0)
    pair = categories.array[one[common]], categories.array[two[common]]
    if not common.any() or min(side.std() for side in pair) == 0:
        return None
    return float(np.corrcoef(*pair)[0, 1])


def _pilot_tables(panel: Panel) -> Iterator[tuple[str, IntArray]]:
    """Yield name and table: people with each other, and the judges with their consensus."""
    k = len(panel.categories)
    said = panel.codes[:, list(panel.humans)]
    seen = (said >= 0).astype(np.float64)
    common = np.triu(seen.T @ seen, 1)
    if common.any():
        # The two people with most items in common: the first two may never have met.
        one, two = np.unravel_index(common.argmax(), common.shape)
        yield "people with each other", count_pairs(said[:, one], said[:, two], k)
    for judge in panel.judges if panel.humans else ():
        table = count_pairs(panel.consensus[0], panel.codes[:, judge], k)
        if table.sum():
            yield f"{panel.ratings.raters[judge].name} with people", table


def _described(wishes: Wishes, basis: Basis) -> dict[str, Any]:
    test = _alt_test(wishes, basis.power.get(basis.people, []))
    return {
        "source": basis.source,
        "wishes": asdict(wishes),
        "kappa": [_agreement(wishes, basis, name, table) for name, table in basis.tables.items()],
        "alt_test": {"epsilon": wishes.epsilon, **test},
        "by_annotators": _by_annotators(wishes, basis),
        "two_judges": _two_judges(wishes, basis.discordance),
        "mean_score": _mean_score(wishes, basis),
        "prediction_powered": _prediction_powered(wishes, basis),
        "design_effect": wishes.effect,
        "annotators": basis.people if basis.source == "pilot" else wishes.annotators,
        "advice": ADVICE,
    }


def _agreement(wishes: Wishes, basis: Basis, name: str, table: Table) -> dict[str, Any]:
    """Return what two raters' kappas, agreement and (of scores) correlation are, and the items for every width."""
    weights = {
        "kappa": basis.categories.weights("nominal"),
        "kappa_linear": basis.categories.weights("linear"),
        "kappa_quadratic": basis.categories.weights("quadratic"),
    }
    share = float(np.trace(np.asarray(table)) / np.sum(table))
    found = {key: float(cohen_kappa(table, weight)) for key, weight in weights.items()}
    known: dict[str, Any] = {"of": name, **{key: one if np.isfinite(one) else None for key, one in found.items()}}
    known["agreement"] = share
    if basis.scores is not None:
        known["correlation"] = _table_correlation(basis.categories.array, table)
    known["needed"] = [_needs(wishes, table, weights, known, width) for width in wishes.widths]
    return known


def _some(items: int | None) -> int | None:
    """Return the items needed, or None: a pilot in which nothing varies cannot tell, for none at all is no answer."""
    return items or None


def _table_correlation(values: FloatArray, table: Table) -> float | None:
    one, two = (np.repeat(at, table.astype(np.int64).ravel()) for at in np.indices(table.shape).reshape(2, -1))
    return _correlate(Categories(tuple(values.tolist())), one, two)


def _needs(
    wishes: Wishes, table: Table, weights: dict[str, FloatArray], known: dict[str, Any], width: float
) -> dict[str, Any]:
    effect = wishes.effect
    items = {name: _some(items_for_kappa(table, weight, width, effect=effect)) for name, weight in weights.items()}
    need: dict[str, Any] = {
        "half_width": width,
        "items": items["kappa"],
        "items_for_kappa_linear": items["kappa_linear"],
        "items_for_kappa_quadratic": items["kappa_quadratic"],
        "items_for_agreement": _some(items_for_share(known["agreement"], width, effect=effect)),
    }
    if known.get("correlation") is not None:
        need["items_for_correlation"] = items_for_correlation(known["correlation"], width, effect=effect)
    return need


def _alt_test(wishes: Wishes, simulated: list[Power]) -> dict[str, Any]:
    enough = next((one.items for one in simulated if one.passes >= wishes.power), None)
    power = [asdict(one) for one in simulated]
    return {"power": power, "items": enough, "why": None if enough else _why_not(simulated)}


def _why_not(simulated: list[Power]) -> str:
    if not simulated:
        return "it needs two people and a judge on the same items"
    return (
        f"even {simulated[-1].items} items pass in only {write_percent(simulated[-1].passes)} of the simulated studies"
    )


def _by_annotators(wishes: Wishes, basis: Basis) -> list[dict[str, Any]]:
    """Return what more people per item buy: fewer items for the judge's agreement with them, and for the test."""
    if basis.spread is None:
        return []
    found = []
    for many in sorted({*ANNOTATORS, wishes.annotators, *basis.power}):
        sizes = [(width, _some(basis.spread.items(many, width, effect=wishes.effect))) for width in wishes.widths]
        needed = [{"half_width": width, "items": items, "verdicts": items and items * many} for width, items in sizes]
        test = _alt_test(wishes, basis.power.get(many, []))
        if basis.source == "pilot" and many > basis.people:
            test["why"] = f"the pilot has only {basis.people} people"
        found.append({"annotators": many, "needed": needed, "alt_test": test})
    return found


def _two_judges(wishes: Wishes, discordance: float) -> dict[str, Any]:
    """Return the items on which a difference between two judges would be seen."""
    told = {"difference": wishes.difference, "discordance": discordance, "power": wishes.power}
    if discordance < wishes.difference:
        return {
            **told,
            "items": None,
            "why": f"the judges differ in being right on only {write_percent(discordance)} of the items",
        }
    items = items_for_difference(wishes.difference, discordance, power=wishes.power, effect=wishes.effect)
    return {**told, "items": items, "why": None}


def _mean_score(wishes: Wishes, basis: Basis) -> dict[str, Any] | None:
    """Return the items for the mean of people's scores, in points of the scale; None where they give no scores."""
    if basis.scores is None:
        return None
    sizes = [(width, _some(items_for_mean(basis.scores, width, effect=wishes.effect))) for width in wishes.widths]
    return {"sd": basis.scores, "needed": [{"half_width": width, "items": items} for width, items in sizes]}


def _prediction_powered(wishes: Wishes, basis: Basis) -> dict[str, Any]:
    """Return the human labels for a win rate near one half, or a mean score, with and without a judge on more items."""
    told: dict[str, Any] = {"of": "win rate" if basis.scores is None else "mean score"}
    if basis.correlation is None:
        why = "it needs a judge and people on the same items" if basis.categories.ordered else NO_ORDER
        return {**told, "correlation": None, "needed": [], "why": why}
    needed = []
    for width in wishes.widths:
        spread = 0.5 if basis.scores is None else basis.scores
        without = items_for_mean(spread, width, effect=wishes.effect)
        saved = labels_for_prediction_powered(without, basis.correlation)
        needed.append({"half_width": width, "labels_without_judge": without, "labels": _some(saved)})
    return {**told, "correlation": basis.correlation, "needed": needed, "why": None}
