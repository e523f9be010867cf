"""The studies page as a researcher meets it."""

import json
from itertools import count
from urllib.parse import quote
from uuid import uuid4

import pytest
from playwright.sync_api import expect
from steps import TWO_FRAMES, unfold

from exchange.exporting import interchange_lines
from judge.domain import GivenVerdict, Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.verdicts import Submission

pytestmark = pytest.mark.browser

WILDBENCH = find_protocol("wildbench-pairwise").version
HOSTILE = "<img src=x onerror='window.ran=1'> ${window.ran=1} {{value}} \"q\" `\u202eabc"
numbers = count()


@pytest.fixture
def name():
    """Return a name that no other test's study has: they share one server."""
    return f"Study {next(numbers)}"


@pytest.fixture
def filled(served, name):
    """Return the name of a study of 60 items, with a few verdicts."""
    served.store.create_study(Study(name, WILDBENCH))
    made = [
        Item(
            f"q{n}",
            (Turn("user", f"Question {n}?"),),
            f"left {n}",
            f"right {n}",
            "gpt-x",
            "llama-y",
            tags=(f"t{n % 2}",),
        )
        for n in range(60)
    ]
    judged = GivenVerdict("gpt-4", "judge", "A+", order="AB", raw="the raw reply")
    given = {"q0": [GivenVerdict("ana", "human", "A+"), GivenVerdict("ben", "human", "B+"), judged]}
    served.store.add_prepared(name, [prepare(item, given.get(item.id, ())) for item in made])
    return name


def open_study(open_page, name, theme="light", **more):
    page = open_page(f"/studies?study={quote(name)}&__theme={theme}", **more)
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    return page


def tab(page, title):
    page.get_by_role("tab", name=title).click()


def write(path, *values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def line(name, **more):
    return {"id": name, "instruction": f"{name}?", "response_a": "x", "response_b": "y", **more}


# Where the first of an element's own words begin: its box has room above them.
TOP_OF_TEXT = """(element) => {
  const words = document.createRange();
  words.selectNode([...element.childNodes].find((each) => each.nodeType === Node.TEXT_NODE && each.data.trim()));
  return words.getBoundingClientRect().top;
}"""


def start_new(open_page, served):
    page = open_page("/studies")
    if served.store.overviews():
        unfold(page, "New study")
    else:  # then it opens by itself
        page.locator("#create").wait_for()
        page.evaluate(TWO_FRAMES)
    return page


def test_a_study_is_created_and_opened(open_page, served, name):
    page = start_new(open_page, served)
    page.locator("#create").click()
    expect(page.locator("#created [role=alert]")).to_contain_text("Nothing was made. Choose a protocol")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Protocol").click()
    page.get_by_role("option", name="Prometheus direct assessment (prometheus-direct)").click()
    page.get_by_label("Verdicts wanted per item (N)").first.fill("2")
    page.get_by_label("Reveal after the verdict").check()
    page.locator("#new-guidelines textarea").fill("Read *both*.")
    page.locator("#create").click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page).to_have_title("Studies · Accord")
    expect(page.locator("#items-found")).to_contain_text("This study has no items yet.")
    study = served.store.study(name)
    assert (study.wanted, study.blind, study.reveal, study.guidelines) == (2, True, True, "Read *both*.")
    assert study.protocol.name == "prometheus-direct"


def test_a_new_study_is_made_from_a_file_after_a_look_at_it(open_page, served, name, tmp_path):
    page = start_new(open_page, served)
    page.get_by_label("Name").fill(name)
    file = write(tmp_path / "items.jsonl", line("one", response_a="vector<int> <think>"), line("two"))
    page.locator("#new-files input[type=file]").set_input_files(file)
    expect(page.locator("#new-preview")).to_contain_text("2 items with 0 verdicts, for wildbench-pairwise.")
    expect(page.locator("#new-preview .side-a pre").first).to_have_text("vector<int> <think>")
    assert served.store.find_study(name) is None
    page.locator("#create").click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page.locator(".found li")).to_have_count(2)


