"""Answers: what an annotator said to the questions of a form, and which of them is the verdict.

Annotation tools let a project name its questions as it likes. The verdict is the one question with a
usual name (`preference`, `label`, `rating`), or else the one whose answers all name a side or a tie, or
else the only one; anything less certain is an error. The other answers stay beside the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from exchange.formats.columns import guess_mapping
from exchange.formats.conversion import as_extra, present
from exchange.formats.preferences import known_preference, preference
from exchange.rows import Row


@dataclass(frozen=True, slots=True)
class Answers:
    """One rater's answers to a form, by question, and what else is known of the verdict."""

    rater: str
    kind: str
    values: Mapping[str, Any]
    given: Mapping[str, Any] = field(default_factory=dict)


def verdicts_of(row: Row, forms: Sequence[Answers], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the verdicts in the filled-in forms; a form without an answer to the question has none."""
    questions = list(dict.fromkeys(question for form in forms for question in form.values))
    if not questions:
        return []
    guessed = guess_mapping(questions)
    chosen = _verdict_question(row, forms, names, guessed.get("label"))
    comment = guessed.get("comment")
    return [_verdict(row, form, names, chosen, comment) for form in forms if form.values.get(chosen) is not None]


def _verdict_question(row: Row, forms: Sequence[Answers], names: Mapping[str, str], usual: str | None) -> str:
    if usual is not None:
        return usual
    given: dict[str, list[Any]] = {}
    for form in forms:
        for question, value in form.values.items():
            given.setdefault(question, []).append(value)
    telling = [
        question for question, values in given.items() if all(known_preference(value, names) for value in values)
    ]
    candidates = telling or list(given)
    if len(candidates) > 1:
        raise row.refuse(f"questions: which of {', '.join(candidates)} is the verdict? Rename it to `preference`")
    return candidates[0]


def _verdict(row: Row, form: Answers, names: Mapping[str, str], chosen: str, comment: str | None) -> dict[str, Any]:
    label = preference(form.values[chosen], names)
    if label is None:
        raise row.refuse(f"{chosen}: cannot be read as a label: {form.values[chosen]!r}")
    said = form.values.get(comment) if comment else None
    others = {question: value for question, value in form.values.items() if question not in (chosen, comment)}
    fixed = {"rater": form.rater, "kind": form.kind, "label": label, "status": "ok" if form.kind == "judge" else None}
    return {**as_extra(others), **present({**form.given, **fixed, "comment": said if isinstance(said, str) else None})}


def reviewed(row: Row, fields: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the part of an item that a record's fields hold, and the fields used for it."""
    mapping = guess_mapping([name for name, found in fields.items() if isinstance(found, str | list)])
    sides = ["response_a", "response_b"] if "response_a" in mapping else ["response"]
    if "instruction" not in mapping or sides[0] not in mapping:
        names = ", ".join(fields) or "none"
        raise row.refuse(
            f"{where}: no question and responses among the fields ({names}): name them prompt, response_a …"
        )
    used = {name: column for name, column in mapping.items() if name in {"instruction", *sides, *_ITEM_FIELDS}}
    item = {name: fields[column] for name, column in used.items() if fields[column] is not None}
    if isinstance(item["instruction"], list):
        item["conversation"] = item.pop("instruction")
    return item, used


_ITEM_FIELDS = ("reference_answer", "model", "model_a", "model_b")
