"""The judges' page as a researcher meets it: runs that outlive the page, can be stopped, and say why they failed."""

import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from openai_server import OpenAIServer, completion, error
from playwright.sync_api import expect
from steps import choose, unfold

from exchange.endpoints import EMBEDDED, Preset
from judge.domain import Item, Study, Turn
from judge.protocol import list_protocols
from storage.imports import prepare
from storage.store import Store

pytestmark = pytest.mark.browser

GOOD = completion('{"analysis of A": "Clear.", "choice": "A+"}')
HOSTILE = "<img src=x onerror='window.ran = 1'> ${window.ran = 1} {{value}} <script>window.ran = 1</script>"
SLOW = 180_000  # milliseconds: the embedded model thinks for seconds, on a busy machine for many


ROOT = Path(__file__).parents[2]


class Gate:
    """A server's behaviour: so many answers at once, and the rest when somebody opens it."""

    def __init__(self, free=0):
        self.free, self.opened = free, threading.Event()

    def __call__(self, seen):
        if seen.number >= self.free:
            self.opened.wait(60)
        return GOOD


@pytest.fixture
def server(served):
    with OpenAIServer(lambda seen: GOOD) as running:
        yield running


@pytest.fixture
def study(served, request):
    """Make a study of this test's own."""
    return make_study(served.store, request.node.name[:60])


def make_study(store, name, count=4):
    store.create_study(Study(name, list_protocols()["wildbench-pairwise"].version))
    # Texts of its own too: what the same model has said to the same prompt is not asked again.
    items = [Item(f"q{n}", (Turn("user", f"Question {n}? {name}"),), f"left {n}", f"right {n}") for n in range(count)]
    store.add_prepared(name, [prepare(item) for item in items])
    return name


@pytest.fixture
def preset(served, server, request):
    """Name the server after this test."""
    name = f"endpoint of {request.node.name[:40]}"
    served.endpoints.save_preset(Preset(name, "gpt-x", server.url, ""))
    yield name
    served.endpoints.remove_preset(name)


def open_study(open_page, study, **size):
    page = open_page(f"/judges?study={study}", **size)
    page.locator("#start").wait_for()
    return page


def state(page, judge="gpt-x"):
    return page.locator("table.runs tbody tr").filter(has_text=judge).locator(".state")


def test_a_run_goes_on_when_the_page_is_closed_and_is_found_done(open_page, served, server, study, preset):
    gate = server.behave = Gate(2)
    page = open_study(open_page, study)
    choose(page, "Judge", preset)
    expect(page.locator("#estimate")).to_contain_text("8 calls")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#progress")).to_contain_text("of 8 calls")
    expect(page.get_by_role("button", name="Stop gpt-x")).to_be_visible()
    page.close()
    gate.opened.set()
    served.runs.wait(served.runs.progress(study)[0].run)
    again = open_study(open_page, study)
    expect(state(again)).to_have_text("done")
    row = again.locator("table.runs tbody tr").first
    expect(row.locator("[data-name=ok]")).to_have_text("8")
    expect(row.locator("[data-name='Same in both orders']")).to_have_text("0 % of 4")
    expect(again.locator("#progress .run-card")).to_have_count(0)
    choose(again, "Judge", preset)
    expect(again.locator("#estimate")).to_contain_text("nothing to start")


def test_the_page_follows_a_run_to_its_end_by_itself(open_page, server, study, preset):
    page = open_study(open_page, study)
    choose(page, "Judge", preset)
    expect(page.locator("#estimate")).to_contain_text("8 calls")
    page.get_by_role("button", name="Start").click()
    expect(state(page)).to_have_text("done")
    expect(page.locator("#progress .run-card")).to_have_count(0)


def test_a_run_is_stopped_and_resumed_and_asks_nothing_twice(open_page, served, server, study, preset):
    gate = server.behave = Gate(2)
    page = open_study(open_page, study)
    choose(page, "Judge", preset)
    unfold(page, "Limits and settings")
    page.get_by_label("Calls at once").fill("2")
    page.get_by_role("button", name="Start").click()
    stop = page.get_by_role("button", name="Stop gpt-x")
    stop.focus()
    stop.press("Enter")
    expect(page.locator("#progress")).to_contain_text("calls in flight are waited for")
    gate.opened.set()
    expect(state(page)).to_contain_text("stopped")
    expect(page.locator(".why")).to_contain_text("somebody stopped it")
    asked = server.served
    assert asked < 8
    page.get_by_role("button", name="Resume: gpt-x").click()
    expect(state(page)).to_have_text("done")
    assert server.served == 8


