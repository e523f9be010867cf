"""Every page under axe-core, the rules of WCAG 2.1 A and AA: light, dark and on a phone."""

from importlib.resources import files

import pytest
from playwright.sync_api import expect

from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare

pytestmark = pytest.mark.browser
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
LOOKS = {"light": (1440, 900), "dark": (1440, 900), "phone": (390, 844)}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
PATHS = ["/", "/judges", "/agreement", "/playground", "/settings"]


@pytest.fixture(scope="module")
def study(served):
    item = Item(
        "q1",
        (Turn("user", "Hello"), Turn("assistant", "Hi."), Turn("user", "Which?")),
        "# One\n\n- `code`\n- **bold**\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "Two $x^2$ and [a link](https://example.org)",
        checklist=("Is it right?",),
    )
    served.store.create_study(Study("axe", find_protocol("wildbench-pairwise").version, guidelines="Be kind."))
    served.store.add_prepared("axe", [prepare(item)])
    return "axe"


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("path", PATHS)
def test_no_page_has_a_serious_barrier(open_page, study, path, look):
    width, height = LOOKS[look]
    theme = "dark" if look == "dark" else "light"
    page = open_page(f"{path}?study={study}&annotator=ana&__theme={theme}", width=width, height=height)
    page.wait_for_load_state("networkidle")
    if path == "/":
        expect(page.locator("#review")).to_have_attribute("data-state", "open")
        page.keyboard.press("p")
        expect(page.locator(".prompt-pane pre")).to_be_visible()
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, rules)", RULES)
    serious = [
        f"{fault['id']}: {fault['help']}: {[node['html'][:160] for node in fault['nodes'][:4]]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert len(found["passes"]) > 10  # the rules did run
    assert serious == []
