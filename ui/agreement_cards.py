"""The cards of the agreement page, two by two: each asks one question of the judges or the people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from exchange.charts import (
    confusion_chart,
    corrected_chart,
    curve_chart,
    flow_chart,
    length_chart,
    position_chart,
    show_order,
)
from exchange.drawing import WIDE
from exchange.tables import count_flow
from ui.agreement_closer import list_closer_cards
from ui.agreement_models import list_model_cards
from ui.agreement_parts import (
    cell,
    count_cell,
    estimate_cell,
    show_both,
    show_card,
    show_cells,
    show_dash,
    show_estimates,
    show_figure,
    show_listing,
    show_rater,
    show_reasons,
)
from ui.agreement_people import list_people_cards
from ui.agreement_rules import CHOICES
from ui.display import escape
from ui.downloads import file_name
from ui.notices import count, show_hint

Value = dict[str, Any]
RULES = {
    value: meant for choice in CHOICES if choice.name in ("levels", "combine") for value, meant in choice.values.items()
}


def list_cards(value: Value, at: int) -> Iterator[str]:
    """Yield the cards there are numbers for; those that show one judge show the one at this place."""
    pairwise = value["kind"] == "pairwise"
    if value["judges"]:
        yield _each_judge(value, at, CONFUSION)
    if pairwise and value["raters"]:
        yield _position(value)
    if value["judges"]:
        if pairwise:
            yield _length(value)
        yield _each_judge(value, at, POLICY)
        yield _curve(value)
        yield _each_judge(value, at, CORRECTED)
    yield from list_model_cards(value)
    if any(rater["kind"] == "human" for rater in value["raters"]):
        yield from list_people_cards(value)
    yield _flow(value)
    if value["split"]["part"] != "all":
        yield _held_out(value)
    yield from list_closer_cards(value)
    if value["pairs"]:
        yield _pairs(value)


@dataclass(frozen=True, slots=True)
class Own:
    """A card that shows one judge at a time: its name, its title, what it means, and what shows one judge in it."""

    name: str
    title: str
    meant: str
    show: Callable[[Value, Value, str, str], str]


def _each_judge(value: Value, at: int, own: Own) -> str:
    parts = []
    for place, judge in enumerate(value["judges"]):
        of = f' data-of="{place}"{"" if place == at else " hidden"}'
        parts.append(own.show(value, judge, of, f"{own.name}-{file_name(judge['name'])}"))
    return show_card(own.name, own.title, own.meant, "".join(parts))


def _confusion(value: Value, judge: Value, of: str, name: str) -> str:
    pair = judge["vs_consensus"]
    if not pair["n"]:
        why = pair["exact"].get("why") or "no item has both"
        return f"<div{of}>{show_hint(f'There is nothing to compare: {why}.')}</div>"
    labels, counts = value["scale"], pair["confusion"]
    names = "● consensus", f"◆ {judge['name']}"
    chart = show_both(lambda frame: confusion_chart(labels, counts, names, links=True, frame=frame))
    order = show_order(labels)
    heads = [("consensus", "Rows: people"), *((labels[at], "") for at in order)]
    rows = [cell(escape(labels[row])) + "".join(count_cell(counts[row][at]) for at in order) for row in order]
    figure = show_figure(name, chart, show_cells("Confusion", heads, rows))
    return (
        f'<div data-judge="{escape(judge["name"])}"{of}>{figure}<div class="cell-items" aria-live="polite"></div></div>'
    )


def _position(value: Value) -> str:
    rows = []
    for rater in value["raters"]:
        name = show_rater(rater["kind"], rater["name"])
        rows.append((f"{name}: first wins", rater["position"]["first_position_rate"]))
        rows.append((f"{name}: order effect", rater["position"]["order_effect"]))
    rows += [
        (f"{show_rater('judge', judge['name'])}: both orders agree", judge["swap_consistency"])
        for judge in value["judges"]
    ]
    numbers = show_estimates("Position", rows)
    unknown = [rater for rater in value["raters"] if rater["position"]["first_position_rate"]["value"] is None]
    why = unknown[0]["position"]["first_position_rate"].get("why", "") if unknown else ""
    if len(unknown) == len(value["raters"]):
        body = show_reasons(numbers, why)
    else:
        body = show_figure("position", show_both(partial(position_chart, value["raters"])), numbers)
        if unknown:
            body += f'<p class="meant">{count(len(unknown), "rater")} without a number here: {escape(why)}.</p>'
    meant = "How often the response shown first wins, where a side wins; without a bias it is one half."
    return show_card("position", "Position", meant, body)


def _length(value: Value) -> str:
    rows = []
    for judge in value["judges"]:
        name, length = show_rater("judge", judge["name"]), judge["length"]
        rows += [
            (f"{name}: longer wins", length["judge"]),
            ("people, same items", length["human"]),
            ("judge minus people", length["difference"]),
            ("longer, at people's verdict (log odds)", length["preference"]),
            ("always the longer: agrees with people", length["baseline"]),
        ]
    meant = "How often the longer response wins; only what a judge prefers beyond people is its bias."
    numbers, first = show_estimates("Length", rows), value["judges"][0]["length"]
    if all(judge["length"]["judge"]["value"] is None for judge in value["judges"]):
        return show_card("length", "Length", meant, show_reasons(numbers, first["judge"].get("why", "")))
    # The whole row: what a judge prefers beyond people, its bias, stands beside the points.
    figure = show_figure("length", show_both(partial(length_chart, value["judges"]), WIDE), numbers)
    return show_card("length", "Length", meant, figure, wide=True)


def _policies(value: Value, judge: Value, of: str, name: str) -> str:
    # A judge asked in one order has a rule of its own in force.
    rules = {**value["options"], "combine": judge["combined"]["rule"]}
    heads = [
        ("Levels", "The scale as it is, A/tie/B, or A/B"),
        ("Two orders", "What a judge's two orders become"),
        ("Length rule", "A slight win of a response longer by more than this is a tie"),
        ("n", ""),
        ("Agreement", ""),
        ("Kappa", ""),
    ]
    rows = []
    for policy in judge["policies"]:
        now = all(policy[key] == rules[key] for key in ("levels", "combine", "length_k"))
        shown = escape(policy["levels"])
        rows.append(
            cell(f"<strong>{shown}</strong> (in force)" if now else shown, policy["levels"])
            + cell(escape(policy["combine"]))
            + cell("none" if policy["length_k"] is None else f"&gt; {policy['length_k']:g}")
            + count_cell(policy["n"])
            + estimate_cell(policy["exact"], percent=True)
            + estimate_cell(policy["kappa"])
        )
    if not rows:
        hint = show_hint("There is nothing to compare: no item has the judge and a consensus of people.")
        return f"<div{of}>{hint}</div>"
    return show_listing(name, show_cells("Rules", heads, rows), of, RULES)


def _curve(value: Value) -> str:
    rows = []
    for judge in value["judges"]:
        test = judge["alt_test"]
        name = show_rater("judge", judge["name"])
        rows += [
            cell(name) + cell(f"{point['epsilon']:g}", point["epsilon"]) + _rate(point["winning_rate"], test["why"])
            for point in test["curve"]
        ] or [cell(name) + cell("–") + cell(show_dash(test["why"] or "undefined"))]
    heads = [("judge", ""), ("ε", "What the judge's cheapness is worth"), ("ω", "Share of people it may replace")]
    meant = (
        "The share of people whom the judge may replace, as its cheapness is worth more; from one half on it passes."
    )
    known = [point["winning_rate"] for judge in value["judges"] for point in judge["alt_test"]["curve"]]
    if all(rate is None for rate in known):
        why = value["judges"][0]["alt_test"]["why"] or "undefined"
        figure = show_hint(f"There is no answer yet: {why}.")
    else:
        figure = show_figure(
            "alt-test", show_both(partial(curve_chart, value["judges"])), show_cells("Curve", heads, rows)
        )
    return show_card("alt-test", "May the judge stand in for a person?", meant, figure)


def _rate(rate: float | None, why: str | None) -> str:
    return cell(show_dash(why or "undefined")) if rate is None else cell(f"{rate:.2f}", rate)


def _corrected(value: Value, judge: Value, of: str, name: str) -> str:
    made = judge["corrected_win_rate"]
    rows: list[tuple[str, Mapping[str, Any]]] = [
        (f"corrected {escape(made['of'])}", made),
        ("people only", made["human_only"]),
        ("judge only (biased)", made["judge_only"]),
    ]
    if "rogan_gladen" in made:
        rows.append(("by the judge's errors (Rogan–Gladen)", made["rogan_gladen"]))
    by_model = [
        (f"<bdi>{escape(model['name'])}</bdi>: {told}", model["by"][judge["name"]][key])
        for model in value["models"]
        for key, told in (("corrected_win_rate", made["of"].split(" of ")[0]), ("corrected_wb_reward", "WB-Reward"))
        if key in model["by"].get(judge["name"], {})
    ]
    table = show_estimates("Corrected", [*rows, *by_model])
    if made["value"] is None:
        why = made.get("why") or "undefined"
        return f"<div{of}>{show_hint(f'There is no corrected number: {why}.')}{show_listing(name, table)}</div>"
    chart = show_both(partial(corrected_chart, judge, value["kind"] == "pairwise"))
    return f'<div{of}>{show_figure(name, chart, table)}<p class="meant">{escape(_assumed(made))}</p></div>'


def _assumed(made: Value) -> str:
    """Return what a corrected number is made of and rests on."""
    equal = "" if made["selection"] == "random" else f", as much as {made['effective']:.0f} of equal chance"
    worth = "" if made["gain"] is None else f" Together with the judge, a label is worth {made['gain']:.2f}."
    without = count(made["unlabelled"], "item")
    return f"{count(made['labelled'], 'label')}{equal}, {without} without.{worth} Assumed: {made['assumption']}."


def _flow(value: Value) -> str:
    flow = value["flow"]
    rows = [cell(escape(step)) + count_cell(number) for step, number in count_flow(value)]
    table = show_cells("Flow of counts", [("step", ""), ("count", "")], rows)
    meant = "How many items are left at each step, from all of them to those with both a judge's and a person's label."
    return show_card(
        "flow", "From sampled to overlapping", meant, show_figure("flow", show_both(partial(flow_chart, flow)), table)
    )


def _held_out(value: Value) -> str:
    split = value["split"]
    heads = [
        ("judge", ""),
        ("protocol", ""),
        ("settings", "What reached the model besides the prompt; unknown where the verdicts came with a file"),
        ("study", "Where it was tried: every study that asks the same questions counts"),
    ]
    rows = [
        cell(show_rater("judge", one["judge"]), one["judge"])
        + cell(f'<span title="{escape(one["protocol_hash"])}">{escape(one["protocol"])}</span>')
        + cell("came with a file" if one["settings"] is None else f"<code>{escape(json.dumps(one['settings']))}</code>")
        + cell(f"<bdi>{escape(', '.join(one['studies']))}</bdi>")
        for one in split["tried"]
    ]
    sizes = split["items"]
    meant = (
        f"The numbers are of the {split['part']} part. The study's seed divides the questions: "
        f"{count(sizes['development'], 'item')} to tune judges on, {count(sizes['test'], 'item')} for the test. "
        "Whatever has a verdict on a test item is listed: of several variants the best looks better than it is."
    )
    title = f"Held out: {count(split['variants'], 'variant')} tried on the test part"
    body = show_listing("held-out", show_cells("Tried on the test part", heads, rows)) if rows else ""
    return show_card("held-out", title, meant, body, wide=True)


def _pairs(value: Value) -> str:
    heads = [("first", ""), ("second", ""), ("n", ""), ("agreement", ""), ("kappa", ""), ("quadratic", ""), ("AC1", "")]
    rows = [_pair(pair) for pair in value["pairs"]]
    table = show_listing("pairs", show_cells("Every two raters", heads, rows, sorts=True))
    meant = "Each rater against each other one, on the items that both have judged."
    folded = f"<details><summary>{count(len(rows), 'pair')}</summary>{table}</details>"
    return show_card("pairs", "Every two raters", meant, folded, wide=True)


def _pair(pair: Value) -> str:
    names: Sequence[tuple[str, str]] = list(zip(pair["kinds"], (pair["a"], pair["b"]), strict=True))
    return (
        "".join(cell(show_rater(kind, name), name) for kind, name in names)
        + count_cell(pair["n"])
        + estimate_cell(pair["exact"], percent=True)
        + "".join(estimate_cell(pair[key]) for key in ("kappa", "kappa_quadratic", "ac1"))
    )


CONFUSION = Own(
    "confusion",
    "Where people and judge differ",
    "How often the judge (columns) gave each label where people's consensus (rows) gave another; press a cell.",
    _confusion,
)
POLICY = Own(
    "policy",
    "How much of it is the rule",
    "The same verdicts under other rules for levels, for a judge's two orders and for length.",
    _policies,
)
CORRECTED = Own(
    "corrected",
    "Corrected by people's labels",
    "The judge on all items, corrected by how far it strays where people have judged too (prediction-powered).",
    _corrected,
)
