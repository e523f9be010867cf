"""People who annotate through the real server over real HTTP, each signed in as themselves.

They do what the page Review does: open, decide, submit, and send again what got no answer.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

import httpx2
from sqlalchemy import func, select

from exchange.accounts import Accounts
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.schema import claims, items, raters, verdicts
from storage.store import Store

PASSWORD = "correct horse battery"
PROTOCOL = find_protocol("wildbench-pairwise")
LABELS = PROTOCOL.scale.labels
TEXT = "It depends on what you want to do with it, and on how much of it there is. " * 8
GIVEN_UP = 120.0  # seconds after which somebody no longer believes that the server comes back


def make_items(count: int, first: int = 0) -> list[Item]:
    numbers = range(first, first + count)
    return [
        Item(f"q{n}", (Turn("user", f"Question {n}? {TEXT}"),), f"left {n} {TEXT}", f"right {n}", checklist=("Right?",))
        for n in numbers
    ]


def make_study(store: Store, count: int, people: int, study: str = "s", **settings: object) -> None:
    """Make a study, and the accounts of those who will annotate it."""
    store.create_study(Study(study, PROTOCOL.version, **settings))
    store.add_prepared(study, [prepare(item) for item in make_items(count)])
    add_people(store, people)


def add_people(store: Store, people: int) -> None:
    accounts = Accounts(store)
    known = {account.name for account in accounts.list()}
    for name in map(name_of, range(people)):
        if name not in known:
            accounts.add(name, "annotator", PASSWORD)


def name_of(number: int) -> str:
    return f"ann{number}"


class Annotator:
    """One person: what they were told is saved, how long they waited, and what went wrong on the way."""

    def __init__(self, addresses: Sequence[str], name: str, think: float, study: str = "s") -> None:
        self.addresses, self.name, self.think, self.study = addresses, name, think, study
        self.session = uuid.uuid4().hex
        self.client = httpx2.Client(timeout=60, trust_env=False)
        self.acknowledged: set[tuple[str, str]] = set()  # item and comment
        self.waits: list[float] = []  # from a submit until the next item
        self.troubles: Counter[str] = Counter()
        self._chance = random.Random(name)
        self._asked = 0

    def work(self, over: threading.Event) -> None:
        """Annotate until there is nothing left or the day is over."""
        if not self.client.cookies:
            self.sign_in()
        sheet = self.open()
        while not over.is_set():
            if "claim" in sheet:
                self._prepare(sheet["claim"])
                over.wait(self._chance.uniform(0.5, 1.5) * self.think)
                sheet = self.submit(sheet)
            elif sheet.get("why") == "finished":
                return
            else:  # what is left is with others, or what was held has gone
                over.wait(0.2)
                sheet = self.open()

    def sign_in(self) -> None:
        sent = {"name": self.name, "password": PASSWORD}
        self._until_answered(lambda address: self.client.post(f"{address}/login", data=sent), 303)

    def open(self) -> dict:
        return self.call("review_open", self.study, self.name, "")

    def submit(self, sheet: dict) -> dict:
        """Send a verdict until the server has said that it is saved, or that it cannot be."""
        comment = f"{self.name} {len(self.waits)}"
        sent = {"label": self._chance.choice(LABELS), "comment": comment, "seconds": 1.5}
        began = time.perf_counter()
        answer = self.call("review_submit", sheet["claim"], sent, self.name)
        self.waits.append(time.perf_counter() - began)
        if "saved" in answer:
            self.acknowledged.add((sheet["item"], comment))
        else:
            self.troubles[answer["problem"]] += 1
        return answer

    def call(self, door: str, *data: object) -> dict:
        return self._until_answered(lambda address: self._post(address, door, *data), 200).json()["data"][0]

    def _post(self, address: str, door: str, *data: object) -> httpx2.Response:
        sent = {"data": data, "session_hash": self.session}
        return self.client.post(f"{address}/gradio_api/run/{door}", json=sent)

    def _prepare(self, claim: str) -> None:
        """Let the server make the next item ready, as the page does while this one is read; once, whatever comes."""
        with contextlib.suppress(httpx2.TransportError):
            self._post(self.addresses[0], "review_prepare", claim, self.name)

    def _until_answered(self, send: Callable[[str], httpx2.Response], wanted: int) -> httpx2.Response:
        """Send until there is an answer that is not about the database; note what was told instead."""
        deadline = time.monotonic() + GIVEN_UP
        while True:
            self._asked += 1
            try:
                answer = send(self.addresses[self._asked % len(self.addresses)])
            except httpx2.TransportError:
                self.troubles["no answer"] += 1
            else:
                told = _told(answer, wanted)
                if told is None:
                    return answer
                self.troubles[told] += 1
            assert time.monotonic() < deadline, f"{self.name} gave up: {self.troubles}"
            time.sleep(0.1)


def _told(answer: httpx2.Response, wanted: int) -> str | None:
    """Return what an answer says that is not the wanted one, and not one about what was sent."""
    if answer.status_code != wanted:
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return f"{answer.status_code}: {answer.json().get('error') if is_json else answer.text}"
    if wanted == 200 and answer.json()["data"][0].get("again"):
        return str(answer.json()["data"][0]["problem"])
    return None


class Crowd:
    """Annotators at work side by side, from the beginning of a block to its end; they may come back another day."""

    def __init__(self, addresses: Sequence[str], people: int, think: float, study: str = "s") -> None:
        self.people = [Annotator(addresses, name_of(number), think, study) for number in range(people)]
        self._days: list[Future[None]] = []

    def __enter__(self) -> Self:
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(len(self.people))
        for person in self.people:
            person.troubles.clear()
        self._days = [self._pool.submit(person.work, self._over) for person in self.people]
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until everybody has gone; what went wrong with one of them is raised."""
        self._over.set()
        self._pool.shutdown()
        for day in self._days:
            day.result()

    def close(self) -> None:
        """Let the connections go."""
        for person in self.people:
            person.client.close()

    @property
    def saved(self) -> int:
        return sum(len(person.acknowledged) for person in self.people)

    @property
    def troubles(self) -> Counter[str]:
        return sum((person.troubles for person in self.people), Counter())

    @property
    def waits(self) -> list[float]:
        return [wait for person in self.people for wait in person.waits]

    def wait_for(self, what: Callable[[], bool], seconds: float = 120) -> None:
        """Look until something is so; if somebody's work broke meanwhile, that is raised."""
        deadline = time.monotonic() + seconds
        while not what():
            for day in self._days:
                if day.done():
                    day.result()
            assert time.monotonic() < deadline, self.troubles
            time.sleep(0.05)

    def go_on(self, count: int = 1) -> None:
        """Wait until everybody has been told of so many more saved verdicts."""
        before = {person.name: len(person.acknowledged) for person in self.people}
        self.wait_for(lambda: all(len(each.acknowledged) >= before[each.name] + count for each in self.people))

    def stumble(self, words: str) -> None:
        """Wait until somebody has been told this once more."""
        count = lambda: sum(number for told, number in self.troubles.items() if words in told)  # noqa: E731
        before = count()
        self.wait_for(lambda: count() > before)


