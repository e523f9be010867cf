"""Reading the label from under a key of a JSON object in a reply, however the object is dressed.

Steps, by how the winning object was found: strict (the whole reply), fence, object, repaired, key.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from judge.domain import NoVerdict, Reading, Verdict
from judge.labels import Found, LabelReader, Off, label_reader, plain
from judge.protocol import Protocol

# A reply of many megabytes or thousands of objects is not an answer, and must not take long: only its end is looked at.
TAIL = 100_000  # characters
MOST_OBJECTS = 200
MOST_REPAIRS = 6
LONGEST_REPAIR = 20_000  # characters given to the repair library, which is slow plain Python

_DECODER = json.JSONDecoder()
_OPENING = re.compile(r'\{(?=\s{0,99}["}])')
_STRING_OR_TRAILING_COMMA = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|,(?=\s*[}\]])', re.DOTALL)
_LINE_HEAD = re.compile(r"[\s`~*_\-\[(]*(?:jsonc?)?[\s`\[(]*", re.IGNORECASE)
_LINE_TAIL = re.compile(r"(?:[\s`~*_,.;\])]|</s>|<\|\w+\|>)*", re.IGNORECASE)
_KEY_HEAD = re.compile(r"[\"'`]?[*_]{0,3}\Z")
_KEY_TAIL = re.compile(r"[*_]{0,3}[\"'`]?[*_]{0,3}[ \t]{0,9}[:=][ \t*_]{0,9}")
_AFTER_VALUE = re.compile(r"[ \t\r]{0,99},?[ \t\r]{0,99}(?:\n|\Z|[}\]`]|</|<\||[\"']?\w[\w >=<-]{0,40}[\"']?\s{0,9}:)")


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of the reply that holds one JSON value."""

    start: int
    end: int
    step: str
    value: Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that has the answer's key, and how well it matches the template's example."""

    members: Mapping[str, Any]
    other_keys: int
    region: Region
    depth: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What the template's own example says of a reply: its keys, and the answer's stand-in."""

    answer_key: str
    other_keys: frozenset[str]
    stand_in: str


@lru_cache(maxsize=256)
def _shape(template: str, answer_key: str) -> Shape:
    wanted = re.escape(answer_key)
    example = None
    for match in re.finditer(rf'\{{[^{{}}]*"{wanted}"\s*:\s*([^\n}}]*)[^{{}}]*\}}', template, re.IGNORECASE):
        example = match
    if example is None:
        return Shape(answer_key.casefold(), frozenset(), "")
    keys = {key.strip().casefold() for key in re.findall(r'"([^"\n]+)"\s*:', example[0])}
    return Shape(answer_key.casefold(), frozenset(keys - {answer_key.casefold()}), _squeeze(example[1]))


def _squeeze(text: str) -> str:
    return re.sub(r"""[\s"'`,\[\]]+""", "", text).casefold()


def read_json(protocol: Protocol, text: str) -> Reading:
    """Return the label under the answer's key in the object that looks most like the template's example."""
    shape = _shape(protocol.template, protocol.answer.text)
    labels = label_reader(protocol.scale)
    if (whole := _whole(text)) is not None:
        return _choose([whole], text, shape, labels)
    offset = max(0, len(text) - TAIL)
    tail = text[offset:]
    regions = list(deque(_strict_regions(tail), maxlen=MOST_OBJECTS))
    reading = _choose([*regions, *_repaired_regions(tail, regions, shape, labels)], tail, shape, labels)
    if offset == 0 or isinstance(reading, NoVerdict):
        return reading
    return replace(reading, start=reading.start + offset, end=reading.end + offset)


def _choose(regions: list[Region], text: str, shape: Shape, labels: LabelReader) -> Reading:
    candidates = [candidate for region in regions for candidate in _candidates(region, shape, text)]
    if not candidates:
        return _read_key_line(plain(text), shape, labels, regions)
    best = max(candidates, key=lambda candidate: (candidate.other_keys, candidate.region.start, -candidate.depth))
    return _verdict(best, shape, labels, text)


def _verdict(best: Candidate, shape: Shape, labels: LabelReader, text: str) -> Reading:
    parts = {key: _as_text(value) for key, value in best.members.items() if key.strip().casefold() in shape.other_keys}
    found = _label_of(_member(best.members, shape.answer_key), labels)
    if not isinstance(found, Found):
        why = found.why if found else "no label"
        return NoVerdict("unreadable", f"the answer under {shape.answer_key!r} is not a label: {why}", parts)
    start, end = _locate(text, best.region, shape.answer_key)
    return Verdict(found.label, best.region.step, start, end, parts)


