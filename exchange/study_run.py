"""One process's part in a run: what is missing comes from the store, what ends goes back to it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from judge.domain import AccordError, Failure, ItemError, Order, Reply, StorageError
from judge.probabilities import soft_score
from judge.protocol import Protocol, load_version
from judge.read import read
from judge.refusals import fault_in
from judge.render import render
from judge.run import Ask, Call, Limits, Run, Summary, Task, verdict_label, why_none
from storage.run_store import RunStore
from storage.runs import Ended, RunRow, RunSettings, Wanted

TOLD_EVERY = 2.0  # seconds
NO_VERDICT = ("unreadable", "refused", "cut_off")
LOOKED_EVERY = 1.0  # seconds between looks at what other processes hold
RENEWED_EVERY = 15  # of these: a call may take longer than a stretch is held for
PATIENCE = 30.0  # seconds for which a run waits for a database that cannot be used
Result = TypeVar("Result")


@dataclass(slots=True)
class StudyRun:
    """One process's part in a run; several may work on the same run and share it."""

    store: RunStore
    row: RunRow
    protocol: Protocol
    reused: int = 0
    waiting: list[Task] = field(default_factory=list)
    left: dict[int, int] = field(default_factory=dict)
    again: list[Task] = field(default_factory=list)  # replies without a verdict that are to be asked for again

    def total(self) -> int:
        """Return how many calls the whole run consists of."""
        settings, size = self.row.settings, self.row.study.study.items
        return min(size, settings.limit or size) * len(settings.orders) * settings.repeats

    def missing(self) -> int:
        """Return how many calls of the whole run have brought no reply and are in no batch."""
        return max(self.total() - self.store.made_calls(self.row) - self.store.count_pending(self.row), 0)

    def fetch(self, count: int) -> list[Task]:
        """Return up to so many calls still to be made; none when nothing is left for this process."""
        while not self.waiting:
            taken = patiently(lambda: self.store.take_stretch(self.row))
            if taken is None:
                return []
            first, wanted = taken
            self.waiting = self._to_ask(first, wanted)
            self.left[first] = len(self.waiting)
            if not self.waiting:
                self.store.keep_calls(self.row, [], [first])
        chosen, self.waiting = self.waiting[:count], self.waiting[count:]
        return chosen

    def record(self, calls: Sequence[Call]) -> None:
        """Keep calls that have ended; one that cannot be stored becomes a failure and takes no other with it."""
        try:
            self._keep(calls)
        except AccordError:
            raise
        except Exception as error:
            if len(calls) > 1:
                for call in calls:
                    self.record([call])
            elif calls[0].reading is None:
                raise
            else:
                self._keep([replace(calls[0], answer=fault_in(error), reading=None)])

    def _keep(self, calls: Sequence[Call]) -> None:
        # A stretch is held until its last reply has been asked for again, so that no other process does it too.
        settled = Counter(call.task.key[0] for call in calls if not self._asks_again(call.task, call.status))
        ended = [ended_call(self.protocol, call) for call in calls]
        finished = [first for first, count in settled.items() if self.left[first] == count]
        kept = patiently(lambda: self.store.keep_calls(self.row, ended, finished))
        self.settle(settled.elements())
        for call, verdict in zip(calls, kept, strict=True):
            if self._asks_again(call.task, call.status):
                self.again.append(self._next_attempt(call.task, verdict))

    def take_again(self) -> bool:
        """Let the replies without a verdict be fetched once more; say whether there are any."""
        self.waiting, self.again = self.waiting + self.again, []
        return bool(self.waiting)

    def _asks_again(self, task: Task, status: str) -> bool:
        return status not in ("ok", "failed") and task.reask < self.row.settings.reask

    @staticmethod
    def _next_attempt(task: Task, verdict: int) -> Task:
        first, wanted = task.key
        wanted = replace(wanted, supersedes=verdict, reask=wanted.reask + 1)
        return replace(task, key=(first, wanted), reask=wanted.reask)

    def settle(self, stretches: Iterable[int]) -> list[int]:
        """Count tasks of these stretches that are done with, and return the stretches that have no others."""
        finished = []
        for first in stretches:
            self.left[first] -= 1
            if not self.left[first]:
                finished.append(first)
        return finished

    def _to_ask(self, first: int, wanted: list[Wanted]) -> list[Task]:
        """Keep copies of replies that are known from elsewhere, and return what has to be asked."""
        tasks = [self._task(first, each) for each in wanted]
        if not self.row.settings.reuse:
            return tasks
        hashes = {task.prompt.hash for task in tasks if task.prompt}
        known = self.store.known_replies(self.row.settings, list(hashes)) if hashes else {}
        known_to: list[tuple[Task, Ended]] = []
        unknown: list[Task] = []
        for task in tasks:
            # What is asked for again must not be answered by the very reply that had no verdict.
            reply = known.get((task.prompt.hash, task.repeat)) if task.prompt and not task.reask else None
            if reply is None:
                unknown.append(task)
            else:
                known_to.append((task, _copied(self.protocol, task.key[1], reply)))
        kept = self.store.keep_calls(self.row, [copy for _, copy in known_to]) if known_to else []
        self.reused += len(kept)
        for (task, copy), verdict in zip(known_to, kept, strict=True):
            if self._asks_again(task, copy.status):
                unknown.append(self._next_attempt(task, verdict))
        return unknown

    def _task(self, first: int, wanted: Wanted) -> Task:
        try:
            prompt = render(self.protocol, wanted.item, wanted.order)
        except ItemError:
            prompt = None  # the run will say what is wrong with it
        return Task(wanted.item, wanted.order, wanted.repeat, (first, wanted), prompt, wanted.reask)


