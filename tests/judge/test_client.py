"""The client against a real server over a socket: dialects, retries, failures, streaming, and the key kept secret."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai_server import (
    REFUSALS,
    Answer,
    Behave,
    OpenAIServer,
    Seen,
    completion,
    dropped,
    error,
    hanging,
    refusing,
    script,
    token,
    truncated_json,
)

from judge.client import Client, Endpoint
from judge.domain import Failure, InputError, Point, Prompt, Reply, Scale
from judge.probabilities import label_probabilities, soft_score
from judge.protocol import find_protocol
from judge.refusals import scrub
from judge.traffic import Traffic

KEY = "sk-planted-Q7w8E9r0T1y2U3i4"
PROMPT = Prompt("p", "AB", "Be fair.", "Which is better?", ())
GOOD = completion("Feedback: fine. [RESULT] 4", model="judge-2026")
NO_HTTP = replace(GOOD, headers={"x-long": "a" * 20_000})  # longer than a header can be
FIVE = find_protocol("prometheus-direct").scale
CHOICES = find_protocol("wildbench-pairwise").scale
NOW = datetime(2026, 1, 5, 10, 0, 0, tzinfo=UTC)
PATIENCE = 1.5  # seconds that a call may take here: a busy machine answers within them


class Waits:
    """Stands for sleeping: keeps what was asked for and takes no time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


Use = Callable[[Client], Coroutine[Any, Any, Any]]


def drive(behave: Behave, use: Use, waits: Waits | None = None, **settings: Any) -> tuple[Any, OpenAIServer]:
    """Run `use` with a client of a server that behaves so; give what it returned and the server."""

    async def main(url: str) -> Any:
        endpoint = Endpoint(url, "judge", KEY, **settings)
        seams = {"sleep": waits or Waits(), "jitter": lambda: 1.0, "now": NOW.timestamp}
        async with Client(endpoint, **seams) as client:
            return await use(client)

    with OpenAIServer(behave) as server:
        return asyncio.run(main(server.url)), server


def ask(behave: Behave, request: Mapping[str, object] | None = None, **settings: Any) -> tuple[Any, OpenAIServer]:
    scale = settings.pop("scale", None)
    return drive(behave, lambda client: client.ask(PROMPT, request or {}, scale), **settings)


def listen(behave: Behave, request: Mapping[str, object] | None = None, **settings: Any) -> tuple[Any, OpenAIServer]:
    scale = settings.pop("scale", None)

    async def collect(client: Client) -> list[str | Reply | Failure]:
        return [piece async for piece in client.stream(PROMPT, request or {}, scale)]

    return drive(behave, collect, **settings)


# What is sent, and what comes back.


def test_a_reply_keeps_everything_the_server_told() -> None:
    reply, server = ask(
        script(GOOD), {"temperature": 0, "max_tokens": 9, "seed": None, "response_format": "json_object"}
    )
    assert (reply.text, reply.finish_reason, reply.model) == ("Feedback: fine. [RESULT] 4", "stop", "judge-2026")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.adapted, reply.reasoning) == (11, 7, (), None)
    assert reply.seconds > 0
    [seen] = server.requests
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["content-type"] == "application/json"
    assert seen.body == {
        "model": "judge",
        "messages": [{"role": "system", "content": "Be fair."}, {"role": "user", "content": "Which is better?"}],
        "temperature": 0,
        "max_tokens": 9,
        "response_format": {"type": "json_object"},
    }


def test_without_a_system_message_none_is_sent() -> None:
    _, server = drive(script(GOOD), lambda client: client.ask(replace(PROMPT, system=""), {}))
    assert server.requests[0].roles == ["user"]


def test_a_schema_as_response_format_is_sent_as_it_is() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {}}}
    _, server = ask(script(GOOD), {"response_format": schema})
    assert server.bodies[0]["response_format"] == schema


def test_text_that_is_not_quite_unicode_is_sent_all_the_same() -> None:
    reply, server = drive(script(GOOD), lambda client: client.ask(replace(PROMPT, user="a\ud800é👩"), {}))
    assert isinstance(reply, Reply)
    assert server.bodies[0]["messages"][1]["content"] == "a\ud800é👩"


