"""Who annotates a study: the link that invites them, and how each of them works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from exchange.figures import write_decimal, write_percent
from judge.domain import LONGEST_NAME, AccordError, Kind, Study
from storage.overviews import LATEST, Annotator, Places
from storage.store import Store
from ui.display import escape
from ui.items import SCRIPT
from ui.notices import count, show_address, show_failure, show_hint, show_moment, show_table
from ui.page import INSTANT, TYPING, asked

MOST_NAMES = 200


@dataclass(frozen=True, slots=True)
class AnnotatorControls:
    """The components of the annotators' panel."""

    names: gr.Textbox
    links: gr.HTML
    refresh: gr.Button
    people: gr.HTML


class AnnotatorsPanel:
    """Inviting people and following their work."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def layout(self) -> AnnotatorControls:
        """Put the invitation and the table of people on the page."""
        gr.HTML("<h2>Invite</h2>", apply_default_css=False)
        with gr.Row(elem_classes="invite"):
            with gr.Column(scale=2, min_width=280):
                names = gr.Textbox(
                    label="Names, one a line (optional)",
                    info="Each gets a link with the name filled in. Where nobody signs in, a name is only a name, and "
                    "whoever has a link can use it; with accounts, the account’s name counts.",
                    lines=4,
                    max_lines=12,
                    elem_id="invite-names",
                )
            with gr.Column(scale=3, min_width=320):
                links = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="invite-links")
        gr.HTML("<h2>Progress</h2>", apply_default_css=False)
        people = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="people")
        refresh = gr.Button("Refresh", size="sm", scale=0, elem_classes="quiet")
        return AnnotatorControls(names, links, refresh, people)

    def wire(self, on: AnnotatorControls) -> None:
        """Connect the names with their links, and the table with the moment."""
        on.names.change(self.invite, on.names, on.links, **TYPING)
        on.refresh.click(self.follow, None, on.people, **INSTANT)

    @staticmethod
    def outputs(on: AnnotatorControls) -> list[Any]:
        """Return the components that `show` fills."""
        return [on.links, on.people]

    def show(self, study: str) -> tuple[str, str]:
        """Return the study's own link and how everyone is doing."""
        return show_links(study, []), self._people(study)

    def invite(self, names: str, request: gr.Request) -> str:
        """Return a link for each name."""
        lines = list(dict.fromkeys(line.strip() for line in names.splitlines() if line.strip()))
        study = asked(request, "study")
        if len(lines) > MOST_NAMES:
            return show_failure(f"these are {len(lines)} names: invite at most {MOST_NAMES} at a time")
        too_long = [line for line in lines if len(line) > LONGEST_NAME]
        if too_long:
            return show_failure(f"{too_long[0][:40]}… is too long: a name has at most {LONGEST_NAME} characters")
        return show_links(study, lines)

    def follow(self, request: gr.Request) -> str:
        """Return how everyone is doing now."""
        return self._people(asked(request, "study"))

    def _people(self, study: str) -> str:
        try:
            people, places = self.store.annotators(study)
            return show_people(people, places, self.store.study(study))
        except AccordError as error:
            return show_failure(str(error))


def show_links(study: str, names: Sequence[str]) -> str:
    """Return the link for everybody, or one for each name, to be copied."""
    addresses = {name: show_address("/", study=study, annotator=name) for name in names}
    rows = "".join(
        f'<li data-copied><bdi class="id">{escape(name)}</bdi>{address}'
        f'<button type="button" class="copy" aria-label="Copy the link: {escape(name)}">Copy</button></li>'
        for name, address in (addresses or {"Everybody": show_address("/", study=study)}).items()
    )
    every = '<button type="button" class="copy">Copy all links</button>' if len(names) > 1 else ""
    return f'<div class="links" data-copied><ul>{rows}</ul>{every}</div>'


def show_people(people: Sequence[Annotator], places: Places, study: Study) -> str:
    """Return how each person works, and how much is left to do."""
    left = (
        f"Places are free on {places.items:,} of {count(study.items, 'item')}; "
        f"{count(places.held, 'item')} held by somebody at the moment."
    )
    if not people:
        return show_hint(f"Nobody has started yet. Send the link above. {left}")
    heads = [
        ("Annotator", "A person, by the name they gave"),
        ("Done", f"Of {study.items:,} items"),
        ("Skipped", "Items given back without a verdict"),
        ("Repeats", "Hidden repeats answered"),
        ("Median seconds", f"How long an item was shown, over the latest {LATEST} verdicts"),
        _leaning_head(study.protocol.kind),
        ("Last active", "In your own time zone"),
    ]
    rows = [_person(person, study) for person in people]
    return show_table(heads, rows, "Annotators") + f'<p class="muted">{escape(left)}</p>'


def _leaning_head(kind: Kind) -> tuple[str, str]:
    if kind == "direct":
        return "Mean score", f"Over the latest {LATEST} verdicts"
    told = (
        f"Of the latest {LATEST} verdicts that prefer a side, the share for the one shown as A: near 50 % is expected"
    )
    return "A chosen", told


def _person(person: Annotator, study: Study) -> list[str]:
    direct = study.protocol.kind == "direct"
    leaning = (
        "–" if person.leaning is None else write_decimal(person.leaning) if direct else write_percent(person.leaning)
    )
    return [
        f'<span class="sign" aria-hidden="true">●</span> <bdi>{escape(person.name)}</bdi>',
        f"{person.done:,}",
        f"{person.skipped:,}",
        f"{person.repeats:,}",
        "–" if person.seconds is None else f"{person.seconds:.0f}",
        leaning,
        show_moment(person.last),
    ]
