"""Preferences: the label that a word such as `left`, `model_b` or `Response A` stands for.

Three-way labels are A, tie and B. A word that is not known is kept as it stands, for the study's own scale
to accept or to refuse: nothing is guessed, and a number is never turned into a side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from exchange.formats.columns import plain_name

FIVE_WAY = ("B++", "B+", "A=B", "A+", "A++")
_STEMS = (
    "",
    "model_",
    "response_",
    "answer_",
    "output_",
    "assistant_",
    "option_",
    "candidate_",
    "completion_",
    "text_",
)
_ENDS = ("", "_wins", "_is_better", "_better", "_preferred")
_WORDS = {f"{stem}{side}{end}": side.upper() for side in "ab" for stem in _STEMS for end in _ENDS}
_WORDS |= {f"left{end}": "A" for end in _ENDS} | {f"right{end}": "B" for end in _ENDS}
_TIES = (
    "tie ties tied draw equal equally_good equally_bad same same_quality about_the_same no_preference both_good"
    " both_bad both_equal tie_bothbad tie_both_bad tie_both_good tie_inconsistent"
)
_WORDS |= dict.fromkeys(_TIES.split(), "tie")
# Signs may be part of a label that is not known here: `A-` and `A+++` are not A.
_NAME = re.compile(r"\w(?:[\w\s()-]*[\w)])?\.?")


def side_names(names_a: list[str | None], names_b: list[str | None]) -> dict[str, str]:
    """Return what a file itself calls the sides: columns, fields, models; a name of both sides names neither."""
    first = {plain_name(name) for name in names_a if name}
    second = {plain_name(name) for name in names_b if name}
    return dict.fromkeys(first - second, "A") | dict.fromkeys(second - first, "B")


def known_preference(value: Any, names: Mapping[str, str]) -> str | None:
    """Return the label that a value stands for, if it is a known one."""
    if isinstance(value, list):
        return _ranked(value, names)
    if not isinstance(value, str):
        return None
    if (label := "".join(value.split()).upper()) in FIVE_WAY:
        return label
    plain = plain_name(value)
    return names.get(plain) or (_WORDS.get(plain) if _NAME.fullmatch(value.strip()) else None)


def preference(value: Any, names: Mapping[str, str]) -> str | None:
    """Return the label that a value stands for; a word that is not known, or a whole number, as it stands."""
    known = known_preference(value, names)
    if known is not None:
        return known
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return str(int(value))


def _ranked(ranks: list[Any], names: Mapping[str, str]) -> str | None:
    """Return which side a ranking puts first; equal ranks are a tie."""
    places = {}
    for entry in ranks:
        if not isinstance(entry, dict) or not isinstance(entry.get("rank"), int):
            return None
        side = known_preference(entry.get("value"), names)
        if side in ("A", "B"):
            places[side] = entry["rank"]
    if len(places) != 2:
        return None
    if places["A"] == places["B"]:
        return "tie"
    return min(places, key=lambda side: places[side])
