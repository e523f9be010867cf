"""The settings' page as a person meets it; above all, a key that is typed there is found nowhere afterwards."""

from pathlib import Path

import pytest
from openai_server import OpenAIServer, completion, error
from playwright.sync_api import expect
from steps import choose

from exchange.endpoints import EMBEDDED, Preset

pytestmark = pytest.mark.browser

KEY = "sk-planted-0123456789-abcdef"


@pytest.fixture
def server(served):
    with OpenAIServer(lambda seen: completion("ready")) as running:
        yield running


@pytest.fixture
def preset(served, server, request):
    name = f"endpoint of {request.node.name[:40]}"
    served.endpoints.save_preset(Preset(name, "gpt-x", server.url, ""))
    yield name
    served.endpoints.remove_preset(name)


def open_settings(open_page, **size):
    page = open_page("/settings", **size)
    page.locator(".endpoint").first.wait_for()
    return page


def card(page, name):
    return page.get_by_label(name, exact=True).and_(page.locator("section"))


def test_an_endpoint_is_made_from_a_template_edited_and_removed(open_page, served):
    page = open_settings(open_page)
    expect(page.locator(".endpoint").first).to_contain_text("demonstration model, unfit for studies")
    choose(page, "Add an endpoint: start from", "Ollama")
    expect(page.get_by_label("Address")).to_have_value("http://localhost:11434/v1")
    page.get_by_label("Model", exact=True).fill("llama-x")
    page.get_by_role("button", name="Save the endpoint").click()
    expect(page.locator("#message")).to_have_text("Ollama is saved.")
    expect(card(page, "Ollama")).to_contain_text("llama-x")
    page.reload()
    page.get_by_role("button", name="Edit: Ollama").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Ollama")
    page.get_by_label("USD per million prompt tokens").fill("0")
    page.get_by_label("USD per million answer tokens").fill("0")
    page.get_by_role("button", name="Save the endpoint").click()
    expect(card(page, "Ollama")).to_contain_text("0 and 0 USD per million")
    page.reload()
    page.get_by_role("button", name="Remove: Ollama").click()
    expect(card(page, "Ollama")).to_have_count(0)
    assert "Ollama" not in [preset.name for preset in served.endpoints.presets()]


def test_a_template_fills_the_form_once_and_a_list_that_is_only_left_does_nothing(open_page):
    page = open_settings(open_page)
    sent = []
    page.on("request", lambda request: "/run/predict" in request.url and sent.append(request.post_data_json["data"]))
    templates = page.get_by_label("Add an endpoint: start from", exact=True)
    templates.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(templates).not_to_be_focused()
    templates.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name", exact=True)).to_have_value("OpenAI")
    choose(page, "Add an endpoint: start from", "Ollama")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Ollama")
    page.get_by_label("Model", exact=True).fill("llama-x")
    templates.focus()
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Use this key").click()
    expect(page.locator("#message")).not_to_be_empty()
    assert [data for data in sent if len(data) == 1] == [["OpenAI"], ["Ollama"]]
    expect(page.get_by_label("Model", exact=True)).to_have_value("llama-x")


def test_a_trial_says_what_happened_and_may_be_made_again(open_page, server, preset):
    page = open_settings(open_page)
    trial = page.get_by_role("button", name=f"Try it: {preset}")
    trial.click()
    expect(card(page, preset).get_by_role("status")).to_contain_text("as served-model: “ready”")
    server.behave = lambda seen: error(404, "The model 'gpt-x' does not exist", code="model_not_found")
    for _ in range(2):
        trial.click()
        expect(card(page, preset).get_by_role("alert")).to_contain_text("The server has no model 'gpt-x' (404)")
        expect(trial).to_have_text("Try it")


def test_a_typed_key_is_used_and_found_nowhere(open_page, served, server, preset, chromium):
    answers = []
    page = open_settings(open_page)
    page.on("response", lambda response: answers.append(response))  # noqa: PLW0108 (Playwright marks it)
    choose(page, "A key for this session, for", preset)
    page.locator("#key input").fill(KEY)
    page.get_by_role("button", name="Use this key").click()
    expect(card(page, preset)).to_contain_text("typed for this session")
    expect(page.locator("#key input")).to_have_value("")
    page.get_by_role("button", name=f"Try it: {preset}").click()
    expect(card(page, preset).get_by_role("status")).to_contain_text("It answered in")
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    # A browser forgets the bodies when it goes to another page.
    seen = [response.text() for response in answers if "gradio_api/run" in response.url]
    assert len(seen) >= 2
    page.goto(f"{served.address}/judges")
    page.goto(f"{served.address}/settings")
    expect(card(page, preset)).to_contain_text("typed for this session")
    config = page.request.get(f"{served.address}/config")
    assert config.ok
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    seen += [page.content(), config.text(), kept]
    assert not [text for text in seen if "planted" in text]
    folder = Path(str(served.store.engine.url.database)).parent
    assert not [path for path in folder.iterdir() if b"planted" in path.read_bytes()]
    other = chromium.new_context()
    stranger = open_page("/settings", context=other)
    expect(card(stranger, preset)).to_contain_text("none")
    stranger.close()
    other.close()


def test_a_wrong_entry_is_told_with_what_to_do(open_page, preset):
    page = open_settings(open_page)
    page.get_by_label("Name", exact=True).fill("x")
    page.get_by_label("Address").fill("https://me:pw@host/v1")
    page.get_by_role("button", name="Save the endpoint").click()
    expect(page.get_by_role("alert")).to_contain_text("may hold no user, password")


def test_a_phone_shows_one_column(open_page, preset):
    page = open_settings(open_page, width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.get_by_role("button", name=f"Try it: {preset}").bounding_box()["height"] >= 44
    assert EMBEDDED.name in page.locator(".endpoint").first.text_content()
