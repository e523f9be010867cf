"""The playground as a person meets it."""

import json

import pytest
from playwright.sync_api import expect
from steps import choose

from judge.protocol import find_protocol
from judge.render import render
from ui.examples import list_examples
from ui.item_form import parse_item

pytestmark = pytest.mark.browser

REPLY = "The judge’s reply"
HOSTILE = (
    "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'> ${Object.assign(window, {ran: 1})} "
    "{{value}} `${1}` \\u00zz C:\\new\r\n\tvector<int> <think> __init__ </pre></span> &lt; \u202e \u00a0end"
)


def open_tab(page, name):
    page.get_by_role("tab", name=name).click()


def edit_json(page, text):
    open_tab(page, "Item")
    page.get_by_label("JSON", exact=True).click()
    paste(page, "Item as JSON", text)


def paste(page, label, text):
    """Paste as people do: gradio hears of pasted text by another way than of typed text."""
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.get_by_label(label).click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")


def prompt_text(page):
    return page.locator("section[aria-label=Prompt] pre").evaluate("pane => pane.textContent")


def expected(protocol, item, order="AB"):
    return render(find_protocol(protocol), item, order)


def test_the_first_sight_is_a_whole_prompt_and_its_reading(open_playground):
    page = open_playground()
    expect(page).to_have_title("Playground · Accord")
    wanted = expected("wildbench-pairwise", parse_item(list_examples()["clamp"].text))
    assert prompt_text(page) == wanted.user
    expect(page.locator("#prompt")).to_contain_text(wanted.sha256[:12])
    open_tab(page, "Reply")
    expect(page.locator("#reading .label .chip")).to_have_text("A+")
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('run-history'))") == []
    assert page.locator("link[rel=icon]").get_attribute("href").startswith("data:image/svg+xml,")


def test_choosing_a_protocol_shows_its_prompt_and_its_scale(open_playground):
    page = open_playground()
    choose(page, "Protocol", "Prometheus direct assessment")
    expect(page.locator("section[aria-label='System message']")).to_be_visible()
    expect(page.locator("#swap")).to_be_hidden()
    open_tab(page, "Reply")
    expect(page.locator("#reading .label .chip")).to_have_text("4")
    assert prompt_text(page) == expected("prometheus-direct", parse_item(list_examples()["clamp"].text)).user


def test_one_click_or_key_exchanges_the_sides(open_playground):
    page = open_playground()
    page.get_by_role("button", name="Swap sides (A first)").click()
    expect(page.locator("pre .field.side-a")).to_have_attribute("title", "candidate_A = response_b")
    assert prompt_text(page) == expected("wildbench-pairwise", parse_item(list_examples()["clamp"].text), "BA").user
    open_tab(page, "Reply")
    expect(page.locator("#reading .stored .chip")).to_have_text("B+")
    page.get_by_label(REPLY).press("s")
    expect(page.locator("#swap")).to_contain_text("B first")
    page.locator("section[aria-label=Prompt] pre").focus()
    page.keyboard.press("s")
    expect(page.locator("#swap")).to_contain_text("A first")
    expect(page.locator("pre .field.side-a")).to_have_attribute("title", "candidate_A")


def test_choosing_an_example_shows_it_and_what_is_odd_about_it(open_playground):
    page = open_playground()
    choose(page, "Item", "angle-brackets (coding, hostile text)")
    expect(page.locator("#prompt mark")).to_have_text('"choice"')
    choose(page, "Protocol", "Prometheus pairwise ranking")
    choose(page, "Item", "landlord (writing, no reference)")
    expect(page.locator("#prompt .remarks")).to_contain_text("prometheus-pairwise-no-reference was used")


