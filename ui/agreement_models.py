"""The cards of the agreement page that speak of the models: who is stronger, at which tasks, by which rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from exchange.charts import strength_chart
from exchange.figures import write_ranks
from exchange.glossary import MEANINGS
from exchange.model_tables import length_rule, list_curves, rule_in_force, source_of, tabulate_models, tabulate_terms
from ui.agreement_parts import (
    cell,
    count_cell,
    estimate_cell,
    show_both,
    show_card,
    show_cells,
    show_dash,
    show_figure,
    show_glossary,
    show_listing,
    show_rater,
    show_texts,
)
from ui.display import escape

Value = dict[str, Any]


def list_model_cards(value: Value) -> Iterator[str]:
    """Yield the cards there are numbers for."""
    if value["models"] and value["kind"] == "pairwise":
        yield _models(value)
        yield _terms(value)
        yield from _rules(value)
        yield from _baselines(value)
    elif value["models"]:
        yield _means(value)
    yield from _tasks(value)


def _means(value: Value) -> str:
    meant = f"The mean of the scores that {source_of(value)} gave the responses of each model."
    return show_card("models", "Models (mean score)", meant, show_texts("models", tabulate_models(value)))


def _models(value: Value) -> str:
    source = source_of(value)
    heads = [
        ("model", ""),
        ("n", ""),
        ("WB-Reward", "Mean reward: 1 a strong win, 0.5 a slight one, 0 a tie, and negative for losses"),
        ("win rate", "A tie is half a win"),
        ("at equal length", MEANINGS["win rate at equal length"]),
        ("strength", "Bradley–Terry: the log odds of winning against the mean model"),
        ("rank", "Interval of ranks"),
    ]
    rows = [
        cell(f"<bdi>{escape(model['name'])}</bdi>")
        + count_cell(model["n"])
        + estimate_cell(model["wb_reward"])
        + "".join(estimate_cell(model[key], percent=True) for key in ("win_rate", "length_controlled_win_rate"))
        + estimate_cell(model["bradley_terry"])
        + _rank(model["bradley_terry"])
        for model in value["models"]
    ]
    table = show_cells("Models", heads, rows)
    meant = f"How strong each model is by the verdicts of {source}, from who beat whom; ranks with their intervals."
    if all(model["bradley_terry"]["value"] is None for model in value["models"]):
        return show_card("models", "Models (Bradley–Terry)", meant, show_listing("models", table))
    figure = show_figure("models", show_both(partial(strength_chart, value["models"])), table)
    meanings = show_glossary({name: told for name, told in heads if told})
    return show_card("models", "Models (Bradley–Terry)", meant, figure + meanings)


def _terms(value: Value) -> str:
    meant = "What being shown first and being longer add to the log odds of winning; 0 is no lean."
    table = show_texts("terms", tabulate_terms(value))
    return show_card("terms", "At equal strength of the models", meant, table)


def _rank(strength: Value) -> str:
    shown = write_ranks(strength.get("rank"))
    return cell(shown or show_dash(strength.get("rank_why") or "no strength, no rank"))


def _tasks(value: Value) -> Iterator[str]:
    known = [model for model in value["models"] if model["tasks"]["groups"]]
    if not known:
        return
    groups = list(known[0]["tasks"]["groups"])
    heads = [("model", ""), *((name, "") for name in groups), ("weighted", "Macro average, weighted as WildBench does")]
    rows = [
        cell(f"<bdi>{escape(model['name'])}</bdi>", model["name"])
        + "".join(estimate_cell(model["tasks"]["groups"][name], counted=True) for name in groups)
        + estimate_cell(model["tasks"]["macro"], counted=True)
        for model in known
    ]
    what = "WB-Reward" if value["kind"] == "pairwise" else "mean score"
    limit, outside = rule_in_force(value), sum(model["tasks"]["left_out"] for model in known)
    ruled = f" Length rule: {length_rule(limit)}." if value["kind"] == "pairwise" else ""
    meant = (
        f"The {what} by {source_of(value)} in each of WildBench's task groups; an item counts once in each group that "
        f"one of its tags falls into.{ruled} Verdicts on items without such a tag: {outside}."
    )
    table = show_listing("tasks", show_cells("Task groups", heads, rows, sorts=True))
    yield show_card("tasks", f"{what[0].upper()}{what[1:]} by task", meant, table, wide=True)


def _rules(value: Value) -> Iterator[str]:
    known = list_curves(value)
    if not known:
        return
    rules = ((length_rule(point["length_k"]), "") for point in known[0][2])
    heads = [("judge", ""), ("model", ""), ("n", ""), *rules]
    rows = [
        cell(show_rater("judge", judge), judge)
        + cell(f"<bdi>{escape(model)}</bdi>", model)
        + count_cell(curve[0]["n"])
        + "".join(estimate_cell(point) for point in curve)
        for judge, model, curve in known
    ]
    meant = "The WB-Reward by each judge when its slight win of what is longer by more than K characters is a tie."
    table = show_listing("length-rules", show_cells("Length rules", heads, rows))
    yield show_card("length-rules", "WB-Reward by length rule", meant, table, wide=True)


def _baselines(value: Value) -> Iterator[str]:
    heads = [("model", ""), ("against", ""), ("n", ""), ("WB-Reward", "")]
    rows = []
    for model in value["models"]:
        found = model["baselines"]
        if len(found["against"]) < 2:
            continue
        for other, made in [*found["against"].items(), ("mean of these", found["mix"])]:
            names = "".join(cell(f"<bdi>{escape(name)}</bdi>", name) for name in (model["name"], other))
            rows.append(names + count_cell(made["n"]) + estimate_cell(made))
    if rows:
        meant = f"The WB-Reward by {source_of(value)} against each model met, and their mean (WildBench's mix)."
        table = show_listing("baselines", show_cells("Baselines", heads, rows, sorts=True))
        yield show_card("baselines", "WB-Reward against each model", meant, table)
