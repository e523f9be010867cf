"""The command that shows Accord with something in it."""

from __future__ import annotations

import typer

from terminal.command import BY, DEFAULT_DATABASE, DatabaseUrl, at_work, clear_errors, opened, write


def demo(database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """Load the example studies, whose verdicts are simulated with known leanings; a second time adds nothing.

    Example: `python app.py demo --database sqlite:///demo.db`
    """
    from exchange.examples import EXAMPLES, load_examples

    with clear_errors(), opened(database) as store, at_work("Loading the example studies"):
        added = load_examples(store, by=BY)
    for example in EXAMPLES:
        write(f"{example.name}\n")
    started = "python app.py" + ("" if database == DEFAULT_DATABASE else f" --database {database}")
    told = f"added {added.items} items and {added.verdicts} simulated verdicts" if added.items else "nothing was added"
    typer.echo(f"{told}; start the app with: {started}", err=True)
