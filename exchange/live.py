"""One item judged while somebody looks on; what comes back is kept exactly as a run would keep it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from exchange.endpoints import Connected, Endpoints, Preset
from exchange.run_order import RunOrder
from exchange.study_run import ended_call
from judge.domain import Failure, Order, Prompt, Reading, Reply
from judge.protocol import Protocol, load_version
from judge.read import read
from judge.render import render
from judge.run import Task, answered, read_call, verdict_label
from storage.run_reads import StoredCall
from storage.runs import RunSettings, Wanted
from storage.store import Store

SHOWN_EVERY = 0.1  # seconds; a page gains nothing from more


@dataclass(frozen=True, slots=True)
class LiveCall:
    """One order of the item: the text so far, and what came of it once it has ended.

    `label` is for the item as imported. `stored` is true for a reply that was there before and was not asked for.
    """

    order: Order
    text: str = ""
    reply: Reply | None = None
    failure: Failure | None = None
    reading: Reading | None = None
    label: str | None = None
    usd: float | None = None
    stored: bool = False

    @property
    def ended(self) -> bool:
        """Say whether nothing more will come."""
        return self.reply is not None or self.failure is not None


@dataclass(frozen=True, slots=True)
class Live:
    """How a judge's work on one item stands, its orders side by side."""

    protocol: Protocol
    judge: str
    calls: tuple[LiveCall, ...]

    @property
    def ended(self) -> bool:
        """Say whether every order has come to its end."""
        return all(call.ended for call in self.calls)


async def judge_item(  # noqa: PLR0913, PLR0917 (what, whose, who asks, and how)
    store: Store,
    endpoints: Endpoints,
    study: str,
    item_name: str,
    preset: str | Preset,
    orders: Sequence[Order] = ("AB", "BA"),
    who: str = "",
    *,
    again: bool = False,
) -> AsyncGenerator[Live, None]:
    """Ask a judge about one item of a study and yield how it stands, whenever that has changed.

    What a run with the same settings has on the item already is shown instead of asked, unless `again`; what is
    asked is kept as part of that run. Leave it early under `contextlib.aclosing`: what has ended by then is kept.
    """
    wanted = await asyncio.to_thread(endpoints.preset, preset) if isinstance(preset, str) else preset
    order = RunOrder(study, wanted, who, orders=tuple(orders))
    asking = await asyncio.to_thread(_Asking.prepare, store, endpoints, order, item_name)
    missing = asking.missing(again=again)
    if not missing:
        yield asking.live()
        return
    async with endpoints.connect(wanted, who) as judge:
        tasks = [asyncio.create_task(asking.ask(judge, order)) for order in missing]
        try:
            async for live in asking.watch(tasks):
                yield live
            for task in tasks:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Asking:
    """The work on one item: what is known of it, and what is on its way."""

    store: Store
    study: str
    protocol: Protocol
    settings: RunSettings
    preset: Preset
    wanted: dict[Order, Wanted]
    prompts: dict[Order, Prompt]
    calls: dict[Order, LiveCall]

    @classmethod
    def prepare(cls, store: Store, endpoints: Endpoints, order: RunOrder, item_name: str) -> _Asking:
        """Find the item and what is stored of it; an item the protocol cannot render is refused here."""
        protocol = load_version(store.study(order.study).protocol)
        settings = order.settings(protocol, endpoints.model_of(order.preset, order.who))
        number, item, known = store.item_of_run(store.find_run(order.study, settings), order.study, item_name)
        orders = settings.orders
        wanted = {
            each: Wanted(number, item, each, 0, known[each].verdict if each in known else None) for each in orders
        }
        prompts = {each: render(protocol, item, each) for each in orders}
        calls = {
            each: _known_call(protocol, known[each], order.preset)
            if each in known and known[each].error is None
            else LiveCall(each)
            for each in orders
        }
        return cls(store, order.study, protocol, settings, order.preset, wanted, prompts, calls)

    def missing(self, *, again: bool) -> list[Order]:
        """Return the orders to ask in; all of them when everything is to be asked again."""
        if again:
            self.calls = {order: LiveCall(order) for order in self.calls}
        return [order for order, call in self.calls.items() if not call.ended]

    def live(self) -> Live:
        """Return how it stands."""
        return Live(self.protocol, self.settings.judge, tuple(self.calls.values()))

    async def watch(self, tasks: Sequence[asyncio.Task[None]]) -> AsyncIterator[Live]:
        """Yield how it stands whenever that has changed, until every task is done."""
        last = None
        over = False
        while not over:
            over = all(task.done() for task in tasks)
            now = self.live()
            if now != last:
                yield now
                last = now
            if not over:
                await asyncio.wait(tasks, timeout=SHOWN_EVERY)

    async def ask(self, judge: Connected, order: Order) -> None:
        """Ask in one order, piece by piece, and keep what comes of it."""
        began = time.perf_counter()
        answer = await answered(self._listen(judge, order))
        if isinstance(answer, Failure):
            answer = replace(answer, seconds=time.perf_counter() - began)
        await self._keep(order, answer)

    async def _listen(self, judge: Connected, order: Order) -> Reply | Failure:
        answer: Reply | Failure = Failure("server", "the stream ended without an answer")
        async with aclosing(judge.stream(self.prompts[order], self.protocol)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    self.calls[order] = replace(self.calls[order], text=self.calls[order].text + piece)
                else:
                    answer = piece
        return answer

    async def _keep(self, order: Order, answer: Reply | Failure) -> None:
        wanted = self.wanted[order]
        call = read_call(self.protocol, Task(wanted.item, order, 0, (0, wanted)), self.prompts[order], answer)
        ended = ended_call(self.protocol, call)
        await asyncio.to_thread(self.store.keep_single_calls, self.study, self.settings, [ended])
        label = verdict_label(self.protocol, call)
        if isinstance(call.answer, Failure):
            self.calls[order] = replace(self.calls[order], failure=call.answer)
        else:
            usd = self.preset.prices.cost(call.answer.prompt_tokens or 0, call.answer.completion_tokens or 0)
            self.calls[order] = LiveCall(order, call.answer.text, call.answer, None, call.reading, label, usd)


def _known_call(protocol: Protocol, stored: StoredCall, preset: Preset) -> LiveCall:
    """Return a reply that is in the store, read again by the rules of today."""
    usage: dict[str, Any] = dict(stored.usage or {})
    text = stored.raw or ""
    reply = Reply(
        text,
        stored.finish_reason,
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        seconds=stored.seconds or 0.0,
    )
    usd = preset.prices.cost(reply.prompt_tokens or 0, reply.completion_tokens or 0)
    reading = read(protocol, text, stored.finish_reason)
    return LiveCall(stored.order, text, reply, None, reading, stored.label, usd, stored=True)
