"""What is said of a judge: against the people's consensus, their ceiling, its own second order, and length."""

from __future__ import annotations

from typing import Any

import numpy as np

from agreement.alt_test import LEAST_ITEMS, Measure, hold_duels, rate_domains, weigh_duels
from agreement.categories import Categories, FloatArray, IntArray
from agreement.ceiling import Ceiling, compare_with_ceilings, score_ceiling
from agreement.combine import joint_agreement
from agreement.comparison import compare
from agreement.estimate import Estimate, undefined
from agreement.length import (
    measure_length_preference,
    measure_longer_preferred,
    partial_spearman,
)
from agreement.pairs import bound_agreement
from agreement.position import measure_swaps
from agreement.prediction_powered import PredictionPowered, Sample, correct_mean, correct_share
from agreement.votes import pool_with_judge
from exchange.annotators import count_later_labels
from exchange.findings import PEOPLE, compare_codes, describe_table, describe_votes, estimates, none_of
from exchange.panel import BLANK_COUNTS, Panel
from exchange.policies import list_policies
from exchange.score_findings import compare_judge_scores, outcomes, people_and_judge
from storage.columns import STATUSES

MOST_DOMAINS = 20
UNTAGGED = "no tag"
ONE_ORDER = "the judge was asked about every item in one order only"
NO_HUMANS = "no person has given a verdict"
PAIRED = "the mean of half the difference between the two orders, on items that have both"
FEW_IN_DOMAIN = f"no person has {LEAST_ITEMS} items of it in common with the judge and another person"
NO_PAIR = "the protocol shows one response at a time"


def describe_judge(panel: Panel, judge: int, position: dict[str, Any] | None) -> dict[str, Any]:
    """Return everything that is said of one judge; `position` is what is said of it as of every rater."""
    name = panel.ratings.raters[judge].name
    codes, consensus = panel.codes[:, judge], panel.consensus[0]
    against = (
        compare_codes(panel, consensus, codes, ("consensus", name))
        if panel.humans
        else {"a": "consensus", "b": name, **none_of(NO_HUMANS)}
    )
    if against["n"]:
        against["table"] = describe_table(panel, consensus, codes)
    ceilings = measure_ceilings(panel, judge)
    headline = ceilings[headline_statistic(panel)]
    swap = describe_swaps(panel, judge)
    length = describe_length(panel, judge)
    if panel.kind == "direct":
        scored = compare_judge_scores(panel, judge)
        against = against | scored if panel.humans else scored | against
    return {
        "name": name,
        "orders": panel.orders_asked(judge),
        "statistic": headline.statistic,
        "vs_consensus": against,
        "vs_humans": compare_with_votes(panel, judge),
        "leave_one_out": _named(headline, headline.human_judge),
        "human_ceiling": _named(headline, headline.human_human),
        "gap": _named(headline, headline.gap),
        "ceilings": {key: _ceiling_json(found) for key, found in ceilings.items()},
        "swap_consistency": swap["consistency"],
        "swap": swap,
        "first_position_rate": undefined(NO_PAIR).as_dict() if position is None else position["first_position_rate"],
        "position": position,
        "longer_preferred_rate": length["judge"],
        "length": length,
        "alt_test": describe_alt_test(panel, judge),
        "corrected_win_rate": describe_corrected(panel, judge),
        "left_out": describe_left_out(panel, judge, against),
        "combined": describe_combined(panel, judge),
        "policies": list_policies(panel, judge),
    }


def compare_with_votes(panel: Panel, judge: int) -> dict[str, Any]:
    """Return every person's vote with the judge's in one table, on all items that a person has labelled."""
    name = panel.ratings.raters[judge].name
    if not panel.humans:
        return {"a": PEOPLE, "b": name, **none_of(NO_HUMANS), "n_items": 0}
    people, codes = panel.people, panel.codes[:, judge]
    found = pool_with_judge(people, codes, panel.categories, panel.sampling, panel.cluster)
    return describe_votes(found, (PEOPLE, name), panel.labels)


def describe_combined(panel: Panel, judge: int) -> dict[str, Any]:
    """Return what became of a judge's two orders, in numbers of items.

    `made_ties` are those whose orders differ, `one_order_only` those taken as the one order has them, and
    `ruled_by_length` those with an order that the length rule changed.
    """
    made, limit = panel.combined[judge], panel.options.length_k
    changed = [ruled != raw for ruled, raw in zip(panel.ruled_orders(judge, limit), panel.orders[judge], strict=True)]
    return {
        "rule": made.rule,
        "made_ties": made.made_ties,
        "one_order_only": panel.sides(judge)[2],
        "ruled_by_length": int((changed[0] | changed[1]).sum()),
    }


def headline_statistic(panel: Panel) -> str:
    """Return the statistic of the sentence: correlation for scores, weighted kappa for long scales, else kappa."""
    if panel.scale.nominal:
        return "kappa"
    if panel.kind == "direct":
        return "pearson"
    return "kappa_quadratic" if len(panel.categories) > 3 else "kappa"


