"""What the playground shows, as one text: it travels in the part of a link that no server is ever sent."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from judge.domain import ORDERS, InputError, Order

SCRIPT = (Path(__file__).parent / "sharing.js").read_text(encoding="utf-8")
TEMPLATE = """
<div class="share">
  <button type="button" class="copy-link">Copy link</button>
  <button type="button" class="copy-state" hidden>Copy as JSON</button>
  <span role="status"></span>
</div>
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """All that a link restores; `source` is the text of an edited protocol, and empty for one that is not."""

    protocol: str
    item: str
    order: Order = "AB"
    reply: str = ""
    source: str = ""


def put_share(shown: Shown, boxes: list[str]) -> gr.HTML:
    """Put the button that copies the link; its script keeps the address in step, and opens one once the boxes exist."""
    # The template has no place for the value, so that no text of a visitor's ever becomes markup.
    return gr.HTML(
        print_shown(shown),
        html_template=TEMPLATE,
        js_on_load=SCRIPT,
        boxes=boxes,
        apply_default_css=False,
        elem_id="share",
    )


def print_shown(shown: Shown) -> str:
    """Return the text for a link, in ASCII: half a surrogate pair could not be sent otherwise."""
    told = {name: value for name, value in asdict(shown).items() if value}
    return json.dumps(told, separators=(",", ":")).replace("<", "\\u003c")


def parse_shown(text: str, known: Container[str]) -> Shown:
    """Check what a link holds, which anybody may have written."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("this link is damaged: ask for it again") from error
    if not isinstance(value, dict):
        raise InputError("this link is damaged: ask for it again")
    shown = Shown(
        **{name: _text(value, name) for name in ("protocol", "item", "reply", "source")},
        order=value["order"] if value.get("order") in ORDERS else "AB",
    )
    if shown.protocol not in known:
        raise InputError(f"this link shows the protocol {shown.protocol!r}, which this server does not have")
    return shown


def _text(value: dict[str, Any], name: str) -> str:
    found = value.get(name, "")
    if not isinstance(found, str):
        raise InputError(f"this link is damaged: {name} is not text")
    # Half a surrogate pair is in no encoding, so it could not be shown in a box.
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
