"""The documentation is true: its commands and scripts run, its examples load, its links lead somewhere.

Every block of code is run, read or, with a reason in a comment above it (`<!-- not run: … -->`), left alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands_page import PAGE, write_page
from openai_server import OpenAIServer, completion

from exchange.interchange import record_from_json
from judge.protocol import load_protocol

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)
JUDGE, APP = "http://localhost:8000/v1", "http://127.0.0.1:7860"  # as the pages write them; the tests have their own
READ_ELSEWHERE = {("protocols.md", "")}  # by test_the_protocol_shown_loads


@dataclass(frozen=True)
class Block:
    """A piece of code on a page."""

    page: str
    language: str
    code: str
    why_not: str | None


def blocks(page: Path, *languages: str) -> list[Block]:
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    made = [Block(page.name, match["language"], match["code"], match["why"]) for match in found]
    return [block for block in made if not block.why_not and (not languages or block.language in languages)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder as the pages take it for granted: the examples, some items, `python app.py`."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "items.jsonl").write_text(json.dumps(json.loads((ROOT / "examples/pairwise.json").read_bytes())))
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Iterator[Callable[..., None]]:
    """Return what runs a block in the folder, as a newcomer would, with a judge that answers."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ACCORD_")}
    environment |= {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run_one(block: Block, **addresses: str) -> None:
        code = block.code.replace("python app.py", f"python {ROOT / 'app.py'}").replace(JUDGE, server.url)
        code = code.replace(APP, addresses.get("app", APP))
        words = [sys.executable, "-c", code] if block.language == "python" else ["bash", "-euo", "pipefail", "-c", code]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, f"{code}\n{done.stderr.decode()}"

    with OpenAIServer(lambda seen: completion('{"choice": "A+"}')) as server:
        yield run_one


@pytest.fixture
def app_address(folder: Path) -> Iterator[str]:
    """Start the app in the folder, with the example studies."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [sys.executable, str(ROOT / "app.py")]
    subprocess.run([*program, "demo"], cwd=folder, check=True, capture_output=True)
    with subprocess.Popen([*program, "serve", "--port", str(port)], cwd=folder, stdout=subprocess.PIPE) as served:
        assert served.stdout is not None
        assert b"Accord is at" in served.stdout.readline()
        yield f"http://127.0.0.1:{port}"
        served.terminate()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_code_is_run_or_read_or_says_why_not(page: Path) -> None:
    left = [block for block in blocks(page) if block.language not in ("sh", "python", "json")]
    assert [block for block in left if (block.page, block.language) not in READ_ELSEWHERE] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_script_shown_runs(page: Path, run: Callable[..., None]) -> None:
    for block in blocks(page, "sh", "python"):
        if APP not in block.code:
            run(block)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(APP in b.code for b in blocks(page))], ids=lambda p: p.name
)
def test_every_script_that_needs_the_app_runs(page: Path, run: Callable[..., None], app_address: str) -> None:
    for block in blocks(page, "sh", "python"):
        if APP in block.code:
            run(block, app=app_address)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_item_shown_is_an_item(page: Path) -> None:
    for block in blocks(page, "json"):
        record_from_json(json.loads(block.code))


def test_the_protocol_shown_loads(tmp_path: Path) -> None:
    [block] = [block for block in blocks(ROOT / "docs/protocols.md") if not block.language]
    (tmp_path / "shown.md").write_text(block.code, encoding="utf-8")
    assert load_protocol(tmp_path / "shown.md").scale.labels == ("B", "tie", "A")


def test_the_page_of_commands_is_that_of_the_commands() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(), "docs/commands.md is stale: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
