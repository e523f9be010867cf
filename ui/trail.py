"""The trail on a page: who signed in, saw, exported or changed what, in pages, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gradio as gr

from exchange.trail import TOLD, kinds_of, tell
from judge.domain import AccordError
from storage.store import Store
from storage.trail import Entry, TrailSearch
from ui.display import escape
from ui.items import SCRIPT
from ui.notices import show_failure, show_hint, show_moment, show_table
from ui.page import INSTANT, TYPING, on_choice

PAGE = 50
EVERYTHING = "everything"
NOBODY = '<span class="muted" title="Nobody had to sign in">–</span>'


@dataclass(frozen=True, slots=True)
class TrailControls:
    """The components of the trail."""

    what: gr.Dropdown
    who: gr.Textbox
    lines: gr.HTML


class TrailPanel:
    """The trail, filtered and paged."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def layout(self) -> TrailControls:
        """Put the filters and the lines on the page."""
        with gr.Row():
            what = gr.Dropdown(
                [(EVERYTHING.capitalize(), ""), *((group.capitalize(), group) for group in TOLD)],
                value="",
                label="What",
                filterable=False,
                elem_id="trail-what",
            )
            who = gr.Textbox(label="Who", placeholder="the whole name", max_lines=1, elem_id="trail-who")
        lines = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="trail")
        return TrailControls(what, who, lines)

    def wire(self, on: TrailControls) -> None:
        """Connect the filters and the pager."""
        filters = [on.what, on.who]
        on_choice(on.what, self.search, filters, on.lines)
        on.who.change(self.search, filters, on.lines, **TYPING)
        on.lines.turn(self.turn, filters, on.lines, **INSTANT)

    def search(self, what: str | None, who: str | None) -> str:
        """Return the newest lines that the filters leave."""
        return self.show(what or "", who or "", [""])

    def turn(self, what: str | None, who: str | None, event: gr.EventData) -> str:
        """Return another page; where the pages before it began comes from the page that was left."""
        starts = [start for start in str(event.starts).split(",")[-10_000:] if start.isdecimal() or not start]
        return self.show(what or "", who or "", starts or [""])

    def show(self, what: str, who: str, starts: Sequence[str]) -> str:
        """Return a page of lines: those before the number that the last start is, or the newest."""
        try:
            before = int(starts[-1][:18]) if starts[-1] else None
            found = self.store.trail(TrailSearch(kinds_of(what), who.strip()), before, PAGE + 1)
        except AccordError as error:
            return show_failure(str(error))
        return show_lines(found, starts)


def show_lines(found: Sequence[Entry], starts: Sequence[str]) -> str:
    """Return lines as a table, and the ways to newer and older ones."""
    if not found:
        return show_hint("Nothing of the kind has been written down.")
    shown = found[:PAGE]
    heads = [("When", "In your own time zone"), ("Who", "The account, or the annotator"), ("Study", ""), ("What", "")]
    table = show_table(heads, [_row(entry) for entry in shown], "Trail")
    newer, older = ",".join(starts[:-1]), ",".join((*starts, str(shown[-1].id)))
    return (
        f'{table}<nav class="pager" aria-label="Pages of the trail">'
        f'<button type="button" data-starts="{newer}"{"" if len(starts) > 1 else " disabled"}>Newer</button>'
        f'<button type="button" data-starts="{older}"{"" if len(found) > PAGE else " disabled"}>Older</button></nav>'
    )


def _row(entry: Entry) -> list[str]:
    who = f"<bdi>{escape(entry.who)}</bdi>" if entry.who else NOBODY
    study = f"<bdi>{escape(entry.study)}</bdi>" if entry.study else ""
    return [show_moment(entry.at), who, study, f"<bdi>{escape(tell(entry))}</bdi>"]
