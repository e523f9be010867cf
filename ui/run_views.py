"""Runs as markup: what one would ask, how it goes, what came of it, where it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exchange.background import RunProgress
from exchange.figures import write_percent
from exchange.run_order import RunEstimate
from judge.domain import Study
from judge.run import Prices
from storage.run_reads import FailedCall, RunOverview
from ui.display import escape, show_prompt
from ui.notices import show_link

SHOWN_FAILURES = 10
STATUSES = {"ok": "ok", "unreadable": "unreadable", "refused": "refused", "cut_off": "cut off", "failed": "failed"}
KINDS = {
    "key": "key refused",
    "model": "no such model",
    "rate": "too many requests or no quota",
    "server": "server failed",
    "connection": "no connection",
    "timeout": "no answer in time",
    "context": "prompt too long",
    "request": "request refused",
    "bug": "a fault in Accord",
    "unreadable": "no label could be read",
    "refused": "the model declined",
    "cut_off": "reply cut off",
    "failed": "failed",
}
_HEADS = (
    ("Judge", "Who judges, and the model that is asked"),
    ("Orders", "AB shows the sides as imported, BA exchanged"),
    ("Items", "Items with at least one call"),
    *((name, f"Calls that ended so: {name}") for name in STATUSES.values()),
    ("Same in both orders", "Share of items with the same label whichever side came first, of those with both labels"),
    ("Tokens", "Prompt and answer tokens of all calls"),
    ("Cost", "Tokens times the endpoint's prices"),
    ("s / call", "Mean seconds of a call"),
    ("State", "How the run stands"),
)


def show_problem_line(text: str) -> str:
    """Return what went wrong and what to do, as an alert; nothing for no text."""
    if not text:
        return ""
    whole = text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "…")) else ".")
    return f'<p class="problem" role="alert">{escape(whole)}</p>'


def show_estimate(estimate: RunEstimate) -> str:
    """Return what a run would ask, with the first prompt to look at."""
    missing = estimate.calls - estimate.stored
    if not missing:
        return '<p class="estimate">Everything this run would ask is stored already: there is nothing to start.</p>'
    stored = f" {estimate.stored:,} more are stored already and will not be asked again." if estimate.stored else ""
    tokens = f"about {_rough(estimate.prompt_tokens)} prompt and {_rough(estimate.completion_tokens)} answer tokens"
    cost = "cost unknown" if estimate.usd is None else f"about {money(estimate.usd)}" if estimate.usd else "free"
    prompt = show_prompt(estimate.first_prompt) if estimate.first_prompt else ""
    return (
        f'<p class="estimate"><strong>{_many(missing, "call")}</strong> · {tokens} · {cost}.{stored}</p>'
        f'<details class="first-prompt"><summary>First prompt</summary>{prompt}</details>'
    )


def show_progress(running: Sequence[RunProgress]) -> str:
    """Return how the runs of this server go that have not ended."""
    return "".join(_progress(each) for each in running if each.state in ("running", "stopping"))


def _progress(run: RunProgress) -> str:
    tokens = run.prompt_tokens + run.completion_tokens
    told = [f"{run.done:,} of {_many(run.total, 'call')}"]
    if run.per_second and run.seconds_left is not None:
        told += [f"{run.per_second:.1f} a second", f"{duration(run.seconds_left)} left"]
    told.append(money(run.usd) if run.usd else f"{tokens:,} tokens")
    failed = [f"{count:,} × {KINDS.get(kind, kind)}" for kind, count in sorted(run.by_failure.items())]
    stopping = run.state == "stopping"
    notes = ["Stopping: calls in flight are waited for."] if stopping else []
    notes += [f"Failed: {', '.join(failed)}."] if failed else []
    button = (
        ""
        if stopping
        else f'<button type="button" class="plain" data-do="stop" data-run="{run.run}" '
        f'aria-label="Stop {escape(run.judge)}">Stop</button>'
    )
    return (
        f'<section class="run-card" aria-label="Running: {escape(run.judge)}">'
        f'<div class="run-head"><span><span class="mark">◆</span> <strong>{escape(run.judge)}</strong></span>'
        f'<span class="facts">{escape(" · ".join(told))}</span>{button}</div>'
        f'<progress max="{run.total}" value="{run.done}" aria-label="Calls done">{run.done} of {run.total}</progress>'
        f'<p class="facts">{escape(" ".join(notes))}</p></section>'
    )


def show_runs(study: Study, runs: Sequence[RunOverview], here: Mapping[int, RunProgress]) -> str:
    """Return the table that compares the runs over a study."""
    if not runs:
        return '<p class="empty">No judge has been run over this study here yet. Choose one above and press Start.</p>'
    heads = "".join(f'<th scope="col" title="{escape(title)}">{escape(name)}</th>' for name, title in _HEADS)
    rows = "".join(_row(study, run, here.get(run.id)) for run in runs)
    return f'<table class="runs"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _row(study: Study, run: RunOverview, here: RunProgress | None) -> str:
    cells = [
        " + ".join(order for order in ("AB", "BA") if run.by_order.get(order)) or "–",
        f"{run.items:,}",
        *(f"{run.by_status.get(status, 0):,}" for status in STATUSES),
        _share(run.consistent, run.in_both_orders),
        f"{run.prompt_tokens + run.completion_tokens:,}",
        _cost(run),
        "–" if run.seconds_a_call is None else f"{run.seconds_a_call:.{1 if run.seconds_a_call >= 1 else 2}f}",
    ]
    data = "".join(
        f'<td data-name="{escape(name)}">{escape(cell)}</td>'
        for (name, _), cell in zip(_HEADS[1:], cells, strict=False)
    )
    state, why = run_state(study, run, here)
    if state in ("running", "stopping"):  # counts that stand still beside a bar that moves would be taken for results
        data = f'<td class="wait" colspan="{len(cells)}">counted when the run ends</td>'
    model = "" if run.model == run.judge else f'<span class="model">{escape(run.model)}</span>'
    note = f'<tr class="why"><td colspan="{len(_HEADS)}">{escape(why)}</td></tr>' if why else ""
    return (
        f'<tr><th scope="row"><span class="mark">◆</span> {escape(run.judge)}{model}</th>{data}'
        f'<td class="state" data-name="State">{escape(state)}{_buttons(run, state)}</td></tr>{note}'
    )


def run_state(study: Study, run: RunOverview, here: RunProgress | None) -> tuple[str, str]:
    """Return how a run stands in a word or two, and why if it was stopped, with what to do."""
    if here is not None and here.state in ("running", "stopping"):
        return here.state, ""
    if run.active:
        return "running in another process", ""
    failed = run.by_status.get("failed", 0)
    made = sum(run.by_status.values())
    wanted = _wanted(study, run)
    over = run.finished is not None if wanted is None else made >= wanted
    if over and not failed:
        return "done", ""
    if run.stopped:
        return "stopped", f"Stopped: {run.stopped.rstrip('.')}. Nothing is lost: Resume asks what is missing."
    if over:
        return f"done, {failed:,} failed", ""
    # Without an order there is nothing to go on with: it was asked for item by item, or on the command line.
    return ("stopped", "") if run.asked else ("not complete", "")


def _wanted(study: Study, run: RunOverview) -> int | None:
    """Return how many calls were asked for on a page; None where nobody did."""
    if run.asked is None:
        return None
    count = min(study.items, run.asked.get("limit") or study.items)
    orders = len(run.asked["orders"]) if study.protocol.kind == "pairwise" else 1
    return count * orders * int(run.asked["repeats"])


def _buttons(run: RunOverview, state: str) -> str:
    name = escape(run.judge)
    buttons = ""
    if run.asked is not None and (state == "stopped" or "failed" in state):
        words = "Resume" if state == "stopped" else "Ask failed again"
        buttons += (
            f'<button type="button" class="plain" data-do="resume" data-run="{run.id}" aria-label="{words}: {name}">'
            f"{words}</button>"
        )
    if sum(run.by_status.values()) > run.by_status.get("ok", 0):
        buttons += (
            f'<button type="button" class="plain" data-do="failures" data-run="{run.id}" '
            f'aria-label="Failures of {name}">Failures</button>'
        )
    return f'<span class="buttons">{buttons}</span>' if buttons else ""


def show_failures(
    place: tuple[str, int], kinds: Mapping[str, int], chosen: str, calls: Sequence[FailedCall], page: int
) -> str:
    """Return the kinds of failures of a study's run to choose from, and a page of the calls of one kind."""
    study, run = place
    if not kinds:
        return '<p class="empty">Every call of this run brought a label.</p>'
    tabs = "".join(
        f'<button type="button" class="plain" data-do="failures" data-run="{run}" data-name="{escape(kind)}" '
        f'aria-pressed="{"true" if kind == chosen else "false"}">{escape(KINDS.get(kind, kind))} '
        f"<span>{count:,}</span></button>"
        for kind, count in kinds.items()
    )
    entries = "".join(_failed_call(study, call) for call in calls)
    return (
        f'<section class="failures" aria-label="Failures"><h2>Failures by kind</h2><div class="kinds">{tabs}</div>'
        f"{entries}{_pager(run, chosen, page, kinds.get(chosen, 0))}</section>"
    )


