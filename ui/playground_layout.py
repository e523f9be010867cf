"""The components of the playground and where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from judge.domain import Item
from judge.protocol import Protocol
from ui.asking import show_unasked
from ui.examples import Example
from ui.item_form import BOXES
from ui.sharing import Shown, put_share
from ui.tabs import put_tabs

SCRIPT = (Path(__file__).parent / "playground.js").read_text(encoding="utf-8")
KEYS = (Path(__file__).parent / "playground_keys.js").read_text(encoding="utf-8")
EDITED, EMPTY = "edited", "empty"  # in the list of items: what stands in the editor, and one to fill in
NOBODY = ("None", "")  # no second judge
FIELDS, JSON = "Fields", "JSON"
TABS = {"judges": "Judges", "item": "Edit item", "protocol": "Edit protocol", "reply": "Read a reply"}
SWAP = {"AB": "Swap sides (A first)", "BA": "Swap sides (B first)"}

Choices = list[tuple[str, str]]  # what a list says, and what it means


@dataclass(frozen=True, slots=True)
class Start:
    """What the page shows first."""

    shown: Shown
    protocol: Protocol
    item: Item
    prompt: str
    reading: str


@dataclass(frozen=True, slots=True)
class Top:
    """The row above all: what is shown, and what is done with it."""

    protocol: gr.Dropdown
    example: gr.Dropdown
    swap: gr.Button
    share: gr.HTML


@dataclass(frozen=True, slots=True)
class ProtocolEditor:
    """The protocol as text, and what became of it."""

    source: gr.Textbox
    reset: gr.Button
    compare: gr.Checkbox
    versions: gr.HTML


@dataclass(frozen=True, slots=True)
class ItemEditor:
    """The item as boxes or as JSON, or from a study."""

    way: gr.Radio
    form: gr.Column
    boxes: list[gr.Textbox]
    text: gr.Textbox
    study: gr.Dropdown
    name: gr.Dropdown
    load: gr.Button


@dataclass(frozen=True, slots=True)
class Judging:
    """The judges that are asked, and their columns."""

    judges: list[gr.Dropdown]
    run: gr.Button
    stop: gr.Button
    columns: list[gr.HTML]


@dataclass(frozen=True, slots=True)
class Controls:
    """The components of the page that take part in an event."""

    top: Top
    notice: gr.HTML
    order: gr.State
    drafts: gr.State
    protocol: ProtocolEditor
    item: ItemEditor
    prompt: gr.HTML
    tabs: gr.HTML
    judging: Judging
    reply: gr.Textbox
    reading: gr.HTML


def put_controls(
    protocols: Mapping[str, Protocol], examples: Mapping[str, Example], judges: Choices, start: Start
) -> Controls:
    """Put the components on the page, already showing the first protocol and item."""
    order, drafts = gr.State(start.shown.order), gr.State({})
    with gr.Row(elem_id="top"):
        top = _put_top(protocols, examples, start)
    notice = gr.HTML("", apply_default_css=False, visible=False, elem_id="notice")
    versions = gr.HTML("", apply_default_css=False, visible=False, elem_id="versions")
    with gr.Row(elem_id="bench", equal_height=False):
        with gr.Column(scale=6, min_width=320, elem_id="left"):
            prompt = gr.HTML(start.prompt, apply_default_css=False, js_on_load=SCRIPT, elem_id="prompt")
        with gr.Column(scale=6, min_width=320, elem_id="work", elem_classes="tab-group"):
            tabs = put_tabs(TABS)
            with gr.Column(elem_id="tab-judges"):
                judging = _put_judging(judges)
            with gr.Column(elem_id="tab-item"):
                item = _put_item_editor(start)
            with gr.Column(elem_id="tab-protocol"):
                protocol = ProtocolEditor(*_put_protocol_editor(start), versions)
            with gr.Column(elem_id="tab-reply"):
                reply = gr.Textbox(start.shown.reply, label="The judge’s reply", lines=6, max_lines=12, elem_id="reply")
                reading = gr.HTML(start.reading, apply_default_css=False, js_on_load=SCRIPT, elem_id="reading")
    return Controls(top, notice, order, drafts, protocol, item, prompt, tabs, judging, reply, reading)


def _put_top(protocols: Mapping[str, Protocol], examples: Mapping[str, Example], start: Start) -> Top:
    known = [(protocol.title, name) for name, protocol in protocols.items()]
    items = [*((example.title, name) for name, example in examples.items())]
    items += [("Empty, to be filled in", EMPTY), ("As edited", EDITED)]
    first = next(name for name, example in examples.items() if example.text == start.shown.item)
    protocol = gr.Dropdown(
        known, value=start.shown.protocol, label="Protocol", filterable=False, min_width=240, elem_id="protocol"
    )
    example = gr.Dropdown(items, value=first, label="Item", filterable=False, min_width=240, elem_id="example")
    swap = gr.Button(
        SWAP["AB"],
        visible=start.protocol.kind == "pairwise",
        scale=0,
        min_width=216,
        elem_id="swap",
    )
    share = put_share(start.shown, ["#source textarea", "#item textarea", "#reply textarea", "#form textarea"])
    gr.Button("Present", scale=0, min_width=120, elem_id="present")
    gr.HTML("", js_on_load=KEYS, elem_id="keys")
    return Top(protocol, example, swap, share)


def _put_protocol_editor(start: Start) -> tuple[gr.Textbox, gr.Button, gr.Checkbox]:
    source = gr.Textbox(
        start.protocol.source,
        label="Protocol file",
        info="Settings between two lines of three dashes, then the template. The prompt follows as you type or paste.",
        lines=20,
        max_lines=20,
        elem_id="source",
    )
    with gr.Row():
        compare = gr.Checkbox(label="Compare with the original", container=False, interactive=False, elem_id="compare")
        reset = gr.Button("Back to the original", scale=0, min_width=200, interactive=False, elem_id="reset")
    return source, reset, compare


def _put_item_editor(start: Start) -> ItemEditor:
    with gr.Row(elem_id="from-study"):
        study = gr.Dropdown([], label="Study", filterable=False, min_width=160, elem_id="study")
        name = gr.Dropdown([], label="Item of the study", allow_custom_value=True, min_width=160, elem_id="name")
        load = gr.Button("Load", scale=0, min_width=104, elem_id="load")
    way = gr.Radio([FIELDS, JSON], value=FIELDS, label="Edit as", show_label=False, container=False, elem_id="way")
    with gr.Column(elem_id="form") as form:
        boxes = [
            gr.Textbox(
                box.show(start.item),
                label=box.label,
                info=box.hint,
                lines=box.lines,
                max_lines=12,
                visible=box.wanted(start.protocol),
                interactive=box.holds(start.item),
            )
            for box in BOXES
        ]
    text = gr.Textbox(
        start.shown.item,
        label="Item as JSON",
        info="id, conversation or instruction, response_a, response_b, reference_answer, checklist, rubric",
        lines=20,
        max_lines=20,
        visible="hidden",
        elem_id="item",
    )
    return ItemEditor(way, form, boxes, text, study, name, load)


def _put_judging(judges: Choices) -> Judging:
    with gr.Row(elem_id="asking"):
        first = gr.Dropdown(judges, value=judges[0][1], label="Judge", filterable=False, min_width=160, elem_id="judge")
        second = gr.Dropdown(
            [NOBODY, *judges], value=NOBODY[1], label="Second judge", filterable=False, min_width=160, elem_id="second"
        )
        run = gr.Button("Run", variant="primary", scale=0, min_width=104, elem_id="run")
        stop = gr.Button("Stop", scale=0, min_width=104, visible=False, elem_id="stop")
    with gr.Row(elem_id="columns", equal_height=False):
        columns = [
            gr.HTML(
                show_unasked() if side == 1 else "",
                apply_default_css=False,
                js_on_load=SCRIPT,
                min_width=280,
                visible=side == 1,
                elem_id=f"column-{side}",
            )
            for side in (1, 2)
        ]
    return Judging([first, second], run, stop, columns)
