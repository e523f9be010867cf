"""Prometheus: rows of the Feedback and Preference collections and benches, and of BiGGen-Bench.

Fields are found under the data sets' own names (`orig_instruction`) or the plain ones (`instruction`). A
field that holds the whole rendered prompt is not split back into its parts: a response that quotes the
prompt's headings would be cut in the wrong place. Such copies of the prompt (`instruction` beside
`orig_instruction`, `messages`) are left out, since the protocol renders the same prompt again.

The score or preference that a row carries becomes a verdict of the judge `dataset`: rows do not say who
gave it (in the original collections GPT-4 did).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from exchange.formats.columns import SCORES
from exchange.formats.conversion import Numbering, Outcome, convert_each, present
from exchange.formats.fields import identifier, mapping_of, text, without
from exchange.rows import Row

RATER = "dataset"
_RENDERED = "###Task Description:"
_PROMPTS = ("instruction", "input", "chosen_instruction")
_IDS = ("id", "idx", "uid", "uuid", "question_id")
_NAMES = {
    "instruction": ("orig_instruction", "instruction", "input"),
    "system": ("system_prompt",),
    "response": ("orig_response", "response"),
    "response_a": ("orig_response_A", "response_A", "orig_response_a", "response_a"),
    "response_b": ("orig_response_B", "response_B", "orig_response_b", "response_b"),
    "model": ("response_model_name", "model"),
    "model_a": ("model_A", "model_a"),
    "model_b": ("model_B", "model_b"),
    "reference_answer": ("orig_reference_answer", "reference_answer"),
    "criteria": ("orig_criteria", "criteria"),
    **{name: (f"orig_{name}", name) for name in SCORES},
    "score": ("orig_score", "score"),
    "preference": ("orig_preference", "preference"),
    "feedback": ("orig_feedback", "feedback"),
}
_SHARED = ("instruction", "system", "reference_answer", "criteria", *SCORES, "feedback")
_OF_ONE = ("response", "model", "score")
_OF_PAIRS = ("response_a", "response_b", "model_a", "model_b", "preference")
_LABELS = {**{str(score): str(score) for score in range(1, 6)}, "A": "A", "B": "B", "TIE": "tie"}


def recognise(value: Any) -> bool:
    """Say whether a row has the fields of a Prometheus data set, or holds a rendered prompt."""
    if not isinstance(value, dict):
        return False
    if any(key in value for key in ("orig_instruction", "orig_response", "orig_response_A", "orig_criteria")):
        return True
    if any(_is_rendered(value.get(key)) for key in _PROMPTS):
        return True
    if isinstance(value.get("score_rubric"), dict):
        return "response" in value
    return "instruction" in value and ({"response_A", "response_B"} <= value.keys() or SCORES[0] in value)


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return one item for each row, with the verdict that the row carries."""
    numbering = Numbering()
    return convert_each(rows, lambda row: _item(row, numbering))


def _is_rendered(found: Any) -> bool:
    return isinstance(found, str) and _RENDERED in found


def _item(row: Row, numbering: Numbering) -> dict[str, Any]:
    value = mapping_of(row)
    pair = any(value.get(key) is not None for key in _NAMES["response_a"])
    sources = {name: _source(value, _NAMES[name]) for name in (*_SHARED, *(_OF_PAIRS if pair else _OF_ONE))}
    found = {name: value[key] for name, key in sources.items() if key is not None}
    wanted = ("instruction", "response_a", "response_b") if pair else ("instruction", "response")
    for name in wanted:
        _require(row, name, found)
    given_id = next((key for key in _IDS if value.get(key) not in (None, "")), None)
    verdict = _verdict(row, value, found, pair=pair)
    copies = [key for key in ("instruction", "input") if _is_rendered(value.get(key)) or value.get(key) == ""]
    used = {*filter(None, sources.values()), *copies, "messages", "score_rubric", given_id or "id"}
    return present(
        {
            "id": identifier(row, value, given_id) if given_id else numbering.name(row.source, row.line),
            "conversation": _conversation(found),
            **{name: found.get(name) for name in wanted[1:]},
            **{name: found.get(name) for name in (("model_a", "model_b") if pair else ("model",))},
            "reference_answer": found.get("reference_answer"),
            "rubric": _rubric(value, found),
            "metadata": without(value, used if verdict is None else used | {"output"})
            | ({} if verdict else present({"feedback": found.get("feedback")})),
            "verdicts": [verdict] if verdict else None,
        }
    )


def _source(value: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """Return the name under which a field stands; an empty response stands, an empty question does not."""
    present_keys = [key for key in keys if value.get(key) is not None and not _is_rendered(value[key])]
    filled = [key for key in present_keys if value[key] != ""]
    return next(iter(filled or present_keys), None)


def _require(row: Row, name: str, found: dict[str, Any]) -> None:
    if name in found and (found[name] != "" or name != "instruction"):
        return
    key = _NAMES[name][0]
    if any(_is_rendered(row.value.get(copy)) for copy in _PROMPTS):
        raise row.refuse(
            f"{key}: is missing, and a rendered prompt is not split back into its parts: "
            "take the version of the data set that has the orig_ fields"
        )
    raise row.refuse(f"{key}: is missing")


def _conversation(found: dict[str, Any]) -> list[dict[str, Any]]:
    question = {"role": "user", "content": found["instruction"]}
    return [{"role": "system", "content": found["system"]}, question] if found.get("system") else [question]


def _rubric(value: dict[str, Any], found: dict[str, Any]) -> Any:
    given = value.get("score_rubric")
    if isinstance(given, str):
        return {"criteria": given}
    return given or present({name: found.get(name) for name in ("criteria", *SCORES)})


def _verdict(row: Row, value: dict[str, Any], found: dict[str, Any], *, pair: bool) -> dict[str, Any] | None:
    name = "preference" if pair else "score"
    given = found.get(name)
    if given is None or given == "":
        return None
    label = _LABELS.get(str(given).strip().upper())
    if label is None or label.isdigit() == pair:
        wanted = "A, B or tie" if pair else "a whole number from 1 to 5"
        raise row.refuse(f"{_source(value, _NAMES[name])}: must be {wanted}, not {given!r}")
    return present(
        {
            "rater": RATER,
            "kind": "judge",
            "label": label,
            "status": "ok",
            "order": "AB" if pair else None,
            "comment": found.get("feedback") or None,
            "raw": text(row, value, "output"),
        }
    )
