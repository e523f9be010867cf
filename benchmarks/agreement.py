"""What agreement costs, as ratios: beside loops over other packages, and beside the SQL that counts the same verdicts.

python -m benchmarks.agreement
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import insert, select

from benchmarks.loops import measure_alpha, measure_kappa
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.schema import items, raters, verdicts
from storage.store import Store
from ui.agreement import Agreement

ROOT = Path(__file__).parents[1]
ITEMS = 100_000
PAGE_ITEMS = (100, 10_000, 100_000)
PEOPLE = 8
FILTERS: tuple[dict[str, str], ...] = ({"tag": "coding"}, {"model": "m1"}, {"since": "2026-01-02"}, {"part": "test"})
SECONDS_WORKED = 3_000_000  # however many items: a filter by day then leaves the same share of each study
LABELS = ("B++", "B+", "A=B", "A+", "A++")
# What the numbers rest on: how often each rater gave each label, in which order, and whether it counts.
COUNTED = """
SELECT rater_id, label, "order", status, repeat, count(*), sum(seconds) FROM verdict
WHERE study_id = 1 AND status <> 'withdrawn' AND NOT after_reveal
AND id NOT IN (SELECT supersedes FROM verdict WHERE supersedes IS NOT NULL AND NOT after_reveal)
GROUP BY rater_id, label, "order", status, repeat
"""
# And every pair of raters' table, which no count by rater gives.
PAIRED = """
SELECT a.rater_id, b.rater_id, a.label, b.label, count(*) FROM verdict a
JOIN verdict b ON a.item_id = b.item_id AND a.rater_id < b.rater_id
WHERE a.study_id = 1 GROUP BY a.rater_id, b.rater_id, a.label, b.label
"""


def fill(database: str, count: int = ITEMS) -> None:
    """Make a study of ten verdicts an item: eight people, and a judge in both orders."""
    store = Store.open(database)
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    rng = np.random.default_rng(0)
    for first in range(0, count, 2000):
        made = [
            Item(
                f"q{n}",
                (Turn("user", f"Question {n}? " * 10),),
                f"The left answer {n}. " * int(rng.integers(20, 100)),
                f"The right answer {n}. " * int(rng.integers(20, 100)),
                f"m{n % 4}",
                f"m{(n + 1) % 4}",
                tags=(("coding", "maths")[n % 2],),
            )
            for n in range(first, min(first + 2000, count))
        ]
        store.add_prepared("s", [prepare(item) for item in made])
    names = [("human", f"h{n}") for n in range(PEOPLE)] + [("judge", "gpt-x")]
    with store.writing() as connection:
        connection.execute(insert(raters), [{"kind": kind, "name": name} for kind, name in names])
        ids = connection.execute(select(items.c.id).order_by(items.c.position)).scalars().all()
        truth = rng.integers(0, 5, count)
        for rater in range(PEOPLE + 2):
            connection.execute(insert(verdicts), _verdicts(rater, list(ids), truth, rng))
    store.close()


def _verdicts(rater: int, ids: list[int], truth: np.ndarray, rng: np.random.Generator) -> list[dict[str, object]]:
    codes = np.where(rng.random(len(ids)) < 0.6, truth, rng.integers(0, 5, len(ids)))
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    swapped = rng.random(len(ids)) < 0.5 if rater < PEOPLE else np.full(len(ids), rater == PEOPLE)
    return [
        {
            "study_id": 1,
            "item_id": number,
            "rater_id": min(rater, PEOPLE) + 1,
            "status": "ok",
            "label": LABELS[codes[at]],
            "order": "BA" if swapped[at] else "AB",
            "repeat": False,
            "seconds": float(at % 90),
            "after_reveal": False,
            "created": start + timedelta(seconds=SECONDS_WORKED * at // len(ids)),
            "stored": start,
        }
        for at, number in enumerate(ids)
    ]


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Return the least processor time of a few runs, own and of processes started: machines are shared."""
    best = float("inf")
    for _ in range(times):
        start = _processor_time()
        work()
        best = min(best, _processor_time() - start)
    return best


