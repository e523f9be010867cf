"""The studies: all of them at a glance, making one, and one of them with everything a researcher does to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from exchange.examples import EXAMPLES, load_examples
from exchange.figures import write_percent
from judge.domain import AccordError, Study, StudyError
from storage.overviews import Overview
from storage.store import Store
from ui.annotators import AnnotatorControls, AnnotatorsPanel
from ui.display import escape
from ui.downloads import DownloadControls, DownloadsPanel
from ui.items import SCRIPT, ItemControls, ItemsPanel
from ui.notices import count, show_bar, show_empty, show_failure, show_link, show_success, show_table
from ui.page import INSTANT, Settings, asked, fall_silent, on_load, open_door, say_at_once, signed_in
from ui.planning import PlanControls, PlanPanel
from ui.study_form import StudyForm, StudyFormControls
from ui.uploads import ASSIGNING, CHOOSING, WORKING, Upload, UploadControls, UploadPanel, chosen_fields, told_import


@dataclass(frozen=True, slots=True)
class SettingControls:
    """What may change in a study after it was made."""

    wanted: gr.Number
    keep_wanted: gr.Button
    guidelines: gr.Textbox
    keep_guidelines: gr.Button
    close: gr.Button
    told: gr.HTML


@dataclass(frozen=True, slots=True)
class Controls:
    """The components of the page that take part in an event."""

    head: gr.HTML
    overview: gr.Column
    chosen: gr.Column
    form: StudyFormControls
    items: ItemControls
    annotators: AnnotatorControls
    upload: UploadControls
    store_upload: gr.Button
    stored: gr.HTML
    downloads: DownloadControls
    settings: SettingControls
    plan: PlanControls


class Studies:
    """The page's handlers; the work is in its panels and in the store."""

    title = "Studies"
    path = "/studies"

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.form = StudyForm(store, settings.protocols)
        self.items = ItemsPanel(store)
        self.annotators = AnnotatorsPanel(store)
        self.upload = UploadPanel(store, "more")
        self.downloads = DownloadsPanel(store)
        self.plan = PlanPanel(store)

    def layout(self) -> Controls:
        """Put the components on the page; which of them are seen depends on the address."""
        with gr.Column(elem_classes="studies"):
            return self._layout()

    def _layout(self) -> Controls:
        head = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="studies")
        with gr.Column(visible=False) as overview:
            form = self.form.layout()
        with gr.Column(visible=False, elem_id="study") as chosen, gr.Tabs():
            with gr.Tab("Items"):
                items = self.items.layout()
            with gr.Tab("Annotators"):
                annotators = self.annotators.layout()
            with gr.Tab("Import"):
                upload = self.upload.layout("Files: JSON Lines, JSON, CSV, TSV or Parquet, gzipped or not, up to 20 MB")
                store_upload = gr.Button("Import", variant="primary", interactive=False, elem_id="import")
                stored = gr.HTML("", apply_default_css=False, elem_id="stored")
            with gr.Tab("Export"):
                downloads = self.downloads.layout()
            with gr.Tab("Settings"):
                settings = self._settings_layout()
        plan = self.plan.layout()  # for a study to come, and from one that can be learned from
        return Controls(
            head, overview, chosen, form, items, annotators, upload, store_upload, stored, downloads, settings, plan
        )

    @staticmethod
    def _settings_layout() -> SettingControls:
        with gr.Row(elem_classes="setting"):
            wanted = gr.Number(
                label="Verdicts wanted per item (N)",
                info="How many different people judge each item. Verdicts given already stay, whatever N is.",
                minimum=1,
                precision=0,
                elem_id="change-wanted",
            )
            keep_wanted = gr.Button("Change N", scale=0, min_width=200)
        with gr.Row(elem_classes="setting"):
            guidelines = gr.Textbox(
                label="Guidelines",
                info="Markdown, shown beside each item. A change is a new version, and each verdict records its own.",
                lines=8,
                max_lines=24,
                elem_id="change-guidelines",
            )
            keep_guidelines = gr.Button("Save as new version", scale=0, min_width=200)
        with gr.Row(elem_classes="setting"):
            gr.HTML(
                "<p><strong>Open or closed</strong><br>In a closed study nobody is given another item; what somebody "
                "holds may still be answered. It can be opened again.</p>",
                apply_default_css=False,
            )
            close = gr.Button("Close the study", scale=0, min_width=200, elem_id="close")
        told = gr.HTML("", apply_default_css=False, elem_id="settings-told")
        return SettingControls(wanted, keep_wanted, guidelines, keep_guidelines, close, told)

    def wire(self, on: Controls) -> None:
        """Connect the components: the address decides what is shown, buttons change the study it names."""
        self.form.wire(on.form)
        self.items.wire(on.items)
        self.annotators.wire(on.annotators)
        self.downloads.wire(on.downloads)
        self.plan.wire(on.plan)
        on_load(self.show, self._shown(on))
        open_door(self.load_examples, "load_examples")
        self._wire_upload(on)
        self._wire_settings(on)

    def _wire_upload(self, on: Controls) -> None:
        files, inputs = [on.upload.files, on.upload.repair], on.upload.inputs
        shown = [on.upload.preview, on.upload.repair, on.store_upload, on.stored]
        say_at_once(on.upload.files.change, on.stored, "Reading the files …")
        received = on.upload.files.change(self.receive, files, [on.upload.mapping, *shown], **CHOOSING)
        on.upload.preview.assign(self.assign, files, [on.upload.mapping, *shown], **ASSIGNING)
        on.upload.repair.input(self.preview, inputs, shown, **CHOOSING)
        say_at_once(on.store_upload.click, on.stored, "Importing …")
        as_chosen = self.upload.as_chosen(inputs.index(on.upload.mapping))
        imported = on.store_upload.click(
            self.store_upload, inputs, [on.stored, on.store_upload], js=as_chosen, **WORKING
        )
        fall_silent(received, on.stored)
        fall_silent(imported, on.stored)
        imported.then(self.refresh, None, [on.head, *ItemsPanel.outputs(on.items)], **INSTANT)

    def _wire_settings(self, on: Controls) -> None:
        controls = on.settings
        changed = [controls.told, on.head, controls.close]
        controls.keep_wanted.click(self.change_wanted, controls.wanted, changed, **INSTANT)
        controls.keep_guidelines.click(self.change_guidelines, controls.guidelines, changed, **INSTANT)
        controls.close.click(self.close_or_open, None, changed, **INSTANT)

    @staticmethod
    def _shown(on: Controls) -> list[Any]:
        settings = [on.settings.wanted, on.settings.guidelines, on.settings.close]
        return [
            on.head,
            on.overview,
            on.chosen,
            on.form.frame,
            *settings,
            *ItemsPanel.outputs(on.items),
            *AnnotatorsPanel.outputs(on.annotators),
        ]

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """Fill the page: the study that the address names, or all of them."""
        name = asked(request, "study")
        unchanged = (gr.skip(),) * 8
        try:
            if not name:
                known = self.store.overviews()
                # Where there are studies, the form stays as it is: somebody may have opened it already.
                form = gr.skip() if known else gr.update(open=True)
                return show_overviews(known), gr.update(visible=True), gr.update(visible=False), form, *unchanged
            overview = self.store.overview(name)
            study = overview.study
            settings = (study.wanted, study.guidelines, _close_button(study))
            shown = (*self.items.show(name, asked(request, "item"), signed_in(request)), *self.annotators.show(name))
        except AccordError as error:
            told = show_failure(str(error)) + _way_back()
            return told, gr.update(visible=False), gr.update(visible=False), gr.skip(), *unchanged
        return show_head(overview), gr.update(visible=False), gr.update(visible=True), gr.skip(), *settings, *shown

    def load_examples(self, request: gr.Request) -> dict:  # type: ignore[type-arg]
        """Put the example studies into the database and tell where to begin."""
        try:
            load_examples(self.store, by=signed_in(request))
        except AccordError as error:
            return {"problem": str(error)}
        return {"study": EXAMPLES[0].name}

    def refresh(self, request: gr.Request) -> tuple[Any, ...]:
        """Show the study again after something was added to it."""
        name = asked(request, "study")
        return self._head(name), *self.items.show(name, "")

    def receive(self, files: list[str] | None, repair: bool, request: gr.Request) -> tuple[str, str, Any, Any, str]:
        """Show what new files would add; whatever was said of other files' columns is forgotten."""
        return "", *self.preview(files, "", repair, request)

    def assign(
        self, files: list[str] | None, repair: bool, event: gr.EventData, request: gr.Request
    ) -> tuple[str, str, Any, Any, str]:
        """Show what the files would add with other meanings of their columns."""
        mapping = chosen_fields(event)
        return mapping, *self.preview(files, mapping, repair, request)

    def preview(
        self, files: list[str] | None, mapping: str, repair: bool, request: gr.Request
    ) -> tuple[str, Any, Any, str]:
        """Show what the files would add to this study; only without errors can they be imported."""
        try:
            upload = Upload.taken(files, mapping, repair)
        except AccordError as error:
            return show_failure(str(error)), gr.skip(), gr.update(interactive=False), ""
        shown, offer, sound = self.upload.preview(asked(request, "study"), None, upload)
        return shown, offer, gr.update(interactive=sound), ""

    def store_upload(self, files: list[str] | None, mapping: str, repair: bool, request: gr.Request) -> tuple[str, Any]:
        """Import the files into this study."""
        upload = None
        try:
            upload = Upload.taken(files, mapping, repair)
            study = asked(request, "study")
            self.store.study(study)  # an import would make a study that is not there
            done = self.upload.store_upload(upload.request(study, by=signed_in(request)))
        except AccordError as error:
            return show_failure(upload.named(str(error)) if upload else str(error)), gr.skip()
        return show_success(told_import(done)), gr.update(interactive=False)

    def change_wanted(self, wanted: float | None, request: gr.Request) -> tuple[str, str, Any]:
        """Change N."""

        def change(name: str) -> str:
            if wanted is None or wanted < 1 or wanted != int(wanted):
                raise StudyError("N is a whole number from 1 on: how many different people judge each item")
            self.store.change_wanted(name, int(wanted), signed_in(request))
            return f"each item now wants {count(int(wanted), 'verdict')}"

        return self._change(request, change)

    def change_guidelines(self, body: str, request: gr.Request) -> tuple[str, str, Any]:
        """Keep a new version of the guidelines, if they are new."""

        def change(name: str) -> str:
            if body == self.store.study(name).guidelines:
                return "the guidelines are as they were: no new version was made"
            version = self.store.change_guidelines(name, body, signed_in(request))
            return f"this is version {version} of the guidelines"

        return self._change(request, change)

    def close_or_open(self, request: gr.Request) -> tuple[str, str, Any]:
        """Close a study that is open, and open one that is closed."""

        def change(name: str) -> str:
            if self.store.study(name).closed is None:
                self.store.close_study(name, signed_in(request))
                return "the study is closed: nobody is given another item"
            self.store.reopen_study(name, signed_in(request))
            return "the study is open again"

        return self._change(request, change)

    def _change(self, request: gr.Request, change: Any) -> tuple[str, str, Any]:
        name = asked(request, "study")
        try:
            told = show_success(change(name))
            return told, self._head(name), _close_button(self.store.study(name))
        except AccordError as error:
            return show_failure(str(error)), gr.skip(), gr.skip()

    def _head(self, name: str) -> str:
        return show_head(self.store.overview(name))