def test_a_bad_file_is_explained_and_stores_nothing(open_page, served, filled, tmp_path):
    page = open_study(open_page, filled)
    tab(page, "Import")
    file = write(tmp_path / "bad.jsonl", line("new"), {"id": "x"}, line("q1", response_a="other"))
    page.locator("#more-files input[type=file]").set_input_files(file)
    told = page.locator("#more-preview [role=alert]")
    expect(told).to_contain_text("2 lines cannot be taken")
    expect(told).to_contain_text("bad.jsonl:2 response_a: is missing")
    expect(told).to_contain_text("bad.jsonl:3 id: 'q1' is in the study with other content")
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    assert served.store.study(filled).items == 60


def test_a_file_is_previewed_imported_and_the_same_again_adds_nothing(open_page, served, filled, tmp_path):
    page = open_study(open_page, filled)
    tab(page, "Import")
    file = write(tmp_path / "more.jsonl", line("new", verdicts=[{"rater": "cho", "label": "B+"}]))
    page.locator("#more-files input[type=file]").set_input_files(file)
    expect(page.locator("#more-preview")).to_contain_text("1 item with 1 verdict")
    button = page.get_by_role("button", name="Import", exact=True)
    button.click()
    expect(page.locator("#stored")).to_contain_text("added 1 item and 1 verdict")
    expect(page.locator("#studies")).to_contain_text("61 items")
    expect(button).to_be_disabled()
    page.get_by_role("button", name="Clear").first.click()
    expect(page.locator("#more-preview")).to_be_empty()
    page.locator("#more-files input[type=file]").set_input_files(file)
    expect(page.locator("#more-preview")).to_contain_text("1 item of them is in the study already")
    button.click()
    expect(page.locator("#stored")).to_contain_text("nothing was added")
    assert served.store.study(filled).items == 61


MEANINGS = {
    "nr": "id",
    "was": "question",
    "links": "response A",
    "rechts": "response B",
    "ana": "verdicts of the rater this column is named after",
}


def take_as(page, *columns):
    """Choose what columns hold."""
    for column in columns:
        page.get_by_label(f"{column} is taken as").select_option(label=MEANINGS[column])


def open_table(page, folder):
    tab(page, "Import")
    # A text of its own: files of the same content are one to gradio, which removes them with whoever is done first.
    table = f"nr,was,links,rechts,ana\nr1,warum {uuid4()}?,x <b>,y,A+\n"
    (folder / "t.csv").write_text(table, encoding="utf-8")
    page.locator("#more-files input[type=file]").set_input_files(folder / "t.csv")
    expect(page.locator("#more-preview [role=alert]")).to_contain_text("choose below what each column holds")


def test_columns_of_a_table_are_given_a_meaning(open_page, served, filled, tmp_path):
    page = open_study(open_page, filled)
    open_table(page, tmp_path)
    take_as(page, *MEANINGS)
    expect(page.locator("#more-preview [role=status]")).to_contain_text("1 item with 1 verdict")
    expect(page.locator("#more-preview .side-a pre")).to_have_text("x <b>")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#stored")).to_contain_text("added 1 item and 1 verdict")
    detail = served.store.item_detail(filled, "r1")
    assert (detail.item.response_a, detail.verdicts[0].rater, detail.verdicts[0].label) == ("x <b>", "ana", "A+")


@pytest.mark.parametrize("patient", [False, True])
def test_an_answer_that_comes_late_undoes_no_choice(open_page, served, filled, tmp_path, patient):
    page, held = open_study(open_page, filled), []

    def send(route):
        """Keep back what was asked with all choices but the last, and whatever is asked after the answer to that."""
        event = json.loads(route.request.post_data).get("event_data")
        chosen = sum(field != "" for _, field in event["fields"]) if isinstance(event, dict) else 0
        if chosen == 4 or (held == ["sent"] and chosen and not patient):
            held.append(route)
        else:
            route.continue_()

    open_table(page, tmp_path)
    page.route("**/queue/join*", send)
    *others, last = MEANINGS
    take_as(page, *others)
    while not held:
        page.wait_for_timeout(50)
    take_as(page, last)
    told = page.locator("#more-preview [role=status]")
    expect(told).to_contain_text("1 item with 1 verdict")
    late, held[:] = held[0], ["sent"]
    late.continue_()
    if patient:  # the page sees that this is not what was chosen last, and asks again
        page.wait_for_timeout(2000)
        expect(told).to_contain_text("1 item with 1 verdict")
    else:
        expect(told).to_contain_text("1 item with 0 verdicts")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#stored")).to_contain_text("added 1 item and 1 verdict")


