"""Argilla: exported records of pairwise (or rating) projects.

Version 1 (FeedbackDataset) and the server list one response a user: `{"user_id", "status", "values":
{question: {"value"}}}`. Version 2 exports list the answers by question: `{question: [{"value",
"user_id"}]}`. Only submitted responses count; drafts and discarded ones are not verdicts. A suggestion is
what a model proposed: a judge's verdict, under the name of its agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from exchange.formats.answers import Answers, reviewed, verdicts_of
from exchange.formats.columns import guess_mapping
from exchange.formats.conversion import Numbering, Outcome, convert_each, present
from exchange.formats.fields import identifier, mapping_of, objects, without
from exchange.formats.preferences import side_names
from exchange.rows import Row

_IDS = ("external_id", "id", "_server_id")
_KEYS = ("fields", "responses", "suggestions", "metadata", "vectors", *_IDS)
_NOBODY = "annotator"


def recognise(value: Any) -> bool:
    """Say whether a row is an exported record."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("fields"), dict)
        and any(isinstance(value.get(key), list | dict) for key in ("responses", "suggestions"))
    )


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return one item for each record."""
    numbering = Numbering()
    return convert_each(rows, lambda row: _item(row, numbering))


def _item(row: Row, numbering: Numbering) -> dict[str, Any]:
    value = mapping_of(row)
    fields = value.get("fields")
    if not isinstance(fields, dict):
        raise row.refuse("fields: is missing: an object with the texts of the record")
    item, used = reviewed(row, fields, "fields")
    metadata = _metadata(value.get("metadata"))
    models = guess_mapping(metadata)
    found = {name: metadata[models[name]] for name in ("model", "model_a", "model_b") if name in models}
    item |= {name: model for name, model in found.items() if isinstance(model, str)}
    names = side_names([used.get("response_a"), item.get("model_a")], [used.get("response_b"), item.get("model_b")])
    given_id = any(value.get(key) for key in _IDS)
    return present(
        {
            "id": identifier(row, value, *_IDS) if given_id else numbering.name(row.source, row.line),
            **item,
            "metadata": metadata | without(fields, used.values()) | without(value, _KEYS),
            "verdicts": verdicts_of(row, [*_responses(row, value), *_suggestions(row, value)], names),
        }
    )


def _metadata(found: Any) -> dict[str, Any]:
    """Return the metadata, which the server lists by name and the exports do not."""
    if isinstance(found, list):
        return {entry["name"]: entry.get("value") for entry in found if isinstance(entry, dict) and "name" in entry}
    return dict(found) if isinstance(found, dict) else {}


def _responses(row: Row, value: dict[str, Any]) -> list[Answers]:
    forms: dict[str, dict[str, Any]] = {}
    for user, answers in _submitted(row, value):
        # Version 2 writes a missing user as the text "None".
        rater = _NOBODY if user in (None, "", "None") else str(user)
        form = forms.setdefault(rater, {})
        if rater == _NOBODY and form.keys() & answers.keys():
            raise row.refuse("responses: several have no user_id: whose they are cannot be told")
        form.update(answers)
    return [Answers(rater, "human", answers) for rater, answers in forms.items()]


def _submitted(row: Row, value: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    found = value.get("responses")
    if isinstance(found, dict):
        for question in found:
            for answer in objects(row, found, question, "responses."):
                if answer.get("status", "submitted") in ("submitted", None):
                    yield answer.get("user_id"), {question: answer.get("value")}
        return
    for index, response in enumerate(objects(row, value, "responses")):
        values = response.get("values") or {}
        if not isinstance(values, dict):
            raise row.refuse(f"responses[{index}].values: must be an object")
        if response.get("status", "submitted") in ("submitted", None):
            yield response.get("user_id"), {question: _value(answer) for question, answer in values.items()}


def _value(answer: Any) -> Any:
    return answer.get("value") if isinstance(answer, dict) else answer


def _suggestions(row: Row, value: dict[str, Any]) -> list[Answers]:
    found = value.get("suggestions")
    if isinstance(found, dict):
        listed = [{"question_name": name, **entry} for name, entry in found.items() if isinstance(entry, dict)]
    else:
        listed = objects(row, value, "suggestions")
    forms: dict[str, dict[str, Any]] = {}
    scores: dict[str, dict[str, Any]] = {}
    for suggestion in listed:
        agent = str(suggestion.get("agent") or "suggestion")
        forms.setdefault(agent, {})[str(suggestion.get("question_name"))] = suggestion.get("value")
        scores.setdefault(agent, {}).update(present({"score": suggestion.get("score")}))
    return [Answers(agent, "judge", answers, scores[agent]) for agent, answers in forms.items()]