def test_a_server_without_keys_needs_none() -> None:
    async def main(url: str) -> Any:
        async with Client(Endpoint(url, "judge", "")) as client:
            return await client.ask(PROMPT, {})

    with OpenAIServer() as server:
        assert isinstance(asyncio.run(main(server.url)), Reply)


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert isinstance(ask(script(GOOD))[0], Reply)


def test_a_proxy_is_asked_for_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Client(Endpoint("http://judge.invalid/v1", "judge", "", tries=1)) as client:
            await client.ask(PROMPT, {})

    with OpenAIServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        asyncio.run(main())
    assert [request.path for request in proxy.requests] == ["http://judge.invalid/v1/chat/completions"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_of_its_own_is_kept_apart(field: str) -> None:
    reply, _ = ask(script(completion("[RESULT] 4", **{field: "Let me think."})))
    assert (reply.text, reply.reasoning) == ("[RESULT] 4", "Let me think.")


def test_reasoning_as_a_part_of_the_content_is_kept_apart() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "[RESULT] "},
        {"type": "text", "text": "4"},
    ]
    reply, _ = ask(script(completion(parts)))
    assert (reply.text, reply.reasoning) == ("[RESULT] 4", "Hm.")


@pytest.mark.parametrize(
    ("answer", "text"), [(completion(None), ""), (completion(None, refusal="I can't help."), "I can't help.")]
)
def test_a_reply_without_content(answer: Answer, text: str) -> None:
    assert ask(script(answer))[0].text == text


# Dialects.

EVERYTHING = {
    "temperature": 0,
    "top_p": 1,
    "seed": 3,
    "max_tokens": 50,
    "response_format": "json_object",
    "logprobs": True,
}


@pytest.mark.parametrize("name", [*EVERYTHING, "system"])
def test_what_the_server_refuses_is_left_out_and_named(name: str) -> None:
    waits = Waits()
    reply, server = ask(refusing(GOOD, name), EVERYTHING, waits=waits)
    assert isinstance(reply, Reply)
    assert reply.adapted == (name,)
    assert len(server.requests) == 2
    assert waits.seconds == []
    first, last = server.bodies
    gone = {"max_tokens": {"max_tokens"}, "logprobs": {"logprobs", "top_logprobs"}, "system": set()}.get(name, {name})
    assert first.keys() - last.keys() == gone
    assert last.keys() - first.keys() == ({"max_completion_tokens"} if name == "max_tokens" else set())


def test_a_refusal_in_a_form_of_its_own_is_understood_and_told() -> None:
    refusal = Answer(400, {"success": False, "errors": [{"reason": "temperature is not supported"}]})
    reply, _ = ask(lambda seen: refusal if "temperature" in seen.body else GOOD, {"temperature": 0})
    assert reply.adapted == ("temperature",)
    failure, _ = ask(script(refusal))
    assert "temperature is not supported" in failure.message


def test_a_refused_system_message_goes_into_the_users() -> None:
    _, server = ask(refusing(GOOD, "system"))
    assert server.bodies[1]["messages"] == [{"role": "user", "content": "Be fair.\n\nWhich is better?"}]


def test_llama_cpp_refuses_the_system_role_as_if_it_had_failed() -> None:
    refusal = error(500, "Value is not callable: System role not supported")
    reply, server = ask(lambda seen: refusal if "system" in seen.roles else GOOD)
    assert reply.adapted == ("system",)
    assert len(server.requests) == 2


def test_a_server_that_lacks_everything() -> None:
    reply, server = ask(refusing(GOOD, *EVERYTHING, "system"), EVERYTHING, tries=1)
    assert set(reply.adapted) == {*EVERYTHING, "system"}
    assert server.bodies[-1].keys() == {"model", "messages", "max_completion_tokens"}
    assert server.bodies[-1]["max_completion_tokens"] == 50


def test_a_dialect_is_learned_once() -> None:
    async def three_times(client: Client) -> list[Any]:
        return [await client.ask(PROMPT, EVERYTHING) for _ in range(3)]

    replies, server = drive(refusing(GOOD, "temperature", "system"), three_times)
    assert [reply.adapted for reply in replies] == [("system", "temperature")] * 3
    assert len(server.requests) == 2 + 3


