"""One item judged before somebody's eyes: streamed, read, and kept as a run would keep it."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import aclosing
from itertools import pairwise

import pytest
from openai_server import OpenAIServer, completion, error

from exchange.background import Runs
from exchange.endpoints import Endpoints, Preset
from exchange.live import judge_item
from exchange.run_order import RunOrder
from judge.domain import InputError, ItemError, StudyError, Turn
from judge.domain import Item as AnItem
from judge.run import Limits, Prices
from storage.imports import prepare

pytestmark = pytest.mark.one_database

GOOD = completion('{"reason": "It is clearer and says why.", "choice": "A"}')


@pytest.fixture
def endpoints(store):
    made = Endpoints(store, environment={})
    yield made
    made.close()


def watch(store, endpoints, server, item="q1", **more):
    preset = Preset("", "m", server.url, "", Prices(1.0, 2.0))

    async def go():
        return [live async for live in judge_item(store, endpoints, "s", item, preset, **more)]

    return asyncio.run(go())


def verdicts(store, item="q1"):
    found = {json.loads(body)["id"]: given for body, given in store.records("s")}
    return sorted((verdict.order, verdict.status, verdict.label) for verdict in found[item])


def test_both_orders_stream_and_end_with_reading_label_tokens_and_cost(store, make_study, endpoints) -> None:
    make_study(3)
    with OpenAIServer(lambda seen: GOOD) as server:
        seen = watch(store, endpoints, server)
    assert not seen[0].ended
    last = seen[-1]
    assert last.ended
    assert [(call.order, call.label, call.reading.step) for call in last.calls] == [
        ("AB", "A", "strict"),
        ("BA", "B", "strict"),
    ]
    assert all(call.reply.text == call.text for call in last.calls)
    assert [call.usd for call in last.calls] == [pytest.approx((11 + 2 * 7) / 1e6)] * 2
    assert verdicts(store) == [("AB", "ok", "A"), ("BA", "ok", "B")]


def test_partial_text_is_shown_while_it_arrives(store, make_study, endpoints) -> None:
    make_study(2)
    with OpenAIServer(lambda seen: GOOD, delay=0.3) as server:
        seen = watch(store, endpoints, server, orders=("AB",))
    texts = [live.calls[0].text for live in seen]
    assert texts[0] == ""
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert texts[-1] == '{"reason": "It is clearer and says why.", "choice": "A"}'


def test_a_later_run_asks_nothing_again_and_a_later_look_neither(store, make_study, endpoints) -> None:
    make_study(3)
    runs = Runs(store, endpoints)
    with OpenAIServer(lambda seen: GOOD) as server:
        watch(store, endpoints, server)
        assert server.served == 2
        [only] = watch(store, endpoints, server)
        assert [(call.stored, call.label, call.usd is not None) for call in only.calls] == [
            (True, "A", True),
            (True, "B", True),
        ]
        runs.wait(runs.start(RunOrder("s", Preset("", "m", server.url, ""))))
        assert server.served == 6
    runs.close()
    assert len(verdicts(store)) == 2


def test_what_a_run_has_is_shown_without_ending_or_beginning_it(store, make_study, endpoints) -> None:
    make_study(3)
    runs = Runs(store, endpoints)
    with OpenAIServer(lambda seen: GOOD) as server:
        runs.wait(runs.start(RunOrder("s", Preset("", "m", server.url, ""))))
        before = store.list_runs("s")
        [only] = watch(store, endpoints, server)
        assert server.served == 6
    runs.close()
    assert all(call.stored for call in only.calls)
    assert store.list_runs("s") == before


def test_asking_again_replaces_the_verdict_and_keeps_the_older_call(store, make_study, endpoints) -> None:
    make_study(2)
    with OpenAIServer(lambda seen: GOOD) as server:
        watch(store, endpoints, server)
        server.behave = lambda seen: completion('{"reason": "r", "choice": "tie"}')
        last = watch(store, endpoints, server, again=True)[-1]
        assert [call.label for call in last.calls] == ["tie", "tie"]
        assert verdicts(store) == [("AB", "ok", "tie"), ("BA", "ok", "tie")]
        server.behave = lambda seen: error(401, "no")
        failed = watch(store, endpoints, server, again=True)[-1]
    # A failure never takes the place of a reply.
    assert [call.failure.kind for call in failed.calls] == ["key", "key"]
    assert verdicts(store) == [("AB", "ok", "tie"), ("BA", "ok", "tie")]
    assert store.list_runs("s")[0].calls == 6


def test_a_failure_is_kept_as_one_and_asked_again_next_time(store, make_study, endpoints) -> None:
    make_study(2)
    with OpenAIServer(lambda seen: error(400, "flagged by moderation")) as server:
        last = watch(store, endpoints, server)[-1]
        assert [call.failure.kind for call in last.calls] == ["request", "request"]
        assert verdicts(store) == [("AB", "failed", None), ("BA", "failed", None)]
        server.behave = lambda seen: GOOD
        watch(store, endpoints, server)
    assert verdicts(store) == [("AB", "ok", "A"), ("BA", "ok", "B")]


def test_an_item_asked_by_hand_while_a_run_is_at_it_is_counted_once(store, make_study, endpoints) -> None:
    make_study(2)
    asked, opened = threading.Event(), threading.Event()

    def behave(seen):
        if not seen.body.get("stream"):
            asked.set()
            opened.wait(30)
        return GOOD

    runs = Runs(store, endpoints)
    # The server answers one request at a time, so the one by hand goes to a server of its own.
    with OpenAIServer(behave) as slow, OpenAIServer(lambda seen: GOOD) as quick:
        number = runs.start(RunOrder("s", Preset("", "m", slow.url, ""), limits=Limits(4)))
        asked.wait(30)
        watch(store, endpoints, quick)
        opened.set()
        runs.wait(number)
    assert runs.progress("s")[0].stopped is None
    runs.close()
    assert verdicts(store) == [("AB", "ok", "A"), ("BA", "ok", "B")]
    assert store.list_runs("s")[0].calls == 6  # both calls are kept, for both orders of this item


def test_leaving_early_keeps_nothing_half(store, make_study, endpoints) -> None:
    make_study(1)

    async def leave(url):
        preset = Preset("", "m", url, "")
        async with aclosing(judge_item(store, endpoints, "s", "q0", preset)) as lives:
            async for _ in lives:
                return

    with OpenAIServer(lambda seen: GOOD, delay=5) as server:
        asyncio.run(leave(server.url))
    assert verdicts(store, "q0") == []


def test_what_cannot_be_asked_is_said(store, make_study, endpoints) -> None:
    make_study(1)
    with OpenAIServer(lambda seen: GOOD) as server:
        with pytest.raises(StudyError, match="no item 'q7'"):
            watch(store, endpoints, server, "q7")
        store.add_prepared("s", [prepare(AnItem("alone", (Turn("user", "q"),), "only one"))])
        with pytest.raises(ItemError, match="response_b"):
            watch(store, endpoints, server, "alone")
        assert server.served == 0
    with pytest.raises(InputError, match="no endpoint named"):
        asyncio.run(anext(judge_item(store, endpoints, "s", "q0", "nobody")))
