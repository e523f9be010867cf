"""Where a judge and the people differ, furthest apart first: what each said and why, and what a reader thinks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from judge.domain import GivenVerdict
from judge.protocol import Protocol
from judge.read import read
from storage.browse import Detail
from storage.opinions import Cause
from ui.agreement_parts import cell, show_cells, show_rater, show_sign
from ui.display import escape, show_chip, show_parts
from ui.notices import show_hint
from ui.plain import show_text
from ui.sheet import CAUSES

PAGE = 10
SHOWN_CAUSES = {**CAUSES, "I slipped": "A person slipped"}  # the reader is not the one who judged
EXCERPT = 300
Entry = Mapping[str, Any]


def show_choice(judges: Sequence[str], judge: str) -> str:
    """Return whose disagreements are shown, and who the reader is."""
    options = "".join(
        f'<option value="{escape(name)}"{" selected" if name == judge else ""}>{escape(name)}</option>'
        for name in judges
    )
    return (
        f'<p class="line choose"><label>Judge <select data-whose>{options}</select></label> <label>Your name '
        '<input name="reader" size="16" autocomplete="off" placeholder="for the causes you pick"></label></p>'
    )


def show_pager(start: int, shown: int, total: int) -> str:
    """Return which of the disagreements are shown, and the ways to those beside them."""
    if not total:
        return show_hint(
            "There is no disagreement to show: where there are both, the judge's label is that of people's consensus."
        )
    back, on = max(0, start - PAGE), start + PAGE
    return (
        f'<nav class="pager" aria-label="Pages of disagreements">'
        f'<button type="button" data-start="{back}"{"" if start else " disabled"}>Back</button>'
        f"<span>{start + 1:,} to {start + shown:,} of {total:,}, the furthest apart first, and of those "
        "the judge's surest, where that is known</span>"
        f'<button type="button" data-start="{on}"{"" if on < total else " disabled"}>Next</button></nav>'
    )


def show_disagreement(study: str, protocol: Protocol, entry: Entry, detail: Detail, judge: str) -> str:
    """Return one item: both verdicts, both rationales side by side, and the causes to pick from."""
    item = detail.item
    question = item.conversation[-1].content if item.conversation else ""
    shown = question if len(question) <= EXCERPT else f"{question[:EXCERPT]}…"
    said = {given.label for given in detail.verdicts if given.kind == "judge" and given.rater == judge and given.label}
    combined = " (its orders differ)" if len(said) > 1 else ""
    tags = "".join(f'<span class="tag"><bdi>{escape(tag)}</bdi></span>' for tag in item.tags)
    return (
        f'<article class="differ" data-item="{escape(item.id)}"><header class="line">'
        f'<h3><a data-path="/studies" data-study="{escape(study)}" data-item="{escape(item.id)}">'
        f"<bdi>{escape(item.id)}</bdi></a></h3>"
        f"<span>{show_sign('human')} people {_label(entry['people'])} · "
        f"{show_sign('judge')} judge {_label(entry['judge'])}{combined} · "
        f"differ by {entry['steps']}</span>{tags}</header>"
        f'<p class="asked" dir="auto">{show_text(shown)}</p>'
        f'<div class="both"><section><h4>People</h4>{_people(protocol, detail)}</section>'
        f"<section><h4>Judge</h4>{_judge(protocol, detail, judge)}</section></div>"
        f"{_causes(detail, judge)}</article>"
    )


def _label(label: str) -> str:
    return f"<strong>{escape(label)}</strong>"


def _people(protocol: Protocol, detail: Detail) -> str:
    said = [given for given in detail.verdicts if given.kind == "human" and given.label and not given.repeat]
    return "".join(
        f'<div class="said"><p>{show_rater("human", given.rater)} {_chip(protocol, given)}{_sure(given)}</p>'
        + (f'<p class="why" dir="auto">{show_text(given.comment)}</p>' if given.comment else "")
        + "</div>"
        for given in said
    ) + ("" if any(given.comment for given in said) else '<p class="meant">No comment was left.</p>')


def _judge(protocol: Protocol, detail: Detail, judge: str) -> str:
    said = [given for given in detail.verdicts if given.kind == "judge" and given.rater == judge]
    return "".join(
        f'<div class="said"><p>{_chip(protocol, given)}{_order(given)}{_sure(given)}</p>'
        f"{_reasons(protocol, given)}</div>"
        for given in said
    )


def _chip(protocol: Protocol, given: GivenVerdict) -> str:
    if given.label is None:
        return f'<span class="chip none">{escape(given.status.replace("_", " "))}</span>'
    return show_chip(protocol.scale, given.label, pairwise=protocol.kind == "pairwise")


def _order(given: GivenVerdict) -> str:
    exchanged = ", its A is the item's B" if given.order == "BA" else ""
    return f' <span class="meant">order {escape(given.order)}{exchanged}</span>' if given.order else ""


def _sure(given: GivenVerdict) -> str:
    if given.confidence is None:
        return ""
    return f' <span class="meant" title="The rater’s own, from 0 to 100">confidence {given.confidence}</span>'


def _reasons(protocol: Protocol, given: GivenVerdict) -> str:
    if not given.raw:
        return '<p class="meant">No reply is stored.</p>'
    exchanged = protocol.kind == "pairwise" and given.order == "BA"
    parts = show_parts(read(protocol, given.raw), exchanged=exchanged)
    return parts or f'<pre class="why" tabindex="0"><span class="text">{show_text(given.raw)}</span></pre>'


def _causes(detail: Detail, judge: str) -> str:
    newest = {each.rater: each.kind for each in detail.remarks if each.kind in CAUSES and each.judge == judge}
    picked = Counter(newest.values())
    buttons = "".join(
        f'<button type="button" data-cause="{escape(cause)}">{escape(told)}'
        f"<span>{f' · {picked[cause]}' if picked[cause] else ''}</span></button>"
        for cause, told in SHOWN_CAUSES.items()
    )
    return (
        f'<p class="causes" role="group" aria-label="Why do they differ?"><span>Why do they differ?</span>{buttons}'
        '<span class="told" role="status"></span></p>'
    )


def show_counts(causes: Sequence[Cause]) -> str:
    """Return how often each cause was given, in all and by tag."""
    if not causes:
        return show_hint("No cause has been picked yet. What is picked below is counted here, by tag.")
    total = Counter(cause.kind for cause in causes)
    slices: dict[str, Counter[str]] = {}
    for cause in causes:
        for tag in cause.tags:
            slices.setdefault(tag, Counter())[cause.kind] += 1
    heads = [("Slice", "Items with this tag"), *((told, "") for told in SHOWN_CAUSES.values())]
    ranked = sorted(slices.items(), key=lambda entry: (-entry[1].total(), entry[0]))
    rows = [
        cell(name) + "".join(cell(str(counted[cause])) for cause in SHOWN_CAUSES)
        for name, counted in [
            ("<strong>all</strong>", total),
            *((f"<bdi>{escape(tag)}</bdi>", found) for tag, found in ranked),
        ]
    ]
    return show_cells("Causes", heads, rows)
