"""The items of a study: searched, filtered and paged, and one of them with every verdict on it.

For researchers: model names and everybody's verdicts are shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import gradio as gr

from exchange.looks import Looks
from judge.domain import AccordError, GivenVerdict, Item, ProtocolVersion
from storage.browse import Detail, Found, FoundPage, Mark, Search, State
from storage.store import Store
from ui.display import escape, show_chip
from ui.notices import show_failure, show_hint, show_link, show_moment, show_table
from ui.page import FOLDER, INSTANT, TYPING, asked, on_choice, signed_in
from ui.plain import show_text

SCRIPT = (FOLDER / "studies.js").read_text(encoding="utf-8")
EXCERPT = 140  # characters of a question in the list
MOST_TAGS = 1_000  # to choose from; any other can be written
SIGNS = {"human": "●", "judge": "◆"}
STATES: dict[State, str] = {
    "any": "Any state",
    "none": "No verdict yet",
    "progress": "In progress",
    "complete": "Complete",
    "flagged": "Flagged",
    "people disagree": "People disagree",
    "raters disagree": "Any raters disagree",
}


@dataclass(frozen=True, slots=True)
class ItemControls:
    """The components of the items browser."""

    text: gr.Textbox
    tag: gr.Dropdown
    state: gr.Dropdown
    found: gr.HTML
    detail: gr.HTML


class ItemsPanel:
    """The items browser: each handler reads the controls, asks the store and returns what to show."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.looks = Looks(store)

    def layout(self) -> ItemControls:
        """Put the browser on the page: filters, list and the chosen item."""
        with gr.Row(elem_classes="filters"):
            text = gr.Textbox(
                label="Search", placeholder="in id, conversation and responses", scale=3, elem_id="item-search"
            )
            tag = gr.Dropdown(
                [], label="Tag", allow_custom_value=True, scale=2, min_width=160, elem_id="item-tag", value=None
            )
            state = gr.Dropdown(
                [(told, name) for name, told in STATES.items()],
                value="any",
                label="State",
                filterable=False,
                scale=2,
                min_width=160,
                elem_id="item-state",
            )
        with gr.Row(elem_classes="browser"):
            with gr.Column(scale=5, min_width=320):
                found = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="items-found")
            with gr.Column(scale=7, min_width=320):
                detail = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="item-detail")
        return ItemControls(text, tag, state, found, detail)

    def wire(self, on: ItemControls) -> None:
        """Connect filters, pages and the items in the list."""
        filters = [on.text, on.tag, on.state]
        on.text.change(self.search, filters, on.found, **TYPING)
        on.tag.change(self.search, filters, on.found, **TYPING)
        on_choice(on.state, self.search, filters, on.found)
        on.found.turn(self.turn, filters, on.found, **INSTANT)
        on.found.open(self.open, None, on.detail, **{**INSTANT, "trigger_mode": "multiple"})

    @staticmethod
    def outputs(on: ItemControls) -> list[Any]:
        """Return the components that `show` fills."""
        return [on.tag, on.found, on.detail]

    def show(self, study: str, item: str, by: str = "") -> tuple[Any, str, str]:
        """Return the tags to choose from, the first page, and the item that the address names."""
        return (
            gr.update(choices=list(self.store.choices(study).tags[:MOST_TAGS])),
            self._page(study, Search(), [0]),
            self._detail(study, item, by)
            if item
            else show_hint("Choose an item to see its texts and every verdict on it."),
        )

    def search(self, text: str, tag: str | None, state: State, request: gr.Request) -> str:
        """Return the first page of what the filters find."""
        return self._page(asked(request, "study"), Search(text.strip(), (tag or "").strip(), state), [0])

    def turn(self, text: str, tag: str | None, state: State, event: gr.EventData, request: gr.Request) -> str:
        """Return another page; where the pages before it began comes from the page that was left."""
        starts = [int(start) for start in str(event.starts).split(",")[-10_000:] if start.isdecimal()]
        search = Search(text.strip(), (tag or "").strip(), state)
        return self._page(asked(request, "study"), search, starts or [0])

    def open(self, event: gr.EventData, request: gr.Request) -> str:
        """Return one item with every verdict on it."""
        return self._detail(asked(request, "study"), str(event.item), signed_in(request))

    def _page(self, study: str, search: Search, starts: Sequence[int]) -> str:
        if search.state not in get_args(State):
            return show_failure(f"{search.state!r} is not a state of an item")
        try:
            page = self.store.browse_items(study, search, starts[-1])
            known = self.store.study(study)
        except AccordError as error:
            return show_failure(str(error))
        if not known.items:
            return show_hint("This study has no items yet. Add a file of them under Import.")
        return show_found(page, known.protocol, known.items, starts, filtered=search != Search())

    def _detail(self, study: str, item: str, by: str) -> str:
        try:
            shown = show_detail(self.store.item_detail(study, item), study, self.store.study(study).protocol)
            self.looks.note("item_seen", study, by, item=item)
        except AccordError as error:
            return show_failure(str(error))
        return shown