def _whole(text: str) -> Region | None:
    stripped = text.strip()
    if stripped[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    start = text.index(stripped[0])
    return Region(start, start + len(stripped), "strict", value)


def _strict_regions(text: str) -> Iterator[Region]:
    fences = [match.start() for match in re.finditer(r"```|~~~", text)]
    at, work = 0, 4 * TAIL
    while work > 0 and (match := _OPENING.search(text, at)):
        start = match.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            work -= error.pos - start + 100
            at = start + 1
        except (ValueError, RecursionError):  # a number too long, or nested too deeply
            work -= len(text) - start
            at = start + 1
        else:
            in_fence = bisect_right(fences, start) % 2 == 1
            yield Region(start, at, "fence" if in_fence else "object", value)


def _repaired_regions(text: str, strict: list[Region], shape: Shape, labels: LabelReader) -> Iterator[Region]:
    edges = [0, *(edge for region in strict for edge in (region.start, region.end)), len(text)]
    if not any(
        text.count("{", start, end) or text.count("｛", start, end)
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ):
        return  # the common case: nothing but what was read already
    keys = [match.start() for match in re.finditer(re.escape(shape.answer_key), text, re.IGNORECASE)]
    taken = [(region.start, region.end) for region in strict]
    spans = [
        span for span in _brace_spans(plain(text), taken) if bisect_right(keys, span[1]) > bisect_left(keys, span[0])
    ]
    allowance = LONGEST_REPAIR
    for start, end in reversed(spans[-MOST_REPAIRS:]):
        source = text[start:end]
        value = _repair_lightly(source)
        if value is None and len(source) <= allowance:
            allowance -= len(source)
            value = _repair_heavily(source)
        region = Region(start, end, "repaired", value)
        if value is not None and _confirmed(region, text, shape, labels):
            yield region


def _brace_spans(text: str, taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the outermost pairs of braces, and where one is never closed, all from there to the end."""
    pairs: list[tuple[int, int]] = []
    opened: list[int] = []
    starts = [start for start, _ in taken]
    for match in re.finditer(r"[{}]", text):
        at = match.start()
        before = bisect_right(starts, at) - 1
        if before >= 0 and at < taken[before][1]:
            continue
        if match[0] == "{":
            opened.append(at)
        elif opened:
            start = opened.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            pairs.append((start, at + 1))
    unclosed = []
    for start in opened[-MOST_REPAIRS:]:
        fence = text.find("\n```", start)
        unclosed.append((start, len(text) if fence < 0 else fence))
    return [*unclosed, *pairs]


def _repair_lightly(text: str) -> Any:
    for attempt in (text,) if text.isascii() else (text, plain(text)):
        try:
            return json.loads(_without_trailing_commas(attempt), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _repair_heavily(text: str) -> Any:
    # Imported here because it takes longer than the whole command line needs to start.
    from json_repair import repair_json

    try:
        value = repair_json(plain(text), return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError):
        return None
    return value if isinstance(value, dict | list) else None


def _without_trailing_commas(text: str) -> str:
    return _STRING_OR_TRAILING_COMMA.sub(lambda match: "" if match[0] == "," else match[0], text)


def _confirmed(region: Region, text: str, shape: Shape, labels: LabelReader) -> bool:
    """Say whether the repair's label is what the text plainly says: a repair may close what was cut off."""
    occurrences = list(_keyed_values(plain(text[region.start : region.end]), shape.answer_key))
    if not occurrences:
        return False
    written = labels.read(occurrences[0][2] or "", "remark")
    for members, _, _ in _walk(region.value, shape, 0, 0):
        if shape.answer_key in {key.strip().casefold() for key in members}:
            repaired = _label_of(_member(members, shape.answer_key), labels)
            if isinstance(repaired, Found) and isinstance(written, Found) and repaired.label == written.label:
                return True
            if isinstance(repaired, Off) and isinstance(written, Off):
                return True
    return False


def _candidates(region: Region, shape: Shape, text: str) -> Iterator[Candidate]:
    for members, depth, enclosing_keys in _walk(region.value, shape, 0, 0):
        keys = {key.strip().casefold() for key in members}
        if shape.answer_key not in keys or _is_echo(members, shape):
            continue
        other = len(keys & shape.other_keys)
        if other or (not enclosing_keys and _stands_alone(text, region)):
            yield Candidate(members, other, region, depth)


def _walk(value: Any, shape: Shape, depth: int, enclosing_keys: int) -> Iterator[tuple[Mapping[str, Any], int, int]]:
    """Yield every object in a value with its depth and how many of the example's keys enclose it."""
    stack = [(value, depth, enclosing_keys)]
    while stack:
        current, depth, enclosing_keys = stack.pop()
        if isinstance(current, dict):
            yield current, depth, enclosing_keys
            keys = enclosing_keys + len({str(key).strip().casefold() for key in current} & shape.other_keys)
            stack += [(child, depth + 1, keys) for child in current.values() if isinstance(child, dict | list)]
        elif isinstance(current, list):
            stack += [(child, depth + 1, enclosing_keys) for child in current if isinstance(child, dict | list)]


def _is_echo(members: Mapping[str, Any], shape: Shape) -> bool:
    value = _member(members, shape.answer_key)
    return bool(shape.stand_in) and isinstance(value, str) and _squeeze(value) == shape.stand_in


def _stands_alone(text: str, region: Region) -> bool:
    """Say whether an object is the whole reply, in a fence, or alone on its lines: else it is a quotation."""
    if region.step in ("strict", "fence"):
        return True
    head = text[max(0, region.start - 80) : region.start]
    line_start = head.rfind("\n")
    if line_start < 0 and region.start > 80:
        return False
    tail = text[region.end : region.end + 80].partition("\n")[0]
    return bool(_LINE_HEAD.fullmatch(head[line_start + 1 :])) and bool(_LINE_TAIL.fullmatch(tail))


def _member(members: Mapping[str, Any], key: str) -> Any:
    return next((value for name, value in reversed(list(members.items())) if name.strip().casefold() == key), None)


def _label_of(value: Any, labels: LabelReader) -> Found | Off | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return Off("it is not a text or a number" if value is not None else "it is null")
    return labels.read(value if isinstance(value, str) else repr(value), "remark")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _locate(text: str, region: Region, key: str) -> tuple[int, int]:
    """Return where the answer's key and value stand, or the whole object when they cannot be told apart."""
    source = text[region.start : region.end]
    for start, end, _ in _keyed_values(plain(source) if region.step == "repaired" else source, key):
        return region.start + start, region.start + end
    return region.start, region.end


def _keyed_values(text: str, key: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield (start, end, value) of each `key: value` where a key may stand, last first; None is a value cut off."""
    folded = text.lower()
    if len(folded) != len(text):  # a few letters grow when lowered, and positions would shift
        folded = text
    at = len(text)
    for _ in range(MOST_OBJECTS):
        at = folded.rfind(key, 0, at)
        if at < 0:
            return
        head, tail = _KEY_HEAD.search(text[max(0, at - 4) : at]), _KEY_TAIL.match(text, at + len(key))
        start = at - len(head[0]) if head else at
        if tail is None or _before(text, start) not in ("", "\n", "{", ","):
            continue
        if (value := _value_at(text, tail.end())) is not None:
            yield start, value[0], value[1]


def _before(text: str, at: int) -> str:
    """Return the last character before a position that is not decoration; nothing at the start of the text."""
    return text[max(0, at - 40) : at].rstrip(" \t\r*_#-")[-1:]


def _value_at(text: str, start: int) -> tuple[int, str | None] | None:
    """Return the end and the text of the value that starts here, unless something odd follows it."""
    start += len(text[start : start + 40]) - len(text[start : start + 40].lstrip())
    opening = text[start : start + 1]
    if opening in ('"', "'", "`"):
        closing = re.compile(rf"(?:[^{opening}\\\n]|\\.){{0,2000}}{opening}").match(text, start + 1)
        if closing is None:
            return len(text), None
        end = closing.end()
    else:
        bare = re.compile(r"\[[^\]\n]{0,200}\]|[^,}\n]{0,400}").match(text, start)
        end = bare.end() if bare else start
    return (end, text[start:end]) if _AFTER_VALUE.match(text, end) else None


def _read_key_line(text: str, shape: Shape, labels: LabelReader, quoted: list[Region]) -> Reading:
    """Take the last `choice: A+` that is a line of its own, or the tail of an object too broken to repair."""
    quoted = sorted(quoted, key=lambda region: region.start)
    starts = [region.start for region in quoted]
    broken_from = _first_other_key(text, shape)
    for start, end, value in _keyed_values(text, shape.answer_key):
        inside = bisect_right(starts, start) - 1
        if (inside >= 0 and start < quoted[inside].end) or not _closes_line(text, start, end, broken_from):
            continue
        found = Off("its text is not closed") if value is None else labels.read(value, "remark")
        if isinstance(found, Found):
            return Verdict(found.label, "key", start, end)
        if isinstance(found, Off):
            return NoVerdict("unreadable", f"the answer under {shape.answer_key!r} is not a label: {found.why}")
    return NoVerdict("unreadable", f"no object or line with the key {shape.answer_key!r}")


def _first_other_key(text: str, shape: Shape) -> int:
    found = (re.search(rf"[\"']{re.escape(key)}[\"']\s{{0,9}}:", text, re.IGNORECASE) for key in shape.other_keys)
    return min((match.start() for match in found if match), default=len(text))


def _closes_line(text: str, start: int, end: int, broken_from: int) -> bool:
    """Say whether a key stands on a line of its own, or ends an object that began with another of its keys."""
    before = _before(text, start)
    if before in ("", "\n"):
        return True
    tail = text[end : end + 80].partition("\n")[0].replace("}", "")
    return before == "," and broken_from < start and bool(_LINE_TAIL.fullmatch(tail))
