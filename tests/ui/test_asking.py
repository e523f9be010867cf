"""Judges asked on the page: real requests to a real server, shown as they arrive."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from openai_server import OpenAIServer, completion, error, hanging

from exchange.endpoints import EMBEDDED, Endpoints, Preset
from judge.domain import Failure, Reply
from judge.protocol import find_protocol
from judge.render import render
from judge.run import Prices
from ui.asking import Asked, ask_judges, show_asked
from ui.examples import list_examples
from ui.item_form import parse_item
from ui.playground import Playground

PROTOCOL = find_protocol("wildbench-pairwise")
TEXT = list_examples()["socks"].text
PROMPT = render(PROTOCOL, parse_item(TEXT))
VERDICT = '{"analysis of A": "<b>good</b> and clear", "choice": "A+"}'
HOSTILE = "<script>window.ran = 1</script> ${1} {{value}}"


@pytest.fixture
def endpoints(sqlite):
    made = Endpoints(sqlite, environment={})
    yield made
    made.close()


@pytest.fixture
def server():
    with OpenAIServer(lambda seen: completion(VERDICT)) as running:
        yield running


def save(endpoints, server, name="one", **more):
    endpoints.save_preset(Preset(name, "m", server.url, **more))
    return name


def ask(endpoints, *names, stop_when=lambda asked: False):
    """Ask to the end and return every stage as text lengths, and the last as it is."""

    async def work():
        stop, stages, last = asyncio.Event(), [], []
        async for asked in ask_judges(endpoints.connect, names, PROMPT, PROTOCOL, stop):
            stages.append([len(each.text) for each in asked])
            last = [replace(each) for each in asked]
            if stop_when(asked):
                stop.set()
        return stages, last

    return asyncio.run(work())


def test_a_reply_grows_and_ends_with_what_it_cost(endpoints, server):
    server.behave = lambda seen: replace(completion(VERDICT), pace=0.05)
    stages, [asked] = ask(endpoints, save(endpoints, server, prices=Prices(1.0, 2.0)))
    lengths = [length for [length] in stages]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 2, "it was seen on its way"
    assert isinstance(asked.ended, Reply)
    assert asked.usd == pytest.approx((11 + 2 * 7) / 1_000_000)
    [sent] = server.bodies
    assert sent["messages"] == [{"role": "user", "content": PROMPT.user}]
    shown = show_asked(asked, PROTOCOL, PROMPT)
    assert 'aria-busy="false"' in shown
    assert "side-a slight" in shown
    assert "11 + 7 tokens" in shown
    assert "0.0000 USD" in shown
    assert "&lt;b&gt;good&lt;/b&gt; and clear" in shown


def test_two_judges_are_asked_at_the_same_time(endpoints, server):
    server.delay = 0.3
    _, asked = ask(endpoints, save(endpoints, server, "one"), save(endpoints, server, "two"))
    assert [each.judge for each in asked] == ["one", "two"]
    assert all(isinstance(each.ended, Reply) for each in asked)
    assert server.most_at_once == 2


def test_stopping_keeps_what_has_arrived(endpoints, server):
    server.behave = lambda seen: hanging(400)
    _, [asked] = ask(endpoints, save(endpoints, server), stop_when=lambda asked: asked[0].text)
    assert asked.stopped
    assert asked.text
    shown = show_asked(asked, PROTOCOL, PROMPT)
    assert "Stopped after" in shown
    assert "chip" not in shown, "half a reply is not read"


def test_one_judges_failure_leaves_the_other_alone(endpoints, server):
    server.behave = lambda seen: error(404, HOSTILE) if seen.body["model"] == "gone" else completion(VERDICT)
    endpoints.save_preset(Preset("gone", "gone", server.url))
    endpoints.save_preset(Preset("keyless", "m"))
    _, [gone, good, keyless] = ask(endpoints, "gone", save(endpoints, server), "keyless")
    assert isinstance(gone.ended, Failure)
    assert isinstance(good.ended, Reply)
    assert "There is no reply." in show_asked(gone, PROTOCOL, PROMPT)
    assert "there is no key for" in show_asked(keyless, PROTOCOL, PROMPT)


@pytest.mark.parametrize(
    "ended", [None, Reply(HOSTILE, model=HOSTILE, reasoning=HOSTILE), Failure("key", HOSTILE), HOSTILE]
)
def test_what_a_judge_says_is_shown_and_runs_nothing(ended):
    shown = show_asked(Asked(HOSTILE, 0.0, HOSTILE, ended), PROTOCOL, PROMPT)
    assert "<script" not in shown
    assert "&lt;script&gt;window.ran = 1&lt;/script&gt;" in shown


def run_page(endpoints, sqlite, *names, text=TEXT):
    page = Playground({PROTOCOL.name: PROTOCOL}, list_examples(), sqlite, endpoints)
    visitor = SimpleNamespace(session_hash="me", username=None, cookies={"accord_visitor": "1"})

    async def work():
        return [step async for step in page.run(visitor, *names, PROTOCOL.name, PROTOCOL.source, text, "AB", "")]

    return page, asyncio.run(work())


def test_the_page_shows_stop_while_it_runs_and_run_afterwards(endpoints, sqlite, server):
    page, steps = run_page(endpoints, sqlite, save(endpoints, server), "")
    assert [button["visible"] for button in steps[0][:2]] == [False, True]
    assert [button["visible"] for button in steps[-1][:2]] == [True, False]
    assert "side-a slight" in steps[-2][2]
    assert steps[0][3]["visible"] is False
    asyncio.run(page.stop(SimpleNamespace(session_hash="me")))  # nothing runs any more, and nothing happens


def test_an_item_that_cannot_be_rendered_is_not_sent(endpoints, sqlite, server):
    _, [only] = run_page(endpoints, sqlite, save(endpoints, server), "", text="{")
    assert "Nothing was asked." in only[2]
    assert server.bodies == []


def test_the_first_judge_is_the_one_that_needs_no_key(endpoints, sqlite):
    page = Playground({PROTOCOL.name: PROTOCOL}, list_examples(), sqlite, endpoints)
    assert page.open(SimpleNamespace(state="", study="", item=""))[1]["choices"] == [
        ("SmolLM2-135M (demonstration)", EMBEDDED.name)
    ]
    assert "unfit for studies" in show_asked(Asked(EMBEDDED.name, 0.0), PROTOCOL, PROMPT)


def test_a_key_that_a_visitor_typed_is_sent_for_them_alone(endpoints, sqlite, server):
    name = save(endpoints, server)
    endpoints.give_key(name, "sk-mine", "visitor 1")
    run_page(endpoints, sqlite, name, "")
    assert server.requests[-1].headers["authorization"] == "Bearer sk-mine"
    endpoints.give_key(name, "", "visitor 1")
    endpoints.give_key(name, "sk-hers", "visitor 2")
    run_page(endpoints, sqlite, name, "")
    assert "sk-hers" not in server.requests[-1].headers["authorization"]
