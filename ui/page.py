"""What all pages share: their settings, the header, and the doors their scripts call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import gradio as gr
from gradio.context import Context

from judge import protocol
from ui.display import escape
from ui.gate import FOR_ADMINS
from ui.theme import ICON

FOLDER = Path(__file__).parent
HEADER_SCRIPT = (FOLDER / "header.js").read_text(encoding="utf-8")
CURRENT = ' aria-current="page"'
# An event that changes what is shown and nothing else: quick, unseen, and not part of the public API.
INSTANT: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
TYPING: dict[str, Any] = {**INSTANT, "trigger_mode": "always_last"}
# One list is open at a time, so one place keeps what was chosen in it before.
REMEMBER_CHOICE = "value => { window.chosenBefore = value; return []; }"
# An error of a script ends the event before anything is sent, and is not shown.
ONLY_A_NEW_CHOICE = """(...values) => {
    if (values[%d] === window.chosenBefore) throw new Error("nothing else was chosen");
    window.chosenBefore = values[%d];
    return values;
}"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the person who starts the server decides."""

    protocols: Mapping[str, protocol.Protocol]
    weights: Path | None = None  # another GGUF file for the embedded judge


class Page(Protocol):
    """A page: its name in the header, its path, its components and their connections."""

    title: str
    path: str

    def layout(self) -> Any:
        """Put the components on the page and return those that take part in an event."""

    def wire(self, on: Any) -> None:
        """Connect the components with the handlers."""


def put_header(page: Page, pages: Sequence[Page]) -> None:
    """Put the top of a page: brand, study, the way to the other pages, who one is.

    Whether somebody is an admin is known only once the page is there: until then, what is theirs is hidden.
    """
    links = "".join(
        f'<a data-path="{escape(each.path)}" href="{escape(each.path)}"'
        f"{CURRENT if each is page else ''}{' hidden' if each.path in FOR_ADMINS else ''}>{escape(each.title)}</a>"
        for each in pages
    )
    gr.HTML(
        f'<header class="masthead"><span class="brand">{ICON.read_text(encoding="utf-8")}Accord</span>'
        f'<h1 class="unseen">{escape(page.title)}</h1>'
        '<label class="study" hidden><span>Study</span> <select aria-label="Study"></select></label>'
        f'<nav aria-label="Pages">{links}</nav>'
        '<button type="button" class="who" title="Change who annotates" hidden></button></header>',
        page=page.title,
        path=page.path,
        apply_default_css=False,
        js_on_load=HEADER_SCRIPT,
    )


def open_door(handler: Callable[..., Any], name: str) -> None:
    """Let the pages' scripts call a handler by its name, as JSON over a plain POST.

    Gradio gives back what the handler's annotation says it returns: without one, nothing.
    """
    gr.api(handler, api_name=name, queue=False, api_visibility="private")
    Context.root_block.doors[name] = handler


def on_load(handler: Callable[..., Any], outputs: Sequence[Any]) -> None:
    """Fill components when the page around is opened: what is set at build time is the same for everyone."""
    Context.root_block.load(handler, None, list(outputs), **INSTANT)


def on_choice(
    listed: gr.Dropdown,
    handler: Callable[..., Any],
    inputs: Sequence[Any],
    outputs: Any,
    settings: Mapping[str, Any] = INSTANT,
) -> None:
    """Call a handler when somebody chooses something else in a list that is among the inputs.

    Gradio's `input` also comes whenever a list is left, chosen from or not, and so twice for a choice by mouse: what
    was typed after the first would be written over by the second. `select` keeps silent about the keyboard, and
    `change` comes when a handler fills the list, too.
    """
    at = list(inputs).index(listed)
    listed.focus(None, listed, None, js=REMEMBER_CHOICE, **INSTANT)
    listed.input(handler, list(inputs), outputs, js=ONLY_A_NEW_CHOICE % (at, at), **settings)


def say_at_once(trigger: Callable[..., Any], place: gr.HTML, words: str) -> None:
    """Say what is being done as soon as it is asked for; what comes of it takes the words' place.

    To be called before the work is connected: gradio does what an event asks for in the order of its connections.
    """
    shown = f'<p class="hint" role="status">{escape(words)}</p>'
    trigger(None, None, place, js=f"() => {json.dumps(shown)}", **INSTANT)


def fall_silent(work: Any, place: gr.HTML) -> None:
    """Take the words back where the work broke: gradio's own message says so."""
    work.failure(None, None, place, js="() => ''", **INSTANT)


def asked(request: gr.Request, name: str) -> str:
    """Return what the page's address says under this name: `?study=…`; empty when it says nothing."""
    return str(dict(request.query_params).get(name, ""))


def signed_in(request: gr.Request) -> str:
    """Return the account that asks; empty when nobody has to sign in."""
    return request.username or ""


def who_asks(request: gr.Request) -> str:
    """Return what tells one person from the others: their login, or else what their browser keeps until it closes."""
    if request.username:
        return f"user {request.username}"
    visitor = str(dict(request.cookies).get("accord_visitor", ""))
    return f"visitor {visitor}" if visitor else ""