def test_many_calls_at_once_learn_it_together() -> None:
    async def at_once(client: Client) -> list[Any]:
        first = await asyncio.gather(*(client.ask(PROMPT, EVERYTHING) for _ in range(50)))
        return first + await asyncio.gather(*(client.ask(PROMPT, EVERYTHING) for _ in range(50)))

    replies, server = drive(refusing(GOOD, "temperature"), at_once)
    assert {reply.adapted for reply in replies} == {("temperature",)}
    assert len(server.requests) <= 50 * 2 + 50


def test_only_what_the_request_held_is_named() -> None:
    async def twice(client: Client) -> Any:
        await client.ask(PROMPT, {"temperature": 0})
        return await client.ask(PROMPT, {"top_p": 1})

    assert drive(refusing(GOOD, "temperature"), twice)[0].adapted == ()


def test_a_value_out_of_range_is_reported_not_dropped() -> None:
    refusal = error(400, "Expected a value <= 2, but got 3 instead.", param="temperature")
    failure, server = ask(lambda seen: refusal if "temperature" in seen.body else GOOD, {"temperature": 3})
    assert (failure.kind, failure.fatal, len(server.requests)) == ("request", False, 1)
    assert "Expected a value <= 2" in failure.message


# Trying again.


@pytest.mark.parametrize(
    "bad",
    [
        error(429, "Rate limit reached"),
        error(500, "oops"),
        error(503, "overloaded"),
        dropped(),
        dropped(0),
        truncated_json(),
        Answer(body={"error": {"message": "provider down", "code": 502}}),
        NO_HTTP,
    ],
    ids=["429", "500", "503", "dropped", "no body", "truncated", "error in 200", "no HTTP"],
)
def test_a_passing_trouble_is_tried_again(bad: Answer) -> None:
    waits = Waits()
    reply, server = ask(script(bad, bad, GOOD), waits=waits)
    assert isinstance(reply, Reply)
    assert len(server.requests) == 3
    assert waits.seconds == [0.5, 1.0]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (error(429, "slow down"), "rate"),
        (error(502, "oops"), "server"),
        (dropped(), "connection"),
        (truncated_json(), "server"),
        (NO_HTTP, "connection"),
    ],
)
def test_tries_are_bounded(bad: Answer, kind: str) -> None:
    waits = Waits()
    failure, server = ask(script(bad), tries=4, waits=waits)
    assert (failure.kind, failure.fatal) == (kind, False)
    assert len(server.requests) == 4
    assert waits.seconds == [0.5, 1.0, 2.0]
    assert failure.seconds > 0


def test_the_waits_grow_to_a_bound_and_jitter_shortens_them() -> None:
    async def main() -> list[float]:
        async with Client(Endpoint("http://127.0.0.1:9/v1", "m", KEY, tries=12), jitter=lambda: 0.0) as client:
            return list(client.delays())

    waits = asyncio.run(main())
    assert waits[:3] == [0.25, 0.5, 1.0]
    assert max(waits) == 15.0


@pytest.mark.parametrize(
    ("header", "least"),
    [("7", 7.0), ("0.25", 0.25), (format_datetime(NOW + timedelta(seconds=30), usegmt=True), 30.0), ("soon", 0.5)],
)
def test_retry_after_is_honoured(header: str, least: float) -> None:
    waits = Waits()
    reply, _ = ask(script(error(429, "slow down", {"Retry-After": header}), GOOD), waits=waits)
    assert isinstance(reply, Reply)
    assert least <= waits.seconds[0] <= least + 0.5


def test_a_wait_of_an_hour_ends_the_run() -> None:
    waits = Waits()
    failure, server = ask(script(error(429, "slow down", {"Retry-After": "3600"}), GOOD), waits=waits)
    assert (failure.kind, failure.fatal, len(server.requests), waits.seconds) == ("rate", True, 1, [])
    assert "60 minutes" in failure.message


@pytest.mark.parametrize("answer", [hanging(), hanging(0), replace(GOOD, delay=60)], ids=["mid-body", "head", "mute"])
def test_a_server_that_hangs_is_cut_off(answer: Answer) -> None:
    failure, server = ask(script(answer), timeout=PATIENCE, tries=2)
    assert failure.kind == "timeout"
    assert f"{PATIENCE} seconds" in failure.message
    assert len(server.requests) == 2


def test_after_a_time_out_the_call_is_made_again() -> None:
    reply, _ = ask(script(hanging(), GOOD), timeout=PATIENCE)
    assert isinstance(reply, Reply)


