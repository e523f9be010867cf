"""Items, scales and verdicts as plain JSON values, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from judge.domain import GivenVerdict, Item, Point, Rubric, Scale, Turn, content_hash

_ENCODER = json.JSONEncoder(ensure_ascii=False)
DESCRIPTIONS = tuple(f"score{score}_description" for score in range(1, 6))
_KEPT_BESIDE = ("prompt_hash", "guideline_version", "after_reveal", "reask", "soft_score")


def item_to_json(item: Item) -> dict[str, Any]:
    """Return an item in the interchange shape; what is absent is left out."""
    value = {
        "id": item.id,
        "conversation": [{"role": turn.role, "content": turn.content} for turn in item.conversation],
        "response_a": item.response_a,
        "response_b": item.response_b,
        "model_a": item.model_a,
        "model_b": item.model_b,
        "reference_answer": item.reference_answer,
        "checklist": list(item.checklist) or None,
        "rubric": item.rubric and _rubric_to_json(item.rubric),
        "tags": list(item.tags) or None,
        "metadata": dict(item.metadata) or None,
        "cluster": item.cluster,
    }
    return {key: found for key, found in value.items() if found is not None}


def item_facts(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what statistics ask of an item in the interchange shape: whose responses, how long, what about."""
    other = value.get("response_b")
    return {
        "cluster": value.get("cluster"),
        "question_hash": content_hash("question", encode(value["conversation"])),
        "model_a": value.get("model_a"),
        "model_b": value.get("model_b"),
        "length_a": len(value["response_a"]),
        "length_b": None if other is None else len(other),
        "tags": encode(list(value.get("tags", ()))),
    }


def item_from_json(value: Mapping[str, Any]) -> Item:
    """Return the item that `item_to_json` described; nothing is checked again."""
    rubric = value.get("rubric")
    return Item(
        id=value["id"],
        conversation=tuple(Turn(turn["role"], turn["content"]) for turn in value["conversation"]),
        response_a=value["response_a"],
        response_b=value.get("response_b"),
        model_a=value.get("model_a"),
        model_b=value.get("model_b"),
        reference_answer=value.get("reference_answer"),
        checklist=tuple(value.get("checklist", ())),
        rubric=None if rubric is None else rubric_from_json(rubric),
        tags=tuple(value.get("tags", ())),
        metadata=value.get("metadata", {}),
        cluster=value.get("cluster"),
    )


def _rubric_to_json(rubric: Rubric) -> dict[str, str]:
    described = zip(DESCRIPTIONS, rubric.descriptions, strict=True)
    return {"criteria": rubric.criteria, **{name: text for name, text in described if text}}


def rubric_from_json(value: Mapping[str, str]) -> Rubric:
    """Return the rubric described by its criteria and the descriptions of its scores."""
    one, two, three, four, five = (value.get(name) or "" for name in DESCRIPTIONS)
    return Rubric(value.get("criteria") or "", (one, two, three, four, five))


def verdict_to_json(verdict: GivenVerdict) -> dict[str, Any]:
    """Return a verdict in the interchange shape; what is absent or usual is left out."""
    value = {
        "rater": verdict.rater,
        "kind": verdict.kind,
        "label": verdict.label,
        "order": verdict.order,
        "comment": verdict.comment,
        "confidence": verdict.confidence,
        "seconds": verdict.seconds,
        "created": verdict.created and verdict.created.isoformat().replace("+00:00", "Z"),
        "raw": verdict.raw,
        "status": verdict.status if verdict.kind == "judge" or verdict.status != "ok" else None,
        "repeat": verdict.repeat or None,
        **verdict.extra,
    }
    return {key: found for key, found in value.items() if found is not None}


def verdict_from_row(row: Mapping[Any, Any]) -> GivenVerdict:
    """Return the verdict of a stored row that has its rater and what its call tells beside it."""
    # What is absent or usual is left out; a soft score of 0 is neither.
    known = {name: row.get(name) for name in _KEPT_BESIDE}
    beside = {name: value for name, value in known.items() if value or (name == "soft_score" and value is not None)}
    return GivenVerdict(
        rater=row["rater"],
        kind=row["kind"],
        label=row.get("label"),
        status=row["status"],
        order=row.get("order"),
        comment=row.get("comment"),
        seconds=row.get("seconds"),
        created=row.get("created"),
        raw=row.get("raw"),
        repeat=row["repeat"],
        confidence=row.get("confidence"),
        extra={**beside, **(row.get("extra") or {})},
    )


def scale_to_json(scale: Scale) -> list[dict[str, Any]]:
    """Return a scale as plain values; the labels of a nominal one have none."""
    return [asdict(point) | ({"value": None} if scale.nominal else {}) for point in scale.points]


def scale_from_json(value: list[dict[str, Any]]) -> Scale:
    """Return the scale that `scale_to_json` described."""
    nominal = any(point["value"] is None for point in value)
    points = (
        Point(**point | {"value": float(place)}) if nominal else Point(**point) for place, point in enumerate(value)
    )
    return Scale(tuple(points), nominal)


def encode(value: Any) -> str:
    """Return JSON text: the same text for the same value, always."""
    return _ENCODER.encode(value)


def item_hash(body: str) -> str:
    """Return the tagged hash of an item's JSON text."""
    return content_hash("item", body)
