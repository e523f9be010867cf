"""How fast a judge's run is, every call stored durably, beside a plain AsyncOpenAI loop that stores nothing.

python -m benchmarks.judging [--full]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from openai import AsyncOpenAI

from exchange.judging import JudgeOrder, run_judge
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from judge.render import render
from judge.run import Limits
from storage.imports import prepare
from storage.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "judge"))
from openai_server import served_apart

CONCURRENCY = 64
ITEMS = 1000 if "--full" in sys.argv else 320
ROUNDS = 3
PROTOCOL = find_protocol("wildbench-pairwise")
REPLY = '{"analysis of A": "Fine.", "analysis of B": "Fine.", "choice": "A+"}'


def make_items() -> list[Item]:
    """Return pairs of about 3 kB."""
    return [Item(f"q{n}", (Turn("user", f"Question {n}?"),), "left " * 300, "right " * 300) for n in range(ITEMS)]


async def ask_plainly(url: str, prompts: list[str]) -> None:
    """Ask as a script would: one client, one semaphore, gather."""
    places = asyncio.Semaphore(CONCURRENCY)
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(prompt: str) -> None:
            async with places:
                await client.chat.completions.create(
                    model="m", temperature=0, max_tokens=2048, messages=[{"role": "user", "content": prompt}]
                )

        await asyncio.gather(*map(ask, prompts))


def seconds_plain(url: str, items: list[Item]) -> float:
    """Return how long the plain loop takes for both orders of every item."""
    prompts = [render(PROTOCOL, item, order).user for item in items for order in ("AB", "BA")]
    start = time.perf_counter()
    asyncio.run(ask_plainly(url, prompts))
    return time.perf_counter() - start


def seconds_ours(url: str, items: list[Item], database: Path) -> float:
    """Return how long a run takes, from its start to its last stored verdict."""
    store = Store.open(f"sqlite:///{database}")
    store.create_study(Study("s", PROTOCOL.version))
    store.add_prepared("s", [prepare(item) for item in items])
    start = time.perf_counter()
    done = run_judge(store, JudgeOrder("s", "m", url, limits=Limits(CONCURRENCY)), lambda _: None)
    took = time.perf_counter() - start
    if done["run"] != {"ok": 2 * ITEMS}:
        raise RuntimeError(str(done))
    store.close()
    return took


def main() -> None:
    """Print the ratio of interleaved rounds."""
    items = make_items()
    with tempfile.TemporaryDirectory() as folder, served_apart(delay=0.1, text=REPLY) as url:
        seconds_plain(url, items[:64])
        plain, ours = [], []
        for number in range(ROUNDS):
            plain.append(seconds_plain(url, items))
            ours.append(seconds_ours(url, items, Path(folder) / f"{number}.db"))
    rates = [2 * ITEMS / statistics.median(times) for times in (plain, ours)]
    print(f"plain AsyncOpenAI loop, nothing stored    {rates[0]:5.0f} calls/s")
    print(f"a run, every call stored as it ends       {rates[1]:5.0f} calls/s   {rates[1] / rates[0]:.2f}×")


if __name__ == "__main__":
    main()
