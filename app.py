"""The door of Accord: the command line, and the start of the server.

Each command parses its arguments, calls one room and prints. Nothing here imports gradio
before a page is wanted: it takes seconds.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from judge.domain import InputError, Verdict
from judge.protocol import find_protocol, list_protocols
from terminal.backup import backup, restore
from terminal.command import (
    BY,
    DEFAULT_DATABASE,
    AsJson,
    DatabaseUrl,
    StudyName,
    at_work,
    clear_errors,
    created,
    opened,
    own_protocols,
    own_weights,
    write,
)
from terminal.examples import demo
from terminal.judge import judge, reparse
from terminal.probe import probe
from terminal.statistics import agreement, plan, verify
from terminal.users import audit, users

# The tables of the statistics are small: threads for their products cost more than they bring, most of all where other
# programs want the processors too. numpy reads this when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    rich_markup_mode="markdown",
    help="Accord: people and LLM judges give verdicts on the same responses; you learn how far they agree.\n\n"
    "With no command it starts the app. Results go to standard output, everything else to standard error. "
    "Exit status: 0 done, 1 the work failed or is incomplete, 2 the call or its input is wrong.",
)

ProtocolName = Annotated[
    str,
    typer.Option(
        "--protocol", metavar="NAME|FILE", help="A protocol's name (see `protocols`) or the path of its file."
    ),
]
FORMAT_HELP = "accord, wildbench, prometheus, mt-bench, llm-comparator, argilla, label-studio, csv; or auto."


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 7860,
    root_path: Annotated[str, typer.Option(help="The path under which a proxy serves Accord.")] = "",
    open_browser: Annotated[bool, typer.Option("--open", help="Open the app in a browser.")] = False,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Start the app and print its address. Stop it with Ctrl-C."""
    from ui.page import Settings
    from ui.server import Address, start_server

    with clear_errors(), opened(database) as store:
        settings = Settings(list_protocols(own_protocols()), own_weights())
        start_server(store, settings, Address(host, port, root_path), open_browser)


