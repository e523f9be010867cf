"""Preferences: words that name a side or a tie, and everything else left as it stands."""

from __future__ import annotations

from typing import Any

import pytest

from exchange.formats.preferences import known_preference, preference, side_names

NAMES = side_names(["response-1", "gpt-4", "same"], ["response-2", "org/llama", "same"])


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("A", "A"),
        ("b", "B"),
        (" Model A ", "A"),
        ("response_b", "B"),
        ("Response A.", "A"),
        ("A is better", "A"),
        ("left", "A"),
        ("Right", "B"),
        ("TIE", "tie"),
        ("tie (bothbad)", "tie"),
        ("both bad", "tie"),
        ("A = B", "A=B"),
        ("a++", "A++"),
        ("B+", "B+"),
        ("GPT-4", "A"),
        ("org/llama", "B"),
        ("response_2", "B"),
        ([{"value": "response-1", "rank": 2}, {"value": "response-2", "rank": 1}], "B"),
    ],
)
def test_known_words_are_labels(value: Any, label: str) -> None:
    assert known_preference(value, NAMES) == preference(value, NAMES) == label


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("A-", "A-"),
        ("A+++", "A+++"),
        ("A==B", "A==B"),
        ("**A**", "**A**"),
        ("neither", "neither"),
        ("same ", "tie"),
        ("1", "1"),
        (1, "1"),
        (4.0, "4"),
        (4.5, None),
        (True, None),
        (float("nan"), None),
        (None, None),
        ("", None),
        ({}, None),
        ([], None),
        ([3], None),
        ([{"value": "response-1", "rank": "first"}], None),
        ([{"value": "response-1", "rank": 1}, {"value": "response-3", "rank": 2}], None),
    ],
)
def test_nothing_is_guessed(value: Any, label: str | None) -> None:
    assert preference(value, NAMES) == label
