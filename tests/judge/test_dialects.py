"""What servers refuse in their many words is left out; what merely sounds like it is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from openai_server import Answer, Behave, OpenAIServer, Seen, completion, error

from judge.client import Client, Endpoint
from judge.domain import Failure, Prompt, Reply

PROMPT = Prompt("p", "AB", "Be fair.", "Which is better?", ())
GOOD = completion("Feedback: fine. [RESULT] 4")
REQUEST = {"temperature": 0, "max_tokens": 2048, "response_format": "json_object", "logprobs": True}

REFUSALS = {
    "temperature": [
        "Temperature is not supported by this model",
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "temperature must be 1 for this model",
        "Sampling parameter TEMPERATURE not allowed",
    ],
    "max_tokens": [
        "Unsupported parameter: 'max_tokens'",
        "max_tokens is not supported; use max_completion_tokens",
        "max_tokens: Extra inputs are not permitted",
        "Unknown field: max tokens",
    ],
    "response_format": [
        "JSON mode is not supported by this model",
        "response format is not supported",
        "'response_format.type' must be 'json_schema' or 'text'",
        "Unknown field responseFormat / structured outputs not available",
    ],
    "system": [
        "System role not supported",
        "System messages are not supported by this model",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
        "This model does not support system prompts",
        "Only user and assistant roles are supported!",
        "Unexpected role: system",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "messages.0.role: Input should be 'user' or 'assistant'",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
    ],
    "logprobs": ["logprobs are not available", "This model doesn't support log probabilities"],
}
WORDS = [(name, words) for name, texts in REFUSALS.items() for words in texts]
FORMS = {
    "an error": lambda name, words: error(400, words),
    "plain text": lambda name, words: Answer(400, words.encode()),
    "a detail": lambda name, words: Answer(422, {"detail": words}),
    "a string": lambda name, words: Answer(400, {"error": words}),
    "500": lambda name, words: error(500, words),
    "501": lambda name, words: error(501, words),
}


def asks(seen: Seen, name: str) -> bool:
    return "system" in seen.roles if name == "system" else name in seen.body


def ask(behave: Behave, times: int = 1, request: Mapping[str, object] = REQUEST) -> tuple[list[Any], OpenAIServer]:
    async def main(url: str) -> Any:
        async with Client(Endpoint(url, "judge", "", tries=1)) as client:
            return [await client.ask(PROMPT, request) for _ in range(times)]

    with OpenAIServer(behave) as server:
        return asyncio.run(main(server.url)), server


@pytest.mark.parametrize("form", FORMS)
def test_a_refusal_is_understood_in_its_words_whatever_their_form(form: str) -> None:
    for name, words in WORDS:
        refusal = FORMS[form](name, words)
        [reply, again], server = ask(lambda seen, name=name, no=refusal: no if asks(seen, name) else GOOD, times=2)
        assert (words, getattr(reply, "adapted", reply)) == (words, (name,))
        assert (again.adapted, server.served) == ((name,), 3)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_field_that_is_named_by_itself_needs_no_words(name: str) -> None:
    where = "messages[0].role" if name == "system" else name
    place = ["body", "messages", 0, "role"] if name == "system" else ["body", name]
    for refusal in (
        error(400, "No.", param=where),
        error(400, "No.", param=name),
        Answer(422, {"detail": [{"type": "value_error", "loc": place, "msg": "No.", "input": 1}]}),
    ):
        [reply], _ = ask(lambda seen, no=refusal: no if asks(seen, name) else GOOD)
        assert reply.adapted == (name,)


def test_a_server_that_takes_no_limit_of_tokens_gets_none() -> None:
    def behave(seen: Seen) -> Answer:
        unknown = [name for name in seen.body if name.startswith("max_")]
        return error(400, f"Unknown parameter: '{unknown[0]}'.") if unknown else GOOD

    [reply], server = ask(behave)
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 2048, None]
    assert set(reply.adapted) == {"max_tokens", "max_completion_tokens"}


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 2048. This model supports at most 1024 completion tokens, whereas you provided 2048.",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 1024]",
        "`max_tokens` must be less than or equal to `1024`, the maximum is less than the `context_window`",
        "max_tokens: 2048 > 1024, which is the maximum allowed number of output tokens",
    ],
)
def test_a_limit_of_tokens_that_is_too_large_becomes_the_largest_that_is_allowed(words: str) -> None:
    [reply, again], server = ask(lambda seen: error(400, words) if seen.body["max_tokens"] > 1024 else GOOD, times=2)
    assert [body["max_tokens"] for body in server.bodies] == [2048, 1024, 1024]
    assert reply.adapted == again.adapted == ("max_tokens=1024",)


UNRELATED = [
    "Invalid prompt: 'At what temperature does water boil?' was flagged by our safety system",
    "The text 'max_tokens is not supported' violates our content policy",
    "Could not parse the question about the temperature of the sun",
    "Unexpected end of the text after: at what temperature",
    "The system is overloaded; temperature in the machine room",
]


@pytest.mark.parametrize("words", UNRELATED)
def test_a_refusal_that_merely_mentions_a_field_changes_nothing_for_the_calls_after_it(words: str) -> None:
    def behave(seen: Seen) -> Answer:
        return error(400, words) if seen.number < first else GOOD

    first = 10
    [failure], server = ask(behave)
    assert isinstance(failure, Failure)
    first = len(server.requests)
    [failure, reply], server = ask(behave, times=2)
    assert (failure.kind, isinstance(reply, Reply)) == ("request", True)
    assert reply.adapted == ()
    assert server.bodies[-1]["temperature"] == 0
    assert json.dumps(server.bodies[-1]["messages"]).count("system") == 1
