"""Many processes at once, some of them dying: exactly N holds, and what was acknowledged is there.

`make soak` runs the same tests at full size (ACCORD_SOAK=full).
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from judge.domain import Item, Turn
from storage.imports import prepare
from storage.schema import items, verdicts
from storage.store import Store

ROOT = Path(__file__).parents[2]
FULL = os.environ.get("ACCORD_SOAK") == "full"
WORKERS, ITEMS, KILLS, ROUNDS = (50, 1000, 10, 50) if FULL else (6, 60, 2, 4)


def start(database: str, name: str, seed: int, *, abandons: bool) -> subprocess.Popen[str]:
    words = [sys.executable, str(ROOT / "tests/storage/annotator.py"), database, "s", name, str(seed)]
    return subprocess.Popen(
        [*words, "yes" if abandons else "no"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def acknowledged_in(output: str) -> dict[int, tuple[str, str | None]]:
    """Return the verdicts that a process said were saved; a line that a kill cut short says nothing."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {int(verdict): (name, label) for verdict, name, label in lines}


def stored(store: Store) -> dict[int, tuple[str, str | None]]:
    wanted = select(verdicts.c.id, items.c.name, verdicts.c.label).join(items, items.c.id == verdicts.c.item_id)
    with store.reading() as connection:
        return {row.id: (row.name, row.label) for row in connection.execute(wanted)}


def test_each_item_ends_with_exactly_the_wanted_verdicts_by_different_raters(store, database, make_study) -> None:
    make_study(ITEMS, wanted=3, claim_seconds=2)
    running = {
        name: start(database, name, 0, abandons=number % 3 == 0) for number, name in enumerate(map(str, range(WORKERS)))
    }
    told: list[str] = []
    chance = random.Random(0)
    for restart in range(1, KILLS + 1):
        time.sleep(1.5)
        name = chance.choice([name for name, process in running.items() if process.poll() is None] or ["0"])
        running[name].kill()
        told.append(running[name].communicate()[0])
        running[name] = start(database, name, restart, abandons=False)
    for process in running.values():
        output, problems = process.communicate(timeout=1800)
        told.append(output)
        assert process.returncode == 0, problems
    with store.reading() as connection:
        given = connection.execute(select(verdicts.c.item_id, verdicts.c.rater_id)).all()
        assert connection.execute(select(items.c.free).distinct()).scalars().all() == [0]
    assert Counter(Counter(row.item_id for row in given).values()) == {3: ITEMS}
    assert len(set(given)) == len(given)
    acknowledged = {verdict for output in told for verdict in acknowledged_in(output)}
    assert acknowledged <= stored(store).keys()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_what_was_acknowledged_is_there_after_every_kill(store, database, make_study) -> None:
    make_study(20_000 if FULL else 3000, wanted=1, claim_seconds=1)
    acknowledged: dict[int, tuple[str, str | None]] = {}
    chance = random.Random(1)
    for number in range(ROUNDS):
        writers = [start(database, f"{number}-{index}", number, abandons=False) for index in range(3)]
        for process in writers:
            assert process.stdout is not None
            acknowledged |= acknowledged_in(process.stdout.readline())  # it is at work
        time.sleep(chance.uniform(0, 0.5))
        for process in writers:
            process.send_signal(signal.SIGKILL)
        for process in writers:
            acknowledged |= acknowledged_in(process.communicate()[0])
        found = stored(store)
        assert {verdict: found.get(verdict) for verdict in acknowledged} == acknowledged
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(acknowledged) > ROUNDS
    with store.reading() as connection:
        done = connection.execute(select(items.c.name).where(items.c.free == 0)).scalars().all()
    with_verdict = {name for name, _ in found.values()}
    # A place without a verdict is held by a claim that will run out; a verdict always has its place.
    assert with_verdict <= set(done)


def test_annotators_are_not_kept_waiting_by_an_import(store, make_study, add_items) -> None:
    from storage.verdicts import Submission

    make_study(600, wanted=3)
    slowest: list[float] = []
    errors: list[Exception] = []
    importing = threading.Event()
    importing.set()

    def annotate(name: str) -> None:
        try:
            while importing.is_set():
                found = store.claim_next("s", name)
                began = time.perf_counter()
                store.save_verdict(found.token, Submission("A"))
                slowest.append(time.perf_counter() - began)
                time.sleep(0.02)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    people = [threading.Thread(target=annotate, args=(f"rater {number}",)) for number in range(20)]
    for person in people:
        person.start()
    for first in range(1000, 11_000 if FULL else 3000, 250):
        add_items(250, first=first)
    importing.clear()
    for person in people:
        person.join()
    assert errors == []
    assert len(slowest) > 20


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_import_lets_other_processes_in_between_its_batches(store, database, make_study) -> None:
    from storage.verdicts import Submission

    make_study(600, wanted=3)
    importing = threading.Event()
    importing.set()
    saved = []

    def annotate() -> None:
        other = Store.open(database)  # which knows nothing of the first one's lock, as another process
        while importing.is_set():
            saved.append(other.save_verdict(other.claim_next("s", "ana").token, Submission("A")))
        other.close()

    person = threading.Thread(target=annotate)
    person.start()
    while len(saved) < 3:
        time.sleep(0.01)
    batches = [
        [prepare(Item(f"n{batch}-{n}", (Turn("user", "?"),), "left", "right")) for n in range(200)]
        for batch in range(40)
    ]
    before = len(saved)
    for batch in batches:
        store.add_prepared("s", batch)
        store.give_way()
    during = len(saved) - before
    importing.clear()
    person.join()
    assert during >= 30
