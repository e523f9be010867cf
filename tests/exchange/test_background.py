"""Runs in the background of a server: they go on by themselves, stop when told, and lose nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from openai_server import OpenAIServer, completion, error

from exchange.background import BY_PERSON, BY_SERVER, Runs
from exchange.endpoints import EMBEDDED, Endpoints, Preset
from exchange.judging import JudgeOrder, run_judge
from exchange.kept_answers import KeptAnswers
from exchange.panel import Options
from exchange.questions import ask_numbers
from exchange.run_order import RunOrder, estimate_order, order_again
from judge.domain import InputError, StudyError
from judge.run import Limits, Prices
from storage.store import Store

pytestmark = pytest.mark.one_database

GOOD = completion('{"reason": "Clearer.", "choice": "A"}')
ROOT = Path(__file__).parents[2]


@pytest.fixture
def endpoints(store):
    made = Endpoints(store, environment={})
    yield made
    made.close()


@pytest.fixture
def runs(store, endpoints):
    made = Runs(store, endpoints)
    yield made
    made.close()


def order(server: OpenAIServer, **changes: object) -> RunOrder:
    return replace(RunOrder("s", Preset("", "m", server.url, ""), limits=Limits(4)), **changes)


def given(store: Store) -> Counter[tuple[str, str]]:
    return Counter((json.loads(body)["id"], verdict.order) for body, found in store.records("s") for verdict in found)


class Gate:
    """A server's answer that waits until somebody opens it after so many."""

    def __init__(self, free: int) -> None:
        self.free, self.reached, self.opened = free, threading.Event(), threading.Event()

    def __call__(self, seen):
        if seen.number >= self.free:
            self.reached.set()
            self.opened.wait(30)
        return GOOD


def test_a_run_is_what_the_command_line_would_have_done(store, make_study, runs) -> None:
    make_study(10)
    with OpenAIServer(lambda seen: GOOD) as server:
        number = runs.start(order(server))
        runs.wait(number)
        done = run_judge(store, JudgeOrder("s", "m", server.url), lambda _: None)
    assert (server.served, done["calls"], done["run"]) == (20, 0, {"ok": 20})
    [progress] = runs.progress("s")
    assert (progress.state, progress.done, progress.total, progress.stopped) == ("done", 20, 20, None)
    [told] = store.list_runs("s")
    assert (told.judge, told.model, told.protocol) == ("m", "m", "preference-3way")
    assert (told.by_status, told.by_order, told.items) == ({"ok": 20}, {"AB": 10, "BA": 10}, 10)
    assert (told.prompt_tokens, told.completion_tokens) == (20 * 11, 20 * 7)
    assert told.seconds_a_call > 0
    assert told.finished is not None
    assert not told.active


def test_a_long_run_leaves_the_usual_numbers_for_whoever_opens_the_study_first(store, make_study, runs, monkeypatch):
    monkeypatch.setattr("exchange.background.MANY_VERDICTS", 20)
    monkeypatch.setattr("exchange.kept_answers.KEPT", 0.0)
    make_study(10)
    with OpenAIServer(lambda seen: GOOD) as server:
        runs.wait(runs.start(order(server)))
    monkeypatch.setattr("exchange.questions.agree", lambda *_: pytest.fail("computed again"))
    numbers = KeptAnswers(store).answer(ask_numbers(store, "s", Options())).answer
    assert ([judge["name"] for judge in numbers["judges"]], numbers["flow"]["verdicts"]) == (["m"], 20)


def test_numbers_that_cannot_be_made_ready_leave_a_run_as_it_is(store, make_study, runs, monkeypatch, caplog) -> None:
    monkeypatch.setattr("exchange.background.MANY_VERDICTS", 20)
    monkeypatch.setattr("exchange.questions.agree", lambda *_: 1 / 0)
    make_study(10)
    with OpenAIServer(lambda seen: GOOD) as server:
        number = runs.start(order(server))
        runs.wait(number)
    [progress] = runs.progress("s")
    assert (progress.state, progress.done, progress.stopped) == ("done", 20, None)
    assert "the numbers of 's' could not be made ready" in caplog.text


def test_a_server_that_is_stopped_makes_no_numbers_first(store, make_study, endpoints, monkeypatch) -> None:
    monkeypatch.setattr("exchange.background.MANY_VERDICTS", 4)
    monkeypatch.setattr("exchange.background.make_ready", lambda *_: pytest.fail("the server waits for the numbers"))
    make_study(10)
    gate, runs = Gate(4), Runs(store, endpoints)
    with OpenAIServer(gate) as server:
        runs.start(order(server))
        gate.reached.wait(30)
        threading.Timer(0.2, gate.opened.set).start()
        runs.close()
    [progress] = runs.progress("s")
    assert (progress.state, progress.stopped) == ("stopped", BY_SERVER)


