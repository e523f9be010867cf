"""What agreement costs: kappa and alpha with intervals beside loops over scikit-learn and krippendorff, and growth.

python -m benchmarks.agreeing [--full]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "agreement"))
from speed import measure_alpha, measure_kappa

SIZES = (1_000, 100_000, 1_000_000) if "--full" in sys.argv else (1_000, 100_000)


def main() -> None:
    """Print seconds, and how many times longer the loop takes."""
    first = None
    for size in SIZES:
        found = measure_kappa(size)
        first = first or found["codes"]
        print(
            f"quadratic kappa, 2,000 resamples, {size:>9,} pairs  {found['codes'] * 1000:8.1f} ms"
            f"  loop over scikit-learn {found['ratio']:8,.0f}×  {found['codes'] / first:5.1f}× the smallest"
        )
    size = 100_000 if "--full" in sys.argv else 10_000
    found = measure_alpha(size)
    print(
        f"ordinal alpha, 1,000 resamples, 10 × {size:>9,} items {found['codes'] * 1000:8.1f} ms"
        f"  loop over krippendorff {found['ratio']:8,.0f}×"
    )


if __name__ == "__main__":
    main()
