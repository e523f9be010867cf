"""LLM Comparator: one JSON file of two models' answers, with scores from -1.5 (B) to 1.5 (A).

Labels follow the tool's own settings: a side wins when the score is more than 0.25 away from 0 (its win
threshold), and its histogram's outermost bins, which hold "much better" (1.5), begin beyond 1.25. So
"slightly better" (0.5) and "better" (1.0) are A+ or B+, and only "much better" is A++ or B++. The score
itself stays beside the label.

An example's `score` is the mean of its ratings. When the ratings are there they are the verdicts, and the
mean stays in the metadata; it is a verdict only when it stands alone. The score of a flipped rating has
been turned back by the tool: it speaks of A and B as in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from exchange.formats.conversion import Numbering, Outcome, as_extra, present
from exchange.formats.fields import mapping_of, objects, text, without
from exchange.rows import Row
from judge.domain import InputError

RATER = "LLM Comparator"
_WIN, _MUCH, _LIMIT = 0.25, 1.25, 1.5
_EXAMPLE_KEYS = ("input_text", "tags", "output_text_a", "output_text_b", "individual_rater_scores", "custom_fields")
_RATING_KEYS = ("rationale", "is_flipped", "rater", "rater_id")


def recognise(value: Any) -> bool:
    """Say whether a row is a whole file of LLM Comparator."""
    if not isinstance(value, dict) or not isinstance(value.get("models"), list):
        return False
    examples = value.get("examples")
    if not isinstance(examples, list):
        return False
    return all(isinstance(example, dict) and "output_text_a" in example for example in examples[:1])


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return one item for each example."""
    numbering = Numbering()
    for row in rows:
        try:
            models = _models(row)
            examples = objects(row, mapping_of(row), "examples")
        except InputError as error:
            yield error
            continue
        for index, example in enumerate(examples):
            try:
                yield Row(row.source, row.line, _item(row, example, index, numbering, models))
            except InputError as error:
                yield error


def _models(row: Row) -> list[str | None]:
    models = objects(row, mapping_of(row), "models")
    if len(models) != 2:
        raise row.refuse(f"models: must name two models, not {len(models)}")
    return [text(row, model, "name", f"models[{index}].") for index, model in enumerate(models)]


def _item(
    row: Row, example: dict[str, Any], index: int, numbering: Numbering, models: list[str | None]
) -> dict[str, Any]:
    where = f"examples[{index}]."
    ratings = objects(row, example, "individual_rater_scores", where)
    if ratings:
        verdicts = [_verdict(row, rating, f"{where}individual_rater_scores[{n}].") for n, rating in enumerate(ratings)]
    else:
        verdicts = [_verdict(row, {"score": example["score"]}, where)] if example.get("score") is not None else []
    custom = example.get("custom_fields") or {}
    if not isinstance(custom, dict):
        raise row.refuse(f"{where}custom_fields: must be an object")
    return present(
        {
            "id": numbering.name(row.source, index + 1),
            "instruction": _joined(row, example, "input_text", where),
            "response_a": _joined(row, example, "output_text_a", where),
            "response_b": _joined(row, example, "output_text_b", where),
            "model_a": models[0],
            "model_b": models[1],
            "tags": example.get("tags"),
            "metadata": without(example, _EXAMPLE_KEYS) | custom,
            "verdicts": verdicts,
        }
    )


def _joined(row: Row, example: dict[str, Any], key: str, where: str) -> str:
    """Return a text that may come in pieces; a picture cannot be reviewed here."""
    found = example.get(key)
    if isinstance(found, str):
        return found
    chunks = objects(row, example, key, where)
    if not chunks:
        raise row.refuse(f"{where}{key}: is missing")
    for place, chunk in enumerate(chunks):
        if chunk.get("type") != "text" or not isinstance(chunk.get("data"), str):
            raise row.refuse(f"{where}{key}[{place}]: is not text: only texts can be reviewed")
    return "".join(chunk["data"] for chunk in chunks)


def _verdict(row: Row, rating: dict[str, Any], where: str) -> dict[str, Any]:
    rater = rating.get("rater") or rating.get("rater_id")
    flipped = rating.get("is_flipped")
    score = rating.get("score")
    return {
        **as_extra(without(rating, _RATING_KEYS)),
        **present(
            {
                "rater": RATER if rater is None else str(rater),
                "kind": "judge",
                "label": None if score is None else _label(row, score, where),
                "status": "unreadable" if score is None else "ok",
                "order": None if flipped is None else "BA" if flipped else "AB",
                "comment": text(row, rating, "rationale", where),
            }
        ),
    }


def _label(row: Row, score: Any, where: str) -> str:
    if isinstance(score, bool) or not isinstance(score, int | float) or not -_LIMIT <= score <= _LIMIT:
        raise row.refuse(f"{where}score: must be a number from -1.5 (B is much better) to 1.5 (A is), not {score!r}")
    if abs(score) <= _WIN:
        return "A=B"
    return ("A" if score > 0 else "B") + ("++" if abs(score) > _MUCH else "+")
