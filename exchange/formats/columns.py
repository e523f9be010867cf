"""Columns: which column of a table, or field of a record, holds what.

A guess must be safe rather than clever: only whole names in known spellings count, the two responses are
only found as a pair, and a column that may name a model is never taken for a response (`response_model_a`
could be either, so it is neither).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

SCORES = tuple(f"score{score}_description" for score in range(1, 6))
_SPELLINGS = {
    "id": "id item_id question_id example_id sample_id record_id prompt_id task_id session_id pair_id qid uid uuid"
    " idx index key",
    "instruction": "instruction conversation messages dialogue prompt question query user_query user_prompt"
    " user_question user_input user_message input input_text problem orig_instruction",
    "system": "system_prompt system_message",
    "reference_answer": "reference_answer reference reference_response reference_output gold gold_answer gold_response"
    " ground_truth ideal expected expected_output expected_answer correct_answer target orig_reference_answer",
    "checklist": "checklist",
    "criteria": "criteria criterion rubric score_rubric orig_criteria",
    **{name: f"{name} orig_{name}" for name in SCORES},
    "tags": "tags tag categories category topics topic primary_tag",
    "cluster": "cluster",
    "metadata": "metadata",
    "label": "label winner preference preferred verdict vote choice judgment judgement decision better human_label"
    " human_preference selected",
    "rater": "rater rater_id rater_name annotator annotator_id annotator_name worker worker_id labeler labeller"
    " evaluator reviewer participant completed_by annotated_by judge judge_model judge_name user_id username user",
    "kind": "kind rater_kind rater_type annotator_type",
    "status": "status",
    "order": "order presentation_order",
    "comment": "comment comments reason rationale explanation justification feedback critique notes note",
    "confidence": "confidence",
    "seconds": "seconds duration_seconds elapsed_seconds time_seconds lead_time",
    "created": "created created_at submitted_at",
    "raw": "raw",
    "repeat": "repeat",
}
_RESPONSES = (
    "response answer output completion reply generation candidate text summary response_text output_text answer_text"
    " model_response model_output orig_response candidate_response"
)
# Where one response is scored, a score is a verdict; beside two it may be anything.
_OF_ONE = {
    "response": "response answer output completion reply generation response_text output_text answer_text"
    " generated_text model_response model_output assistant_response orig_response prediction candidate response_a",
    "model": "model model_name model_id generator response_model response_model_name llm model_a",
    "label": f"{_SPELLINGS['label']} rating score human_score human_rating",
}
_SIDES = (("a", "b"), ("1", "2"), ("0", "1"), ("left", "right"), ("first", "second"), ("one", "two"))
# Such a pair tells which response somebody preferred, but not who, nor how much: no verdict is made of it.
_PREFERRED_FIRST = (("chosen", "rejected"), ("chosen_response", "rejected_response"))

VERDICT_FIELDS = frozenset(
    {"label", "rater", "kind", "status", "order", "comment", "confidence", "seconds", "created", "raw", "repeat"}
)
FIELDS = frozenset({*_SPELLINGS, "response", "response_a", "response_b", "model", "model_a", "model_b"})


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """Return a name without regard to how it is written: `responseA`, `Response A` and `response_a` are one."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    split = re.sub(r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])", "_", spaced.lower())
    return re.sub(r"[\W_]+", "_", split).strip("_")


def _response_pairs() -> Iterator[tuple[str, str]]:
    for stem in _RESPONSES.split():
        yield from _sided(f"{stem}_{{}}", f"{{}}_{stem}", f"model_{{}}_{stem}", f"assistant_{{}}_{stem}")
    yield from _PREFERRED_FIRST


def _model_pairs() -> Iterator[tuple[str, str]]:
    for stem in ("model", "model_name", "model_id", "generator", "llm", "response_model"):
        yield from _sided(f"{stem}_{{}}", f"{{}}_{stem}")
    yield from _sided("model_{}_name", "model_{}_id", *(f"{stem}_{{}}_model" for stem in _RESPONSES.split()))
    yield ("chosen_model", "rejected_model")


def _sided(*patterns: str) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        yield from ((pattern.format(first), pattern.format(second)) for first, second in _SIDES)


_PAIRS = {"response": tuple(_response_pairs()), "model": tuple(_model_pairs())}
_SINGLES = {field: tuple(map(plain_name, spelled.split())) for field, spelled in _SPELLINGS.items()}
_SINGLES_OF_ONE = _SINGLES | {field: tuple(map(plain_name, spelled.split())) for field, spelled in _OF_ONE.items()}


def guess_mapping(columns: Iterable[str]) -> dict[str, str]:
    """Return the column that holds each field, for the fields that can be told from the names alone."""
    return dict(_guessed(tuple(columns)))


def fill_mapping(said: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
    """Return what was said of some columns, and what the names of the others tell of the fields that it leaves out.

    Beside columns that each hold one rater's verdicts nothing else is taken for a verdict.
    """
    guessed = guess_mapping(column for column in columns if column not in said.values())
    per_rater = any(":" in field for field in said)
    kept = {field: column for field, column in guessed.items() if not (per_rater and field in VERDICT_FIELDS)}
    for whole in ("response", "model"):
        sides = {f"{whole}_a", f"{whole}_b"}
        if whole in said:
            kept = {field: column for field, column in kept.items() if field not in sides}
        elif sides & said.keys():
            kept.pop(whole, None)
    return kept | dict(said)


@lru_cache(maxsize=256)
def _guessed(columns: tuple[str, ...]) -> dict[str, str]:
    # The records of an annotation tool all have the same fields, and each asks anew.
    names: dict[str, str] = {}
    for column in columns:
        names.setdefault(plain_name(column), column)
    mapping: dict[str, str] = {}
    for field, pairs in _PAIRS.items():
        for first, second in pairs:
            if first in names and second in names:
                mapping |= {f"{field}_a": names[first], f"{field}_b": names[second]}
                break
    taken = set(mapping.values())
    for field, spellings in (_SINGLES if "response_a" in mapping else _SINGLES_OF_ONE).items():
        spelled = [names[name] for name in spellings if name in names]
        if free := [column for column in spelled if column not in taken]:
            mapping[field] = free[0]
            taken.add(free[0])
    return mapping
