"""What storing costs: an import beside a bare loop, and a claim with its verdict at growing sizes.

python -m benchmarks.storing
"""

from __future__ import annotations

import json
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sqlalchemy import insert, select, update

from exchange.importing import ImportRequest, import_files
from judge.domain import Claim, Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.schema import items, raters, verdicts
from storage.store import Store
from storage.verdicts import Submission

PAIRS = 100_000
PEOPLE = 20
PROTOCOL = find_protocol("wildbench-pairwise")


def seconds(work: Callable[[], object]) -> float:
    """Return how long one run of some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def write_pairs(path: Path, count: int) -> None:
    """Write pairs of about 3 kB."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            item = {
                "id": f"q{number}",
                "conversation": [{"role": "user", "content": f"Question {number}? " * 10}],
                "response_a": f"The left answer, {number}. " * 55,
                "response_b": f"The right answer, {number}. " * 55,
                "model_a": "m1",
                "model_b": "m2",
            }
            file.write(json.dumps(item) + "\n")


def import_plainly(path: Path, database: Path) -> None:
    """Load each line and insert the rows, and nothing else."""
    with closing(sqlite3.connect(database)) as connection, path.open(encoding="utf-8") as file:
        connection.execute(
            "CREATE TABLE item (id TEXT PRIMARY KEY, conversation TEXT, a TEXT, b TEXT, ma TEXT, mb TEXT)"
        )
        rows = (
            (v["id"], json.dumps(v["conversation"]), v["response_a"], v["response_b"], v["model_a"], v["model_b"])
            for v in map(json.loads, file)
        )
        connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.commit()


def bench_import(folder: Path) -> None:
    """Print what an import costs beside the bare loop, and how much memory it needed."""
    path = folder / "pairs.jsonl"
    write_pairs(path, PAIRS)
    plain = seconds(lambda: import_plainly(path, folder / "plain.db"))
    store = Store.open(f"sqlite:///{folder}/accord.db")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours = seconds(lambda: import_files(store, ImportRequest([str(path)], "s", PROTOCOL), lambda _: None))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"import of {PAIRS} pairs of 3 kB   {ours / plain:.1f}× json.loads + executemany, {grown:.0f} MB more memory")
    store.close()


def fill_study(store: Store, count: int, given: int) -> None:
    """Make a study of this many items, each with this many verdicts by others and places left."""
    store.create_study(Study("s", PROTOCOL.version, wanted=given + 3))
    for first in range(0, count, 1000):
        numbers = range(first, min(first + 1000, count))
        made = [Item(f"q{n}", (Turn("user", "Why?"),), "left " * 300, "right " * 300) for n in numbers]
        store.add_prepared("s", [prepare(item) for item in made])
    with store.writing() as connection:
        connection.execute(insert(raters), [{"kind": "human", "name": f"other {n}"} for n in range(given)])
        others = connection.execute(select(raters.c.id)).scalars().all()
        ids = connection.execute(select(items.c.id)).scalars().all()
        now = store.clock()
        usual = {"study_id": 1, "status": "ok", "label": "A+", "repeat": False, "after_reveal": False, "stored": now}
        for rater in others:
            connection.execute(insert(verdicts), [{**usual, "item_id": item, "rater_id": rater} for item in ids])
        connection.execute(update(items).values(free=items.c.free - given))


def one_step(store: Store, rater: str) -> None:
    """Claim the next item and answer it."""
    match store.claim_next("s", rater):
        case Claim(token=token):
            store.save_verdict(token, Submission("A+"))
        case nothing:
            raise RuntimeError(nothing.why)


def bench_growth(folder: Path) -> None:
    """Print the cost of a claim with its verdict at two sizes, measured in turns."""
    sizes = (1_000, 100_000)
    stores = {}
    for size in sizes:
        stores[size] = Store.open(f"sqlite:///{folder}/growth{size}.db")
        fill_study(stores[size], size, 5)
    steps: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(400):
        for size in sizes:
            steps[size].append(seconds(lambda size=size, number=number: one_step(stores[size], f"rater {number % 4}")))
    small, large = (statistics.median(steps[size]) for size in sizes)
    told = f"{sizes[1]} items / {sizes[1] * 5} verdicts against {sizes[0]} / {sizes[0] * 5}"
    print(f"claim + submit at {told}   {large / small:.2f}× ({small * 1000:.1f} ms → {large * 1000:.1f} ms)")
    for store in stores.values():
        store.close()


def bench_people(folder: Path) -> None:
    """Print how many verdicts a second many people give without a pause, and whether any item is off N."""
    store = Store.open(f"sqlite:///{folder}/people.db")
    store.create_study(Study("s", PROTOCOL.version, wanted=3))
    made = [Item(f"q{n}", (Turn("user", "Why?"),), "left " * 300, "right " * 300) for n in range(1000)]
    store.add_prepared("s", [prepare(item) for item in made])
    slowest: list[float] = []

    def annotate(name: str) -> None:
        while isinstance(found := store.claim_next("s", name), Claim):
            slowest.append(seconds(lambda found=found: store.save_verdict(found.token, Submission("A+"))))

    people = [threading.Thread(target=annotate, args=(f"rater {number}",)) for number in range(PEOPLE)]

    def work() -> None:
        for person in people:
            person.start()
        for person in people:
            person.join()

    took = seconds(work)
    with store.reading() as connection:
        off = connection.execute(select(items.c.id).where(items.c.free != 0)).all()
    told = f"{len(slowest) / took:.0f} verdicts/s, slowest {max(slowest):.2f} s, {len(off)} items off N"
    print(f"{PEOPLE} people without a pause, N = 3   {told}")
    store.close()


def bench_import_beside_people(folder: Path) -> None:
    """Print how long people wait for their verdict to be saved while another process imports."""
    path, database = folder / "more.jsonl", f"sqlite:///{folder}/beside.db"
    write_pairs(path, 20_000)
    store = Store.open(database)
    store.create_study(Study("s", PROTOCOL.version, wanted=3))
    made = [Item(f"q{n}", (Turn("user", "Why?"),), "left " * 300, "right " * 300) for n in range(2000)]
    store.add_prepared("s", [prepare(item) for item in made])
    waits: list[float] = []
    importing = threading.Event()
    importing.set()

    def annotate(name: str) -> None:
        while importing.is_set() and isinstance(found := store.claim_next("s", name), Claim):
            waits.append(seconds(lambda found=found: store.save_verdict(found.token, Submission("A+"))))
            time.sleep(0.05)

    people = [threading.Thread(target=annotate, args=(f"rater {number}",)) for number in range(PEOPLE)]
    for person in people:
        person.start()
    words = ["import", str(path), "--study", "t", "--protocol", PROTOCOL.name, "--database", database]
    subprocess.run([sys.executable, "app.py", *words], check=True, capture_output=True)
    importing.clear()
    for person in people:
        person.join()
    store.close()
    told = f"median {statistics.median(waits) * 1000:.0f} ms, slowest {max(waits) * 1000:.0f} ms of {len(waits)}"
    print(f"saving a verdict while 20000 pairs are imported, {PEOPLE} people   {told}")


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        bench_import(Path(name))
        bench_growth(Path(name))
        bench_people(Path(name))
        bench_import_beside_people(Path(name))


if __name__ == "__main__":
    main()
