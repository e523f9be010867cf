"""The commands that let a model judge a study, and read its replies again."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer

from exchange.readiness import MANY_VERDICTS, make_ready
from judge.domain import AccordError
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
    StudyName,
    Temperature,
    TimeOut,
    at_work,
    clear_errors,
    let_go,
    loading,
    number,
    opened,
    own_weights,
    write,
)

LASTING = ("context", "request")  # kinds of failure that asking again does not mend


def judge(
    study: StudyName,
    model: ModelName = None,
    base_url: BaseUrl = None,
    orders: Orders = "both",
    repeats: Annotated[int, typer.Option(help="How often each prompt is asked.", min=1)] = 1,
    concurrency: Concurrency = 16,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    timeout: TimeOut = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many items.", min=1)] = None,
    per_minute: Annotated[int | None, typer.Option(help="At most so many calls a minute.", min=1)] = None,
    budget_usd: Annotated[float | None, number("Stop when this is spent; needs both prices.", min=0)] = None,
    budget_tokens: BudgetTokens = None,
    price_prompt: Annotated[float | None, number("USD for a million prompt tokens.", min=0)] = None,
    price_completion: Annotated[float | None, number("USD for a million completion tokens.", min=0)] = None,
    name: Annotated[str | None, typer.Option(help="The judge's name in the study; by default the model's.")] = None,
    api_key_env: KeyVariable = "OPENAI_API_KEY",
    reask: Annotated[
        int, typer.Option(help="Ask again, up to so many times, for a reply without a verdict; recorded.", min=0)
    ] = 0,
    batch: Annotated[
        bool, typer.Option("--batch", help="Hand the requests in through the server's Batch API, at half the price.")
    ] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="With --batch: do not wait for the answers.")] = False,
    again: Annotated[bool, typer.Option("--no-reuse", help="Ask even where the same was asked before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")] = False,
    as_json: AsJson = False,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Let a model judge a study, in both orders; start it again and it does only what is missing.

    Example: `python app.py judge --study demo --model gpt-x --base-url http://localhost:8000/v1`
    """
    with loading():
        from exchange.judging import JudgeOrder, estimate_run, run_judge
        from judge.run import Limits, Prices
        from storage.run_store import RunStore

    wanted = JudgeOrder(
        study=study,
        model=model,
        base_url=base_url,
        name=name,
        key=os.environ.get(api_key_env, ""),
        orders=("AB", "BA") if orders == "both" else (orders,),
        repeats=repeats,
        limit=limit,
        reuse=not again,
        reask=reask,
        request={"temperature": temperature, "max_tokens": max_tokens},
        weights=own_weights(),
        timeout=timeout,
        batch=batch,
        wait=not no_wait,
        limits=Limits(concurrency, per_minute, budget_tokens, budget_usd, Prices(price_prompt, price_completion)),
    )
    with clear_errors(), let_go(RunStore.open(database)) as store:
        if dry_run:
            with at_work("Estimating"):
                estimate = estimate_run(store, wanted)
            write(json.dumps(estimate, ensure_ascii=False, indent=1) + "\n" if as_json else told_estimate(estimate))
            return
        store.record_event("run_started", study, judge=name or model or "embedded", by=BY)
        done = run_judge(store, wanted, _tell)
    write(json.dumps(done, ensure_ascii=False, indent=1) + "\n" if as_json else told_run(done))
    for line in told_problems(done):
        _tell(line)
    if done["calls"] + done["reused"] >= MANY_VERDICTS and not done["stopped"]:
        _leave_numbers(database, study)
    if done["stopped"] or done["run"].get("failed"):
        raise typer.Exit(1)


def _leave_numbers(database: str, study: str) -> None:
    """Make the study's numbers ready; the run went well whether they can be made or not."""
    try:
        with opened(database) as store:
            make_ready(store, study, _tell)
    except AccordError as error:
        _tell(f"the numbers could not be made ready: {error}")


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def reparse(study: StudyName, as_json: AsJson = False, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """Read every stored reply of a study again with the current rules, and report what changed; both are kept."""
    from exchange.judging import reread_study

    with clear_errors(), opened(database) as store, at_work("Reading every reply again"):
        changes = reread_study(store, study)
        store.record_event("reparsed", study, changed=len(changes), by=BY)
    if as_json:
        write(json.dumps({"study": study, "changed": changes}, ensure_ascii=False, indent=1) + "\n")
        return
    for change in changes:
        before, after = (part[1] or part[0] for part in (change["before"], change["after"]))
        write(f"{change['item']} {change['judge']} {change['order']}: {before} → {after}\n")
    write(f"{len(changes)} verdicts changed\n")


def told_estimate(estimate: dict[str, Any]) -> str:
    """Return an estimate for people: numbers first, then the first prompt as it would be sent."""
    cost = "unknown (give both prices)" if estimate["usd"] is None else f"{estimate['usd']:.4f} USD"
    spared = [f"{estimate['stored']} are stored already"] if estimate["stored"] else []
    spared += [f"{estimate['reused']} known from before"] if estimate["reused"] else []
    stored = f" ({', '.join(spared)})" if spared else ""
    tokens = f"about {estimate['prompt_tokens']} prompt and {estimate['completion_tokens']} completion tokens"
    messages = [text for text in (estimate["first_system"], estimate["first_prompt"]) if text]
    return "\n\n".join([f"{estimate['calls']} calls{stored}, {tokens}, cost {cost}", *messages]) + "\n"


def told_run(done: dict[str, Any]) -> str:
    """Return how a run went, for people."""
    counts = ", ".join(f"{count} {status}" for status, count in sorted(done["run"].items())) or "nothing yet"
    stopped = f"stopped: {done['stopped']}\n" if done["stopped"] else ""
    now = f"{done['calls']} calls now, {done['reasked']} of them asked again, {done['reused']} known from before"
    return f"{stopped}{done['judge']}: {counts} ({now})\n"


def told_problems(done: dict[str, Any]) -> list[str]:
    """Return what stands in the way of a verdict, each kind with an example, and what can be done."""
    failed, run = done["failure_examples"], done["run"]
    lines = [f"{told['count']} failed ({kind}), such as: {told['example']}" for kind, told in failed.items()]
    if run.get("unreadable") and not run.get("ok"):
        lines.append(
            "no reply held a verdict that can be read: the page Judges and exports show the replies as they came"
        )
    if done["stopped"] or any(kind not in LASTING for kind in failed):
        lines.append("start the same command again to do what is missing")
    elif failed:
        lines.append("the same command would fail in the same way: see to what is refused first")
    return lines