def show_found(page: FoundPage, protocol: ProtocolVersion, total: int, starts: Sequence[int], *, filtered: bool) -> str:
    """Return a page of items as a list, and the ways to the pages beside it."""
    rows = "".join(_row(found, protocol) for found in page.found)
    listed = f'<ol class="found">{rows}</ol>' if rows else show_hint(_nothing(page, total))
    return f'{listed}<nav class="pager" aria-label="Pages of items">{_pager(page, total, starts, filtered)}</nav>'


def _nothing(page: FoundPage, total: int) -> str:
    if page.next_start is None:
        return "No item matches. Change or clear the filters."
    return f"None of the first {page.next_start:,} items of {total:,} matches."


def _pager(page: FoundPage, total: int, starts: Sequence[int], filtered: bool) -> str:
    back = ",".join(map(str, starts[:-1]))
    on = ",".join(map(str, (*starts, page.next_start)))
    onward = "Next" if page.found else "Search on"
    if not page.found:
        told = f"of {total:,} items"
    elif filtered:
        told = f"{page.found[0].position + 1:,} to {page.found[-1].position + 1:,} of {total:,}, filtered"
    else:
        told = f"{page.found[0].position + 1:,} to {page.found[-1].position + 1:,} of {total:,}"
    return (
        f'<button type="button" data-starts="{back}"{"" if back else " disabled"}>Back</button><span>{told}</span>'
        f'<button type="button" data-starts="{on}"{" disabled" if page.next_start is None else ""}>{onward}</button>'
    )


def _row(found: Found, protocol: ProtocolVersion) -> str:
    question = " ".join(found.item.conversation[-1].content[: 2 * EXCERPT].split())
    excerpt = question[:EXCERPT] + ("…" if len(question) > EXCERPT else "")
    tags = "".join(f'<span class="tag">{escape(tag)}</span>' for tag in found.item.tags)
    return (
        f'<li><button type="button" data-open="{escape(found.item.id)}"><span class="line">'
        f'<bdi class="id">{escape(found.item.id)}</bdi>{tags}</span>'
        f'<bdi class="excerpt">{escape(excerpt)}</bdi>'
        f'<span class="marks">{_marks(found.marks, protocol) or "no verdict yet"}</span></button></li>'
    )


def _marks(marks: Sequence[Mark], protocol: ProtocolVersion) -> str:
    shown = marks[:8]
    more = f" and {len(marks) - len(shown)} more" if len(marks) > len(shown) else ""
    return "".join(f"<span>{_sign(mark.kind, mark.rater)}{_label(mark, protocol)}</span>" for mark in shown) + more


def _sign(kind: str, rater: str) -> str:
    said = f"{'person' if kind == 'human' else 'judge'} {rater}"
    return f'<span class="sign" role="img" title="{escape(said)}" aria-label="{escape(said)}">{SIGNS[kind]}</span>'


def _label(given: Mark | GivenVerdict, protocol: ProtocolVersion) -> str:
    if given.label is None or given.label not in protocol.scale.labels:
        return f'<span class="chip none">{escape(given.label or given.status.replace("_", " "))}</span>'
    return show_chip(protocol.scale, given.label, pairwise=protocol.kind == "pairwise")


def show_detail(detail: Detail, study: str, protocol: ProtocolVersion) -> str:
    """Return an item with its texts and every current verdict."""
    item = detail.item
    review = show_link("Open in Review", "/", study=study, item=item.id)
    facts = [f"item {detail.position + 1:,}", *([f"cluster {item.cluster}"] if item.cluster else [])]
    name = escape(item.id)
    return (
        f'<article class="item" data-opened aria-label="Item {name}"><header><h2><bdi>{name}</bdi></h2>'
        f'<span class="muted">{escape(" · ".join(facts))}</span>{review}</header>'
        f"{show_texts(item, models=True)}<h3>Verdicts</h3>{_verdicts(detail, protocol)}{_remarks(detail)}"
        f"{_metadata(item)}</article>"
    )


