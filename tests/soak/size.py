"""How large the load is: small with every test, full in `make soak` (ACCORD_SOAK=full)."""

from __future__ import annotations

import os

FULL = os.environ.get("ACCORD_SOAK") == "full"
