"""The agreement page: what the verdicts say, under the rules in its address, and where people and judges differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from exchange.agreeing import CONSENSUS, list_cell
from exchange.grid import all_as_latex, all_as_markdown
from exchange.kept_answers import KeptAnswers
from exchange.looks import Looks
from exchange.panel import Options
from exchange.questions import ask_differences, ask_numbers
from exchange.report import write_report
from exchange.tables import list_tables
from judge.domain import AccordError, InputError
from judge.protocol import load_version
from storage.desk import Remark
from storage.store import Store
from ui.agreement_rules import Words, only, read_rules, read_words, show_rules, words_of
from ui.agreement_views import show_cell_items, show_sentence, show_value, show_views
from ui.disagreements import PAGE, show_choice, show_counts, show_disagreement, show_pager
from ui.display import escape
from ui.downloads import file_name
from ui.notices import offer_studies, show_failure, show_hint
from ui.page import FOLDER, on_load, open_door, signed_in
from ui.sheet import CAUSES

SCRIPT = (FOLDER / "agreement.js").read_text(encoding="utf-8")
LISTED = 200  # items of one cell
WAITING = '<p class="hint" role="status">The numbers are being computed …</p>'


@dataclass(frozen=True, slots=True)
class Controls:
    """The page is one piece of markup."""

    frame: gr.HTML


class Agreement:
    """The page's handlers; the numbers are made in `exchange`, and only where nobody has asked the same before."""

    title = "Agreement"
    path = "/agreement"

    def __init__(self, store: Store) -> None:
        self.store = store
        self.looks = Looks(store)
        self.kept = KeptAnswers(store)

    def layout(self) -> Controls:
        """Put the frame on the page."""
        frame = gr.HTML(WAITING, apply_default_css=False, js_on_load=SCRIPT, elem_id="agreement")
        return Controls(frame)

    def wire(self, on: Controls) -> None:
        """Fill the frame when the page is opened, and open the doors its script and other programs call."""
        on_load(self.show, [on.frame])
        open_door(self.renew, "agreement_renew")
        open_door(self.list_items, "agreement_cell")
        open_door(self.keep_cause, "agreement_cause")
        open_door(self.make_file, "agreement_file")
        gr.api(self.agreement, api_name="agreement", queue=False, api_visibility="public")

    def agreement(self, study: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Give the whole JSON of a study's agreement under the usual rules, as `agreement --json` prints it."""
        try:
            answer = dict(self.kept.answer(ask_numbers(self.store, study, Options())).answer)
        except AccordError as error:
            raise gr.Error(str(error), print_exception=False) from error
        self._took(study, "json, by a program", request)
        return answer

    def show(self, request: gr.Request) -> str:
        """Return the page that the address names: a study, its rules, and one of two views."""
        words = words_of(request)
        study = only(words, "study")
        if not study:
            return self._offer_studies()
        try:
            if only(words, "view") == "disagreements":
                return self.show_disagreements(study, words, signed_in(request))
            return self.show_numbers(study, words, signed_in(request))
        except AccordError as error:
            return show_failure(str(error)) + show_hint("Change the address, or choose a study above.")

    def _offer_studies(self) -> str:
        names = [study.name for study in self.store.studies()]
        return offer_studies(names, self.path, "Choose the study whose agreement you want to see.")

    def show_numbers(self, study: str, words: Words, by: str = "") -> str:
        """Return the sentence, then everything else, and write down who saw it."""
        known = self.kept.answer_at_once(ask_numbers(self.store, study, read_rules(words)))
        self.looks.note("agreement_seen", study, by)
        rules = show_rules(words, self.store.choices(study))
        return (
            f"{show_views(study, '', known.moment, known.holds)}{show_sentence(known.answer)}{rules}"
            f"{show_value(known.answer, only(words, 'judge'))}"
        )

    def show_disagreements(self, study: str, words: Words, by: str = "") -> str:
        """Return a page of the items on which a judge and the people differ, and write down who saw it."""
        rules, choices = read_rules(words), self.store.choices(study)
        judge = only(words, "judge") or next(iter(choices.judges), "")
        if not judge:
            return show_views(study, "disagreements", self.store.clock(), holds=True) + show_hint(
                "No judge has given a verdict yet."
            )
        known = self.kept.answer_at_once(ask_differences(self.store, study, rules, judge))
        self.looks.note("disagreements_seen", study, by, judge=judge)
        text = only(words, "start")
        start = int(text) if text.isdecimal() and int(text) < len(known.answer) else 0
        shown = known.answer[start : start + PAGE]
        protocol = load_version(self.store.study(study).protocol)
        names = self.store.names_at(study, [entry["position"] for entry in shown])
        entries = "".join(
            show_disagreement(study, protocol, entry, self.store.item_detail(study, name), judge)
            for entry, name in zip(shown, names, strict=True)
        )
        pager = show_pager(start, len(shown), len(known.answer))
        return (
            f"{show_views(study, 'disagreements', known.moment, known.holds)}{show_rules(words, choices)}"
            f'{show_choice(choices.judges, judge)}<div id="causes-counted">{self._count(study, judge)}</div>'
            f"{pager}{entries}{pager if len(shown) > 2 else ''}"
        )

    def renew(self, search: str) -> dict:  # type: ignore[type-arg]
        """Make the answer to an address anew; the page that was given an older one asks for it."""

        def work() -> dict[str, Any]:
            words = read_words(search)
            study, rules = only(words, "study"), read_rules(words)
            if only(words, "view") == "disagreements":
                judge = only(words, "judge") or next(iter(self.store.choices(study).judges), "")
                self.kept.answer(ask_differences(self.store, study, rules, judge))
            else:
                self.kept.answer(ask_numbers(self.store, study, rules))
            return {"ready": True}

        return _told(work)

    def _count(self, study: str, judge: str) -> str:
        return show_counts(self.store.causes(study, judge, tuple(CAUSES)))

    def list_items(self, search: str, judge: str, row: int, column: int) -> dict:  # type: ignore[type-arg]
        """Give the items in one cell of a judge's confusion with the consensus, under the rules of an address."""

        def work() -> dict[str, Any]:
            words = read_words(search)
            study, rules = only(words, "study"), read_rules(words)
            labels = self.kept.answer_at_once(ask_numbers(self.store, study, rules)).answer["scale"]
            if not (0 <= row < len(labels) and 0 <= column < len(labels)):
                raise InputError("there is no such cell")
            found = list_cell(self.store, study, rules, (CONSENSUS, judge), (row, column))
            told = f"People {labels[row]}, {judge} {labels[column]}"
            return {"shown": show_cell_items(study, self.store.names_at(study, found[:LISTED]), len(found), told)}

        return _told(work)

    def keep_cause(self, place: dict, cause: str, reader: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Keep why a reader thinks that a judge and the people differ on an item; give all causes counted anew."""

        def work() -> dict[str, Any]:
            study, item, judge = (str(place.get(name, "")) for name in ("study", "item", "judge"))
            who = request.username or reader.strip()
            if cause not in CAUSES:
                raise InputError(f"{cause!r} is not one of: {', '.join(CAUSES)}")
            if not who:
                raise InputError("write your name above first: a cause is kept with who gave it")
            if judge not in self.store.choices(study).judges:
                raise InputError(f"no judge named {judge!r} has a verdict in this study")
            self.store.remark_on_item(study, item, who, Remark(cause, judge))
            return {"shown": self._count(study, judge), "told": f"Kept, as {who}."}

        return _told(work)

    def make_file(self, search: str, kind: str, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Give the report, the JSON or the tables under the rules of an address: a file's name and its text."""

        def work() -> dict[str, Any]:
            words = read_words(search)
            if kind not in FILES:
                raise InputError(f"{kind!r} is not one of: {', '.join(FILES)}")
            value = self.kept.answer(ask_numbers(self.store, only(words, "study"), read_rules(words))).answer
            text = FILES[kind](value)
            self._took(value["study"], kind, request)
            return {"name": f"{file_name(value['study'])}-agreement.{kind}", "text": text}

        return _told(work)

    def _took(self, study: str, kind: str, request: gr.Request) -> None:
        self.store.record_event("export", study, format=f"agreement ({kind})", by=signed_in(request))


FILES: dict[str, Callable[[dict[str, Any]], str]] = {
    "html": write_report,
    "json": lambda value: json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n",
    "md": lambda value: all_as_markdown(list_tables(value)),
    "tex": lambda value: all_as_latex(list_tables(value)),
}


def _told(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what the work gives, or what a person can do about it."""
    try:
        return work()
    except AccordError as error:
        return {"problem": escape(str(error))}
