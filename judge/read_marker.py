"""Reading the label after the last marker (`[RESULT] 4`) of a reply.

Steps: marker (a label after the marker), line (no marker; the last line is `Score: 4`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache

from judge.domain import NoVerdict, Reading, Verdict
from judge.labels import Found, LabelReader, Off, label_reader, plain
from judge.protocol import Protocol

WINDOW = 400  # how far after a marker a label and its remark may reach
MOST_MARKERS = 200  # the last ones; a reply with more is not an answer, and must not take long
_DRESS = r"[\s*_`]{0,9}"
_LAST_LINE = re.compile(
    r"[\s*_#`\"'-]{0,20}(?:(?:final|overall)\s{1,9})?(?:score|result)[\s*_`\"']{0,9}[:=]",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:(?:contain|say|state|claim|include|write|end|insert|plant|quote|embed)(?:s|d|ed|ing|ded|ted)?|said|wrote)"
    r"(?:\s+(?:in|with))?\s*\Z",
    re.IGNORECASE,
)
_FEEDBACK_HEAD = re.compile(r"[\s*_#\"'>]*feedback[\s*_\"']*:[\s*_]*", re.IGNORECASE)


@lru_cache(maxsize=256)
def _marker_pattern(marker: str) -> re.Pattern[str]:
    bracketed = marker.startswith("[") and marker.endswith("]")
    words = r"\s{1,9}".join(map(re.escape, (marker[1:-1] if bracketed else marker).split()))
    if bracketed:  # brackets may be escaped, and may close after the label: [RESULT: B]
        return re.compile(rf"\\?\[{_DRESS}{words}{_DRESS}(?:\\?\]|(?=[:=-]))", re.IGNORECASE)
    return re.compile(rf"(?<!\w){words}", re.IGNORECASE)


@lru_cache(maxsize=256)
def _echoes(template: str, marker: str) -> tuple[str, ...]:
    """Return what the template itself writes after its marker: the instructions, when a reply repeats them."""
    found = (template[match.end() :].partition("\n")[0] for match in _marker_pattern(marker).finditer(template))
    return tuple(filter(None, map(_squeeze, found)))


def _squeeze(text: str) -> str:
    return re.sub(r"[\s\"'\\*`.]+", "", text).casefold()


def read_marker(protocol: Protocol, reply: str) -> Reading:
    """Return the label after the last marker that is followed by one and is not a quotation."""
    text = plain(reply)
    labels = label_reader(protocol.scale)
    pattern = _marker_pattern(protocol.answer.text)
    echoes = _echoes(protocol.template, protocol.answer.text)
    quotations = Quotations(text)
    last: tuple[int, Found | Off] | None = None
    for match in list(pattern.finditer(text))[-MOST_MARKERS:]:
        after = text[match.end() : match.end() + WINDOW]
        if any(_squeeze(after[: 3 * len(echo)]).startswith(echo) for echo in echoes):
            continue
        found = labels.read(after, "words")
        if found is None:
            continue
        end = match.end() + (found.end if isinstance(found, Found) else 0)
        if quotations.hold(match.start(), match.end(), end):
            continue
        if last is not None and isinstance(last[1], Found) and _only_mentioned(text, last[1].end, match.start()):
            continue
        last = match.start(), _moved(found, match.end())
    if last is None:
        return _read_last_line(reply, text, labels)
    marker_start, answer = last
    parts = _feedback(reply[:marker_start])
    if isinstance(answer, Off):
        return NoVerdict("unreadable", f"what follows the marker is not a label: {answer.why}", parts)
    return Verdict(answer.label, "marker", marker_start, answer.end, parts)


def _moved(found: Found | Off, by: int) -> Found | Off:
    return Found(found.label, found.start + by, found.end + by) if isinstance(found, Found) else found


class Quotations:
    """Tells whether a marker and its label stand inside quotation marks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.quotes = [match.start() for match in re.finditer('"', text)]
        self.lines = [match.start() for match in re.finditer("\n", text)]
        stripped = text.strip()
        # The prompt shows its output format in quotes, so a whole reply in quotes is an answer.
        self.wrapped = len(stripped) > 1 and stripped[0] == stripped[-1] == '"'

    def hold(self, start: int, marker_end: int, end: int) -> bool:
        """Say whether the text from `start` to `end` is quoted; a quoted marker alone is not."""
        line = bisect_left(self.lines, start)
        line_start = self.lines[line - 1] + 1 if line else 0
        line_end = (
            self.lines[bisect_left(self.lines, end)]
            if bisect_left(self.lines, end) < len(self.lines)
            else len(self.text)
        )
        if self.text[line_start : line_start + 20].lstrip().startswith(">"):
            return True
        if self._wrapped_closely(start, end, line_start, line_end):
            return True
        before_line = bisect_left(self.quotes, line_start)
        opened = bisect_left(self.quotes, start) - before_line
        reopened = bisect_left(self.quotes, marker_end) - before_line
        closing = bisect_right(self.quotes, end - 1)
        if opened % 2 == 0 or reopened % 2 == 0 or closing == len(self.quotes) or self.quotes[closing] >= line_end:
            return False
        return not (self.wrapped and closing == len(self.quotes) - 1)

    def _wrapped_closely(self, start: int, end: int, line_start: int, line_end: int) -> bool:
        mark = self.text[start - 1 : start]
        if mark not in ("'", "`") or self.text[end : end + 2].lstrip(".")[:1] != mark:
            return False
        alone = not self.text[line_start : start - 1].strip("` *_") and not self.text[end:line_end].strip("`'. *_")
        return not (mark == "`" and alone)


def _only_mentioned(text: str, verdict_end: int, marker_start: int) -> bool:
    """Say whether a marker after an earlier verdict stands in a bracketed remark or reports what a response wrote."""
    between = text[max(verdict_end, marker_start - 2000) : marker_start]
    if _REPORTED.search(between[-40:]):
        return True
    remark = "\n" not in between or between.lstrip()[:1] in ("(", "[", "{")
    return remark and any(between.count(opening) > between.count(closing) for opening, closing in ("()", "[]", "{}"))


def _read_last_line(reply: str, text: str, labels: LabelReader) -> Reading:
    stripped = re.sub(r"(?:\s|</s>|<\|\w+\|>)+\Z", "", text[-2000:])
    line = stripped.rpartition("\n")[2]
    offset = max(0, len(text) - 2000) + len(stripped) - len(line)
    if (match := _LAST_LINE.match(line)) and (offset == 0 or text[offset - 1] == "\n"):
        found = labels.read(line[match.end() :], "nothing")
        if isinstance(found, Found):
            return Verdict(found.label, "line", offset, offset + match.end() + found.end, _feedback(reply[:offset]))
    return NoVerdict("unreadable", "no marker is followed by a label, and the last line is not one", _feedback(reply))


def _feedback(text: str) -> dict[str, str]:
    head = _FEEDBACK_HEAD.match(text)
    feedback = text[head.end() if head else 0 :].strip().rstrip("*_ ")
    return {"feedback": feedback} if feedback else {}
