"""The playground: the exact prompt a judge is sent for an item, and how its reply is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from exchange.interchange import record_from_json
from judge.domain import AccordError, InputError, Item, Order
from judge.protocol import Protocol
from judge.read import read
from judge.render import render
from ui.display import show_problem, show_prompt, show_reading
from ui.page import INSTANT, TYPING

EXAMPLES = Path(__file__).parent.parent / "examples"
FIRST_PROTOCOL = "wildbench-pairwise"
FIRST_EXAMPLE = "clamp"
EDITED = "edited"

# A click copies a message, whose <pre> holds exactly its characters, or scrolls to a place in it.
# Places are not links: gradio sets a <base>, so a link to `#place` would load the page anew.
CLICKS = """
element.addEventListener('click', async ({ target }) => {
  const button = target.closest('button');
  if (button?.dataset.place) {
    const place = element.querySelector('#' + CSS.escape(button.dataset.place));
    const pane = place.closest('pre');
    pane.scrollTop += place.getBoundingClientRect().top - pane.getBoundingClientRect().top - 16;
    pane.focus({ preventScroll: true });
  } else if (button?.classList.contains('copy')) {
    await accord.copy(button.closest('section').querySelector('pre').textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }
});
"""

SAMPLE_PARTS = {
    "analysis of A": "Response A does what was asked, gives its reasons and leaves little to guess.",
    "analysis of B": "Response B goes in the right direction but leaves out part of what was asked.",
    "reason of A=B": "Both speak of the question that was asked.",
    "reason of A>B": "Response A is more complete and says why.",
    "reason of B>A": "Response B is shorter.",
}


@dataclass(frozen=True, slots=True)
class Example:
    """A built-in item: its name in the list and its text in the interchange format."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Controls:
    """The components of the page that take part in an event."""

    protocol: gr.Dropdown
    example: gr.Dropdown
    order: gr.Radio
    editor: gr.Accordion
    item: gr.Textbox
    prompt: gr.HTML
    reply: gr.Textbox
    reading: gr.HTML


def list_examples(folder: Path = EXAMPLES) -> dict[str, Example]:
    """Return the built-in items by id."""
    examples = {}
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8").rstrip("\n")
        try:
            item = parse_item(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        examples[item.id] = Example(f"{item.id} ({', '.join(item.tags)})" if item.tags else item.id, text)
    return examples


def parse_item(text: str) -> Item:
    """Return the item that a text in the interchange format describes."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"it is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number too long, or nested too deeply
        raise InputError(f"it is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError("it must be one JSON object: { … }")
    return record_from_json(value).item


def sample_reply(protocol: Protocol) -> str:
    """Return a reply such as the protocol asks for, to have something to read."""
    labels = protocol.scale.labels
    label = labels[-2] if len(labels) > 2 else labels[-1]
    if protocol.answer.form == "json":
        parts = {name: text for name, text in SAMPLE_PARTS.items() if f'"{name}"' in protocol.template}
        return json.dumps({**parts, protocol.answer.text: label}, ensure_ascii=False, indent=4)
    subject = "Response A" if protocol.kind == "pairwise" else "The response"
    feedback = f"{subject} does what was asked and gives its reasons; a detail or two is missing."
    return f"Feedback: {feedback} {protocol.answer.text} {label}"


class Playground:
    """The page's handlers: each reads the controls, calls the rooms and returns what to show."""

    title = "Playground"
    path = "/playground"

    def __init__(self, protocols: Mapping[str, Protocol], examples: Mapping[str, Example]) -> None:
        self.protocols = protocols
        self.examples = examples

    def show(self, name: str, text: str, order: Order, reply: str) -> tuple[str, str]:
        """Return the markup of the prompt (or of what is wrong with the item) and of the reading."""
        protocol = self.protocols[name]
        try:
            prompt = render(protocol, parse_item(text), order)
        except AccordError as error:
            return show_problem(str(error)), self.show_reply(protocol, reply, order)
        used = protocol.without_reference if prompt.protocol != protocol.name else protocol
        return show_prompt(prompt), self.show_reply(used or protocol, reply, order)

    def show_reply(self, protocol: Protocol, reply: str, order: Order) -> str:
        """Return the markup of what is read from a reply."""
        return show_reading(protocol, read(protocol, reply), reply, order)

    def choose_protocol(self, name: str, text: str, order: Order, reply: str) -> tuple[Any, str, str, str]:
        """Show another protocol; the reply follows as long as nobody has written one."""
        protocol = self.protocols[name]
        samples = {sample_reply(known) for known in self.protocols.values()}
        if not reply.strip() or reply in samples:
            reply = sample_reply(protocol)
        return gr.update(visible=protocol.kind == "pairwise"), reply, *self.show(name, text, order, reply)

    def choose_example(self, example: str) -> tuple[Any, Any]:
        """Put another item into the editor; the last entry of the list opens it and keeps its text."""
        if example == EDITED:
            return gr.update(open=True), gr.skip()
        return gr.skip(), self.examples[example].text

    def show_item(self, name: str, text: str, order: Order, reply: str) -> tuple[str, str, str]:
        """Show the item as it stands in the editor, and say whether it still is one of the examples."""
        example = next((known for known, example in self.examples.items() if example.text == text), EDITED)
        return example, *self.show(name, text, order, reply)

    def read_reply(self, name: str, text: str, order: Order, reply: str) -> str:
        """Show what is read from the reply as it stands in the box."""
        return self.show(name, text, order, reply)[1]

    def layout(self) -> Controls:
        """Put the components on the page, already showing the first protocol and item."""
        name = FIRST_PROTOCOL if FIRST_PROTOCOL in self.protocols else next(iter(self.protocols))
        first = FIRST_EXAMPLE if FIRST_EXAMPLE in self.examples else next(iter(self.examples))
        protocol, text = self.protocols[name], self.examples[first].text
        reply = sample_reply(protocol)
        prompt, reading = self.show(name, text, "AB", reply)
        with gr.Row(elem_classes="choices"):
            protocol_choice = self._protocol_choice(name)
            example_choice = self._example_choice(first)
            order_choice = self._order_choice(visible=protocol.kind == "pairwise")
        with gr.Accordion("Edit the item", open=False) as editor:
            item_box = gr.Textbox(
                text,
                label="Item as JSON",
                info="id, conversation or instruction, response_a, response_b, reference_answer, checklist, rubric",
                lines=8,
                max_lines=20,
                elem_id="item",
            )
        with gr.Row(elem_classes="panes"):
            with gr.Column(scale=6, min_width=320):
                prompt_view = gr.HTML(prompt, apply_default_css=False, js_on_load=CLICKS, elem_id="prompt")
            with gr.Column(scale=5, min_width=320):
                reply_box = gr.Textbox(reply, label="The judge’s reply", lines=6, max_lines=12, elem_id="reply")
                reading_view = gr.HTML(reading, apply_default_css=False, js_on_load=CLICKS, elem_id="reading")
        return Controls(
            protocol_choice, example_choice, order_choice, editor, item_box, prompt_view, reply_box, reading_view
        )

    def _protocol_choice(self, name: str) -> gr.Dropdown:
        choices = [(protocol.title, known) for known, protocol in self.protocols.items()]
        return gr.Dropdown(choices, value=name, label="Protocol", filterable=False, min_width=280, elem_id="protocol")

    def _example_choice(self, name: str) -> gr.Dropdown:
        choices = [(example.title, known) for known, example in self.examples.items()]
        choices.append(("Your own (edit the item)", EDITED))
        return gr.Dropdown(choices, value=name, label="Item", filterable=False, min_width=280, elem_id="example")

    @staticmethod
    def _order_choice(*, visible: bool) -> gr.Radio:
        choices = [("A first (AB)", "AB"), ("B first (BA)", "BA")]
        return gr.Radio(
            choices, value="AB", label="Order of the sides", visible=visible, min_width=280, elem_id="order"
        )

    def wire(self, on: Controls) -> None:
        """Connect the components: choices and typing take effect at once."""
        inputs = [on.protocol, on.item, on.order, on.reply]
        shown = [on.prompt, on.reading]
        on.protocol.input(self.choose_protocol, inputs, [on.order, on.reply, *shown], **INSTANT)
        on.example.input(self.choose_example, on.example, [on.editor, on.item], **INSTANT)
        on.order.input(self.show, inputs, shown, **INSTANT)
        # Not `input`: a text box of gradio 6.31 keeps silent on pasted, cut and deleted text.
        on.item.change(self.show_item, inputs, [on.example, *shown], **TYPING)
        on.reply.change(self.read_reply, inputs, on.reading, **TYPING)
