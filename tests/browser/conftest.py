"""A real Chromium, a real server, and pages that fail on any error or any request to another host."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from install import find_chromium
from playwright.sync_api import expect, sync_playwright
from serving import Serving
from steps import PATIENCE

from exchange.background import Runs
from exchange.endpoints import Endpoints
from storage.store import Store

# Chromium must stay as silent as the pages: no look for updates, no sync.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass(frozen=True)
class Served:
    """A running app: where it is, and the store behind it."""

    address: str
    store: Store
    endpoints: Endpoints
    runs: Runs


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """Return one app for all browser tests; each makes studies of its own in it."""
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('browser') / 'accord.db'}")
    with Serving(store) as app:
        yield Served(app.address, store, app.endpoints, app.runs)
    store.close()


@pytest.fixture(scope="session")
def chromium(served):
    """Return a browser, after the server: Playwright's event loop bars any other."""
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium: run `python tests/browser/install.py` and see what it says")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def visitor(chromium):
    """Return a visitor's browser, with what it keeps: its cache, its clipboard, its local storage."""
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def open_page(visitor, served):
    """Return a function that opens a page; at the end, whatever went wrong on one fails the test."""
    # A page that is left while an answer is on its way says so; that is no fault of the page.
    pages, problems, forgiven = [], [], ["AbortError: signal is aborted without reason"]

    def open_one(path="/", width=1440, height=900, context=visitor):
        page = context.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("console", lambda line: line.type == "error" and problems.append(f"console: {line.text}"))
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: is_foreign(request.url) and problems.append(f"request: {request.url}"))
        page.goto(served.address + path)
        page.locator(".masthead nav a").first.wait_for()
        return page

    def is_foreign(url):
        return urlsplit(url).scheme not in ("data", "blob") and not url.startswith(f"{served.address}/")

    open_one.forgiven = forgiven  # what a test provokes on purpose
    yield open_one
    visitor.unroute_all()
    for page in pages:
        if not page.is_closed():
            page.evaluate("localStorage.clear()")  # the next test's visitor is somebody else
            page.close()
    assert [problem for problem in problems if not any(text in problem for text in forgiven)] == []


@pytest.fixture
def open_playground(open_page):
    """Return a function that opens the playground, with what its address asks for: `?study=…`, `#p=…`."""

    def opened(asked="", **size):
        page = open_page(f"/playground{asked}", **size)
        page.locator("#present").wait_for(state="attached")  # with it come the page's keys
        return page

    return opened
