"""Ask the advisory services whether a locked package has a known fault.

Run by `make audit`. It needs the network: where no service can be reached it says so and does not fail, since nothing
was found out. What was found and is accepted stands below, with the reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.txt", "requirements-dev.txt")
SERVICES = ("pypi", "osv")
ACCEPTED: dict[str, str] = {}  # an advisory's number, and why it does not concern us


def ask(service: str) -> list[dict] | None:
    """Return what a service knows of each package; None if it cannot be reached, or knows none of them."""
    words = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    words += ["-s", service, "-f", "json", "--timeout", "10"]
    words += [word for lock in LOCKS for word in ("-r", lock)]
    done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return None
    return packages if any("vulns" in package for package in packages) else None


def main() -> None:
    """Ask one service after the other until one answers, and tell what it says."""
    for service in SERVICES:
        packages = ask(service)
        if packages is not None:
            break
    else:
        print("no advisory service can be reached from here: nothing is known about the packages")
        return
    known = [package for package in packages if "vulns" in package]
    found = [(package, fault) for package in known for fault in package["vulns"] if fault["id"] not in ACCEPTED]
    for package, fault in found:
        mended = ", ".join(fault["fix_versions"]) or "no version yet"
        print(f"{package['name']} {package['version']}: {fault['id']}, mended in {mended}")
    print(f"{len(known)} of {len(packages)} packages are known to {service}; {len(found)} faults")
    if found:
        sys.exit("raise the lower bound in pyproject.toml and run `make lock`, or say in tests/advisories.py why not")


if __name__ == "__main__":
    main()
