"""The rubrics that people pick by name."""

from __future__ import annotations

from pathlib import Path

import yaml

from judge.domain import InputError, Rubric

_FILE = Path(__file__).parent / "rubrics.yaml"


def list_rubrics() -> dict[str, Rubric]:
    """Return the built-in rubrics by name."""
    entries = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {name: Rubric(entry["criteria"], tuple(entry["scores"])) for name, entry in entries.items()}


def find_rubric(name: str) -> Rubric:
    """Return the rubric of this name."""
    rubrics = list_rubrics()
    if name not in rubrics:
        raise InputError(f"no rubric named {name!r}; known: {', '.join(rubrics)}")
    return rubrics[name]
