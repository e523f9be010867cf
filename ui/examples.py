"""The built-in items, and a reply such as a protocol asks for: something to look at before one has one's own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from judge.domain import InputError, Item, Turn
from judge.protocol import Protocol
from ui.item_form import parse_item

EXAMPLES = Path(__file__).parent.parent / "examples"
BLANK = Item("mine", (Turn("user", ""),), "", "")

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
