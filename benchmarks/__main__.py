"""Every benchmark, one after the other, printed and written down in docs/benchmarks.md.

python -m benchmarks
"""

from __future__ import annotations

import ast
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
# In the order in which a user meets them; the peers are installed in an environment of their own.
COMMANDS = (["start"], ["reading"], ["storing"], ["reviewing"], ["judging", "--peers"], ["agreement"])
HEAD = """# Benchmarks

`make bench` runs all of this and writes this page. Every figure compares things that were measured in turn in one
run: read the ratios, not the times, which belong to the machine of that day.

Measured on {date}: {machine}.
"""


def machine_kind() -> str:
    """Return what kind of machine this is, and nothing that names it."""
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}, "
        f"load {os.getloadavg()[0]:.1f} at the start"
    )


def subject(name: str) -> str:
    """Return what a benchmark is about: the first line of its description."""
    return (ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or "").splitlines()[0]


def run(command: list[str]) -> str:
    """Run one benchmark, show what it prints as it comes, and return it."""
    told = []
    words = [sys.executable, "-m", f"benchmarks.{command[0]}", *command[1:]]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, encoding="utf-8") as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            told.append(line.rstrip())
    if running.returncode:
        sys.exit(f"benchmarks.{command[0]} failed: {PAGE.name} is left as it was")
    return "\n".join(told).strip("\n")


def main() -> None:
    """Run everything, then write the page."""
    parts = [HEAD.format(date=f"{datetime.now(UTC):%-d %B %Y}", machine=machine_kind())]
    for command in COMMANDS:
        print(f"\n{subject(command[0])}\n", flush=True)
        words = " ".join(["python -m", f"benchmarks.{command[0]}", *command[1:]])
        parts.append(
            f"## {command[0].capitalize()}\n\n{subject(command[0])}\n\n<!-- not run: what `{words}` printed -->\n"
            f"```text\n{run(command)}\n```\n"
        )
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(f"\nwritten to docs/{PAGE.name}")


if __name__ == "__main__":
    main()
