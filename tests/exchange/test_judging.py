"""Judging a stored study through a real server: nothing lost, nothing doubled, whatever the server does."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
import tracemalloc
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest
from judging_study import GOOD, both_orders, given, order, quiet, start_judge
from openai_server import Answer, OpenAIServer, Seen, completion, dropped, error, hanging, token, truncated_json
from sqlalchemy import inspect, update

from exchange import batching
from exchange.exporting import interchange_lines, long_rows, write_parquet
from exchange.judging import JudgeOrder, estimate_run, reread_study, run_judge
from exchange.study_run import progress_line
from judge.domain import InputError, Item, Reply, StudyError, Turn, Verdict
from judge.protocol import load_version
from judge.render import render
from judge.run import Limits, Prices, Summary, Task, read_call
from storage.imports import prepare
from storage.schema import leases
from storage.store import Store

pytestmark = pytest.mark.one_database

FULL = os.environ.get("ACCORD_SOAK") == "full"


def test_a_study_is_judged_in_both_orders_and_labels_are_unswapped(store, make_study) -> None:
    make_study(10)
    with OpenAIServer(lambda seen: GOOD) as server:
        done = run_judge(store, order(server), quiet)
    assert (done["calls"], done["run"], done["stopped"]) == (20, {"ok": 20}, None)
    assert set(given(store)) == both_orders(10)
    assert {(order, label) for (_, order), (_, label) in given(store).items()} == {("AB", "A"), ("BA", "B")}


def test_starting_again_does_only_what_is_missing(store, make_study, add_items) -> None:
    make_study(10)
    with OpenAIServer(lambda seen: GOOD) as server:
        run_judge(store, order(server, limit=4), quiet)
        assert server.served == 8
        run_judge(store, order(server), quiet)
        assert server.served == 20
        add_items(5, first=10)
        run_judge(store, order(server), quiet)
        assert server.served == 30
        assert run_judge(store, order(server), quiet)["calls"] == 0


def misbehave(chance: random.Random):
    """Fail in every way a server can, and answer in the end."""

    def behave(seen: Seen) -> Answer:
        return chance.choice(
            [
                GOOD,
                GOOD,
                GOOD,
                error(429, "slow down", {"retry-after": "0"}),
                error(500, "oops"),
                dropped(),
                truncated_json(),
                completion("I cannot decide."),
                completion('{"reason": "so long that', finish_reason="length"),
            ]
        )

    return behave


def test_whatever_the_server_does_every_item_ends_as_a_verdict_or_a_recorded_failure(store, make_study) -> None:
    make_study(30)
    with OpenAIServer(misbehave(random.Random(3))) as server:
        done = run_judge(store, order(server), quiet)
        assert set(given(store)) == both_orders(30)
        assert sum(done["by_status"].values()) == 60
        assert {"ok", "unreadable", "cut_off"} <= done["run"].keys()
        server.behave = lambda seen: GOOD
        again = run_judge(store, order(server), quiet)
    # Failures are asked again; an unreadable reply is never re-sampled silently.
    assert again["calls"] == done["run"].get("failed", 0)
    assert "failed" not in again["run"]
    assert again["run"]["unreadable"] == done["run"]["unreadable"]
    assert set(given(store)) == both_orders(30)


def hesitating(times: int):
    """Give every prompt so many replies without a verdict, and then a good one."""
    heard: Counter[str] = Counter()

    def behave(seen: Seen) -> Answer:
        text = json.dumps(seen.body["messages"])
        heard[text] += 1
        return GOOD if heard[text] > times else completion(f"I cannot decide, for the {heard[text]}. time.")

    return behave


@pytest.mark.parametrize("batch", [False, True])
def test_a_reply_without_a_verdict_is_asked_for_again_only_when_wished_and_never_silently(
    store, make_study, batch: bool, monkeypatch
) -> None:
    monkeypatch.setattr(batching, "FIRST_POLL", 0.01)
    make_study(4)
    with OpenAIServer(hesitating(2)) as server:
        server.desk.looks = 0
        first = run_judge(store, order(server, batch=batch), quiet)
        assert (first["run"], first["calls"], first["reasked"]) == ({"unreadable": 8}, 8, 0)
        second = run_judge(store, order(server, reask=1, batch=batch), quiet)
        assert (second["run"], second["calls"], second["reasked"]) == ({"unreadable": 8}, 8, 8)
        assert run_judge(store, order(server, reask=1, batch=batch), quiet)["calls"] == 0
        third = run_judge(store, order(server, reask=5, batch=batch), quiet)
        assert (third["run"], third["calls"], third["reasked"]) == ({"ok": 8}, 8, 8)
    # Every attempt is a call of its own, and what it is stands beside it.
    marks = Counter(call["usage"].get("reask", 0) for call in store.calls("s"))
    assert marks == {0: 8, 1: 8, 2: 8}
    assert len(given(store)) == 8
    exported = [json.loads(line) for line in interchange_lines(store, "s")]
    assert {verdict["reask"] for item in exported for verdict in item["verdicts"]} == {2}


@pytest.mark.parametrize("batch", [False, True])
def test_asking_again_goes_on_within_one_run_up_to_the_number_given(store, make_study, batch, monkeypatch) -> None:
    monkeypatch.setattr(batching, "FIRST_POLL", 0.01)
    make_study(6)
    with OpenAIServer(hesitating(2)) as server:
        server.desk.looks = 0
        done = run_judge(store, order(server, reask=2, batch=batch), quiet)
        assert (done["run"], done["calls"], done["reasked"]) == ({"ok": 12}, 36, 24)
        copied = run_judge(store, order(server, name="copy", reask=2, batch=batch), quiet)
        assert (copied["run"], copied["calls"], copied["reused"]) == ({"ok": 12}, 0, 12)
        endless = OpenAIServer(lambda seen: completion("No."))
        with endless:
            done = run_judge(store, order(endless, name="never", reask=3, reuse=False, batch=batch), quiet)
            assert (done["run"], done["calls"], done["reasked"]) == ({"unreadable": 12}, 48, 36)


def test_asking_again_is_shared_between_processes_and_outlives_a_kill(store, database, make_study) -> None:
    make_study(30)
    with OpenAIServer(hesitating(1), delay=0.05) as server:
        killed = start(database, server, "--reask", "1", "--concurrency", "4")
        while server.served < 70 and killed.poll() is None:
            time.sleep(0.01)
        killed.kill()
        killed.communicate()
        processes = [start(database, server, "--reask", "1", "--concurrency", "4") for _ in range(2)]
        for process in processes:
            _, problems = process.communicate(timeout=120)
            assert process.returncode == 0, problems.decode()
        assert server.served <= 2 * 60 + 4
    assert set(given(store)) == both_orders(30)
    assert {status for status, _ in given(store).values()} == {"ok"}


def test_how_sure_a_judge_was_is_kept_for_the_sides_as_imported_and_exported(store, make_study, tmp_path) -> None:
    make_study(2)
    told = [token('{"choice": "', 0.9), token("A", 0.75, B=0.25), token('"}', 0.9)]
    with OpenAIServer(lambda seen: completion('{"choice": "A"}', logprobs=told)) as server:
        run_judge(store, order(server, request={"logprobs": True}), quiet)
        run_judge(store, order(server, name="copy", request={"logprobs": True}), quiet)
        server.behave = lambda seen: completion('{"choice": "tie"}', logprobs=even)
        even = [token('{"choice": "', 0.9), token("tie", 1.0), token('"}', 0.9)]
        run_judge(store, order(server, name="even", request={"logprobs": True, "seed": 1}), quiet)
    [values] = {tuple(point.value for point in store.study("s").protocol.scale.points)}
    low, _, high = values
    sure = pytest.approx(0.75 * high + 0.25 * low)
    rows = list(long_rows(store, "s"))
    for judge in ("m", "copy"):
        scores = {row["order"]: row["soft_score"] for row in rows if row["rater"] == judge}
        assert (scores["AB"], scores["BA"]) == (sure, pytest.approx(0.75 * low + 0.25 * high))
    assert {row["soft_score"] for row in rows if row["rater"] == "even"} == {0}
    with (tmp_path / "x.parquet").open("wb") as file:
        write_parquet(rows, file)
    assert [row["soft_score"] for row in pyarrow.parquet.read_table(tmp_path / "x.parquet").to_pylist()] == [
        row["soft_score"] for row in rows
    ]
    assert all(
        call["usage"]["label_probabilities"] == pytest.approx({"A": 0.75, "B": 0.25})
        for call in store.calls("s")
        if call["rater"] in ("m", "copy")
    )


def test_an_expired_key_stops_at_once_with_one_sentence(store, make_study) -> None:
    make_study(200)
    with OpenAIServer(lambda seen: error(401, "Incorrect API key provided: secret-key.")) as server:
        done = run_judge(store, order(server), quiet)
        assert server.served <= 16
    assert done["stopped"]
    assert "secret-key" not in json.dumps(done)
    assert "key" in done["stopped"]


KEY = "sk-planted-0123456789"


def tells_the_key(seen: Seen) -> Answer:
    """Answer in every way, with the key in each answer but one."""
    text = json.dumps(seen.body["messages"])
    if "Question 1?" in text:
        return error(422, f"failed with {KEY}")
    if "Question 3?" in text:
        reply = f'You sent {KEY}. {{"reason": "Bearer {KEY}", "choice": "A"}}'
        return completion(reply, reasoning=KEY, model=f"m {KEY}", finish_reason=f"stop {KEY}")
    return error(400, f"refused, Bearer {KEY}") if "Question 2?" in text else GOOD


def arguments(process: subprocess.Popen[bytes]) -> bytes:
    return Path(f"/proc/{process.pid}/cmdline").read_bytes()


def stored(database: str) -> str:
    """Return every value of every table."""
    opened = Store.open(database)
    with opened.reading() as connection:
        tables = inspect(connection).get_table_names()
        rows = [str(row) for name in tables for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"')]
    opened.close()
    return "".join(rows)


@pytest.mark.parametrize("more", [["--concurrency", "2"], ["--batch"]], ids=["calls", "batch"])
def test_a_key_is_found_nowhere(store, make_study, database, tmp_path, accord, more: list[str]) -> None:
    make_study(5)
    told = b""
    with OpenAIServer(tells_the_key, delay=0.1) as server:
        server.desk.looks = 0
        process = start(database, server, *more, key=KEY)
        while not server.served:
            time.sleep(0.01)
        told += arguments(process)
        told += b"".join(process.communicate(timeout=120))
        assert "failed" in json.loads(told[told.index(b"{") : told.rindex(b"}") + 1])["run"]
        assert any(KEY in value for seen in server.requests for value in seen.headers.values())
        uploaded = [content for name, content in server.desk.files.items() if name.startswith("file-")]
        assert bool(uploaded) == ("--batch" in more)
        told += b"".join(uploaded)
        server.behave = lambda seen: error(401, f"bad key {seen.headers['authorization']}")
        process = start(database, server, *more, "--name", "other", "--no-reuse", key=KEY)
        told += b"".join(process.communicate(timeout=120))
    for kind in ("jsonl", "csv", "parquet"):
        told += accord("export", "--study", "s", "--format", kind, "--out", f"x.{kind}", "--database", database).stderr
    bundled = accord("bundle", "--study", "s", "--out", "x.zip", "--database", database, OPENAI_API_KEY=KEY)
    told += bundled.stdout + bundled.stderr
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        told += b"".join(map(archive.read, archive.namelist()))
    told += pyarrow.parquet.read_table(tmp_path / "x.parquet").to_pandas().to_csv().encode()
    told += stored(database).encode()
    store.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            told += path.read_bytes()
    assert b"planted" not in told
    assert b"0123456789" not in told
    assert b"Question 1?" in told  # it was the right heap to look through
    assert b"You sent [key]." in told


def test_the_same_prompt_to_the_same_model_is_not_paid_for_twice(store, make_study) -> None:
    make_study(6)
    with OpenAIServer(lambda seen: GOOD) as server:
        run_judge(store, order(server), quiet)
        done = run_judge(store, order(server, name="the same again"), quiet)
        assert (done["calls"], done["reused"]) == (0, 12)
        assert run_judge(store, order(server, name="afresh", reuse=False), quiet)["calls"] == 12
        assert run_judge(store, order(server, name="hotter", request={"temperature": 1}), quiet)["calls"] == 12


def test_other_settings_need_another_name(store, make_study) -> None:
    make_study(1)
    with OpenAIServer(lambda seen: GOOD) as server:
        run_judge(store, order(server), quiet)
        with pytest.raises(StudyError, match="--name"):
            run_judge(store, order(server, request={"temperature": 1}), quiet)


def test_repeats_are_calls_of_their_own(store, make_study) -> None:
    make_study(2)
    with OpenAIServer(lambda seen: GOOD) as server:
        assert run_judge(store, order(server, repeats=3), quiet)["calls"] == 12


def test_a_budget_stops_the_run_and_the_next_one_goes_on(store, make_study) -> None:
    make_study(20)
    with OpenAIServer(lambda seen: GOOD) as server:
        done = run_judge(store, order(server, limits=Limits(2, budget_usd=18e-5, prices=Prices(1.0, 1.0))), quiet)
        assert "budget" in done["stopped"]
        assert 10 <= done["calls"] <= 12
        assert run_judge(store, order(server), quiet)["calls"] == 40 - done["calls"]


def test_what_would_be_asked_is_told_without_asking(store, make_study) -> None:
    make_study(5)
    told = estimate_run(store, JudgeOrder("s", "m", limits=Limits(prices=Prices(1.0, 2.0))))
    assert told["calls"] == 10
    assert "Question 0?" in told["first_prompt"]
    assert told["usd"] > 0


def test_no_model_and_no_key_are_said_to_be_missing(store, make_study) -> None:
    make_study(1)
    with pytest.raises(InputError, match="--model"):
        run_judge(store, JudgeOrder("s", base_url="http://127.0.0.1:1/v1"), quiet)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        run_judge(store, JudgeOrder("s", "m"), quiet)


def test_reading_again_changes_nothing_unless_the_rules_have_changed(store, make_study, monkeypatch) -> None:
    make_study(4)
    with OpenAIServer(misbehave(random.Random(0))) as server:
        run_judge(store, order(server), quiet)
    before = given(store)
    assert reread_study(store, "s") == []
    from exchange import judging

    monkeypatch.setattr(
        judging, "read", lambda protocol, text, finish: judging_read(protocol, text + "\nchoice: tie", finish)
    )
    from judge.read import read as judging_read

    changes = reread_study(store, "s")
    assert all(change["after"] == ["ok", "tie"] for change in changes)
    monkeypatch.undo()
    reread_study(store, "s")
    assert given(store) == before


def test_reading_again_goes_through_every_page_and_holds_none_of_the_items(store, make_study, monkeypatch) -> None:
    make_study(0)
    long = [Item(f"q{n}", (Turn("user", f"Question {n}?"),), "left " * 40_000, f"right {n}") for n in range(40)]
    store.add_prepared("s", [prepare(item) for item in long])
    with OpenAIServer(lambda seen: completion("tie, I think")) as server:
        run_judge(store, order(server), quiet)
    monkeypatch.setattr("storage.runs.PAGE", 7)
    monkeypatch.setattr("exchange.judging.read", lambda *_: Verdict("tie", "whole", 0, 3))
    tracemalloc.start()
    changes = reread_study(store, "s")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {(change["item"], change["order"]) for change in changes} == both_orders(40)
    assert len(changes) == 80
    assert peak < 4_000_000


def start(database: str, server: OpenAIServer, *more: str, key: str = "k") -> subprocess.Popen[bytes]:
    return start_judge(database, server, *(more or ("--concurrency", "6")), key=key)


def wait_for(server: OpenAIServer, count: int) -> None:
    while server.served < count:
        time.sleep(0.01)


def asked(server: OpenAIServer) -> Counter[str]:
    return Counter(json.dumps(seen.body["messages"]) for seen in server.requests)


def test_killed_runs_end_with_the_verdicts_of_an_undisturbed_one(store, database, make_study) -> None:
    items, kills = (400, 20) if FULL else (40, 3)
    make_study(items)
    chance = random.Random(5)
    with OpenAIServer(lambda seen: GOOD, delay=0.02) as server:
        for _ in range(kills):
            before = server.served
            process = start(database, server)
            while server.served < before + 3 and process.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.2))
            process.kill()
            process.communicate()
        process = start(database, server)
        output, problems = process.communicate(timeout=120)
        assert process.returncode == 0, problems.decode()
        assert json.loads(output)["run"] == {"ok": 2 * items}
        assert set(given(store)) == both_orders(items)
        extra = sum(asked(server).values()) - 2 * items
        assert extra <= kills * 6


def test_two_processes_share_a_run_instead_of_doubling_it(store, database, make_study) -> None:
    make_study(60)
    with OpenAIServer(lambda seen: GOOD, delay=0.3) as server:  # long enough for both to have started
        processes = [start(database, server) for _ in range(2)]
        for process in processes:
            _, problems = process.communicate(timeout=120)
            assert process.returncode == 0, problems.decode()
        assert set(asked(server).values()) == {1}
        assert server.served == 120
        assert server.most_at_once > 6
    assert set(given(store)) == both_orders(60)


def test_a_process_that_is_done_waits_for_the_one_that_shares_its_run(store, database, make_study) -> None:
    make_study(16)
    late = replace(GOOD, delay=12.0)  # longer than a process takes to start on a busy machine
    with (
        OpenAIServer(lambda seen: late if seen.number == 0 else GOOD) as server,
        start(database, server, "--concurrency", "1") as slow,
    ):
        wait_for(server, 1)
        with start(database, server, "--concurrency", "8") as quick:
            output, problems = quick.communicate(timeout=120)
        assert quick.returncode == 0
        done = json.loads(output)
        assert (done["run"], done["missing"], done["stopped"]) == ({"ok": 32}, 0, None)
        assert b"with another process" in problems
        slow.communicate(timeout=120)
        assert (slow.returncode, server.served) == (0, 32)


def test_what_a_killed_process_held_is_done_by_the_one_that_waits_for_it(store, database, make_study) -> None:
    make_study(16)
    with OpenAIServer(lambda seen: hanging() if seen.number == 0 else GOOD) as server:
        held = start(database, server, "--concurrency", "1")
        wait_for(server, 1)
        other = start(database, server, "--concurrency", "8")
        wait_for(server, 17)
        held.kill()  # and nobody waits for it, so that the system still lists it
        output, problems = other.communicate(timeout=120)
        assert (other.returncode, json.loads(output)["run"]) == (0, {"ok": 32}), problems.decode()
        held.communicate()


def test_a_run_that_another_process_went_over_in_part_is_not_called_done(store, make_study) -> None:
    make_study(3)
    with OpenAIServer(lambda seen: GOOD) as server:
        run = store.open_run("s", order(server).settings(load_version(store.study("s").protocol), "m"))
        store.take_stretch(run)
        with store.writing() as connection:
            connection.execute(update(leases).values(owner="elsewhere:1:1"))
        ending = threading.Timer(0.5, store.keep_calls, (run, [], [0]))  # it ends, and has asked nothing
        ending.start()
        done = run_judge(store, order(server), quiet)
        ending.join()
    assert (done["missing"], done["run"]) == (6, {})
    assert "6 calls were not made" in done["stopped"]


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(store, database, make_study) -> None:
    make_study(200)
    with OpenAIServer(lambda seen: GOOD, delay=0.1) as server:
        process = start(database, server)
        while server.served < 6:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, problems = process.communicate(timeout=60)
        assert process.returncode == 1
        assert json.loads(output)["stopped"] == "interrupted"
        assert b"start the same command again" in problems
        # What was in flight is kept: nothing that the server answered is lost.
        assert len(given(store)) == server.served


@pytest.mark.parametrize("more", [("--concurrency", "2"), ("--per-minute", "1")], ids=["retry", "pace"])
def test_ctrl_c_ends_every_wait(store, database, make_study, more) -> None:
    make_study(5)
    with OpenAIServer(lambda seen: error(429, "slow", {"retry-after": "250"})) as server:
        process = start(database, server, *more)
        wait_for(server, 1 + ("--concurrency" in more))
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert (process.returncode, json.loads(output)["stopped"]) == (1, "interrupted")
        assert {status for status, _ in given(store).values()} == {"failed"}
        assert len(given(store)) == server.served


def test_a_second_ctrl_c_gives_up_what_is_in_flight_and_keeps_what_has_ended(store, database, make_study) -> None:
    make_study(5)
    with OpenAIServer(lambda seen: GOOD if seen.number < 3 else hanging()) as server:
        process = start(database, server, "--concurrency", "2")
        wait_for(server, 5)
        process.send_signal(signal.SIGINT)
        told = process.stderr.readline()
        while b"waiting for" not in told:
            told = process.stderr.readline()
        assert b"waiting for 2 calls in flight; press Ctrl-C again to give them up" in told
        process.send_signal(signal.SIGINT)
        output, problems = process.communicate(timeout=60)
        assert (process.returncode, json.loads(output)["stopped"]) == (1, "interrupted")
        assert b"start the same command again" in problems
        assert [status for status, _ in given(store).values()] == ["ok"] * 3
        server.behave = lambda seen: GOOD
        assert run_judge(store, order(server), quiet)["run"] == {"ok": 10}


def test_the_time_left_is_told_once_a_call_has_ended(protocols, item) -> None:
    summary = Summary(Prices())
    assert progress_line(summary, 8) == "0 of 8 calls · 0 tokens"
    task = Task(item, "AB")
    prompt = render(protocols["wildbench-pairwise"], item, "AB")
    summary.count(read_call(protocols["wildbench-pairwise"], task, prompt, Reply('{"choice": "A+"}', "stop")))
    assert "1 of 8 calls" in progress_line(summary, 8)
    assert "s left" in progress_line(summary, 8)