@app.command()
def render(
    protocol: ProtocolName,
    item: Annotated[Path, typer.Option(help="A file with one item in the interchange format.")],
    order: Annotated[Literal["AB", "BA"], typer.Option(help="The sides as imported (AB) or exchanged (BA).")] = "AB",
    fold_system: Annotated[
        bool, typer.Option("--fold-system", help="Put the system message at the front of the user message.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the exact prompt a judge is sent for an item, and nothing else.

    The digest under `sha256` is that of the user message: `render … | sha256sum` gives the same.

    Example: `python app.py render --protocol wildbench-pairwise --item examples/pairwise.json --order BA`
    """
    from exchange.described import prompt_json
    from exchange.interchange import read_item
    from judge import render as rendering

    with clear_errors():
        prompt = rendering.render(find_protocol(protocol, own_protocols()), read_item(item), order)
    if fold_system:
        prompt = rendering.fold_system(prompt)
    for remark in (*prompt.notes, *map(str, prompt.warnings)):
        typer.echo(f"note: {remark}", err=True)
    write(prompt_json(prompt) if as_json else prompt.user)


@app.command()
def parse(
    protocol: ProtocolName,
    finish_reason: Annotated[
        str | None, typer.Option(help="Why the judge stopped, as its server said (stop, length, content_filter).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read a judge's reply from standard input and print its label.

    Exit status 0 when a label was read, 1 otherwise. The label is in the frame the judge saw.

    Example: `echo 'Clear and complete. [RESULT] 4' | python app.py parse --protocol prometheus-direct --json`
    """
    from exchange.described import reading_json
    from judge.read import read

    with clear_errors():
        wanted = find_protocol(protocol, own_protocols())
    reading = read(wanted, sys.stdin.buffer.read().decode("utf-8", "replace"), finish_reason)
    if as_json:
        write(reading_json(wanted, reading))
    elif isinstance(reading, Verdict):
        write(f"{reading.label}\n")
    else:
        typer.echo(f"{reading.status}: {reading.why}", err=True)
    if not isinstance(reading, Verdict):
        raise typer.Exit(1)


@app.command()
def protocols(as_json: AsJson = False) -> None:
    """List the protocols: the built-in ones and those in the folder that ACCORD_PROTOCOLS names."""
    from exchange.described import protocol_json

    with clear_errors():
        found = list_protocols(own_protocols())
    if as_json:
        write(json.dumps([protocol_json(protocol) for protocol in found.values()], ensure_ascii=False, indent=1) + "\n")
        return
    width = max(map(len, found))
    for protocol in found.values():
        write(f"{protocol.name:<{width}}  {' '.join(protocol.scale.labels):<18}  {protocol.title}\n")


@app.command("import")
def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Files to import, or hf://datasets/… paths.")],
    study: StudyName,
    protocol: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="The protocol of a new study; by default one that suits.")
    ] = None,
    file_format: Annotated[str, typer.Option("--format", metavar="FORMAT", help=FORMAT_HELP)] = "auto",
    column: Annotated[
        list[str] | None, typer.Option("--map", metavar="FIELD=COLUMN", help="What a table's column means; repeatable.")
    ] = None,
    wanted: Annotated[int, typer.Option(help="Verdicts wanted per item, for a new study.", min=1, max=1_000_000)] = 3,
    seed: Annotated[int, typer.Option(help="The seed of a new study's shuffles.")] = 0,
    repair_text: Annotated[bool, typer.Option("--repair-text", help="Put right UTF-8 read as Windows-1252.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and store nothing.")] = False,
    as_json: AsJson = False,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Import items, with the verdicts already given on them, into a study.

    A file with errors imports nothing; every bad line is named. Importing the same file again adds nothing.

    Example: `python app.py import examples/*.json --study demo --protocol wildbench-pairwise`
    """
    from exchange.formats import FORMATS
    from exchange.importing import ImportRequest, import_files

    with clear_errors(), opened(database) as store:
        if file_format not in ("auto", *FORMATS):
            raise InputError(f"no format named {file_format!r}; known: auto, {', '.join(FORMATS)}")
        request = ImportRequest(
            files,
            study,
            find_protocol(protocol, own_protocols()) if protocol else None,
            file_format,
            mapping(column or []),
            repair_text,
            dry_run,
            wanted,
            seed,
            by=BY,
            guess_rest=True,
        )
        done = import_files(store, request, lambda line: typer.echo(line, err=True))
    for note in done.notes:
        typer.echo(f"note: {note}", err=True)
    if as_json:
        write(json.dumps(asdict(done), ensure_ascii=False, indent=1) + "\n")
        return
    found = f"{done.items} items with {done.verdicts} verdicts in the files ({done.format})"
    if dry_run:
        write(f"{found}; nothing was stored (--dry-run)\n")
    elif done.added == type(done.added)():
        write(f"{found}; all of them were in {study!r} already: nothing was added\n")
    else:
        write(f"{found}; added {done.added.items} items and {done.added.verdicts} verdicts to {study!r}\n")


@app.command()
def export(
    study: StudyName,
    file_format: Annotated[
        Literal["jsonl", "csv", "parquet"], typer.Option("--format", help="jsonl can be imported again.")
    ] = "jsonl",
    out: Annotated[Path | None, typer.Option(help="The file to write; by default standard output.")] = None,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Write a study: items with their verdicts (jsonl), or one row a verdict (csv, parquet).

    Beside a csv or parquet file, FILE.codebook.md says what every column means.
    """
    from exchange.exporting import codebook, csv_lines, interchange_lines, long_rows, write_parquet

    # Lines that go to a terminal show by themselves that it goes on.
    waiting = at_work("Writing the file") if out is not None else nullcontext()
    with clear_errors(), opened(database) as store, waiting:
        store.study(study)
        if file_format == "parquet":
            if out is None:
                raise InputError("parquet needs a file: add --out FILE")
            with created(out) as file:
                write_parquet(long_rows(store, study), file)
        else:
            lines = interchange_lines(store, study) if file_format == "jsonl" else csv_lines(long_rows(store, study))
            with created(out) as file:
                file.writelines(line.encode() for line in lines)
        if out is not None and file_format != "jsonl":
            out.with_name(f"{out.name}.codebook.md").write_text(codebook(), encoding="utf-8")
        store.record_event("export", study, format=file_format, by=BY)


@app.command()
def bundle(
    study: StudyName,
    out: Annotated[Path, typer.Option(help="The zip file to write.")],
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Write everything of a study into one zip file: items, prompts, calls, verdicts, events, settings, checksums."""
    from exchange.bundle import write_bundle

    with clear_errors(), opened(database) as store, at_work("Writing the bundle, its numbers and its report"):
        store.study(study)
        with created(out) as file:
            sums = write_bundle(store, study, file)
        store.record_event("export", study, format="bundle", by=BY)
    write("".join(f"{digest}  {path}\n" for path, digest in sums.items()))


for command in (judge, reparse, agreement, plan, verify, demo, probe, backup, restore, audit):
    app.command()(command)
app.add_typer(users, name="users")


def mapping(pairs: list[str]) -> dict[str, str]:
    """Return what `--map FIELD=COLUMN` says."""
    wrong = [pair for pair in pairs if not all(pair.partition("=")[::2])]
    if wrong:
        raise InputError(f"--map {wrong[0]!r}: write FIELD=COLUMN, such as --map response_a=answer1")
    told = [pair.split("=", 1) for pair in pairs]
    fields, raters = [field for field, _ in told], [column for field, column in told if ":" in field]
    for names, reason in ((fields, "is given two columns"), (raters, "is given to two raters")):
        if twice := [name for at, name in enumerate(names) if name in names[:at]]:
            raise InputError(f"--map: {twice[0]!r} {reason}: say once what each column means")
    return dict(told)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; with no command, start the app."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or (words[0].startswith("-") and words[0] not in ("--help", "-h")):
        words = ["serve", *words]
    program = "accord" if Path(sys.argv[0]).stem == "accord" else "python app.py"
    known = {each.name or each.callback.__name__: each.callback for each in app.registered_commands if each.callback}
    if words[0] in known:  # one command is ready long before all of them are
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command()(known[words[0]])
        alone(words[1:], prog_name=f"{program} {words[0]}")
    else:
        app(words, prog_name=program)


if __name__ == "__main__":
    main()
