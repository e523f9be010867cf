"""Numbers that people type; gradio 6.31 shows an empty number as 0, so the boxes are of text."""

from __future__ import annotations

import math

import gradio as gr

from judge.domain import InputError


def number_box(label: str, empty: str, value: str = "", name: str | None = None) -> gr.Textbox:
    """Put a box for a number; `empty` says what counts when nothing is typed."""
    return gr.Textbox(value, label=label, placeholder=empty, max_lines=1, min_width=140, elem_id=name)


def read_whole(label: str, text: str | None) -> int | None:
    """Return a whole number of at least 1; None where nothing was typed."""
    value = read_amount(label, text)
    if value is None:
        return None
    if value < 1 or value != int(value):
        raise InputError(f"{label}: {(text or '').strip()!r} must be a whole number of at least 1")
    return int(value)


def read_amount(label: str, text: str | None) -> float | None:
    """Return a number that is not negative; None where nothing was typed."""
    typed = (text or "").strip()
    if not typed:
        return None
    try:
        value = float(typed)
    except ValueError as error:
        raise InputError(f"{label}: {typed[:20]!r} is not a number; write it as 1000 or 0.5") from error
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{label}: {typed[:20]!r} must be a number that is not negative")
    return value