def check_kept(store: Store, crowd: Crowd, wanted: int, study: str = "s") -> Counter[int]:
    """Find every acknowledged verdict stored, once, and no item with too many; return how many items have how many."""
    given = (
        select(items.c.name, raters.c.name.label("rater"), verdicts.c.comment)
        .join(items, items.c.id == verdicts.c.item_id)
        .join(raters, raters.c.id == verdicts.c.rater_id)
        .where(verdicts.c.claim_id.is_not(None), items.c.study_id == _number(store, study))
    )
    # Before the look into the database: people may be at work meanwhile.
    told = {(person.name, item, comment) for person in crowd.people for item, comment in list(person.acknowledged)}
    with store.reading() as connection:
        rows = connection.execute(given).all()
        places = connection.execute(_places(_number(store, study))).all()
    stored = {(row.rater, row.name, row.comment) for row in rows}
    assert told <= stored, f"lost: {sorted(told - stored)[:5]}"
    assert len({(row.rater, row.name) for row in rows}) == len(rows), "somebody gave two verdicts on one item"
    per_item = Counter(row.name for row in rows)
    assert max(per_item.values(), default=0) <= wanted
    assert {row.free + row.held for row in places} == {wanted}  # no place is lost and none is there twice
    return Counter(per_item.values())


def _places(study_id: int):
    held = select(func.count()).where(claims.c.item_id == items.c.id, claims.c.state.in_(("open", "done")))
    return select(items.c.free, held.scalar_subquery().label("held")).where(items.c.study_id == study_id)


def _number(store: Store, study: str) -> int:
    from storage.studies import get_study

    with store.reading() as connection:
        return get_study(connection, study).id
