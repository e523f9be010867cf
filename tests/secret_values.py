"""Look through every file that is kept for what looks like a key or a password.

Run by `make check`. What looks like one and is none stands below, with the reason; anything else fails.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from detect_secrets.core.scan import scan_file
from detect_secrets.settings import default_settings

ROOT = Path(__file__).parents[1]
# Digests of packages, a collection of replies, and pictures: long, and nobody types a key into them; this list itself.
LEFT_OUT = ("requirements", "tests/judge/replies.yaml", "docs/pictures/", "tests/secret_values.py")
NO_SECRETS = {
    "none": "sent as a key to servers that want none",
    "correct horse battery": "the password of every account that a test makes",
    "short": "a password that is refused for being it",
    "from-the-environment": "a key that a test plants in the environment and finds again",
    "sk-planted-Q7w8E9r0T1y2U3i4": "a key that a test plants and must find nowhere",
    "https://openrouter.ai/api/v1": "where a provider's key may go",
    "pw": "in addresses that must be refused because they hold a password",
    "secret": "in addresses that must be refused because they hold a password",
}
DIGESTS = "tests/judge/test_protocol.py"  # of the published templates


def find(path: str) -> list[tuple[str, int, str, str]]:
    """Return what looks like a secret in one file: where it stands, its kind and the text itself."""
    with default_settings():
        return [
            (path, secret.line_number, secret.type, secret.secret_value or "")
            for secret in scan_file(path)
            if secret.secret_value not in NO_SECRETS
            and not (path == DIGESTS and secret.type == "Hex High Entropy String")
        ]


def main() -> None:
    """Look, tell where and what kind, and fail if there is anything; the text itself is not printed."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [path for path in listed.split("\0") if path and not path.startswith(LEFT_OUT) and (ROOT / path).is_file()]
    with ProcessPoolExecutor() as workers:
        found = [each for several in workers.map(find, paths, chunksize=20) for each in several]
    for path, line, kind, value in found:
        print(f"{path}:{line}: {kind}", *([repr(value)] if "--show" in sys.argv else []))
    if found:
        sys.exit("if these are no secrets, say so in tests/secret_values.py; if one is, it must be replaced")


if __name__ == "__main__":
    main()
