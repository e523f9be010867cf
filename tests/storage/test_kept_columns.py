"""Columns that are kept between readings: they are what a fresh reading gives, whatever happened in between."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, text
from sqlalchemy.engine import make_url

from exchange.kept_answers import KeptAnswers, Question
from judge.domain import AccordError, GivenVerdict, Item, NothingToDo, StorageError, Study, Turn
from judge.protocol import load_protocol
from storage import columns, kept_columns, opinions, studies
from storage.columns import Columns, Rows
from storage.facts import make_facts, take_facts
from storage.imports import prepare
from storage.ratings import Filters
from storage.schema import items, raters, snapshots, verdicts
from storage.snapshots import pack_columns, unpack_columns
from storage.store import Store
from storage.verdicts import Submission

PREFERENCE = load_protocol(Path(__file__).parents[1] / "judge/protocols/preference-3way.md").version
PEOPLE = ("ana", "ben", "cyd")
START = datetime(2026, 1, 1, tzinfo=UTC)
CHOSEN = (
    Filters(),
    Filters(tags=("t0",)),
    Filters(models=("m1",), annotators=("ana", "cyd")),
    Filters(since=START + timedelta(seconds=40, microseconds=500_000), part="test"),
)


def same(one: Any, two: Any) -> bool:
    """Say whether two values are equal in every column and every name."""
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, each.name), getattr(two, each.name)) for each in fields(one))
    return bool(one == two)


class Work:
    """People, judges and imports at work on a study, at random."""

    def __init__(self, store: Store, random: Random) -> None:
        self.store, self.random, self.items, self.claims = store, random, 0, []
        store.create_study(Study("s", PREFERENCE, wanted=2, reveal=True, repeat_share=0.5))
        store.create_study(Study("other", PREFERENCE, wanted=2))

    def _given(self) -> list[GivenVerdict]:
        when = START + timedelta(seconds=self.random.randrange(100), microseconds=self.random.randrange(10**6))
        person = GivenVerdict(
            self.random.choice(PEOPLE), "human", self.random.choice(("A", "tie", "B")), created=when, seconds=0.1
        )
        status = self.random.choice(("ok", "unreadable"))
        judge = GivenVerdict(
            self.random.choice(("gpt", "llm")), "judge", "A" if status == "ok" else None, status, order="BA"
        )
        return [person, judge][: self.random.randrange(3)]

    def add_items(self) -> None:
        made = []
        for _ in range(self.random.randint(1, 3)):
            made.append(self._item(self.items))
            self.items += 1
        self.store.add_prepared(self.random.choice(("s", "s", "other")), made)

    def _item(self, n: int) -> Any:
        item = Item(f"q{n}", (Turn("user", f"Q{n // 2}"),), "a" * n, "b", f"m{n % 3}", "m9", tags=(f"t{n % 2}",))
        return prepare(item, self._given())

    def import_again(self) -> None:
        if self.items:
            self.store.add_prepared("s", [self._item(self.random.randrange(self.items))])

    def answer(self) -> None:
        claim = self.store.claim_next(self.random.choice(("s", "s", "other")), self.random.choice(PEOPLE))
        if not isinstance(claim, NothingToDo):
            self.claims.append(claim.token)
            self.store.save_verdict(claim.token, Submission(self.random.choice(("A", "tie", "B")), seconds=1.5))

    def revise(self) -> None:
        if self.claims:
            self.store.save_verdict(self.random.choice(self.claims), Submission(self.random.choice(("A", "B"))))

    def undo(self) -> None:
        if self.claims:
            self.store.undo_verdict(self.random.choice(self.claims))

    def reveal(self) -> None:
        if self.claims:
            self.store.reveal(self.random.choice(self.claims))

    def step(self) -> None:
        works = (self.add_items, self.import_again, self.answer, self.answer, self.revise, self.undo, self.reveal)
        try:
            self.random.choice(works)()
        except AccordError:  # not everything can be done at every moment
            return


@pytest.fixture
def small_snapshots(monkeypatch) -> None:
    """Let every study count as large, and its snapshot as too old after three verdicts."""
    monkeypatch.setattr(kept_columns, "LARGE", 1)
    monkeypatch.setattr(kept_columns, "MOST_TOUCHED", 3)


def read_all(database: str) -> Columns:
    """Read a study of which nothing is known."""
    store = Store.open(database)
    with store.reading() as connection:
        found = columns.read_columns(connection, studies.get_study(connection, "s"), None)
    store.close()
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_is_what_a_fresh_reading_gives(seed: int, tmp_path: Path, small_snapshots) -> None:
    random, database = Random(seed), f"sqlite:///{tmp_path}/accord.db"
    store = Store.open(database)
    work = Work(store, random)
    work.add_items()
    for at in range(100):
        work.step()
        if random.random() < 0.5:
            store.ratings("s")
        if at % 20 == 19:
            fresh = Store.open(database)
            for filters in CHOSEN:
                assert same(store.ratings("s", filters), fresh.ratings("s", filters))
            assert same(fresh._columns.known[1], read_all(database))
            fresh.close()
    store.close()


@pytest.fixture
def judged(store, make_study, small_snapshots) -> Store:
    """A study of three verdicts with a snapshot."""
    make_study(3)
    for _ in range(3):
        store.save_verdict(store.claim_next("s", "ana").token, Submission("tie"))
    store.ratings("s")
    return store


def test_a_new_start_reads_only_what_the_snapshot_lacks(judged, database, monkeypatch) -> None:
    judged.save_verdict(judged.claim_next("s", "ben").token, Submission("A"))
    asked = []
    packed = columns._packed
    monkeypatch.setattr(columns, "_packed", lambda *words: asked.append(words[2:]) or packed(*words))
    started = Store.open(database)
    assert started.ratings("s").item.size == 4
    started.close()
    assert [len(touched) for (touched,) in asked] == [1]


@pytest.mark.parametrize("change", ["UPDATE verdict SET label = 'A' WHERE id = 3", "DELETE FROM verdict WHERE id = 2"])
def test_a_verdict_that_somebody_changed_by_hand_is_read_as_it_is(judged, database, change) -> None:
    """By the server that knew it, by one that is started, and when the first has written what it knows."""

    def known_to(store: Store) -> Columns:
        store.ratings("s")
        return store._columns.known[1]

    mark, anywhere = judged.mark_verdicts("s"), judged.mark_verdicts(None)
    with judged.writing() as connection:
        connection.execute(text(change))
    assert judged.mark_verdicts("s") != mark
    assert judged.mark_verdicts(None) != anywhere
    for rater in ("ben", "cyd"):
        started = Store.open(database)
        assert same(known_to(started), read_all(database))
        assert same(known_to(judged), read_all(database))
        started.close()
        for _ in range(3):
            judged.save_verdict(judged.claim_next("s", rater).token, Submission("A"))
        judged.ratings("s")
    started = Store.open(database)
    assert same(known_to(started), read_all(database))
    started.close()


def test_verdicts_of_another_study_leave_the_mark_of_this_one(judged, monkeypatch) -> None:
    monkeypatch.setattr(opinions, "_LATE", 2)
    other = replace(judged.study("s"), name="other")
    judged.create_study(other)
    judged.add_prepared("other", [prepare(Item("q", (Turn("user", "Q"),), "a", "b"))])
    mark = judged.mark_verdicts("s")
    for rater in ("ana", "ben", "cyd"):
        judged.save_verdict(judged.claim_next("other", rater).token, Submission("A"))
    assert judged.mark_verdicts("s") == mark
    judged.save_verdict(judged.claim_next("s", "ben").token, Submission("A"))
    assert judged.mark_verdicts("s") != mark


def test_a_snapshot_in_another_form_is_not_read(judged, database) -> None:
    with judged.writing() as connection:
        connection.execute(snapshots.update().values(form="another", body=b"of another program"))
    started = Store.open(database)
    assert started.ratings("s").item.size == 3
    started.close()


def test_numbers_are_read_from_a_database_that_takes_no_snapshot(judged, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise StorageError("the disk under the database is full")

    judged._columns.known.clear()
    with judged.writing() as connection:
        connection.execute(snapshots.delete())
    monkeypatch.setattr(kept_columns, "write_snapshot", refuse)
    assert judged.ratings("s").item.size == 3
    assert judged.ratings("s").item.size == 3


SECONDS = st.one_of(
    st.none(), st.floats(0), st.integers(0, 10**6).map(float), st.integers(0, 10**6).map(lambda n: n / 1000)
)
# Long runs of one number are kept in another way.
NUMBERS = st.lists(st.tuples(SECONDS, st.sampled_from([1, 1, 2, 40])), max_size=5).map(
    lambda runs: [number for number, times in runs for _ in range(times)]
)


@given(NUMBERS, st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=5), st.integers(0, 2**40))
def test_columns_come_back_as_they_were_packed(seconds, names, first) -> None:
    """To the last digit, and whatever is written in a name."""
    count, many = len(seconds), len(names)
    flags, whole = np.arange(count) > 3, np.arange(count) + first
    small = (np.arange(count) % 5).astype(np.int8)
    times = np.array(seconds, dtype=np.float64)
    rows = Rows(whole, whole, whole, small, small, small, flags, flags, flags, times, times)
    listed = [(at, one, two, one, None, json.dumps([one, two]), at, None) for at, (one, two) in enumerate(names)]
    made = Columns(np.arange(many) + first, make_facts(listed), rows, 0)
    assert same(unpack_columns(pack_columns(made), 0), made)


def _add_verdicts(store: Store, numbers: list[int]) -> None:
    row = {"study_id": 1, "item_id": 1, "status": "ok", "label": "A", "order": "AB", "repeat": False}
    kept = {"after_reveal": False, "stored": START}
    with store.writing() as connection:
        made = [{"id": number, "rater_id": number, **row, **kept} for number in numbers]
        connection.execute(insert(verdicts), made)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_a_verdict_that_becomes_visible_late_is_not_missed(store, make_study) -> None:
    make_study(1)
    with store.writing() as connection:
        connection.execute(insert(raters), [{"id": n, "kind": "human", "name": f"h{n}"} for n in range(1, 4)])
        connection.execute(items.update().values(id=1))
    _add_verdicts(store, [1, 3])
    assert store.ratings("s").item.size == 2
    mark = store.mark_verdicts("s")
    _add_verdicts(store, [2])
    assert store.ratings("s").item.size == 3
    assert store.mark_verdicts("s") != mark


def test_only_items_with_a_new_verdict_are_read_again(store, make_study, monkeypatch) -> None:
    make_study(3)
    for _ in range(3):
        store.save_verdict(store.claim_next("s", "ana").token, Submission("tie"))
    store.ratings("s")
    read = []
    again = columns._read_again

    def noted(connection, scale, known, items, touched) -> Any:
        read.append(list(touched))
        return again(connection, scale, known, items, touched)

    monkeypatch.setattr(columns, "_read_again", noted)
    store.ratings("s")
    assert read == []
    claim = store.claim_next("s", "ben")
    store.save_verdict(claim.token, Submission("A"))
    assert store.ratings("s").item.size == 4
    assert [len(one) for one in read] == [1]


def test_studies_asked_for_long_ago_are_let_go(store) -> None:
    for n in range(kept_columns.MOST_KEPT + 2):
        store.create_study(Study(f"s{n}", PREFERENCE))
        store.ratings(f"s{n}")
    assert len(store._columns.known) == kept_columns.MOST_KEPT


def test_whoever_may_only_read_the_tables_is_told_so_and_has_numbers(new_postgresql, monkeypatch) -> None:
    url = make_url(new_postgresql())
    store = Store.open(url.render_as_string(hide_password=False))
    store.create_study(Study("s", PREFERENCE))
    with store.writing() as connection:
        connection.execute(text("CREATE ROLE reader LOGIN"))
        connection.execute(text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"))
    store.close()
    monkeypatch.setattr("exchange.kept_answers.KEPT", 0.0)
    reading = Store.open(url.set(username="reader").render_as_string(hide_password=False))
    asked = Question("s", "which?", lambda: "as it is", lambda: {"number": 1})
    assert KeptAnswers(reading).answer(asked).answer == {"number": 1}
    with pytest.raises(StorageError, match="can only be read"):
        reading.change_wanted("s", 4, "ana")
    reading.close()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "m", "n"]), st.booleans()), max_size=12))
def test_some_items_are_coded_as_if_there_were_no_others(rows) -> None:
    listed = [(at, one, one, one, two, json.dumps([one]), at, None) for at, (one, two, _) in enumerate(rows)]
    chosen = np.array([kept for *_, kept in rows], dtype=np.bool_)
    alone = make_facts([row for row, kept in zip(listed, chosen, strict=True) if kept])
    assert same(take_facts(make_facts(listed), chosen), alone)
