"""Judging by batches through a real server: what an ordinary run gives, nothing lost, nothing doubled."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from judging_study import GOOD, both_orders, given, order, quiet, start_judge
from openai_server import OpenAIServer, completion, error, refusing

from exchange import batching
from exchange.judging import JudgeOrder, estimate_run, run_judge
from judge.domain import InputError
from judge.run import Limits, Prices
from storage.store import Store

pytestmark = pytest.mark.one_database


@pytest.fixture(autouse=True)
def impatient(monkeypatch) -> None:
    monkeypatch.setattr(batching, "FIRST_POLL", 0.02)
    monkeypatch.setattr(batching, "LONGEST_POLL", 0.02)
    monkeypatch.setattr(batching, "SLICE", 0.02)


def answer(seen):
    """Judge by the question, so that a reply that went to another item would be noticed."""
    text = json.dumps(seen.body["messages"])
    return completion(json.dumps({"reason": "…", "choice": ("A", "tie", "B")[len(text.split("Question ")[1]) % 3]}))


def by_batch(server: OpenAIServer, **changes: object) -> JudgeOrder:
    return order(server, batch=True, **changes)


def asked(server: OpenAIServer) -> Counter[str]:
    """Count how often each request was made, by batch or by itself."""
    bodies = [*server.bodies, *(line["body"] for line in server.desk.lines)]
    return Counter(json.dumps(body["messages"]) for body in bodies)


def test_a_run_by_batch_gives_what_an_ordinary_run_gives(store, make_study) -> None:
    make_study(15)
    with OpenAIServer(answer) as server:
        done = run_judge(store, by_batch(server), quiet)
        assert (done["calls"], done["run"], done["stopped"], done["pending"]) == (30, {"ok": 30}, None, 0)
        assert (server.served, len(server.desk.lines)) == (1, 29)
        batched = given(store)
        kept = {(call["item"], call["order"]): call for call in store.calls("s")}
        run_judge(store, order(server, name="by itself", reuse=False), quiet)
        # Only the judge of the first run is looked at below: its verdicts come first.
        again = {(call["item"], call["order"]): call for call in store.calls("s") if call["rater"] == "by itself"}
    assert set(batched) == both_orders(15)
    for key, call in again.items():
        same = ("raw", "prompt_hash", "finish_reason", "model")
        assert [kept[key][name] for name in same] == [call[name] for name in same]
    assert Counter(call["usage"].get("batch") for call in kept.values()) == {"batch_0": 29, None: 1}


def test_the_dialect_that_the_first_call_learns_is_that_of_the_batch(store, make_study) -> None:
    make_study(3)
    with OpenAIServer(refusing(GOOD, "max_tokens", "temperature")) as server:
        request = {"temperature": 0, "max_tokens": 50}
        assert run_judge(store, by_batch(server, request=request), quiet)["run"] == {"ok": 6}
        assert all("max_completion_tokens" in line["body"] for line in server.desk.lines)
        assert not any("temperature" in line["body"] for line in server.desk.lines)
    assert all(set(call["usage"]["adapted"]) == {"max_tokens", "temperature"} for call in store.calls("s"))


def test_large_runs_are_split_by_requests_and_by_bytes(store, make_study, monkeypatch) -> None:
    make_study(12)
    monkeypatch.setattr(batching, "MOST_REQUESTS", 10)
    with OpenAIServer(answer) as server:
        assert run_judge(store, by_batch(server), quiet)["run"] == {"ok": 24}
        assert [len(server.desk.files[f"file-{n}"].splitlines()) for n in range(3)] == [10, 10, 3]
        monkeypatch.setattr(batching, "MOST_REQUESTS", 1000)
        longest = max(map(len, server.desk.files["file-0"].splitlines())) + 10
        monkeypatch.setattr(batching, "MOST_BYTES", 5 * longest)
        server.desk.batches.clear()
        assert run_judge(store, by_batch(server, name="other", reuse=False), quiet)["run"] == {"ok": 24}
        inputs = [server.desk.files[batch["input_file_id"]] for batch in server.desk.batches.values()]
        assert len(inputs) >= 5
        assert max(map(len, inputs)) <= 5 * longest
        assert sum(len(content.splitlines()) for content in inputs) == 23


def test_without_waiting_it_is_handed_in_once_and_collected_later(store, make_study, add_items) -> None:
    make_study(5)
    with OpenAIServer(answer) as server:
        server.desk.looks = 3
        done = run_judge(store, by_batch(server, wait=False), quiet)
        assert done["pending"] == 9
        assert "the same command collects them later" in done["stopped"]
        ordinary = run_judge(store, order(server), quiet)
        assert "--batch" in ordinary["stopped"]
        assert ordinary["calls"] == 0
        add_items(2, first=5)
        again = run_judge(store, by_batch(server, wait=False), quiet)
        assert again["pending"] == 9 + 3
        last = run_judge(store, by_batch(server), quiet)
        assert (last["run"], last["pending"], last["stopped"]) == ({"ok": 14}, 0, None)
        assert run_judge(store, by_batch(server), quiet)["calls"] == 0
        assert set(asked(server).values()) == {1}
    assert set(given(store)) == both_orders(7)


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
def test_what_a_batch_did_not_answer_is_recorded_and_asked_again(store, make_study, ending) -> None:
    make_study(10)
    with OpenAIServer(answer) as server:
        server.desk.ending, server.desk.answered = ending, 6
        done = run_judge(store, by_batch(server), quiet)
        assert done["run"] == {"ok": 7, "failed": 13}
        assert done["failures"] == {"timeout" if ending == "expired" else "server": 13}
        server.desk.ending, server.desk.answered = "completed", None
        again = run_judge(store, by_batch(server), quiet)
        assert (again["calls"], again["run"]) == (13, {"ok": 20})
    assert set(given(store)) == both_orders(10)


def test_bad_doubled_and_missing_lines_neither_lose_nor_double_a_request(store, make_study) -> None:
    make_study(10)

    def spoil(lines: list[bytes]) -> list[bytes]:
        strange = json.dumps({"custom_id": "999999/AB/0", "response": {"status_code": 200, "body": {}}}).encode()
        nothing = {**json.loads(lines[4]), "response": {"status_code": 200, "body": {"choices": []}}}
        shape = [
            b"[1]",
            b'"x"',
            b'{"custom_id": 3, "response": 4}',
            b"\xff\xfe",
            b'{"custom_id": "a/b/c/d", "error": {}}',
        ]
        return [
            lines[0],
            lines[0],
            b"not json",
            lines[1][:-9],
            strange,
            *shape,
            b"",
            json.dumps(nothing).encode(),
            *lines[5:],
        ]

    with OpenAIServer(answer) as server:
        server.desk.spoil = spoil
        done = run_judge(store, by_batch(server), quiet)
        # Of the first five answers the first came twice, three are missing or broken and one holds no completion.
        assert (done["run"], done["failures"]) == ({"ok": 16, "failed": 4}, {"server": 4})
        assert len(given(store)) == 20
        server.desk.spoil = lambda lines: lines
        assert run_judge(store, by_batch(server), quiet)["run"] == {"ok": 20}
    assert set(given(store)) == both_orders(10)


def test_each_request_the_server_refuses_is_a_failure_of_its_kind(store, make_study) -> None:
    make_study(10)

    def behave(seen):
        text = json.dumps(seen.body["messages"])
        if "Question 3?" in text:
            return error(400, "This model's maximum context length is 10 tokens.")
        return error(500, "boom, key sk-planted") if "Question 4?" in text else GOOD

    with OpenAIServer(behave) as server:
        done = run_judge(store, by_batch(server), quiet)
    assert (done["run"], done["failures"]) == ({"ok": 16, "failed": 4}, {"context": 2, "server": 2})
    assert "planted" not in json.dumps([call.get("error") for call in store.calls("s")])


def test_a_batch_that_the_server_refuses_as_a_whole_leaves_everything_to_be_asked(store, make_study) -> None:
    make_study(5)
    with OpenAIServer(answer) as server:
        server.desk.refusal = "Enqueued token limit reached"
        done = run_judge(store, by_batch(server), quiet)
        assert "Enqueued token limit reached" in done["stopped"]
        assert (done["run"], done["pending"]) == ({"ok": 1}, 0)
        assert run_judge(store, order(server), quiet)["run"] == {"ok": 10}


def test_a_server_without_batches_says_so_and_the_ordinary_run_goes_on(store, make_study) -> None:
    make_study(5)
    with OpenAIServer(answer) as server:
        server.desk.trouble["upload"] = (404, {"detail": "Not Found"})
        done = run_judge(store, by_batch(server), quiet)
        assert "leave --batch out" in done["stopped"]
        assert run_judge(store, order(server), quiet)["run"] == {"ok": 10}


def test_a_wrong_key_stops_before_anything_is_handed_in(store, make_study) -> None:
    make_study(5)
    with OpenAIServer(lambda seen: error(401, "Incorrect API key provided: secret-key.")) as server:
        done = run_judge(store, by_batch(server), quiet)
        assert "key" in done["stopped"]
        assert "secret-key" not in json.dumps(done)
        assert (done["pending"], server.desk.files) == (0, {})


def test_a_server_that_never_answers_the_first_calls_is_given_no_batch(store, make_study) -> None:
    make_study(5)
    with OpenAIServer(lambda seen: error(400, "no")) as server:
        done = run_judge(store, by_batch(server), quiet)
        assert "nothing was handed in" in done["stopped"]
        assert (done["calls"], server.desk.files) == (3, {})


def test_items_too_long_for_the_model_do_not_keep_the_others_from_being_handed_in(store, make_study) -> None:
    make_study(8)

    def behave(seen):
        long = any(f"Question {n}?" in json.dumps(seen.body["messages"]) for n in range(3))
        return error(400, "This model's maximum context length is 10 tokens.") if long else GOOD

    with OpenAIServer(behave) as server:
        done = run_judge(store, by_batch(server), quiet)
    assert (done["run"], done["failures"], done["stopped"]) == ({"ok": 10, "failed": 6}, {"context": 6}, None)


@pytest.mark.parametrize("step", ["upload", "create", "look", "content"])
def test_passing_trouble_at_any_step_is_overcome(store, make_study, step: str) -> None:
    make_study(4)
    with OpenAIServer(answer) as server:
        server.desk.trouble[step] = (500, {"error": {"message": "oops"}})
        assert run_judge(store, by_batch(server), quiet)["run"] == {"ok": 8}
        assert set(asked(server).values()) == {1}


@pytest.mark.parametrize("step", ["create", "look"])
@pytest.mark.parametrize("odd", [[1], {"id": "batch_0", "status": "x", "errors": 5, "request_counts": {"failed": "?"}}])
def test_a_batch_that_is_described_oddly_is_looked_at_again(store, make_study, step: str, odd) -> None:
    make_study(4)
    with OpenAIServer(answer) as server:
        server.desk.trouble[step] = (200, odd)
        assert run_judge(store, by_batch(server), quiet)["run"] == {"ok": 8}
        assert set(asked(server).values()) == {1}


def test_a_batch_made_though_the_answer_said_otherwise_is_found_again(store, make_study) -> None:
    make_study(4)
    with OpenAIServer(answer) as server:
        create = server.desk._create
        broken = iter([True])

        def made_but_unsaid(**request):
            made = create(**request)
            return (500, {"error": {"message": "oops"}}) if next(broken, False) else made

        server.desk._create = made_but_unsaid
        assert run_judge(store, by_batch(server), quiet)["run"] == {"ok": 8}
        assert len(server.desk.batches) == 1


def test_a_batch_that_the_server_does_not_know_is_kept_for_a_week(store, make_study) -> None:
    make_study(4)
    with OpenAIServer(answer) as server:
        run_judge(store, by_batch(server, wait=False), quiet)
        server.desk.batches.clear()
        done = run_judge(store, by_batch(server), quiet)
        assert "knows no batch" in done["stopped"]
        assert done["pending"] == 7
        now = store.clock
        store.clock = lambda: now() + timedelta(days=8)
        assert run_judge(store, by_batch(server), quiet)["run"] == {"ok": 8}


def test_answers_in_a_batch_cost_half(store, make_study) -> None:
    make_study(5)
    prices = Limits(prices=Prices(1.0, 1.0))
    with OpenAIServer(answer) as server:
        done = run_judge(store, by_batch(server, limits=prices), quiet)
    assert done["usd"] == pytest.approx((1 + 9 / 2) * 18e-6)
    full, half = (estimate_run(store, JudgeOrder("s", "m", limits=prices, batch=each))["usd"] for each in (False, True))
    assert half == pytest.approx(full / 2)


@pytest.mark.parametrize("limits", [{"budget_usd": 0.002, "prices": Prices(1.0, 1.0)}, {"budget_tokens": 4000}])
def test_a_budget_bounds_what_is_handed_in(store, make_study, limits: dict[str, object]) -> None:
    make_study(20)
    with OpenAIServer(answer) as server:
        done = run_judge(store, by_batch(server, limits=Limits(**limits)), quiet)
        assert "budget" in done["stopped"]
        assert 0 < len(server.desk.lines) < 39
        assert done["run"] == {"ok": 1 + len(server.desk.lines)}
        assert run_judge(store, by_batch(server), quiet)["run"] == {"ok": 40}


def test_the_embedded_model_takes_no_batches(store, make_study) -> None:
    make_study(1)
    with pytest.raises(InputError, match="--batch"):
        run_judge(store, JudgeOrder("s", batch=True), quiet)


def finish(process) -> dict[str, object]:
    output, problems = process.communicate(timeout=120)
    assert process.returncode == 0, problems.decode()
    return json.loads(output)


@pytest.mark.parametrize("step", ["upload", "create", "look", "content"])
def test_killed_at_any_step_the_next_start_loses_and_doubles_nothing(store, database, make_study, step: str) -> None:
    make_study(10)
    with OpenAIServer(answer) as server:
        server.desk.looks = 0
        running = []

        def kill(reached: str) -> None:
            if reached == step and running:
                running.pop().kill()

        server.desk.hook = kill
        killed = start_judge(database, server, "--batch")
        running.append(killed)
        killed.communicate(timeout=60)
        assert killed.returncode == -signal.SIGKILL
        done = finish(start_judge(database, server, "--batch"))
        assert (done["run"], done["pending"]) == ({"ok": 20}, 0)
        assert set(asked(server).values()) == {1}
        assert len(server.desk.batches) == 1
    assert set(given(store)) == both_orders(10)


def test_killed_while_answers_are_kept_the_rest_is_kept_later(store, database, make_study) -> None:
    make_study(400)
    with OpenAIServer(answer) as server:
        server.desk.looks = 0
        killed = start_judge(database, server, "--batch")
        while killed.poll() is None and sum(counts(store).values()) <= batching.CHUNK:
            time.sleep(0.005)
        killed.kill()
        killed.communicate()
        assert finish(start_judge(database, server, "--batch"))["run"] == {"ok": 800}
        assert len(list(store.calls("s"))) == 800
        assert set(asked(server).values()) == {1}
    assert set(given(store)) == both_orders(400)


def counts(store: Store) -> Counter[str]:
    with store.reading() as connection:
        found = connection.exec_driver_sql("SELECT status, count(*) FROM verdict GROUP BY status")
        return Counter({row[0]: row[1] for row in found})


def test_two_processes_by_batch_share_the_run(store, database, make_study) -> None:
    make_study(40)
    with OpenAIServer(answer) as server:
        server.desk.looks = 2
        processes = [start_judge(database, server, "--batch") for _ in range(2)]
        told = [process.communicate(timeout=120) for process in processes]
        assert all(process.returncode in (0, 1) for process in processes), told
        finish(start_judge(database, server, "--batch"))
        assert set(asked(server).values()) == {1}
        assert len(list(store.calls("s"))) == 80
    assert set(given(store)) == both_orders(40)


def test_ctrl_c_leaves_the_batch_at_the_server_and_says_how_to_go_on(store, database, make_study) -> None:
    make_study(10)
    with OpenAIServer(answer) as server:
        server.desk.looks = 1000
        process = start_judge(database, server, "--batch")
        while not server.desk.steps["look"]:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, problems = process.communicate(timeout=60)
        assert process.returncode == 1
        assert json.loads(output)["pending"] == 19
        assert "the same command collects them later" in json.loads(output)["stopped"]
        assert b"19 requests handed in" in problems
        server.desk.looks = 0
        assert finish(start_judge(database, server, "--batch"))["run"] == {"ok": 20}


def test_nothing_of_a_batch_stays_on_the_disk(store, database, make_study, tmp_path: Path, monkeypatch) -> None:
    make_study(3)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with OpenAIServer(answer) as server:
        run_judge(store, by_batch(server), quiet)
    assert list(folder.rglob("*")) == []
