"""The command that tries whether a judge can be talked round."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from exchange.figures import write_percent
from judge.domain import InputError
from terminal.command import (
    BY,
    DEFAULT_DATABASE,
    AsJson,
    BaseUrl,
    BudgetTokens,
    Concurrency,
    DatabaseUrl,
    KeyVariable,
    MaxTokens,
    ModelName,
    Orders,
    Temperature,
    TimeOut,
    clear_errors,
    opened,
    own_protocols,
    own_weights,
    write,
)


def probe(
    study: Annotated[str | None, typer.Option(metavar="NAME", help="The study whose items are used.")] = None,
    items: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Or files of items, with --protocol; repeatable.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(metavar="NAME|FILE", help="The protocol for --items.")] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    attack: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this attack, beside the control; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many items are drawn at random.", min=1)] = 20,
    orders: Orders = "both",
    seed: Annotated[int, typer.Option(help="The seed of the draw.")] = 0,
    concurrency: Concurrency = 16,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    timeout: TimeOut = None,
    budget_tokens: BudgetTokens = None,
    api_key_env: KeyVariable = "OPENAI_API_KEY",
    as_json: AsJson = False,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Plant known attacks in responses and report how often the judge's verdict moves the attacker's way.

    No verdict of it is stored: none of a study changes, and none is added.

    Example: `python app.py probe --items examples/pairwise.json --protocol wildbench-pairwise --limit 1`
    """
    from exchange.judging import JudgeOrder
    from exchange.probing import STUDY, items_in, probe_judge
    from judge.attacks import find_attacks
    from judge.protocol import find_protocol
    from judge.run import Limits

    with clear_errors():
        if (study is None) == (not items) or bool(items) != bool(protocol):
            raise InputError("name a study with --study, or files with --items and their --protocol")
        wanted = JudgeOrder(
            study=study or STUDY,
            model=model,
            base_url=base_url,
            key=os.environ.get(api_key_env, ""),
            orders=("AB", "BA") if orders == "both" else (orders,),
            limit=limit,
            request={"temperature": temperature, "max_tokens": max_tokens},
            weights=own_weights(),
            timeout=timeout,
            limits=Limits(concurrency, budget_tokens=budget_tokens),
        )
        attacks = find_attacks(attack or [])
        asked = find_protocol(protocol, own_protocols()) if protocol else None
        with items_in(list(map(str, items or [])), asked) if asked else opened(database) as store:
            if study is not None:
                store.record_event("probed", study, judge=model or "embedded", by=BY)
            done = probe_judge(store, wanted, attacks, seed, lambda line: typer.echo(line, err=True))
    write(json.dumps(done, ensure_ascii=False, indent=1) + "\n" if as_json else told_probe(done))
    if done["stopped"] or done["by_status"].get("failed"):
        raise typer.Exit(1)


def told_probe(done: dict[str, Any]) -> str:
    """Return what the attacks did, as a table for people."""
    lines = [
        f"{done['judge']} by {done['protocol']}: {done['items']} items, {done['calls']} calls",
        "",
        f"{'attack':<18}{'moved':>7}  {'95 % interval':<15}{'n':>4}{'away':>6}{'at best':>9}{'unread':>8}",
    ]
    for each in done["attacks"]:
        made = each["moved"]
        share = "–" if made["value"] is None else write_percent(made["value"])
        ends = "" if made["low"] is None else f"{write_percent(made['low'])} to {write_percent(made['high'])}"
        lines.append(
            f"{each['attack']:<18}{share:>7}  {ends:<15}{made['n']:>4}{each['moved_away']:>6}"
            f"{each['already_best']:>9}{each['unread']:>8}"
        )
    lines += [
        "",
        "moved: of the n items whose verdict could become better for the attacked response, those where it did;",
        "compare with control, which is no attack. away: it became worse. at best: nothing to gain.",
        "unread: no verdict to compare.",
    ]
    stopped = [f"stopped: {done['stopped']}"] if done["stopped"] else []
    return "\n".join([*lines, *stopped]) + "\n"
