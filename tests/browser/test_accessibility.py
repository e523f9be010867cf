"""Every page under axe-core, the rules of WCAG 2.1 A and AA: light, dark and on a phone."""

import pytest
from axe import list_barriers
from playwright.sync_api import expect

from judge.domain import GivenVerdict, Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare

pytestmark = pytest.mark.browser
LOOKS = {"light": ("light", 1440, 900), "dark": ("dark", 1440, 900), "phone": ("light", 390, 844)}
# What stands on each page once it has its data.
PATHS = {
    "/": "#review[data-state=open]",
    "/judges": "#start",
    "/agreement": ".agreement-head",
    "/agreement?view=disagreements": ".agreement-head",
    "/studies": "#items-found li",
    "/playground": "#prompt pre",
    "/settings": "#endpoints .endpoint",
}
# What can be pressed or filled in and begins beyond the window, apart from what is meant to be swiped into sight.
OUT_OF_SIGHT = """() => [...document.querySelectorAll("button, input, select, textarea, a[href]")]
  .filter((each) => each.checkVisibility())
  .filter((each) => !each.closest(".masthead nav, #review .panes, .actions, [role=tablist], .table"))
  .filter((each) => each.getBoundingClientRect().left >= window.innerWidth)
  .map((each) => each.outerHTML.slice(0, 160))"""

# Gradio fades from one theme to the other.
COLOURS_AT_REST = "() => Promise.allSettled(document.getAnimations().map((each) => each.finished)).then(() => null)"


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


@pytest.fixture(scope="module")
def judged(served):
    """Return a study with enough verdicts for every card of the agreement page."""
    version = find_protocol("wildbench-pairwise").version
    served.store.create_study(Study("axe judged", version))
    labels = version.scale.labels
    for n in range(20):
        item = Item(f"q{n}", (Turn("user", "Which?"),), "left " * (n % 5 + 1), "right", "m1", "m2", tags=(f"t{n % 2}",))
        people = [GivenVerdict(name, "human", labels[n * at % 5]) for at, name in enumerate(("ana", "ben"), 1)]
        judges = [
            GivenVerdict(name, "judge", labels[(n + at) % 5], order="AB", raw="Because.")
            for at, name in enumerate("jk")
        ]
        served.store.add_prepared("axe judged", [prepare(item, [*people, *judges])])
    return "axe judged"


@pytest.mark.parametrize("path", PATHS)
def test_no_page_has_a_serious_barrier_in_any_look(open_page, study, judged, path):
    shown = judged if path.startswith("/agreement") else study
    page = open_page(f"{path}{'&' if '?' in path else '?'}study={shown}&annotator=ana")
    page.locator(PATHS[path]).first.wait_for()
    if path.startswith("/agreement"):
        page.evaluate("document.querySelectorAll('#agreement details').forEach((part) => { part.open = true; })")
    if path == "/":
        page.keyboard.press("p")
        expect(page.locator(".prompt-pane pre")).to_be_visible()
    for look, (theme, width, height) in LOOKS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        expect(page.locator("body.dark")).to_have_count(int(theme == "dark"))
        page.evaluate(COLOURS_AT_REST)
        assert page.evaluate(OUT_OF_SIGHT) == [], look
        assert list_barriers(page, colours_only=look == "dark") == [], look
