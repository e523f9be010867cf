"""The house: which room may import which, and what the command line must not load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("judge", "agreement", "storage", "exchange", "ui", "terminal")
MAY_IMPORT = {
    "judge": {"judge"},
    "agreement": {"agreement", "judge.domain"},
    "storage": {"storage", "judge.domain"},
    "exchange": {"exchange", "judge", "storage", "agreement"},
    "ui": {"ui", "exchange", "judge", "storage", "agreement"},
    "terminal": {"terminal", "exchange", "judge", "storage", "agreement"},
}
OWNERS = {"gradio": "ui", "sqlalchemy": "storage", "alembic": "storage", "openai": "judge/client.py"}
FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def within(name: str, allowed: str) -> bool:
    return name == allowed or name.startswith(f"{allowed}.")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_the_rooms_below_it(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    ours = {name for name in imported_modules(path) if name.split(".")[0] in ROOMS}
    # `from judge import domain` names the package too; what counts is the module inside it.
    ours = {name for name in ours if name not in ROOMS or room in ("judge", "exchange", "ui", "terminal")}
    strangers = {name for name in ours if not any(within(name, allowed) for allowed in MAY_IMPORT[room])}
    assert not strangers


def test_the_domain_depends_on_nothing_of_ours() -> None:
    assert not {name for name in imported_modules(ROOT / "judge/domain.py") if name.split(".")[0] in ROOMS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_dependency_has_one_owner(path: Path) -> None:
    place = str(path.relative_to(ROOT))
    for package, owner in OWNERS.items():
        if any(within(name, package) for name in imported_modules(path)):
            assert place.startswith(owner)


@pytest.mark.parametrize("command", [["protocols"], ["parse", "--protocol", "prometheus-direct"], ["--help"]])
def test_the_command_line_starts_without_gradio(command: list[str]) -> None:
    script = f"import sys, app\ntry: app.main({command!r})\nexcept SystemExit: pass\nassert 'gradio' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, input=b"[RESULT] 4")
