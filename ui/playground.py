"""The playground: the exact prompt a judge is sent for an item, what judges reply, and how that is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import gradio as gr

from exchange.endpoints import EMBEDDED, Endpoints
from judge.domain import AccordError, Order, ProtocolError
from judge.protocol import Protocol, parse_protocol
from judge.read import read
from judge.render import applicable, render
from storage.store import Store
from ui.asking import ask_judges, show_asked, show_unasked
from ui.display import escape, show_problem, show_prompt, show_reading
from ui.examples import BLANK, Example, sample_reply
from ui.item_form import BOXES, anonymous, parse_item, print_item, write_item
from ui.page import INSTANT, TYPING, on_choice, who_asks
from ui.playground_layout import (
    EDITED,
    EMPTY,
    JSON,
    NOBODY,
    SWAP,
    Choices,
    Controls,
    Start,
    put_controls,
)
from ui.sharing import Shown, parse_shown, print_shown
from ui.versions import show_fault, show_notice, show_versions

FIRST_PROTOCOL = "wildbench-pairwise"
FIRST_EXAMPLE = "clamp"
LISTED = 200  # names of a study's items in the list; others can be typed
# A box that was filled by an example or a link has nothing to write: only one that somebody is in has.
ONLY_TYPED = "(text, ...boxes) => [document.activeElement?.closest('#form') ? text : '', ...boxes]"
ASKED_AT_ONCE = 8  # visitors whose judges are running


class Playground:
    """The page's handlers: each reads the controls, calls the rooms and returns what to show."""

    title = "Playground"
    path = "/playground"

    def __init__(
        self,
        protocols: Mapping[str, Protocol],
        examples: Mapping[str, Example],
        store: Store,
        endpoints: Endpoints,
    ) -> None:
        self.protocols = protocols
        self.examples = examples
        self.store = store
        self.endpoints = endpoints
        self._stops: dict[str, asyncio.Event] = {}

    def protocol(self, name: str, source: str) -> Protocol:
        """Return the protocol as its text in the editor describes it."""
        known = self.protocols[name]
        return known if source == known.source else parse_protocol(f"{name} (edited)", source, self.protocols)

    def show(self, name: str, source: str, text: str, order: Order, reply: str) -> tuple[str, str, str]:
        """Return the markup of the prompt (or of what is wrong), that of the reading, and the text for a link."""
        told = print_shown(Shown(name, text, order, reply, "" if source == self.protocols[name].source else source))
        try:
            protocol = self.protocol(name, source)
        except ProtocolError as error:
            return show_fault(str(error), source), "", told
        try:
            item = parse_item(text)
            prompt = show_prompt(render(protocol, item, order))
            protocol = applicable(protocol, item)
        except AccordError as error:
            prompt = show_problem(str(error))
        return prompt, show_reading(protocol, read(protocol, reply), reply, order), told

    def choose_protocol(self, name: str, drafts: Mapping[str, str], reply: str) -> tuple[str, str]:
        """Put another protocol into the editor, as it was left there; the reply follows until somebody writes one."""
        samples = {sample_reply(known) for known in self.protocols.values()}
        if not reply.strip() or reply in samples:
            reply = sample_reply(self.protocols[name])
        return drafts.get(name, self.protocols[name].source), reply

    def refresh(self, compare: bool, drafts: Mapping[str, str], *now: Any) -> list[Any]:
        """Show what stands in the editors: what it is, what the protocol asks for, and the prompt it makes."""
        name, source, text, order, _ = now
        edited = source != self.protocols[name].source
        others = {known: draft for known, draft in drafts.items() if known != name}
        try:
            protocol = self.protocol(name, source)
        except ProtocolError:
            protocol = None
        return [
            gr.update(visible=False),
            {**others, name: source} if edited else others,
            gr.update(marked="protocol" if edited else ""),
            gr.update(interactive=edited),
            gr.update(interactive=edited),
            self.compare(compare, name, source, text, order),
            gr.update(visible=protocol.kind == "pairwise") if protocol else gr.skip(),
            next((known for known, example in self.examples.items() if example.text == text), EDITED),
            *(gr.update(visible=box.wanted(protocol)) if protocol else gr.skip() for box in BOXES),
            *self.show(*now),
        ]

    def compare(self, wanted: bool, name: str, source: str, text: str, order: Order) -> Any:
        """Show the prompt of the original beside that of the edited protocol, where there are both."""
        if not wanted or source == self.protocols[name].source:
            return gr.update(visible=False)
        try:
            item = parse_item(text)
            before, after = (render(each, item, order) for each in (self.protocols[name], self.protocol(name, source)))
        except AccordError:  # the prompt's pane says what is wrong
            return gr.update(visible=False)
        return gr.update(value=show_versions(before, after), visible=True)

    def swap(self, compare: bool, *now: Any) -> list[Any]:
        """Exchange the sides, in both versions where there are two."""
        name, source, text, order, reply = now
        turned: Order = "BA" if order == "AB" else "AB"
        versions = self.compare(compare, name, source, text, turned)
        return [turned, SWAP[turned], versions, *self.show(name, source, text, turned, reply)]

    def choose_example(self, example: str) -> list[Any]:
        """Put another item into the editor; the last two entries open it, empty or as it was left."""
        if example == EDITED:
            return ["item", *[gr.skip()] * (1 + len(BOXES))]
        if example == EMPTY:
            return ["item", *_filled(print_item(BLANK))]
        return [gr.skip(), *_filled(self.examples[example].text)]

    @staticmethod
    def write_boxes(text: str, *filled: str) -> Any:
        """Write what stands in the boxes into the item's JSON."""
        try:
            written = write_item(text, filled)
        except AccordError:  # the JSON has an error, and the prompt's pane says which
            return gr.skip()
        return gr.skip() if written == text else written

    @staticmethod
    def choose_way(way: str, text: str) -> list[Any]:
        """Show the boxes or the JSON."""
        as_json = way == JSON
        _, *boxes = _filled(text)
        return [gr.update(visible=not as_json), gr.update(visible=True if as_json else "hidden"), *boxes]

    def list_names(self, study: str | None) -> Any:
        """Offer the first items of a study."""
        try:
            names = self.store.item_names(study or "", LISTED)
        except AccordError as error:
            raise _told(error) from error
        return gr.update(choices=names, value=names[0] if names else None)

    def load_item(self, study: str | None, item: str | None, name: str, order: Order, reply: str) -> list[Any]:
        """Put a study's item into the editor, and with it the study's protocol."""
        try:
            return self._restore(self._from_study(study or "", item or "", name, order, reply))
        except AccordError as error:
            raise _told(error) from error

    def open(self, asked: gr.EventData) -> list[Any]:
        """Show what the page's address asks for: what a link holds, or an item of a study."""
        judges = self._judges()
        lists = [
            gr.update(choices=[study.name for study in self.store.studies()]),
            gr.update(choices=judges),
            gr.update(choices=[NOBODY, *judges]),
        ]
        try:
            shown = self._asked_for(asked.state, asked.study, asked.item)
        except AccordError as error:
            return [*lists, gr.update(value=show_notice(str(error)), visible=True), *[gr.skip()] * (10 + len(BOXES))]
        return [*lists, gr.update(visible=False), *(self._restore(shown) if shown else [gr.skip()] * (10 + len(BOXES)))]

    def _asked_for(self, state: str, study: str, item: str) -> Shown | None:
        if state:
            return parse_shown(state, self.protocols)
        return self._from_study(study, item, self._first(), "AB", "") if study and item else None

    def _from_study(self, study: str, item: str, name: str, order: Order, reply: str) -> Shown:
        text = print_item(anonymous(self.store.item(study, item)))
        kept = self.store.study(study).protocol
        name = kept.name if kept.name in self.protocols else name
        _, reply = self.choose_protocol(name, {}, reply)
        return Shown(name, text, order, reply, kept.source)

    def _restore(self, shown: Shown) -> list[Any]:
        """Return everything that a link restores, each into its place."""
        source = shown.source or self.protocols[shown.protocol].source
        own = shown.reply not in ("", *map(sample_reply, self.protocols.values()))
        return [
            shown.protocol,
            source,
            *_filled(shown.item),
            shown.order,
            SWAP[shown.order],
            shown.reply,
            "reply" if own else "judges",
            *self.show(shown.protocol, source, shown.item, shown.order, shown.reply),
        ]

    async def run(self, request: gr.Request, first: str, second: str, *now: Any) -> AsyncIterator[list[Any]]:
        """Ask one judge or two, and show their replies as they arrive, until they end or Stop is pressed."""
        name, source, text, order, _ = now
        try:
            item = parse_item(text)
            protocol = applicable(self.protocol(name, source), item)
            prompt = render(protocol, item, order)
        except AccordError as error:
            yield [gr.skip(), gr.skip(), show_unasked(str(error)), gr.update(value="", visible=False)]
            return
        names = [first, *([second] if second else [])]
        connect = partial(self.endpoints.connect, who=who_asks(request))
        stop = self._stops[request.session_hash or ""] = asyncio.Event()
        yield [gr.update(visible=False), gr.update(visible=True), gr.skip(), gr.update(value="", visible=bool(second))]
        try:
            async with aclosing(ask_judges(connect, names, prompt, protocol, stop)) as progress:
                async for asked in progress:
                    columns = [show_asked(each, protocol, prompt) for each in asked]
                    yield [gr.skip(), gr.skip(), *columns, *[gr.skip()] * (2 - len(columns))]
        finally:
            self._stops.pop(request.session_hash or "", None)
        yield [gr.update(visible=True), gr.update(visible=False), gr.skip(), gr.skip()]

    async def stop(self, request: gr.Request) -> None:
        """End what this visitor's judges are saying; what has arrived stays."""
        if stop := self._stops.get(request.session_hash or ""):
            stop.set()

    def _judges(self) -> Choices:
        # The demonstration model's own name says at length what it is for; a column's head has room for that.
        return [
            (f"{each.name.split()[0]} (demonstration)" if each == EMBEDDED else each.name, each.name)
            for each in self.endpoints.presets()
        ]

    def _first(self) -> str:
        return FIRST_PROTOCOL if FIRST_PROTOCOL in self.protocols else next(iter(self.protocols))

    def layout(self) -> Controls:
        """Put the components on the page, already showing the first protocol and item."""
        name = self._first()
        example = FIRST_EXAMPLE if FIRST_EXAMPLE in self.examples else next(iter(self.examples))
        protocol, text = self.protocols[name], self.examples[example].text
        shown = Shown(name, text, reply=sample_reply(protocol))
        prompt, reading, _ = self.show(name, protocol.source, text, "AB", shown.reply)
        start = Start(shown, protocol, parse_item(text), prompt, reading)
        # Of the judges only the embedded one, which everybody has: what is set here is sent to everybody.
        return put_controls(self.protocols, self.examples, self._judges()[:1], start)

    @staticmethod
    def _marks(on: Controls) -> list[Any]:
        edited = on.protocol
        return [on.tabs, edited.reset, edited.compare, edited.versions, on.top.swap, on.top.example]

    def wire(self, on: Controls) -> None:
        """Connect the components: choices and typing take effect at once."""
        top, protocol, item, judging = on.top, on.protocol, on.item, on.judging
        inputs = [top.protocol, protocol.source, item.text, on.order, on.reply]
        shown = [on.prompt, on.reading, top.share]
        drafted = [top.protocol, on.drafts, on.reply]
        on_choice(top.protocol, self.choose_protocol, drafted, [protocol.source, on.reply])
        # Not `input`: a text box of gradio 6.31 keeps silent on pasted, cut and deleted text. One event for all of
        # them, so that whatever changes together is shown together, and last what came last.
        gr.on(
            [protocol.source.change, item.text.change, on.reply.change, protocol.compare.input],
            self.refresh,
            [protocol.compare, on.drafts, *inputs],
            [on.notice, on.drafts, *self._marks(on), *item.boxes, *shown],
            **TYPING,
        )
        protocol.reset.click(lambda name: self.protocols[name].source, top.protocol, protocol.source, **INSTANT)
        swapped = [on.order, top.swap, protocol.versions, *shown]
        top.swap.click(self.swap, [protocol.compare, *inputs], swapped, **INSTANT)
        on_choice(top.example, self.choose_example, [top.example], [on.tabs, item.text, *item.boxes])
        typed = [box.change for box in item.boxes]
        gr.on(typed, self.write_boxes, [item.text, *item.boxes], item.text, js=ONLY_TYPED, **TYPING)
        item.way.input(self.choose_way, [item.way, item.text], [item.form, item.text, *item.boxes], **INSTANT)
        on_choice(item.study, self.list_names, [item.study], item.name)
        restored = [
            top.protocol,
            protocol.source,
            item.text,
            *item.boxes,
            on.order,
            top.swap,
            on.reply,
            on.tabs,
            *shown,
        ]
        item.load.click(self.load_item, [item.study, item.name, top.protocol, on.order, on.reply], restored, **INSTANT)
        opened = [item.study, *judging.judges, on.notice, *restored]
        top.share.open(self.open, None, opened, **{**INSTANT, "trigger_mode": "multiple"})
        buttons = [judging.run, judging.stop]
        judging.run.click(
            self.run,
            [*judging.judges, *inputs],
            [*buttons, *judging.columns],
            show_progress="hidden",
            api_visibility="private",
            concurrency_limit=ASKED_AT_ONCE,
        )
        judging.stop.click(self.stop, None, None, **INSTANT)


def _filled(text: str) -> list[Any]:
    """Return an item's JSON and its boxes; a box that would lose something is closed, and all are without an item."""
    try:
        item = parse_item(text)
    except AccordError:
        return [text, *(gr.update(value="", interactive=False) for _ in BOXES)]
    return [text, *(gr.update(value=box.show(item), interactive=box.holds(item)) for box in BOXES)]


def _told(error: AccordError) -> gr.Error:
    return gr.Error(escape(str(error)))
