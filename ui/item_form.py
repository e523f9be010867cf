"""An item as the boxes of a form, and back: the form writes the same JSON that the editor shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from exchange.interchange import record_from_json
from judge.domain import InputError, Item, Rubric, Turn
from judge.protocol import REFERENCE_FIELD, SCORE_FIELDS, Protocol
from judge.rubrics import list_rubrics
from storage.codec import item_to_json

_TURN = re.compile(r"^(USER|ASSISTANT|SYSTEM|TOOL): ", re.MULTILINE)
_SCORE = re.compile(r"([1-5]): (.*)")


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


def print_item(item: Item) -> str:
    """Return an item as JSON for a person to read."""
    return json.dumps(item_to_json(item), ensure_ascii=False, indent=1)


def anonymous(item: Item) -> Item:
    """Return an item without what no judge is shown: which models wrote it, and what the import knew besides."""
    return replace(item, model_a=None, model_b=None, tags=(), metadata={}, cluster=None)


@dataclass(frozen=True, slots=True)
class Box:
    """A box of the form: what it is called, and how its text is taken from an item and put into one."""

    label: str
    hint: str
    wanted: Callable[[Protocol], bool]
    show: Callable[[Item], str]
    put: Callable[[Item, str], Item]
    lines: int = 3

    def holds(self, item: Item) -> bool:
        """Say whether this item's part is shown without loss; else it can be changed only as JSON."""
        return self.put(item, self.show(item)) == item


def write_item(text: str, filled: Sequence[str]) -> str:
    """Return an item's JSON with what was changed in the boxes; the very same text when nothing was."""
    before = item = parse_item(text)
    for box, found in zip(BOXES, filled, strict=True):
        if box.holds(before) and found != box.show(before):
            item = box.put(item, found)
    return text if item == before else print_item(item)


def _show_earlier(item: Item) -> str:
    return "\n\n".join(f"{turn.role.upper()}: {turn.content}" for turn in item.conversation[:-1])


def _put_earlier(item: Item, text: str) -> Item:
    return replace(item, conversation=(*_read_turns(text), item.conversation[-1]))


def _read_turns(text: str) -> tuple[Turn, ...]:
    """Return the turns of a text in which each begins with its role, `USER: …`; one without is the user's."""
    if not text.strip():
        return ()
    starts = list(_TURN.finditer(text))
    if not starts or starts[0].start():
        return (Turn("user", text),)
    ends = [*(found.start() for found in starts[1:]), len(text)]
    pieces = [text[found.end() : end] for found, end in zip(starts, ends, strict=True)]
    whole = [*(piece.removesuffix("\n\n") for piece in pieces[:-1]), pieces[-1]]
    return tuple(Turn(found[1].lower(), piece) for found, piece in zip(starts, whole, strict=True))


def _show_question(item: Item) -> str:
    return item.conversation[-1].content


def _put_question(item: Item, text: str) -> Item:
    *earlier, last = item.conversation
    return replace(item, conversation=(*earlier, Turn(last.role, text)))


def _put_response_b(item: Item, text: str) -> Item:
    return replace(item, response_b=text if text or item.response_b is not None else None)


def _put_reference(item: Item, text: str) -> Item:
    return replace(item, reference_answer=text if text or item.reference_answer == "" else None)


def _put_checklist(item: Item, text: str) -> Item:
    return replace(item, checklist=tuple(line for line in text.split("\n") if line.strip()))


def _show_rubric(item: Item) -> str:
    if item.rubric is None:
        return ""
    scores = [f"{score}: {text}" for score, text in enumerate(item.rubric.descriptions, 1) if text]
    return "\n".join([item.rubric.criteria, *scores])


def _put_rubric(item: Item, text: str) -> Item:
    """Put the criteria and the lines `1: …` to `5: …`, or one of the rubrics that have a name."""
    if not text.strip():
        return replace(item, rubric=None)
    if named := list_rubrics().get(text.strip()):
        return replace(item, rubric=named)
    scores = dict.fromkeys("12345", "")
    criteria: list[str] = []
    for line in text.split("\n"):
        if found := _SCORE.fullmatch(line):
            scores[found[1]] = found[2]
        else:
            criteria.append(line)
    one, two, three, four, five = scores.values()
    return replace(item, rubric=Rubric("\n".join(criteria), (one, two, three, four, five)))


def _always(_: Protocol) -> bool:
    return True


def _pairwise(protocol: Protocol) -> bool:
    return protocol.kind == "pairwise"


def _shows(*fields: str) -> Callable[[Protocol], bool]:
    return lambda protocol: not set(fields).isdisjoint(protocol.fields)


BOXES = (
    Box("Earlier turns", "Each begins with its role: USER: … or ASSISTANT: …", _always, _show_earlier, _put_earlier),
    Box("Question", "What the responses answer", _always, _show_question, _put_question),
    Box(
        "Response A",
        "The text under review",
        _always,
        lambda item: item.response_a,
        lambda item, text: replace(item, response_a=text),
        6,
    ),
    Box("Response B", "What it is compared with", _pairwise, lambda item: item.response_b or "", _put_response_b, 6),
    Box(
        "Reference answer",
        "An answer of the highest quality",
        _shows(REFERENCE_FIELD),
        lambda item: item.reference_answer or "",
        _put_reference,
    ),
    Box(
        "Checklist",
        "One point a line",
        _shows("checklist"),
        lambda item: "\n".join(item.checklist),
        _put_checklist,
    ),
    Box(
        "Rubric",
        f"The criteria, then lines 1: … to 5: …; or one of {', '.join(list_rubrics())}",
        _shows("orig_criteria", *SCORE_FIELDS),
        _show_rubric,
        _put_rubric,
    ),
)
