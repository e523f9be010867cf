"""A run: bounded, recorded as it goes, stopped by what would fail everywhere, and true to its budget."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest

from judge.domain import Failure, Item, Reply
from judge.run import Call, Limits, Prices, Run, Task, verdict_label

GOOD = Reply('{"choice": "A+"}', "stop", prompt_tokens=100, completion_tokens=10)


class Desk:
    """Hands out tasks and keeps what comes back."""

    def __init__(self, item: Item, count: int) -> None:
        self.tasks = [Task(replace(item, id=f"q{n}"), "AB" if n % 2 else "BA") for n in range(count)]
        self.kept: list[Call] = []

    def fetch(self, count: int) -> list[Task]:
        given, self.tasks = self.tasks[:count], self.tasks[count:]
        return given

    def record(self, calls: list[Call]) -> None:
        self.kept += calls


def run(protocols, desk: Desk, ask, **limits: object) -> Run:
    started = Run(protocols["wildbench-pairwise"], ask, desk.fetch, desk.record, Limits(**limits))
    asyncio.run(started.go())
    return started


def test_every_task_ends_as_a_recorded_call(protocols, item) -> None:
    desk = Desk(item, 50)

    async def ask(prompt):
        await asyncio.sleep(0)
        return GOOD

    done = run(protocols, desk, ask, concurrency=7)
    assert Counter(call.task.item.id for call in desk.kept) == {f"q{n}": 1 for n in range(50)}
    assert done.summary.by_status == {"ok": 50}
    assert {verdict_label(protocols["wildbench-pairwise"], call) for call in desk.kept} == {"A+", "B+"}


def test_no_more_calls_fly_than_allowed(protocols, item) -> None:
    flying, most = 0, 0

    async def ask(prompt):
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.001)
        flying -= 1
        return GOOD

    run(protocols, Desk(item, 60), ask, concurrency=5)
    assert most == 5


def test_failures_and_unreadable_replies_are_kept_with_their_kind(protocols, item) -> None:
    answers = iter(
        [Failure("timeout", "too slow"), Reply("no idea"), Reply("I'm sorry, I can't help with that."), GOOD]
    )

    async def ask(prompt):
        return next(answers)

    desk = Desk(item, 4)
    done = run(protocols, desk, ask, concurrency=1)
    assert done.summary.by_status == {"failed": 1, "unreadable": 1, "refused": 1, "ok": 1}
    assert done.summary.by_failure == {"timeout": 1}
    assert len(desk.kept) == 4


def test_a_fatal_failure_stops_the_run_with_one_sentence(protocols, item) -> None:
    async def ask(prompt):
        await asyncio.sleep(0.001)
        return Failure("key", "the key was refused", fatal=True)

    desk = Desk(item, 1000)
    done = run(protocols, desk, ask, concurrency=4)
    assert done.summary.stopped == "the key was refused"
    assert len(desk.kept) <= 8


@pytest.mark.parametrize(
    ("limits", "calls"),
    [
        ({"budget_tokens": 1000}, 10),
        ({"budget_usd": 0.5, "prices": Prices(1000.0, 0.0)}, 5),
    ],
)
def test_a_budget_is_not_overspent_by_more_than_what_was_in_flight(protocols, item, limits, calls) -> None:
    async def ask(prompt):
        await asyncio.sleep(0)
        return GOOD

    desk = Desk(item, 500)
    done = run(protocols, desk, ask, concurrency=2, **limits)
    assert "budget" in done.summary.stopped
    assert calls <= len(desk.kept) <= calls + 2


def test_an_unknown_price_leaves_the_cost_unknown(protocols, item) -> None:
    async def ask(prompt):
        return GOOD

    done = run(protocols, Desk(item, 3), ask, budget_usd=1e-9)
    assert done.summary.usd is None
    assert done.summary.stopped is None


def test_what_cannot_be_recorded_stops_the_run_and_is_not_swallowed(protocols, item) -> None:
    async def ask(prompt):
        await asyncio.sleep(0.001)
        return GOOD

    desk = Desk(item, 10_000)
    desk.record = lambda calls: (_ for _ in ()).throw(OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        run(protocols, desk, ask, concurrency=4)
    assert len(desk.tasks) > 9000


def test_the_writers_own_error_is_raised_and_what_ended_meanwhile_is_kept(protocols, item) -> None:
    recording, answered = threading.Event(), threading.Semaphore(0)
    numbers = itertools.count()

    async def ask(prompt):
        if next(numbers):
            await asyncio.to_thread(recording.wait, 30)
            answered.release()
        return GOOD

    class Broken(Desk):
        def record(self, calls: list[Call]) -> None:
            if recording.is_set():
                time.sleep(0.1)  # so that they are given up before they are kept
                super().record(calls)
                return
            recording.set()
            for _ in range(3):
                answered.acquire(timeout=30)
            time.sleep(0.1)  # for the others to be handed on
            raise OSError("disk full")

    desk = Broken(item, 50)
    with pytest.raises(OSError, match="disk full"):
        run(protocols, desk, ask, concurrency=4)
    assert len(desk.kept) == 3


def test_a_run_that_is_stopped_while_it_paces_itself_sends_nothing_more(protocols, item) -> None:
    asked = 0

    async def ask(prompt):
        nonlocal asked
        asked += 1
        started.stop("enough")
        return GOOD

    desk = Desk(item, 5)
    started = Run(protocols["wildbench-pairwise"], ask, desk.fetch, desk.record, Limits(per_minute=1))
    asyncio.run(started.go())
    assert (asked, len(desk.kept), started.in_flight) == (1, 1, 0)


def test_an_item_that_cannot_be_rendered_is_a_failure_of_its_own(protocols, item) -> None:
    async def ask(prompt):
        return GOOD

    desk = Desk(replace(item, response_b=None), 2)
    done = run(protocols, desk, ask)
    assert done.summary.by_status == {"failed": 2}
    assert "add response_b" in desk.kept[0].answer.message


def test_the_next_calls_are_fetched_while_the_first_ones_fly(protocols, item) -> None:
    fetched_again = threading.Event()

    class Watched(Desk):
        def fetch(self, count: int) -> list[Task]:
            if len(self.tasks) < 20:
                fetched_again.set()
            return super().fetch(count)

    async def ask(prompt):
        assert await asyncio.to_thread(fetched_again.wait, 30)
        return GOOD

    desk = Watched(item, 20)
    run(protocols, desk, ask, concurrency=4)
    assert len(desk.kept) == 20


def test_a_run_that_is_given_up_waits_for_what_is_being_fetched(protocols, item) -> None:
    flying, fetched = threading.Event(), threading.Event()

    class Slow(Desk):
        def fetch(self, count: int) -> list[Task]:
            if len(self.tasks) < 20:
                flying.wait(30)
                time.sleep(0.2)
                fetched.set()
            return super().fetch(count)

    async def ask(prompt):
        flying.set()
        await asyncio.sleep(30)
        return GOOD

    async def give_up(started: Run) -> None:
        going = asyncio.create_task(started.go())
        await asyncio.to_thread(flying.wait, 30)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert fetched.is_set()  # else it would be taken after everything had been left to others

    desk = Slow(item, 20)
    asyncio.run(give_up(Run(protocols["wildbench-pairwise"], ask, desk.fetch, desk.record, Limits(4))))
    assert desk.kept == []


def test_what_cannot_be_fetched_ends_the_run_and_keeps_what_was_answered(protocols, item) -> None:
    class Broken(Desk):
        def fetch(self, count: int) -> list[Task]:
            if len(self.tasks) < 20:
                raise OSError("no such disk")
            return super().fetch(count)

    async def ask(prompt):
        return GOOD

    desk = Broken(item, 20)
    with pytest.raises(OSError, match="no such disk"):
        run(protocols, desk, ask, concurrency=4)
    assert len(desk.kept) == 4