def test_a_further_try_waits_for_its_turn_like_a_first_one() -> None:
    turns: list[int] = []

    class Counted(Traffic):
        async def turn(self) -> bool:
            turns.append(1)
            return await super().turn()

    async def main(url: str) -> Any:
        async with Client(Endpoint(url, "judge", KEY), traffic=Counted(), sleep=Waits()) as client:
            return await client.ask(PROMPT, {"temperature": 0})

    with OpenAIServer(script(error(500, "oops"), error(429, "slow"), REFUSALS["temperature"], GOOD)) as server:
        assert isinstance(asyncio.run(main(server.url)), Reply)
    assert len(turns) == 3


@pytest.mark.parametrize("bad", [error(429, "slow down", {"Retry-After": "250"}), error(500, "oops")])
def test_after_a_stop_nothing_is_tried_again(bad: Answer) -> None:
    traffic = Traffic()

    def behave(seen: Seen) -> Answer:
        traffic.stop()
        return bad

    async def main(url: str) -> Any:
        async with Client(Endpoint(url, "judge", KEY), traffic=traffic) as client:
            return await client.ask(PROMPT, {})

    with OpenAIServer(behave) as server:
        assert isinstance(asyncio.run(main(server.url)), Failure)
    assert server.served == 1


def test_nobody_there() -> None:
    async def main() -> Any:
        async with Client(Endpoint("http://127.0.0.1:1/v1", "m", KEY, tries=2), sleep=Waits()) as client:
            return await client.ask(PROMPT, {})

    failure = asyncio.run(main())
    assert failure.kind == "connection"
    assert "127.0.0.1:1" in failure.message


def test_cancelling_a_call_is_not_a_failure_of_it() -> None:
    async def cancelled(client: Client) -> bool:
        task = asyncio.ensure_future(client.ask(PROMPT, {}))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    assert drive(script(hanging()), cancelled)[0]


def test_many_calls_are_under_way_at_once() -> None:
    async def at_once(client: Client) -> list[Any]:
        return await asyncio.gather(*(client.ask(PROMPT, {}) for _ in range(300)))

    replies, server = drive(script(replace(GOOD, delay=1.0)), at_once)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert server.most_at_once > 128


# Failures that stay.

CONTEXT_LENGTH = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."


@pytest.mark.parametrize(
    ("answer", "kind", "fatal"),
    [
        (error(401, "Incorrect API key provided", code="invalid_api_key"), "key", True),
        (error(403, "Country not supported"), "key", True),
        (error(403, "Your input was flagged by moderation"), "request", False),
        (error(404, "The model `judge` does not exist", code="model_not_found"), "model", True),
        (error(400, "judge is not a valid model ID"), "model", True),
        (Answer(404, b"<html>Not Found</html>"), "request", True),
        (Answer(404, {"detail": "Not Found"}), "request", True),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "rate", True),
        (error(402, "Insufficient Balance"), "rate", True),
        (error(400, CONTEXT_LENGTH, code="context_length_exceeded", param="messages"), "context", False),
        (error(400, "request (18031 tokens) exceeds the available context size (8192 tokens)"), "context", False),
        (error(413, "Payload too large"), "context", False),
        (error(400, "Invalid 'messages'"), "request", False),
        (error(409, "conflict"), "request", False),
        (Answer(body=b"<!doctype html><title>Welcome</title>"), "server", True),
        (Answer(body={"choices": []}), "server", False),
        (Answer(body={"choices": [{"message": None}]}), "server", False),
        (Answer(body=b"[]"), "server", False),
    ],
)
def test_a_lasting_trouble_is_not_tried_again(answer: Answer, kind: str, fatal: bool) -> None:
    failure, server = ask(script(answer), EVERYTHING)
    assert (failure.kind, failure.fatal) == (kind, fatal)
    assert len(server.requests) == 1
    assert failure.message
    assert "<html" not in failure.message


def test_what_the_server_said_is_in_the_message() -> None:
    failure, _ = ask(script(error(400, CONTEXT_LENGTH)))
    assert "8192" in failure.message
    assert "9001" in failure.message


def test_a_reply_that_the_known_context_cut_off_is_a_failure() -> None:
    usage = {"prompt_tokens": 4000, "completion_tokens": 96, "total_tokens": 4096}
    cut = completion("Feedback: fi", finish_reason="length", usage=usage)
    failure, _ = ask(script(cut), context=4096)
    assert failure.kind == "context"
    assert "4000" in failure.message
    assert "4096" in failure.message
    assert ask(script(cut), context=8192)[0].finish_reason == "length"


