"""What a server's completion says, whole or in the chunks of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.domain import Reply, Scale
from judge.probabilities import told_probabilities
from judge.refusals import said


def read_completion(body: Any, scale: Scale | None) -> Reply | None:
    """Return the reply in a completion; None when this is no completion."""
    try:
        choice, usage = body["choices"][0], body.get("usage") or {}
        text, reasoning = _contents(choice["message"])
        return Reply(
            text,
            finish_reason=choice.get("finish_reason"),
            model=body.get("model"),
            reasoning=reasoning,
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            label_probabilities=told_probabilities(scale, text, choice.get("logprobs")) if scale else {},
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


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
        self._usage: Mapping[str, Any] = {}
        self._finish_reason: str | None = None

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Keep what a chunk brings and return its text."""
        choice = first_choice(chunk)
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        text, reasoning = _contents(choice.get("delta") or {})
        self.text += text
        self._reasoning += reasoning or ""
        return text

    def reply(self) -> Reply:
        """Return the whole reply."""
        return Reply(
            self.text,
            finish_reason=self._finish_reason,
            model=self._model,
            reasoning=self._reasoning or None,
            prompt_tokens=self._usage.get("prompt_tokens"),
            completion_tokens=self._usage.get("completion_tokens"),
        )


def _contents(message: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the text and the reasoning of a message or of a piece of one."""
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(content, list):  # Mistral's models send the two as parts of one content
        thoughts = [said(part.get("thinking") or "") for part in content if part.get("type") == "thinking"]
        reasoning = "".join(thoughts) or reasoning
        content = "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content or message.get("refusal") or "", reasoning if isinstance(reasoning, str) else None
