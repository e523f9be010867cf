"""A judge's run over a stored study: what is missing comes from the store, what ends goes back to it."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.client import Client, Endpoint
from judge.domain import Failure, InputError, ItemError, Order, Prompt, Reply
from judge.protocol import Protocol, load_version
from judge.read import read
from judge.render import render
from judge.run import Ask, Call, Limits, Run, Summary, Task, verdict_label, why_none
from storage.codec import item_from_json
from storage.runs import Ended, RunRow, RunSettings, Wanted
from storage.store import Store

TOLD_EVERY = 2.0  # seconds
CHARACTERS_A_TOKEN = 4  # a rule of thumb for English; an estimate needs no more
TOKENS_AN_ANSWER = 400


@dataclass(slots=True)
class StudyRun:
    """One process's part in a run; several may work on the same run and share it."""

    store: Store
    row: RunRow
    protocol: Protocol
    reused: int = 0
    waiting: list[Task] = field(default_factory=list)
    left: dict[int, int] = field(default_factory=dict)

    def total(self) -> int:
        """Return how many calls the whole run consists of."""
        settings, size = self.row.settings, self.row.study.study.items
        return min(size, settings.limit or size) * len(settings.orders) * settings.repeats

    def fetch(self, count: int) -> list[Task]:
        """Return up to so many calls still to be made; none when nothing is left for this process."""
        while not self.waiting:
            taken = self.store.take_stretch(self.row)
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
        """Keep calls that have ended."""
        finished = []
        for call in calls:
            first = call.task.key[0]
            self.left[first] -= 1
            if not self.left[first]:
                finished.append(first)
        self.store.keep_calls(self.row, [ended_call(self.protocol, call) for call in calls], finished)

    def _to_ask(self, first: int, wanted: list[Wanted]) -> list[Task]:
        """Keep copies of replies that are known from elsewhere, and return what has to be asked."""
        tasks = [self._task(first, each) for each in wanted]
        if not self.row.settings.reuse:
            return tasks
        hashes = {task.prompt.hash for task in tasks if task.prompt}
        known = self.store.known_replies(self.row, list(hashes)) if hashes else {}
        found = [(task, known.get((task.prompt.hash, task.repeat)) if task.prompt else None) for task in tasks]
        copies = [_copied(self.protocol, task.key[1], reply) for task, reply in found if reply is not None]
        if copies:
            self.reused += len(copies)
            self.store.keep_calls(self.row, copies)
        return [task for task, reply in found if reply is None]

    def _task(self, first: int, wanted: Wanted) -> Task:
        try:
            prompt = render(self.protocol, wanted.item, wanted.order)
        except ItemError:
            prompt = None  # the run will say what is wrong with it
        return Task(wanted.item, wanted.order, wanted.repeat, (first, wanted), prompt)


def _copied(protocol: Protocol, wanted: Wanted, reply: Any) -> Ended:
    reading = read(protocol, reply.raw, reply.finish_reason)
    label = protocol.unswap(reading.label, wanted.order) if reading.status == "ok" else None
    kept = {"prompt_hash": reply.prompt_hash, "raw": reply.raw, "finish_reason": reply.finish_reason}
    return Ended(wanted, reading.status, label, model=reply.model, copy_of=reply.id, **kept)


def ended_call(protocol: Protocol, call: Call) -> Ended:
    """Return a call as it is kept."""
    answer = call.answer
    if isinstance(answer, Failure):
        return Ended(call.task.key[1], "failed", seconds=answer.seconds, error=why_none(call))
    return Ended(
        wanted=call.task.key[1],
        status=call.reading.status if call.reading else "failed",
        label=verdict_label(protocol, call),
        prompt_hash=call.prompt.hash,
        prompt=f"{call.prompt.system}\n\n{call.prompt.user}" if call.prompt.system else call.prompt.user,
        raw=answer.text,
        finish_reason=answer.finish_reason,
        model=answer.model,
        usage=_usage(answer),
        seconds=answer.seconds,
    )


def _usage(reply: Reply) -> dict[str, Any]:
    told = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "reasoning": reply.reasoning,
        "label_probabilities": dict(reply.label_probabilities),
        "adapted": list(reply.adapted),
    }
    return {name: value for name, value in told.items() if value}


def prepare_run(store: Store, study: str, settings: RunSettings, ask: Ask, limits: Limits) -> tuple[StudyRun, Run]:
    """Return a run that does what is missing of these settings in a study."""
    row = store.open_run(study, settings)
    part = StudyRun(store, row, load_version(store.study(study).protocol))
    return part, Run(part.protocol, ask, part.fetch, part.record, limits)


async def judge_study(part: StudyRun, run: Run, tell: Callable[[str], None]) -> Summary:
    """Run to the end, telling how it goes; what this process leaves undone is free for the next one at once."""
    total = part.total()
    before = sum(count for status, count in part.store.run_counts(part.row).items() if status != "failed")
    teller = asyncio.create_task(_keep_telling(run.summary, total - before, tell))
    try:
        return await run.go()
    finally:
        teller.cancel()
        part.store.give_up(part.row)