def show_overviews(known: Sequence[Overview]) -> str:
    """Return all studies as a table, or how to begin."""
    if not known:
        return show_empty(
            "There is no study yet. Make one below: from a file of items, or empty. To see how everything looks with "
            "something in it, load the example studies: their verdicts are simulated.",
            "Load the example studies",
        )
    heads = [
        ("Study", ""),
        ("Protocol", "How a verdict is asked for"),
        ("Items", ""),
        ("N", "Verdicts wanted per item, each of another person"),
        ("Verdicts of people", "Given, of those wanted in all"),
        ("People", "Who have given a verdict"),
        ("Judges", "Models that have given a verdict"),
        ("State", ""),
    ]
    return show_table(heads, [_overview_row(each) for each in known], "Studies")


def _overview_row(overview: Overview) -> list[str]:
    study = overview.study
    return [
        f"<bdi>{show_link(study.name, '/studies', study=study.name)}</bdi>",
        f'<span class="protocol">{escape(study.protocol.name)}</span>',
        f"{study.items:,}",
        f"{study.wanted:,}",
        show_bar(overview.given, overview.wanted, f"{overview.given:,} of {overview.wanted:,}"),
        f"{overview.people:,}",
        f"{overview.judges:,}",
        _state(study),
    ]


def show_head(overview: Overview) -> str:
    """Return what a study is and how far it has come."""
    study = overview.study
    facts = [
        study.protocol.name,
        count(study.items, "item"),
        f"{study.wanted} {'verdict' if study.wanted == 1 else 'verdicts'} per item",
        "blind" if study.blind else "not blind",
        *(["judge revealed after each verdict"] if study.reveal else []),
        *([f"{write_percent(study.repeat_share)} hidden repeats"] if study.repeat_share else []),
        f"guidelines version {study.guideline_version}",
        f"seed {study.seed}",
    ]
    told = f"{overview.given:,} of {overview.wanted:,} verdicts of people"
    raters = f"by {count(overview.people, 'person', 'people')} · {count(overview.judges, 'judge')}"
    return (
        f'<div class="study-head">{_way_back()}<div class="line"><h2><bdi>{escape(study.name)}</bdi></h2>'
        f"{_state(study)}</div>"
        f'<p class="muted">{escape(" · ".join(facts))}</p>'
        f"<p>{show_bar(overview.given, overview.wanted, told)}, {raters}</p></div>"
    )


def _state(study: Study) -> str:
    return '<span class="state closed">closed</span>' if study.closed else '<span class="state">open</span>'


def _way_back() -> str:
    return f'<p class="back">{show_link("← All studies", "/studies")}</p>'


def _close_button(study: Study) -> Any:
    return gr.update(value="Open the study again" if study.closed else "Close the study")