def test_an_export_is_fetched_and_comes_back_with_equal_bytes(open_page, served, filled, name, tmp_path):
    page = open_study(open_page, filled)
    tab(page, "Export")
    fetched = {}
    for kind in ("jsonl", "csv", "parquet", "codebook", "bundle"):
        with page.expect_download() as download:
            page.locator(f"#export-{kind}").click()
        fetched[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(fetched[kind])
    assert fetched["bundle"].read_bytes()[:2] == b"PK"
    assert fetched["parquet"].read_bytes()[:4] == b"PAR1"
    assert fetched["csv"].read_text(encoding="utf-8").startswith("study,item,")
    assert fetched["codebook"].read_text(encoding="utf-8").startswith("| column |")
    assert fetched["jsonl"].read_bytes() == "".join(interchange_lines(served.store, filled)).encode()
    assert [e["format"] for e in served.store.events(filled) if e["kind"] == "export"] == [
        "jsonl",
        "csv",
        "parquet",
        "bundle",
    ]
    page = start_new(open_page, served)
    page.get_by_label("Name").fill(f"{name} again")
    page.locator("#new-files input[type=file]").set_input_files(fetched["jsonl"])
    expect(page.locator("#new-preview")).to_contain_text("60 items with 3 verdicts")
    page.locator("#create").click()
    expect(page.get_by_role("heading", name=f"{name} again")).to_be_visible()
    assert "".join(interchange_lines(served.store, f"{name} again")).encode() == fetched["jsonl"].read_bytes()


def test_items_are_searched_filtered_turned_over_and_opened(open_page, filled):
    page = open_study(open_page, filled)
    rows = page.locator(".found li")
    expect(rows).to_have_count(25)
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".pager")).to_contain_text("26 to 50 of 60")
    page.get_by_role("button", name="Next").click()
    expect(rows).to_have_count(10)
    page.get_by_role("button", name="Back").click()
    expect(page.locator(".pager")).to_contain_text("26 to 50 of 60")
    page.get_by_label("Search").fill("question 59")
    expect(rows).to_have_count(1)
    page.get_by_label("Search").fill("")
    expect(rows).to_have_count(25)
    page.get_by_label("State").click()
    page.get_by_role("option", name="People disagree").click()
    expect(rows).to_have_count(1)
    rows.first.get_by_role("button").click()
    detail = page.locator("#item-detail")
    expect(detail).to_contain_text("A · gpt-x")
    expect(detail.locator("tbody tr")).to_have_count(3)
    expect(detail.get_by_text("the raw reply")).not_to_be_visible()
    detail.get_by_text("Reply of gpt-4").click()
    expect(detail.get_by_text("the raw reply")).to_be_visible()
    assert (
        detail.get_by_text("Open in Review")
        .get_attribute("href")
        .endswith(f"/?study={filled.replace(' ', '+')}&item=q0")
    )


def test_a_study_is_closed_and_opened_and_n_and_guidelines_change(open_page, served, filled):
    page = open_study(open_page, filled)
    tab(page, "Settings")
    page.get_by_role("button", name="Close the study").click()
    expect(page.locator("#studies .state")).to_have_text("closed")
    assert served.store.study(filled).closed is not None
    page.get_by_role("button", name="Open the study again").click()
    expect(page.locator("#studies .state")).to_have_text("open")
    page.locator("#change-wanted input").fill("4")
    page.get_by_role("button", name="Change N").click()
    expect(page.locator("#settings-told")).to_contain_text("Each item now wants 4 verdicts.")
    page.locator("#change-guidelines textarea").fill("Be fair.")
    page.get_by_role("button", name="Save as new version").click()
    expect(page.locator("#settings-told")).to_contain_text("version 2")
    study = served.store.study(filled)
    assert (study.closed, study.wanted, study.guidelines) == (None, 4, "Be fair.")


