"""The page docs/commands.md, made from the commands themselves: `python tests/commands_page.py` writes it anew."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "commands.md"
sys.path.insert(0, str(ROOT))


def write_page() -> str:
    from app import app

    group = typer.main.get_command(app)
    parts = [
        "# Commands\n\nMade by `make docs` from the commands themselves; do not edit it by hand.\n",
        *told(group.help),
        "\n`python app.py` and, once installed, `accord` are the same.\n",
    ]
    for name, command in every(group):
        parts += [f"\n## {name}\n", *told(command.help), "\n", *options(command)]
    return "".join(parts)


def every(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each command with its whole name; a group such as `users` is its commands."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from every(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def told(text: str | None) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        yield "\n" + " ".join(paragraph.split()) + "\n"


def options(command: Any) -> Iterator[str]:
    yield "| option | meaning | default |\n|---|---|---|\n"
    for one in command.params:
        if one.name == "help":
            continue
        names = (
            ", ".join([*one.opts, *one.secondary_opts]) if one.param_type_name == "option" else one.human_readable_name
        )
        default = "" if one.default is None or one.default is False or one.default == "" else f"`{one.default}`"
        needed = "required" if one.required else default
        yield f"| `{names}` | {(getattr(one, 'help', '') or '').replace('|', '/')} | {needed} |\n"


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