def test_a_question_says_nothing_of_the_machine_that_asks() -> None:
    _, server = ask(script(completion("[RESULT] 4")))
    assert not [name for name in server.requests[0].headers if name.lower().startswith("x-stainless")]


# Streaming.


def test_a_stream_gives_pieces_then_the_whole() -> None:
    pieces, server = listen(script(completion("Feedback: fine. [RESULT] 4", reasoning="Hm.")), {"temperature": 0})
    *texts, reply = pieces
    assert texts == ["Feedback:", " fine.", " [RESULT]", " 4"]
    assert (reply.text, reply.finish_reason, reply.model) == ("Feedback: fine. [RESULT] 4", "stop", "served-model")
    assert (reply.reasoning, reply.prompt_tokens, reply.completion_tokens) == ("Hm.", 11, 7)
    assert server.bodies[0]["stream"] is True


def test_a_stream_keeps_how_sure_the_judge_was() -> None:
    tokens = [token("Feedback: fine. ", 1), token("[RESULT] ", 1), token("4", 0.625, **{"5": 0.25})]
    sure = completion("Feedback: fine. [RESULT] 4", logprobs=tokens)
    [*_, reply], _ = listen(script(sure), {"logprobs": True}, scale=FIVE)
    assert reply.label_probabilities == pytest.approx({"4": 0.625, "5": 0.25})


def test_a_stream_adapts_and_tries_again_before_its_first_piece() -> None:
    def behave(seen: Seen) -> Answer:
        return error(500, "oops") if seen.number == 0 else refusing(GOOD, "temperature", "stream_options")(seen)

    pieces, server = listen(behave, {"temperature": 0})
    assert pieces[-1].text == "Feedback: fine. [RESULT] 4"
    assert pieces[-1].adapted == ("temperature", "stream_options")
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("answer", "kind"), [(dropped(700), "connection"), (hanging(700), "timeout")], ids=["dropped", "hanging"]
)
def test_a_stream_that_breaks_after_its_first_piece_fails(answer: Answer, kind: str) -> None:
    pieces, server = listen(script(answer), timeout=PATIENCE)
    assert pieces[0] == "[RESULT]"
    assert isinstance(pieces[-1], Failure)
    assert pieces[-1].kind == kind
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"data: [DONE]\n\n",
        b'data: {"choices": [{"delta": {}, "finish\n\n',
        b'data: {"error": {"message": "provider down", "code": 502}}\n\n',
        b'data: {"choices": []}\n\n',
        b"data: 7\n\n",
    ],
)
def test_a_stream_without_an_end_is_a_failure(body: bytes) -> None:
    pieces, server = listen(script(Answer(body=body)), tries=2)
    assert [piece.kind for piece in pieces] == ["server"]
    assert len(server.requests) == 2


def test_a_stream_that_is_no_http_is_asked_for_again() -> None:
    [*_, reply], server = listen(script(NO_HTTP, GOOD))
    assert isinstance(reply, Reply)
    [failure], server = listen(script(NO_HTTP), tries=2)
    assert (failure.kind, len(server.requests)) == ("connection", 2)
    assert KEY not in failure.message


def test_a_server_that_knows_no_streams_may_answer_whole() -> None:
    whole = Answer(body=json.dumps(GOOD.body).encode())
    [text, reply], server = listen(script(whole))
    assert text == reply.text == "Feedback: fine. [RESULT] 4"
    assert (reply.finish_reason, reply.prompt_tokens, len(server.requests)) == ("stop", 11, 1)
    [failure], server = listen(script(Answer(body=b"<html>Welcome</html>")))
    assert (failure.kind, failure.fatal, len(server.requests)) == ("server", True, 1)
    assert "web page" in failure.message


def test_a_chunk_that_is_none_does_not_end_a_stream() -> None:
    end = b'data: {"choices": [{"delta": {"content": "[RESULT] 4"}, "finish_reason": "stop"}]}\n\n'
    [text, reply], server = listen(script(Answer(body=b"data: null\n\ndata: [1]\n\n" + end)))
    assert text == reply.text == "[RESULT] 4"
    assert len(server.requests) == 1