def test_people_are_invited_and_followed(open_page, served, filled):
    served.store.save_verdict(served.store.claim_next(filled, "dora").token, Submission("A+", seconds=12))
    page = open_study(open_page, filled)
    tab(page, "Annotators")
    address = f"{served.address}/?study={filled.replace(' ', '+')}"
    expect(page.locator("#invite-links code")).to_have_text(address)
    page.get_by_label("Names, one a line").fill("ana\nben b")
    expect(page.locator("#invite-links code")).to_have_text([f"{address}&annotator=ana", f"{address}&annotator=ben+b"])
    page.get_by_role("button", name="Copy all links").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{address}&annotator=ana\n{address}&annotator=ben+b"
    dora = page.locator("#people tbody tr").filter(has_text="dora")
    expect(dora.locator("td")).to_have_count(7)
    expect(dora).to_contain_text("12")
    moment = dora.locator("time")
    assert moment.inner_text() == moment.evaluate(
        "time => new Date(time.dateTime).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })"
    )


def test_on_a_phone_the_label_of_the_files_stands_above_what_it_is_the_label_of(open_page, served):
    page = start_new(open_page, served)
    page.set_viewport_size({"width": 390, "height": 844})
    label = page.locator("#new-files").get_by_test_id("block-label").bounding_box()
    assert label["y"] + label["height"] <= page.locator("#new-files").get_by_test_id("upload-text").evaluate(
        TOP_OF_TEXT
    )


def test_the_plan_answers_at_once(open_page):
    page = open_page("/studies")
    unfold(page, "How many items do I need?")
    expect(page.locator("#plan-answer")).to_contain_text("323 items")
    page.get_by_label("Known to within, ± points").fill("10")
    expect(page.locator("#plan-answer")).to_contain_text("81 items")
    page.get_by_role("button", name="Plan kappa, judges and tests too").click()
    expect(page.locator("#plan-told")).to_contain_text("From what is expected")
    expect(page.locator("#plan-told tbody tr")).to_have_count(9)
    expect(page.locator("#plan-told")).to_contain_text("To pass the alternative annotator test in 80 % of such studies")
    page.set_viewport_size({"width": 390, "height": 844})
    wide = "[...document.querySelectorAll('#plan-told .table')].filter((each) => each.scrollWidth > each.clientWidth)"
    assert page.evaluate(f"{wide}.length") == 0  # on a phone nothing of it is out of sight


def test_hostile_names_run_nothing_and_show_as_text(open_page, served, tmp_path):
    name = f"{HOSTILE} {next(numbers)}"
    served.store.create_study(Study(name, WILDBENCH))
    item = Item(HOSTILE, (Turn("user", HOSTILE),), HOSTILE, HOSTILE, HOSTILE, HOSTILE, tags=(HOSTILE,))
    judged = GivenVerdict(HOSTILE, "judge", None, "refused", raw=HOSTILE)
    served.store.add_prepared(name, [prepare(item, [GivenVerdict(HOSTILE, "human", "A+", comment=HOSTILE), judged])])
    page = open_page("/studies")
    link = page.locator("#studies a").filter(has_text=name)
    expect(link).to_have_text(name)
    link.click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.locator(".found .id")).to_have_text(HOSTILE)
    page.get_by_label("Tag").click()
    page.locator("[role=listbox] [role=option]").first.click()
    expect(page.locator(".found li")).to_have_count(1)
    page.locator(".found button").click()
    expect(page.locator("#item-detail h2")).to_have_text(HOSTILE)
    assert page.locator("#item-detail .side-a pre").evaluate("pane => pane.textContent") == HOSTILE
    tab(page, "Annotators")
    expect(page.locator("#people")).to_contain_text("onerror=")
    page.get_by_label("Names, one a line").fill(HOSTILE)
    expect(page.locator("#invite-links .id")).to_have_text(HOSTILE)
    tab(page, "Import")
    quoted = HOSTILE.replace('"', '""')
    table = tmp_path / "<img src=x onerror=alert(1)> ${x}.csv"
    table.write_text(f'"{quoted}",question,answer_a,answer_b\n"{quoted}",q,"{quoted}",y\n', encoding="utf-8")
    page.locator("#more-files input[type=file]").set_input_files(table)
    expect(page.locator("#more-preview [role=status]")).to_contain_text("1 item")
    expect(page.locator("#more-preview td bdi").first).to_have_text(HOSTILE)
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x], #study script, #studies script").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_everything_in_one_column(open_page, filled, theme):
    page = open_study(open_page, filled, theme, width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator(".found button").nth(1).click()
    expect(page.locator("#item-detail h2")).to_be_in_viewport()
    assert page.locator(".pager button").first.bounding_box()["height"] >= 40
