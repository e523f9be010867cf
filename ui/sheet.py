"""What an annotator is shown of an item: made of its texts alone, so that nothing hidden can slip in.

The item comes in as imported and the order with it; from here on only the sides as shown exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from judge.domain import Held, Item, JudgeVerdict, Order, OwnVerdict, Prompt, Rubric, Scale, Turn
from judge.protocol import Protocol
from judge.read import read
from judge.render import applicable, as_shown, render
from ui.display import escape, show_chip, show_parts
from ui.markdown import show_markdown

CAUSES = {
    "judge wrong": "The judge is wrong",
    "I slipped": "I slipped",
    "rubric unclear": "The rubric is unclear",
    "truly ambiguous": "Truly ambiguous",
}
_ROLES = {"user": "Question", "assistant": "Answer", "system": "System"}


def shown_item(item: Item, order: Order) -> dict[str, Any]:
    """Return what a program that annotates is given of an item: the sides as shown, no names, no order."""
    seen = as_shown(item, order)
    rubric = seen.rubric
    return {
        "id": seen.id,
        "conversation": [{"role": turn.role, "content": turn.content} for turn in seen.conversation],
        "response_a": seen.response_a,
        "response_b": seen.response_b,
        "reference_answer": seen.reference_answer,
        "rubric": None if rubric is None else _rubric_json(rubric),
        "checklist": list(seen.checklist),
    }


def shown_prompt(protocol: Protocol, item: Item, order: Order) -> Prompt:
    """Return the prompt a judge is sent in this order, with nothing in it that tells the order."""
    return render(protocol, replace(as_shown(item, order), model_a=None, model_b=None), "AB")


def make_sheet(protocol: Protocol, held: Held, *, blind: bool) -> dict[str, Any]:
    """Return everything the Review page puts on the screen for one claim."""
    item, order = held.claim.item, held.claim.order
    seen = as_shown(item, order)
    pairwise = protocol.kind == "pairwise"
    return {
        "claim": held.claim.token,
        "item": item.id,
        "state": held.state,
        "flagged": held.flagged,
        "question": _question(seen.conversation),
        "history": _history(seen.conversation[:-1]),
        "earlier": len(seen.conversation) - 1,
        "beside": show_beside(applicable(protocol, item), seen),
        "sides": [_side(seen.response_a), *([_side(seen.response_b or "")] if pairwise else [])],
        "scale": _buttons(protocol, seen.rubric),
        "own": None if held.verdict is None else own_json(held.verdict),
        "models": None if blind and not held.revealed else _models(item, order),
    }


def prepare_texts(item: Item) -> None:
    """Show an item's texts once for nobody, so that they need not be made when somebody waits for them."""
    for text in (*(turn.content for turn in item.conversation), item.response_a, item.response_b):
        show_markdown(text or "")


def own_json(own: OwnVerdict) -> dict[str, Any]:
    """Return what an annotator said, for the page."""
    return {"label": own.label, "comment": own.comment, "confidence": own.confidence, "at": own.at.isoformat()}


def scale_as_shown(scale: Scale, *, pairwise: bool) -> tuple[str, ...]:
    """Return the labels from left to right: best for A first, or the lowest score first."""
    return scale.labels[::-1] if pairwise else scale.labels


def show_beside(protocol: Protocol, item: Item) -> str:
    """Return what stands beside the question: what the judge is told to judge by, and no more than that."""
    parts = []
    if item.checklist and "checklist" in protocol.fields:
        entries = "".join(
            f'<li><label><input type="checkbox"> <span>{escape(line)}</span></label></li>' for line in item.checklist
        )
        parts.append(f'<section><h2>Checklist</h2><ul class="checklist">{entries}</ul></section>')
    if item.rubric and "orig_criteria" in protocol.fields:
        parts.append(_rubric(item.rubric, scored=protocol.kind == "direct"))
    if item.reference_answer and protocol.wants_reference:
        shown = show_markdown(item.reference_answer)
        parts.append(f"<section><details><summary>Reference answer</summary>{shown}</details></section>")
    return "".join(parts)


def show_reveal(protocol: Protocol, held: Held, judges: Sequence[JudgeVerdict]) -> str:
    """Return what the judges said beside what the annotator said, in the frame the annotator was shown."""
    if not judges:
        return '<p class="reveal-line">No judge has given a verdict on this item yet.</p>'
    return "".join(_revealed(protocol, held, group) for group in _by_judge(judges, held.claim.order))


def _question(turns: Sequence[Turn]) -> str:
    return show_markdown(turns[-1].content) if turns else ""


def _history(turns: Sequence[Turn]) -> str:
    return "".join(
        f'<section class="turn {escape(turn.role)}"><h3>{escape(_ROLES.get(turn.role, turn.role))}</h3>'
        f"{show_markdown(turn.content)}</section>"
        for turn in turns
    )