def test_the_share_of_pairs_with_one_label_in_both_orders_is_counted(store, make_study, runs) -> None:
    make_study(4)

    def behave(seen):
        text = seen.body["messages"][-1]["content"]
        # Says A whatever stands there, but for one question, on which it sees which is which.
        label = "B" if "Question 0?" in text and text.index("right 0") < text.index("left 0") else "A"
        return completion(json.dumps({"reason": "r", "choice": label}))

    with OpenAIServer(behave) as server:
        runs.wait(runs.start(order(server)))
    [told] = store.list_runs("s")
    assert (told.consistent, told.in_both_orders) == (1, 4)


def test_a_stopped_run_keeps_what_was_in_flight_and_goes_on_where_it_stood(store, make_study, runs) -> None:
    make_study(30)
    gate = Gate(6)
    with OpenAIServer(gate) as server:
        number = runs.start(order(server))
        gate.reached.wait(30)
        with pytest.raises(InputError, match="already"):
            runs.start(order(server))
        assert store.list_runs("s")[0].active
        runs.stop("s", number)
        assert runs.progress("s")[0].state == "stopping"
        gate.opened.set()
        runs.wait(number)
        assert (runs.progress("s")[0].state, store.list_runs("s")[0].stopped) == ("stopped", BY_PERSON)
        assert not store.list_runs("s")[0].active
        assert sum(given(store).values()) == server.served < 60
        assert runs.resume("s", number) == number
        runs.wait(number)
        assert server.served == 60
    assert set(given(store).values()) == {1}
    assert store.list_runs("s")[0].stopped is None


def test_stopping_does_not_wait_for_what_would_be_tried_again(store, make_study, runs) -> None:
    make_study(30)
    with OpenAIServer(lambda seen: error(429, "slow down", {"Retry-After": "250"})) as server:
        number = runs.start(order(server))
        while server.served < 4:
            time.sleep(0.01)
        runs.stop("s", number)
        runs.wait(number, 60)
        assert runs.progress("s")[0].state == "stopped"
        assert server.served == 4
    assert store.failures_by_kind("s", number) == {"rate": 4}


def test_a_server_that_stops_keeps_what_comes_back_in_time_and_another_goes_on(store, make_study, endpoints) -> None:
    make_study(20)
    gate = Gate(4)
    with OpenAIServer(gate) as server:
        first = Runs(store, endpoints, patience=0.1)
        number = first.start(order(server))
        gate.reached.wait(30)
        first.close()  # the gate stays shut: what is in flight is given up
        assert first.progress("s")[0].stopped == BY_SERVER
        assert not store.list_runs("s")[0].active
        gate.opened.set()
        second = Runs(store, endpoints)
        assert second.progress("s") == []
        second.wait(second.resume("s", number))
        second.close()
    assert sum(given(store).values()) == 40
    assert set(given(store).values()) == {1}


def test_a_run_is_shared_with_another_process_instead_of_doubled(store, database, make_study, runs) -> None:
    make_study(60)
    with OpenAIServer(lambda seen: GOOD, delay=0.2) as server:
        words = [
            sys.executable,
            str(ROOT / "tests/exchange/judge_process.py"),
            database,
            server.url,
            "--concurrency",
            "4",
        ]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "k"}
        with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as other:
            while not server.served and other.poll() is None:
                time.sleep(0.01)
            number = runs.start(order(server))
            told, _ = other.communicate(timeout=120)
        runs.wait(number)
        assert server.most_at_once > 4
        assert server.served == 120
    assert json.loads(told)["stopped"] is None
    assert set(given(store).values()) == {1}
    assert store.list_runs("s")[0].by_status == {"ok": 120}


def test_a_wrong_key_stops_the_run_with_one_sentence_that_does_not_show_it(store, make_study, endpoints, runs) -> None:
    make_study(50)
    with OpenAIServer(lambda seen: error(401, f"bad key {seen.headers['authorization']}")) as server:
        endpoints.save_preset(Preset("ours", "m", server.url))
        endpoints.give_key("ours", "sk-planted-0123456789", who="ana")
        number = runs.start(RunOrder("s", endpoints.preset("ours"), who="ana"))
        runs.wait(number)
        assert server.served <= 16
    [told] = store.list_runs("s")
    assert told.stopped.startswith("the server refuses the key (401)")
    assert "planted" not in repr(told) + repr(runs.progress("s"))
    assert store.failures_by_kind("s", number) == {"key": told.by_status["failed"]}


