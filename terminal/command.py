"""What every command of the command line shares: its usual options, its errors, its output."""

from __future__ import annotations

import gc
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from judge.domain import AccordError, InputError

if TYPE_CHECKING:
    from storage.database import Database
    from storage.store import Store

AnyStore = TypeVar("AnyStore", bound="Database")


def number(told: str, **more: Any) -> Any:
    """Return an option for a number; `nan` and `inf`, which pass through every range, are none."""
    return typer.Option(help=told, callback=_refuse_endless, **more)


def _refuse_endless(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a number to work with.")
    return value


StudyName = Annotated[str, typer.Option("--study", metavar="NAME", help="The study's name.")]
BY = "command line"  # who did it, in the trail
DEFAULT_DATABASE = "sqlite:///accord.db"
DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database", envvar="ACCORD_DATABASE", metavar="URL", help="sqlite:///FILE or postgresql://user@host/name."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
# What a command that asks a judge is told.
ModelName = Annotated[str | None, typer.Option(help="The model's name; none, no key and no URL: the embedded one.")]
BaseUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint, such as http://localhost:8000/v1.")]
Orders = Annotated[Literal["AB", "BA", "both"], typer.Option(help="How the sides are shown.")]
Concurrency = Annotated[int, typer.Option(help="How many calls fly at once.", min=1)]
Temperature = Annotated[float | None, number("Instead of the protocol's own.")]
MaxTokens = Annotated[int | None, typer.Option(help="Instead of the protocol's own.", min=1)]
TimeOut = Annotated[float | None, number("Seconds for each try of a call; by default 60.", min=0.001)]
BudgetTokens = Annotated[int | None, typer.Option(help="Stop when so many tokens are used.", min=1)]
KeyVariable = Annotated[str, typer.Option(help="The environment variable that holds the key.")]


def own_protocols() -> Path | None:
    """Return the folder of the user's own protocol files, named by ACCORD_PROTOCOLS."""
    folder = os.environ.get("ACCORD_PROTOCOLS")
    return Path(folder) if folder else None


def own_weights() -> Path | None:
    """Return the GGUF file that is to be the embedded judge, named by ACCORD_GGUF."""
    file = os.environ.get("ACCORD_GGUF")
    return Path(file) if file else None


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what a person can put right into one line on standard error and exit status 2."""
    try:
        yield
    except AccordError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error


@contextmanager
def loading() -> Iterator[None]:
    """Load modules without looking for garbage: the classes they make by the thousand are here to stay."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def opened(database: str) -> Iterator[Store]:
    """Open the database and let it go again."""
    from storage.store import Store

    with let_go(Store.open(database)) as store:
        yield store


@contextmanager
def let_go(store: AnyStore) -> Iterator[AnyStore]:
    """Say what came of opening a database, and let it go again in the end."""
    if store.backup:
        typer.echo(f"note: the database was upgraded; a copy as it was is in {store.backup}", err=True)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def at_work(what: str) -> Iterator[None]:
    """Show a person at a terminal that something goes on which takes more than a second; elsewhere write nothing."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    began = time.monotonic()

    def show() -> None:
        while not over.wait(1):
            typer.echo(f"\r{what} … {time.monotonic() - began:.0f} s", err=True, nl=False)
        typer.echo("\r\033[K", err=True, nl=False)  # what comes next begins on an empty line

    shown = threading.Thread(target=show, daemon=True)
    shown.start()
    try:
        yield
    finally:
        over.set()
        shown.join()


@contextmanager
def created(path: Path | None) -> Iterator[IO[bytes]]:
    """Give a file that appears under its name only when it is complete; standard output without a name."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def write(text: str) -> None:
    """Write text to standard output byte for byte: no platform may add to it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()
