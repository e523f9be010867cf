"""A judge over a stored study: what somebody asks for, done, estimated, or read again."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from exchange.study_run import judge_study, prepare_run
from judge.client import Client, Endpoint
from judge.domain import Failure, InputError, Order, Prompt, Reply
from judge.protocol import Protocol, load_version
from judge.read import read
from judge.render import render
from judge.run import Limits, Run, Summary, count_tokens
from storage.codec import item_from_json
from storage.run_reads import FAILURE_KINDS
from storage.run_store import RunStore
from storage.runs import RunSettings

PAGE = 200  # items of an estimate at a time
Constraints = Callable[[Protocol], Mapping[str, object]]


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
    reask: int = 0
    request: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    timeout: float | None = None  # seconds for each try of a call
    weights: Path | None = None  # another GGUF file for the embedded model
    batch: bool = False
    wait: bool = True  # for a batch to be answered

    @property
    def embedded(self) -> bool:
        """Say whether nothing was named, so that the embedded model judges."""
        return self.model is None and self.base_url is None and not self.key

    def alone(self) -> JudgeOrder:
        """Return the order as the embedded model can fill it, if it is for that."""
        if not self.embedded:
            return self
        from judge.embedded import embedded_name

        # Two cores read one prompt as fast as two; a name that says what it is goes into every table and export.
        name = self.name or embedded_name(self.weights)
        return replace(self, name=name, limits=replace(self.limits, concurrency=1))

    def settings(self, protocol: Protocol, model: str) -> RunSettings:
        """Return the settings of the run; what was not said is as the protocol says."""
        said = {name: value for name, value in self.request.items() if value is not None}
        orders = self.orders if protocol.kind == "pairwise" else ("AB",)
        request = {**protocol.request, **said}
        bounds = self.repeats, self.limit, self.reuse, self.reask
        return RunSettings(self.name or model, model, request, orders, *bounds)


@contextmanager
def served(wanted: JudgeOrder) -> Iterator[tuple[Endpoint, Constraints]]:
    """Give where the judge that was asked for is served, and what its model is held to; or say what is missing."""
    if wanted.embedded:
        # Imported here because only a judge without a server needs it, and it is slow to load.
        from judge.embedded import EmbeddedModel

        with EmbeddedModel(wanted.weights) as model:
            yield patient(model.start(), wanted.timeout), model.request
        return
    if wanted.model is None:
        raise InputError("no model is named: add --model")
    if wanted.base_url is None and not wanted.key:
        raise InputError("there is no key: set OPENAI_API_KEY (or --api-key-env), or name a server with --base-url")
    yield patient(Endpoint(wanted.base_url, wanted.model, wanted.key), wanted.timeout), lambda _: {}


def patient(endpoint: Endpoint, timeout: float | None) -> Endpoint:
    """Return an endpoint that is waited for as long as was wished."""
    return endpoint if timeout is None else replace(endpoint, timeout=timeout)


def check_order(wanted: JudgeOrder) -> None:
    """Refuse an order that contradicts itself."""
    if wanted.embedded and wanted.batch:
        raise InputError("the embedded model takes no batches: leave --batch out, or give --model and a key")
    if wanted.limits.budget_usd is not None and wanted.limits.prices.cost(0, 0) is None:
        raise InputError("a budget in USD needs --price-prompt and --price-completion; or set --budget-tokens")


def run_judge(store: RunStore, wanted: JudgeOrder, tell: Callable[[str], None]) -> dict[str, Any]:
    """Judge a study and return how it went; Ctrl-C stops it cleanly."""
    check_order(wanted)
    with served(wanted) as (endpoint, constraints):
        return asyncio.run(_judge(store, wanted.alone(), endpoint, tell, constraints))


async def _judge(
    store: RunStore,
    wanted: JudgeOrder,
    endpoint: Endpoint,
    tell: Callable[[str], None],
    constraints: Constraints,
) -> dict[str, Any]:
    protocol = load_version(store.study(wanted.study).protocol)
    settings = wanted.settings(protocol, endpoint.model)
    request = {**settings.request, **constraints(protocol)}

    async def ask(prompt: Prompt) -> Reply | Failure:
        return await client.ask(prompt, request, protocol.scale)

    part, run = prepare_run(store, wanted.study, settings, ask, wanted.limits)
    async with Client(endpoint, traffic=run.traffic) as client:
        if wanted.batch:
            from exchange.batching import BatchRun

            work = BatchRun(part, run, client, request, tell).go(wait=wanted.wait)
        else:
            work = judge_study(part, run, tell)
        summary = await interruptible(run, work, tell)
    pending = store.count_pending(part.row)
    if pending and not wanted.batch:
        run.stop(f"{pending} requests are in batches at the server: the same command with --batch collects them")
    return {
        "study": wanted.study,
        "judge": settings.judge,
        "model": settings.model,
        "protocol": protocol.name,
        "calls": summary.calls,
        "reused": part.reused,
        "reasked": summary.reasked,
        "by_status": dict(summary.by_status),
        "failures": dict(summary.by_failure),
        "failure_examples": _failure_examples(store, wanted.study, part.row.id),
        "prompt_tokens": summary.prompt_tokens,
        "completion_tokens": summary.completion_tokens,
        "adapted": sorted(summary.adapted),
        "estimated_tokens": summary.estimated_tokens,
        "usd": summary.usd,
        "pending": pending,
        "missing": part.missing(),
        "stopped": summary.stopped,
        "run": store.run_counts(part.row),
    }


async def interruptible(run: Run, work: Coroutine[Any, Any, Summary], tell: Callable[[str], None]) -> Summary:
    """Do the work of a run; Ctrl-C waits for calls in flight and keeps them, a second one gives them up."""
    working = asyncio.ensure_future(work)
    presses = itertools.count(1)

    def interrupt() -> None:
        press = next(presses)
        run.stop("interrupted")
        if press == 1 and run.in_flight:
            tell(f"waiting for {run.in_flight} calls in flight; press Ctrl-C again to give them up")
        elif press == 2:
            working.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await working
    except asyncio.CancelledError:  # by nobody but a second Ctrl-C
        return run.summary


def _failure_examples(store: RunStore, study: str, run: int) -> dict[str, Any]:
    """Return what has failed of a run by kind, each with what one of the calls ended in."""
    kinds = {kind: count for kind, count in store.failures_by_kind(study, run).items() if kind in FAILURE_KINDS}
    examples = {kind: store.failed_calls(study, run, kind, 1)[0].error or "" for kind in kinds}
    return {
        kind: {"count": count, "example": examples[kind].removeprefix(f"{kind}: ")} for kind, count in kinds.items()
    }


def estimate_run(store: RunStore, wanted: JudgeOrder) -> dict[str, Any]:
    """Say what a run would ask, without asking: calls that are missing, tokens, cost and the first prompt."""
    from exchange.batching import TOKENS_AN_ANSWER
    from judge.batch import PRICE

    check_order(wanted)
    wanted = wanted.alone()
    protocol = load_version(store.study(wanted.study).protocol)
    settings = wanted.settings(protocol, _embedded_model(wanted) if wanted.embedded else wanted.model or "")
    first: Prompt | None = None
    tokens = items = known = 0
    bodies = (body for body, _ in itertools.islice(store.records(wanted.study), wanted.limit))
    while page := [item_from_json(json.loads(body)) for body in itertools.islice(bodies, PAGE)]:
        asked = [render(protocol, item, order) for item in page for order in settings.orders]
        first = first or asked[0]
        tokens += sum(map(count_tokens, asked))
        items += len(page)
        known += _count_known(store, settings, [prompt.hash for prompt in asked])
    calls = items * len(settings.orders) * settings.repeats
    run = store.find_run(wanted.study, settings)
    made, pending = (store.made_calls(run), store.count_pending(run)) if run else (0, 0)
    stored, reused = made + pending, max(known - made, 0)  # what is stored is known too
    left = max(calls - stored - reused, 0)
    prompts, answers = round(tokens / max(items * len(settings.orders), 1) * left), left * TOKENS_AN_ANSWER
    usd = wanted.limits.prices.cost(prompts, answers)
    return {
        "calls": left,
        "stored": stored,
        "reused": reused,
        "prompt_tokens": prompts,
        "completion_tokens": answers,
        "usd": usd * PRICE if usd is not None and wanted.batch else usd,
        "first_system": first.system if first else "",
        "first_prompt": first.user if first else "",
    }


def _count_known(store: RunStore, settings: RunSettings, prompts: list[str]) -> int:
    """Return how many of these calls have been answered before, here or elsewhere, and would not be made."""
    if not settings.reuse:
        return 0
    known = store.known_replies(settings, prompts)
    return sum((prompt, repeat) in known for prompt in prompts for repeat in range(settings.repeats))


def _embedded_model(wanted: JudgeOrder) -> str:
    from judge.embedded import find_weights

    return find_weights(wanted.weights).stem


def reread_study(store: RunStore, study: str) -> list[dict[str, Any]]:
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
