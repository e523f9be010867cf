"""How many items a study needs: a small calculator."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from agreement.planning import items_for_share
from judge.domain import AccordError
from ui.notices import count, show_failure
from ui.page import TYPING


@dataclass(frozen=True, slots=True)
class PlanControls:
    """The components of the calculator."""

    share: gr.Number
    width: gr.Number
    people: gr.Number
    answer: gr.HTML


class PlanPanel:
    """From how exact an answer should be to how many items it takes."""

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
        return PlanControls(share, width, people, answer)

    def wire(self, on: PlanControls) -> None:
        """Answer at every change."""
        inputs = [on.share, on.width, on.people]
        for box in inputs:
            box.change(self.answer, inputs, on.answer, **TYPING)

    def answer(self, share: float | None, width: float | None, people: float | None) -> str:
        """Return how many items and verdicts it takes."""
        if share is None or width is None or people is None or not 0 <= share <= 100 or people < 1:
            return show_failure("give an agreement from 0 to 100 %, a width above 0 and at least one person")
        try:
            # An agreement of 0 or 100 % would need no item at all: nobody knows it that well beforehand.
            items = items_for_share(min(max(share / 100, 0.01), 0.99), width / 100)
        except AccordError as error:
            return show_failure(str(error))
        return (
            f'<p role="status"><strong>{count(items, "item")}</strong>, so {count(items * int(people), "verdict")} of '
            "people. Items that belong together (one prompt, several models) count for less: take more of them.</p>"
        )
