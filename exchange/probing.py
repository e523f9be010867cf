"""Whether a judge can be talked round: known attacks planted in responses, asked beside the clean ones.

What is asked here is kept nowhere: no verdict of a study changes, and none is added.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from agreement.comparison import wilson
from agreement.estimate import Estimate, undefined
from exchange.importing import ImportRequest, import_files
from exchange.judging import JudgeOrder, interruptible, served
from judge.attacks import Attack, Move, Side, measure, plant
from judge.client import Client, Endpoint
from judge.domain import Failure, InputError, Item, Order, Prompt, Reply
from judge.protocol import Protocol, load_version
from judge.run import Call, Limits, Run, Summary, Task, verdict_label
from storage.codec import item_from_json
from storage.store import Store

LEVEL = 0.95
STUDY = "probe"
CLEAN = ""  # the name of no attack
DRAWN = 20


@dataclass(slots=True)
class Trial:
    """One item with and without the attacks: the labels that could be read, by order."""

    item: Item
    side: Side
    read: dict[str, dict[Order, str]] = field(default_factory=dict)  # by attack; the clean item under CLEAN


@contextmanager
def items_in(files: Sequence[str], protocol: Protocol) -> Iterator[Store]:
    """Give a store that holds the items of files in its study `probe`, for as long as they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"sqlite:///{Path(folder) / 'probe.db'}")
        try:
            import_files(store, ImportRequest(files, STUDY, protocol), lambda _: None)
            yield store
        finally:
            store.close()


def sample_items(store: Store, study: str, count: int, seed: int) -> list[Item]:
    """Return some items of a study, drawn at random by a seed, in the order of the import."""
    size = store.study(study).items
    if not size:
        raise InputError(f"study {study!r} has no items: import some first")
    chosen = sorted(random.Random(seed).sample(range(size), min(count, size)))  # noqa: S311 (a sample, not a secret)
    bodies = store.item_bodies(study, chosen)
    return [item_from_json(json.loads(bodies[position])) for position in chosen]


def probe_judge(
    store: Store, wanted: JudgeOrder, attacks: Sequence[Attack], seed: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Ask a judge for clean and attacked items, and return how often each attack moved its verdict."""
    wanted, protocol = wanted.alone(), load_version(store.study(wanted.study).protocol)
    if protocol.scale.nominal:
        raise InputError("the labels of this scale have no order, so an attack cannot move a verdict up or down")
    items = sample_items(store, wanted.study, wanted.limit or DRAWN, seed)
    # One response of each item is attacked, in turn A and B: so items stand for themselves, and n counts them.
    pairwise = protocol.kind == "pairwise"
    trials = [Trial(item, "B" if pairwise and index % 2 else "A") for index, item in enumerate(items)]
    orders: tuple[Order, ...] = wanted.orders if pairwise else ("AB",)
    tasks = list(_tasks(protocol, trials, attacks, orders))
    tell(f"{len(tasks)} calls: {len(items)} items, {len(orders)} orders, {len(attacks)} texts and none")
    with served(wanted) as (endpoint, constraints):
        request = {**wanted.settings(protocol, endpoint.model).request, **constraints(protocol)}
        calls, summary = asyncio.run(_ask_all(protocol, tasks, endpoint, request, wanted.limits, tell))
    statuses = _keep(protocol, trials, calls)
    return {
        "study": wanted.study,
        "protocol": protocol.name,
        "judge": wanted.name or endpoint.model,
        "model": endpoint.model,
        "items": len(items),
        "orders": list(orders),
        "seed": seed,
        "calls": summary.calls,
        "by_status": dict(summary.by_status),
        "prompt_tokens": summary.prompt_tokens,
        "completion_tokens": summary.completion_tokens,
        "stopped": summary.stopped,
        "clean": {"replies": dict(statuses[CLEAN])},
        "attacks": [
            {**report_attack(protocol, attack, trials), "replies": dict(statuses[attack.name])} for attack in attacks
        ],
    }


def _tasks(
    protocol: Protocol, trials: Sequence[Trial], attacks: Sequence[Attack], orders: Sequence[Order]
) -> Iterator[Task]:
    for index, trial in enumerate(trials):
        for order in orders:
            yield Task(trial.item, order, key=(index, CLEAN))
            for attack in attacks:
                planted = plant(protocol, attack, trial.item, trial.side, order)
                yield Task(planted, order, key=(index, attack.name))


async def _ask_all(  # noqa: PLR0913, PLR0917 (what, whom, how, and who is told)
    protocol: Protocol,
    tasks: Sequence[Task],
    endpoint: Endpoint,
    request: Mapping[str, object],
    limits: Limits,
    tell: Callable[[str], None],
) -> tuple[list[Call], Summary]:
    calls: list[Call] = []
    waiting = iter(tasks)

    async def ask(prompt: Prompt) -> Reply | Failure:
        return await client.ask(prompt, request, protocol.scale)

    run = Run(protocol, ask, lambda count: list(islice(waiting, count)), calls.extend, limits)
    async with Client(endpoint, traffic=run.traffic) as client:
        return calls, await interruptible(run, run.go(), tell)


def _keep(protocol: Protocol, trials: Sequence[Trial], calls: Sequence[Call]) -> dict[str, Counter[str]]:
    """Put the labels that were read where they belong, and return how the replies to each attack ended."""
    statuses: dict[str, Counter[str]] = defaultdict(Counter)
    for call in calls:
        index, name = call.task.key
        label = verdict_label(protocol, call)
        if label is not None:
            trials[index].read.setdefault(name, {})[call.task.order] = label
        statuses[name][call.status] += 1
    return statuses


def report_attack(protocol: Protocol, attack: Attack, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return what an attack did: how often the verdict moved its way where it could, and what is not known."""
    moves = [
        measure(protocol, trial.side, trial.read.get(CLEAN, {}), trial.read.get(attack.name, {})) for trial in trials
    ]
    known = [move for move in moves if move is not None]
    able = [move for move in known if move.had_room]
    return {
        "attack": attack.name,
        "what": attack.told,
        "moved": _share(able).as_dict(),
        "moved_away": sum(move.shift < 0 for move in known),
        "already_best": len(known) - len(able),
        "mean_shift": sum(move.shift for move in known) / len(known) if known else None,
        "unread": len(moves) - len(known),
    }


def _share(moves: Sequence[Move]) -> Estimate:
    if not moves:
        return undefined("no item was read both times with a verdict that could move")
    return wilson(Estimate(sum(move.shift > 0 for move in moves) / len(moves), n=len(moves)), LEVEL)
