"""The agreement page as a researcher meets it."""

import csv
import io
import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import Request, urlopen

import pytest
from PIL import Image
from playwright.sync_api import expect

import app
from exchange.agreeing import agree, list_cell
from exchange.panel import Options
from exchange.report import write_report
from judge.domain import GivenVerdict, Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.ratings import Filters

pytestmark = pytest.mark.browser

WILDBENCH = find_protocol("wildbench-pairwise").version
LABELS = WILDBENCH.scale.labels
HOSTILE = "<img src=x onerror='window.ran=1'> ${window.ran=1} {{value}} \"q\" `\u202eabc"
QUICK = Options(resamples=100)


def given(n, judges=("gpt-x", "llama-y"), people=("ana", "ben", "eva")):
    found = [GivenVerdict(name, "human", LABELS[(n * 3 + (n + k) % 4 // 3) % 5]) for k, name in enumerate(people)]
    for k, name in enumerate(judges):
        for order in ("AB", "BA"):
            label = LABELS[(n * 3 + (n % (3 + k) == 0)) % 5]
            found.append(GivenVerdict(name, "judge", label, order=order, raw=f"my reasons {n}"))
    return found


def fill(store, name, hostile=""):
    store.create_study(Study(name, WILDBENCH))
    people = (hostile or "ana", "ben", "eva")
    judges = (hostile or "gpt-x", "llama-y")
    items = [
        Item(
            f"q{n}{hostile}",
            (Turn("user", f"Question {n}? {hostile}"),),
            "left " * (n % 5 + 1),
            "right",
            hostile or "m1",
            "m2",
            tags=(hostile or f"t{n % 2}",),
        )
        for n in range(30)
    ]
    store.add_prepared(name, [prepare(item, given(n, judges, people)) for n, item in enumerate(items)])


@pytest.fixture(scope="module")
def study(served):
    fill(served.store, "agreeing")
    return "agreeing"


def open_agreement(open_page, study, more="", **size):
    page = open_page(f"/agreement?study={quote(study)}&resamples=100{more}", **size)
    expect(page.locator(".agreement-head")).to_be_visible()
    return page


def test_a_cell_of_the_confusion_matrix_leads_to_its_items(open_page, served, study):
    page = open_agreement(open_page, study)
    counts = agree(served.store, study, QUICK)["judges"][0]["vs_consensus"]["confusion"]
    row, column = next((r, c) for r, line in enumerate(counts) for c, count in enumerate(line) if count and r != c)
    positions = list_cell(served.store, study, QUICK, ("consensus", "gpt-x"), (row, column))
    wanted = served.store.names_at(study, positions)
    card = page.locator("#card-confusion [data-judge='gpt-x']")
    card.locator(f".broad .cell[data-row='{row}'][data-column='{column}']").click()
    expect(card.locator(".cell-items li")).to_have_text(wanted)
    diagonal = card.locator(".broad .cell[data-row='2'][data-column='2']")
    diagonal.focus()
    page.keyboard.press("Enter")
    expect(card.locator(".cell-items li")).to_have_count(counts[2][2])
    card.locator(f".broad .cell[data-row='{row}'][data-column='{column}']").click()
    card.get_by_role("link", name=wanted[0], exact=True).click()
    expect(page.locator("#item-detail h2")).to_have_text(wanted[0])
    page.go_back()
    expect(card.locator(".cell-items li")).to_have_text(wanted)  # the cell is still pressed
    expect(card.locator(".cell-items")).to_be_in_viewport()  # and the page where it was left


def test_the_verdicts_on_an_item_with_a_long_response_stay_whole(open_page, served):
    served.store.create_study(Study("long answers", WILDBENCH))
    item = Item("q0", (Turn("user", "Question?"),), "left " * 400, "right " * 400, "m1", "m2")
    served.store.add_prepared("long answers", [prepare(item, given(0))])
    page = open_page("/studies?study=long%20answers&item=q0")
    table = page.locator("#item-detail .table")
    expect(table.locator("tbody tr")).to_have_count(7)
    assert table.evaluate("each => each.clientHeight >= each.scrollHeight")


def test_filters_change_the_numbers_to_those_of_the_command(open_page, served, study, capfdbinary):
    page = open_agreement(open_page, study)
    before = page.locator(".sentence").inner_text()
    page.get_by_text("Filters and rules").click()
    page.get_by_label("t1", exact=True).check()
    page.get_by_label("ana", exact=True).check()
    page.get_by_label("ben", exact=True).check()
    page.get_by_label("Levels").select_option("3")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Filters and rules · ")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query) == {
        "study": [study],
        "resamples": ["100"],
        "tag": ["t1"],
        "annotators": ["ana", "ben"],
        "levels": ["3"],
    }
    value = agree(served.store, study, Options("3", resamples=100, filters=Filters(("t1",), (), ("ana", "ben"))))
    assert page.locator(".sentence").inner_text() == value["sentence"] != before
    words = [
        "agreement",
        "--study",
        study,
        "--database",
        str(served.store.engine.url),
        "--resamples",
        "100",
        "--levels",
        "3",
    ]
    with pytest.raises(SystemExit):
        app.main([*words, "--tag", "t1", "--annotator", "ana", "--annotator", "ben", "--json"])
    printed = json.loads(capfdbinary.readouterr().out)
    shown = page.locator("#agreement table").filter(has_text="Ceiling").locator("tbody tr").first.locator("th, td")
    kappa = printed["judges"][0]["vs_consensus"]["kappa"]["value"]
    assert float(shown.nth(3).get_attribute("data-value")) == kappa
    page.get_by_text("Filters and rules").click()
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_text("Filters and rules · 2 set")).to_be_visible()  # the rules stay: levels, resamples
    page.get_by_text("Filters and rules").click()
    page.get_by_role("button", name="Clear all").click()
    expect(page.get_by_text("Filters and rules · ")).to_have_count(0)


def test_charts_and_files_can_be_taken_away(open_page, study):
    page = open_agreement(open_page, study, "&__theme=dark")
    made = {}
    for kind in ("SVG", "PNG", "CSV"):
        with page.expect_download() as waited:
            page.get_by_role("button", name=f"Download {kind}: ceiling").click()
        assert waited.value.suggested_filename == f"ceiling.{kind.lower()}"
        made[kind] = Path(waited.value.path()).read_bytes()
    assert made["SVG"].startswith(b"<svg")
    assert b"people with each other" in made["SVG"]
    assert made["PNG"].startswith(b"\x89PNG")
    assert len(made["CSV"].splitlines()) == 7
    ground = Image.open(io.BytesIO(made["PNG"])).convert("L").getpixel((5, 5))
    assert ground < 40  # else what is light on dark would be light on white paper
    with page.expect_download() as waited:
        page.get_by_role("button", name="Download CSV: judges").click()
    head, first, *_ = csv.reader(Path(waited.value.path()).read_text("utf-8").splitlines())
    row = dict(zip(head, first, strict=True))
    assert float(row["Kappa low"]) < float(row["Kappa"]) < float(row["Kappa high"])
    with page.expect_download() as waited:
        page.get_by_role("button", name="Download CSV: policy").click()
    assert waited.value.suggested_filename == "policy-gpt-x.csv"  # alone it must say whose it is
    with page.expect_download() as waited:
        page.get_by_role("button", name="Download SVG: confusion").click()
    matrix = Path(waited.value.path()).read_text("utf-8")
    assert "of the row" in matrix
    assert "tabindex" not in matrix  # alone, nothing in it can be pressed
    with page.expect_download() as waited:
        page.get_by_role("button", name="HTML report").click()
    assert waited.value.suggested_filename == "agreeing-agreement.html"
    assert b"Methods" in Path(waited.value.path()).read_bytes()


def test_judges_are_sorted_compared_and_picked(open_page, served, study):
    page = open_agreement(open_page, study)
    names = page.locator("#agreement table").filter(has_text="Ceiling").locator("tbody th")
    expect(names).to_have_text(["◆ gpt-x", "◆ llama-y"])
    page.get_by_role("button", name="Judge", exact=True).click()
    page.get_by_role("button", name="Judge", exact=True).click()
    expect(names).to_have_text(["◆ llama-y", "◆ gpt-x"])
    expect(page.locator(".compare [role=status]")).to_contain_text("llama-y minus gpt-x, on the same 30 items")
    page.get_by_label("Second judge").select_option("gpt-x")
    expect(page.locator(".compare [role=status]")).to_contain_text("Choose two different judges.")
    page.get_by_label("First judge").select_option("llama-y")
    page.locator("#card-confusion .broad .cell").first.click()
    expect(page.locator(".cell-items h4").first).to_be_visible()
    expect(page.get_by_label("Second judge")).to_have_value("0")  # what was chosen stays
    page.get_by_label("Judge in the cards below").select_option("llama-y")
    expect(page.locator("#card-confusion [data-judge='llama-y']")).to_be_visible()
    expect(page.locator("#card-confusion [data-judge='gpt-x']")).to_be_hidden()
    page.reload()
    expect(page.locator("#card-confusion [data-judge='llama-y']")).to_be_visible()


def test_a_table_that_goes_on_below_shows_a_shade_until_its_end(open_page, study):
    page = open_agreement(open_page, study)
    table = page.locator("#card-policy .table:visible")

    def shade():
        shot = Image.open(io.BytesIO(table.screenshot())).convert("L")
        # The lightest of a line is the ground, whatever is written on it; the last line may be half outside.
        above, below = (max(shot.getpixel((x, y)) for x in range(shot.width)) for y in (5, shot.height - 3))
        return below < above - 20

    assert shade()
    table.evaluate("each => each.scrollTo(0, each.scrollHeight)")
    assert not shade()


def test_a_cause_is_picked_and_counted_by_tag(open_page, served, study):
    page = open_agreement(open_page, study)
    page.get_by_role("link", name="Disagreements").click()
    first = page.locator(".differ").first
    expect(first).to_contain_text("my reasons")
    first.get_by_role("button", name="Truly ambiguous").click()
    expect(first.locator(".told")).to_contain_text("write your name above first")
    page.get_by_label("Your name").fill("rita")
    first.get_by_role("button", name="Truly ambiguous").click()
    expect(first.locator(".told")).to_have_text("Kept, as rita.")
    expect(page.locator("#causes-counted tbody tr")).to_have_count(2)
    item = first.get_attribute("data-item")
    assert [each.kind for each in served.store.item_detail(study, item).remarks] == ["truly ambiguous"]
    first.get_by_role("link").click()
    expect(page.locator("#item-detail")).to_contain_text("truly ambiguous")


def test_no_name_of_a_rater_model_or_tag_runs(open_page, served):
    fill(served.store, "hostile names", HOSTILE)
    page = open_agreement(open_page, "hostile names")
    card = page.locator("#card-confusion [data-judge]").first
    card.locator(".broad .cell[data-row='0'][data-column='0']").click()
    expect(card.locator(".cell-items li").first).to_contain_text("<img src=x")
    page.get_by_text("Filters and rules").click()
    page.get_by_role("link", name="Disagreements").click()
    expect(page.locator(".differ").first).to_contain_text("<img src=x")
    page.get_by_label("Your name").fill(HOSTILE)
    page.locator(".differ").first.get_by_role("button", name="The judge is wrong").click()
    expect(page.locator("#causes-counted tbody tr")).to_have_count(2)
    assert page.evaluate("window.ran") is None


def test_programs_ask_for_the_same_json(served, study):
    def ask(name):
        body = json.dumps({"data": [name]}).encode()
        sent = Request(f"{served.address}/gradio_api/run/agreement", body, {"Content-Type": "application/json"})
        with urlopen(sent) as answer:
            return json.load(answer)["data"][0]

    assert ask(study) == agree(served.store, study)
    with pytest.raises(HTTPError) as refused:
        ask("nonesuch")
    assert "nonesuch" in json.load(refused.value)["error"]


SIDEWAYS = """() => [...document.querySelectorAll("#agreement *")].filter((each) =>
  each.clientWidth && each.scrollWidth > each.clientWidth + 1
  && ["auto", "scroll"].includes(getComputedStyle(each).overflowX)).map((each) => each.outerHTML.slice(0, 200))"""


OUTSIDE = """() => [...document.querySelectorAll("#agreement *")].filter((each) => {
  const { width, right } = each.getBoundingClientRect();
  return width > 1 && right > window.innerWidth + 1 && !each.closest("svg, .unseen");
}).map((each) => each.outerHTML.slice(0, 200))"""


def test_on_a_phone_long_names_stay_on_the_screen(open_page, served):
    fill(served.store, "long names on a phone", "annotator.whose.name@has.no.place.to.break" * 2)
    page = open_agreement(open_page, "long names on a phone", width=390, height=844)
    assert page.evaluate(OUTSIDE) == []
    page.get_by_role("link", name="Disagreements").click()
    expect(page.locator(".differ").first).to_be_visible()
    assert page.evaluate(OUTSIDE) == []


def test_on_a_phone_nothing_is_wider_than_the_screen_and_nothing_scrolls_sideways(open_page, study):
    page = open_agreement(open_page, study, width=390, height=844)
    for folded in page.locator("#agreement details:not([open]) > summary").all():
        if folded.is_visible():
            folded.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(SIDEWAYS) == []
    mark, name = (page.locator(f"[aria-label=Judges] tbody th {one}").first.bounding_box() for one in (".sign", "bdi"))
    assert name["x"] - mark["x"] - mark["width"] < 12  # the mark stands before the name it is of
    chart = page.locator("#agreement svg.chart:visible").first
    assert chart.bounding_box()["width"] > 300  # drawn for this width, not shrunk until nobody can read it


def test_the_printed_report_is_dark_on_white_and_no_wider_than_its_paper(open_page, served, study):
    page = open_page("/agreement", width=680, height=960)  # an A4 sheet less its margins
    fill(served.store, "long names", "annotator_whose.name@has-no-place-to-break" * 2)
    page.set_content(write_report(agree(served.store, "long names", QUICK)))
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    wide = "[...document.querySelectorAll('table, svg')].filter((e) => e.getBoundingClientRect().right > 681).length"
    assert page.evaluate(wide) == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_new_numbers_of_a_large_study_are_made_behind_those_shown_and_never_jump(open_page, served, monkeypatch):
    monkeypatch.setattr("exchange.kept_answers.LONG", 0.0)
    fill(served.store, "growing")
    page = open_agreement(open_page, "growing")
    sentence = page.locator(".sentence").inner_text()
    item = Item("new", (Turn("user", "New?"),), "left", "right", "m1", "m2")
    served.store.add_prepared("growing", [prepare(item, given(3))])
    page.reload()
    show = page.get_by_role("button", name="Show the new numbers")
    expect(show).to_be_visible()
    assert page.locator(".sentence").inner_text() == sentence
    show.click()
    expect(page.locator(".sentence")).not_to_have_text(sentence)
    expect(page.get_by_role("button", name="Refresh")).to_be_visible()
