"""How many items a study needs: a small calculator, and the whole plan from a study's own verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from agreement.planning import items_for_share
from exchange.figures import write_percent
from exchange.panel import Options
from exchange.plan_told import kinds_of, tell_test, tell_value
from exchange.planning import Wishes, plan_from_pilot, plan_without_pilot
from judge.domain import AccordError, InputError
from storage.store import Store
from ui.agreement_rules import CHOICES, Choice, read_rules
from ui.display import escape
from ui.notices import count, show_failure, show_table
from ui.page import TYPING, asked, fall_silent, say_at_once

WITHOUT = "labels_without_judge"
MISSING = "give an agreement from 0 to 100 %, a width above 0 and at least one person"
PILOT_RULES = tuple(choice for choice in CHOICES if choice.name in ("levels", "combine"))
SIMULATED: dict[str, Any] = {"queue": False, "show_progress": "minimal", "api_visibility": "private"}


@dataclass(frozen=True, slots=True)
class PlanControls:
    """The components of the calculator."""

    share: gr.Number
    width: gr.Number
    people: gr.Number
    rules: tuple[gr.Dropdown, ...]
    answer: gr.HTML
    whole: gr.Button
    told: gr.HTML


class PlanPanel:
    """From how exact an answer should be to how many items it takes."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def layout(self) -> PlanControls:
        """Put the calculator on the page with an answer to the usual question."""
        with gr.Accordion("How many items do I need?", open=False, elem_id="plan"):
            with gr.Row():
                share = gr.Number(
                    70,
                    label="Expected agreement, %",
                    info="How often a judge and a person will say the same; 50 is the cautious guess.",
                    minimum=0,
                    maximum=100,
                )
                width = gr.Number(
                    5,
                    label="Known to within, ± points",
                    info="Half the width of the 95 % interval that you can live with.",
                    minimum=0.1,
                    maximum=50,
                )
                people = gr.Number(
                    3, label="People per item (N)", info="Each item is judged by this many.", minimum=1, precision=0
                )
            with gr.Row():
                rules = tuple(_choose(choice) for choice in PILOT_RULES)
            answer = gr.HTML(self.answer(70, 5, 3), apply_default_css=False, elem_id="plan-answer")
            whole = gr.Button("Plan kappa, judges and tests too", variant="secondary", elem_id="plan-whole")
            told = gr.HTML("", apply_default_css=False, elem_id="plan-told")
        return PlanControls(share, width, people, rules, answer, whole, told)

    def wire(self, on: PlanControls) -> None:
        """Answer at every change."""
        inputs = [on.share, on.width, on.people]
        for box in inputs:
            box.change(self.answer, inputs, on.answer, **TYPING)
        say_at_once(on.whole.click, on.told, "Planning: the tests are simulated, which takes some seconds …")
        planned = on.whole.click(self.plan, [*inputs, *on.rules], on.told, **SIMULATED)
        fall_silent(planned, on.told)

    def answer(self, share: float | None, width: float | None, people: float | None) -> str:
        """Return how many items and verdicts it takes."""
        if share is None or width is None or people is None or _out_of_range(share, width, people):
            return show_failure(MISSING)
        items = items_for_share(_expected(share), width / 100)
        return (
            f'<p role="status"><strong>{count(items, "item")}</strong>, so {count(items * int(people), "verdict")} of '
            "people. Items that belong together (one prompt, several models) count for less: take more of them.</p>"
        )

    def plan(
        self, request: gr.Request, share: float | None, width: float | None, people: float | None, *rules: str
    ) -> str:
        """Return the whole plan: from the verdicts of the study in the address, or else from what is expected."""
        if share is None or width is None or people is None or _out_of_range(share, width, people):
            return show_failure(MISSING)
        wishes = Wishes(width / 100, _kappa_of(_expected(share)), annotators=max(2, int(people)), judge=share / 100)
        named = {choice.name: [value] for choice, value in zip(PILOT_RULES, rules, strict=True)}
        try:
            options = read_rules(named)
            return show_plan(self._learned(asked(request, "study"), wishes, options) or plan_without_pilot(wishes))
        except AccordError as error:
            return show_failure(str(error))

    def _learned(self, study: str, wishes: Wishes, options: Options) -> dict[str, Any] | None:
        """Return the plan from a study's verdicts, if one is chosen and two raters have worked in it."""
        try:
            return plan_from_pilot(self.store, study, wishes, options) if study else None
        except InputError:
            return None


def _choose(choice: Choice) -> gr.Dropdown:
    options = [(told, value) for value, told in choice.values.items()]
    return gr.Dropdown(
        options, value=options[0][1], label=choice.label, info="Of the study that is open.", filterable=False
    )


