"""The commands that copy a database and put a copy back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terminal.command import BY, DEFAULT_DATABASE, DatabaseUrl, at_work, clear_errors, write


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy to make.")],
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Copy a SQLite database as it is at one moment, while people go on working."""
    from storage.backup import back_up, note_copy

    with clear_errors(), at_work("Copying the database"):
        back_up(database, file)
        note_copy(database, BY)
    write(f"{file} is a whole copy\n")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy to make a database of.")],
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Make a database of a copy, after checking it; one that exists is never written over."""
    from storage import backup as copies

    with clear_errors(), at_work("Checking the copy and putting it back"):
        copies.restore(file, database)
    write("the database is there again\n")
