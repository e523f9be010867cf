"""The judges' page: its handlers with a real store, a real server over a socket, and runs in the background."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from types import SimpleNamespace

import gradio as gr
import pytest
from openai_server import OpenAIServer, completion, error

from exchange.background import Runs
from exchange.endpoints import EMBEDDED, Endpoints, Preset
from exchange.judging import JudgeOrder, run_judge
from exchange.live import judge_item
from judge.domain import InputError
from judge.protocol import list_protocols
from judge.run import Prices
from ui.app import build_app
from ui.judges import OTHER, Form, Judges
from ui.judging import show_live
from ui.numbers import read_amount, read_whole
from ui.page import Settings, who_asks

pytestmark = pytest.mark.one_database

GOOD = completion('{"reason": "Clearer.", "choice": "A"}')
HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} {{value}}"


@pytest.fixture
def page(store):
    endpoints = Endpoints(store, environment={})
    runs = Runs(store, endpoints)
    yield Judges(store, endpoints, runs)
    runs.close()
    endpoints.close()


@pytest.fixture
def server():
    with OpenAIServer(lambda seen: GOOD) as running:
        yield running


def request(study="s", visitor="v1"):
    return gr.Request(query_params={"study": study} if study else {}, cookies={"accord_visitor": visitor})


def act(page, what, run=0, name="", page_number=0):
    event = SimpleNamespace(what=what, run=run, name=name, page=page_number)
    return page.act(request(), "s", event)


def form(server, **changes):
    return replace(Form("s", OTHER, "m", server.url), **changes)


def start(page, filled):
    problem, *_ = page.start(request(), *astuple(filled))
    for progress in page.runs.progress("s"):
        page.runs.wait(progress.run)
    return problem


def test_the_page_opens_with_the_study_of_its_address(page, make_study) -> None:
    make_study(3)
    page.endpoints.save_preset(Preset("ours", "gpt-x", "http://127.0.0.1:1/v1", "", Prices(1.0, 2.0)))
    shown = page.open(request())
    assert shown[0] == "s"
    assert (shown[1]["value"], shown[2]["value"]) == ("ours", "gpt-x")
    assert [choice if isinstance(choice, str) else choice[1] for choice in shown[1]["choices"]] == [
        EMBEDDED.name,
        "ours",
        OTHER,
    ]
    assert "<strong>6 calls</strong>" in shown[15]
    assert "USD" in shown[15]
    assert "No judge has been run over this study here yet" in shown[17]


@pytest.mark.parametrize(
    ("made", "study", "sentence"),
    [
        (None, "", "There is no study yet. Make one"),
        (None, "s", "There is no study named &#39;s&#39;."),
        (0, "s", "has no items yet"),
        (1, "", "Choose the study whose judges you want to see or start."),
        (1, HOSTILE, "There is no study named &#39;&lt;img"),
    ],
)
def test_where_there_is_nothing_to_show_a_sentence_says_the_next_step(page, make_study, made, study, sentence) -> None:
    if made is not None:
        make_study(made)
    shown = page.open(request(study))
    assert shown[12]["visible"] is False
    assert sentence in shown[13]


def test_nothing_of_a_study_or_an_endpoint_is_in_what_everybody_is_sent(page, store, make_study) -> None:
    make_study(2)
    store.create_study(replace(store.study("s"), name="secret-study"))
    page.endpoints.save_preset(Preset("secret-endpoint", "secret-model", "http://127.0.0.1:1/v1"))

    async def config():
        return build_app(store, Settings(list_protocols()), page.endpoints, page.runs).get_config_file()

    with ThreadPoolExecutor() as apart:
        told = json.dumps(apart.submit(asyncio.run, config()).result(), default=str)
    assert "secret-" not in told


def test_a_run_is_started_watched_and_compared(page, make_study, server) -> None:
    make_study(5)
    assert start(page, form(server)) == ""
    progress, table, timer = page.tick("s")
    assert progress == ""
    assert timer.active is False
    assert '<th scope="row"><span class="mark">◆</span> m</th>' in table
    assert '<td data-name="ok">10</td>' in table
    assert '<td data-name="Same in both orders">0 % of 5</td>' in table
    assert ">done<" in table


def test_a_run_that_goes_on_is_shown_with_its_rate_and_can_be_stopped_and_resumed(page, make_study, server) -> None:
    make_study(30)
    server.delay = 0.05
    page.start(request(), *astuple(form(server, concurrency="2")))
    [now] = page.runs.progress("s")
    progress, table, timer = page.show_state("s")
    assert "of 60 calls" in progress
    assert "counted when the run ends" in table
    assert 'data-name="ok"' not in table
    assert page.look(request(), *astuple(form(server)))[3] == gr.skip()  # what is left changes while it runs
    assert timer.active is True
    assert f'data-do="stop" data-run="{now.run}"' in progress
    problem, progress, *_ = act(page, "stop", now.run)
    assert problem == ""
    page.runs.wait(now.run)
    _, table, _ = page.tick("s")
    assert "Stopped: somebody stopped it. Nothing is lost" in table
    assert f'data-do="resume" data-run="{now.run}"' in table
    act(page, "resume", now.run)
    page.runs.wait(now.run)
    assert server.served == 60
    assert ">done<" in page.tick("s")[1]
    assert "nothing to start" in page.look(request(), *astuple(form(server)))[3]


def test_a_run_cut_off_with_its_server_is_shown_as_stopped_and_can_be_resumed(page, store, make_study, server) -> None:
    make_study(4)
    start(page, form(server, limit="2"))
    store.note_run(store.list_runs("s")[0].id, {**store.list_runs("s")[0].asked, "limit": None})
    reopened = Judges(store, page.endpoints, Runs(store, page.endpoints))
    _, table, timer = reopened.show_state("s")
    assert ">stopped<" in table
    assert timer.active is False
    act(reopened, "resume", store.list_runs("s")[0].id)
    reopened.runs.wait(store.list_runs("s")[0].id)
    assert server.served == 8


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": " "}, "type the model"),
        ({"base_url": ""}, "Type the endpoint"),
        ({"base_url": "ftp://x"}, "http://"),
        ({"repeats": "0"}, "Repeats: &#39;0&#39; must be a whole number"),
        ({"limit": "ten"}, "First items only: &#39;ten&#39; is not a number"),
        ({"budget_usd": "1"}, "needs the prices"),
        ({"endpoint": "gone"}, "no endpoint named"),
    ],
)
def test_what_is_wrong_in_the_form_is_said_before_and_at_the_start(page, make_study, server, changes, sentence) -> None:
    make_study(2)
    wrong = form(server, **changes)
    assert sentence.casefold() in page.show_estimate(wrong, "").casefold()
    problem, *_ = page.start(request(), *astuple(wrong))
    assert sentence.casefold() in problem.casefold()
    assert 'role="alert"' in problem
    assert page.runs.progress("s") == []


def test_other_settings_under_the_same_name_ask_for_another_name(page, make_study, server) -> None:
    make_study(1)
    start(page, form(server))
    problem = start(page, form(server, temperature="1"))
    assert "give the judge another name, under Limits and settings" in problem
    assert start(page, form(server, temperature="1", name="hotter")) == ""


def test_an_estimate_says_what_is_stored_and_when_nothing_is_left(page, make_study, server) -> None:
    make_study(3)
    start(page, form(server, orders="AB"))
    assert "3 more are stored already" in page.show_estimate(form(server), "")
    assert "nothing to start" in page.show_estimate(form(server, orders="AB"), "")


def test_a_wrong_key_is_told_in_one_sentence_with_what_to_do(page, make_study, server) -> None:
    make_study(2)
    server.behave = lambda seen: error(401, "Incorrect API key provided")
    start(page, form(server))
    table = page.tick("s")[1]
    assert table.count("the server refuses the key (401)") == 1
    assert "Resume asks what is missing" in table


def test_failures_are_shown_by_kind_and_page_with_every_letter_of_the_reply(page, make_study, server) -> None:
    make_study(12)
    server.behave = lambda seen: completion(HOSTILE)
    start(page, form(server))
    run = page.runs.progress("s")[0].run
    first = act(page, "failures", run)[-1]
    assert "no label could be read <span>24</span>" in first
    assert "&lt;img src=x onerror=alert(1)&gt; ${alert(1)} {{value}}" in first
    assert "1–10 of 24" in first
    assert "21–24 of 24" in act(page, "failures", run, "unreadable", 2)[-1]
    assert "21–24 of 24" in act(page, "failures", run, "unreadable", 99)[-1]
    assert "1–10 of 24" in act(page, "failures", run, HOSTILE, -1)[-1]
    assert "brought a label" in act(page, "failures", 999)[-1]
    assert "stop it where it was started" in act(page, "stop", 999)[0]


def test_a_run_of_the_command_line_stands_in_the_same_table(page, store, make_study, server) -> None:
    make_study(2)
    run_judge(store, JudgeOrder("s", HOSTILE, server.url), lambda _: None)
    table = page.show_state("s")[1]
    assert "&lt;img" in table
    assert "<img" not in table
    assert ">done<" in table


def test_choosing_the_embedded_model_says_what_it_is(page, make_study) -> None:
    make_study(1)
    model, address, note, estimate = page.choose(request(), *astuple(Form("s", EMBEDDED.name)))
    assert model["visible"] is False
    assert address["visible"] is False
    assert "demonstration model, unfit for studies" in note["value"]
    assert "2 calls" in estimate


def test_an_endpoint_that_was_removed_meanwhile_is_told(page):
    shown = page.choose(request(), *astuple(Form("s", "gone")))[-1]
    assert "There is no endpoint named &#39;gone&#39;" in shown


def test_one_item_is_shown_in_both_orders_side_by_side(page, store, make_study, server) -> None:
    make_study(1)
    server.behave = lambda seen: completion(json.dumps({"reason": HOSTILE, "choice": "A"}))

    async def watch(**more):
        preset = Preset("", HOSTILE, server.url, "", Prices(1.0, 2.0))
        return [show_live(live) async for live in judge_item(store, page.endpoints, "s", "q0", preset, **more)]

    first, *_, last = asyncio.run(watch())
    assert "Waiting for the first words" in first
    assert 'aria-busy="true"' in first
    assert last.count('class="live-order"') == 2
    assert "another label when the sides are exchanged" in last
    assert "11 + 7 tokens · 0.000025 USD" in last
    assert "The whole reply is the JSON object that was asked for." in last
    assert "<img" not in last
    assert "Stored before" in asyncio.run(watch())[-1]
    server.behave = lambda seen: error(401, HOSTILE)
    assert "No reply." in asyncio.run(watch(again=True))[-1]


def test_who_asks_is_the_login_or_else_the_browser() -> None:
    assert who_asks(gr.Request(username="ana", cookies={"accord_visitor": "x"})) == "user ana"
    assert who_asks(gr.Request(cookies={"accord_visitor": "x"})) == "visitor x"
    assert who_asks(gr.Request(cookies={})) == ""


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1,5", "x" * 100])
def test_a_number_that_is_none_is_refused_by_its_label(text) -> None:
    with pytest.raises(InputError, match=r"^Budget: "):
        read_amount("Budget", text)


def test_numbers_are_read_as_typed() -> None:
    assert (read_amount("x", " 0.5 "), read_amount("x", ""), read_amount("x", None)) == (0.5, None, None)
    assert (read_whole("x", "1e3"), read_whole("x", " ")) == (1000, None)
    with pytest.raises(InputError, match="whole number"):
        read_whole("x", "1.5")