def test_a_pasted_reply_is_read_at_once(open_playground):
    page = open_playground()
    open_tab(page, "Reply")
    reply = 'Here it is:\n```json\n{"analysis of A": "<b>weak</b>", "choice": "B++"}\n```'
    paste(page, REPLY, reply)
    expect(page.locator("#reading .label .chip")).to_have_text("B++")
    expect(page.locator("#reading .part.side-a dd")).to_have_text("<b>weak</b>")
    expect(page.locator("#reading mark")).to_have_text('"choice": "B++"')
    assert page.locator("#reading pre").evaluate("pane => pane.textContent") == reply
    paste(page, REPLY, "I am sorry, but I cannot judge this.")
    expect(page.locator("#reading .label")).to_contain_text("Refused")
    page.get_by_label(REPLY).press("Control+a")
    page.get_by_label(REPLY).press("Delete")
    expect(page.locator("#reading .label")).to_contain_text("The reply is empty.")


def test_a_hostile_item_and_reply_are_shown_whole_and_run_nothing(open_playground):
    page = open_playground()
    item = {"id": HOSTILE, "instruction": HOSTILE, "response_a": HOSTILE, "response_b": HOSTILE, "checklist": [HOSTILE]}
    edit_json(page, json.dumps(item))
    expect(page.locator("#prompt .field").first).to_be_visible()
    expect(page.locator("pre .field.side-a")).to_contain_text("vector<int> <think> __init__")
    assert prompt_text(page) == expected("wildbench-pairwise", parse_item(json.dumps(item))).user
    open_tab(page, "Reply")
    paste(page, REPLY, json.dumps({"analysis of A": HOSTILE, "choice": "A++"}))
    expect(page.locator("#reading .label .chip")).to_have_text("A++")
    expect(page.locator("#reading .part.side-a dd")).to_contain_text("vector<int> <think> __init__")
    open_tab(page, "Item")
    paste(page, "Item as JSON", json.dumps({**item, "rubric": {HOSTILE: ""}}))
    expect(page.get_by_role("alert")).to_contain_text("is not known")
    assert page.evaluate("window.ran") is None
    assert page.locator("#prompt img, #prompt script, #reading img, #reading script").count() == 0


def test_a_wrong_item_is_named_by_its_field(open_playground):
    page = open_playground()
    edit_json(page, '{"id": 1, "instruction": "q", "response_a": 4}')
    expect(page.get_by_role("alert")).to_contain_text("response_a: must be text, not a number")
    choose(page, "Item", "socks (reasoning)")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("pre .field.side-a")).to_contain_text("For two black ones: 8.")


def test_copy_gives_the_prompt_character_for_character(open_playground):
    page = open_playground()
    page.get_by_role("button", name="Copy: Prompt").click()
    expect(page.locator("section[aria-label=Prompt] .copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == prompt_text(page)


def test_a_fields_name_scrolls_to_it_and_keeps_the_page(open_playground):
    page = open_playground("?__theme=light")
    pane = page.locator("section[aria-label=Prompt] pre")
    page.locator(".fields").get_by_role("button", name="candidate_B").click()
    expect(pane).to_be_focused()
    assert pane.evaluate("pane => pane.scrollTop") > 0
    assert page.url.endswith("/playground?__theme=light")


def test_the_keyboard_reaches_everything_in_reading_order(open_playground):
    page = open_playground()
    page.get_by_label("Protocol", exact=True).focus()
    names, seen = ["protocol", "example", "swap", "share", "present", "prompt", "work", "run"], []
    for _ in range(24):
        seen.append(page.evaluate("names => names.findLast(name => document.activeElement.closest('#' + name))", names))
        page.keyboard.press("Tab")
    assert [name for name in dict.fromkeys(seen) if name] == names


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_it_in_one_column_with_targets_for_a_thumb(open_playground, theme):
    page = open_playground(f"?__theme={theme}", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for target in (
        "#swap",
        ".copy-link",
        "#run",
        "#prompt .copy",
        "#protocol .wrap:has(input)",
        "#prompt .fields button",
    ):
        assert page.locator(target).first.bounding_box()["height"] >= 40
    assert page.locator("#work").bounding_box()["y"] > page.locator("#prompt").bounding_box()["y"]
    open_tab(page, "Reply")
    ink = page.locator(".chip").first.evaluate("chip => getComputedStyle(chip).color")
    assert ink == {"light": "rgb(29, 81, 166)", "dark": "rgb(169, 203, 255)"}[theme]
