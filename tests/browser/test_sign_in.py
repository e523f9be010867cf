"""Signing in with a browser: an annotator is led to Review, sees only that, and is out again with one click."""

import pytest
from playwright.sync_api import expect
from serving import Serving

from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.store import Store

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture
def guarded(tmp_path):
    store = Store.open(f"sqlite:///{tmp_path / 'accord.db'}")
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    store.add_prepared("s", [prepare(Item("q", (Turn("user", "Why?"),), "left", "right", checklist=("Right?",)))])
    with Serving(store) as app:
        app.accounts.add("ann", "annotator", PASSWORD)
        app.accounts._looked = float("-inf")
        yield app
    store.close()


def test_an_annotator_signs_in_reviews_under_their_name_and_signs_out(guarded, chromium):
    context = chromium.new_context()
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{guarded.address}/?study=s")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{guarded.address}/?study=s")
    expect(page.locator(".who")).to_have_text("ann")
    expect(page.get_by_text("Why?").first).to_be_visible()
    expect(page.get_by_role("link", name="Settings")).to_be_hidden()
    expect(page.get_by_role("link", name="Review")).to_be_visible()
    page.locator(".who").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    context.close()
    assert problems == []
