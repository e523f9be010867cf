"""From pasted texts to a verdict in the playground, and by a link to somebody else's screen."""

import json
import re
import zlib
from base64 import urlsafe_b64encode
from dataclasses import replace

import pytest
from openai_server import OpenAIServer, completion, hanging
from playwright.sync_api import expect
from test_playground_page import HOSTILE, edit_json, expected, open_tab, paste, prompt_text

from exchange.endpoints import Endpoints, Preset
from judge.domain import ORDERS, Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from ui.examples import list_examples
from ui.item_form import parse_item

pytestmark = pytest.mark.browser

OWN = """---
title: Which is right
kind: pairwise
placeholder: "{name}"
scale:
  - {label: "B", value: -1, meaning: B is right}
  - {label: "A", value: 1, meaning: A is right}
answer: {marker: "[RESULT]"}
---
Question: {orig_instruction}
A: {orig_response_A}
B: {orig_response_B}
Which is right? Say why in a sentence, then [RESULT] A or B.
"""
ITEM = {"id": "sum", "instruction": "2 + 2?", "response_a": "4", "response_b": "5"}
REPLY = "Feedback: four is what two and two make, as anybody can count. [RESULT] A"


@pytest.fixture(scope="module")
def server(served):
    """Return a judge's server that two presets of the app lead to."""
    with OpenAIServer(lambda seen: completion(REPLY)) as running:
        presets = Endpoints(served.store, environment={})
        for name in ("first judge", "second judge"):
            presets.save_preset(Preset(name, name.replace(" ", "-"), running.url))
        yield running
        for name in ("first judge", "second judge"):
            presets.remove_preset(name)


def choose_judges(page, *names):
    for place, name in zip(("#judge", "#second"), names, strict=False):
        page.locator(f"{place} input").click()
        page.locator(place).get_by_role("option", name=name, exact=True).click()


def paste_all(page):
    open_tab(page, "Protocol")
    paste(page, "Protocol file", OWN)
    edit_json(page, json.dumps(ITEM))
    expect(page.locator("#prompt")).to_contain_text("Question: 2 + 2?".replace("Question: ", ""))
    assert prompt_text(page).endswith("Say why in a sentence, then [RESULT] A or B.\n")
    open_tab(page, "Judges")


def test_from_pasted_protocol_and_item_to_two_verdicts_that_stream(open_playground, server):
    server.behave = lambda seen: replace(completion(REPLY), pace=0.08)
    page = open_playground()
    paste_all(page)
    choose_judges(page, "first judge", "second judge")
    page.evaluate("""() => {
      window.sizes = [];
      const column = document.querySelector('#column-1');
      const look = () => window.sizes.push(column.querySelector('.arriving .text')?.textContent.length);
      new MutationObserver(look).observe(column, { childList: true, subtree: true, characterData: true });
    }""")
    page.keyboard.press("r")
    expect(page.locator("#stop")).to_be_visible()
    for column in ("#column-1", "#column-2"):
        expect(page.locator(f"{column} .label .chip")).to_have_text("A", timeout=20_000)
        expect(page.locator(column)).to_contain_text("11 + 7 tokens")
        assert page.locator(f"{column} .reading pre").evaluate("pane => pane.textContent") == REPLY
    expect(page.locator("#run")).to_be_visible()
    expect(page.locator("#stop")).to_be_hidden()
    sizes = {size for size in page.evaluate("window.sizes") if size}
    assert len(sizes) > 2, "the reply was seen on its way"
    assert {body["messages"][0]["content"] for body in server.bodies} == {prompt_text(page)}


def test_stop_keeps_what_has_arrived(open_playground, server):
    server.behave = lambda seen: hanging(500)
    page = open_playground()
    choose_judges(page, "first judge")
    page.locator("#run").click()
    expect(page.locator("#column-1 .arriving .text")).to_contain_text("[RESULT]")
    page.keyboard.press("Escape")
    expect(page.locator("#column-1 .facts")).to_contain_text("Stopped after")
    expect(page.locator("#column-1 .arriving .text")).to_contain_text("[RESULT]")
    expect(page.locator("#run")).to_be_visible()


def test_a_hostile_reply_is_shown_whole_and_runs_nothing(open_playground, server):
    server.behave = lambda seen: completion(f"{HOSTILE} [RESULT] A", model=HOSTILE, reasoning_content=HOSTILE)
    page = open_playground()
    paste_all(page)
    choose_judges(page, "first judge")
    page.locator("#run").click()
    expect(page.locator("#column-1 .label .chip")).to_have_text("A")
    shown = page.locator("#column-1 .reading pre").evaluate("pane => pane.textContent")
    assert shown == f"{HOSTILE} [RESULT] A"
    assert page.evaluate("window.ran") is None
    assert page.locator("#column-1 img, #column-1 script").count() == 0