@contextmanager
def own_server(database):
    """Serve a database in a process of its own, as a person does, and end it with Ctrl-C."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, str(ROOT / "app.py"), "serve", "--port", str(port), "--database", database]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "Accord is at" in process.stdout.readline()
        yield f"http://127.0.0.1:{port}"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (0, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_a_run_cut_off_with_its_server_is_shown_as_stopped_and_resumed(visitor, server, tmp_path):
    database = f"sqlite:///{tmp_path / 'accord.db'}"
    store = Store.open(database)
    make_study(store, "cut", 30)
    server.delay = 0.3
    with own_server(database) as address:
        page = visitor.new_page()
        page.goto(f"{address}/judges?study=cut")
        choose(page, "Judge", "Another endpoint …")
        page.get_by_label("Address").fill(server.url)
        page.get_by_label("Model", exact=True).fill("gpt-x")
        unfold(page, "Limits and settings")
        page.get_by_label("Calls at once").fill("2")
        page.get_by_role("button", name="Start").click()
        expect(page.locator("#progress")).to_contain_text("of 60 calls")
        page.close()
    kept = sum(store.list_runs("cut")[0].by_status.values())
    # What was in flight was waited for: nothing that the server answered is lost.
    assert kept == server.served < 60
    server.delay = 0
    with own_server(database) as address:
        page = visitor.new_page()
        page.goto(f"{address}/judges?study=cut")
        expect(page.locator(".why")).to_contain_text("the server was stopped")
        page.get_by_role("button", name="Resume: gpt-x").click()
        expect(state(page)).to_have_text("done")
        page.close()
    assert server.served == 60
    store.close()


def test_the_focus_stays_on_the_stop_button_while_numbers_change(open_page, server, study, preset):
    server.delay = 0.8
    page = open_study(open_page, study)
    choose(page, "Judge", preset)
    unfold(page, "Limits and settings")
    page.get_by_label("Calls at once").fill("1")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Stop gpt-x").focus()
    before = page.locator(".run-card .run-head .facts").text_content()
    expect(page.locator(".run-card .run-head .facts")).not_to_have_text(before)
    expect(page.get_by_role("button", name="Stop gpt-x")).to_be_focused()
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("stopped")


def test_a_wrong_key_stops_the_run_with_one_clear_sentence(open_page, server, study, preset):
    server.behave = lambda seen: error(401, "Incorrect API key provided: sk-planted")
    page = open_study(open_page, study)
    choose(page, "Judge", preset)
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".why")).to_contain_text("the server refuses the key (401)")
    expect(page.locator(".why")).to_have_count(1)
    expect(page.get_by_role("button", name="Resume: gpt-x")).to_be_visible()
    assert "planted" not in page.content()


def test_failures_show_their_raw_replies_and_run_nothing(open_page, served, server, study, preset):
    server.behave = lambda seen: completion(HOSTILE)
    page = open_study(open_page, study)
    choose(page, "Judge", preset)
    page.get_by_role("button", name="Start").click()
    expect(state(page)).to_contain_text("done")
    page.get_by_role("button", name="Failures of gpt-x").click()
    expect(page.locator(".failures .kinds button")).to_have_text("no label could be read 8")
    expect(page.locator(".failures .message")).to_have_count(8)
    assert page.locator(".failures pre").first.evaluate("pane => pane.textContent") == HOSTILE
    assert page.evaluate("window.ran") is None


def test_what_is_missing_in_the_form_is_said(open_page, study):
    page = open_study(open_page, study)
    choose(page, "Judge", "Another endpoint …")
    expect(page.locator("#estimate")).to_contain_text("Type the endpoint's address")
    page.get_by_label("Address").fill("localhost:8000")
    expect(page.locator("#estimate")).to_contain_text("must begin with http://")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_contain_text("must begin with http://")


def test_without_a_study_the_page_says_what_to_do(open_page, study):
    page = open_page("/judges")
    expect(page.locator("#intro")).to_contain_text("Choose the study whose judges you want to see")
    page.locator("#intro").get_by_role("link", name=study, exact=True).click()
    expect(page.locator("#start")).to_be_visible()


def test_the_first_prompt_can_be_looked_at_before_the_start(open_page, study, preset):
    page = open_study(open_page, study)
    choose(page, "Judge", preset)
    page.locator("summary").click()
    expect(page.locator("#estimate .prompt")).to_contain_text("Question 0?")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_runs_as_cards_with_targets_for_a_thumb(open_page, served, server, study, preset, theme):
    page = open_page(f"/judges?study={study}&__theme={theme}", width=390, height=844)
    page.locator("#start").wait_for()
    choose(page, "Judge", preset)
    page.get_by_role("button", name="Start").click()
    expect(state(page)).to_have_text("done")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for target in ("#start", "#orders label"):
        assert page.locator(target).first.bounding_box()["height"] >= 44


def test_the_embedded_model_really_judges_an_item(open_page, served, study):
    page = open_study(open_page, study)
    choose(page, "Judge", EMBEDDED.name)
    expect(page.locator(".note")).to_contain_text("demonstration model, unfit for studies")
    unfold(page, "Limits and settings")
    page.get_by_label("First items only").fill("1")
    page.get_by_label("A first", exact=True).click()
    expect(page.locator("#estimate")).to_contain_text("1 call")
    page.get_by_role("button", name="Start").click()
    row = page.locator("table.runs tbody tr").filter(has_text="unfit for studies")
    expect(row.locator(".state")).to_have_text("done", timeout=SLOW)
    expect(row.locator("[data-name=ok]")).to_have_text("1")
    [given] = [verdict for _, verdicts in served.store.records(study) for verdict in verdicts]
    assert given.rater == EMBEDDED.name
    assert given.label in {"A++", "A+", "A=B", "B+", "B++"}
