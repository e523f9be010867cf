"""The command `judge` as a person meets it: what it says of failures, budgets and estimates, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from judging_study import GOOD, ROOT, order, quiet
from openai_server import OpenAIServer, completion, error, hanging, refusing

import terminal.judge
from exchange.judging import estimate_run, run_judge
from exchange.kept_answers import KeptAnswers
from exchange.panel import Options
from exchange.questions import ask_numbers
from judge.domain import InputError, Study
from judge.protocol import find_protocol
from judge.run import Limits, Prices
from storage.imports import prepare

pytestmark = pytest.mark.one_database
AGAIN = b"start the same command again"


@pytest.fixture
def judge(accord, database):
    """Run `judge` over the study at a server."""

    def run(server: OpenAIServer, *more: str):
        words = ["judge", "--study", "s", "--model", "m", "--base-url", server.url, "--database", database, *more]
        return accord(*words, OPENAI_API_KEY="")

    return run


def test_a_judge_is_asked_without_waiting_for_what_a_run_does_not_need(make_study, database) -> None:
    make_study(1)
    with OpenAIServer(lambda seen: GOOD) as server:
        words = ["app.py", "judge", "--study", "s", "--model", "m", "--base-url", server.url, "--database", database]
        done = subprocess.run([sys.executable, "-X", "importtime", *words], cwd=ROOT, capture_output=True, check=True)
    loaded = {line.split()[-1] for line in done.stderr.decode().splitlines() if line.startswith("import time:")}
    assert "openai" in loaded
    unneeded = {"alembic", "numpy", "pandas", "rich", "gradio", "exchange.batching", "storage.store"}
    if database.startswith("sqlite"):
        unneeded.add("sqlalchemy.dialects.postgresql")
    assert not loaded & unneeded


def test_after_a_long_run_the_usual_numbers_are_there(store, make_study, database, monkeypatch, capsys) -> None:
    monkeypatch.setattr("terminal.judge.MANY_VERDICTS", 4)
    monkeypatch.setattr("exchange.kept_answers.KEPT", 0.0)
    make_study(2)
    with OpenAIServer(lambda seen: GOOD) as server:
        terminal.judge.judge("s", "m", server.url, database=database)
    assert "making the numbers" in capsys.readouterr().err
    monkeypatch.setattr("exchange.questions.agree", lambda *_: pytest.fail("computed again"))
    assert KeptAnswers(store).answer(ask_numbers(store, "s", Options())).answer["flow"]["verdicts"] == 4


def by_question(*answers):
    """Answer each question in its own way, the last for all that follow."""

    def behave(seen):
        number = int(json.dumps(seen.body["messages"]).split("Question ")[1].split("?")[0])
        return answers[min(number, len(answers) - 1)]

    return behave


def test_why_calls_failed_is_said_with_an_example_and_what_to_do(make_study, judge) -> None:
    make_study(3)
    lasting = error(400, "the prompt offends us"), error(400, "maximum context length is 8 tokens")
    with OpenAIServer(by_question(*lasting, GOOD)) as server:
        done = judge(server, "--json")
        assert done.returncode == 1
        told = json.loads(done.stdout)
        assert told["failures"] == {"request": 2, "context": 2}
        assert told["failure_examples"]["request"]["count"] == 2
        assert told["failure_examples"]["request"]["example"].endswith("(400): the prompt offends us")
        assert (
            b"2 failed (request), such as: the server refuses the request (400): the prompt offends us" in done.stderr
        )
        assert AGAIN not in done.stderr
        assert b"would fail in the same way" in done.stderr
        server.behave = by_question(error(401, "no such key"), GOOD)
        done = judge(server, "--name", "other", "--no-reuse")
        assert done.returncode == 1
        assert AGAIN in done.stderr


def test_replies_that_nobody_can_read_are_told_in_one_line(make_study, judge) -> None:
    make_study(2)
    with OpenAIServer(lambda seen: completion("I cannot decide.")) as server:
        done = judge(server)
    assert done.returncode == 0
    assert done.stderr.count(b"no reply held a verdict that can be read") == 1


def test_the_progress_tells_replies_without_a_verdict_and_counts_what_this_start_has_to_do(
    store, make_study, monkeypatch
) -> None:
    monkeypatch.setattr("exchange.study_run.TOLD_EVERY", 0.05)
    make_study(20)
    lines: list[str] = []
    with OpenAIServer(lambda seen: completion("I cannot decide."), delay=0.02) as server:
        run_judge(store, order(server), quiet)
        run_judge(store, order(server, repeats=2, limit=10, limits=Limits(1)), lines.append)
    assert all(" of 20 calls" in line for line in lines)
    assert "unreadable" in lines[-1]


def test_a_budget_in_usd_needs_both_prices(store, make_study, judge) -> None:
    make_study(1)
    with OpenAIServer(lambda seen: GOOD) as server:
        done = judge(server, "--budget-usd", "1", "--price-prompt", "2")
        assert done.returncode == 2
        assert b"--price-completion" in done.stderr
        assert server.served == 0
        with pytest.raises(InputError, match="--price-prompt"):
            estimate_run(store, order(server, limits=Limits(budget_usd=1.0)))


@pytest.mark.parametrize("usage", [{"prompt_tokens": None}, {"total_tokens": "?"}])
def test_a_budget_holds_where_the_server_tells_no_tokens(store, make_study, usage) -> None:
    make_study(20)
    with OpenAIServer(lambda seen: completion('{"reason": "r", "choice": "A"}', usage=usage)) as server:
        done = run_judge(store, order(server, limits=Limits(1, budget_tokens=500)), quiet)
        assert "by an estimate" in done["stopped"]
        assert 0 < done["calls"] < 20
        assert (done["prompt_tokens"], done["completion_tokens"]) == (0, 0)
        assert done["estimated_tokens"] >= 500
        dear = Limits(1, budget_usd=0.0005, prices=Prices(1.0, 1.0))
        assert (
            "USD is used up" in run_judge(store, order(server, name="dear", reuse=False, limits=dear), quiet)["stopped"]
        )


def test_how_long_a_try_may_take_is_a_setting_and_silence_is_not_tried_often(make_study, judge) -> None:
    make_study(1)
    with OpenAIServer(lambda seen: hanging()) as server:
        done = judge(server, "--timeout", "0.3", "--orders", "AB", "--json")
        assert (done.returncode, server.served) == (1, 2)
    assert json.loads(done.stdout)["failures"] == {"timeout": 1}
    assert b"within 0.3 seconds" in done.stderr


def test_a_dry_run_counts_what_is_missing_and_shows_the_first_prompt_whole(store, make_study, judge) -> None:
    make_study(5)
    with OpenAIServer(lambda seen: GOOD) as server:
        run_judge(store, order(server, limit=2), quiet)
        whole = json.loads(judge(server, "--dry-run", "--json", "--name", "other").stdout)
        rest = json.loads(judge(server, "--dry-run", "--json", "--orders", "BA").stdout)
        told = judge(server, "--dry-run", "--price-prompt", "1", "--price-completion", "1").stdout.decode()
        other = judge(server, "--dry-run", "--name", "other").stdout.decode()
        anew = json.loads(judge(server, "--dry-run", "--json", "--name", "other", "--no-reuse").stdout)
        assert server.served == 4
        assert json.loads(judge(server, "--json", "--name", "other").stdout)["calls"] == whole["calls"]
    assert (whole["calls"], whole["stored"], whole["reused"]) == (6, 0, 4)
    assert other.startswith("6 calls (4 known from before), about ")
    assert (anew["calls"], anew["stored"], anew["reused"]) == (10, 0, 0)
    assert (rest["calls"], rest["stored"], rest["reused"]) == (3, 2, 0)
    assert rest["prompt_tokens"] == pytest.approx(anew["prompt_tokens"] * 3 / 10, rel=0.01)
    assert rest["first_prompt"].index("right 0") < rest["first_prompt"].index("left 0")
    assert told.startswith("6 calls (4 are stored already), about ")
    assert " completion tokens, cost 0.0" in told


def test_a_dry_run_shows_the_system_message(store, item, judge) -> None:
    protocol = find_protocol("prometheus-pairwise")
    store.create_study(Study("s", protocol.version))
    store.add_prepared("s", [prepare(item)])
    with OpenAIServer(lambda seen: GOOD) as server:
        told = judge(server, "--dry-run").stdout.decode()
    assert protocol.system
    assert told.index(protocol.system) < told.index("It is 5.")


def test_a_server_that_refuses_everything_in_the_same_words_stops_the_run(store, make_study) -> None:
    make_study(60)
    with OpenAIServer(lambda seen: error(400, f"Invalid 'messages' (request {seen.number})")) as server:
        done = run_judge(store, order(server, limits=Limits(4)), quiet)
        assert done["stopped"].startswith("the server refused 20 calls in a row in the same words: ")
        assert server.served <= 24
        # One that takes some is not such a server: the others are the failures of their texts.
        server.behave = lambda seen: GOOD if seen.number % 10 == 0 else error(400, "Invalid 'messages'")
        assert run_judge(store, order(server, name="picky", limits=Limits(1)), quiet)["stopped"] is None


def test_what_the_server_would_not_take_is_told(store, make_study) -> None:
    make_study(2)
    with OpenAIServer(refusing(GOOD, "temperature", "max_tokens")) as server:
        done = run_judge(store, order(server, request={"temperature": 0, "max_tokens": 9, "top_p": 1}), quiet)
    assert (done["adapted"], done["run"]) == (["max_tokens", "temperature"], {"ok": 4})


def test_an_address_that_is_none_is_said_before_anything_is_asked(make_study, accord, database) -> None:
    make_study(1)
    words = ["judge", "--study", "s", "--model", "m", "--base-url", "http://localhost:99999/v1", "--database", database]
    done = accord(*words)
    assert done.returncode == 2
    assert b"is not the address of a server" in done.stderr