def show_texts(item: Item, *, models: bool) -> str:
    """Return every text of an item as it is, character for character."""
    tags = "".join(f'<span class="tag">{escape(tag)}</span>' for tag in item.tags)
    *earlier, question = item.conversation
    before = "".join(_text(turn.role, turn.content) for turn in earlier)
    turns = "turn" if len(earlier) == 1 else "turns"
    folded = f"<details><summary>{len(earlier)} earlier {turns}</summary>{before}</details>" if earlier else ""
    pair = item.response_b is not None
    first = _text(
        _side("A" if pair else "Response", item.model_a, models=models), item.response_a, "side-a" if pair else ""
    )
    second = _text(_side("B", item.model_b, models=models), item.response_b or "", "side-b") if pair else ""
    return (
        f'<div class="texts">{f"<p class=tags>{tags}</p>" if tags else ""}{folded}'
        f'{_text("Question", question.content)}<div class="sides">{first}{second}</div>{"".join(_needs(item))}</div>'
    )


def _needs(item: Item) -> Iterator[str]:
    if item.reference_answer is not None:
        yield f"<details><summary>Reference answer</summary>{_text('', item.reference_answer)}</details>"
    if item.checklist:
        entries = "".join(f"<li>{escape(entry)}</li>" for entry in item.checklist)
        yield f"<details><summary>Checklist of {len(item.checklist)}</summary><ul>{entries}</ul></details>"
    if item.rubric is not None:
        scores = "".join(f"<li>{escape(told)}</li>" for told in item.rubric.descriptions)
        yield f"<details><summary>Rubric</summary>{_text('', item.rubric.criteria)}<ol>{scores}</ol></details>"


def _side(name: str, model: str | None, *, models: bool) -> str:
    return f"{name} · {model}" if models and model else name


def _text(title: str, body: str, side: str = "") -> str:
    head = f"<h4><bdi>{escape(title)}</bdi></h4>" if title else ""
    # The span keeps a line feed that opens the text: HTML drops one right after <pre>.
    return (
        f'<section class="text-box {side}">{head}<pre tabindex="0" dir="auto">'
        f'<span class="text">{show_text(body)}</span></pre></section>'
    )


def _verdicts(detail: Detail, protocol: ProtocolVersion) -> str:
    if not detail.verdicts:
        return show_hint("Nobody has judged this item yet.")
    heads = [
        ("Rater", "● a person, ◆ a judge"),
        ("Verdict", "What it says of A as imported"),
        ("Order", "How the sides were shown"),
        ("Seconds", "How long the item was shown"),
        ("Given", "In your own time zone"),
        ("Comment", ""),
    ]
    rows = [_verdict(given, protocol) for given in sorted(detail.verdicts, key=lambda given: (given.kind, given.rater))]
    replies = "".join(
        f"<details><summary>Reply of <bdi>{escape(given.rater)}</bdi>{f', order {given.order}' if given.order else ''}"
        f"</summary>{_text('', given.raw)}</details>"
        for given in detail.verdicts
        if given.raw is not None
    )
    return show_table(heads, rows, "Verdicts") + replies


def _verdict(given: GivenVerdict, protocol: ProtocolVersion) -> list[str]:
    again = ' <span class="muted">repeat</span>' if given.repeat else ""
    return [
        f"{_sign(given.kind, given.rater)} <bdi>{escape(given.rater)}</bdi>{again}",
        _label(given, protocol),
        escape(given.order or "–"),
        "–" if given.seconds is None else f"{given.seconds:.0f}",
        show_moment(given.created) if given.created else "–",
        f"<bdi>{escape(given.comment or '')}</bdi>",
    ]


def _remarks(detail: Detail) -> str:
    if not detail.remarks:
        return ""
    heads = [
        ("Rater", "Who remarked it"),
        ("Remark", ""),
        ("Judge", "On whose verdict"),
        ("When", "In your own time zone"),
    ]
    rows = [
        [
            f"<bdi>{escape(each.rater)}</bdi>",
            f"{escape(each.kind)} <bdi>{escape(each.comment or '')}</bdi>",
            f"<bdi>{escape(each.judge or '–')}</bdi>",
            show_moment(each.at),
        ]
        for each in detail.remarks
    ]
    return f"<h3>Remarks</h3>{show_table(heads, rows, 'Remarks')}"


def _metadata(item: Item) -> str:
    if not item.metadata:
        return ""
    shown = json.dumps(dict(item.metadata), ensure_ascii=False, indent=1, default=str)
    return f"<details><summary>Metadata</summary>{_text('', shown)}</details>"
