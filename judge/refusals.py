"""What a server's refusals mean: whether to ask again, and how to say it without the key."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from math import isfinite
from pathlib import PurePath
from traceback import extract_tb

from judge.domain import Failure, FailureKind

LONGEST_MESSAGE = 400
CODES = ("code", "type", "param")  # what an error says to programs

_ANY = re.compile("")
_CONTEXT = re.compile(
    r"context[ _](?:length|size|window)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|exceeds? .{0,40}\b(?:context|token)|reduce the length",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|model\b.{0,80}(?:not found|does not exist|not exist|unknown|not supported|not a valid)"
    r"|(?:not a valid|unknown|invalid|no such) model",
    re.IGNORECASE | re.DOTALL,
)
_NO_QUOTA = re.compile(
    r"insufficient_quota|insufficient (?:balance|credits?)|exceeded your current quota", re.IGNORECASE
)
FLAGGED = re.compile(
    r"flagged|moderation|content[ _](?:management )?(?:policy|filter)|safety system|usage polic|harmful|inappropriate",
    re.IGNORECASE,
)
_MASKED_KEY = re.compile(r"\bsk-[^\s\"',;]*|[^\s\"',;:]*\*{3,}[^\s\"',;]*")


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong with one request, whether to send it again, and how long the server asks to wait.

    `fields` are those parts of the request that the server names by themselves.
    """

    failure: Failure
    status: int = 0
    said: str = ""
    fields: tuple[str, ...] = ()
    again: bool = False
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """What an answer of these statuses, with these words in it, means."""

    statuses: Container[int]
    words: re.Pattern[str]
    kind: FailureKind
    text: str
    fatal: bool = False
    again: bool = False


_REFUSED = _Rule((), _ANY, "request", "the server refuses the request")
# The first that fits counts.
_RULES = (
    _Rule((402,), _ANY, "rate", "the account's quota is used up", fatal=True),
    _Rule((429,), _NO_QUOTA, "rate", "the account's quota is used up", fatal=True),
    _Rule((403,), FLAGGED, "request", "the server will not take this text"),
    _Rule((401, 403), _ANY, "key", "the server refuses the key", fatal=True),
    _Rule((413,), _ANY, "context", "the prompt is too long for the server"),
    _Rule((400, 404, 422), _CONTEXT, "context", "the prompt is too long for the model"),
    _Rule((400, 404), _NO_MODEL, "model", "the server has no model {model!r}", fatal=True),
    _Rule((404,), _ANY, "request", "there is nothing at this address, which usually ends in /v1", fatal=True),
    _Rule((429,), _ANY, "rate", "too many requests", again=True),
    _Rule((408,), _ANY, "timeout", "the server took too long", again=True),
    _Rule(range(500, 600), _ANY, "server", "the server failed", again=True),
)


def explain_status(status: int, body: object, headers: Mapping[str, str], model: str, now: float) -> Trouble:
    """Return what an HTTP status and its body mean."""
    details = [str(body.get(name)) for name in CODES] if isinstance(body, dict) else []
    text = said(body) or _other_words(body)
    words = " ".join([*details, text])
    rule = next((rule for rule in _RULES if status in rule.statuses and rule.words.search(words)), _REFUSED)
    message = f"{rule.text.format(model=model)} ({status}): {text[:LONGEST_MESSAGE]}"
    failure = Failure(rule.kind, message, rule.fatal)
    return Trouble(failure, status, text, named_fields(body), rule.again, retry_after(headers, now))


def named_fields(body: object) -> tuple[str, ...]:
    """Return the fields of the request that an error names by themselves: as its `param`, or as pydantic's places."""
    if isinstance(body, list):
        return tuple(name for each in body for name in named_fields(each))
    if not isinstance(body, dict):
        return ()
    places = [".".join(map(str, body["loc"]))] if isinstance(body.get("loc"), list) else []
    param = [body["param"]] if isinstance(body.get("param"), str) else []
    return (*param, *places, *named_fields(body.get("detail")), *named_fields(body.get("error")))


def said(body: object) -> str:
    """Return what a server's error says, in whichever of the usual forms."""
    if isinstance(body, list):
        return "; ".join(map(said, body))
    if not isinstance(body, dict):
        text = str(body or "")
        return "(a web page)" if text.lstrip().startswith("<") else text
    where = ".".join(map(str, body["loc"])) + ": " if isinstance(body.get("loc"), list) else ""
    inner = next((body[name] for name in ("message", "error", "detail", "msg", "text") if body.get(name)), "")
    return where + said(inner)


def _other_words(body: object) -> str:
    """Return an error in none of the usual forms as the JSON it came in; nothing when it says nothing."""
    fields = body.items() if isinstance(body, dict) else ()
    told = {name: value for name, value in fields if value and name not in CODES}
    return json.dumps(told, ensure_ascii=False) if told else ""


def fault_in(error: Exception) -> Failure:
    """Return the failure of a call that Accord itself broke on: where, and nothing of what was sent or said."""
    place = extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {PurePath(place.filename).name}, line {place.lineno}"
    return Failure("bug", f"a fault in Accord, please report it: {where}")


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds a server asks to wait, given as a number or as a date."""
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None


def scrub(text: str, key: str) -> str:
    """Return a text without the key, any six letters of it in a row, or a key shown with stars."""
    covered = [False] * len(text)
    size = min(6, len(key))
    pieces = {key[at : at + size] for at in range(len(key) - size + 1)} - {""}
    for at in range(len(text) - size + 1):
        if text[at : at + size] in pieces:
            covered[at : at + size] = [True] * size
    hidden = "".join("\0" if hide else letter for letter, hide in zip(text, covered, strict=True))
    return re.sub(r"\0+", "[key]", _MASKED_KEY.sub("\0", hidden))
