"""The wheel: built, installed where nothing of this folder is in reach, and a study run through its command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from openai_server import OpenAIServer, completion

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")


def run(words: list[object], folder: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACCORD_", "PYTHONPATH"))}
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env={**kept, **more}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a clean environment in which the wheel is installed.

    The libraries are those of this environment, reached by a path file: fetching them again would take minutes and
    the network. Accord itself is there only as the wheel.
    """
    if not UV.exists():
        pytest.skip("uv is not in this environment: `make test` installs it")
    folder = tmp_path_factory.mktemp("package")
    build = [UV, "build", "--wheel", "--offline", "--no-build-isolation", "--python", sys.executable]
    run([*build, "-o", folder / "dist", ROOT], folder)
    [wheel] = (folder / "dist").glob("*.whl")
    run([UV, "venv", "--offline", "--python", sys.executable, folder / "env"], folder)
    python = folder / "env" / "bin" / "python"
    run([UV, "pip", "install", "--offline", "--no-deps", "--python", python, wheel], folder)
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = run(ask, folder).stdout.decode().strip()
    (Path(own) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def installed(environment: Path) -> Callable[..., bytes]:
    """Return a function that runs the installed `accord`."""

    def accord(*words: object, **more: str) -> bytes:
        return run([environment / "env" / "bin" / "accord", *words], environment, **more).stdout

    return accord


def test_a_study_runs_through_the_installed_command(installed: Callable[..., bytes]) -> None:
    items = ROOT / "examples" / "studies" / "wildbench.jsonl"
    done = json.loads(installed("import", items, "--study", "s", "--protocol", "wildbench-pairwise", "--json"))
    assert done["added"] == {"items": 24, "verdicts": 0}
    with OpenAIServer(lambda seen: completion('{"choice": "A+"}')) as server:
        words = ("judge", "--study", "s", "--model", "served-model", "--base-url", server.url, "--limit", 5, "--json")
        judged = json.loads(installed(*words, OPENAI_API_KEY="k"))
    assert judged["run"] == {"ok": 10}
    agreement = json.loads(installed("agreement", "--study", "s", "--json", "--resamples", 50))
    assert agreement["judges"][0]["swap_consistency"]["value"] == 0.0  # A+ whichever side comes first
    exported = installed("export", "--study", "s").decode().splitlines()
    assert sum(len(json.loads(line).get("verdicts", [])) for line in exported) == 10


def test_what_is_read_beside_the_modules_is_in_the_wheel(installed: Callable[..., bytes]) -> None:
    assert b"Example: WildBench" in installed("demo", "--database", "sqlite:///demo.db")
    assert len(json.loads(installed("protocols", "--json"))) == 6
    assert b"accord [OPTIONS]" in installed("--help")


def test_the_pages_are_built_from_the_wheel(environment: Path) -> None:
    script = (
        "from judge.protocol import list_protocols; from storage.store import Store; from ui.app import build_app; "
        "from ui.page import Settings; import ui; store = Store.open('sqlite:///pages.db'); "
        "build_app(store, Settings(list_protocols())); print(ui.__file__)"
    )
    told = run([environment / "env" / "bin" / "python", "-c", script], environment).stdout.decode()
    assert str(environment / "env") in told