def test_failures_are_told_by_kind_with_their_raw_replies_page_by_page(store, make_study, runs) -> None:
    make_study(12)

    def behave(seen):
        text = seen.body["messages"][-1]["content"]
        if "Question 1?" in text:
            return completion("I cannot decide.")
        return error(400, "flagged by moderation") if "Question 2?" in text else GOOD

    with OpenAIServer(behave) as server:
        number = runs.start(order(server))
        runs.wait(number)
        assert store.failures_by_kind("s", number) == {"unreadable": 2, "request": 2}
        [first] = store.failed_calls("s", number, "unreadable", 1)
        [second] = store.failed_calls("s", number, "unreadable", 5, skip=1)
        assert (first.item, first.order, first.raw) == ("q1", "AB", "I cannot decide.")
        assert (second.item, second.order) == ("q1", "BA")
        refused = store.failed_calls("s", number, "request", 5)
        assert [call.item for call in refused] == ["q2", "q2"]
        assert "flagged" in refused[0].error
        assert store.failed_calls("s", number, "rate", 5) == []
        server.behave = lambda seen: GOOD
        runs.wait(runs.resume("s", number))
    assert store.failures_by_kind("s", number) == {"unreadable": 2}
    assert store.list_runs("s")[0].calls == 26


def test_an_order_can_be_written_down_and_given_again(store, make_study, runs) -> None:
    make_study(1)
    wanted = RunOrder(
        "s",
        Preset("ours", "m", "http://127.0.0.1:1/v1", "", Prices(1.0, 2.0)),
        "ana",
        "a name",
        ("BA",),
        2,
        7,
        {"temperature": 0.5},
        Limits(3, None, 1000, 2.5, Prices(1.0, 2.0)),
    )
    again = order_again("s", json.loads(json.dumps(wanted.described())), "ben")
    assert again == replace(wanted, who="ben")
    assert "ana" not in json.dumps(wanted.described())


def test_an_estimate_counts_only_what_is_missing(store, make_study, endpoints, runs) -> None:
    make_study(10)
    with OpenAIServer(lambda seen: GOOD) as server:
        priced = replace(order(server), preset=Preset("", "m", server.url, "", Prices(1.0, 2.0)))
        whole = estimate_order(store, endpoints, priced)
        assert (whole.calls, whole.stored, whole.model, whole.items) == (20, 0, "m", 10)
        assert whole.usd > 0
        assert "Question 0?" in whole.first_prompt.user
        runs.wait(runs.start(replace(priced, limit=4, orders=("AB",))))
        rest = estimate_order(store, endpoints, priced)
    assert (rest.calls, rest.stored) == (20, 4)
    assert rest.prompt_tokens == pytest.approx(whole.prompt_tokens * 16 / 20, rel=0.01)
    assert estimate_order(store, endpoints, replace(priced, limit=3)).stored == 3


def test_what_cannot_be_started_is_said_and_nothing_is_left_behind(store, make_study, endpoints, runs) -> None:
    make_study(2)
    with OpenAIServer(lambda seen: GOOD) as server:
        with pytest.raises(InputError, match="page Settings"):
            runs.start(order(server, preset=Preset("openai", "m")))
        with pytest.raises(InputError, match="needs the prices"):
            runs.start(order(server, limits=Limits(budget_usd=1.0)))
        with pytest.raises(StudyError, match="no study named"):
            runs.start(order(server, study="other"))
        assert store.list_runs("s") == []
        runs.wait(runs.start(order(server)))
        with pytest.raises(StudyError, match="another name"):
            runs.start(order(server, request={"temperature": 1}))
        with pytest.raises(InputError, match="stop it where"):
            runs.stop("s", 999)
        run_judge(store, JudgeOrder("s", "other", server.url), lambda _: None)
        with pytest.raises(StudyError, match="start it again"):
            runs.resume("s", store.list_runs("s")[1].id)


def test_a_fault_ends_the_run_with_a_word_and_a_line_in_the_log(store, make_study, runs, monkeypatch, caplog) -> None:
    make_study(2)

    def break_down(*_):
        raise RuntimeError("disk on fire")

    with OpenAIServer(lambda seen: GOOD) as server:
        monkeypatch.setattr(store, "keep_calls", break_down)
        number = runs.start(order(server))
        runs.wait(number)
    assert runs.progress("s")[0].stopped.startswith("a fault in Accord")
    assert "disk on fire" in caplog.text
    assert store.list_runs("s")[0].stopped.startswith("a fault in Accord")


def test_the_embedded_model_runs_one_call_at_a_time_under_a_name_that_says_what_it_is(store, make_study, runs) -> None:
    make_study(1)
    number = runs.start(RunOrder("s", EMBEDDED, orders=("AB",)))
    runs.wait(number)
    [told] = store.list_runs("s")
    assert told.judge == EMBEDDED.name
    assert told.by_status == {"ok": 1}
