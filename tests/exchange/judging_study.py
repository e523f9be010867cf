"""What the tests of judges share: a good reply, an order for a run, and what a study then holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from openai_server import OpenAIServer, completion

from exchange.judging import JudgeOrder
from judge.run import Limits
from storage.store import Store

ROOT = Path(__file__).parents[2]
GOOD = completion('{"reason": "Clearer.", "choice": "A"}')


def quiet(line: str) -> None:
    """Progress is for people."""


def order(server: OpenAIServer, **changes: object) -> JudgeOrder:
    return replace(JudgeOrder("s", "m", server.url, key="secret-key", limits=Limits(8)), **changes)


def given(store: Store) -> dict[tuple[str, str], tuple[str, str | None]]:
    """Return status and label by item and order; each may be there only once."""
    found = {}
    for body, verdicts in store.records("s"):
        for verdict in verdicts:
            key = json.loads(body)["id"], verdict.order
            assert key not in found
            found[key] = verdict.status, verdict.label
    return found


def both_orders(count: int) -> set[tuple[str, str]]:
    return {(f"q{n}", order) for n in range(count) for order in ("AB", "BA")}


def start_judge(database: str, server: OpenAIServer, *more: str, key: str = "k") -> subprocess.Popen[bytes]:
    """Start `judge` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests/exchange/judge_process.py"), database, server.url, *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
