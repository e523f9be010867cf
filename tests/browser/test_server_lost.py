"""A server that dies, or cannot store anything, in the middle of an annotator's work, and comes back."""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from disks import read_only
from playwright.sync_api import expect

from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.store import Store

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
ITEMS = 5


class Server:
    """`python app.py serve` as a process of its own, which can be killed and started again on the same port."""

    def __init__(self, database):
        self.database = database
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = None

    def start(self):
        words = [sys.executable, str(ROOT / "app.py"), "serve", "--port", str(self.port), "--database", self.database]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert "Accord is at" in self.process.stdout.readline()

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    database = f"sqlite:///{tmp_path_factory.mktemp('lost') / 'accord.db'}"
    store = Store.open(database)
    store.create_study(replace(Study("s", find_protocol("wildbench-pairwise").version), wanted=2))
    items = [Item(f"q{n}", (Turn("user", f"Question {n}?"),), "one", "two", checklist=("x",)) for n in range(ITEMS)]
    store.add_prepared("s", [prepare(item) for item in items])
    store.close()
    running = Server(database)
    running.start()
    yield running
    running.kill()


def stored(server):
    """Return how many verdicts each item has."""
    store = Store.open(server.database)
    kept = {json.loads(body)["id"]: len(given) for body, given in store.records("s")}
    store.close()
    return kept


def test_a_killed_server_loses_no_verdict_and_the_work_goes_on(visitor, server):
    page = visitor.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/?study=s&annotator=ana")
    text = page.locator(".question-text")
    for number in range(ITEMS):
        expect(text).to_contain_text("Question")
        question = text.inner_text()
        page.keyboard.press("1")
        if number == 2:
            server.kill()
            page.keyboard.press("Enter")
            expect(page.locator(".banner")).to_contain_text("Your verdict is kept in this browser")
            page.keyboard.press("Enter")  # Next is blocked while a verdict waits
            assert text.inner_text() == question
            server.start()
        else:
            page.keyboard.press("Enter")
        if number < ITEMS - 1:
            expect(text).not_to_have_text(question, timeout=30000)
    expect(page.locator(".gate")).to_contain_text("Thank you")
    page.close()
    assert stored(server) == {f"q{n}": 1 for n in range(ITEMS)}


@pytest.mark.skipif(sys.platform != "linux", reason="files are barred as on Linux")
def test_a_verdict_that_cannot_be_stored_waits_and_the_page_says_why(visitor, server):
    page = visitor.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/?study=s&annotator=ben")
    text, banner = page.locator(".question-text"), page.locator(".banner")
    expect(text).to_contain_text("Question")
    question, before = text.inner_text(), stored(server)
    page.keyboard.press("1")
    file = Path(server.database.removeprefix("sqlite:///"))
    with read_only(file, file.with_name(f"{file.name}-wal")):
        page.keyboard.press("Enter")
        expect(banner).to_contain_text("The database can only be read: nothing can be stored until")
        expect(banner).to_contain_text("Your verdict is kept in this browser")
        assert (text.inner_text(), stored(server)) == (question, before)
    expect(text).not_to_have_text(question, timeout=30000)
    expect(banner).to_be_hidden()
    page.close()
    assert sum(stored(server).values()) == sum(before.values()) + 1
