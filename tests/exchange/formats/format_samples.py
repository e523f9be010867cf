"""Small rows in the shape of each format, and the way the tests read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from exchange.formats import FORMATS
from exchange.interchange import Record, record_from_json
from exchange.rows import Row
from judge.domain import InputError

WILDBENCH_QUESTION = {
    "id": 7,
    "session_id": "s1",
    "conversation_input": [
        {"role": "user", "content": "Olá 👋", "language": "Portuguese", "toxic": False},
        {"role": "assistant", "content": "Hi!", "language": "English", "toxic": False},
        {"role": "user", "content": "Write a sort.", "language": "English", "toxic": False},
    ],
    "checklist": ["Is it stable?", "Is it short?"],
    "primary_tag": "Coding & Debugging",
    "secondary_tags": ["Math", "Coding & Debugging"],
    "intent": "to get code",
}
WILDBENCH_OUTPUT = {"session_id": "s1", "output": ["sorted(x)"], "generator": "gpt-4", "configs": {"temperature": 0}}
WILDBENCH_PAIR = {
    "session_id": "s1",
    "parsed_result": {"analysis of A": "…", "choice": "A+"},
    "meta_data": {"batch_req_id": "r1"},
    "model_A": "gpt-4",
    "model_B": "claude",
    "winner": "gpt-4",
    "extent": 1,
    "model_outputs": {"gpt-4": "\nsorted(x)\n\n", "claude": "<|begin_of_response_B|>\n\nx.sort()\n\n"},
}
WILDBENCH_SCORE = {
    "session_id": "s1",
    "parsed_result": {"strengths": "short", "weaknesses": "none", "score": "8"},
    "model_test": "gpt-4",
    "score": "8",
    "model_output": "\nsorted(x)\n\n",
}
PROMETHEUS_DIRECT = {
    "orig_instruction": "Explain tides.",
    "orig_response": "The moon.",
    "orig_reference_answer": "The moon and the sun.",
    "orig_criteria": "Is it complete?",
    **{f"orig_score{score}_description": f"level {score}" for score in range(1, 6)},
    "orig_score": "2",
    "orig_feedback": "Half of it.",
    "instruction": "###Task Description:\nAn instruction …",
    "output": "Half of it. [RESULT] 2",
    "input": "",
}
PROMETHEUS_PAIR = {
    "orig_instruction": "Explain tides.",
    "orig_response_A": "The moon.",
    "orig_response_B": "The moon and the sun.",
    "orig_criteria": "Is it complete?",
    "orig_preference": "B",
    "orig_score_A": "2",
    "orig_score_B": "5",
    "orig_feedback": "B names both.",
    "messages": [{"role": "user", "content": "###Task Description: …"}],
}
MT_BENCH = {
    "question_id": 81,
    "model_a": "vicuna",
    "model_b": "alpaca",
    "winner": "model_a",
    "judge": "expert_3",
    "conversation_a": [
        {"role": "user", "content": "Write a post."},
        {"role": "assistant", "content": "Aloha!"},
        {"role": "user", "content": "Rewrite it."},
        {"role": "assistant", "content": "ALOHA!"},
    ],
    "conversation_b": [
        {"role": "user", "content": "Write a post."},
        {"role": "assistant", "content": "A trip."},
        {"role": "user", "content": "Rewrite it."},
        {"role": "assistant", "content": "A TRIP."},
    ],
    "turn": 1,
}
LLM_COMPARATOR = {
    "metadata": {"source_path": "run 1", "custom_fields_schema": []},
    "models": [{"name": "ABC 1.1"}, {"name": "ABC 1.0"}],
    "examples": [
        {
            "input_text": "Which city?",
            "tags": ["Travel"],
            "output_text_a": "Seoul.",
            "output_text_b": "Busan.",
            "score": 0.5,
            "individual_rater_scores": [],
            "custom_fields": {"words": 2},
        }
    ],
}
ARGILLA_V1 = {
    "fields": {"prompt": "Why?", "response-1": "Because.", "response-2": "Who knows."},
    "metadata": {"difficulty": 3},
    "responses": [
        {"user_id": "u-1", "status": "submitted", "values": {"preference": {"value": "response-2"}}},
        {"user_id": "u-2", "status": "discarded", "values": {"preference": {"value": "response-1"}}},
    ],
    "suggestions": [{"question_name": "preference", "value": "response-1", "agent": "gpt-4", "score": 0.9}],
    "external_id": "e-1",
}
ARGILLA_V2 = {
    "id": "r-1",
    "fields": {"prompt": "Why?", "response_a": "Because.", "response_b": "Who knows."},
    "metadata": {},
    "suggestions": {"preference": {"value": "tie", "score": None, "agent": "gpt-4"}},
    "responses": {"preference": [{"value": "response_a", "user_id": "u-1"}]},
    "vectors": {},
    "_server_id": "x",
}
LABEL_STUDIO = {
    "id": 12,
    "data": {"prompt": "Why?", "answer1": "Because.", "answer2": "Who knows.", "lang": "en"},
    "annotations": [
        {
            "id": 1,
            "completed_by": 3,
            "result": [
                {"type": "pairwise", "from_name": "pw", "to_name": "t1", "value": {"selected": "left"}},
                {"type": "textarea", "from_name": "comment", "value": {"text": ["clear", "short"]}},
            ],
            "was_cancelled": False,
            "lead_time": 12.5,
            "created_at": "2026-01-05T10:00:00.123Z",
        },
        {"id": 2, "completed_by": 4, "result": [], "was_cancelled": True},
    ],
    "predictions": [],
    "project": 5,
}
TABLE = {"id": "007", "prompt": "Why?", "answer_a": "Because.", "answer_b": "Who knows.", "winner": "A", "rater": "ana"}
ACCORD = {"id": "q1", "instruction": "Why?", "response_a": "Because.", "response_b": "Who knows."}

SAMPLES: dict[str, list[dict[str, Any]]] = {
    "accord": [
        ACCORD,
        {"id": 3, "conversation": [{"role": "user", "content": "Why?"}], "response": "Because.", "verdicts": []},
        {"id": "r", "instruction": "Why?", "response": "Because.", "rubric": {"criteria": "good?"}},
    ],
    "wildbench": [WILDBENCH_QUESTION, WILDBENCH_OUTPUT, WILDBENCH_PAIR, WILDBENCH_SCORE],
    "prometheus": [
        PROMETHEUS_DIRECT,
        PROMETHEUS_PAIR,
        {"instruction": "Explain tides.", "response_A": "The moon.", "response_B": "The sun."},
        {"id": "1", "instruction": "Explain.", "response": "x", "criteria": "good?", "score1_description": "bad"},
        {"instruction": "###Task Description:\n…", "output": "… [RESULT] 4"},
        {"id": "p_0", "input": "Plan a trip.", "response": "Go.", "score_rubric": {"criteria": "good?"}},
    ],
    "mt-bench": [MT_BENCH],
    "llm-comparator": [LLM_COMPARATOR],
    "argilla": [ARGILLA_V1, ARGILLA_V2],
    "label-studio": [LABEL_STUDIO],
    "csv": [
        TABLE,
        {"prompt": "Why?", "chosen": "Because.", "rejected": "Who knows."},
        {"Question": "Why?", "Output 1": "Because.", "Output 2": "Who knows.", "Model 1": "x", "Model 2": "y"},
        {"question": "Why?", "response": "Because.", "score": 4},
    ],
}


def rows_of(values: Iterable[Any], source: str = "file.jsonl") -> list[Row]:
    return [Row(source, line, value) for line, value in enumerate(values, start=1)]


def outcomes(name: str, *values: Any, source: str = "file.jsonl") -> list[Row | InputError]:
    return list(FORMATS[name].convert(rows_of(values, source)))


def records(name: str, *values: Any, source: str = "file.jsonl") -> list[Record]:
    found = outcomes(name, *values, source=source)
    assert not [str(outcome) for outcome in found if isinstance(outcome, InputError)]
    return [record_from_json(row.value) for row in found if isinstance(row, Row)]


def errors(name: str, *values: Any) -> list[str]:
    return [str(outcome) for outcome in outcomes(name, *values) if isinstance(outcome, InputError)]


def changed(value: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    return {key: found for key, found in {**value, **changes}.items() if found is not None}
