"""A bounded run of a judge over tasks, each call handed on to be kept as it ends. Knows no database.

Calls go out as places come free, and the next ones are fetched before they are needed; what has ended is recorded
together by one writer, so that keeping a call durably costs the calls in flight nothing.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from judge.domain import AccordError, Failure, Item, ItemError, NoVerdict, Order, Prompt, Reading, Reply, Verdict
from judge.protocol import Protocol
from judge.read import read
from judge.refusals import fault_in
from judge.render import render
from judge.traffic import Traffic

Ask = Callable[[Prompt], Awaitable[Reply | Failure]]
SAME_REFUSALS = 20  # calls refused in a row in the same words, after which a run gives up
_WITH_DIGITS = re.compile(r"\S*\d\S*")  # numbers of requests, times and the like
CHARACTERS_A_TOKEN = 4  # a rule of thumb for English; an estimate needs no more


@dataclass(frozen=True, slots=True)
class Task:
    """One call to make: an item in an order, for the n-th time; `key` means something to whoever made it."""

    item: Item
    order: Order
    repeat: int = 0
    key: Any = None
    prompt: Prompt | None = None  # where somebody has rendered it already
    reask: int = 0  # how often it has been asked without a verdict


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has ended: what was sent, what came back, and what was read from it."""

    task: Task
    prompt: Prompt
    answer: Reply | Failure
    reading: Reading | None

    @property
    def status(self) -> str:
        """Return how the call ended: ok, unreadable, refused, cut_off or failed."""
        return "failed" if self.reading is None else self.reading.status


@dataclass(frozen=True, slots=True)
class Prices:
    """What tokens cost, in USD per million; unknown prices leave the cost unknown."""

    prompt: float | None = None
    completion: float | None = None

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return the cost of so many tokens."""
        if self.prompt is None or self.completion is None:
            return None
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a run may do at once and in all."""

    concurrency: int = 16
    per_minute: int | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None
    prices: Prices = field(default_factory=Prices)


@dataclass(slots=True)
class Summary:
    """How a run stands."""

    prices: Prices
    calls: int = 0
    reasked: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    by_failure: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    adapted: set[str] = field(default_factory=set)  # what the server would not take as it was asked
    estimated_tokens: int = 0  # those of replies whose server does not tell
    spent: float = 0.0  # in USD, as far as prices are known
    stopped: str | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def tokens(self) -> int:
        """Return the tokens used, by an estimate where the server does not tell them."""
        return self.prompt_tokens + self.completion_tokens + self.estimated_tokens

    @property
    def usd(self) -> float | None:
        """Return what the calls cost, if prices are known."""
        return None if self.prices.cost(0, 0) is None else self.spent

    @property
    def per_second(self) -> float:
        """Return how many calls end in a second."""
        return self.calls / max(time.monotonic() - self.started, 1e-9)

    def count(self, call: Call, share: float = 1.0) -> None:
        """Add one call; `share` is the part of the usual price that it costs."""
        self.calls += 1
        self.reasked += bool(call.task.reask)
        self.by_status[call.status] += 1
        if isinstance(call.answer, Failure):
            self.by_failure[call.answer.kind] += 1
        else:
            self.adapted |= set(call.answer.adapted)
            told = call.answer.prompt_tokens, call.answer.completion_tokens
            length = len(call.answer.text) + len(call.answer.reasoning or "")
            estimate = count_tokens(call.prompt), length // CHARACTERS_A_TOKEN
            self.prompt_tokens += told[0] or 0
            self.completion_tokens += told[1] or 0
            self.estimated_tokens += sum(guess for known, guess in zip(told, estimate, strict=True) if known is None)
            prompt, completion = (
                guess if known is None else known for known, guess in zip(told, estimate, strict=True)
            )
            self.spent += (self.prices.cost(prompt, completion) or 0.0) * share


def count_tokens(prompt: Prompt) -> int:
    """Return about how many tokens a prompt has."""
    return (len(prompt.system) + len(prompt.user)) // CHARACTERS_A_TOKEN


