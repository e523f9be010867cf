"""Importing by upload: what a file holds is shown, with everything that is wrong with it, before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from exchange.formats import FORMATS
from exchange.formats.columns import FIELDS
from exchange.formats.table import PER_RATER
from exchange.importing import ImportOutcome, ImportRequest, Preview, import_files, preview_files
from exchange.interchange import Record
from exchange.sources import ENDINGS, is_data
from judge.domain import AccordError, InputError, Study, content_hash
from judge.protocol import Protocol
from storage.store import Store
from ui.display import escape
from ui.items import SCRIPT, show_texts
from ui.notices import as_sentence, count, show_failure, show_table

# In the queue: a large file takes longer than a plain request may.
WORKING: dict[str, Any] = {"show_progress": "minimal", "api_visibility": "private"}
CHOOSING: dict[str, Any] = {**WORKING, "trigger_mode": "always_last"}
# What comes with an event is only sent as it was if every event is: "always_last" sends that of an earlier one.
ASSIGNING: dict[str, Any] = {**WORKING, "trigger_mode": "multiple"}
# Whatever was answered to earlier choices, what is imported is what stands on the page: an input made from it.
AS_CHOSEN = """(...inputs) => {
  const table = document.querySelector("#%s-preview [data-chosen]");
  const fields = ({ dataset, value }) => [dataset.column, value];
  if (table) inputs[%d] = JSON.stringify([...table.querySelectorAll("select")].map(fields));
  return inputs;
}"""
KEPT = ""  # a column that stands for no field is kept in the item's metadata
OF_RATER = PER_RATER  # a column of verdicts that bears its rater's name
NAMES = {
    "id": "id",
    "instruction": "question",
    "system": "system message",
    "response": "response (only one)",
    "response_a": "response A",
    "response_b": "response B",
    "model": "model (only one)",
    "model_a": "model of A",
    "model_b": "model of B",
    "reference_answer": "reference answer",
    "checklist": "checklist",
    "criteria": "rubric: criteria",
    **{f"score{score}_description": f"rubric: score {score}" for score in range(1, 6)},
    "tags": "tags",
    "cluster": "cluster",
    "label": "verdict",
    "rater": "verdict: rater",
    "kind": "verdict: human or judge",
    "status": "verdict: status",
    "order": "verdict: order",
    "comment": "verdict: comment",
    "confidence": "verdict: confidence",
    "seconds": "verdict: seconds",
    "created": "verdict: time",
    "raw": "verdict: raw reply",
    "repeat": "verdict: repeat",
    "metadata": "metadata (JSON)",
}


@dataclass(frozen=True, slots=True)
class UploadControls:
    """The components of an upload."""

    files: gr.File
    repair: gr.Checkbox
    mapping: gr.Textbox
    preview: gr.HTML

    @property
    def inputs(self) -> list[Any]:
        """Return what an `Upload` is made of, in its order."""
        return [self.files, self.mapping, self.repair]


@dataclass(frozen=True, slots=True)
class Upload:
    """Files that a visitor has sent, and how to take them; `fields` is what the page said of their columns."""

    files: tuple[str, ...]
    mapping: Mapping[str, str]
    repair: bool
    fields: str

    @classmethod
    def taken(cls, files: Sequence[str] | None, mapping: str, repair: bool) -> Upload:
        """Return what the controls say; a mapping that came from anywhere else than our page may be anything."""
        try:
            said = map_fields(json.loads(mapping or "[]"))
        except (TypeError, ValueError):
            raise InputError("the columns were not understood: choose the file again") from None
        if wrong := next((Path(file).name for file in files or () if not is_data(file)), None):
            raise InputError(f"{wrong}: is not data that can be imported: {', '.join(ENDINGS)}, gzipped or not")
        return cls(tuple(files or ()), said, repair, mapping)

    def request(
        self, study: str, protocol: Protocol | None = None, new_study: Study | None = None, by: str = ""
    ) -> ImportRequest:
        """Return what to import, where to, and who does."""
        return ImportRequest(
            self.files, study, protocol, mapping=dict(self.mapping), repair_text=self.repair, new_study=new_study, by=by
        )

    def named(self, message: str) -> str:
        """Return a message with each file by the name its owner knows it by."""
        for location in self.files:
            message = message.replace(location, Path(location).name)
        return message


class UploadPanel:
    """One place to drop files, with the preview of what is in them."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name  # tells two such places on a page apart

    def layout(self, label: str) -> UploadControls:
        """Put the place on the page."""
        files = gr.File(
            label=label,
            file_count="multiple",
            file_types=[*ENDINGS, ".gz"],
            height=120,
            elem_id=f"{self.name}-files",
        )
        repair = gr.Checkbox(
            False,
            label="Repair garbled letters",
            info="Some texts look like UTF-8 read as Windows-1252 (Ã© for é); this puts them right.",
            visible=False,
            elem_id=f"{self.name}-repair",
        )
        mapping = gr.Textbox("", visible="hidden", label="Columns", elem_id=f"{self.name}-mapping")
        preview = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id=f"{self.name}-preview")
        return UploadControls(files, repair, mapping, preview)

    def preview(self, study: str, protocol: Protocol | None, upload: Upload) -> tuple[str, Any, bool]:
        """Return what the files hold, the offer to repair letters if it is worth it, and whether all is sound."""
        if not upload.files:
            return "", gr.update(visible=False, value=False), False
        try:
            found = preview_files(self.store, upload.request(study, protocol))
        except AccordError as error:
            return show_failure(upload.named(str(error))), gr.skip(), False
        offer = gr.update(visible=found.mangled is not None or upload.repair)
        return show_preview(found, upload), offer, not found.wrong

    def as_chosen(self, mapping_at: int) -> str:
        """Return the script that makes the mapping among an event's inputs the one that stands on the page."""
        return AS_CHOSEN % (self.name, mapping_at)

    def store_upload(self, request: ImportRequest) -> ImportOutcome:
        """Store what is new in the files, all of it or nothing."""
        return import_files(self.store, request, lambda _: None)


