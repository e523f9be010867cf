"""The first page: its document names every script and style beforehand, so that none is waited for in turn."""

import pytest

pytestmark = pytest.mark.browser
LOADED = """() => performance.getEntriesByType("resource").map((file) => new URL(file.name).pathname)"""


@pytest.mark.parametrize("path", ["/", "/judges", "/agreement", "/studies", "/playground"])
def test_every_script_was_named_before_it_was_needed_and_is_asked_for_once(chromium, served, path):
    context = chromium.new_context()
    page = context.new_page()
    document = page.goto(served.address + path).text()
    page.locator(".masthead nav a").first.wait_for()
    files = [name for name in page.evaluate(LOADED) if name.startswith("/assets/") or name == "/theme.css"]
    context.close()
    assert len(files) > 20
    assert sorted(files) == sorted(set(files))
    assert [name for name in files if f'href=".{name}' not in document] == []