class Run:
    """One run: fetch tasks, ask, read, record; until nothing is left, a limit is met or somebody stops it."""

    def __init__(
        self,
        protocol: Protocol,
        ask: Ask,
        fetch: Callable[[int], Sequence[Task]],
        record: Callable[[Sequence[Call]], None],
        limits: Limits,
    ) -> None:
        self.protocol = protocol
        self.ask = ask
        self.fetch = fetch
        self.record = record
        self.limits = limits
        self.traffic = Traffic(limits.per_minute)
        self.summary = Summary(limits.prices)
        self.in_flight = 0  # calls on their way, or waiting to be recorded
        self._waiting: deque[Task] = deque()
        self._ahead: asyncio.Future[Sequence[Task]] | None = None  # what is fetched while others are asked
        self._next_one = asyncio.Lock()
        self._refusals, self._refused_with = 0, ""
        self._ended: asyncio.Queue[tuple[Call, asyncio.Future[None]] | None] = asyncio.Queue()

    def stop(self, why: str) -> None:
        """Send nothing more, not again either; what is in flight is waited for and kept."""
        self.summary.stopped = self.summary.stopped or why
        self.traffic.stop()

    async def go(self) -> Summary:
        """Run to the end and return how it went; cancelled, it gives up what is in flight and keeps what has ended."""
        writer = asyncio.create_task(self._write())
        self._fetch_ahead()
        places = [asyncio.create_task(self._work()) for _ in range(self.limits.concurrency)]
        try:
            await asyncio.gather(*places)
        finally:
            for place in places:
                place.cancel()
            await asyncio.gather(*places, *([self._ahead] if self._ahead else []), return_exceptions=True)
            self._waiting.clear()
            self._ended.put_nowait(None)
            await writer
        return self.summary

    async def _work(self) -> None:
        """Fill one of the places in which calls fly at once."""
        while task := await self._next():
            self.in_flight += 1
            try:
                await self._call(task)
            finally:
                self.in_flight -= 1

    async def _next(self) -> Task | None:
        """Return what may be asked now; None when nothing is left or the run was stopped."""
        async with self._next_one:
            while self._ahead and not self._waiting and not self.summary.stopped:
                # Whoever gives up waiting does not take from the others what they wait for.
                self._waiting.extend(await asyncio.shield(self._ahead))
                self._ahead = None
                if self._waiting:
                    self._fetch_ahead()
            if self.summary.stopped or not self._waiting or not await self.traffic.turn():
                return None
            return self._waiting.popleft()

    def _fetch_ahead(self) -> None:
        self._ahead = asyncio.ensure_future(asyncio.to_thread(self.fetch, self.limits.concurrency))

    async def _call(self, task: Task) -> None:
        try:
            prompt = task.prompt or render(self.protocol, task.item, task.order)
        except ItemError as error:
            prompt = Prompt(self.protocol.name, task.order, "", "", ())
            answer: Reply | Failure = Failure("request", str(error))
        else:
            answer = await answered(self.ask(prompt))
            self._check_refusals(answer)
        call = read_call(self.protocol, task, prompt, answer)
        self.summary.count(call)
        if isinstance(answer, Failure) and answer.fatal:
            self.stop(answer.message)
        self._check_budget()
        # A call keeps its place until it is recorded, so that a kill never costs more calls than may fly at once.
        recorded = asyncio.get_running_loop().create_future()
        self._ended.put_nowait((call, recorded))
        await recorded

    def _check_refusals(self, answer: Reply | Failure) -> None:
        """Stop when the server refuses one call after the other in the same words."""
        refused = isinstance(answer, Failure) and answer.kind == "request"
        words = _WITH_DIGITS.sub("", answer.message) if isinstance(answer, Failure) and refused else ""
        self._refusals = self._refusals + 1 if words and words == self._refused_with else int(refused)
        self._refused_with = words
        if isinstance(answer, Failure) and self._refusals >= SAME_REFUSALS:
            self.stop(f"the server refused {self._refusals} calls in a row in the same words: {answer.message}")

    def _check_budget(self) -> None:
        if self.limits.budget_tokens is not None and self.summary.tokens >= self.limits.budget_tokens:
            guessed = ", by an estimate, because the server does not tell them" if self.summary.estimated_tokens else ""
            self.stop(f"the budget of {self.limits.budget_tokens} tokens is used up{guessed}")
        usd = self.summary.usd
        if self.limits.budget_usd is not None and usd is not None and usd >= self.limits.budget_usd:
            self.stop(f"the budget of {self.limits.budget_usd:g} USD is used up")

    async def _write(self) -> None:
        """Record what has ended since the last time, in one go."""
        over = False
        while not over:
            batch = [await self._ended.get()]
            while not self._ended.empty():
                batch.append(self._ended.get_nowait())
            over = None in batch
            ended = [entry for entry in batch if entry is not None]
            if not ended:
                continue
            try:
                await asyncio.to_thread(self.record, [call for call, _ in ended])
            except Exception as error:  # noqa: BLE001 (handed to the calls that wait, and raised from there)
                self.stop("what came back could not be stored")
                for recorded in _awaited(ended):
                    recorded.set_exception(error)
            else:
                for recorded in _awaited(ended):
                    recorded.set_result(None)


def _awaited(ended: Sequence[tuple[Call, asyncio.Future[None]]]) -> list[asyncio.Future[None]]:
    """Return what calls still wait for: one that was given up meanwhile is kept, and waits no more."""
    return [recorded for _, recorded in ended if not recorded.done()]


async def answered(answer: Awaitable[Reply | Failure]) -> Reply | Failure:
    """Wait for an answer; a fault of our own is the failure of this one call, not the end of the others."""
    try:
        return await answer
    except AccordError:
        raise
    except Exception as error:  # noqa: BLE001 (kept with the call)
        return fault_in(error)


def read_call(protocol: Protocol, task: Task, prompt: Prompt, answer: Reply | Failure) -> Call:
    """Return a call that has ended, with what is read from its reply."""
    if isinstance(answer, Failure):
        return Call(task, prompt, answer, None)
    try:
        return Call(task, prompt, answer, read(protocol, answer.text, answer.finish_reason))
    except Exception as error:  # noqa: BLE001 (kept with the call)
        return Call(task, prompt, fault_in(error), None)


def verdict_label(protocol: Protocol, call: Call) -> str | None:
    """Return a call's label for the sides as imported."""
    return protocol.unswap(call.reading.label, call.task.order) if isinstance(call.reading, Verdict) else None


def why_none(call: Call) -> str | None:
    """Return why a call brought no label."""
    if isinstance(call.answer, Failure):
        return f"{call.answer.kind}: {call.answer.message}"
    return call.reading.why if isinstance(call.reading, NoVerdict) else None
