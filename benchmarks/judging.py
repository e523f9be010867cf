"""How fast a judge's run is, every call stored durably, beside loops that store nothing; and what it needs.

python -m benchmarks.judging [--peers]

`--peers` makes an environment with prometheus-eval in a temporary folder and runs its client too.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from openai import AsyncOpenAI

from exchange.judging import JudgeOrder, run_judge
from judge.client import Client
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from judge.render import render
from judge.run import Limits
from storage.imports import prepare
from storage.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "judge"))
from openai_server import served_apart

CONCURRENCY = 64
ITEMS = 640
SIZES = (1_000, 50_000)
ROUNDS = 3
PROTOCOL = find_protocol("wildbench-pairwise")
Seconds = tuple[float, float]
REPLY = '{"analysis of A": "Fine.", "analysis of B": "Fine.", "choice": "A+"}'


def make_items(count: int, size: int = 300) -> list[Item]:
    """Return pairs of about ten times `size` bytes."""
    return [Item(f"q{n}", (Turn("user", f"Question {n}?"),), "left " * size, "right " * size) for n in range(count)]


def make_study(database: Path, items: list[Item]) -> None:
    """Store a study of these items."""
    store = Store.open(f"sqlite:///{database}")
    store.create_study(Study("s", PROTOCOL.version))
    for at in range(0, len(items), 1000):
        store.add_prepared("s", [prepare(item) for item in items[at : at + 1000]])
    store.close()


def both_orders(items: list[Item]) -> list[str]:
    """Return every prompt of a run."""
    return [render(PROTOCOL, item, order).user for item in items for order in ("AB", "BA")]


async def ask_plainly(url: str, prompts: list[str]) -> None:
    """Ask as a script would: one client, one semaphore, gather."""
    places = asyncio.Semaphore(CONCURRENCY)
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=600) as client:

        async def ask(prompt: str) -> None:
            async with places:
                await client.chat.completions.create(
                    model="m", temperature=0, max_tokens=2048, messages=[{"role": "user", "content": prompt}]
                )

        await asyncio.gather(*map(ask, prompts))


class Watch:
    """A stop watch for time and for the processor's time, which other work on the machine disturbs far less."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def read(self) -> Seconds:
        """Return both since the start."""
        return time.perf_counter() - self._began[0], time.process_time() - self._began[1]


def seconds_plain(url: str, items: list[Item]) -> Seconds:
    """Return how long the plain loop takes for both orders of every item."""
    prompts = both_orders(items)
    watch = Watch()
    asyncio.run(ask_plainly(url, prompts))
    return watch.read()


def seconds_ours(url: str, items: list[Item], database: Path) -> Seconds:
    """Return how long a run takes, from its start to its last stored verdict."""
    make_study(database, items)
    store = Store.open(f"sqlite:///{database}")
    watch = Watch()
    done = run_judge(store, JudgeOrder("s", "m", url, limits=Limits(CONCURRENCY)), lambda _: None)
    took = watch.read()
    if done["run"] != {"ok": 2 * len(items)}:
        raise RuntimeError(str(done))
    store.close()
    return took


def install_peers(folder: Path) -> Path:
    """Make an environment with prometheus-eval and return its interpreter."""
    uv = Path(sys.executable).with_name("uv")
    python = folder / "peers" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", folder / "peers"], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, "prometheus-eval", "litellm"], check=True)
    return python


