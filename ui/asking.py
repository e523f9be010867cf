"""One or two judges asked at once on the page, their replies shown as they arrive; nothing of it is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass

from exchange.endpoints import Connected
from judge.domain import AccordError, Failure, Prompt, Reply
from judge.protocol import Protocol
from judge.read import read
from ui.display import escape, show_reading

TICK = 0.125  # seconds between two looks at what has arrived
STILL = 1.0  # seconds after which the clock is shown again though nothing has arrived

Connect = Callable[[str], AbstractAsyncContextManager[Connected]]  # a judge by its name, with somebody's keys


@dataclass(slots=True)
class Asked:
    """One judge's answer as far as it has come."""

    judge: str
    began: float
    text: str = ""
    ended: Reply | Failure | str | None = None  # a text says why nothing could be asked
    usd: float | None = None
    seconds: float = 0.0
    stopped: bool = False


async def ask_judges(
    connect: Connect, names: Sequence[str], prompt: Prompt, protocol: Protocol, stop: asyncio.Event
) -> AsyncGenerator[list[Asked], None]:
    """Yield how far every judge has come, at most eight times a second, until all have ended or somebody stops it."""
    asked = [Asked(name, time.perf_counter()) for name in names]
    tasks = [asyncio.create_task(_ask(connect, each, prompt, protocol)) for each in asked]
    try:
        told: list[tuple[int, bool, int]] = []
        while not stop.is_set() and not all(task.done() for task in tasks):
            for each in asked:
                each.seconds = each.seconds if each.ended else time.perf_counter() - each.began
            now = [(len(each.text), each.ended is None, int(each.seconds / STILL)) for each in asked]
            if now != told:
                told = now
                yield asked
            await asyncio.sleep(TICK)
        for task in tasks:
            if task.done():
                task.result()  # an error that nobody foresaw is not for us to hide
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for each in asked:
        each.stopped = each.ended is None
    yield asked


async def _ask(connect: Connect, asked: Asked, prompt: Prompt, protocol: Protocol) -> None:
    try:
        async with connect(asked.judge) as judge, aclosing(judge.stream(prompt, protocol)) as stream:
            async for piece in stream:
                if isinstance(piece, str):
                    asked.text += piece
                    continue
                asked.ended, asked.seconds = piece, piece.seconds
                if isinstance(piece, Reply) and piece.prompt_tokens and piece.completion_tokens:
                    asked.usd = judge.preset.prices.cost(piece.prompt_tokens, piece.completion_tokens)
    except AccordError as error:
        asked.ended = str(error)


def show_asked(asked: Asked, protocol: Protocol, prompt: Prompt) -> str:
    """Return a judge's column: what it says, and, once it has ended, what was read from it."""
    ended = asked.ended
    if isinstance(ended, Reply):
        reading = read(protocol, ended.text, ended.finish_reason)
        body = _reasoning(ended) + show_reading(protocol, reading, ended.text, prompt.order)
    elif ended is None:
        body = _arriving(asked)
    else:
        why = ended if isinstance(ended, str) else ended.message
        lead = "There is no reply." if not asked.text else "The reply broke off."
        body = _problem(lead, why) + (_arriving(asked) if asked.text else "")
    running = ended is None and not asked.stopped
    return (
        f'<section class="asked" aria-label="{escape(asked.judge)}" aria-busy="{str(running).lower()}">'
        f'<h2><span class="judge" aria-hidden="true">◆</span> {escape(asked.judge)}</h2>'
        f'<p class="facts">{" · ".join(_facts(asked))}</p>{body}</section>'
    )


def show_unasked(message: str = "") -> str:
    """Return what stands in a column before a judge is asked, or why none can be."""
    if message:
        return _problem("Nothing was asked.", message)
    return '<p class="unasked">Run sends the prompt, exactly as it stands, to the judge. Nothing of it is stored.</p>'


def _problem(lead: str, why: str) -> str:
    return f'<p class="problem" role="alert"><strong>{lead}</strong> {escape(why)}</p>'


def _arriving(asked: Asked) -> str:
    waiting = "" if asked.text or asked.stopped else '<span class="waiting">Waiting for the first word …</span>'
    return (
        f'<pre class="arriving" tabindex="0" aria-label="Reply of {escape(asked.judge)}">'
        f'<span class="text">{escape(asked.text)}</span>{waiting}</pre>'
    )


def _reasoning(reply: Reply) -> str:
    if not reply.reasoning:
        return ""
    return (
        f"<details><summary>Reasoning, {len(reply.reasoning):,} characters</summary>"
        f'<pre class="arriving" tabindex="0">{escape(reply.reasoning)}</pre></details>'
    )


def _facts(asked: Asked) -> list[str]:
    reply = asked.ended
    if asked.stopped:
        return [f"Stopped after {asked.seconds:.1f} s", f"{len(asked.text):,} characters had arrived"]
    if not isinstance(reply, Reply):
        return [f"{asked.seconds:.0f} s", f"{len(asked.text):,} characters"]
    counts = (reply.prompt_tokens, reply.completion_tokens)
    tokens = " + ".join("?" if count is None else f"{count:,}" for count in counts)
    facts = [f"{reply.seconds:.1f} s", f'<span title="of the prompt + of the reply">{tokens} tokens</span>']
    if asked.usd:  # what is free needs no price
        facts.append(f"{asked.usd:.4f} USD")
    if reply.model and reply.model != asked.judge:
        facts.append(escape(reply.model))
    if reply.adapted:
        facts.append(f"sent without {escape(', '.join(reply.adapted))}")
    return facts
