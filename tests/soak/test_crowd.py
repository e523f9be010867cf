"""A crowd at the real server, with an import and a judge's run meanwhile: no error, no duplicate, nobody waits long."""

from __future__ import annotations

import json
import statistics
import time

import pytest
from annotating import Crowd, check_kept, make_items, make_study
from openai_server import served_apart
from processes import Server, command
from size import FULL

from exchange.interchange import Record, record_to_json
from storage.store import Store

PEOPLE, SECONDS, THINK, ALONE, ALONE_THINK = (50, 600, 3.0, 40, 0.3) if FULL else (4, 2, 0.1, 0, 0.02)
ITEMS, IMPORTED, JUDGED, JUDGE_DELAY = (6000, 20_000, 4500, 1.0) if FULL else (60, 150, 20, 0.01)
WANTED = 3
REPLY = json.dumps({"reason": "Clearer.", "choice": "A+"})
STEADY = 1.25  # times the memory of the third minute is still flat
LONGEST_WAIT = 5  # times what a single person waits


@pytest.mark.one_database
def test_a_crowd_an_import_and_a_judge_get_on_with_each_other(database, tmp_path):
    store = Store.open(database)
    make_study(store, ITEMS, PEOPLE, wanted=WANTED)
    file = _file(tmp_path)
    with Server(database, tmp_path) as server:
        with Crowd([server.address], 1, ALONE_THINK) as alone:
            alone.go_on(5)
            time.sleep(ALONE)
        begun, computed = time.monotonic(), server.seconds()
        with served_apart(JUDGE_DELAY, REPLY) as url, Crowd([server.address], PEOPLE, THINK) as crowd:
            crowd.people[0].acknowledged |= alone.people[0].acknowledged
            judge = command(database, "judge", "--study", "s", "--model", "m", "--base-url", url, "--limit", JUDGED)
            time.sleep(SECONDS / 5)
            reading = command(database, "import", file, "--study", "s")
            memory = _watched(server, begun)
            for process in (reading, judge):
                _, problems = process.communicate(timeout=1200)
                assert process.returncode == 0, problems
            crowd.wait_for(lambda: len(crowd.waits) > 2 * PEOPLE)
        computed = server.seconds() - computed
        assert server.said.read_text() == ""  # not a word of trouble
    waited = _tell(database, alone, crowd, computed)
    assert crowd.troubles == {}
    check_kept(store, crowd, WANTED)
    assert store.study("s").items == ITEMS + IMPORTED
    per_judge = [len([each for each in given if each.rater == "m"]) for _, given in store.records("s")]
    assert sum(per_judge) == 2 * JUDGED
    assert set(per_judge) == {0, 2}
    store.close()
    for each in (alone, crowd):
        each.close()
    if FULL:
        growth = _growth(memory)
        print(f"  memory from the third minute to the last: {growth:.2f} times, {memory[-1][1]:.0f} MB at the end")
        assert growth < STEADY
        assert waited <= LONGEST_WAIT


def _file(folder):
    lines = [record_to_json(Record(item)) for item in make_items(IMPORTED, first=ITEMS)]
    (folder / "more.jsonl").write_text("\n".join(lines))
    return folder / "more.jsonl"


def _watched(server, begun):
    """Wait until the time is over; return how many megabytes the server held at which second."""
    memory = []
    while (now := time.monotonic() - begun) < SECONDS:
        memory.append((now, server.megabytes()))
        time.sleep(SECONDS / 120)
    return memory


def _growth(memory):
    """Return how many times the memory of the third minute of ten is held in the last."""
    third = [held for second, held in memory if 0.2 <= second / SECONDS < 0.3]
    last = [held for second, held in memory if second / SECONDS >= 0.9]
    return statistics.mean(last) / statistics.mean(third)


def _tell(database, alone, crowd, computed):
    """Print what was measured; return how many times as long as a single person 95 of 100 submits waited at most."""
    one, many = statistics.median(alone.waits), statistics.quantiles(crowd.waits, n=100)
    rows = [
        ("single person, median", f"{one * 1000:.0f} ms", f"{len(alone.waits)} submits"),
        ("crowd, median", f"{many[49] * 1000:.0f} ms", f"{many[49] / one:.1f} times"),
        ("crowd, p95", f"{many[94] * 1000:.0f} ms", f"{many[94] / one:.1f} times; the bar is {LONGEST_WAIT}"),
        ("crowd, p99", f"{many[98] * 1000:.0f} ms", f"{many[98] / one:.1f} times"),
        ("server computes", f"{computed / len(crowd.waits) * 1000:.0f} ms", "a submit, with all else it does"),
    ]
    print(f"\n{PEOPLE} people for {SECONDS} s on {database.partition(':')[0]}: {len(crowd.waits)} submits to next")
    for name, value, note in rows:
        print(f"  {name:<24}{value:>10}   {note}")
    return many[94] / one
