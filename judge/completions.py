"""What a server's completion says, whole or in the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from judge.domain import Reply, Scale
from judge.probabilities import told_probabilities
from judge.refusals import said

MOST_TOKENS = 2**31 - 1  # what a database adds up as a whole number


def read_completion(body: Any, scale: Scale | None) -> Reply | None:
    """Return the reply in a completion; None when this is no completion."""
    try:
        choice = body["choices"][0]
        text, reasoning = _contents(choice["message"])
        return Reply(
            text,
            finish_reason=_name(choice.get("finish_reason")),
            model=_name(body.get("model")),
            reasoning=reasoning,
            prompt_tokens=_count(body.get("usage"), "prompt_tokens"),
            completion_tokens=_count(body.get("usage"), "completion_tokens"),
            label_probabilities=told_probabilities(scale, text, choice.get("logprobs")) if scale else {},
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


def storable(text: str) -> str:
    """Return a text that every database can keep: halves of surrogate pairs and NUL become U+FFFD."""
    text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:  # two halves that came one after the other are one letter
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice of a completion or a chunk; nothing where there is none."""
    choices = body.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


class Heard:
    """What has arrived of a stream."""

    def __init__(self) -> None:
        self.text = ""
        self._reasoning = ""
        self._model: str | None = None
        self._usage: object = None
        self._finish_reason: str | None = None
        self._tokens: list[Any] = []  # with their probabilities, where the server tells them

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Keep what a chunk brings."""
        choice = first_choice(chunk)
        self._model = _name(chunk.get("model")) or self._model
        self._usage = chunk.get("usage") or self._usage
        self._finish_reason = _name(choice.get("finish_reason")) or self._finish_reason
        delta = choice.get("delta") or choice.get("message")  # a server that knows no streams sends the message whole
        text, reasoning = _contents(delta) if isinstance(delta, dict) else ("", None)
        self.text += text
        self._reasoning += reasoning or ""
        told = choice.get("logprobs")
        tokens = told.get("content") if isinstance(told, dict) else None
        self._tokens += tokens if isinstance(tokens, list) else ()

    def reply(self, scale: Scale | None) -> Reply:
        """Return the whole reply, with the probabilities of a scale's labels."""
        return Reply(
            self.text,
            finish_reason=self._finish_reason,
            model=self._model,
            reasoning=self._reasoning or None,
            prompt_tokens=_count(self._usage, "prompt_tokens"),
            completion_tokens=_count(self._usage, "completion_tokens"),
            label_probabilities=told_probabilities(scale, self.text, {"content": self._tokens}) if scale else {},
        )


def _contents(message: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the text and the reasoning of a message or of a piece of one."""
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(content, list):  # Mistral's models send the two as parts of one content
        thoughts = [said(part.get("thinking") or "") for part in content if _is_thinking(part)]
        reasoning = "".join(thoughts) or reasoning
        content = "".join(map(_part, content))
    return _text(content) or _text(message.get("refusal")), reasoning if isinstance(reasoning, str) else None


def _is_thinking(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "thinking"


def _part(part: object) -> str:
    """Return the text of a part of a content, whatever type it says it has."""
    text = part.get("text") if isinstance(part, dict) and not _is_thinking(part) else part
    return text if isinstance(text, str) else ""


def _text(content: object) -> str:
    """Return a content as text; what should not be there is kept as the JSON it came in."""
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(usage: object, name: str) -> int | None:
    """Return a number of tokens, also one written as text; None for what is none."""
    value = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        count = int(value)
    except (ValueError, OverflowError):
        return None
    return count if 0 <= count <= MOST_TOKENS else None
