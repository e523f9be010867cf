"""Label Studio: the JSON export of pairwise projects.

A task has `data` and `annotations`; an annotation's verdict is a `pairwise` result (`left`, `right`), a
`choices` result with one choice, or a `rating`. Left is the first of the two responses in `data`.
Cancelled (skipped) annotations are not verdicts and count nowhere. Predictions are verdicts of the model
version that made them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from exchange.formats.answers import Answers, reviewed, verdicts_of
from exchange.formats.conversion import Numbering, Outcome, convert_each, present
from exchange.formats.fields import identifier, mapping_of, objects, without
from exchange.formats.preferences import side_names
from exchange.rows import Row

_KEYS = ("id", "data", "annotations", "predictions", "drafts")


def recognise(value: Any) -> bool:
    """Say whether a row is an exported task."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("data"), dict)
        and isinstance(value.get("annotations"), list)
        and all(isinstance(entry, dict) and "result" in entry for entry in value["annotations"][:1])
    )


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return one item for each task."""
    numbering = Numbering()
    return convert_each(rows, lambda row: _item(row, numbering))


def _item(row: Row, numbering: Numbering) -> dict[str, Any]:
    value = mapping_of(row)
    data = value.get("data")
    if not isinstance(data, dict):
        raise row.refuse("data: is missing: an object with the texts of the task")
    item, used = reviewed(row, data, "data")
    names = side_names([used.get("response_a"), item.get("model_a")], [used.get("response_b"), item.get("model_b")])
    verdicts = verdicts_of(row, [*_annotations(row, value), *_predictions(row, value)], names)
    return present(
        {
            "id": identifier(row, value, "id") if "id" in value else numbering.name(row.source, row.line),
            **item,
            "metadata": without(data, used.values()) | without(value, _KEYS),
            "verdicts": verdicts,
        }
    )


def _annotations(row: Row, value: dict[str, Any]) -> Iterator[Answers]:
    for index, annotation in enumerate(objects(row, value, "annotations")):
        if annotation.get("was_cancelled"):
            continue
        where = f"annotations[{index}]."
        given = {"seconds": annotation.get("lead_time"), "created": annotation.get("created_at")}
        yield Answers(_rater(row, annotation, where), "human", _values(row, annotation, where), given)


def _predictions(row: Row, value: dict[str, Any]) -> Iterator[Answers]:
    for index, prediction in enumerate(objects(row, value, "predictions")):
        version = str(prediction.get("model_version") or "prediction")
        given = {"created": prediction.get("created_at"), "score": prediction.get("score")}
        yield Answers(version, "judge", _values(row, prediction, f"predictions[{index}]."), given)


def _rater(row: Row, annotation: dict[str, Any], where: str) -> str:
    person = annotation.get("completed_by")
    if isinstance(person, dict):
        person = person.get("email") or person.get("username") or person.get("id")
    if isinstance(person, bool) or not isinstance(person, str | int) or person == "":
        raise row.refuse(f"{where}completed_by: is missing: who gave this verdict")
    return str(person)


def _values(row: Row, annotation: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the answers by the name of the control; a control that says nothing is left out."""
    values: dict[str, Any] = {}
    for index, result in enumerate(objects(row, annotation, "result", where)):
        found = result.get("value")
        if isinstance(found, dict):
            name = str(result.get("from_name") or result.get("type"))
            values[name] = _answer(row, result.get("type"), found, f"{where}result[{index}]")
    return present(values)


def _answer(row: Row, kind: Any, found: dict[str, Any], where: str) -> Any:
    if kind == "pairwise":
        selected = found.get("selected")
        return None if selected == "none" else selected
    if kind == "rating":
        return found.get("rating")
    if kind == "choices":
        choices = found.get("choices") or []
        if len(choices) > 1:
            raise row.refuse(f"{where}: has {len(choices)} choices: a verdict is one of them")
        return choices[0] if choices else None
    if kind == "textarea":
        said = found.get("text")
        return "\n".join(said) if isinstance(said, list) and all(isinstance(line, str) for line in said) else said
    return None