def test_the_embedded_model_gives_a_verdict_without_a_key(open_playground):
    page = open_playground()
    paste_all(page)
    page.locator("#run").click()
    expect(page.locator("#column-1 h2")).to_contain_text("demonstration model, unfit for studies", timeout=60_000)
    expect(page.locator("#column-1 .label .chip")).to_have_text(re.compile("^[AB]$"), timeout=300_000)
    expect(page.locator("#column-1 .facts").first).to_contain_text("tokens")


def test_an_edited_protocols_error_names_its_line_and_reset_takes_it_back(open_playground):
    page = open_playground()
    open_tab(page, "Protocol")
    before = prompt_text(page)
    source = find_protocol("wildbench-pairwise").source
    paste(page, "Protocol file", source.replace("{$history}", "{$histori}"))
    expect(page.get_by_role("alert")).to_contain_text("Line 25: unknown field '{$histori}' (did you mean 'history'?)")
    expect(page.locator("[role=tab].marked")).to_have_text("Edit protocol")
    paste(page, "Protocol file", source.replace("expert evaluator", "<b>referee</b>"))
    page.get_by_label("Compare with the original").click()
    expect(page.locator("section[aria-label='Edited prompt']")).to_contain_text("<b>referee</b>")
    expect(page.locator("section[aria-label='Original prompt']")).to_contain_text("expert evaluator")
    page.get_by_role("button", name="Back to the original").click()
    expect(page.locator("[role=tab].marked")).to_have_count(0)
    expect(page.locator("#versions .versions")).to_have_count(0)
    assert prompt_text(page) == before


def test_comparing_right_after_a_paste_is_not_undone_by_the_pastes_own_answer(open_playground):
    page = open_playground()
    open_tab(page, "Protocol")
    held = []

    def hold_first(route):
        if not held and "referee" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    source = find_protocol("wildbench-pairwise").source
    paste(page, "Protocol file", source.replace("expert evaluator", "umpire"))
    expect(page.get_by_label("Compare with the original")).to_be_enabled()
    page.route("**/gradio_api/**", hold_first)
    paste(page, "Protocol file", source.replace("expert evaluator", "referee"))
    page.get_by_label("Compare with the original").click()
    page.wait_for_timeout(500)
    held[0].continue_()
    page.wait_for_timeout(1000)
    expect(page.locator("section[aria-label='Original prompt']")).to_contain_text("expert evaluator")


def test_exchanging_the_sides_exchanges_them_in_both_versions(open_playground):
    page = open_playground()
    open_tab(page, "Protocol")
    source = find_protocol("wildbench-pairwise").source
    paste(page, "Protocol file", source.replace("expert evaluator", "umpire"))
    page.get_by_label("Compare with the original").click()
    original, item = page.locator("section[aria-label='Original prompt'] pre"), list_examples()["clamp"].text
    both = (expected("wildbench-pairwise", parse_item(item), order).user for order in ORDERS)
    first, second = (text.partition("expert evaluator")[2] for text in both)  # which is marked
    expect(original).to_contain_text(first)
    page.get_by_role("button", name="Swap sides (A first)").click()
    expect(original).to_contain_text(second)


def test_the_boxes_write_the_item(open_playground):
    page = open_playground()
    page.get_by_label("Item", exact=True).first.click()
    page.get_by_role("option", name="Empty, to be filled in").click()
    paste(page, "Question", "Is <b>this</b> kept?")
    expect(page.locator("pre .field[title=user_query]")).to_have_text("Is <b>this</b> kept?")
    page.get_by_label("Response A").press_sequentially("typed quickly", delay=5)
    expect(page.locator("pre .field.side-a")).to_have_text("typed quickly")
    expect(page.get_by_label("Response A")).to_have_value("typed quickly")
    expect(page.get_by_label("Question")).to_have_value("Is <b>this</b> kept?")
    page.get_by_label("JSON", exact=True).click()
    item = json.loads(page.get_by_label("Item as JSON").input_value())
    assert (item["response_a"], item["conversation"][-1]["content"]) == ("typed quickly", "Is <b>this</b> kept?")