def _copied(protocol: Protocol, wanted: Wanted, reply: Any) -> Ended:
    reading = read(protocol, reply.raw, reply.finish_reason)
    label = protocol.unswap(reading.label, wanted.order) if reading.status == "ok" else None
    kept = {"prompt_hash": reply.prompt_hash, "raw": reply.raw, "finish_reason": reply.finish_reason}
    before = reply.usage or {}
    # Tokens are not counted twice; what is known of the reply itself goes with it.
    usage = {"reask": before["reask"]} if "reask" in before else {}
    usage |= _sureness(protocol, before.get("label_probabilities", {}), wanted.order) if label else {}
    return Ended(wanted, reading.status, label, model=reply.model, usage=usage, copy_of=reply.id, **kept)


def ended_call(protocol: Protocol, call: Call) -> Ended:
    """Return a call as it is kept."""
    answer = call.answer
    if isinstance(answer, Failure):
        usage = {"reask": call.task.reask} if call.task.reask else {}
        return Ended(call.task.key[1], "failed", usage=usage, seconds=answer.seconds, error=why_none(call))
    return Ended(
        wanted=call.task.key[1],
        status=call.reading.status if call.reading else "failed",
        label=verdict_label(protocol, call),
        prompt_hash=call.prompt.hash,
        prompt=f"{call.prompt.system}\n\n{call.prompt.user}" if call.prompt.system else call.prompt.user,
        raw=answer.text,
        finish_reason=answer.finish_reason,
        model=answer.model,
        usage=_usage(protocol, call, answer),
        seconds=answer.seconds,
    )


def _usage(protocol: Protocol, call: Call, reply: Reply) -> dict[str, Any]:
    told = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "reasoning": reply.reasoning,
        "adapted": list(reply.adapted),
        "reask": call.task.reask,
    }
    sure = _sureness(protocol, reply.label_probabilities, call.task.order) if call.status == "ok" else {}
    return {**{name: value for name, value in told.items() if value}, **sure}


def _sureness(protocol: Protocol, probabilities: Mapping[str, float], order: Order) -> dict[str, Any]:
    """Return the labels' probabilities as the judge saw the sides, and the soft score for the sides as imported."""
    unswapped = {protocol.unswap(label, order): probability for label, probability in probabilities.items()}
    score = soft_score(protocol.scale, unswapped)
    return {} if score is None else {"label_probabilities": dict(probabilities), "soft_score": score}


def prepare_run(store: RunStore, study: str, settings: RunSettings, ask: Ask, limits: Limits) -> tuple[StudyRun, Run]:
    """Return a run that does what is missing of these settings in a study."""
    row = store.open_run(study, settings)
    part = StudyRun(store, row, load_version(store.study(study).protocol))
    return part, Run(part.protocol, ask, part.fetch, part.record, limits)


async def judge_study(part: StudyRun, run: Run, tell: Callable[[str], None]) -> Summary:
    """Run to the end, telling how it goes; what this process leaves undone is free for the next one at once."""
    missing = part.missing()
    async with at_work(part, lambda: tell(progress_line(run.summary, missing))):
        told = False
        while True:
            await run.go()
            if run.summary.stopped:
                break
            if part.take_again():
                continue
            if not await asyncio.to_thread(patiently, lambda: part.store.count_foreign(part.row)):
                break
            if not told:
                tell("the rest is with another process: waiting, to do what that may leave undone")
            told = True
            await run.traffic.sleep(LOOKED_EVERY)
    note_missing(part, run)
    return run.summary


def note_missing(part: StudyRun, run: Run) -> None:
    """Let a run that came to its end say what it has not asked; what failed speaks for itself."""
    never = part.missing() - part.store.run_counts(part.row).get("failed", 0)
    if never > 0:
        why = "another process is at this run, or went over it with other orders, repeats or a limit"
        run.stop(f"{never} calls were not made: {why}")


@asynccontextmanager
async def at_work(part: StudyRun, tell: Callable[[], None]) -> AsyncIterator[None]:
    """Tell how it goes, and keep what this process has taken; in the end leave what is undone to others."""

    async def beat() -> None:
        for count in itertools.count(1):
            await asyncio.sleep(TOLD_EVERY)
            tell()
            if count % RENEWED_EVERY == 0:
                await asyncio.to_thread(patiently, lambda: part.store.keep_calls(part.row, []))

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
        part.store.give_up(part.row)


def patiently(work: Callable[[], Result]) -> Result:
    """Work with the database, for a while also when it is away: what has come back from a judge was paid for."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except StorageError:
            if time.monotonic() > deadline:
                raise
        time.sleep(1)


def progress_line(summary: Summary, missing: int) -> str:
    """Say in one line how a run stands: rate, time left, cost so far, replies without a verdict, failures by kind."""
    rate = summary.per_second
    told = [f"{summary.calls} of {missing} calls"]
    if summary.calls:  # before the first one has ended nobody knows how long they take
        left = max(missing - summary.calls, 0) / rate
        told += [f"{rate:.1f} a second", f"about {left:.0f} s left"]
    told.append(f"{summary.usd:.4f} USD" if summary.usd is not None else f"{summary.tokens} tokens")
    told += [f"{count} {status}" for status, count in sorted(summary.by_status.items()) if status in NO_VERDICT]
    told += [f"{count} {kind}" for kind, count in sorted(summary.by_failure.items())]
    return " · ".join(told)
