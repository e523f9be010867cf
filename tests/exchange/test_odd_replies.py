"""Replies that no specification allows: each ends as a reading or a recorded failure, and none ends the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from judging_study import GOOD, both_orders, given, order, quiet
from openai_server import Answer, OpenAIServer, Seen

from exchange import batching
from exchange.endpoints import Endpoints, Preset
from exchange.judging import reread_study, run_judge
from exchange.live import judge_item

VERDICT = '{"reason": "r", "choice": "A"}'


def body(message: object = None, **changes: Any) -> Mapping[str, Any]:
    """Return a completion whose message, or any other part, is as odd as wished."""
    choice = {"index": 0, "finish_reason": "stop", "message": message or {"content": VERDICT}}
    whole = {"id": "c", "model": "m", "choices": [{**choice, **changes.pop("choice", {})}], "usage": {}}
    return {**whole, **changes}


ODD: dict[str, tuple[Mapping[str, Any] | bytes, str]] = {
    "a number for content": (body({"content": 5}), "unreadable"),
    "an object for content": (body({"content": {"reason": "r", "choice": "A"}}), "ok"),
    "a list for refusal": (body({"content": None, "refusal": ["no"]}), "unreadable"),
    "parts of any type": (body({"content": [{"type": "output_text", "text": VERDICT}]}), "ok"),
    "bare strings for parts": (body({"content": [VERDICT, 3, None]}), "ok"),
    "words for tokens": (body(usage={"prompt_tokens": "12", "completion_tokens": "few"}), "ok"),
    "tokens below nothing": (body(usage={"prompt_tokens": -5, "completion_tokens": {"n": 1}}), "ok"),
    "tokens beyond counting": (body(usage={"prompt_tokens": 10**30, "completion_tokens": True}), "ok"),
    "a list for usage": (body(usage=[1]), "ok"),
    "an object for the finish reason": (body(choice={"finish_reason": {"type": "stop"}}), "ok"),
    "an object for the model": (body(model={"id": "x"}), "ok"),
    "half a surrogate pair": (body({"content": f"bad \ud800 {VERDICT}", "reasoning": "\udc00"}, model="m\ud800"), "ok"),
    "a NUL": (body({"content": f"nul \0 {VERDICT}", "reasoning": "a\0b"}, model="m\0"), "ok"),
    "an error with a number of its own": ({"error": {"message": "rate", "code": 1302}}, "failed"),
    "an error below nothing": ({"error": {"message": "no\0 \ud800", "code": -1}}, "failed"),
    "no choices": (body(choices=None), "failed"),
    "a message that is a list": (body(["x"]), "failed"),
    "logprobs of no form": (body(choice={"logprobs": {"content": [[1]]}}), "ok"),
    "brackets without an end": (b"[" * 200_000, "failed"),
    "a deep object": (b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "failed"),
}


def odd_once(odd: Mapping[str, Any] | bytes):
    """Answer one question oddly, whatever the order, and the others well."""
    return lambda seen: Answer(body=odd) if "Question 1?" in json.dumps(seen.body["messages"]) else GOOD


def hurried(monkeypatch) -> None:
    monkeypatch.setattr("judge.client.FIRST_WAIT", 0.001)
    monkeypatch.setattr(batching, "FIRST_POLL", 0.02)


def test_an_odd_reply_ends_as_a_reading_or_a_recorded_failure_and_the_rest_goes_on(
    store, make_study, monkeypatch
) -> None:
    hurried(monkeypatch)
    make_study(3)
    for name, (odd, status) in ODD.items():
        with OpenAIServer(odd_once(odd)) as server:
            done = run_judge(store, order(server, name=name, reuse=False), quiet)
        expected = {"ok": 6} if status == "ok" else {"ok": 4, status: 2}
        assert (name, done["run"], done["stopped"]) == (name, expected, None)
    assert reread_study(store, "s") == []
    assert len(store.list_runs("s")) == len(ODD)  # their tokens can be added up
    assert "\0" not in json.dumps(list(store.calls("s")), default=str)


@pytest.mark.one_database
@pytest.mark.parametrize("name", [name for name in ODD if isinstance(ODD[name][0], dict)])
def test_an_odd_reply_in_a_batch_is_one_answer_among_others(store, make_study, monkeypatch, name) -> None:
    hurried(monkeypatch)
    make_study(3)
    odd, status = ODD[name]
    with OpenAIServer(odd_once(odd)) as server:
        server.desk.looks = 0
        done = run_judge(store, order(server, batch=True), quiet)
    assert done["run"] == ({"ok": 6} if status == "ok" else {"ok": 4, status: 2})
    assert set(given(store)) == both_orders(3)


def deltas(seen: Seen) -> Answer:
    """Stream chunks of every odd form, and a verdict between them."""
    chunks = [
        {"choices": [{"delta": 5}], "model": {"a": 1}, "usage": [3]},
        {"choices": [{"delta": {"content": [{"type": "x", "text": "\ud83d"}, "\0"]}}]},
        {"choices": [{"delta": {"content": '{"reason": "r", "choice": "A"}'}, "finish_reason": "stop"}]},
        {"choices": None, "usage": {"prompt_tokens": "x", "completion_tokens": -1}},
    ]
    events = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    return Answer(body=events + b"data: [DONE]\n\n")


@pytest.mark.one_database
def test_an_odd_stream_is_read_and_kept(store, make_study, monkeypatch) -> None:
    hurried(monkeypatch)
    make_study(1)
    endpoints = Endpoints(store, environment={})

    async def watch(url: str) -> Any:
        preset = Preset("", "m", url, "")
        return [live async for live in judge_item(store, endpoints, "s", "q0", preset, ("AB",), again=True)][-1]

    with OpenAIServer(deltas) as server:
        [call] = asyncio.run(watch(server.url)).calls
        assert (call.label, call.text) == ("A", "\ufffd\ufffd" + VERDICT)
        server.behave = lambda seen: Answer(body=b"data: " + b"[" * 200_000 + b"\n\n")
        [call] = asyncio.run(watch(server.url)).calls
        assert call.failure.kind == "server"
    endpoints.close()


def break_down(*_: object) -> Any:
    raise ZeroDivisionError("secret text of an item")


@pytest.mark.one_database
@pytest.mark.parametrize(("place", "name"), [("judge.client", "read_completion"), ("judge.run", "read")])
def test_a_fault_of_our_own_is_the_failure_of_one_call(store, make_study, monkeypatch, place, name) -> None:
    make_study(2)
    monkeypatch.setattr(f"{place}.{name}", break_down)
    with OpenAIServer(lambda seen: GOOD) as server:
        done = run_judge(store, order(server), quiet)
        assert (done["run"], done["failures"]) == ({"failed": 4}, {"bug": 4})
        [call, *_] = store.failed_calls("s", 1, "bug", 1)
        assert "ZeroDivisionError in test_odd_replies.py" in call.error
        assert "secret" not in call.error
        monkeypatch.undo()
        assert run_judge(store, order(server), quiet)["run"] == {"ok": 4}


@pytest.mark.one_database
@pytest.mark.parametrize("batch", [False, True])
def test_a_call_that_cannot_be_stored_takes_no_other_with_it(store, make_study, monkeypatch, batch) -> None:
    hurried(monkeypatch)
    make_study(6)
    for name in ("keep_calls", "keep_batch_calls"):
        monkeypatch.setattr(store, name, picky(getattr(store, name)))
    with OpenAIServer(lambda seen: GOOD) as server:
        server.desk.looks = 0
        done = run_judge(store, order(server, batch=batch), quiet)
    assert (done["run"], done["stopped"]) == ({"ok": 11, "failed": 1}, None)
    [call] = store.failed_calls("s", 1, "bug", 2)
    assert (call.item, call.order) == ("q2", "BA")
    assert "ZeroDivisionError" in call.error


def picky(keep):
    """Keep calls, but none together with, or of, the reply to one question."""

    def keep_calls(run, *given):
        ended = next((each for each in given if isinstance(each, list) and each), [])
        if any(call.raw and call.wanted.item.id == "q2" and call.wanted.order == "BA" for call in ended):
            break_down()
        return keep(run, *given)

    return keep_calls