def map_fields(chosen: Any) -> dict[str, str]:
    """Return the mapping that choices of a field for each column make; what is no such list raises an error."""
    if not isinstance(chosen, list):
        raise TypeError("a list of columns with their fields")
    mapping: dict[str, str] = {}
    for column, field in chosen:
        if field == OF_RATER:
            mapping[f"{PER_RATER}{column}"] = str(column)
        elif field in FIELDS:
            mapping[field] = str(column)
    return mapping


def chosen_fields(event: gr.EventData) -> str:
    """Return the choices that the page sends with an event as JSON, as `Upload.taken` takes them."""
    return json.dumps(event.fields, ensure_ascii=False)


def told_import(done: ImportOutcome) -> str:
    """Return what an import has added."""
    found = f"{count(done.items, 'item')} with {count(done.verdicts, 'verdict')} in the files"
    if not done.added.items and not done.added.verdicts:
        return f"{found}; all of them were in the study already: nothing was added"
    return f"{found}; added {count(done.added.items, 'item')} and {count(done.added.verdicts, 'verdict')}"


def show_preview(found: Preview, upload: Upload) -> str:
    """Return what an import would bring: numbers, everything that is wrong, columns, the first items."""
    return (
        f'<div class="preview">{_errors(found, upload) if found.wrong else _summary(found)}'
        f"{_columns(found, upload)}{_first(found)}</div>"
    )


def _summary(found: Preview) -> str:
    told = FORMATS[found.format].description if found.format in FORMATS else found.format
    known = f" {count(found.known, 'item')} of them {'is' if found.known == 1 else 'are'} in the study already."
    return (
        f'<div class="notice" role="status"><strong>{count(found.items, "item")} with '
        f"{count(found.verdicts, 'verdict')}, for {escape(found.protocol or '')}.</strong>"
        f"{known if found.known else ''} Nothing is stored yet. "
        f'<span class="muted">{escape(as_sentence(told))}</span></div>'
    )


def _errors(found: Preview, upload: Upload) -> str:
    lines = "".join(f"<li><bdi>{_placed(upload.named(error))}</bdi></li>" for error in found.errors)
    more = found.wrong - len(found.errors)
    rest = f"<li>… and {more:,} more</li>" if more else ""
    hint = " Put the file right, or choose below what each column holds."
    return (
        '<div class="notice problem" role="alert">'
        f"<strong>{count(found.wrong, 'line')} cannot be taken: nothing will be imported until "
        f"{'it is' if found.wrong == 1 else 'they are'} put right.</strong>"
        f'{hint if found.columns else ""}<ul class="errors" tabindex="0">{lines}{rest}</ul></div>'
    )


def _placed(error: str) -> str:
    place, colon, reason = error.partition(": ")
    return f"<code>{escape(place)}</code> {escape(reason)}" if colon else escape(error)


def _columns(found: Preview, upload: Upload) -> str:
    if not found.columns:
        return ""
    taken = {column: field for field, column in (upload.mapping or found.mapping).items()}
    rows = [[f"<bdi>{escape(column)}</bdi>", _choice(column, taken.get(column, KEPT))] for column in found.columns]
    heads = [("Column", "As the file names it"), ("Is taken as", "What it holds")]
    files = content_hash("files", *upload.files)  # tells the page's script whether these are still the same
    chosen = f'data-mapping="{files}" data-fields="{escape(upload.fields)}"'
    return f"<h3>Columns</h3><div {chosen}>{show_table(heads, rows, 'Columns')}</div>"


def _choice(column: str, field: str) -> str:
    chosen = OF_RATER if field.startswith(PER_RATER) else field
    choices = {KEPT: "– kept as metadata", **NAMES, OF_RATER: "verdicts of the rater this column is named after"}
    options = "".join(
        f'<option value="{name}"{" selected" if name == chosen else ""}>{escape(told)}</option>'
        for name, told in choices.items()
    )
    return f'<select data-column="{escape(column)}" aria-label="{escape(column)} is taken as">{options}</select>'


def _first(found: Preview) -> str:
    shown = "".join(
        f"<details{' open' if index == 0 else ''}><summary>{_title(record)}</summary>"
        f"{show_texts(record.item, models=True)}</details>"
        for index, record in enumerate(found.first)
    )
    first = "first item" if len(found.first) == 1 else f"first {len(found.first)} items"
    return f"<h3>The {first}</h3>{shown}" if shown else ""


def _title(record: Record) -> str:
    given = f" · {count(len(record.verdicts), 'verdict')}" if record.verdicts else ""
    return f"<bdi>{escape(record.item.id)}</bdi>{given}"
