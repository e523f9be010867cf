"""Two processes of the app over one PostgreSQL: one study, exactly N, and sessions that both know."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from serving import free_port

from exchange.accounts import Accounts
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.store import Store

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery"
ITEMS, WANTED, PEOPLE = 20, 3, 8


@pytest.fixture
def addresses(new_postgresql, tmp_path):
    database = new_postgresql()
    store = Store.open(database)
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version, wanted=WANTED))
    made = [Item(f"q{n}", (Turn("user", "?"),), "left", "right", checklist=("Right?",)) for n in range(ITEMS)]
    store.add_prepared("s", [prepare(item) for item in made])
    accounts = Accounts(store)
    for n in range(PEOPLE):
        accounts.add(f"ann{n}", "annotator", PASSWORD)
    ports = [free_port(), free_port()]
    servers = [
        subprocess.Popen(
            [sys.executable, str(ROOT / "app.py"), "serve", "--port", str(port), "--database", database],
            cwd=tmp_path,
            env={**os.environ, "ACCORD_AUTH": "on"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for port in ports
    ]
    for server in servers:
        assert server.stdout.readline().startswith("Accord is at")
    yield store, [f"http://127.0.0.1:{port}" for port in ports]
    for server in servers:
        server.send_signal(signal.SIGTERM)
    ends = [(server.communicate(timeout=60), server.returncode) for server in servers]
    store.close()
    assert ends == [(("", ""), 0)] * 2  # a request to end is obeyed, without a word


def annotate(addresses, name):
    """Sign in at one process, then turn to one and the other in turn until there is nothing left."""
    given = 0
    with httpx2.Client(timeout=120, trust_env=False) as client:
        assert client.post(f"{addresses[0]}/login", data={"name": name, "password": PASSWORD}).status_code == 303
        while True:
            first, second = addresses if given % 2 else reversed(addresses)
            sent = {"data": ["s", ""]}
            claim = client.post(f"{first}/gradio_api/run/next_item", json=sent).json()["data"][0]["claim"]
            if claim is None:
                return given
            answer = client.post(f"{second}/gradio_api/run/submit_verdict", json={"data": [claim, "A+", "", 1.0]})
            assert answer.status_code == 200, answer.text
            given += 1


def test_two_processes_share_a_study_and_every_item_gets_exactly_n(addresses):
    store, places = addresses
    with ThreadPoolExecutor(PEOPLE) as people:
        given = list(people.map(lambda n: annotate(places, f"ann{n}"), range(PEOPLE)))
    assert sum(given) == ITEMS * WANTED
    per_item = Counter(len(verdicts) for _, verdicts in store.records("s"))
    assert per_item == {WANTED: ITEMS}
    assert all(len({each.rater for each in verdicts}) == WANTED for _, verdicts in store.records("s"))
