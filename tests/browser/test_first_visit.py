"""A first visit: an empty house offers the example studies, and a tour of four steps that can be left at once."""

import pytest
from playwright.sync_api import expect

from exchange.examples import EXAMPLES, load_examples

pytestmark = pytest.mark.browser
STUDY = EXAMPLES[0].name


@pytest.fixture
def address(served):
    load_examples(served.store)
    return f"/?study={STUDY}&annotator=newcomer"


def test_the_tour_is_walked_by_keyboard_and_does_not_come_back(open_page, address):
    page = open_page(address)
    panel = page.get_by_role("dialog")
    expect(panel).to_contain_text("Step 1 of 4")
    for step in (2, 3, 4):
        page.keyboard.press("Enter")
        expect(panel).to_contain_text(f"Step {step} of 4")
    page.keyboard.press("Enter")
    expect(panel).to_be_hidden()
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator(".saved")).to_contain_text("Saved")
    page.reload()
    page.locator(".question-text *").first.wait_for()
    expect(panel).to_be_hidden()


def test_the_tour_is_left_with_escape(open_page, address):
    page = open_page(address)
    expect(page.get_by_role("dialog")).to_contain_text("Step 1 of 4")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".pointed")).to_have_count(0)
    page.wait_for_function("localStorage.getItem('accord:toured') === 'yes'")


def test_examples_are_loaded_from_an_empty_page(open_page, served, monkeypatch):
    monkeypatch.setattr(served.store, "studies", list)  # as if nobody had made one yet
    page = open_page("/?annotator=newcomer")
    page.get_by_role("button", name="Load the example studies").click()
    page.wait_for_url(lambda url: "Example" in url)
