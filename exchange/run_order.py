"""What somebody asks of a judge on a page: checked, estimated, and kept so that it can be gone on with."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from exchange.batching import TOKENS_AN_ANSWER
from exchange.endpoints import Endpoints, Preset
from exchange.judging import JudgeOrder
from judge.domain import InputError, Order, Prompt
from judge.protocol import Protocol, load_version
from judge.render import render
from judge.run import Limits, Prices, count_tokens
from storage.codec import item_from_json
from storage.runs import RunSettings
from storage.store import Store

SAMPLE = 200  # items: their mean length stands for that of all


@dataclass(frozen=True, slots=True)
class RunOrder:
    """Which judge is to go over which study, and within which limits; `who` says whose key is used."""

    study: str
    preset: Preset
    who: str = field(default="", repr=False)
    name: str | None = None
    orders: tuple[Order, ...] = ("AB", "BA")
    repeats: int = 1
    limit: int | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    def settings(self, protocol: Protocol, model: str) -> RunSettings:
        """Return the settings of the run, the same as the command line's for the same wishes."""
        # A name that says what the embedded model is goes into every table and export.
        name = self.name or (self.preset.name if self.preset.embedded else None)
        said = JudgeOrder(self.study, name=name, orders=self.orders, repeats=self.repeats, limit=self.limit)
        return replace(said, request=self.request).settings(protocol, model)

    def bounds(self) -> Limits:
        """Return the limits with the preset's prices; the embedded model answers one call at a time."""
        limits = replace(self.limits, prices=self.preset.prices)
        if limits.budget_usd is not None and limits.prices.cost(0, 0) is None:
            raise InputError(
                "a budget in USD needs the prices of the tokens: give them to the endpoint on the page Settings, "
                "or set a budget in tokens"
            )
        return replace(limits, concurrency=1) if self.preset.embedded else limits

    def described(self) -> dict[str, Any]:
        """Return the order as JSON, without anything of the person who gave it."""
        return {name: value for name, value in asdict(self).items() if name not in ("study", "who")}


def order_again(study: str, described: Mapping[str, Any], who: str) -> RunOrder:
    """Return an order as it was described, now given by somebody who may be another person."""
    preset, limits = dict(described["preset"]), dict(described["limits"])
    preset["prices"], limits["prices"] = Prices(**preset["prices"]), Prices(**limits["prices"])
    same = {name: described[name] for name in ("name", "repeats", "limit", "request")}
    return RunOrder(study, Preset(**preset), who, orders=tuple(described["orders"]), limits=Limits(**limits), **same)


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run would ask: calls in all, those that need no asking, tokens and cost of the rest."""

    model: str
    items: int
    calls: int
    stored: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    first_prompt: Prompt | None


def estimate_order(store: Store, endpoints: Endpoints, order: RunOrder) -> RunEstimate:
    """Say what an order would ask, without asking; the lengths are those of the first items."""
    study = store.study(order.study)
    protocol = load_version(study.protocol)
    model = endpoints.model_of(order.preset, order.who)
    settings = order.settings(protocol, model)
    count = min(study.items, order.limit or study.items)
    calls = count * len(settings.orders) * settings.repeats
    run = store.find_run(order.study, settings)
    stored = store.made_calls(run) if run else 0
    bodies = itertools.islice(store.records(order.study), min(count, SAMPLE))
    prompts = [render(protocol, item_from_json(json.loads(body))) for body, _ in bodies]
    a_prompt = sum(map(count_tokens, prompts)) / max(len(prompts), 1)
    tokens = round(a_prompt * (calls - stored))
    answers = (calls - stored) * TOKENS_AN_ANSWER
    cost = order.bounds().prices.cost(tokens, answers)
    return RunEstimate(model, count, calls, stored, tokens, answers, cost, prompts[0] if prompts else None)
