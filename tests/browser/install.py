"""Bring a Chromium for the browser tests; without one they skip, so a failure here is only reported.

Run by `make` once the test requirements are installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SYSTEM_CHROMIUM = Path("/usr/bin/chromium")


def find_chromium() -> str | None:
    """Return the path of the system's Chromium, or of the one Playwright has downloaded."""
    if SYSTEM_CHROMIUM.exists():
        return str(SYSTEM_CHROMIUM)
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def commands() -> list[list[str]]:
    """Return what brings a Chromium to this machine."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root and Path("/etc/debian_version").exists() and shutil.which("apt-get"):
        return [["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "chromium"]]
    return [[sys.executable, "-m", "playwright", "install", "chromium"]]


def main() -> None:
    """Install a Chromium unless there is one."""
    if find_chromium() is not None:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        for command in commands():
            # To standard error, so that a quiet `make` shows it only as what it is: progress.
            subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"No Chromium could be installed ({error}): the browser tests will be skipped.\n")


if __name__ == "__main__":
    main()
