"""What an annotator waits for: from Enter to the next item painted, and the first page, beside bare Gradio.

python -m benchmarks.reviewing

The bare page has a button whose event, without a queue, fills two panes with the same markup. All pages are open in
one browser and measured in turn, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gradio as gr
from playwright.sync_api import Page, sync_playwright

from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.store import Store
from ui.markdown import show_markdown
from ui.theme import LAUNCH

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ui"))
from install import find_chromium
from serving import Serving, free_port

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 40
READING = 500  # milliseconds: nobody judges two responses in less
LEFT, RIGHT = (
    "A sentence of the answer with *some* `code`. " * 33,
    "Another answer, about as long, in **prose**. " * 34,
)

# Resolves with the milliseconds from now until the text has changed and been painted. The text is looked up anew
# each time: Gradio puts signs of waiting beside it, and may put another element in its place.
PAINTED = """([selector, press]) => new Promise((done) => {
  const text = () => document.querySelector(selector)?.textContent ?? "";
  const before = text(), start = performance.now();
  const watcher = new MutationObserver(() => {
    if (text() === before || !text()) return;
    watcher.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
  });
  watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
  if (press === "Enter") {
    for (const key of ["1", "Enter"]) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  } else document.querySelector(press).click();
})"""


def launch(make: Callable[[], gr.Blocks]) -> str:
    """Serve an app from this process and return its address."""

    async def start() -> str:
        blocks = make()
        port = free_port()
        blocks.launch(**LAUNCH, server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, quiet=True)
        return f"http://127.0.0.1:{port}"

    return asyncio.run(start())


def bare_app() -> gr.Blocks:
    """Return two panes and a button that fills them, and nothing else."""
    count = 0

    def fill() -> tuple[str, ...]:
        nonlocal count
        count += 1
        return tuple(f'<div class="shown">{count} {side}</div>' for side in sides)

    sides = show_markdown(LEFT), show_markdown(RIGHT)
    with gr.Blocks(analytics_enabled=False) as blocks:
        with gr.Row():
            panes = [gr.HTML(elem_id="left"), gr.HTML(elem_id="right")]
        gr.Button("Next", elem_id="next").click(fill, None, panes, queue=False, show_progress="hidden")
    return blocks


def empty_app() -> gr.Blocks:
    """Return a page with one line."""
    with gr.Blocks(analytics_enabled=False) as blocks:
        gr.HTML("<p id='there'>There is nothing here.</p>")
    return blocks


def make_store(folder: Path, size: int) -> Store:
    """Return a store with a study of this many items."""
    store = Store.open(f"sqlite:///{folder / f'{size}.db'}")
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version, wanted=1))
    for start in range(0, size, 5_000):
        made = [
            Item(f"q{n}", (Turn("user", f"Question {n}?"),), f"{n} {LEFT}", f"{n} {RIGHT}", checklist=("Is it right?",))
            for n in range(start, min(size, start + 5_000))
        ]
        store.add_prepared("s", [prepare(item) for item in made])
    return store


def measure(pages: dict[str, tuple[Page, list[str]]]) -> dict[str, float]:
    """Return each page's median time from the press to the paint, all measured in turn."""
    times: dict[str, list[float]] = {name: [] for name in pages}
    for number in range(ROUNDS + 3):
        for name, (page, how) in pages.items():
            page.wait_for_timeout(READING)
            took = page.evaluate(PAINTED, how)
            if number >= 3:  # the first ones warm caches up
                times[name].append(took)
    return {name: statistics.median(found) for name, found in times.items()}


def load_times(browser: Any, addresses: dict[str, tuple[str, str]]) -> dict[str, float]:
    """Return the median time to a first, cold sight of each page."""
    times: dict[str, list[float]] = {name: [] for name in addresses}
    for _ in range(15):
        for name, (address, selector) in addresses.items():
            context = browser.new_context()
            page = context.new_page()
            page.goto(address, wait_until="commit")
            page.wait_for_selector(selector)
            times[name].append(page.evaluate("performance.now()"))
            context.close()
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    """Print the medians and their ratios."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_servers:
        studies = {size: open_servers.enter_context(Serving(make_store(Path(folder), size))).address for size in SIZES}
        bare, empty = launch(bare_app), launch(empty_app)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
            pages: dict[str, tuple[Page, list[str]]] = {}
            for size, address in studies.items():
                page = browser.new_page()
                page.goto(f"{address}/?study=s&annotator=ana")
                page.wait_for_selector("#review[data-state=open]")
                pages[f"Review, {size:,} items"] = (page, [".question-text", "Enter"])
            page = browser.new_page()
            page.goto(bare)
            page.wait_for_selector("#next")
            page.click("#next")
            page.wait_for_selector("#right .shown")
            pages["bare Gradio event"] = (page, ["#right .shown", "#next"])
            painted = measure(pages)
            first = next(iter(studies.values()))
            loads = load_times(
                browser,
                {
                    "Review, first page": (f"{first}/?study=s&annotator=bea", "#review[data-state=open]"),
                    "empty Gradio page": (empty, "#there"),
                },
            )
            browser.close()
    for table, against in ((painted, "bare Gradio event"), (loads, "empty Gradio page")):
        for name, took in table.items():
            print(f"{name:<28} {took:8.0f} ms   {took / table[against]:.2f}×")


if __name__ == "__main__":
    main()