def seconds_prometheus(python: Path, url: str, items: list[Item], folder: Path) -> Seconds:
    """Return how long prometheus-eval's AsyncLiteLLM takes for the same prompts."""
    prompts = folder / "prompts.json"
    prompts.write_text(json.dumps(both_orders(items)), encoding="utf-8")
    script = Path(__file__).with_name("prometheus_peer.py")
    words = [python, script, url, prompts, str(CONCURRENCY)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    seconds, worked = map(float, done.stdout.splitlines()[-1].split())
    return seconds, worked


def compare_speed(folder: Path) -> None:
    """Print the rates of interleaved rounds, and the ratios to ours."""
    items = make_items(ITEMS)
    peer = install_peers(folder) if "--peers" in sys.argv else None
    took: dict[str, list[Seconds]] = {"plain": [], "prometheus-eval": [], "ours": []}
    with served_apart(delay=0.1, text=REPLY) as url:
        seconds_plain(url, items[:64])
        for number in range(ROUNDS):
            took["plain"].append(seconds_plain(url, items))
            if peer is not None:
                took["prometheus-eval"].append(seconds_prometheus(peer, url, items, folder))
            took["ours"].append(seconds_ours(url, items, folder / f"{number}.db"))
    told = {
        "plain": "plain AsyncOpenAI loop, nothing stored",
        "prometheus-eval": "prometheus-eval's AsyncLiteLLM, nothing stored",
        "ours": "a run, every call stored as it ends",
    }
    print(
        f"{2 * ITEMS} calls of 100 ms, {CONCURRENCY} at once, median of {ROUNDS} rounds; beside each, how ours compares"
    )
    middle = {
        name: [statistics.median(each) for each in zip(*times, strict=True)] for name, times in took.items() if times
    }
    for name, (seconds, worked) in middle.items():
        speed = f"{2 * ITEMS / seconds:6.0f} calls/s ({seconds / middle['ours'][0]:.2f}×)"
        work = f"{1000 * worked / (2 * ITEMS):6.2f} ms of processor a call ({worked / middle['ours'][1]:.2f}×)"
        print(f"{told[name]:<48}{speed}  {work}")


def measure_one(url: str, database: str, spawned: float) -> None:
    """Run once in this process and print what it took, as JSON."""
    ready = time.time()
    asked: list[float] = []
    ask = Client.ask

    async def timed(self: Client, *words: object) -> object:
        if not asked:
            asked.append(time.time())
        return await ask(self, *words)

    Client.ask = timed
    store = Store.open(database)
    began = time.time()
    done = run_judge(store, JudgeOrder("s", "m", url, orders=("AB",), limits=Limits(CONCURRENCY)), lambda _: None)
    took = time.time() - began
    store.close()
    told = {"start": ready - spawned, "first": asked[0] - began, "seconds": took, "peak": _peak(), "run": done["run"]}
    print(json.dumps(told))


def _peak() -> float:
    """Return the most megabytes this program has held; what `getrusage` tells includes the process that started it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def compare_sizes(folder: Path) -> None:
    """Print how long the first request takes to leave and how much memory a run takes, for two sizes of study."""
    print(f"\n{'items':>7}  {'process start':>13}  {'first request':>13}  {'calls/s':>8}  {'peak memory':>11}")
    peaks = []
    with served_apart(text=REPLY) as url:
        for size in SIZES:
            database = folder / f"size-{size}.db"
            make_study(database, make_items(size, 20))
            words = [sys.executable, "-m", "benchmarks.judging", "--one", url, f"sqlite:///{database}"]
            done = subprocess.run([*words, str(time.time())], capture_output=True, text=True, check=True)
            one = json.loads(done.stdout)
            if one["run"] != {"ok": size}:
                raise RuntimeError(str(one))
            rate = size / one["seconds"]
            times = f"{one['start']:11.2f} s  {one['first']:11.2f} s"
            print(f"{size:>7}  {times}  {rate:8.0f}  {one['peak']:8.0f} MB")
            peaks.append(one["peak"])
    print(f"peak memory of {SIZES[1]} items is {peaks[1] / peaks[0]:.2f}× that of {SIZES[0]}")


def main() -> None:
    """Print every comparison."""
    if "--one" in sys.argv:
        url, database, spawned = sys.argv[-3:]
        measure_one(url, database, float(spawned))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare_speed(Path(folder))
        sys.stdout.flush()
        compare_sizes(Path(folder))


if __name__ == "__main__":
    main()
