"""Making a study: its settings, each with what it does, and the items if they are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from judge.domain import AccordError, InputError, Study, StudyError
from judge.protocol import Protocol
from storage.store import Store
from ui.items import SCRIPT
from ui.notices import send_to, show_failure, show_success
from ui.page import fall_silent, on_choice, say_at_once, signed_in
from ui.uploads import ASSIGNING, CHOOSING, WORKING, Upload, UploadControls, UploadPanel, chosen_fields

SUITED = ""  # the first item decides


@dataclass(frozen=True, slots=True)
class StudyFormControls:
    """The components of the form."""

    frame: gr.Accordion
    name: gr.Textbox
    protocol: gr.Dropdown
    upload: UploadControls
    wanted: gr.Number
    blind: gr.Checkbox
    reveal: gr.Checkbox
    repeats: gr.Number
    minutes: gr.Number
    seed: gr.Number
    guidelines: gr.Textbox
    create: gr.Button
    told: gr.HTML

    @property
    def settings(self) -> list[Any]:
        """Return what a study is made of, in the order in which `study` takes it."""
        return [self.name, self.wanted, self.blind, self.reveal, self.repeats, self.minutes, self.seed, self.guidelines]


class StudyForm:
    """The form for a new study."""

    def __init__(self, store: Store, protocols: Mapping[str, Protocol]) -> None:
        self.store = store
        self.protocols = protocols
        self.upload = UploadPanel(store, "new")

    def layout(self) -> StudyFormControls:
        """Put the form on the page, with the settings most studies want."""
        with gr.Accordion("New study", open=False, elem_id="new-study") as frame:
            with gr.Row():
                name = gr.Textbox(
                    label="Name",
                    info="What annotators and reports call it. It cannot be changed later.",
                    max_length=200,
                    elem_id="new-name",
                )
                protocol = gr.Dropdown(
                    [("Whichever suits the items", SUITED)]
                    + [(f"{each.title} ({known})", known) for known, each in self.protocols.items()],
                    value=SUITED,
                    label="Protocol",
                    info="How a verdict is asked for: the prompt, the scale, and what an item must hold.",
                    filterable=False,
                    elem_id="new-protocol",
                )
            upload = self.upload.layout(
                "Items (can be added later): JSON Lines, JSON, CSV, TSV or Parquet, gzipped or not, up to 20 MB"
            )
            wanted, blind, reveal, guidelines = self._usual()
            repeats, minutes, seed = self._further()
            create = gr.Button("Create study", variant="primary", elem_id="create")
            told = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="created")
        return StudyFormControls(
            frame, name, protocol, upload, wanted, blind, reveal, repeats, minutes, seed, guidelines, create, told
        )

    @staticmethod
    def _usual() -> tuple[gr.Number, gr.Checkbox, gr.Checkbox, gr.Textbox]:
        with gr.Row(elem_classes="stacking"):
            wanted = gr.Number(
                3,
                label="Verdicts wanted per item (N)",
                info="How many different people judge each item; three show where people disagree.",
                minimum=1,
                precision=0,
                elem_id="new-wanted",
            )
            blind = gr.Checkbox(
                True,
                label="Blind",
                info="Annotators see no model names, no judge and no other people's verdicts; sides are shuffled.",
            )
            reveal = gr.Checkbox(
                False,
                label="Reveal after the verdict",
                info="Once a verdict is given, the judge's verdict and reasons are shown; a change is a new version.",
            )
        guidelines = gr.Textbox(
            label="Guidelines",
            info="How to judge, in Markdown; shown beside each item. They can be changed later.",
            lines=4,
            max_lines=20,
            elem_id="new-guidelines",
        )
        return wanted, blind, reveal, guidelines

    @staticmethod
    def _further() -> tuple[gr.Number, gr.Number, gr.Number]:
        with gr.Accordion("Further settings", open=False), gr.Row(elem_classes="stacking"):
            repeats = gr.Number(
                0,
                label="Hidden repeats, %",
                info="This share of a person's items comes back unannounced with the sides exchanged: it measures "
                "whether they agree with themselves.",
                minimum=0,
                maximum=100,
            )
            minutes = gr.Number(
                30,
                label="Claim time-out, minutes",
                info="How long an item is kept for somebody who does not answer before it goes to another.",
                minimum=1,
            )
            seed = gr.Number(
                0,
                label="Seed",
                info="Fixes the order of items and sides for each person; the same seed gives the same order.",
                precision=0,
            )
        return repeats, minutes, seed

    def wire(self, on: StudyFormControls) -> None:
        """Preview what is dropped, and make the study."""
        files = [on.protocol, on.upload.files, on.upload.repair]
        inputs = [on.protocol, *on.upload.inputs]
        shown = [on.upload.preview, on.upload.repair]
        say_at_once(on.upload.files.change, on.upload.preview, "Reading the files …")
        received = on.upload.files.change(self.receive, files, [on.upload.mapping, *shown], **CHOOSING)
        fall_silent(received, on.upload.preview)
        on.upload.preview.assign(self.assign, files, [on.upload.mapping, *shown], **ASSIGNING)
        on.upload.repair.input(self.preview, inputs, shown, **CHOOSING)
        on_choice(on.protocol, self.preview, inputs, shown, CHOOSING)
        say_at_once(on.create.click, on.told, "Making the study …")
        as_chosen = self.upload.as_chosen(inputs.index(on.upload.mapping))
        created = on.create.click(self.create, [*inputs, *on.settings], on.told, js=as_chosen, **WORKING)
        fall_silent(created, on.told)

    def receive(self, protocol: str, files: list[str] | None, repair: bool) -> tuple[str, str, Any]:
        """Show what new files would bring; whatever was said of other files' columns is forgotten."""
        return "", *self.preview(protocol, files, "", repair)

    def assign(self, protocol: str, files: list[str] | None, repair: bool, event: gr.EventData) -> tuple[str, str, Any]:
        """Show what the files would bring with other meanings of their columns."""
        mapping = chosen_fields(event)
        return mapping, *self.preview(protocol, files, mapping, repair)

    def preview(self, protocol: str, files: list[str] | None, mapping: str, repair: bool) -> tuple[str, Any]:
        """Show what the files would bring into a new study."""
        try:
            upload = Upload.taken(files, mapping, repair)
            return self.upload.preview("", self._protocol(protocol), upload)[:2]
        except AccordError as error:
            return show_failure(str(error)), gr.skip()

    def create(
        self, request: gr.Request, protocol: str, files: list[str] | None, mapping: str, repair: bool, *settings: Any
    ) -> str:
        """Make the study, with its items if there are any; a file with errors makes nothing."""
        upload, by = None, signed_in(request)
        try:
            upload = Upload.taken(files, mapping, repair)
            chosen = self._protocol(protocol)
            study = self._study(chosen, *settings)
            if self.store.find_study(study.name) is not None:
                raise StudyError(f"there is already a study named {study.name!r}: choose another name")
            if upload.files:
                self.upload.store_upload(upload.request(study.name, chosen, study, by))
            elif chosen is None:
                raise InputError("choose a protocol, or add a file: then its first item decides")
            else:
                self.store.create_study(study, by)
        except AccordError as error:
            return show_failure(upload.named(str(error)) if upload else str(error), lead="Nothing was made.")
        return show_success(f"the study {study.name!r} is made") + send_to("/studies", study=study.name)

    def _protocol(self, name: str) -> Protocol | None:
        return None if name == SUITED else self.protocols[name]

    def _study(self, protocol: Protocol | None, *settings: Any) -> Study:
        name, wanted, blind, reveal, repeats, minutes, seed, guidelines = settings
        if wanted is None or repeats is None or minutes is None or seed is None:
            raise StudyError("N, hidden repeats, time-out and seed are numbers: fill in the empty one")
        stand_in = protocol or next(iter(self.protocols.values()))  # until the first item has decided
        return Study(
            name=(name or "").strip(),
            protocol=stand_in.version,
            wanted=int(wanted),
            seed=int(seed),
            blind=blind,
            reveal=reveal,
            repeat_share=repeats / 100,
            claim_seconds=round(minutes * 60),
            guidelines=guidelines or "",
        )
