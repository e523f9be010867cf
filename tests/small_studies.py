"""Small studies as files have them, and the edge table: what there is to say where next to nothing was said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from exchange.importing import ImportRequest, import_files
from judge.protocol import find_protocol
from storage.store import Store

LABELS = ("A++", "A+", "A=B", "B+", "B++")


def human(name: str, label: str, **more: Any) -> dict[str, Any]:
    return {"rater": name, "kind": "human", "label": label, **more}


def judged(label: str | None, order: str = "AB", name: str = "j", **more: Any) -> dict[str, Any]:
    status = more.pop("status", "ok" if label else "unreadable")
    return {"rater": name, "kind": "judge", "label": label, "order": order, "status": status, **more}


def item(number: int, verdicts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    found = {"id": f"q{number}", "instruction": f"Question {number}?", "response_a": "left " * (number % 5 + 1)}
    return {**found, "response_b": "right answer", "model_a": "m1", "model_b": "m2", "verdicts": verdicts, **more}


def many(make: Callable[[int], list[dict[str, Any]]], count: int = 12) -> list[dict[str, Any]]:
    return [item(number, make(number)) for number in range(count)]


def label_of(number: int) -> str:
    return LABELS[number * 7 % 5]


def put(
    store: Store, folder: Path, items: list[dict[str, Any]], study: str = "s", protocol: str = "wildbench-pairwise"
) -> str:
    path = folder / f"{study}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in items), encoding="utf-8")
    import_files(store, ImportRequest([str(path)], study, find_protocol(protocol)), lambda _: None)
    return study


def write_protocol(
    folder: Path, name: str, scale: dict[str, float], kind: str = "pairwise", tie: str | None = None
) -> str:
    """Write a protocol with this scale, label by label with its value, and return the file's name."""
    points = [{"label": label, "value": value, "tie": label == tie} for label, value in scale.items()]
    fields = "{$candidate_A} {$candidate_B}" if kind == "pairwise" else "{$model_output}"
    head = {"title": name, "kind": kind, "placeholder": "{$name}", "scale": points, "answer": {"json": "choice"}}
    path = folder / f"{name}.md"
    path.write_text(f"---\n{json.dumps(head)}\n---\n{{$user_query}} {fields}\n", encoding="utf-8")
    return str(path)


EDGES: dict[str, list[dict[str, Any]]] = {
    "constant raters": many(
        lambda n: [human("ana", "A+"), human("ben", label_of(n)), judged("A+"), judged("A+", "BA")]
    ),
    "one category": many(lambda n: [human("ana", "A+"), human("ben", "A+"), judged("A+"), judged("A+", "BA")]),
    "no overlap": [*many(lambda n: [human("ana", label_of(n))], 6), *[item(n, [judged("A+")]) for n in range(6, 12)]],
    "one item": many(lambda n: [human("ana", "A+"), human("ben", "B+"), judged("A++"), judged("A+", "BA")], 1),
    "all ties": many(lambda n: [human("ana", "A=B"), human("ben", "A=B"), judged("A=B"), judged("A=B", "BA")]),
    "all unreadable": many(lambda n: [human("ana", label_of(n)), human("ben", label_of(n + 1)), judged(None)]),
    "a judge with one order": many(
        lambda n: [human("ana", label_of(n)), human("ben", label_of(n)), judged(label_of(n + 1))]
    ),
    "two raters only": many(lambda n: [human("ana", label_of(n)), human("ben", label_of(n + n % 2))]),
    "disconnected models": [
        item(n, [human("ana", "A+"), judged("A+")], model_a=f"m{2 * (n % 2)}", model_b=f"m{2 * (n % 2) + 1}")
        for n in range(12)
    ],
    "no humans": many(lambda n: [judged(label_of(n)), judged(label_of(n), "BA")]),
    "no judges": many(lambda n: [human("ana", label_of(n)), human("ben", label_of(n)), human("eva", label_of(n + 1))]),
    "no verdicts": many(lambda n: []),
    "opponents without a name": [
        item(n, [human("ana", label_of(n)), judged("B+")], instruction=f"Question {n // 2}?", model_b=None)
        for n in range(12)
    ],
    "responses without text": [
        item(n, [human("ana", "A+"), judged("B+")], response_a="", response_b="") for n in range(3)
    ],
}


def estimates_in(value: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        if {"value", "low", "high"} <= value.keys():
            yield where, value
        for key, found in value.items():
            yield from estimates_in(found, f"{where}.{key}")
    elif isinstance(value, list):
        for at, found in enumerate(value):
            yield from estimates_in(found, f"{where}[{at}]")


def check_reasons(value: Any, where: str = "") -> None:
    """Make sure that what is null beside a reason of its own has one, and nothing else has."""
    if isinstance(value, dict):
        for key in value:
            if key.endswith("_why"):
                named = key.removesuffix("_why")
                assert (value[named] is None) == bool(value[key]), f"{where}.{named}"
            check_reasons(value[key], f"{where}.{key}")
        if "domain" in value:
            assert (value["winning_rate"] is None) == bool(value["why"]), where
    elif isinstance(value, list):
        for at, found in enumerate(value):
            check_reasons(found, f"{where}[{at}]")


def check_estimates(value: dict[str, Any]) -> None:
    check_reasons(value)
    for where, made in estimates_in(value):
        if made["value"] is None:
            assert made.get("why"), f"{where} is undefined without a reason"
            assert (made["low"], made["high"]) == (None, None)
        else:
            assert math.isfinite(made["value"])
            assert made["low"] is not None or made.get("why"), f"{where} has no interval and no reason"
