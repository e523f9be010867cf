"""How Review looks where words alone would not tell: colours, places, what is in sight, and what is on paper."""

import re

import pytest
from playwright.sync_api import expect

from exchange.examples import EXAMPLES, load_examples
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare

pytestmark = pytest.mark.browser
STUDY = EXAMPLES[0].name
PROMPT = "**/gradio_api/run/review_prompt"
TOUR = [
    (".panes", "Two responses, side by side"),
    (".bar", "Say which is better"),
    (".actions [data-do=prompt]", "See what a judge is asked"),
    (".status", "Then see how far you agree"),
]
COLOUR = "element => getComputedStyle(element).%s"


@pytest.fixture
def review(open_page, served, request):
    """Return a function that opens an example study for somebody who has not been there, past the tour or in it."""
    load_examples(served.store)

    def opened(*, toured=True, theme="light", **size):
        page = open_page(f"/?study={STUDY}&annotator={request.node.name}&__theme={theme}", **size)
        expect(page.get_by_role("dialog")).to_contain_text("Step 1 of 4")
        if toured:
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_be_hidden()
        return page

    return opened


def token(page, name):
    """Return a colour of the design as the browser writes it."""
    return page.evaluate(
        """name => {
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = `var(${name})`;
            const colour = getComputedStyle(probe).color;
            probe.remove();
            return colour;
        }""",
        name,
    )


def test_each_of_the_four_steps_points_at_what_it_speaks_of(review):
    page = review(toured=False)
    for place, title in TOUR:
        expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text(title)
        expect(page.locator(".pointed")).to_have_count(1)
        expect(page.locator(f"{place}.pointed")).to_be_visible()
        page.keyboard.press("Enter")
    expect(page.locator(".pointed")).to_have_count(0)


def test_the_header_says_where_one_is_which_study_and_who_one_is(review, request):
    page = review()
    assert page.title() == "Review · Accord"
    expect(page.locator(".masthead .brand")).to_have_text("Accord")
    expect(page.locator(".masthead select")).to_have_value(STUDY)
    expect(page.locator(".masthead [aria-current=page]")).to_have_text("Review")
    expect(page.locator(".masthead .who")).to_have_text(request.node.name)
    links = page.locator(".masthead nav a:visible")
    assert links.all_inner_texts() == ["Review", "Judges", "Agreement", "Studies", "Playground", "Settings"]
    assert all("study=Example" in link.get_attribute("href") for link in links.all())
    tops = {round(link.bounding_box()["y"]) for link in links.all()}
    assert len(tops) == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_prompt_is_coloured_by_field_and_its_head_tells_length_and_hash(review, theme):
    page = review(theme=theme)
    page.keyboard.press("p")
    pane = page.locator(".prompt-pane")
    expect(pane.locator(".message-head")).to_contain_text(
        re.compile(r"Prompt\s*[\d,]+ characters · sha256 [0-9a-f]{12}")
    )
    first = find_protocol("wildbench-pairwise").template.splitlines()[0]
    assert pane.locator("pre").inner_text().startswith(first)
    assert pane.locator(".template").first.evaluate(COLOUR % "color") == token(page, "--muted")
    for side in ("a", "b"):
        field = pane.locator(f"pre .field.side-{side}").first
        assert field.evaluate(COLOUR % "backgroundColor") == token(page, f"--side-{side}-tint")
        assert field.get_attribute("data-field") == f"candidate_{side.upper()}"
    assert pane.locator("pre .field").first.evaluate(COLOUR % "backgroundColor") == token(page, "--other-tint")


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_what_the_judges_said_is_in_sight_above_the_bar_or_below_it(review, size):
    page = review(width=size[0], height=size[1])
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    line = page.locator(".reveal-line").first
    expect(line).to_contain_text("simulated-judge")
    expect(line).to_be_in_viewport(ratio=1)
    place, bar = line.bounding_box(), page.locator(".bar").bounding_box()
    assert place["y"] >= bar["y"] + bar["height"] or place["y"] + place["height"] <= bar["y"]
    page.keyboard.press("Enter")
    expect(page.locator("#review")).to_have_attribute("data-state", "open")
    expect(page.locator(".question")).to_be_in_viewport()


def test_on_paper_a_dark_page_is_white_and_has_nothing_to_press(review):
    page = review(theme="dark")
    page.emulate_media(media="print")
    for gone in (".masthead nav", ".actions", ".tools", ".pane-head .views"):
        expect(page.locator(gone).first).to_be_hidden()
    expect(page.locator(".labels")).to_be_visible()
    assert page.locator(".bar").evaluate(COLOUR % "position") == "static"
    assert page.locator(".pane > .text").first.evaluate(COLOUR % "overflow") == "visible"
    assert page.locator("body").evaluate(COLOUR % "backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    expect(page.locator("body")).to_have_class(re.compile(r"\bdark\b"))


def test_a_line_says_that_the_server_is_at_work_until_it_has_answered(review, visitor):
    page, held = review(), []

    def hold(route):
        held.append(route)

    visitor.route(PROMPT, hold)
    page.keyboard.press("p")
    while not held:
        page.wait_for_timeout(20)  # until the page has asked: other answers may be late, too
    expect(page.locator("#at-work")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Working …")).to_have_count(1)
    held[0].continue_()
    expect(page.locator("#at-work")).to_be_hidden()


def test_a_blank_response_says_so_and_its_raw_text_is_every_character_of_it(open_page, served):
    served.store.create_study(Study("blank", find_protocol("wildbench-pairwise").version))
    served.store.add_prepared("blank", [prepare(Item("q", (Turn("user", "?"),), " \n\t", ""))])
    page = open_page("/?study=blank&annotator=ana")
    page.keyboard.press("Escape")
    expect(page.locator(".pane .text").filter(has_text="nothing but white space")).to_have_count(1)
    expect(page.locator(".pane .text").filter(has_text="This response is empty.")).to_have_count(1)
    page.keyboard.press("r")
    expect(page.locator(".pane pre.raw")).to_have_count(1)
    assert page.locator(".pane pre.raw").evaluate("element => element.textContent") == " \n\t"
