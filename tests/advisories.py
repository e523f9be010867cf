"""Ask the advisory services whether a locked package has a known fault.

Run by `make check`. Where no service answers it says so and does not fail, since nothing was found out. What one
answered is believed for a day, as long as the locks stay the same. What was found and is accepted stands below, with
the reason.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.txt", "requirements-dev.txt")
KEPT, DAY = Path(sys.prefix) / ".advisories.json", 86_400.0
MOMENT, PATIENCE = 3.0, 120.0  # seconds for one answer, and for all of them
ACCEPTED: dict[str, str] = {}  # an advisory's number, and why it does not concern us
# Each with a question of which only a service that knows advisories can answer.
SERVICES: dict[str, tuple[str, bytes | None, str]] = {
    "pypi": ("https://pypi.org/pypi/urllib3/1.26.0/json", None, "vulnerabilities"),
    "osv": (
        "https://api.osv.dev/v1/query",
        b'{"package": {"name": "urllib3", "ecosystem": "PyPI"}, "version": "1.26.0"}',
        "vulns",
    ),
}


def answers(service: str) -> bool:
    """Say whether a service knows the faults of an old package that has some."""
    address, question, key = SERVICES[service]
    try:
        with urllib.request.urlopen(urllib.request.Request(address, question), timeout=MOMENT) as answer:
            return bool(json.load(answer).get(key))
    except (OSError, ValueError):
        return False


def ask(service: str) -> list[dict] | None:
    """Return what a service knows of each package; None if it stops answering."""
    words = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    words += ["-s", service, "-f", "json", "--timeout", str(int(MOMENT))]
    words += [word for lock in LOCKS for word in ("-r", lock)]
    try:
        done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True, timeout=PATIENCE)
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        return None
    return packages if any("vulns" in package for package in packages) else None


def known_packages() -> list[dict] | None:
    """Return what the first service that answers says, or what one said today of the same locks."""
    locks = hashlib.sha256(b"".join((ROOT / lock).read_bytes() for lock in LOCKS)).hexdigest()
    try:
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
        if kept["locks"] == locks and 0 <= time.time() - kept["at"] < DAY:
            return list(kept["packages"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    for service in SERVICES:
        packages = ask(service) if answers(service) else None
        if packages is not None:
            KEPT.write_text(json.dumps({"locks": locks, "at": time.time(), "packages": packages}), encoding="utf-8")
            return packages
    return None


def main() -> None:
    """Tell every fault that is known and not accepted, and fail if there is one."""
    packages = known_packages()
    if packages is None:
        print("no advisory service can be reached from here: nothing is known about the packages")
        return
    known = [package for package in packages if "vulns" in package]
    found = [(package, fault) for package in known for fault in package["vulns"] if fault["id"] not in ACCEPTED]
    for package, fault in found:
        mended = ", ".join(fault["fix_versions"]) or "no version yet"
        print(f"{package['name']} {package['version']}: {fault['id']}, mended in {mended}")
    print(f"advisories are known for {len(known)} of {len(packages)} packages; {len(found)} faults")
    if found:
        sys.exit("raise the lower bound in pyproject.toml and run `make lock`, or say in tests/advisories.py why not")


if __name__ == "__main__":
    main()
