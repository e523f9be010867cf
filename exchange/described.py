"""Prompts, readings and protocols as JSON for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from judge.domain import Prompt, Reading, Verdict
from judge.protocol import Protocol
from storage.codec import scale_to_json


def prompt_json(prompt: Prompt) -> str:
    """Return a prompt as JSON for programs."""
    value = {
        "protocol": prompt.protocol,
        "order": prompt.order,
        "system": prompt.system,
        "user": prompt.user,
        "sha256": prompt.sha256,
        "hash": prompt.hash,
        "spans": [asdict(span) for span in prompt.spans],
        "warnings": [{**asdict(found), "message": str(found)} for found in prompt.warnings],
        "notes": list(prompt.notes),
    }
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def reading_json(protocol: Protocol, reading: Reading) -> str:
    """Return what was read from a reply as JSON for programs."""
    if isinstance(reading, Verdict):
        label, step, span, why = reading.label, reading.step, [reading.start, reading.end], None
    else:
        label, step, span, why = None, None, None, reading.why
    value = {
        "protocol": protocol.name,
        "status": reading.status,
        "label": label,
        "value": None if label is None or protocol.scale.nominal else protocol.scale.value(label),
        "step": step,
        "span": span,
        "why": why,
        "parts": dict(reading.parts),
    }
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def protocol_json(protocol: Protocol) -> dict[str, object]:
    """Return what a program may want to know of a protocol."""
    return {
        "name": protocol.name,
        "title": protocol.title,
        "kind": protocol.kind,
        "hash": protocol.hash,
        "scale": scale_to_json(protocol.scale),
        "nominal": protocol.scale.nominal,
        "fields": list(protocol.fields),
        "answer": {protocol.answer.form: protocol.answer.text},
        "system": protocol.system,
        "request": dict(protocol.request),
    }