async def _keep_telling(summary: Summary, missing: int, tell: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(TOLD_EVERY)
        tell(progress_line(summary, missing))


def progress_line(summary: Summary, missing: int) -> str:
    """Say in one line how a run stands: rate, time left, cost so far, failures by kind."""
    rate = summary.per_second
    left = max(missing - summary.calls, 0) / rate if rate else 0
    told = [f"{summary.calls} of {missing} calls", f"{rate:.1f} a second", f"about {left:.0f} s left"]
    tokens = summary.prompt_tokens + summary.completion_tokens
    told.append(f"{summary.usd:.4f} USD" if summary.usd is not None else f"{tokens} tokens")
    told += [f"{count} {kind}" for kind, count in sorted(summary.by_failure.items())]
    return " · ".join(told)


@dataclass(frozen=True, slots=True)
class JudgeOrder:
    """What somebody asks for: which model judges which study, and within which limits."""

    study: str
    model: str | None = None
    base_url: str | None = None
    name: str | None = None
    key: str = field(default="", repr=False)
    orders: tuple[Order, ...] = ("AB", "BA")
    repeats: int = 1
    limit: int | None = None
    reuse: bool = True
    request: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    weights: Path | None = None  # another GGUF file for the embedded model

    @property
    def embedded(self) -> bool:
        """Say whether nothing was named, so that the embedded model judges."""
        return self.model is None and self.base_url is None and not self.key

    def settings(self, protocol: Protocol, model: str) -> RunSettings:
        """Return the settings of the run; what was not said is as the protocol says."""
        said = {name: value for name, value in self.request.items() if value is not None}
        orders = self.orders if protocol.kind == "pairwise" else ("AB",)
        request = {**protocol.request, **said}
        return RunSettings(self.name or model, model, request, orders, self.repeats, self.limit, self.reuse)


def run_judge(store: Store, wanted: JudgeOrder, tell: Callable[[str], None]) -> dict[str, Any]:
    """Judge a study and return how it went; Ctrl-C stops it cleanly."""
    if wanted.embedded:
        # Imported here because only a judge without a server needs it, and it is slow to load.
        from judge.embedded import LABEL, EmbeddedModel

        # Two cores read one prompt as fast as two; a name that says what it is goes into every table and export.
        alone = replace(wanted, name=wanted.name or LABEL, limits=replace(wanted.limits, concurrency=1))
        with EmbeddedModel(wanted.weights) as model:
            return asyncio.run(_judge(store, alone, model.start(), tell, model.request))
    if wanted.model is None:
        raise InputError("no model is named: add --model")
    if wanted.base_url is None and not wanted.key:
        raise InputError("there is no key: set OPENAI_API_KEY (or --api-key-env), or name a server with --base-url")
    return asyncio.run(_judge(store, wanted, Endpoint(wanted.base_url, wanted.model, wanted.key), tell))


async def _judge(
    store: Store,
    wanted: JudgeOrder,
    endpoint: Endpoint,
    tell: Callable[[str], None],
    constraints: Callable[[Protocol], Mapping[str, object]] = lambda _: {},
) -> dict[str, Any]:
    protocol = load_version(store.study(wanted.study).protocol)
    settings = wanted.settings(protocol, endpoint.model)
    async with Client(endpoint) as client:

        async def ask(prompt: Prompt) -> Reply | Failure:
            return await client.ask(prompt, {**settings.request, **constraints(protocol)}, protocol.scale)

        part, run = prepare_run(store, wanted.study, settings, ask, wanted.limits)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, run.stop, "interrupted")
        summary = await judge_study(part, run, tell)
    return {
        "study": wanted.study,
        "judge": settings.judge,
        "model": settings.model,
        "protocol": protocol.name,
        "calls": summary.calls,
        "reused": part.reused,
        "by_status": dict(summary.by_status),
        "failures": dict(summary.by_failure),
        "prompt_tokens": summary.prompt_tokens,
        "completion_tokens": summary.completion_tokens,
        "usd": summary.usd,
        "stopped": summary.stopped,
        "run": store.run_counts(part.row),
    }


def estimate_run(store: Store, wanted: JudgeOrder) -> dict[str, Any]:
    """Say what a run would ask, without asking: calls, tokens, cost and the first prompt."""
    study = store.study(wanted.study)
    protocol = load_version(study.protocol)
    settings = wanted.settings(protocol, wanted.model or "embedded")
    bodies = itertools.islice(store.records(wanted.study), wanted.limit)
    sizes = 0
    first = ""
    count = 0
    for body, _ in bodies:
        prompt = render(protocol, item_from_json(json.loads(body)))
        first = first or prompt.user
        sizes += (len(prompt.system) + len(prompt.user)) * len(settings.orders) * settings.repeats
        count += len(settings.orders) * settings.repeats
    tokens = sizes // CHARACTERS_A_TOKEN
    answers = count * TOKENS_AN_ANSWER
    usd = wanted.limits.prices.cost(tokens, answers)
    return {"calls": count, "prompt_tokens": tokens, "completion_tokens": answers, "usd": usd, "first_prompt": first}


def reread_study(store: Store, study: str) -> list[dict[str, Any]]:
    """Read every stored reply of a study again and return what changed."""
    protocol = load_version(store.study(study).protocol)

    def reader(call: Any) -> tuple[str, str | None]:
        if call.run_id is None and call.status == "ok":
            return (
                call.status,
                call.label,
            )  # a label that came with the file was not read here, perhaps not by these rules
        reading = read(protocol, call.raw, call.finish_reason)
        return reading.status, protocol.unswap(reading.label, call.order or "AB") if reading.status == "ok" else None

    return store.read_again(study, reader)