def _processor_time() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def bench_command(folder: Path) -> None:
    """Print what the whole command costs beside the SQL that counts the same verdicts."""
    path = folder / "accord.db"
    fill(f"sqlite:///{path}")
    words = [sys.executable, str(ROOT / "app.py"), "agreement", "--study", "s", "--json"]
    environment = {**os.environ, "ACCORD_DATABASE": f"sqlite:///{path}"}

    def count(query: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(query).fetchall()

    def whole() -> None:
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)

    first, later = seconds(whole, 1), seconds(whole, 3)
    counted, paired = seconds(lambda: count(COUNTED)), seconds(lambda: count(PAIRED), 1)
    print(
        f"agreement --json, {ITEMS * (PEOPLE + 2):,} verdicts: {first:.1f} s the first time ever, {later:.1f} s later"
    )
    for what, sql in (("GROUP BY rater and label", counted), ("GROUP BY both, every pair of raters", counted + paired)):
        print(f"  beside {what} ({sql:.1f} s): {first / sql:.2f}× and {later / sql:.2f}×")


def say_more(store: Store, many: int = 10) -> None:
    """Let a person give a few more verdicts: hidden repeats of the first items."""
    with store.writing() as connection:
        ids = connection.execute(select(items.c.id).order_by(items.c.position).limit(many)).scalars().all()
        given = _verdicts(0, list(ids), np.arange(many) % len(LABELS), np.random.default_rng(1))
        connection.execute(insert(verdicts), [{**row, "repeat": True} for row in given])


def bench_page(folder: Path) -> None:
    """Print what opening the page costs: for the first time ever, first after a start, and after ten new verdicts.

    Rules and filters are such as nobody has asked for before, first after a start. Where the numbers took long, the
    last ones are shown at once after new verdicts, and the new ones made behind them.
    """
    told = "first ever", "other rules", "slowest filter", "disagreements", "after a start", "ten new", "anew", "again"
    print(f"| verdicts | {' | '.join(told)} |\n|---|{'---|' * len(told)}")
    for count in PAGE_ITEMS:
        database = f"sqlite:///{folder / f'page{count}.db'}"
        fill(database, count)
        ever = seconds(lambda database=database: open_first(database), 1)
        ruled = min(seconds(lambda database=database, seed=seed: open_first(database, seed=seed), 1) for seed in "12")
        chosen = max(seconds(lambda database=database, one=one: open_first(database, **one), 1) for one in FILTERS)
        differ = seconds(lambda database=database: open_disagreements(database), 1)
        first = seconds(lambda database=database: open_first(database), 2)
        store = Store.open(database)
        page = Agreement(store)
        page.show_numbers("s", {})
        shown, made = [], []
        for _ in range(3):
            say_more(store)
            shown.append(seconds(lambda page=page: page.show_numbers("s", {}), 1))
            made.append(shown[-1] + seconds(lambda page=page: page.renew("?study=s"), 1))
        again = seconds(lambda page=page: page.show_numbers("s", {}))
        store.close()
        taken = [ever, ruled, chosen, differ, first, min(shown), min(made), again]
        print(f"| {count * (PEOPLE + 2):,} | {' | '.join(f'{one:.2f} s' for one in taken)} |", flush=True)


def open_first(database: str, **asked: str) -> None:
    """Open the page of a study that the process knows nothing of."""
    store = Store.open(database)
    Agreement(store).show_numbers("s", {name: [value] for name, value in asked.items()})
    store.close()


def open_disagreements(database: str) -> None:
    """Open the list of disagreements of a study that the process knows nothing of."""
    store = Store.open(database)
    Agreement(store).show_disagreements("s", {})
    store.close()


def bench_loops() -> None:
    """Print how much quicker intervals are than bootstrap loops over other packages."""
    kappa, alpha = measure_kappa(100_000), measure_alpha(100_000)
    print(f"quadratic kappa with interval, 100,000 pairs: {kappa['ratio']:,.0f}× a scikit-learn loop")
    print(f"ordinal alpha with interval, 10 raters x 100,000 items: {alpha['ratio']:,.0f}× a krippendorff loop")


if __name__ == "__main__":
    bench_loops()
    with tempfile.TemporaryDirectory() as place:
        bench_command(Path(place))
        bench_page(Path(place))