def measure_ceilings(panel: Panel, judge: int) -> dict[str, Ceiling]:
    """Return how far people agree with each other and with the judge on the same items, by statistic."""
    people, codes = panel.people, panel.codes[:, judge]
    names = ("exact", "kappa", "kappa_quadratic")
    found = compare_with_ceilings((people, codes), panel.categories, names, panel.sampling, panel.cluster)
    if panel.kind == "direct":
        values = panel.categories.array
        scores = [np.where(side >= 0, values[side], np.nan) for side in (people, codes)]
        found["pearson"] = score_ceiling(scores[0], scores[1], panel.sampling, panel.cluster)
    return found


def _named(ceiling: Ceiling, made: Estimate) -> dict[str, Any]:
    return {**made.as_dict(), "statistic": ceiling.statistic, "humans": ceiling.humans}


def _ceiling_json(found: Ceiling) -> dict[str, Any]:
    return {
        "human_human": found.human_human.as_dict(),
        "human_judge": found.human_judge.as_dict(),
        "gap": found.gap.as_dict(),
        "n": found.n,
        "humans": found.humans,
        "pooling": found.pooling,
    }


def describe_swaps(panel: Panel, judge: int) -> dict[str, Any]:
    """Return what changes when the sides change, and what each order alone would have said."""
    first, second = (panel.coarse(side) for side in panel.ruled_orders(judge, panel.options.length_k))
    consensus = panel.consensus[0]
    found = measure_swaps(first, second, panel.categories, panel.sampling, panel.cluster)
    known = found.estimates if found.n else {name: undefined(ONE_ORDER) for name in found.estimates}
    sides = {"accuracy_ab": first, "accuracy_ba": second}
    right = {
        name: compare(consensus, side, panel.categories, panel.sampling, panel.cluster).estimates["exact"]
        for name, side in sides.items()
    }
    joint = joint_agreement(consensus, (first, second), panel.sampling, panel.cluster)
    return {
        "n": found.n,
        "left_out": found.left_out,
        **estimates(known),
        "order_effect": {**known["order_effect"].as_dict(), "note": PAIRED},
        "hard_first": found.hard_first,
        "hard_second": found.hard_second,
        "soft_first": found.soft_first,
        "soft_second": found.soft_second,
        "p": found.p,
        "p_why": None if found.p is not None else known["fairness"].why,
        "joint": joint.as_dict(),
        **estimates(right),
    }


def describe_length(panel: Panel, judge: int) -> dict[str, Any]:
    """Return how far length alone explains the judge, always beside what it explains of the people."""
    codes, consensus = panel.codes[:, judge], panel.consensus[0]
    if panel.kind == "direct":
        return _describe_score_length(panel, judge)
    delta = panel.length_ratio
    raters = codes, consensus if panel.humans else None
    found = measure_longer_preferred(raters, delta, panel.categories, panel.sampling, panel.cluster)
    if found.judge.value is None and panel.humans:  # nobody labelled what the judge saw: then the judge alone
        found = measure_longer_preferred((codes, None), delta, panel.categories, panel.sampling, panel.cluster)
    human = found.human if panel.humans else undefined(NO_HUMANS)
    difference = found.difference if panel.humans else undefined(NO_HUMANS)
    slope = measure_length_preference(codes, consensus, delta, panel.categories, panel.cluster)
    return {
        "judge": found.judge.as_dict(),
        "human": human.as_dict(),
        "difference": difference.as_dict(),
        "preference": slope.as_dict(),
        "baseline": _length_baseline(panel, delta, consensus),
    }


def _describe_score_length(panel: Panel, judge: int) -> dict[str, Any]:
    human, model = people_and_judge(panel, judge)
    partial = partial_spearman(model, panel.lengths[0], human, panel.sampling, panel.cluster)
    none = undefined(NO_PAIR).as_dict()
    return {"judge": none, "human": none, "difference": none, "preference": partial.as_dict(), "baseline": none}


def _length_baseline(panel: Panel, delta: FloatArray, consensus: IntArray) -> dict[str, Any]:
    """Return how often always taking the longer response agrees with the people, where they decide."""
    values = panel.categories.array
    longer = np.sign(np.nan_to_num(delta))
    side = np.where(consensus >= 0, np.sign(values[consensus]), 0.0)
    decided = (side != 0) & (longer != 0)
    two = Categories((-1.0, 1.0))
    pair = [np.where(decided, (signs > 0).astype(np.int64), -1) for signs in (side, longer)]
    found = compare(pair[0], pair[1], two, panel.sampling, panel.cluster)
    made = found.estimates["exact"] if panel.humans else undefined(NO_HUMANS)
    return made.as_dict()