def test_a_stream_with_a_bad_key_fails() -> None:
    [failure], _ = listen(script(error(401, f"Incorrect API key provided: {KEY}")))
    assert (failure.kind, failure.fatal) == ("key", True)
    assert "planted" not in failure.message


def test_a_stream_may_be_left() -> None:
    async def first(client: Client) -> Any:
        async with aclosing(client.stream(PROMPT, {})) as pieces:
            return await anext(pieces)

    assert drive(script(GOOD), first)[0] == "Feedback:"


# The key.


def all_texts(value: Any) -> str:
    return f"{value} {value!r} {vars(value) if hasattr(value, '__dict__') else ''}"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 422, 429, 500])
@pytest.mark.parametrize(
    "echo", [KEY, f"'{KEY}'", KEY[:12], KEY[-9:], f"{KEY[:8]}{'*' * 20}{KEY[-4:]}", f"Bearer {KEY}."]
)
def test_the_key_is_in_no_message(status: int, echo: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failure, _ = ask(script(error(status, f"Incorrect API key provided: {echo} was refused")), tries=2)
    texts = all_texts(failure) + caplog.text
    assert "planted" not in texts
    assert KEY[-9:] not in texts
    assert f"*{KEY[-4:]}" not in texts


def test_the_key_is_in_no_reply_and_in_no_piece_of_a_stream() -> None:
    spaced = f"a {KEY} b {KEY[:4]} {KEY[:9]}"
    reply, _ = ask(script(completion(spaced, reasoning=KEY, model=KEY)))
    assert (reply.text, reply.reasoning, reply.model) == (f"a [key] b {KEY[:4]} {KEY[:9]}", "[key]", "[key]")
    chunks = [{"choices": [{"delta": {"content": letter}}]} for letter in spaced]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    events = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    (*pieces, whole), _ = listen(script(Answer(body=events)))
    assert whole.text == "".join(pieces) == reply.text  # its end, which might have become the key, comes at last


def test_the_key_is_in_no_repr() -> None:
    endpoint = Endpoint("http://127.0.0.1:9/v1", "judge", KEY)

    async def main() -> str:
        async with Client(endpoint) as client:
            return repr(client) + repr(client.endpoint) + str(client.endpoint)

    assert "planted" not in asyncio.run(main()) + repr(endpoint)


@pytest.mark.parametrize("key", ["sk-planted key", "sk-planted\nkey", "sk-plantedé"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InputError) as caught:
        Endpoint(None, "m", key)
    assert "planted" not in str(caught.value)


def test_the_line_break_after_a_pasted_key_does_no_harm() -> None:
    async def main(url: str) -> Any:
        async with Client(Endpoint(url, "m", f"{KEY}\n")) as client:
            return await client.ask(PROMPT, {})

    with OpenAIServer() as server:
        assert isinstance(asyncio.run(main(server.url)), Reply)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 20))
def test_scrubbing_hides_any_long_piece_of_the_key(before: str, after: str, start: int) -> None:
    piece = KEY[start : start + 6]
    assert piece not in scrub(f"{before}{piece}{after}", KEY)


def test_scrubbing_leaves_other_texts_alone() -> None:
    assert scrub("the model **judge** has no key", KEY) == "the model **judge** has no key"
    assert scrub("no key at all", "") == "no key at all"


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000/v1",
        "ftp://x",
        "",
        "https://",
        "http://localhost:port/v1",
        "http://localhost:65536/v1",
        "http://localhost:0/v1",
        "http://:8000/v1",
        "http://[::1/v1",
        "http://[not-an-address]/v1",
        "http://two words/v1",
        "http://two..dots/v1",
        "http://a<b>/v1",
        f"http://{'x' * 64}.org/v1",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="is not the address of a server"):
        Endpoint(address, "m", KEY)


@pytest.mark.parametrize(
    "address", ["http://localhost", "https://[::1]:8000/v1", "http://vllm_1:8000/v1", "https://bücher.example./v1"]
)
def test_an_address_that_is_one_is_taken(address: str) -> None:
    assert Endpoint(address, "m", KEY).base_url == address


# Probabilities of labels.


