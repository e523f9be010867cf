"""What a server may lack, told from its own refusals, and what is sent to it without that.

A refusal names a field by itself (`param`, or the place that pydantic gives), or in words beside the field's name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from judge.domain import Prompt
from judge.refusals import FLAGGED, Trouble
from judge.render import fold_system


@dataclass(frozen=True, slots=True)
class _Capability:
    """The fields of a request that go with it, and how servers call it."""

    fields: tuple[str, ...]
    names: re.Pattern[str]


def _capability(names: str, *fields: str) -> _Capability:
    return _Capability(fields, re.compile(names, re.IGNORECASE))


CAPABILITIES: Mapping[str, _Capability] = {
    "system": _capability(
        r"(?:system|developer)[ _]?(?:role|message|prompt|instruction|content)s?|\broles?\W{1,3}(?:system|developer)\b"
        r"|messages\W{0,2}0\W{0,2}role",
    ),
    "temperature": _capability(r"\btemperature\b", "temperature"),
    "top_p": _capability(r"\btop[ _]?p\b", "top_p"),
    "seed": _capability(r"\bseed\b", "seed"),
    "max_tokens": _capability(r"\bmax[ _]?tokens\b", "max_tokens"),
    "max_completion_tokens": _capability(r"\bmax[ _]?completion[ _]?tokens\b", "max_completion_tokens"),
    "response_format": _capability(
        r"\bresponse[ _]?format\b|\bjson[ _](?:mode|object|schema|output)\b|\bstructured[ _]outputs?\b",
        "response_format",
    ),
    "logprobs": _capability(r"\b(?:top[ _]?)?log[ _]?prob(?:s|abilities)\b", "logprobs", "top_logprobs"),
    "stream_options": _capability(r"\bstream[ _]?options\b", "stream_options"),
}
MOST_ALTERNATIVES = 20  # of a token, the most that OpenAI's own servers give
LIMIT = "max_tokens="  # before the most tokens that the server allows an answer

_REFUSING = (
    r"(?:unsupported|unknown|unrecogni[sz]ed|unexpected|unavailable|invalid|forbidden|disallowed|deprecated|disabled"
    r"|incompatible|not[ _]support|n['’]t support|not (?:an? )?(?:allowed|permitted|available|enabled|implemented"
    r"|accept|recogni[sz]ed|valid|compatible)|extra (?:input|field)|no longer|must (?:not )?be|should be|cannot"
    r"|can['’]t|\bonly\b)"
)
_NO_SYSTEM = re.compile(
    r"roles must alternate|only user and assistant roles|role\b.{0,40}\bsystem\b|\bsystem\b.{0,20}\brole"
    r"|input should be 'user' or 'assistant'",
    re.IGNORECASE,
)
_OUT_OF_RANGE = re.compile(r"above_max|below_min|\bbetween\b|\brange\b|at most|at least|[<>]=|less than|greater than")
_TOKENS = re.compile(r"max[ _]?(?:\w+[ _])?tokens|(?:completion|output) tokens", re.IGNORECASE)
_TOO_MANY = re.compile(
    r"too (?:large|high|big)|exceed|at most|maximum|less than or equal|<=|valid range", re.IGNORECASE
)
_MOST = re.compile(
    r"(?:at most|up to|less than or equal to|<=|maximum (?:value )?(?:is|of)|\[\d+,) ?[`'\"]?(\d+)"
    r"|> ?(\d+), which is the maximum",
    re.IGNORECASE,
)


def request_body(
    model: str, prompt: Prompt, request: Mapping[str, object], lacks: Collection[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what to send to a server that lacks this, and what that changed."""
    folded = fold_system(prompt) if "system" in lacks else prompt
    system = [{"role": "system", "content": folded.system}] if folded.system else []
    messages = [*system, {"role": "user", "content": folded.user}]
    body: dict[str, Any] = {"model": model, "messages": messages, **_fields(request)}
    adapted = ["system"] if folded is not prompt else []
    fitted = _fit_limit(body, lacks) if lacks else []
    for name in (each for each in CAPABILITIES if each in lacks):
        gone = [body.pop(each, None) for each in CAPABILITIES[name].fields]
        adapted += [name] if any(each is not None for each in gone) else []
    return body, (*adapted, *fitted)


def _fields(request: Mapping[str, object]) -> dict[str, object]:
    """Return a request's fields as they are sent; what is None is left to the server."""
    fields = {name: value for name, value in request.items() if value is not None}
    if isinstance(fields.get("response_format"), str):
        fields["response_format"] = {"type": fields["response_format"]}
    if fields.get("logprobs") is True:
        fields.setdefault("top_logprobs", MOST_ALTERNATIVES)
    return fields


def _fit_limit(body: dict[str, Any], lacks: Collection[str]) -> list[str]:
    """Write the limit of an answer's tokens as the server takes it, and return what that changed."""
    names = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
    if not names:
        return []
    limit = body.pop(names[0])
    allowed = [int(lack.removeprefix(LIMIT)) for lack in lacks if lack.startswith(LIMIT)]
    changed = [f"{LIMIT}{most}" for most in allowed if most < limit]
    limit = min(limit, *allowed) if allowed else limit
    if names[0] == "max_tokens" and "max_tokens" in lacks:
        changed.append("max_tokens")
        names[0] = "max_completion_tokens"
    if names[0] in lacks:
        return [*changed, names[0]]
    body[names[0]] = limit
    return changed


def refused_capability(trouble: Trouble, body: Mapping[str, Any]) -> str | None:
    """Return the capability whose use the server refuses, if this request used it; or the limit that it names."""
    if trouble.status not in (400, 403, 404, 422, 500, 501) or FLAGGED.search(trouble.said):
        return None
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    if isinstance(limit, int) and _TOKENS.search(trouble.said) and _TOO_MANY.search(trouble.said):
        found = (int(number) for pair in _MOST.findall(trouble.said) for number in pair if number)
        return next((f"{LIMIT}{most}" for most in found if 0 < most < limit), None)
    if trouble.failure.kind == "context":
        return None
    used = [name for name in CAPABILITIES if _uses(body, name) and not _is_mistake(trouble, body, name)]
    # One that fails (llama.cpp does, when a chat template has no place for a system message) must say so in words.
    named = [name for name in used if trouble.status < 500 and _is_named(name, trouble.fields)]
    return next(iter([*named, *(name for name in used if _is_said(name, trouble.said))]), None)


def _uses(body: Mapping[str, Any], name: str) -> bool:
    if name == "system":
        return bool(body["messages"][0]["role"] == "system")
    return any(each in body for each in CAPABILITIES[name].fields)


def _is_mistake(trouble: Trouble, body: Mapping[str, Any], name: str) -> bool:
    """Say whether the value is wrong: a temperature of 3 is to be reported; one of 0 may simply not be on offer."""
    return name in ("temperature", "top_p") and body[name] not in (0, 1) and bool(_OUT_OF_RANGE.search(trouble.said))


def _is_named(name: str, fields: Iterable[str]) -> bool:
    return any(field == name or CAPABILITIES[name].names.search(field) for field in fields)


def _is_said(name: str, text: str) -> bool:
    """Say whether the text refuses it: a refusing word stands beside its name."""
    names = CAPABILITIES[name].names.pattern
    beside = rf"(?:{names}).{{0,60}}?{_REFUSING}|{_REFUSING}.{{0,60}}?(?:{names})"
    return bool(re.search(beside, text, re.IGNORECASE) or (name == "system" and _NO_SYSTEM.search(text)))