def _failed_call(study: str, call: FailedCall) -> str:
    again = f", repeat {call.repeat + 1}" if call.repeat else ""
    finish = f" · ended with {call.finish_reason}" if call.finish_reason not in (None, "stop") else ""
    text = call.raw if call.raw is not None else call.error or ""
    kind = "reply as it came" if call.raw is not None else "what happened"
    name = show_link(call.item, "/studies", study=study, item=call.item)
    facts = f"{call.order or ''}{again} · {kind}{finish}"
    return (
        f'<section class="message" aria-label="{escape(call.item)}"><div class="message-head">'
        f'<h2>{name}</h2><span class="facts">{escape(facts)}</span>'
        f'</div><pre tabindex="0"><span class="text">{escape(text)}</span></pre></section>'
    )


def _pager(run: int, kind: str, page: int, count: int) -> str:
    last = max((count - 1) // SHOWN_FAILURES, 0)
    if not last:
        return ""

    def button(words: str, to: int) -> str:
        off = "" if 0 <= to <= last else " disabled"
        return (
            f'<button type="button" class="plain" data-do="failures" data-run="{run}" data-name="{escape(kind)}" '
            f'data-page="{to}"{off}>{words}</button>'
        )

    first = page * SHOWN_FAILURES + 1
    told = f"{first:,}–{min(first + SHOWN_FAILURES - 1, count):,} of {count:,}"
    return f'<p class="pager">{button("Earlier", page - 1)}<span>{told}</span>{button("Later", page + 1)}</p>'


def _cost(run: RunOverview) -> str:
    prices: Mapping[str, Any] = (run.asked or {}).get("preset", {}).get("prices") or {}
    usd = Prices(**prices).cost(run.prompt_tokens, run.completion_tokens)
    return "–" if usd is None else money(usd)


def _share(part: int, whole: int) -> str:
    return f"{write_percent(part / whole)} of {whole:,}" if whole else "–"


def money(usd: float) -> str:
    """Return an amount with as many places as a small one needs."""
    return f"{usd:,.2f} USD" if usd >= 0.1 or usd == 0 else f"{usd:.4f} USD"


def duration(seconds: float) -> str:
    """Return about how long, in the unit that suits."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _rough(count: int) -> str:
    """Return a number with two figures: an estimate has no more."""
    return f"{float(f'{count:.2g}'):,.0f}"
