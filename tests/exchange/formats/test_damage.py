"""Damaged rows: whatever stands in whichever place, a converter answers with rows and errors, never by failing."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from format_samples import SAMPLES, rows_of

from exchange.formats import FORMATS, detect
from exchange.interchange import record_from_json
from exchange.rows import Row
from judge.domain import InputError

JUNK = [
    None,
    True,
    0,
    -3,
    2.5,
    float("nan"),
    "",
    " ",
    "x",
    "'=x",
    [],
    {},
    ["x"],
    [[]],
    [None],
    {"x": "y"},
    {"value": 1},
]
EACH = [(name, place) for name, samples in SAMPLES.items() for place in range(len(samples))]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path] * bool(path) + [deeper for key in keys for deeper in places(value[key], (*path, key))]


def damaged(sample: Any, path: tuple[Any, ...], junk: Any) -> Any:
    value = copy.deepcopy(sample)
    within = value
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = copy.deepcopy(junk)
    return value


@pytest.mark.parametrize(("name", "place"), EACH)
def test_junk_anywhere_is_an_outcome(name: str, place: int) -> None:
    sample = SAMPLES[name][place]
    for path in places(sample):
        for junk in JUNK:
            value = damaged(sample, path, junk)
            detect(value)
            for outcome in FORMATS[name].convert(rows_of([*SAMPLES[name][:1], value, sample])):
                assert isinstance(outcome, Row | InputError)
                if isinstance(outcome, Row):
                    try:
                        record_from_json(outcome.value)
                    except InputError:
                        continue
