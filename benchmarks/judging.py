"""How fast a judge's run is, every call stored durably, beside loops that store nothing; and what it needs.

python -m benchmarks.judging [--start] [--peers]

`--start` measures only how long the first request takes to leave. `--peers` makes an environment with prometheus-eval
in a temporary folder and runs its client too.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
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
from openai_server import Answer, OpenAIServer, Seen, completion, served_apart

ROOT = Path(__file__).parents[1]
CONCURRENCY = 64
ITEMS = 640
SIZES = (1_000, 50_000)
ROUNDS = 3
STARTS = 9
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
    measured = f"{2 * ITEMS} calls of 100 ms, {CONCURRENCY} at once, median of {ROUNDS} rounds"
    print(f"\n{measured}; beside each, how ours compares")
    middle = {
        name: [statistics.median(each) for each in zip(*times, strict=True)] for name, times in took.items() if times
    }
    for name, (seconds, worked) in middle.items():
        speed = f"{2 * ITEMS / seconds:6.0f} calls/s ({seconds / middle['ours'][0]:.2f}×)"
        work = f"{1000 * worked / (2 * ITEMS):6.2f} ms of processor a call ({worked / middle['ours'][1]:.2f}×)"
        print(f"{told[name]:<48}{speed}  {work}")


def seconds_to_ask(database: Path, model: str) -> Seconds:
    """Return how long the command `judge` takes from its start to its first request at the server."""
    arrived = threading.Event()

    def answer(_: Seen) -> Answer:
        arrived.set()
        return completion(REPLY)

    with OpenAIServer(answer, keep=False) as server:
        words = ["app.py", "judge", "--study", "s", "--model", model, "--base-url", server.url]
        words += ["--orders", "AB", "--database", f"sqlite:///{database}"]
        began, worked = time.perf_counter(), _worked_by_others()
        with subprocess.Popen([sys.executable, *words], cwd=ROOT, stderr=subprocess.DEVNULL) as command:
            if not arrived.wait(60):
                raise RuntimeError("the command asked nothing")
            took = time.perf_counter() - began
            command.kill()
    return took, _worked_by_others() - worked


def seconds_to_import() -> Seconds:
    """Return how long a bare import of openai takes, in a process of its own."""
    began, worked = time.perf_counter(), _worked_by_others()
    subprocess.run([sys.executable, "-c", "import openai"], check=True)
    return time.perf_counter() - began, _worked_by_others() - worked


def _worked_by_others() -> float:
    """Return the processor time of the processes that this one has started and seen end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_one(url: str, database: str) -> None:
    """Run once in this process and print what it took, as JSON."""
    store = Store.open(database)
    watch = Watch()
    done = run_judge(store, JudgeOrder("s", "m", url, orders=("AB",), limits=Limits(CONCURRENCY)), lambda _: None)
    took, _ = watch.read()
    store.close()
    print(json.dumps({"seconds": took, "peak": _peak(), "run": done["run"]}))


def _peak() -> float:
    """Return the most megabytes this program has held; what `getrusage` tells includes the process that started it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def compare_starts(databases: Mapping[int, Path]) -> None:
    """Print how long the first request takes to leave, from the start of the command, for studies of several sizes."""
    took: dict[str, list[Seconds]] = {"import openai, and nothing else": []}
    for number in range(STARTS):
        took["import openai, and nothing else"].append(seconds_to_import())
        for size, database in databases.items():
            first = seconds_to_ask(database, f"start-{number}")
            took.setdefault(f"app.py judge, {size} items", []).append(first)
    middle = {name: [statistics.median(each) for each in zip(*times, strict=True)] for name, times in took.items()}
    bare = middle["import openai, and nothing else"]
    print(f"from the start of the command to its first request at the server, median of {STARTS} tries")
    for name, (seconds, worked) in middle.items():
        work = f"{worked:5.2f} s of processor ({worked / bare[1]:.2f}×)"
        print(f"{name:<48}{seconds:5.2f} s ({seconds / bare[0]:.2f}×)  {work}")


def compare_sizes(databases: Mapping[int, Path]) -> None:
    """Print how fast a run is and how much memory it takes, for two sizes of study."""
    print(f"\n{'items':>7}  {'calls/s':>8}  {'peak memory':>11}")
    peaks = []
    with served_apart(text=REPLY) as url:
        for size, database in databases.items():
            words = [sys.executable, "-m", "benchmarks.judging", "--one", url, f"sqlite:///{database}"]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            one = json.loads(done.stdout)
            if one["run"] != {"ok": size}:
                raise RuntimeError(str(one))
            print(f"{size:>7}  {size / one['seconds']:8.0f}  {one['peak']:8.0f} MB")
            peaks.append(one["peak"])
    print(f"peak memory of {SIZES[1]} items is {peaks[1] / peaks[0]:.2f}× that of {SIZES[0]}")


def main() -> None:
    """Print every comparison."""
    if "--one" in sys.argv:
        measure_one(*sys.argv[-2:])
        return
    with tempfile.TemporaryDirectory() as folder:
        databases = {size: Path(folder) / f"size-{size}.db" for size in SIZES}
        for size, database in databases.items():
            make_study(database, make_items(size, 20))
        compare_starts(databases)
        sys.stdout.flush()
        if "--start" in sys.argv:
            return
        compare_speed(Path(folder))
        sys.stdout.flush()
        compare_sizes(databases)


if __name__ == "__main__":
    main()