def _out_of_range(share: float, width: float, people: float) -> bool:
    return not (0 <= share <= 100 and width > 0 and people >= 1)


def _expected(share: float) -> float:
    """Return an agreement in percent as a share: 0 or 100 % would need no item, and nobody knows it that well."""
    return min(max(share / 100, 0.01), 0.99)


def _kappa_of(share: float) -> float:
    """Return the kappa of an agreement between two raters who use all labels alike, none that is below chance."""
    chance = 1 / Wishes().labels
    return max(0.0, (share - chance) / (1 - chance))


def show_plan(value: dict[str, Any]) -> str:
    """Return a plan as a table of items by width, and what the tests would need."""
    pilot = value["source"] == "pilot"
    source = (
        "the verdicts of this study"
        if pilot
        else "what is expected: no study is chosen whose raters have items in common"
    )
    widths = [need["half_width"] for need in value["kappa"][0]["needed"]]
    heads = [
        ("Items to know, to within ± points", "A point is 1 % of agreement, or 0.01 of kappa"),
        *((f"± {100 * width:g}", "points, half of a 95 % interval") for width in widths),
    ]
    rows: list[list[str]] = []
    for made in value["kappa"]:
        of, how = (f", {escape(made['of'])}", "now") if pilot else ("", "if")
        for name, key, told in kinds_of(made):
            rows.append(
                [f"{told}{of} ({how} {tell_value(made, name)})", *(_number(need[key]) for need in made["needed"])]
            )
    labels = value["prediction_powered"]
    # A mean score is known to within points of its own scale: it has no place among shares and kappas.
    if not labels["why"] and value["mean_score"] is None:
        rows.append([f"{labels['of']}, by people alone", *(_number(need[WITHOUT]) for need in labels["needed"])])
        rows.append([f"{labels['of']}, {_with_judge(labels)}", *(_number(need["labels"]) for need in labels["needed"])])
    table = show_table(heads, rows, "Items needed")
    parts = [f"<p>From {source}:</p>", table, _scores(value), _test(value), _by_people(value), _difference(value)]
    return f"{''.join(parts)}<p>{escape(value['advice'])}</p>"


def _with_judge(labels: dict[str, Any]) -> str:
    return f"if a judge reads many more (correlation {labels['correlation']:.2f})"


def _scores(value: dict[str, Any]) -> str:
    """Return the items for a mean score, whose widths are points of its own scale."""
    mean, labels = value["mean_score"], value["prediction_powered"]
    if mean is None:
        return ""

    def needed(needs: list[dict[str, Any]], key: str) -> str:
        return "; ".join(f"{_number(need[key])} for ± {need['half_width']:g}" for need in needs)

    helped = "" if labels["why"] else f" {_with_judge(labels).capitalize()}: {needed(labels['needed'], 'labels')}."
    return (
        f"<p>Items for a mean score, in points of its scale (standard deviation {mean['sd']:.2f}): "
        f"{needed(mean['needed'], 'items')}.{helped}</p>"
    )


def _number(items: int | None) -> str:
    return "–" if items is None else f"{items:,}"


def _test(value: dict[str, Any]) -> str:
    told, often = escape(tell_test(value["alt_test"])), write_percent(value["wishes"]["power"])
    margin = f"with the margin ε {value['alt_test']['epsilon']:g}"
    return f"<p>To pass the alternative annotator test in {often} of such studies, {margin}: {told}.</p>"


def _by_people(value: dict[str, Any]) -> str:
    """Return what more people per item buy."""
    if not value["by_annotators"]:
        return ""
    width = value["wishes"]["width"]
    heads = [
        ("People per item", ""),
        (f"Items for ± {100 * width:g}", "points of a judge's agreement with them"),
        ("Verdicts", "of people, for that"),
        ("To pass the test", "the alternative annotator test"),
    ]
    rows = []
    for row in value["by_annotators"]:
        need = next(need for need in row["needed"] if need["half_width"] == width)
        test = escape(tell_test(row["alt_test"]))
        rows.append([str(row["annotators"]), _number(need["items"]), _number(need["verdicts"]), test])
    return show_table(heads, rows, "People per item")


def _difference(value: dict[str, Any]) -> str:
    two = value["two_judges"]
    told = count(two["items"], "item") if two["items"] else f"not within reach ({escape(two['why'])})"
    assumed = f"if exactly one of them is right on {write_percent(two['discordance'])}"
    return (
        f"<p>To tell two judges apart whose accuracies differ by {100 * two['difference']:g} points, in "
        f"{write_percent(two['power'])} of such studies and {assumed}: {told}.</p>"
    )
