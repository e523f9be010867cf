"""The published data sets, where they are at hand: they are not part of the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agreement.categories import Categories
from agreement.intervals import Sampling

DATA = Path(__file__).parents[3] / "shared" / "data"
LABELS = ("A", "tie", "B")


@pytest.fixture(scope="session")
def three_way() -> Categories:
    return Categories((1.0, 0.0, -1.0), 1)


@pytest.fixture(scope="session")
def five_way() -> Categories:
    return Categories((-1.0, -0.5, 0.0, 0.5, 1.0), 2)


@pytest.fixture(scope="session")
def quick() -> Sampling:
    return Sampling(resamples=400, seed=7)


def read_lines(name: str) -> list[dict[str, Any]]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    path = DATA / "golden.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return json.loads(path.read_text(encoding="utf-8"))


def codes_of(items: list[dict[str, Any]], rater: str, order: str | None = None) -> np.ndarray:
    found = []
    for item in items:
        label = None
        for verdict in item["verdicts"]:
            right = verdict["rater"] == rater and (order is None or verdict.get("order") == order)
            if right and verdict.get("status", "ok") == "ok":
                label = verdict["label"]
        found.append(-1 if label is None else LABELS.index(label))
    return np.array(found)


@pytest.fixture(scope="session")
def pandalm() -> dict[str, np.ndarray]:
    items = read_lines("pandalm.jsonl")
    raters = ("annotator1", "annotator2", "annotator3", "gpt-3.5-turbo", "pandalm-7b")
    return {rater: codes_of(items, rater) for rater in raters}


@pytest.fixture(scope="session")
def autoj() -> dict[str, np.ndarray]:
    items = read_lines("autoj.jsonl")
    found = {"human": codes_of(items, "human")}
    found |= {order: codes_of(items, "auto-j-13b", order) for order in ("AB", "BA")}
    found["length_a"] = np.array([len(item["response_a"]) for item in items])
    found["length_b"] = np.array([len(item["response_b"]) for item in items])
    found["scenario"] = np.array([item["tags"][1] for item in items])
    return found
