"""Whether a bundle's verdicts rest on what lies beside them: their items, prompts, calls and raw replies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exchange.bundled import Bundled, Row
from judge.domain import ORDERS
from judge.read import read
from judge.render import render
from storage.codec import item_from_json
from storage.columns import STATUSES
from storage.schema import WITHDRAWN


def check_verdicts(bundle: Bundled) -> Iterator[str]:
    """Yield each verdict or call that what lies beside it does not bear out."""
    prompts = _hash_prompts(bundle)
    known = {row["id"]: row for row in bundle.verdicts}
    for number, row in enumerate(bundle.verdicts, 1):
        where = f"verdicts.jsonl: line {number}"
        found = [_check_label(bundle, row), _check_revision(known, row), _check_prompt(bundle, prompts, row)]
        found.append(_check_call(bundle, row))
        yield from (f"{where}: {problem}" for problem in found if problem)
    for number, call in enumerate(bundle.calls.values(), 1):
        if problem := _check_prompt(bundle, prompts, call):
            yield f"calls.jsonl: line {number}: {problem}"
    yield from _read_again(bundle)


def _hash_prompts(bundle: Bundled) -> dict[tuple[str, str], str]:
    """Return the hash of every prompt that the items give, by item and order."""
    items = {item["id"]: item_from_json(item) for item in bundle.items}
    return {
        (name, order): render(bundle.protocol, item, order).hash for name, item in items.items() for order in ORDERS
    }


def _check_label(bundle: Bundled, row: Row) -> str | None:
    status, label = row["status"], row.get("label")
    if status not in (*STATUSES, WITHDRAWN):
        return f"status: {status!r} is none"
    if status == "ok" and label not in bundle.protocol.scale.labels:
        return f"label: {label!r} is not on the scale"
    return f"label: stands beside status {status!r}" if status != "ok" and label is not None else None


def _check_revision(known: dict[int, Row], row: Row) -> str | None:
    if "supersedes" not in row:
        return None
    before = known.get(row["supersedes"])
    if before is None or any(before[name] != row[name] for name in ("item", "rater", "kind")):
        return "supersedes: names no verdict of this rater on this item"
    return None


def _check_prompt(bundle: Bundled, prompts: dict[tuple[str, str], str], row: Row) -> str | None:
    """Return whether a prompt hash is that of the prompt which the item, the protocol and the order give."""
    order = row.get("order") if bundle.protocol.kind == "pairwise" else "AB"
    if (row["item"], "AB") not in prompts:
        return f"item: {row['item']!r} is not in items.jsonl"
    if "prompt_hash" in row and prompts.get((row["item"], order or "")) != row["prompt_hash"]:
        return f"prompt_hash: is not that of the prompt which item {row['item']!r} gives in order {order}"
    return None


def _check_call(bundle: Bundled, row: Row) -> str | None:
    """Return whether a verdict has the call it was read from; what was imported with a label needs none."""
    if "call_id" not in row:
        judged = row["kind"] == "judge" and "prompt_hash" in row
        return "call_id: is missing, though the verdict comes from a run" if judged else None
    call = bundle.calls.get(row["call_id"])
    if call is None:
        return f"call_id: call {row['call_id']} is not in calls.jsonl"
    # An imported verdict may have a time of its own, and a later reading of a reply has none.
    told = [name for name in ("prompt_hash", "seconds") if name in row and "run_id" in call]
    differ = [name for name in ("item", "rater", "order", *told) if row.get(name) != call.get(name)]
    return f"{', '.join(differ)}: is not that of its call {row['call_id']}" if differ else None


def _read_again(bundle: Bundled) -> Iterator[str]:
    """Yield each current verdict of a run that is not what reading its reply gives."""
    for row in bundle.current:
        call = bundle.calls.get(row.get("call_id", 0))
        if call is None or "run_id" not in call or row["kind"] != "judge":
            continue
        stated, again = (row["status"], row.get("label")), _reading(bundle, call)
        if stated != again:
            told = (" ".join(str(part) for part in pair if part is not None) for pair in (stated, again))
            yield "calls.jsonl: call {}: verdict {} says {}, its raw reply reads {}".format(
                call["id"], row["id"], *told
            )


def _reading(bundle: Bundled, call: Row) -> tuple[str, Any]:
    if "raw" not in call:
        return "failed", None
    reading = read(bundle.protocol, call["raw"], call.get("finish_reason"))
    if reading.status != "ok":
        return reading.status, None
    return "ok", bundle.protocol.unswap(reading.label, call.get("order") or "AB")
