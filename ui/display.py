"""Text → safe, faithful markup: every character of the source is shown, and none of it runs.

All text reaches a page through `escape`. The markup is meant for `gr.HTML` with its default
template `${value}`, which inserts it as it is. The template `{{value}}` is not safe: gradio puts
its result into a JavaScript template literal, where `${…}` in a model's answer would run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from judge.domain import MarkerFound, NoVerdict, Order, Prompt, Reading, Scale, Verdict
from judge.protocol import SIDE_A_FIELDS, SIDE_B_FIELDS, Protocol

# A carriage return that is not a reference would be read as a line feed.
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\r": "&#13;"},
)
_NOT_IN_HTML = re.compile("[\0\ud800-\udfff]")

_STEPS = {
    "strict": "The whole reply is the JSON object that was asked for.",
    "fence": "The label stands in a JSON object in a code block.",
    "object": "The label stands in a JSON object inside the reply.",
    "repaired": "The label stands in a JSON object that had to be repaired.",
    "key": "No whole JSON object was found; the label stands on a line with the right key.",
    "marker": "The label follows the last marker.",
    "line": "There is no marker; the label is the last line.",
}
_STATUSES = {"unreadable": "Unreadable", "refused": "Refused", "cut_off": "Cut off"}
_PARTS_OF_A = ("analysis of a", "reason of a>b")
_PARTS_OF_B = ("analysis of b", "reason of b>a")


def escape(text: str) -> str:
    """Return text as markup that shows exactly it, in an element or in a quoted attribute.

    HTML cannot hold NUL or half a surrogate pair: they are shown as the replacement character.
    """
    return _NOT_IN_HTML.sub("\ufffd", text).translate(_ESCAPES)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a prompt: the text of a field, or of the template when there is no field."""

    field: str | None
    start: int
    end: int


def tile(prompt: Prompt) -> Iterator[Piece]:
    """Yield the pieces of the user message in order; together they are all of it."""
    at = 0
    for span in prompt.spans:
        if span.start > at:
            yield Piece(None, at, span.start)
        yield Piece(span.field, span.start, span.end)
        at = span.end
    if at < len(prompt.user):
        yield Piece(None, at, len(prompt.user))


def show_prompt(prompt: Prompt) -> str:
    """Return the messages a judge is sent: template muted, each field tinted, markers in values marked."""
    system = _message("System message", escape(prompt.system), f"{len(prompt.system):,} characters")
    facts = (
        f"{len(prompt.user):,} characters · "
        f'<span title="SHA-256 of the prompt: {prompt.sha256}">sha256 {prompt.sha256[:12]}</span>'
    )
    return (
        '<div class="prompt">'
        + _remarks(prompt)
        + (system if prompt.system else "")
        + _message("Prompt", "".join(_pieces(prompt)), facts, _field_buttons(prompt))
        + "</div>"
    )


def show_problem(message: str) -> str:
    """Return what has to be put right in the item before there is a prompt to show."""
    lead = "<strong>There is no prompt for this item yet.</strong>"
    return f'<div class="prompt"><p class="problem" role="alert">{lead} {escape(_sentence(message))}</p></div>'


def show_reading(protocol: Protocol, reading: Reading, reply: str, order: Order) -> str:
    """Return what was read from a reply: the label and its evidence, or why there is none."""
    found = isinstance(reading, Verdict)
    head = _verdict(protocol, reading, reply, order) if isinstance(reading, Verdict) else _no_verdict(reading)
    raw = _message("Reply as it came", _evidence(reading, reply), f"{len(reply):,} characters", copy=False)
    body = head + show_parts(reading) + (raw if reply else "")
    return f'<div class="reading {"found" if found else "missing"}">{body}</div>'


def show_chip(scale: Scale, label: str, *, pairwise: bool) -> str:
    """Return a label in its colour: blue for A, orange for B, grey for a tie, or a step of the scores."""
    return f'<span class="chip {_chip_class(scale, label, pairwise=pairwise)}">{escape(label)}</span>'


def show_parts(reading: Reading, *, exchanged: bool = False) -> str:
    """Return the reasons a judge gave, each under the side it speaks of.

    A judge that saw the sides exchanged calls the item's A its B: its words stay, their place is the item's side.
    """
    entries = "".join(_part(name, text, exchanged=exchanged) for name, text in reading.parts.items() if text.strip())
    return f'<dl class="parts">{entries}</dl>' if entries else ""


def _part(name: str, text: str, *, exchanged: bool) -> str:
    side, meant = _part_class(name), ""
    if exchanged and side in _OTHER_SIDE:
        side, told = _OTHER_SIDE[side]
        meant = f" (here {told})"
    return f'<div class="part {side}"><dt>{escape(name)}{meant}</dt><dd>{escape(text)}</dd></div>'


def _message(title: str, body: str, facts: str, before: str = "", *, copy: bool = True) -> str:
    name = escape(title)
    button = f'<button type="button" class="copy" aria-label="Copy: {name}">Copy</button>' if copy else ""
    # The span keeps a line feed that opens the text: HTML drops one right after <pre>.
    return (
        f'<section class="message" aria-label="{name}"><div class="message-head"><h2>{name}</h2>'
        f'<span class="facts">{facts}</span>{button}</div>{before}'
        f'<pre tabindex="0" aria-label="{name}, text"><span class="text">{body}</span></pre></section>'
    )


