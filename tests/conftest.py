"""What every test shares: protocols, items made of nasty texts, and a way to run the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from judge.domain import Item, Rubric, Turn
from judge.protocol import Protocol, list_protocols

ROOT = Path(__file__).parents[1]
OWN_PROTOCOLS = ROOT / "tests" / "judge" / "protocols"

# The machines are shared and noisy: a slow example is not a failure.
settings.register_profile("accord", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("accord")


@pytest.fixture(scope="session")
def protocols() -> dict[str, Protocol]:
    return list_protocols(OWN_PROTOCOLS)


@pytest.fixture
def item() -> Item:
    return Item(
        id="q1",
        conversation=(Turn("user", "Hello"), Turn("assistant", "Hi."), Turn("user", "What is 2 + 2?")),
        response_a="4",
        response_b="It is 5.",
        reference_answer="4",
        checklist=("Is it right?", "Is it short?"),
        rubric=Rubric("Is it right?", ("no", "hardly", "partly", "mostly", "yes")),
    )


@pytest.fixture
def accord(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run `python app.py …` as a person would, in a folder of its own."""

    def run(*words: object, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ACCORD_")}
        return subprocess.run(
            [sys.executable, str(ROOT / "app.py"), *map(str, words)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**kept, **environment},
            check=False,
        )

    return run
