"""Taking a study away: files made on request, recorded in its trail, and gone from the server once they are fetched."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import gradio as gr

from exchange.bundle import write_bundle
from exchange.exporting import codebook, csv_lines, interchange_lines, long_rows, write_parquet
from judge.domain import AccordError
from storage.store import Store
from ui.notices import show_success
from ui.page import asked, fall_silent, say_at_once, signed_in

# The hidden button holds the file that was just made; pressing it is what makes a browser keep it.
FETCH = "() => { document.querySelector('#fetch').click(); }"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its button, what it is good for, how its name ends, how it is written."""

    title: str
    told: str
    ending: str
    write: Callable[[Store, str, IO[bytes]], Any]


def _write_lines(store: Store, study: str, target: IO[bytes]) -> None:
    target.writelines(line.encode() for line in interchange_lines(store, study))


def _write_csv(store: Store, study: str, target: IO[bytes]) -> None:
    target.writelines(line.encode() for line in csv_lines(long_rows(store, study)))


KINDS = {
    "jsonl": Kind("JSON Lines", "Items with their verdicts; can be imported again.", "jsonl", _write_lines),
    "csv": Kind("CSV", "One row a verdict, for spreadsheets and R.", "csv", _write_csv),
    "parquet": Kind(
        "Parquet",
        "The same rows with their types, for pandas and DuckDB.",
        "parquet",
        lambda store, study, target: write_parquet(long_rows(store, study), target),
    ),
    "codebook": Kind(
        "Codebook",
        "What every column of CSV and Parquet means.",
        "codebook.md",
        lambda _store, _study, target: target.write(codebook().encode()),
    ),
    "bundle": Kind(
        "Bundle",
        "Everything in one zip file: items, prompts, replies, every verdict, numbers, report, settings, checksums.",
        "zip",
        write_bundle,
    ),
}


@dataclass(frozen=True, slots=True)
class DownloadControls:
    """The components of the export panel."""

    buttons: dict[str, gr.Button]
    fetch: gr.DownloadButton
    told: gr.HTML


class DownloadsPanel:
    """A button for each kind of file."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def layout(self) -> DownloadControls:
        """Put the buttons on the page, each with what it is good for."""
        buttons = {}
        with gr.Column(elem_classes="exports"):
            for name, kind in KINDS.items():
                with gr.Row(equal_height=True):
                    buttons[name] = gr.Button(kind.title, scale=0, min_width=160, elem_id=f"export-{name}")
                    gr.HTML(f"<p>{kind.told}</p>", apply_default_css=False, min_width=200)
        fetch = gr.DownloadButton(visible="hidden", elem_id="fetch")
        told = gr.HTML("", apply_default_css=False, elem_id="export-told")
        return DownloadControls(buttons, fetch, told)

    def wire(self, on: DownloadControls) -> None:
        """Connect each button with the making of its file, and that with its fetching."""
        for name, button in on.buttons.items():
            say_at_once(button.click, on.told, f"Making the file: {KINDS[name].title} …")
            outputs = [on.fetch, on.told]
            made = button.click(self.maker(name), None, outputs, show_progress="hidden", api_visibility="private")
            made.success(None, None, None, js=FETCH, api_visibility="private")
            fall_silent(made, on.told)

    def maker(self, name: str) -> Callable[[gr.Request], Iterator[tuple[str, str]]]:
        """Return the handler that makes one kind of file."""

        def make(request: gr.Request) -> Iterator[tuple[str, str]]:
            study = asked(request, "study")
            # Gradio takes its copy when the path is yielded; ours goes when it asks for more.
            with tempfile.TemporaryDirectory() as folder:
                try:
                    path = self.export(study, name, Path(folder), signed_in(request))
                    yield str(path), show_success(f"{path.name} goes to your browser's downloads")
                except AccordError as error:
                    raise gr.Error(str(error), print_exception=False) from error

        return make

    def export(self, study: str, name: str, folder: Path, by: str = "") -> Path:
        """Write one kind of file into a folder, record that it was taken, and return its path."""
        kind = KINDS[name]
        self.store.study(study)
        path = folder / f"{file_name(study)}.{kind.ending}"
        with path.open("wb") as target:
            kind.write(self.store, study, target)
        if name != "codebook":  # which holds nothing of the study
            self.store.record_event("export", study, format=name, by=by)
        return path


def file_name(study: str) -> str:
    """Return a study's name as a file's: letters, digits, dots and hyphens of any script."""
    return re.sub(r"[^\w.-]+", "-", study).strip("-.")[:60] or "study"