def _remarks(prompt: Prompt) -> str:
    notes = [f"<li>{escape(_sentence(note))}</li>" for note in prompt.notes]
    warnings = [f'<li class="warning">{escape(_sentence(str(found)))}</li>' for found in prompt.warnings]
    return f'<ul class="remarks">{"".join(notes + warnings)}</ul>' if notes or warnings else ""


def _field_buttons(prompt: Prompt) -> str:
    names = dict.fromkeys(span.field for span in prompt.spans)
    buttons = "".join(
        f'<button type="button" class="{_field_class(name)}" data-place="field-{escape(name)}">'
        f"{escape(_field_title(name, prompt.order))}</button>"
        for name in names
    )
    return f'<nav class="fields" aria-label="Fields in the prompt">{buttons}</nav>'


def _pieces(prompt: Prompt) -> Iterator[str]:
    seen: set[str] = set()
    for piece in tile(prompt):
        if piece.field is None:
            yield f'<span class="template">{escape(prompt.user[piece.start : piece.end])}</span>'
            continue
        anchor = "" if piece.field in seen else f' id="field-{escape(piece.field)}"'
        seen.add(piece.field)
        title = escape(_field_title(piece.field, prompt.order))
        body = "".join(_marked(prompt.user, piece, prompt.warnings))
        yield f'<span class="{_field_class(piece.field)}"{anchor} title="{title}" data-field="{title}">{body}</span>'


def _marked(text: str, piece: Piece, warnings: Sequence[MarkerFound]) -> Iterator[str]:
    """Yield the text of a piece, cut wherever a warning begins or ends, so that they may overlap."""
    ends = (end for found in warnings for end in (found.start, found.end))
    cuts = sorted({piece.start, piece.end, *(end for end in ends if piece.start < end < piece.end)})
    for start, end in pairwise(cuts):
        reasons = [str(found) for found in warnings if found.start <= start and end <= found.end]
        shown = escape(text[start:end])
        yield f'<mark title="{escape("; ".join(reasons))}">{shown}</mark>' if reasons else shown


def _field_class(name: str) -> str:
    side = "side-a" if name in SIDE_A_FIELDS else "side-b" if name in SIDE_B_FIELDS else "other"
    return f"field {side}"


def _field_title(name: str, order: Order) -> str:
    """Return a field's name, and which response it holds when the sides are exchanged."""
    if order == "BA" and name in (*SIDE_A_FIELDS, *SIDE_B_FIELDS):
        return f"{name} = response_{'b' if name in SIDE_A_FIELDS else 'a'}"
    return name


def _verdict(protocol: Protocol, reading: Verdict, reply: str, order: Order) -> str:
    evidence = escape(" ".join(reply[reading.start : reading.end].split()))
    steps = escape(_STEPS.get(reading.step, f"Step: {reading.step}."))
    meant = protocol.unswap(reading.label, order)
    swapped = order == "BA" and protocol.kind == "pairwise"
    stored = f'<p class="stored">The sides were exchanged, so for the item as imported: {_label(protocol, meant)}</p>'
    return (
        f'<p class="label" role="status">{_label(protocol, reading.label)}</p>'
        f'{stored if swapped else ""}<p class="step">{steps} '
        f'<button type="button" data-place="evidence">{evidence}</button></p>'
    )


def _label(protocol: Protocol, label: str) -> str:
    point = protocol.scale.points[protocol.scale.labels.index(label)]
    chip = show_chip(protocol.scale, label, pairwise=protocol.kind == "pairwise")
    worth = f"{point.value:+g}".replace("-", "−")
    value = f'<span class="value">counts as {worth}</span>' if protocol.kind == "pairwise" else ""
    return f"{chip} <span>{escape(point.meaning)}</span> {value}"


def _no_verdict(reading: NoVerdict) -> str:
    status = escape(_STATUSES[reading.status])
    why = escape(_sentence(reading.why))
    return f'<p class="label" role="status"><span class="chip none">{status}</span> <span>{why}</span></p>'


def _evidence(reading: Reading, reply: str) -> str:
    if not isinstance(reading, Verdict):
        return escape(reply)
    start, end = reading.start, reading.end
    return f'{escape(reply[:start])}<mark id="evidence">{escape(reply[start:end])}</mark>{escape(reply[end:])}'


_OTHER_SIDE = {"side-a": ("side-b", "B"), "side-b": ("side-a", "A")}


def _part_class(name: str) -> str:
    key = name.strip().casefold()
    return "side-a" if key in _PARTS_OF_A else "side-b" if key in _PARTS_OF_B else "other"


def _chip_class(scale: Scale, label: str, *, pairwise: bool) -> str:
    values = [point.value for point in scale.points]
    value = scale.value(label)
    if pairwise:
        if value == 0 or label == scale.tie:
            return "tie"
        strength = "strong" if abs(value) == max(map(abs, values)) else "slight"
        return f"side-{'a' if value > 0 else 'b'} {strength}"
    low, high = min(values), max(values)
    return f"score-{1 + round(4 * (value - low) / (high - low))}" if high > low else "score-3"


def _sentence(text: str) -> str:
    """Return text with a capital, unless it opens with a field's name, and a full stop."""
    is_name = not text.split(" ", 1)[0].isalpha()
    return (text if is_name else text[:1].upper() + text[1:]) + ("" if text.endswith((".", "?", "…")) else ".")