def describe_alt_test(panel: Panel, judge: int) -> dict[str, Any]:
    """Return whether the judge may stand in for a person, over a range of margins."""
    people, codes = panel.people, panel.codes[:, judge]
    ordinal = panel.by_distance
    values = panel.categories.array
    sides = [np.where(side >= 0, values[side] if ordinal else side, np.nan) for side in (people, codes)]
    measure: Measure = "rmse" if ordinal else "match"
    duels = hold_duels((sides[0], sides[1]), measure, panel.cluster)
    found = weigh_duels(duels, panel.options.epsilon, drawn=panel.sampling)
    names = [panel.ratings.raters[place].name for place in panel.humans]
    domains, domain = _domains(panel)
    rates = rate_domains(duels, domain, panel.options.epsilon, panel.sampling) if domains else {}
    annotators = [
        {
            "name": names[one.index],
            "n": one.n,
            "judge_advantage": one.judge_advantage,
            "human_advantage": one.human_advantage,
            "p": one.p,
            "rejected": one.rejected,
            "why": one.why,
        }
        for one in found.annotators
    ]
    return {
        "winning_rate": found.winning_rate,
        "advantage_probability": found.advantage_probability,
        "epsilon": found.epsilon,
        "passes": found.passes,
        "annotators": annotators,
        "curve": [{"epsilon": at, "winning_rate": rate} for at, rate in found.curve],
        "measure": measure,
        "domains": [
            {"domain": domains[at], "winning_rate": rate, "why": FEW_IN_DOMAIN if rate is None else None}
            for at, rate in rates.items()
        ],
        "warnings": list(found.warnings),
        "why": found.why,
    }


def _domains(panel: Panel) -> tuple[list[str], IntArray]:
    """Return the domains, which are items' first tags, and each item's place in them; none if one or too many."""
    tags = panel.ratings.facts.tags
    first = np.array([*(own[0] if own else UNTAGGED for own in tags.names), UNTAGGED])
    names, place = np.unique(first, return_inverse=True)
    of_item = place[tags.codes]
    used = np.count_nonzero(np.bincount(of_item, minlength=1))
    return (names.tolist(), of_item) if 2 <= used <= MOST_DOMAINS else ([], of_item)


def describe_corrected(panel: Panel, judge: int) -> dict[str, Any]:
    """Return A's win rate (or the mean score) over all items: people's where there are any, the judge's corrected."""
    what = "mean score" if panel.kind == "direct" else "win rate of response A"
    worth = outcomes(panel)
    bounds = float(worth.min()), float(worth.max())
    sample = Sample(*people_and_judge(panel, judge), panel.chance, panel.cluster)
    value = {**correct(panel, sample, bounds), "of": what}
    if len(panel.categories) == 2:
        value["rogan_gladen"] = _rogan_gladen(panel, judge)
    return value


def _rogan_gladen(panel: Panel, judge: int) -> dict[str, Any]:
    """Return the true share of the upper of two labels, from how often the judge gives it and how often it errs."""
    if panel.selection != "random":
        return undefined("it needs a random sample of labelled items").as_dict()
    return correct_share(panel.consensus[0], panel.codes[:, judge], panel.cluster).as_dict()


def correct(panel: Panel, sample: Sample, bounds: tuple[float, float]) -> dict[str, Any]:
    """Return people's mean of a value on every item, sharpened by the judge's, under the study's way of choosing."""
    return corrected_json(correct_mean(sample, panel.selection).within(bounds))


def corrected_json(found: PredictionPowered) -> dict[str, Any]:
    """Return a corrected mean beside the two it is made of."""
    return {
        **found.corrected.as_dict(),
        "human_only": found.human_only.as_dict(),
        "judge_only": found.judge_only.as_dict(),
        "weight": found.weight,
        "gain": found.gain,
        "labelled": found.labelled,
        "unlabelled": found.unlabelled,
        "selection": found.selection,
        "effective": found.effective,
        "assumption": found.assumption,
    }


def describe_left_out(panel: Panel, judge: int, against: dict[str, Any]) -> dict[str, Any]:
    """Return what the judge did not say, and where exact agreement would lie had all of it agreed, or none."""
    ratings, rows = panel.ratings, panel.rows[judge]
    status = ratings.status[rows]
    counted = dict(zip(STATUSES[1:], np.bincount(status, minlength=5)[1:].tolist(), strict=True))
    asked = np.zeros(panel.size, dtype=bool)
    asked[ratings.item[rows[status > 0]]] = True
    silent = int((asked & (panel.codes[:, judge] < 0) & (panel.consensus[0] >= 0)).sum())
    bounds = bound_agreement(against["confusion"], silent) if against["confusion"] else None
    return {
        **BLANK_COUNTS,
        **counted,
        "items": silent,
        "bounds": None if bounds is None else list(bounds),
        "bounds_why": None if bounds is not None else against["exact"]["why"],
        "later_label": count_later_labels(panel, judge),
        "by_rule": dict(panel.combined[judge].left_out),
    }
