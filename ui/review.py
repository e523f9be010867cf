"""Review: an annotator's page. One claim at a time, blind as the study says, saved before it says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import gradio as gr

from exchange.endpoints import Endpoints
from exchange.live import judge_item
from judge.domain import (
    ORDERS,
    AccordError,
    Held,
    InputError,
    NothingToDo,
    ProtocolVersion,
    Saved,
    StorageError,
    Study,
)
from judge.protocol import Protocol, load_version
from storage.desk import Remark
from storage.store import Store
from storage.verdicts import Submission
from ui.difference import show_difference
from ui.display import escape, show_prompt
from ui.judging import show_live
from ui.markdown import show_markdown
from ui.page import INSTANT, open_door, who_asks
from ui.sheet import CAUSES, make_sheet, own_json, prepare_texts, scale_as_shown, show_reveal, shown_item, shown_prompt

FOLDER = Path(__file__).parent
SKELETON = (FOLDER / "review.html").read_text(encoding="utf-8")
SCRIPT = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("tour.js", "review.js"))
# A judge's reply arrives piece by piece, which needs the queue; several people may ask at once.
STREAM: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": 8}
REMARKS = ("flag", "unflag", *CAUSES)

_NOTHING = {
    "finished": "You have given a verdict on every item that was for you. Thank you.",
    "all items are held by others": "Every item that is left is with somebody else at the moment. "
    "Come back in a while: what they leave unfinished will be offered to you.",
    "study is closed": "This study is closed. Your verdicts are kept.",
}


@dataclass(frozen=True, slots=True)
class Controls:
    """The components of the page that take part in an event."""

    frame: Any
    judge: gr.HTML


class Review:
    """The handlers of the page and of the programs that annotate: both go through the same doors."""

    title = "Review"
    path = "/"

    def __init__(self, store: Store, endpoints: Endpoints) -> None:
        self.store = store
        self.endpoints = endpoints
        self.protocols: dict[ProtocolVersion, Protocol] = {}

    def layout(self) -> Controls:
        """Put the page's frame; its script fills it. No study's data is in it."""
        frame = gr.HTML(SKELETON, apply_default_css=False, js_on_load=SCRIPT, elem_id="review-page")
        return Controls(frame, gr.HTML("", apply_default_css=False, js_on_load=None, elem_id="judge-here"))

    def wire(self, on: Controls) -> None:
        """Open the doors, for programs and for the page's script; a judge's reply streams through an event."""
        on.frame.judge(self.judge, None, on.judge, **STREAM)
        on.frame.clear(lambda: "", None, on.judge, **INSTANT)
        for handler in (self.next_item, self.submit_verdict, self.skip_item):
            gr.api(handler, queue=False, api_visibility="public")
        open_door(self.open, "review_open")
        open_door(self.submit, "review_submit")
        open_door(self.prepare, "review_prepare")
        open_door(self.step, "review_step")
        open_door(self.skip, "review_skip")
        open_door(self.undo, "review_undo")
        open_door(self.remark, "review_remark")
        open_door(self.prompt, "review_prompt")
        open_door(self.difference, "review_difference")
        open_door(self.guidelines, "review_guidelines")
        open_door(self.judges, "review_judges")

    # Doors for programs (INTERFACES.md): a mistake is an error of the request.

    def next_item(self, study: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Give the next item to annotate, held for this annotator, or say why there is none."""
        try:
            held = self.store.hold_next(study, _who(annotator, request) or "")
            if isinstance(held, NothingToDo):
                return {"claim": None, "why": held.why}
            given, protocol = held.claim, self._protocol(held.study)
        except AccordError as error:
            raise gr.Error(str(error), print_exception=False) from error
        return {
            "claim": given.token,
            "item": shown_item(given.item, given.order),
            "scale": list(scale_as_shown(protocol.scale, pairwise=protocol.kind == "pairwise")),
            "prompt_sha256": shown_prompt(protocol, given.item, given.order).sha256,
            "progress": {"done": given.progress.done, "total": given.progress.total},
        }

    def submit_verdict(
        self, claim: str, label: str, request: gr.Request, comment: str = "", seconds: float | None = None
    ) -> dict:  # type: ignore[type-arg]
        """Store a verdict on a claimed item; the answer comes after the commit."""
        try:
            who = _who(None, request)
            held = self.store.held(claim, who)
            sent = Submission(label, comment or None, seconds)
            saved = self._save(held, sent, who)
        except AccordError as error:
            raise gr.Error(str(error), print_exception=False) from error
        return {"saved": _stamp(saved.at), "verdict": saved.verdict}

    def skip_item(self, claim: str, request: gr.Request, reason: str = "") -> dict:  # type: ignore[type-arg]
        """Give an item back without a verdict."""
        try:
            self.store.skip_item(claim, reason, _who(None, request))
        except AccordError as error:
            raise gr.Error(str(error), print_exception=False) from error
        return {"skipped": True}

    # Doors for the page: what a person can put right comes back as a sentence under `problem`.

    def open(self, study: str, annotator: str, item: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Show the item asked for, if it is this annotator's, and otherwise the next one."""
        return _told(lambda: self._open(study, _who(annotator, request) or "", item))

    def submit(self, claim: str, sent: dict, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Store a verdict and show what comes next: what was hidden, if the study reveals it, or the next item."""
        return _told(lambda: self._submit(claim, sent, _who(annotator, request) or ""))

    def prepare(self, claim: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Have the next item's texts ready while the annotator reads this one; nothing of them is sent."""

        def work() -> dict[str, Any]:
            held = self.store.held(claim, _who(annotator, request))
            item = self.store.foresee_next(held.claim.study, held.claim.rater)
            if item is not None:
                prepare_texts(item)
            return {}

        return _told(work)

    def step(self, claim: str, way: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Show the item before or after this one among one's own; after the last comes the next new one."""
        return _told(lambda: self._step(claim, "back" if way == "back" else "on", _who(annotator, request) or ""))

    def skip(self, claim: str, reason: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Give an item back and show the next."""

        def work() -> dict[str, Any]:
            who = _who(annotator, request) or ""
            study = self.store.held(claim, who).claim.study
            self.store.skip_item(claim, reason, who)
            return self._open(study, who, "")

        return _told(work)

    def undo(self, claim: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Withdraw the verdict on this item; asked twice, it changes nothing more."""

        def work() -> dict[str, Any]:
            who = _who(annotator, request) or ""
            before = self.store.held(claim, who)
            if before.verdict is not None:
                self.store.undo_verdict(claim, who)
            draft = {"draft": own_json(before.verdict)} if before.verdict else {}
            return {**self._sheet(self.store.held(claim, who)), **draft}

        return _told(work)

    def remark(self, claim: str, kind: str, judge: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Keep a flag, or the cause of a difference with a judge."""

        def work() -> dict[str, Any]:
            if kind not in REMARKS:
                raise InputError(f"{kind!r} is not one of: {', '.join(REMARKS)}")
            self.store.add_remark(claim, Remark(kind, judge or None), _who(annotator, request))
            return {"kept": kind}

        return _told(work)

    def prompt(self, claim: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Show the exact prompt a judge is sent for what the annotator sees."""

        def work() -> dict[str, Any]:
            held = self.store.held(claim, _who(annotator, request))
            protocol = self._protocol(held.study)
            return {"prompt": show_prompt(shown_prompt(protocol, held.claim.item, held.claim.order))}

        return _told(work)

    def difference(self, claim: str, annotator: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Show the two responses with the words that differ marked."""

        def work() -> dict[str, Any]:
            held = self.store.held(claim, _who(annotator, request))
            seen = shown_item(held.claim.item, held.claim.order)
            return {"sides": list(show_difference(seen["response_a"], seen["response_b"] or ""))}

        return _told(work)

    def guidelines(self, study: str) -> dict:  # type: ignore[type-arg]
        """Show what the study asks of its annotators."""

        def work() -> dict[str, Any]:
            text = self.store.study(study).guidelines
            return {"guidelines": show_markdown(text) if text.strip() else "<p>This study has no guidelines.</p>"}

        return _told(work)

    def judges(self) -> list:  # type: ignore[type-arg]
        """Name the judges one can ask here; nothing of their addresses or keys."""
        return [preset.name for preset in self.endpoints.presets()]

    async def judge(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[str]:
        """Ask a judge about the item in sight, in both orders; when the study is blind, after one's own verdict."""
        try:
            who = _who(_sent(event, "annotator"), request)
            held = await asyncio.to_thread(self._may_see, _sent(event, "claim"), who)
            orders = ORDERS if held.claim.order == "AB" else ORDERS[::-1]
            await asyncio.to_thread(self._note_asking, held, _sent(event, "judge"))
            lives = judge_item(
                self.store,
                self.endpoints,
                held.claim.study,
                held.claim.item.id,
                _sent(event, "judge"),
                orders,
                who_asks(request),
            )
            async with aclosing(lives):
                async for live in lives:
                    yield _frame_note(held) + show_live(live)
        except AccordError as error:
            yield f'<p class="problem" role="alert">{escape(str(error))}</p>'

    def _may_see(self, token: str, who: str | None) -> Held:
        """Return a claim whose judges may be seen, and record that they are."""
        held = self.store.held(token, who)
        if held.study.blind and held.verdict is None:
            raise InputError("give your own verdict first; then the judge may be asked")
        if held.verdict is not None:
            self.store.reveal(token, who)
        return held

    def _note_asking(self, held: Held, judge: str) -> None:
        self.endpoints.preset(judge)  # says which there are
        claim = held.claim
        self.store.record_event("judge_asked", claim.study, judge=judge, item=claim.item.id, by=claim.rater)

    def _open(self, name: str, who: str, item: str) -> dict[str, Any]:
        if not name:
            return {"choose": self._choices()}
        if item and (held := self.store.find_held(name, who, item)) is not None:
            return self._sheet(held)
        return self._next(name, who)

    def _next(self, study: str, who: str) -> dict[str, Any]:
        given = self.store.hold_next(study, who)
        if isinstance(given, NothingToDo):
            progress = {"done": given.progress.done, "total": given.progress.total, "skipped": given.progress.skipped}
            return {"nothing": _tell_nothing(given), "why": given.why, "progress": progress}
        return self._sheet(given)

    def _choices(self) -> list[dict[str, Any]]:
        return [
            {
                "name": study.name,
                "items": study.items,
                "closed": study.closed is not None,
                "protocol": escape(study.protocol.name),
            }
            for study in self.store.studies()
        ]

    def _submit(self, token: str, sent: dict[str, Any], who: str) -> dict[str, Any]:
        submission = Submission(
            sent.get("label", ""), sent.get("comment") or None, sent.get("seconds"), sent.get("confidence") or None
        )
        held = self.store.held(token, who)
        saved = self._save(held, submission, who)
        told = {"saved": saved.at.isoformat(), "revision": saved.revision}
        if held.study.reveal and not held.revealed:
            self.store.reveal(token, who)
            return {**told, **self._sheet(self.store.held(token, who))}
        return {**told, **self._next(held.study.name, who)}

    def _save(self, held: Held, sent: Submission, who: str | None) -> Saved:
        """Store a verdict with the hash of the prompt a judge is sent for what was seen."""
        prompt = shown_prompt(self._protocol(held.study), held.claim.item, held.claim.order)
        return self.store.save_verdict(held.claim.token, replace(sent, prompt_hash=prompt.hash), who)

    def _step(self, token: str, way: Literal["back", "on"], who: str) -> dict[str, Any]:
        held = self.store.neighbour(token, who, way)
        if held is not None:
            return self._sheet(held)
        if way == "back":
            raise InputError("this is the first of your items")
        return self._open(self.store.held(token, who).claim.study, who, "")

    def _sheet(self, held: Held) -> dict[str, Any]:
        study, protocol = held.study, self._protocol(held.study)
        pace = self.store.pace(study, held.claim.rater)
        progress = held.claim.progress
        open_now = not study.blind or held.revealed
        return {
            **make_sheet(protocol, held, blind=study.blind),
            "progress": {"done": progress.done, "total": progress.total, "skipped": progress.skipped},
            "pace": {"seconds": pace.seconds, "given": pace.given, "wanted": pace.wanted},
            "reveal": show_reveal(protocol, held, self.store.judge_verdicts(held.claim.token)) if open_now else None,
            "judgeable": not study.blind or held.verdict is not None,
        }

    def _protocol(self, study: Study) -> Protocol:
        """Return a study's protocol as it was stored; loading one takes longer than the rest of a request."""
        if study.protocol not in self.protocols:
            self.protocols[study.protocol] = load_version(study.protocol)
        return self.protocols[study.protocol]


def _frame_note(held: Held) -> str:
    """Say which side is meant when the annotator saw them exchanged: a judge's labels are of the item as imported."""
    if held.claim.order == "AB":
        return ""
    return '<p class="note">You saw the sides exchanged: for the item as imported, your A is B.</p>'


def _who(annotator: str | None, request: gr.Request) -> str | None:
    """Return whose verdict this is: the one signed in, or without login the one named."""
    return request.username or annotator


def _sent(event: gr.EventData, name: str) -> str:
    """Return a text that the page's script sent along; whatever else was sent is no text to anybody."""
    sent = event._data  # noqa: SLF001
    found = sent.get(name) if isinstance(sent, dict) else None
    return found if isinstance(found, str) else ""


def _tell_nothing(given: NothingToDo) -> str:
    """Return why there is no item for somebody."""
    if given.why == "finished" and not given.progress.total:
        return "This study has no items yet. Come back when some have been imported."
    if given.why == "finished" and given.progress.skipped:
        return "You have given a verdict on every item that was for you, but for those you skipped. Thank you."
    return _NOTHING[given.why]


def _told(work: Any) -> dict[str, Any]:
    """Return what the work gives, or what a person can do about it; `again` when the same may succeed later."""
    try:
        return dict(work())
    except StorageError as error:
        return {"problem": str(error), "again": True}
    except AccordError as error:
        return {"problem": str(error)}


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
