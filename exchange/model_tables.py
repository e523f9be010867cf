"""What the verdicts say of the models, as tables: strengths, tasks, length rules, baselines, corrected numbers."""

from __future__ import annotations

from typing import Any

from exchange.figures import write_count, write_decimal, write_ranks
from exchange.grid import Table
from exchange.sentences import Told, told


def list_model_tables(value: dict[str, Any]) -> tuple[Table, ...]:
    """Return the tables that speak of models."""
    told_of = _corrected_models(value), tabulate_models(value), _strengths_otherwise(value), tabulate_terms(value)
    return *told_of, tabulate_tasks(value), _curve(value), _baselines(value)


def source_of(value: dict[str, Any]) -> str:
    """Return who speaks of the models, for a title."""
    found = value["models"][0]["source"] if value["models"] else "humans"
    return "people" if found == "humans" else str(found)


def length_rule(limit: float | None) -> str:
    """Return the name of a length rule."""
    return "no rule" if limit is None else f"K = {limit:g}"


def rule_in_force(value: dict[str, Any]) -> float | None:
    """Return the length rule that the models' numbers follow: people's verdicts follow none."""
    limit: float | None = value["options"]["length_k"]
    return None if source_of(value) == "people" else limit


def tabulate_terms(value: dict[str, Any]) -> Table:
    """Return what the first position and length add to the log odds of winning, the models' strengths held fixed."""
    sources = value["ranking"]["by"] if value["ranking"] and value["kind"] == "pairwise" else {}
    rows = [
        [
            "● people" if source == "humans" else f"◆ {source}",
            told(found["terms"]["side"]),
            told(found["terms"]["length"]),
            write_count(found["terms"]["side"]["n"]),
        ]
        for source, found in sources.items()
    ]
    head = ["by", "shown first", "longer, per standard deviation", "verdicts"]
    return Table("Log odds of winning at equal strength of the models", head, rows)


def tabulate_tasks(value: dict[str, Any]) -> Table:
    """Return each model's mean in WildBench's task groups and their weighted macro average."""
    what = "WB-Reward" if value["kind"] == "pairwise" else "mean score"
    limit = rule_in_force(value)
    ruled = f", {length_rule(limit)}" if limit is not None and value["kind"] == "pairwise" else ""
    known = [model for model in value["models"] if model["tasks"]["groups"]]
    groups = list(known[0]["tasks"]["groups"]) if known else []
    rows = [
        [
            model["name"],
            *(_with_count(model["tasks"]["groups"][name]) for name in groups),
            _with_count(model["tasks"]["macro"]),
        ]
        for model in known
    ]
    title = f"{what} by task group{ruled}, by {source_of(value)}"
    return Table(title, ["model", *groups, "weighted macro average"], rows)


def _with_count(made: dict[str, Any]) -> Told:
    shown = told(made)
    return shown if made["value"] is None else Told(f"{shown} (n {made['n']})", shown.why)


def list_curves(value: dict[str, Any]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return judge, model and WB-Reward under each length rule: the rule is for judges, never for people."""
    found = [
        (judge["name"], model["name"], model["by"][judge["name"]].get("length_curve"))
        for judge in value["judges"]
        for model in value["models"]
    ]
    return [curve for curve in found if curve[2]]


def _curve(value: dict[str, Any]) -> Table:
    known = list_curves(value)
    rules = [length_rule(point["length_k"]) for point in known[0][2]] if known else []
    rows = [
        [f"◆ {judge}", model, write_count(curve[0]["n"]), *(told(point) for point in curve)]
        for judge, model, curve in known
    ]
    return Table("WB-Reward by length rule", ["judge", "model", "n", *rules], rows)


def _baselines(value: dict[str, Any]) -> Table:
    head = ["model", "against", "n", "WB-Reward"]
    rows = []
    for model in value["models"]:
        against = model.get("baselines", {}).get("against", {})
        if len(against) < 2:  # against one alone the table of models has it
            continue
        rows += [[model["name"], other, write_count(made["n"]), told(made)] for other, made in against.items()]
        mix = model["baselines"]["mix"]
        rows.append([model["name"], "mean of these", write_count(mix["n"]), told(mix)])
    return Table(f"WB-Reward against each model, by {source_of(value)}", head, rows)


def _corrected_models(value: dict[str, Any]) -> Table:
    percent = value["kind"] == "pairwise"
    head = ["judge", "model", "labels", "corrected", "people only", "judge only (biased)"]
    rows = []
    for judge in value["judges"]:
        for model in value["models"]:
            found = model["by"][judge["name"]]
            made = found.get("corrected_win_rate")
            if made:
                shown = [told(part, percent=percent) for part in (made, made["human_only"], made["judge_only"])]
                reward = [told(found["corrected_wb_reward"])] if percent else []
                rows.append([f"◆ {judge['name']}", model["name"], write_count(made["labelled"]), *shown, *reward])
    if percent:
        return Table("Models' win rates, corrected by people's labels", [*head, "corrected WB-Reward"], rows)
    return Table("Models' mean scores, corrected by people's labels", head, rows)


def _strengths_otherwise(value: dict[str, Any]) -> Table:
    """Return the strengths on the Elo scale, and those of a model in which a tie is an outcome of its own."""
    fitted = (value["ranking"] or {}).get("davidson")
    if fitted is None or fitted["nu"] is None:
        return Table("Strengths, told otherwise", [], [])
    rows = [
        [model["name"], told(model["bradley_terry"]["elo"]), _point(strength)]
        for model, strength in zip(value["models"], fitted["strengths"], strict=True)
        if "elo" in model["bradley_terry"]
    ]
    head = ["model", "Elo", f"Davidson (nu {fitted['nu']:.2f})"]
    return Table(f"Strengths, told otherwise, by {source_of(value)}", head, rows)


def _point(number: float | None) -> Told:
    return Told("–", "no verdict sets it against another model") if number is None else Told(write_decimal(number))


def tabulate_models(value: dict[str, Any]) -> Table:
    """Return how good each model is: its mean score, or its reward, how often it wins, its strength and its rank."""
    if value["kind"] == "direct":
        return _tabulate_means(value)
    head = ["model", "n", "WB-Reward", "win rate", "win rate at equal length", "Bradley–Terry", "rank"]
    rows = []
    for model in value["models"]:
        strength = model["bradley_terry"]
        why = strength.get("rank_why") or strength.get("why", "undefined")
        rank = write_ranks(strength.get("rank")) or Told("–", why)
        rows.append(
            [
                model["name"],
                write_count(model["n"]),
                told(model["wb_reward"]),
                *(told(model[key], percent=True) for key in ("win_rate", "length_controlled_win_rate")),
                told(strength),
                rank,
            ]
        )
    return Table(f"Models, by {source_of(value)}", head, rows)


def _tabulate_means(value: dict[str, Any]) -> Table:
    names = {"mean_score": "mean score", "wb_score": "WB-Score"}
    if all(model["wb_score"]["value"] is None for model in value["models"]):
        del names["wb_score"]  # it is of scores from 1 to 10
    rows = [[model["name"], write_count(model["n"]), *(told(model[key]) for key in names)] for model in value["models"]]
    return Table(f"Models, by {source_of(value)}", ["model", "n", *names.values()], rows)
