"""The pictures of the documentation: the real app with the example studies, in a real browser.

python -m benchmarks.screenshots
"""

from __future__ import annotations

import io
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT / "tests" / "browser"))
STUDY = quote("Example: WildBench")
VIEWS = {"light": (1440, 900), "dark": (1440, 900), "phone": (390, 844)}
# What tells that a page is there: an element that its data fills.
PAGES = {
    "review": ("/", ".question-text *"),
    "judges": ("/judges", ".estimate"),
    "agreement": ("/agreement", ".agreement-head"),
    "studies": ("/studies", ".study-head"),
    "playground": ("/playground", "#prompt pre"),
    "settings": ("/settings", ".endpoint"),
    "users": ("/users", "#accounts .html-container *"),
}
COLOURS = 224  # text on plain ground needs no more, and a picture stays under 200 kB


def take(browser: Browser, address: str, name: str, ready: str) -> None:
    """Write a page's pictures: light, dark and on a phone."""
    for view, (width, height) in VIEWS.items():
        context = browser.new_context(viewport={"width": width, "height": height})
        context.add_init_script("localStorage.setItem('accord:annotator', 'you')")
        context.add_init_script("localStorage.setItem('accord:toured', 'yes')")
        page = context.new_page()
        page.goto(f"{address}?study={STUDY}&__theme={'dark' if view == 'dark' else 'light'}")
        page.locator(ready).first.wait_for(timeout=120_000)
        page.wait_for_timeout(1000)
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        path = PICTURES / f"{name}-{view}.png"
        shot.quantize(COLOURS).save(path, optimize=True)
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1024} kB")
        context.close()


def main() -> None:
    """Start the app over the example studies and photograph the pages it has."""
    from install import find_chromium

    PICTURES.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [sys.executable, str(ROOT / "app.py")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([*program, "demo"], cwd=folder, check=True)
        with subprocess.Popen([*program, "--port", str(port)], cwd=folder, stdout=subprocess.PIPE) as served:
            served.stdout.readline() if served.stdout else None  # it says when it is ready
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
            for name, (path, ready) in PAGES.items():
                take(browser, f"http://127.0.0.1:{port}{path}", name, ready)
            browser.close()
            served.terminate()


if __name__ == "__main__":
    main()