def _side(text: str) -> dict[str, str]:
    return {"shown": show_markdown(text), "raw": text}


def _rubric_json(rubric: Rubric) -> dict[str, str]:
    named = {f"score{number}_description": text for number, text in enumerate(rubric.descriptions, 1)}
    return {"criteria": rubric.criteria, **named}


def _rubric(rubric: Rubric, *, scored: bool) -> str:
    lines = "".join(f"<li>{escape(text)}</li>" for text in rubric.descriptions)
    scores = f'<ol class="scores">{lines}</ol>' if scored and any(rubric.descriptions) else ""
    return f"<section><h2>Rubric</h2><p>{escape(rubric.criteria)}</p>{scores}</section>"


def _buttons(protocol: Protocol, rubric: Rubric | None) -> list[dict[str, str]]:
    pairwise = protocol.kind == "pairwise"
    meanings = {point.label: point.meaning for point in protocol.scale.points}
    if rubric and not pairwise:  # what a score means is said by the item's own rubric
        meanings |= {str(number): text for number, text in enumerate(rubric.descriptions, 1) if text}
    return [
        {
            "label": label,
            "meaning": meanings[label],
            "chip": show_chip(protocol.scale, label, pairwise=pairwise),
        }
        for label in scale_as_shown(protocol.scale, pairwise=pairwise)
    ]


def _models(item: Item, order: Order) -> list[str]:
    names = [item.model_a or "", item.model_b or ""]
    return names[::-1] if order == "BA" else names


def _by_judge(judges: Sequence[JudgeVerdict], order: Order) -> list[list[JudgeVerdict]]:
    """Return each judge's verdicts, the one that saw the sides as the annotator did first."""
    groups: dict[str, list[JudgeVerdict]] = {}
    for verdict in judges:
        groups.setdefault(verdict.judge, []).append(verdict)
    return [sorted(group, key=lambda verdict: verdict.order != order) for group in groups.values()]


def _revealed(protocol: Protocol, held: Held, verdicts: Sequence[JudgeVerdict]) -> str:
    first, judge = verdicts[0], escape(verdicts[0].judge)
    mine = held.verdict.label if held.verdict else None
    said = [_said(protocol, held.claim.order, verdict) for verdict in verdicts]
    others = "".join(f" · other way round {chip}" for chip in said[1:])
    own = show_chip(protocol.scale, mine, pairwise=protocol.kind == "pairwise") if mine else ""
    differ = any(_steps(protocol, held, verdict) for verdict in verdicts)
    return (
        f'<section class="revealed"><p class="reveal-line">Judge <span class="mark" aria-hidden="true">◆</span> '
        f"{judge} {said[0]}{others} · you "
        f'<span class="mark" aria-hidden="true">●</span> {own} · '
        f"<strong>{_distance(_steps(protocol, held, first))}</strong></p>"
        f"{_reasons(protocol, held.claim.order, first)}{_causes(judge) if differ else ''}</section>"
    )


def _causes(judge: str) -> str:
    buttons = "".join(
        f'<button type="button" data-cause="{escape(cause)}" data-judge="{judge}">{escape(text)}</button>'
        for cause, text in CAUSES.items()
    )
    return (
        f'<p class="causes" role="group" aria-label="Why do you and {judge} differ?">'
        f"<span>Why do you differ?</span>{buttons}</p>"
    )


def _said(protocol: Protocol, order: Order, verdict: JudgeVerdict) -> str:
    if verdict.label is None:
        return f'<span class="chip none">{escape(verdict.status.replace("_", " "))}</span>'
    label = protocol.unswap(verdict.label, order)
    return show_chip(protocol.scale, label, pairwise=protocol.kind == "pairwise")


def _steps(protocol: Protocol, held: Held, verdict: JudgeVerdict) -> int | None:
    """Return how many labels lie between the annotator and a judge; None where one of them gave none."""
    if verdict.label is None or held.verdict is None:
        return None
    labels = protocol.scale.labels
    return abs(labels.index(protocol.unswap(verdict.label, held.claim.order)) - labels.index(held.verdict.label))


def _distance(steps: int | None) -> str:
    return "nothing to compare" if steps is None else f"you differ by {steps}" if steps else "you agree"


def _reasons(protocol: Protocol, order: Order, verdict: JudgeVerdict) -> str:
    """Return the judge's reasons under the sides they speak of; a note when it saw them the other way round."""
    if not verdict.raw:
        return ""
    reading = read(protocol, verdict.raw, verdict.finish_reason)
    exchanged = (
        '<p class="note">This judge saw the sides the other way round: its A is your B.</p>'
        if protocol.kind == "pairwise" and verdict.order not in (None, order)
        else ""
    )
    return exchanged + (show_parts(reading) or f'<pre class="raw">{escape(verdict.raw)}</pre>')
