"""How many items a study needs: a small calculator, and the whole plan from a study's own verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from agreement.planning import items_for_share
from exchange.planning import Wishes, plan_from_pilot, plan_without_pilot
from judge.domain import AccordError, InputError
from storage.store import Store
from ui.display import escape
from ui.notices import count, show_failure, show_table
from ui.page import TYPING, asked

MISSING = "give an agreement from 0 to 100 %, a width above 0 and at least one person"
SIMULATED: dict[str, Any] = {"queue": False, "show_progress": "minimal", "api_visibility": "private"}


@dataclass(frozen=True, slots=True)
class PlanControls:
    """The components of the calculator."""

    share: gr.Number
    width: gr.Number
    people: gr.Number
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
            answer = gr.HTML(self.answer(70, 5, 3), apply_default_css=False, elem_id="plan-answer")
            whole = gr.Button("Plan kappa, judges and tests too", variant="secondary", elem_id="plan-whole")
            told = gr.HTML("", apply_default_css=False, elem_id="plan-told")
        return PlanControls(share, width, people, answer, whole, told)

    def wire(self, on: PlanControls) -> None:
        """Answer at every change."""
        inputs = [on.share, on.width, on.people]
        for box in inputs:
            box.change(self.answer, inputs, on.answer, **TYPING)
        on.whole.click(self.plan, inputs, on.told, **SIMULATED)

    def answer(self, share: float | None, width: float | None, people: float | None) -> str:
        """Return how many items and verdicts it takes."""
        if share is None or width is None or people is None or _out_of_range(share, width, people):
            return show_failure(MISSING)
        # An agreement of 0 or 100 % would need no item at all: nobody knows it that well beforehand.
        items = items_for_share(min(max(share / 100, 0.01), 0.99), width / 100)
        return (
            f'<p role="status"><strong>{count(items, "item")}</strong>, so {count(items * int(people), "verdict")} of '
            "people. Items that belong together (one prompt, several models) count for less: take more of them.</p>"
        )

    def plan(self, share: float | None, width: float | None, people: float | None, request: gr.Request) -> str:
        """Return the whole plan: from the verdicts of the study in the address, or else from what is expected."""
        if share is None or width is None or people is None or _out_of_range(share, width, people):
            return show_failure(MISSING)
        wishes = Wishes(width=width / 100, annotators=max(2, int(people)), judge=share / 100)
        study = asked(request, "study")
        try:
            return show_plan(self._learned(study, wishes) or plan_without_pilot(wishes))
        except AccordError as error:
            return show_failure(str(error))

    def _learned(self, study: str, wishes: Wishes) -> dict[str, Any] | None:
        """Return the plan from a study's verdicts, if one is chosen and two raters have worked in it."""
        try:
            return plan_from_pilot(self.store, study, wishes) if study else None
        except InputError:
            return None


def _out_of_range(share: float, width: float, people: float) -> bool:
    return not (0 <= share <= 100 and width > 0 and people >= 1)


def show_plan(value: dict[str, Any]) -> str:
    """Return a plan as a table of items by width, and what the tests would need."""
    pilot = value["source"] == "pilot"
    source = (
        "the verdicts of this study"
        if pilot
        else "what is expected: no study is chosen whose raters have items in common"
    )
    widths = [need["half_width"] for need in value["kappa"][0]["needed"]]
    heads = [("Items to know", ""), *((f"± {100 * width:g}", "points, half of a 95 % interval") for width in widths)]
    rows: list[list[str]] = []
    for made in value["kappa"]:
        of, how = (f", {escape(made['of'])}", "now") if pilot else ("", "if")
        kappa = "–" if made["kappa"] is None else f"{made['kappa']:.2f}"
        rows.append([f"kappa{of} ({how} {kappa})", *(_number(need["items"]) for need in made["needed"])])
        share = f"agreement{of} ({how} {made['agreement']:.0%})"
        rows.append([share, *(_number(need["items_for_agreement"]) for need in made["needed"])])
    labels = value["prediction_powered"]
    if not labels["why"]:
        told = f"a win rate, if a judge reads many more (correlation {labels['correlation']:.2f})"
        rows.append([told, *(_number(need["labels"]) for need in labels["needed"])])
    table = show_table(heads, rows, "Items needed")
    return f"<p>From {source}:</p>{table}{_test(value)}{_difference(value)}<p>{escape(value['advice'])}</p>"


def _number(items: int | None) -> str:
    return "–" if items is None else f"{items:,}"


def _test(value: dict[str, Any]) -> str:
    test = value["alt_test"]
    told = count(test["items"], "item") if test["items"] else f"not within reach ({escape(test['why'])})"
    return f"<p>To pass the alternative annotator test in {value['wishes']['power']:.0%} of such studies: {told}.</p>"


def _difference(value: dict[str, Any]) -> str:
    two = value["two_judges"]
    told = count(two["items"], "item") if two["items"] else f"not within reach ({escape(two['why'])})"
    return f"<p>To tell two judges apart whose accuracies differ by {100 * two['difference']:g} points: {told}.</p>"
