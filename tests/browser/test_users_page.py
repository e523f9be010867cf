"""The users' page with a browser: an admin invites, changes and shuts out; nobody else sees that it is there."""

import itertools

import pytest
from axe import list_barriers
from playwright.sync_api import expect
from serving import Serving
from steps import PATIENCE

from storage.store import Store

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture
def guarded(tmp_path):
    store = Store.open(f"sqlite:///{tmp_path / 'accord.db'}")
    with Serving(store) as app:
        for name, role in (("ada", "admin"), ("lea", "lead")):
            app.accounts.add(name, role, PASSWORD)
        app.accounts._looked = float("-inf")
        yield app
    store.close()


@pytest.fixture
def enter(guarded, chromium):
    """Return a function that opens a page in a browser of its own, signed in; whatever goes wrong fails the test."""
    contexts, problems = [], []

    def open_as(name, path, size=(1440, 900), scheme="light"):
        width, height = size
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        if name:
            page.request.post(f"{guarded.address}/login", form={"name": name, "password": PASSWORD})
        page.goto(guarded.address + path)
        return page

    yield open_as
    for context in contexts:
        context.close()
    assert problems == []


def row(page, name):
    return page.locator("#accounts tbody tr").filter(has=page.get_by_role("cell", name=name))


def test_somebody_is_invited_by_a_link_that_works_once(enter, guarded):
    page = enter("ada", "/users")
    expect(row(page, "ada")).to_contain_text("(you)")
    page.get_by_label("Invite somebody: name").fill("ivy")
    page.get_by_role("button", name="Make an invitation").click()
    expect(page.locator("#users-told")).to_contain_text("It works once, for 7 days")
    page.get_by_role("button", name="Copy the link: ivy").click()
    expect(page.get_by_role("button", name="Copy the link: ivy")).to_have_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{guarded.address}/invite/")
    expect(row(page, "ivy")).to_contain_text("no password yet")
    expect(row(page, "ivy")).to_contain_text("open until")
    page.reload()
    expect(row(page, "ivy")).to_be_visible()
    assert link.rpartition("/")[2] not in page.content()
    ivy = enter(None, link.removeprefix(guarded.address))
    ivy.get_by_label("Password").fill(PASSWORD)
    ivy.get_by_role("button", name="Begin").click()
    expect(ivy.locator(".who")).to_have_text("ivy")
    expect(ivy.get_by_role("link", name="Users")).to_have_count(0)
    page.reload()
    expect(row(page, "ivy")).to_contain_text("used")
    page.get_by_role("button", name="Sign out everywhere: ivy").click()
    expect(page.locator("#users-told")).to_have_text("1 session of ivy ended; they may sign in again.")
    ivy.reload()
    expect(ivy.get_by_role("button", name="Sign in")).to_be_visible()


def test_roles_change_by_a_button_links_are_taken_back_and_accounts_shut(enter, guarded):
    page = enter("ada", "/users")
    change = page.get_by_role("button", name="Change the role: lea")
    expect(row(page, "lea")).to_be_visible()
    expect(change).to_be_hidden()
    page.get_by_label("Role of lea").select_option("annotator")
    assert guarded.accounts.find("lea").role == "lead"  # until the button is pressed
    change.click()
    expect(page.locator("#users-told")).to_contain_text("Lea is now annotator")
    assert guarded.accounts.find("lea").role == "annotator"
    page.get_by_role("button", name="New password link: lea").click()
    expect(row(page, "lea")).to_contain_text("open until")
    page.get_by_role("button", name="Take the link back: lea").click()
    expect(page.locator("#users-told")).to_have_text("The link for lea works no more.")
    page.get_by_role("button", name="Disable: lea").click()
    expect(row(page, "lea")).to_contain_text("disabled")
    assert guarded.accounts.find("lea") is None
    page.get_by_role("button", name="Enable: lea").click()
    expect(row(page, "lea")).to_contain_text("active")
    page.get_by_role("button", name="Disable: ada").click()
    expect(page.get_by_role("alert")).to_contain_text("last admin")
    assert guarded.accounts.find("ada") is not None


def test_the_trail_tells_who_did_what_in_pages(enter, guarded):
    for number in range(60):
        guarded.store.record_event("export", None, format=f"f{number}", by="lea <b>")
    page = enter("ada", "/users")
    page.get_by_role("tab", name="Trail").click()
    rows = page.locator("#trail tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.nth(0)).to_contain_text("signed in")
    expect(rows.nth(1)).to_contain_text("lea <b>")
    expect(rows.nth(1)).to_contain_text("exported f59")
    page.get_by_role("button", name="Older").click()
    expect(rows.last).to_contain_text("added the account ada as admin")
    page.get_by_role("button", name="Newer").click()
    expect(rows.nth(0)).to_contain_text("signed in")
    page.get_by_label("Who").fill("lea <b>")
    expect(rows.nth(0)).to_contain_text("exported f59")
    page.get_by_label("What").click()
    page.get_by_role("option", name="Accounts", exact=True).click()
    expect(page.locator("#trail")).to_contain_text("Nothing of the kind")
    page.get_by_label("Who").fill("")
    expect(rows).to_have_count(2)
    assert list_barriers(page) == []


def test_only_an_admin_sees_that_the_page_is_there(enter, guarded):
    lead = enter("lea", "/studies")
    expect(lead.get_by_role("link", name="Settings")).to_be_visible()
    expect(lead.get_by_role("link", name="Users")).to_have_count(0)
    assert lead.request.get(f"{guarded.address}/users").status == 403
    admin = enter("ada", "/studies")
    admin.get_by_role("link", name="Users").click()
    expect(row(admin, "lea")).to_be_visible()


def test_without_accounts_the_page_is_in_no_menu_and_says_how_to_begin(open_page):
    page = open_page("/users")
    expect(page.locator("#accounts")).to_contain_text("users add NAME --role admin")
    expect(page.get_by_role("link", name="Settings")).to_be_visible()
    expect(page.get_by_role("link", name="Users")).to_be_hidden()
    page.get_by_label("Invite somebody: name").fill("eve")
    page.get_by_role("button", name="Make an invitation").click()
    expect(page.get_by_role("alert")).to_contain_text("Nobody signs in here")


def test_the_page_has_no_serious_barrier_in_any_look(enter, guarded):
    guarded.accounts.add("ivy", "annotator")
    guarded.accounts.add("Nobody <img src=x onerror=alert(1)>", "annotator", PASSWORD)
    guarded.accounts.disable("Nobody <img src=x onerror=alert(1)>")
    for scheme, size in itertools.product(("light", "dark"), ((1440, 900), (390, 844))):
        page = enter("ada", f"/users?__theme={scheme}", size, scheme)
        expect(row(page, "Nobody")).to_contain_text("<img src=x onerror=alert(1)>")
        page.get_by_role("button", name="New link: ivy").click()
        expect(row(page, "ivy")).to_contain_text("open until")
        assert list_barriers(page, colours_only=scheme == "dark") == [], (scheme, size)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (scheme, size)
