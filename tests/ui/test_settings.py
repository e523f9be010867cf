"""The settings' page: endpoints are kept, keys are not, and a trial says what happened."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import gradio as gr
import pytest
from openai_server import OpenAIServer, completion, error

from exchange.endpoints import EMBEDDED, Endpoints, Preset
from judge.run import Prices
from ui.settings import TEMPLATES, SettingsPage

pytestmark = pytest.mark.one_database

KEY = "sk-planted-0123456789"


@pytest.fixture
def page(store):
    made = SettingsPage(Endpoints(store, environment={"OPENAI_API_KEY": "planted-in-the-environment"}))
    yield made
    made.endpoints.close()


def request(visitor="v1"):
    return gr.Request(cookies={"accord_visitor": visitor} if visitor else {})


def act(page, what, name, visitor="v1"):
    return asyncio.run(page.act(request(visitor), SimpleNamespace(what=what, name=name)))


def save(page, name="ours", address="http://127.0.0.1:1/v1", model="m", key_env="", prices=("", "")):
    return page.save(request(), name, address, model, key_env, *prices)


def test_the_page_opens_with_the_embedded_model_and_the_state_of_every_key(page) -> None:
    page.endpoints.save_preset(Preset("OpenAI", "gpt-x"))
    page.endpoints.save_preset(Preset("local", "", "http://127.0.0.1:1/v1", ""))
    shown, keyed = page.open(request())
    assert shown.index(EMBEDDED.name) < shown.index("OpenAI")
    assert "from the environment variable OPENAI_API_KEY" in shown
    assert "<dt>Key</dt><dd>none</dd>" in shown
    assert keyed["choices"] == ["local", "OpenAI"] or keyed["choices"] == ["OpenAI", "local"]
    assert "planted" not in shown + json.dumps(keyed)


def test_an_endpoint_is_saved_edited_and_removed(page) -> None:
    message, shown, keyed = save(page, prices=("0.5", "1.5"))
    assert "ours is saved" in message
    assert keyed["value"] == "ours"
    assert page.endpoints.preset("ours").prices == Prices(0.5, 1.5)
    assert act(page, "edit", "ours")[3:] == ["ours", "http://127.0.0.1:1/v1", "m", "", "0.5", "1.5"]
    message, shown, *_ = act(page, "remove", "ours")
    assert "removed" in message
    assert "ours" not in shown


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": " "}, "give the endpoint a name"),
        ({"address": "https://me:pw@host/v1"}, "no user, password"),
        ({"key_env": "PATH"}, "_API_KEY"),
        ({"prices": ("cheap", "")}, "is not a number"),
        ({"prices": ("-1", "2")}, "not negative"),
    ],
)
def test_what_is_wrong_with_an_endpoint_is_said_and_nothing_is_stored(page, wrong, sentence) -> None:
    message, *_ = save(page, **wrong)
    assert 'role="alert"' in message
    assert sentence.casefold() in message.casefold()
    assert page.endpoints.presets() == [EMBEDDED]


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_fills_a_form_that_can_be_saved(page, name) -> None:
    filled = page.fill(name)
    assert "is saved" in page.save(request(), *filled)[0]
    assert page.endpoints.preset(name) == TEMPLATES[name]


def test_a_typed_key_serves_its_person_and_is_never_given_back(page) -> None:
    with OpenAIServer(lambda seen: completion("ready")) as server:
        save(page, address=server.url)
        message, shown, box = page.give_key(request(), "ours", KEY)
        assert box == ""
        assert "typed for this session" in shown
        assert "typed for this session" not in page.show("visitor v2")
        for visitor in ("v1", "v2"):
            assert "It answered in" in act(page, "try", "ours", visitor)[1]
        assert [seen.headers["authorization"] for seen in server.requests] == [f"Bearer {KEY}", "Bearer none"]
    assert "planted" not in message + shown + page.show("visitor v1")
    forgotten, shown, _ = page.give_key(request(), "ours", " ")
    assert "forgotten" in forgotten
    assert "<dt>Key</dt><dd>none</dd>" in shown


@pytest.mark.parametrize(
    ("name", "visitor", "key", "sentence"),
    [
        ("ours", "v1", "sk-planted two\nlines", "copy it again"),
        (None, "v1", KEY, "save an endpoint first"),
        ("ours", "", KEY, "keeps no cookies"),
        ("gone", "v1", KEY, "no endpoint named"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_and_not_shown(page, name, visitor, key, sentence) -> None:
    save(page)
    message, shown, box = page.give_key(request(visitor), name, key)
    assert sentence.casefold() in message.casefold()
    assert box == ""
    assert "planted" not in message + shown
    assert not page.endpoints.has_key("ours", "visitor v1")


def test_a_trial_says_in_a_sentence_what_happened(page) -> None:
    with OpenAIServer(lambda seen: completion("ready <b>now</b>")) as server:
        save(page, address=server.url)
        shown = act(page, "try", "ours")[1]
        assert "as served-model: “ready &lt;b&gt;now&lt;/b&gt;”" in shown
        assert server.bodies[0]["max_tokens"] == 16
        server.behave = lambda seen: error(401, f"bad key {seen.headers['authorization']}")
        page.give_key(request(), "ours", KEY)
        shown = act(page, "try", "ours")[1]
        assert "The server refuses the key (401)" in shown
        assert "planted" not in shown
        server.behave = lambda seen: error(500, "oops")
        before = server.served
        assert "The server failed (500)" in act(page, "try", "ours")[1]
        assert server.served == before + 1
    assert "No connection with 127.0.0.1" in act(page, "try", "ours")[1]
    save(page, model="")
    assert "type the model" in act(page, "try", "ours")[1]