def test_the_probabilities_of_the_labels_come_from_the_token_of_the_verdict() -> None:
    tokens = [token("Score 5?", 1.0), token(" [RESULT]", 1.0), token(" 4", 0.5, **{" 5": 0.25, "4": 0.125, " x": 0.1})]
    reply, server = ask(script(completion("Score 5? [RESULT] 4", logprobs=tokens)), {"logprobs": True}, scale=FIVE)
    assert reply.label_probabilities == pytest.approx({"4": 0.625, "5": 0.25})
    assert server.bodies[0]["top_logprobs"] == 20
    assert soft_score(FIVE, reply.label_probabilities) == pytest.approx((4 * 0.625 + 5 * 0.25) / 0.875)


CASES: list[tuple[str, Scale, list[dict[str, Any]], dict[str, float]]] = [
    ("whole label in one token", CHOICES, [token('{"choice": "', 1), token('A+"', 0.5, **{'A++"': 0.25})],
     {"A+": 0.5, "A++": 0.25}),
    ("a label of two tokens", CHOICES,
     [token('"', 1), token("A", 0.9, B=0.005), token("++", 0.5, **{'+"': 0.2, "=B": 0.1, "-": 0.2}), token('"', 1)],
     {"A++": 0.45, "A+": 0.18, "A=B": 0.09}),
    ("a label of three tokens", CHOICES,
     [token("A", 1.0), token("+", 0.5, **{"++": 0.25, "=": 0.25}), token("+", 0.5, **{'"': 0.5}), token('"', 1)],
     {"A++": 0.5, "A+": 0.25, "A=B": 0.25}),
    ("a rival that several labels share", CHOICES, [token("A", 0.9, B=0.1), token('++"', 1)], {}),
    ("a rival that is parted too late", CHOICES, [token("A", 1.0), token('++"', 0.5, **{"+": 0.5})], {}),
    ("a label that might have gone on", CHOICES, [token('"', 1), token("A+", 0.9)], {}),
    ("an unambiguous beginning", Scale((Point("bad", 0), Point("good", 1))),
     [token("[RESULT] ", 1), token("go", 0.75, ba=0.125, bad=0.0625), token("od", 1)], {"good": 0.75, "bad": 0.1875}),
    ("the reply goes on after the label", FIVE, [token("4", 0.9), token(" because", 1)], {}),
    ("a fraction", FIVE, [token("4", 0.9), token("/", 1), token("5", 1)], {}),
    ("a decimal", FIVE, [token("4.", 0.9), token("5", 1)], {}),
    ("no label", FIVE, [token("none", 0.9)], {}),
    ("letters of several bytes before it", FIVE, [token("é👩 ", 1), token("4", 0.5)], {"4": 0.5}),
]  # fmt: skip


@pytest.mark.parametrize(("scale", "tokens", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_probabilities_only_where_they_are_certain(scale: Scale, tokens: Any, expected: dict[str, float]) -> None:
    text = "".join(each["token"] for each in tokens)
    assert label_probabilities(scale, text, tokens) == pytest.approx(expected)


@pytest.mark.parametrize(
    "tokens",
    [
        [{}],
        [7],
        [{"token": "4", "logprob": None}],
        [{"token": "4", "bytes": [999]}],
        [{"token": "4", "logprob": float("inf")}],
        [{"token": "4", "logprob": float("nan")}],
        [{"token": "4", "logprob": 0.5}],
    ],
)
def test_probabilities_in_a_strange_form_leave_the_reply_alone(tokens: Any) -> None:
    reply, _ = ask(script(completion("4", logprobs=tokens)), {"logprobs": True}, scale=FIVE)
    assert (reply.text, reply.label_probabilities) == ("4", {})


def test_bytes_of_a_token_that_are_none_are_passed_over() -> None:
    odd = [{"token": "4", "logprob": 0, "bytes": 2**62}]
    reply, _ = ask(script(completion("4", logprobs=odd)), {"logprobs": True}, scale=FIVE)
    assert reply.label_probabilities == {"4": 1.0}


def test_tokens_that_do_not_spell_the_reply_give_no_probabilities() -> None:
    assert label_probabilities(FIVE, "a long reply [RESULT] 4", [token("4", 0.9)]) == {}


def test_no_probabilities_no_score() -> None:
    assert soft_score(FIVE, {}) is None
    assert soft_score(FIVE, {"3": 0.0}) is None
    assert soft_score(CHOICES, {"A+": 0.5, "B+": 0.5}) == 0