def test_an_item_of_a_study_is_loaded_by_hand_and_by_address(open_playground, served):
    served.store.create_study(Study("played", find_protocol("prometheus-pairwise-no-reference").version))
    item = Item("q <1>", (Turn("user", "Why?"),), "left", "right", model_a="secret")
    served.store.add_prepared("played", [prepare(item)])
    page = open_playground()
    expect(page.locator(".masthead select option[value=played]")).to_have_count(1)
    open_tab(page, "Item")
    page.locator("#study input").click()
    page.locator("#study").get_by_role("option", name="played", exact=True).click()
    expect(page.get_by_label("Item of the study")).to_have_value("q <1>")
    page.get_by_role("button", name="Load").click()
    expect(page.get_by_label("Response A")).to_have_value("left")
    expect(page.get_by_label("Protocol", exact=True)).to_have_value("Prometheus pairwise ranking, no reference")
    page = open_playground("?study=played&item=q+%3C1%3E")
    open_tab(page, "Item")
    expect(page.get_by_label("Response B")).to_have_value("right")
    assert "secret" not in page.content()


def test_a_link_restores_everything_on_another_screen(open_playground):
    page = open_playground()
    open_tab(page, "Protocol")
    paste(page, "Protocol file", OWN)
    edit_json(page, json.dumps({**ITEM, "response_a": HOSTILE}))
    expect(page.locator("pre .field.side-a")).to_contain_text("vector<int>")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Swap sides").click()
    open_tab(page, "Reply")
    paste(page, "The judge’s reply", "Mine. [RESULT] B")
    expect(page.locator("#reading .stored .chip")).to_have_text("A")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".share [role=status]")).to_have_text("Link copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    requests = []
    other = open_playground("?__theme=light")
    other.on("request", lambda request: requests.append(request.url))
    other.goto("about:blank")
    other.goto(link)
    expect(other.locator("#reading .stored .chip")).to_have_text("A")
    expect(other.get_by_label("The judge’s reply")).to_have_value("Mine. [RESULT] B")
    expect(other.locator("#swap")).to_contain_text("B first")
    assert prompt_text(other) == prompt_text(page)
    assert other.evaluate("window.ran") is None
    assert not any("#" in url or "p=" in url.partition("?")[2] for url in requests if "gradio_api" in url)
    other.reload()
    expect(other.get_by_label("The judge’s reply")).to_have_value("Mine. [RESULT] B")


def packed(text):
    squeezed = zlib.compressobj(wbits=-15)
    return urlsafe_b64encode(squeezed.compress(text.encode()) + squeezed.flush()).decode().rstrip("=")


@pytest.mark.parametrize(
    "fragment",
    [
        "%%%",
        "AAAA",
        packed("not JSON"),
        packed(json.dumps({"protocol": HOSTILE, "item": HOSTILE})),
        packed(" " * 5_000_000),
    ],
    ids=["no base64", "no deflate", "no JSON", "unknown protocol", "bomb"],
)
def test_a_hostile_link_says_so_and_leaves_the_page_as_it_was(open_playground, fragment):
    page = open_playground(f"#p={fragment}")
    expect(page.get_by_role("alert")).to_contain_text("This link")
    assert page.evaluate("window.ran") is None
    expect(page.get_by_label("Protocol", exact=True)).to_have_value("WildBench pairwise v2")
    page.get_by_role("tab", name="Reply").click()
    page.get_by_label("The judge’s reply").press_sequentially("x")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_is_too_long_for_a_link_travels_as_json(open_playground):
    page = open_playground()
    noise = "".join(chr(0x4E00 + (n * 7919) % 20000) for n in range(12_000))
    edit_json(page, json.dumps({**ITEM, "response_a": noise}))
    expect(page.locator("pre .field.side-a")).to_contain_text(noise[:50])
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".share [role=status]")).to_contain_text("Too long for a link")
    page.get_by_role("button", name="Copy as JSON").click()
    expect(page.locator(".share [role=status]")).to_contain_text("Copied.")
    other = open_playground()
    other.locator("section[aria-label=Prompt] pre").focus()
    other.keyboard.press("Control+v")
    expect(other.locator("pre .field.side-a")).to_contain_text(noise[:50])
    assert prompt_text(other) == prompt_text(page)


def test_presenting_hides_the_editors_and_enlarges_the_type(open_playground):
    page = open_playground()
    pane = page.locator("section[aria-label=Prompt] pre")
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Leave presentation")).to_be_visible()
    expect(page.get_by_role("tab", name="Item")).to_be_hidden()
    expect(page.locator(".masthead")).to_be_hidden()
    expect(pane).to_have_css("font-size", "19px")
    page.keyboard.press("p")
    expect(page.get_by_role("tab", name="Item")).to_be_visible()
    expect(pane).to_have_css("font-size", "14px")
