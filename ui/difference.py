"""Two texts → where they differ, word by word, every character of both kept.

Lines are matched first, then the words between matched lines. Finding matches can take time that
grows with the square of the texts, so all steps are counted: a part for which too few are left is
marked as different as a whole, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal

from ui.display import escape
from ui.plain import show_pane, show_text

_STEPS = 1_000_000
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_ASCII_SIGNS = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~")
# A word is letters, figures and underscores, with whatever joins to them; Chinese and Japanese have no spaces.
_WORDS = re.compile(rf"[{_CJK}]|[^\s{_CJK}{_ASCII_SIGNS}]+|[ \t]+|\s|[{_ASCII_SIGNS}]")

Span = tuple[int, int]
Region = tuple[int, int, int, int]


def show_difference(a: str, b: str, names: tuple[str, str] = ("A", "B"), kind: str = "Response") -> tuple[str, str]:
    """Return both texts with what only one of them has marked in it; names and kind say what they are."""
    comparison, (one, other) = _Comparison(a, b), names
    return (
        comparison.show("A", one, f"{kind} {one}, with what {other} does not have marked"),
        comparison.show("B", other, f"{kind} {other}, with what {one} does not have marked"),
    )


class _Comparison:
    """The stretches of each text that the other does not have, found in a bounded number of steps."""

    def __init__(self, a: str, b: str) -> None:
        self.texts = {"A": a, "B": b}
        self.only: dict[str, list[Span]] = {"A": [], "B": []}
        self.steps = _STEPS
        self.is_partial = False
        lines_a, lines_b = _LINES.findall(a), _LINES.findall(b)
        starts_a, starts_b = _starts(lines_a), _starts(lines_b)
        for a_from, a_to, b_from, b_to in self._differing(lines_a, lines_b):
            self._compare_words((starts_a[a_from], starts_a[a_to]), (starts_b[b_from], starts_b[b_to]))

    def show(self, side: Literal["A", "B"], name: str, label: str) -> str:
        """Return the text of a side with its marks."""
        pieces, at = [], 0
        for start, end in _joined(self.only[side]):
            pieces += [show_text(self.texts[side][at:start]), _mark(self.texts[side][start:end], side, name)]
            at = end
        pieces.append(show_text(self.texts[side][at:]))
        pane = show_pane("".join(pieces), label, "raw difference")
        note = "These texts are too long or too different to compare every word: some parts are marked as a whole."
        return (f'<p class="note">{note}</p>' if self.is_partial else "") + pane

    def _compare_words(self, of_a: Span, of_b: Span) -> None:
        words_a = _WORDS.findall(self.texts["A"], *of_a)
        words_b = _WORDS.findall(self.texts["B"], *of_b)
        starts_a, starts_b = _starts(words_a, of_a[0]), _starts(words_b, of_b[0])
        for a_from, a_to, b_from, b_to in self._differing(words_a, words_b):
            self.only["A"].append((starts_a[a_from], starts_a[a_to]))
            self.only["B"].append((starts_b[b_from], starts_b[b_to]))

    def _differing(self, a: Sequence[str], b: Sequence[str]) -> Iterator[Region]:
        """Yield the regions between matches, in order."""
        a_at = b_at = 0
        for a_from, b_from, size in [*sorted(self._matches(a, b)), (len(a), len(b), 0)]:
            if a_at < a_from or b_at < b_from:
                yield a_at, a_from, b_at, b_from
            a_at, b_at = a_from + size, b_from + size

    def _matches(self, a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int, int]]:
        """Yield the matches of the two sequences, the longest of each region first, as far as the steps go."""
        before = _common(a, b)
        after = _common(a[before:][::-1], b[before:][::-1])
        yield 0, 0, before
        yield len(a) - after, len(b) - after, after
        matcher, cost = self._choose_matcher(a, b)
        regions = [(before, len(a) - after, before, len(b) - after)]
        while regions:
            a_from, a_to, b_from, b_to = regions.pop()
            if a_from == a_to or b_from == b_to:
                continue
            if cost[a_to] - cost[a_from] > self.steps:
                self.is_partial = True
                continue
            self.steps -= cost[a_to] - cost[a_from]
            found = matcher.find_longest_match(a_from, a_to, b_from, b_to)
            if not _is_blank(a[found.a : found.a + found.size]):
                yield found.a, found.b, found.size
                regions += [
                    (a_from, found.a, b_from, found.b),
                    (found.a + found.size, a_to, found.b + found.size, b_to),
                ]

    def _choose_matcher(self, a: Sequence[str], b: Sequence[str]) -> tuple[SequenceMatcher[str], list[int]]:
        """Return a matcher, which leaves frequent words aside if it must, and the steps up to each place in a."""
        for is_hurried in (False, True):
            # White space anchors nothing: it only lengthens the match beside it.
            matcher = SequenceMatcher(str.isspace, a, b, autojunk=is_hurried)
            places = matcher.b2j  # type: ignore[attr-defined] # a public name that the stubs leave out
            cost = list(accumulate((1 + len(places.get(each, ())) for each in a), initial=0))
            if cost[-1] < self.steps / 8:
                break
        self.is_partial |= is_hurried
        return matcher, cost


def _starts(pieces: Sequence[str], first: int = 0) -> list[int]:
    return list(accumulate(map(len, pieces), initial=first))


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(a), len(b)))


def _is_blank(pieces: Sequence[str]) -> bool:
    return all(map(str.isspace, pieces))


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        elif start < end:
            joined.append((start, end))
    return joined


def _mark(text: str, side: str, name: str) -> str:
    return f'<mark class="only side-{side.lower()}" title="Only in {escape(name)}">{show_text(text)}</mark>'
