"""Protocol + item + order → the exact prompt, with the span of every field, in one pass.

Values are never scanned: a conversation that contains `{$candidate_B}` stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from judge.domain import Item, ItemError, MarkerFound, Order, Prompt, Span, Turn
from judge.protocol import (
    CONVERSATION_FIELDS,
    DIRECT_FIELDS,
    REFERENCE_FIELD,
    SCORE_FIELDS,
    SIDE_A_FIELDS,
    SIDE_B_FIELDS,
    Protocol,
)

EMPTY_RESPONSE = "[This model response is empty.]"
CUT_NOTICE = "... (truncated)"


def render(protocol: Protocol, item: Item, order: Order = "AB") -> Prompt:
    """Return the prompt for an item, its sides exchanged when the order is BA.

    A protocol that shows a reference becomes its no-reference twin for an item without one.
    """
    wanted, protocol = protocol, applicable(protocol, item)
    check_item(protocol, item)
    text, spans = _fill(protocol, _values(protocol, as_shown(item, order) if protocol.kind == "pairwise" else item))
    warnings = tuple(_markers_in(text, spans, protocol.markers))
    notes: tuple[str, ...] = ()
    if protocol is not wanted:
        notes = (f"item {item.id!r} has no reference answer: {protocol.name} was used instead of {wanted.name}",)
    return Prompt(protocol.name, order, protocol.system, text, spans, warnings, notes)


def as_shown(item: Item, order: Order) -> Item:
    """Return an item with its sides in the order they are shown."""
    if order == "AB" or item.response_b is None:
        return item
    return replace(item, response_a=item.response_b, response_b=item.response_a)


def applicable(protocol: Protocol, item: Item) -> Protocol:
    """Return the protocol, or its no-reference twin for an item that has no reference answer."""
    missing = protocol.wants_reference and not (item.reference_answer or "").strip()
    return protocol.without_reference if missing and protocol.without_reference else protocol


def check_item(protocol: Protocol, item: Item) -> None:
    """Refuse an item that lacks what the protocol shows, naming all of it."""
    protocol = applicable(protocol, item)
    if protocol.kind == "pairwise" and item.response_b is None:
        raise ItemError(f"item {item.id!r} has one response and {protocol.name} compares two: add response_b")
    shown = [name for name in protocol.fields if name in _ITEM_NAMES]
    if missing := [_ITEM_NAMES[name] for name in shown if not _FORMATS[name](item).strip()]:
        raise ItemError(f"item {item.id!r} lacks what {protocol.name} needs: {', '.join(missing)}")


def fold_system(prompt: Prompt) -> Prompt:
    """Move the system message to the front of the user message, for models that refuse the role."""
    if not prompt.system:
        return prompt
    lead = f"{prompt.system}\n\n"
    shift = len(lead)
    return replace(
        prompt,
        system="",
        user=lead + prompt.user,
        spans=tuple(replace(span, start=span.start + shift, end=span.end + shift) for span in prompt.spans),
        warnings=tuple(replace(found, start=found.start + shift, end=found.end + shift) for found in prompt.warnings),
    )


def _fill(protocol: Protocol, values: dict[str, str]) -> tuple[str, tuple[Span, ...]]:
    pieces: list[str] = []
    spans: list[Span] = []
    length = copied = 0
    for match in protocol.pattern.finditer(protocol.template):
        value = values[match[1]]
        start = length + match.start() - copied
        pieces += [protocol.template[copied : match.start()], value]
        spans.append(Span(match[1], start, start + len(value)))
        length, copied = start + len(value), match.end()
    pieces.append(protocol.template[copied:])
    return "".join(pieces), tuple(spans)


def _values(protocol: Protocol, item: Item) -> dict[str, str]:
    values = {name: _FORMATS[name](item) for name in protocol.fields}
    if protocol.cut_words is not None:
        for name in _SHORTENED & values.keys():
            values[name] = _cut(values[name], protocol.cut_words)
    return values


def _history(item: Item) -> str:
    return "".join(f"{_labelled(turn)}\n\n" for turn in item.conversation[:-1])


def _query(item: Item) -> str:
    return item.conversation[-1].content


def _instruction(item: Item) -> str:
    [*earlier, last] = item.conversation
    if not earlier and last.role == "user":
        return last.content
    return "\n\n".join(map(_labelled, item.conversation))


def _labelled(turn: Turn) -> str:
    return f"{turn.role.upper()}: {turn.content}"


def _checklist(item: Item) -> str:
    return "".join(f"- {point}\n" for point in item.checklist)


def _reference(item: Item) -> str:
    return item.reference_answer or ""


def _criteria(item: Item) -> str:
    return item.rubric.criteria if item.rubric else ""


def _description(index: int) -> Callable[[Item], str]:
    return lambda item: item.rubric.descriptions[index] if item.rubric else ""


def _response_a(item: Item) -> str:
    return _or_empty(item.response_a)


def _response_b(item: Item) -> str:
    return _or_empty(item.response_b or "")


def _or_empty(response: str) -> str:
    return response if response.strip() else EMPTY_RESPONSE


def _cut(text: str, words: int) -> str:
    # Upstream's rule: words are what single spaces separate, so line breaks do not count.
    found = text.split(" ")
    return " ".join(found[:words]) + CUT_NOTICE if len(found) > words else text


def _markers_in(text: str, spans: tuple[Span, ...], markers: tuple[str, ...]) -> Iterator[MarkerFound]:
    lowered = [(marker, marker.lower()) for marker in markers]
    for span in spans:
        value = text[span.start : span.end]
        folded = value.lower()
        if len(folded) != len(value):  # a few letters grow when lowered, and positions would shift
            folded = value
        for marker, wanted in lowered:
            at = folded.find(wanted)
            if at >= 0:
                yield MarkerFound(span.field, marker, span.start + at, span.start + at + len(marker))


_FORMATS: dict[str, Callable[[Item], str]] = {
    "history": _history,
    "user_query": _query,
    "orig_instruction": _instruction,
    "checklist": _checklist,
    REFERENCE_FIELD: _reference,
    "orig_criteria": _criteria,
    **{name: _description(index) for index, name in enumerate(SCORE_FIELDS)},
    **dict.fromkeys((*SIDE_A_FIELDS, *DIRECT_FIELDS), _response_a),
    **dict.fromkeys(SIDE_B_FIELDS, _response_b),
}
_SHORTENED = {*CONVERSATION_FIELDS, *SIDE_A_FIELDS, *SIDE_B_FIELDS, *DIRECT_FIELDS}
_ITEM_NAMES = {
    REFERENCE_FIELD: "reference_answer",
    "orig_criteria": "rubric.criteria",
    **{name: f"rubric.score{index}_description" for index, name in enumerate(SCORE_FIELDS, 1)},
}
