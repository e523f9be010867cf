"""Protocol + reply → a verdict, or why there is none. Reading never raises and never invents a label."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace

from judge.domain import NoVerdict, Reading
from judge.protocol import Protocol

_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
_REASONING_OPENS = re.compile(r"\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_REASONING_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_CANNOT = r"(?:can['’]?t|cannot|can not|unable|not able|won['’]?t|will not)"
_TASK = r"(?:assist|help|comply|provide|evaluate|judge|compare|fulfill?|engage|answer|rate|score|do (?:that|this)|to)"
_REFUSAL = re.compile(
    rf"(?:sorry|apologi[sz]e|regret|afraid)\b.{{0,80}}?\b{_CANNOT}\b"
    rf"|\bI(?: am|['’]m)? ?(?:{_CANNOT}|must decline|decline|refuse)\b.{{0,30}}?\b(?:{_TASK}|with (?:that|this))\b"
    rf"|\bas an? (?:AI|language model)\b.{{0,80}}?\b{_CANNOT}\b",
    re.IGNORECASE | re.DOTALL,
)
LONGEST_REFUSAL = 1500
_CLOSING = "\"'`”’]})"


def read(protocol: Protocol, reply: str, finish_reason: str | None = None) -> Reading:
    """Return the verdict in a judge's reply, in the frame the judge saw, or the reason there is none."""
    text, dropped = _drop_invisible(reply)
    start = _skip_reasoning(text)
    if start is None:
        return NoVerdict("cut_off", "the reasoning block is never closed")
    body = text[start:]
    reading = _read_form(protocol, body)
    if isinstance(reading, NoVerdict):
        return _explain(reading, body, finish_reason)
    if finish_reason == "length" and start + reading.end == len(text) and text[-1] not in _CLOSING:
        return NoVerdict(
            "cut_off",
            f"the reply was cut off right after {reading.label!r}, which may not be the whole label",
            reading.parts,
        )
    return replace(
        reading, start=_undropped(start + reading.start, dropped), end=_undropped(start + reading.end, dropped)
    )


def _read_form(protocol: Protocol, body: str) -> Reading:
    # Imported here because a protocol has one form only, and no judge should be asked later for the sake of its answer.
    if protocol.answer.form == "json":
        from judge.read_json import read_json

        return read_json(protocol, body)
    from judge.read_marker import read_marker

    return read_marker(protocol, body)


def _explain(reading: NoVerdict, body: str, finish_reason: str | None) -> NoVerdict:
    if finish_reason == "length":
        return replace(reading, status="cut_off", why=f"the reply was cut off at the token limit: {reading.why}")
    if finish_reason == "content_filter" or _declines(body):
        return replace(reading, status="refused", why="the judge declined to answer")
    if not body.strip():
        return replace(reading, why="the reply is empty")
    return reading


def _declines(body: str) -> bool:
    """Say whether a short reply opens with a refusal of the judge's own, not one it quotes."""
    match = _REFUSAL.search(body.strip()[:400]) if len(body) <= LONGEST_REFUSAL else None
    return match is not None and match.start() <= 60 and not re.search('["“«`]', body.strip()[: match.start()])


def _drop_invisible(reply: str) -> tuple[str, list[int]]:
    """Return the text without zero-width characters, and the positions they were dropped at."""
    if reply.isascii():
        return reply, []
    dropped = [match.start() - count for count, match in enumerate(_INVISIBLE.finditer(reply))]
    return (_INVISIBLE.sub("", reply), dropped) if dropped else (reply, [])


def _undropped(position: int, dropped: list[int]) -> int:
    return position + bisect_right(dropped, position)


def _skip_reasoning(text: str) -> int | None:
    """Return where the answer begins after the reasoning that opens the reply; None when it never ends."""
    start = 0
    while opening := _REASONING_OPENS.match(text, start):
        closing = re.compile(f"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            return None
        start = closing.end()
    return start or _after_headless_reasoning(text)


def _after_headless_reasoning(text: str) -> int:
    """Return the end of a block that began with the reply and has only its closing tag, else 0."""
    tag = _REASONING_TAG.search(text)
    if tag is None or not tag[1] or text.lstrip()[:1] in ("{", "[", "`"):
        return 0
    around = text[tag.start() - 1 : tag.start()] + text[tag.end() : tag.end() + 1]
    quoted = len(around) == 2 and around[0] in "\"'`“‘" and around[1] in "\"'`”’"
    return 0 if quoted else tag.end()
