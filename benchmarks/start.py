"""How long the command line takes to answer, beside a bare import of typer.

python -m benchmarks.start
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 15


def seconds(*words: str) -> float:
    """Return how long one run of Python with these words takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Print the medians of interleaved runs and their ratio."""
    pairs = [(seconds("-c", "import typer"), seconds("app.py", "protocols")) for _ in range(ROUNDS)]
    bare, answer = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"import typer      {bare * 1000:6.0f} ms")
    print(f"app.py protocols  {answer * 1000:6.0f} ms   {answer / bare:.1f}×")


if __name__ == "__main__":
    main()
