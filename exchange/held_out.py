"""What is said of the held-out part: how large it is, and how many ways of judging have been tried on it already."""

from __future__ import annotations

from typing import Any

from exchange.panel import Options
from judge.domain import InputError
from storage.held_out import Variant
from storage.store import Store

UNIT = "question"
WHOLE: dict[str, Any] = {"part": "all"}


def describe_split(store: Store, study: str, options: Options) -> dict[str, Any]:
    """Return how the items are divided and what was tried on the test part; of a whole study only that it is whole."""
    part, share = options.filters.part, options.filters.test_share
    if part == "all":
        return WHOLE
    if not 0 < share < 1:
        raise InputError("the test part's share lies between 0 and 1, such as 0.5")
    tried = store.variants(study, share)
    return {
        "part": part,
        "test_share": share,
        "seed": store.study(study).seed,
        "by": UNIT,
        "items": store.part_sizes(study, share),
        "variants": len(tried),
        "tried": [_variant(one) for one in tried],
        "warnings": [warning] if (warning := warn_of_tuning(part, len(tried))) else [],
    }


def _variant(one: Variant) -> dict[str, Any]:
    return {
        "judge": one.judge,
        "protocol": one.protocol,
        "protocol_hash": one.protocol_hash,
        "settings": one.settings,
        "studies": list(one.studies),
    }


def warn_of_tuning(part: str, variants: int) -> str | None:
    """Return what a reader of the test part's numbers must know when more than one variant was tried on it."""
    if part != "test" or variants < 2:
        return None
    return (
        f"the test part has been used for {variants} variants (judge, protocol and settings): the best of them looks "
        "better here than it is; choose on the development part, and report the test part once"
    )
