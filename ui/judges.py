"""The judges' page: start a run over a study, watch it, stop it, go on with it, and see where it failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import gradio as gr

from exchange.background import RunProgress, Runs
from exchange.endpoints import EMBEDDED, Endpoints, Preset
from exchange.run_order import RunOrder, estimate_order
from judge.domain import AccordError, InputError, Order
from judge.run import Limits
from storage.store import Store
from ui.display import escape
from ui.items import SCRIPT as LINKS
from ui.notices import offer_studies, show_failure, show_hint
from ui.numbers import number_box, read_amount, read_whole
from ui.page import INSTANT, TYPING, asked, on_choice, on_load, signed_in, who_asks
from ui.run_views import (
    SHOWN_FAILURES,
    show_estimate,
    show_failures,
    show_problem_line,
    show_progress,
    show_runs,
)

SCRIPT = (Path(__file__).parent / "judges.js").read_text(encoding="utf-8")
OTHER = "another"  # the choice of an endpoint without a name
OWN_EVERY, OTHERS_EVERY = 2.0, 10.0  # seconds between looks at runs of this server, and of other processes
ORDERS: dict[str, tuple[Order, ...]] = {"both": ("AB", "BA"), "AB": ("AB",), "BA": ("BA",)}
NO_STUDY = "Choose the study whose judges you want to see or start."
NO_ITEMS = "This study has no items yet. Import some on the Studies page; then a judge can be started here."
EMBEDDED_NOTE = (
    "A small model inside Accord, to see how a judge works without a key. It is a demonstration model, unfit for "
    "studies: its verdicts say nothing about the responses. It answers one call at a time, in 5 to 25 seconds."
)


@dataclass(frozen=True, slots=True)
class Form:
    """What is filled in on the page; numbers are as they were typed."""

    study: str = ""
    endpoint: str = EMBEDDED.name
    model: str = ""
    base_url: str = ""
    name: str = ""
    orders: str = "both"
    limit: str = ""
    repeats: str = "1"
    concurrency: str = "16"
    temperature: str = ""
    budget_usd: str = ""
    budget_tokens: str = ""


@dataclass(frozen=True, slots=True)
class Controls:
    """The components of the page that take part in an event, those of the form in the order of its fields."""

    form: tuple[Any, ...]
    setup: gr.Column
    intro: gr.HTML
    note: gr.HTML
    estimate: gr.HTML
    start: gr.Button
    problem: gr.HTML
    progress: gr.HTML
    runs: gr.HTML
    failures: gr.HTML
    timer: gr.Timer

    def field(self, name: str) -> Any:
        """Return the component of a field of the form."""
        return self.form[[each.name for each in fields(Form)].index(name)]


class Judges:
    """The page's handlers: each reads the form, calls a room and returns what to show."""

    title = "Judges"
    path = "/judges"

    def __init__(self, store: Store, endpoints: Endpoints, runs: Runs) -> None:
        self.store = store
        self.endpoints = endpoints
        self.runs = runs

    # What is asked for.

    def read_order(self, form: Form, who: str) -> RunOrder:
        """Return what the form asks for, or say what is wrong with it."""
        if form.endpoint == OTHER:
            if not form.base_url.strip():
                raise InputError("type the endpoint's address, such as http://localhost:8000/v1")
            preset = Preset("", form.model.strip(), form.base_url.strip(), "")
        else:
            preset = self.endpoints.preset(form.endpoint)
            if not preset.embedded:
                preset = replace(preset, model=form.model.strip() or preset.model)
        limits = Limits(
            concurrency=read_whole("Calls at once", form.concurrency) or 1,
            budget_tokens=read_whole("Budget in tokens", form.budget_tokens),
            budget_usd=read_amount("Budget in USD", form.budget_usd),
        )
        temperature = read_amount("Temperature", form.temperature)
        said = {} if temperature is None else {"temperature": temperature}
        return RunOrder(
            form.study,
            preset,
            who,
            form.name.strip() or None,
            ORDERS[form.orders],
            read_whole("Repeats", form.repeats) or 1,
            read_whole("First items only", form.limit),
            said,
            limits,
        )

    # What is shown.

    def show_estimate(self, form: Form, who: str) -> str:
        """Return what the form would ask, or what is missing in it."""
        try:
            order = self.read_order(form, who)
            order.bounds()
            return show_estimate(estimate_order(self.store, self.endpoints, order))
        except AccordError as error:
            return f'<p class="estimate">{_told(error)}</p>'

    def show_state(self, study: str) -> tuple[str, str, Any]:
        """Return the runs that go on, the table of all, and how often to look again."""
        here = self._here(study)
        known = self.store.list_runs(study)
        own = any(each.state in ("running", "stopping") for each in here.values())
        timer = gr.Timer(OWN_EVERY if own else OTHERS_EVERY, active=own or any(run.active for run in known))
        return show_progress(list(here.values())), show_runs(self.store.study(study), known, here), timer

    def _here(self, study: str) -> dict[int, RunProgress]:
        return {each.run: each for each in self.runs.progress(study)}

    # What happens.

    def open(self, request: gr.Request) -> list[Any]:
        """Fill the page for the study in its address."""
        name = asked(request, "study")
        study = self.store.find_study(name) if name else None
        presets = self.endpoints.presets()
        choices = [*(each.name for each in presets), ("Another endpoint …", OTHER)]
        chosen = presets[1] if len(presets) > 1 else presets[0]
        form = Form(study=study.name if study else "", endpoint=chosen.name, model=chosen.model)
        controls = [gr.skip()] * len(fields(Form))
        controls[0] = form.study
        controls[1] = gr.update(choices=choices, value=chosen.name)
        if study is None or not study.items:
            missing = show_failure(f"there is no study named {name!r}") if name and study is None else ""
            offers = offer_studies([each.name for each in self.store.studies()], self.path, NO_STUDY)
            intro = show_hint(NO_ITEMS) if study else missing + offers
            return [*controls, gr.update(visible=False), intro, gr.skip(), "", "", "", gr.Timer(active=False)]
        controls[2], controls[3] = self._model_fields(chosen)
        controls[5] = gr.update(visible=study.protocol.kind == "pairwise")
        shown = self.show_estimate(form, who_asks(request))
        return [*controls, gr.update(visible=True), "", self._note(chosen), shown, *self.show_state(study.name)]

    def choose(self, request: gr.Request, *values: Any) -> tuple[Any, Any, Any, Any]:
        """Show what goes with another endpoint; one that somebody has removed meanwhile is told in the estimate."""
        form = read_form(values)
        try:
            preset = Preset("") if form.endpoint == OTHER else self.endpoints.preset(form.endpoint)
        except InputError:
            return gr.skip(), gr.skip(), gr.skip(), self.show_estimate(form, who_asks(request))
        model, address = self._model_fields(preset)
        filled = replace(form, model=preset.model)
        return model, address, self._note(preset), self.show_estimate(filled, who_asks(request))

    @staticmethod
    def _model_fields(preset: Preset) -> tuple[Any, Any]:
        model = gr.update(value=preset.model, visible=not preset.embedded)
        return model, gr.update(visible=not preset.name)

    @staticmethod
    def _note(preset: Preset) -> Any:
        return gr.update(value=f'<p class="note">{EMBEDDED_NOTE}</p>', visible=preset == EMBEDDED)

    def estimate(self, request: gr.Request, *values: Any) -> Any:
        """Show what the form would ask."""
        form = read_form(values)
        # Gradio tells of every box as the page is built, before it is filled.
        return self.show_estimate(form, who_asks(request)) if form.study and form.endpoint else gr.skip()

    def start(self, request: gr.Request, *values: Any) -> tuple[str, Any, Any, Any]:
        """Start what the form asks for."""
        form = read_form(values)
        try:
            order = self.read_order(form, who_asks(request))
            self.runs.start(order)
            self._record("run_started", form.study, request, judge=order.preset.name)
        except AccordError as error:
            return show_problem_line(_plain(error)), gr.skip(), gr.skip(), gr.skip()
        return "", *self.show_state(form.study)

    def tick(self, study: str) -> tuple[Any, Any, Any]:
        """Show how it goes; the table and the timer only when something has ended."""
        here = self._here(study)
        if any(each.state in ("running", "stopping") for each in here.values()):
            return show_progress(list(here.values())), gr.skip(), gr.skip()
        return self.show_state(study)

    def look(self, request: gr.Request, *values: Any) -> tuple[Any, Any, Any, Any]:
        """Show how it goes; once nothing goes on any more, also what is left to ask."""
        form = read_form(values)
        progress, table, timer = self.tick(form.study)
        over = isinstance(timer, gr.Timer) and not timer.active
        return progress, table, timer, self.show_estimate(form, who_asks(request)) if over else gr.skip()

    def act(self, request: gr.Request, study: str, event: gr.EventData) -> list[Any]:
        """Do what a button in the markup asks: stop, resume, or show failures."""
        what, run = str(event.what), int(event.run)
        skipped = [gr.skip()] * 3
        try:
            if what == "failures":
                return ["", *skipped, self.show_failures(study, run, str(event.name), int(event.page))]
            if what == "stop":
                self.runs.stop(study, run)
                self._record("run_stopped", study, request, run=run)
            elif what == "resume":
                self.runs.resume(study, run, who_asks(request))
                self._record("run_resumed", study, request, run=run)
            return ["", *self.show_state(study), gr.skip()]
        except AccordError as error:
            return [show_problem_line(_plain(error)), *skipped, gr.skip()]

    def _record(self, kind: str, study: str, request: gr.Request, **details: Any) -> None:
        self.store.record_event(kind, study, **details, by=signed_in(request))

    def show_failures(self, study: str, run: int, kind: str = "", page: int = 0) -> str:
        """Return a page of the failures of one kind; the most frequent kind where none is named."""
        kinds = self.store.failures_by_kind(study, run)
        chosen = kind if kind in kinds else next(iter(kinds), "")
        last = max(kinds.get(chosen, 0) - 1, 0) // SHOWN_FAILURES
        page = min(max(page, 0), last)
        calls = self.store.failed_calls(study, run, chosen, SHOWN_FAILURES, page * SHOWN_FAILURES) if kinds else []
        return show_failures((study, run), kinds, chosen, calls, page)

    # The page.

    def layout(self) -> Controls:
        """Put the components on the page, empty: what they show depends on the study."""
        study = gr.Textbox(visible=False)
        intro = gr.HTML(apply_default_css=False, js_on_load=LINKS, elem_classes="studies", elem_id="intro")
        with gr.Column(visible=False, elem_classes="setup") as setup:
            with gr.Row(elem_classes="choices"):
                endpoint = gr.Dropdown([], label="Judge", filterable=False, min_width=280, elem_id="endpoint")
                model = gr.Textbox(label="Model", max_lines=1, min_width=200, elem_id="model")
                base_url = gr.Textbox(
                    label="Address",
                    placeholder="http://localhost:8000/v1",
                    max_lines=1,
                    min_width=240,
                    visible=False,
                    elem_id="base-url",
                )
                orders = gr.Radio(
                    [("Both", "both"), ("A first", "AB"), ("B first", "BA")],
                    value="both",
                    label="Orders of the sides",
                    min_width=260,
                    elem_id="orders",
                )
            note = gr.HTML(apply_default_css=False, visible=False)
            others = self._more()
            with gr.Row(elem_classes="start-row"):
                estimate = gr.HTML(apply_default_css=False, js_on_load=SCRIPT, elem_id="estimate")
                start = gr.Button("Start", variant="primary", scale=0, min_width=120, elem_id="start")
        problem = gr.HTML(apply_default_css=False, elem_id="problem")
        progress = gr.HTML(apply_default_css=False, js_on_load=SCRIPT, elem_id="progress")
        runs = gr.HTML(apply_default_css=False, js_on_load=SCRIPT, elem_id="runs")
        failures = gr.HTML(apply_default_css=False, js_on_load=SCRIPT, elem_id="failures")
        timer = gr.Timer(OWN_EVERY, active=False)
        form = (study, endpoint, model, base_url, others[0], orders, *others[1:])
        return Controls(form, setup, intro, note, estimate, start, problem, progress, runs, failures, timer)

    @staticmethod
    def _more() -> Sequence[Any]:
        """Put what most runs leave as it is, and return it in the order of the form."""
        with gr.Accordion("Limits and settings", open=False, elem_id="more"), gr.Row(elem_classes="numbers"):
            limit = number_box("First items only", "all of them")
            repeats = number_box("Repeats", "1", "1")
            concurrency = number_box("Calls at once", "1", "16")
            temperature = number_box("Temperature", "the protocol’s")
            budget_usd = number_box("Budget in USD", "none")
            budget_tokens = number_box("Budget in tokens", "none")
            name = gr.Textbox(
                label="Judge’s name", placeholder="the model’s", max_lines=1, min_width=200, elem_id="name"
            )
        return name, limit, repeats, concurrency, temperature, budget_usd, budget_tokens

    def wire(self, on: Controls) -> None:
        """Connect the components; every change of the form shows what it would ask."""
        form, study = list(on.form), on.form[0]
        state = [on.progress, on.runs, on.timer]
        on_load(self.open, [*form, on.setup, on.intro, on.note, on.estimate, *state])
        chosen = [on.field("model"), on.field("base_url"), on.note, on.estimate]
        on_choice(on.field("endpoint"), self.choose, form, chosen)
        for each in form[2:]:
            # Not `input`: a text box of gradio 6.31 keeps silent on pasted, cut and deleted text.
            each.change(self.estimate, form, on.estimate, **TYPING)
        on.start.click(self.start, form, [on.problem, *state], **INSTANT)
        on.timer.tick(self.look, form, [*state, on.estimate], **INSTANT)
        for markup in (on.progress, on.runs, on.failures):
            markup.act(self.act, study, [on.problem, *state, on.failures], **INSTANT)


def read_form(values: Sequence[str | None]) -> Form:
    """Return what the components hold; a box that nobody has touched holds None."""
    return Form(*(value or "" for value in values))


def _plain(error: AccordError) -> str:
    """Return an error's message without the command line's words."""
    return str(error).replace(" (--name)", ", under Limits and settings")


def _told(error: AccordError | str) -> str:
    text = _plain(error) if isinstance(error, AccordError) else error
    return escape(text[:1].upper() + text[1:])
