"""Which label of a scale a piece of text names: the rules that JSON fields and markers share.

The answer is a `Found` label, `Off` (something like a label that must not be taken for one: 4.5,
"A or B"), or None (nothing like a label). A wrong label is worse than none.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from judge.domain import Scale

Tail = Literal["nothing", "remark", "words"]


@dataclass(frozen=True, slots=True)
class Found:
    """A label, and where it stands in the text."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Off:
    """Something like a label that is not one, and why."""

    why: str


_LOOKALIKES = {"“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "‛": "'"}
_LOOKALIKES |= {
    "【": "[",
    "】": "]",
    "〔": "[",
    "〕": "]",
    "「": '"',
    "」": '"',
    "–": "-",
    "—": "-",
    "−": "-",
    "‐": "-",
    "‑": "-",
}
_LOOKALIKES |= {"、": ",", "。": ".", "\u2028": "\n", "\u2029": "\n"}


class _PlainTable(dict[int, str]):
    """What each character is replaced by; worked out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        digit = unicodedata.decimal(character, None)
        folded = unicodedata.normalize("NFKC", _LOOKALIKES.get(character, character)) if digit is None else str(digit)
        self[code] = folded if len(folded) == 1 else character
        return self[code]


_PLAIN = _PlainTable()


def plain(text: str) -> str:
    """Replace look-alikes (full width, typographic, digits of any script) one for one, keeping every position."""
    return text if text.isascii() else text.translate(_PLAIN)


# Bounded, because two unbounded runs side by side would make a long run of spaces quadratic.
_SPACE = r"[^\S\n]{0,20}"
_WRAP = r"[\s\"'`*_~\[\](){}<>:=.|\\#]"
_LEAD = re.compile(rf"(?:{_WRAP}|-)*")
_LEAD_BEFORE_SIGN = re.compile(rf"(?:{_WRAP}|-(?!\d))*")
_WRAPS_OR_END_TOKEN = re.compile(rf"(?:{_WRAP}|,|;|!|</s>|<\|\w+\|>)*\Z")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*")
_NUMBER_PREFIX = re.compile(rf"(?:(?:final|overall)\s+)?(?:score|rating|grade)\b(?:{_WRAP}|-)*", re.IGNORECASE)
_WORD_PREFIX = re.compile(
    rf"(?:response|answer|option|assistant|model|candidate|choice|winner|verdict)\b(?:{_WRAP}|-)*", re.IGNORECASE
)
_NOT_A_LABEL = re.compile(
    r"(?:tie|draw|neither|both|none|either|equal|equally|n/?a|null|unknown|undecided|inconclusive|"
    r"zero|one|two|three|four|five|six|seven|eight|nine|ten|response\s+[ab])\b|[b-hj-z](?![\w'.])|\d",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"{_SPACE}[\"'*_)\]]*{_SPACE}(?:-|~|&|/|,|\||to\b|or\b|and\b){_SPACE}[\"'*_(\[]*\d", re.IGNORECASE)
_LIST_ITEM = re.compile(rf"[.)]{_SPACE}[^\S\n]\S")
_REMARK = re.compile(rf"{_SPACE}[\"'`*_\])}}.]*{_SPACE}([:\-(\[{{])")
_BETWEEN = r"(?:or\b|and\b|vs\.?|versus\b|to\b|than\b|[/,&|<>~-])"
_TIE_WORD = re.compile(rf"{_SPACE}[\"'*_]*{_SPACE}(?:tie|draw|toss)\b", re.IGNORECASE)
_GOES_ON = re.compile(rf"{_SPACE}[+=]")
_LOWER_WORD = re.compile(r"[^\S\n]+([a-z]+)")
# What may follow the letter A when it is the label: after the article "a", none of these stands.
_AFTER_LABEL_A = frozenset(
    [
        *("is", "was", "has", "had", "would", "should", "will", "did", "being", "fully", "also", "overall"),
        *("because", "since", "as", "for", "due", "given", "based", "while", "although", "though", "but", "and"),
        *("over", "by", "in", "with", "on", "it", "this", "the"),
    ]
)


class LabelReader:
    """The label rules for one scale."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.numbers = {float(label): label for label in scale.labels} if _all_numbers(scale) else {}
        self.signed = any(value < 0 for value in self.numbers)
        self.names = {_squeeze(label): label for label in scale.labels}
        if scale.tie is not None:
            self.names = dict.fromkeys(("tie", "a=b", "a==b", "b=a", "b==a"), scale.tie) | self.names
        ordered = sorted(self.names, key=len, reverse=True)
        named = "|".join(r"[\s\\]*".join(map(re.escape, name)) for name in ordered)
        # A label ends where no letter, digit or possessive goes on; `+` and `=` are looked at apart.
        self.word = re.compile(rf"({named})(?![^\W_])(?!'[a-z])", re.IGNORECASE)
        self.beside = re.compile(
            rf"{_SPACE}[\"'`*_)\]]*{_SPACE}(?:{_BETWEEN}{_SPACE}(?:response\s+)?)?[\"'`*_(\[]*({named})(?![\w+=])",
            re.IGNORECASE,
        )

    def read(self, text: str, tail: Tail) -> Found | Off | None:
        """Return the label that opens a text; `tail` says what may follow it."""
        text = plain(text)
        # After a marker a dash is a separator; in a field, or on a scale below zero, it is a sign.
        start = self._skip(_LEAD if tail == "words" and not self.signed else _LEAD_BEFORE_SIGN, text, 0)
        found = self._read_number(text, start) if self.numbers else self._read_word(text, start, tail)
        if not isinstance(found, Found):
            return found
        return self._check_tail(text, found, tail)

    @staticmethod
    def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
        match = pattern.match(text, at)
        return match.end() if match else at

    def _read_number(self, text: str, start: int) -> Found | Off | None:
        at = self._skip(_NUMBER_PREFIX, text, start)
        match = _NUMBER.match(text, at)
        if match is None:
            return Off(f"{_excerpt(text, start)} is not a score") if _NOT_A_LABEL.match(text, at) else None
        label = self.numbers.get(_number(match[0]))
        if label is None:
            return Off(f"{match[0][:20]} is not on the scale")
        end = match.end()
        # "4/5" and "4 out of 5" name the top of the scale, not a second label.
        if over := re.compile(rf"{_SPACE}[(\[]?{_SPACE}(?:/|out\s+of\b|of\b){_SPACE}(\d+(?:\.\d+)?)").match(text, end):
            if float(over[1]) != max(self.numbers):
                return Off(f"{text[match.start() : over.end()]} is on another scale")
            end = over.end()
        in_list = "\n" in text[:at] and _LIST_ITEM.match(text, end)
        if in_list or _RANGE.match(text, end) or re.compile(r"[A-Za-z%+]").match(text, end):
            return Off(f"{_excerpt(text, match.start())} is not one score")
        return Found(label, match.start(), end)

    def _read_word(self, text: str, start: int, tail: Tail) -> Found | Off | None:
        at = start
        match = self.word.match(text, at)
        if match is None:
            at = self._skip(_WORD_PREFIX, text, start)
            match = self.word.match(text, at)
        if match is None:
            return (
                Off(f"{_excerpt(text, start)} is not a label")
                if _NOT_A_LABEL.match(text, at) or self._bare_a(text, at)
                else None
            )
        label, end = self.names[_squeeze(match[1])], match.end()
        other = self.beside.match(text, end)
        if other is not None and self.names[_squeeze(other[1])] != label:
            return Off(f"{_excerpt(text, at)} names two labels")
        if _GOES_ON.match(text, end) or _TIE_WORD.match(text, end):
            return Off(f"{_excerpt(text, at)} is not a label")
        if label == "A" and tail == "words" and at == start and not self._ends_label_a(match[0], text, end):
            return Off(f"{_excerpt(text, at)} reads as the article, not the label A")
        return Found(label, match.start(), end)

    @staticmethod
    def _bare_a(text: str, at: int) -> bool:
        return re.compile(r"[Aa](?![\w'])").match(text, at) is not None

    @staticmethod
    def _ends_label_a(written: str, text: str, end: int) -> bool:
        word = _LOWER_WORD.match(text, end)
        if word is None:
            return True
        verb = word[1].endswith("s") and not word[1].endswith(("ss", "us", "as", "is"))
        return written == "A" and (word[1] in _AFTER_LABEL_A or verb)

    def _check_tail(self, text: str, found: Found, tail: Tail) -> Found | Off:
        if _WRAPS_OR_END_TOKEN.match(text, found.end):
            return found
        remark = _REMARK.match(text, found.end)
        if remark is None:
            return found if tail == "words" else Off(f"{_excerpt(text, found.start)} is a sentence, not a label")
        if tail == "nothing":
            return Off(f"{_excerpt(text, found.start)} is more than a label")
        if self._names_another(text, remark, found.label, tail):
            return Off(f"{_excerpt(text, found.start)} names two labels")
        return found

    def _names_another(self, text: str, remark: re.Match[str], label: str, tail: Tail) -> bool:
        bracketed = remark[1] in "([{"
        if bracketed:
            inside = re.compile(r"[^)\]}\n]*").match(text, remark.end())
        elif tail == "remark":
            inside = re.compile(r".*", re.DOTALL).match(text, remark.end())
        else:  # words after a finished label are ignored, unless the label was the head of a list: "A: 4, B: 3"
            opening = re.compile(rf"{_SPACE}[\"'*_(\[]*(?:response\s+)?").match(text, remark.end())
            at = opening.end() if opening else remark.end()
            other = self.word.match(text, at)
            return bool(re.compile(r"\d").match(text, at)) or (
                other is not None and self.names[_squeeze(other[1])] != label
            )
        content = inside[0] if inside else ""
        if self.numbers:
            content = re.sub(r"(?:/|out\s+of)\s*\d+", "", content)
            return any(self.numbers.get(_number(number), label) != label for number in _NUMBER.findall(content))
        mentioned = re.finditer(rf"(?<![\w+=]){self.word.pattern}(?![+=])", content, re.IGNORECASE)
        return any(self.names[_squeeze(match[1])] != label for match in mentioned)


@lru_cache(maxsize=256)
def label_reader(scale: Scale) -> LabelReader:
    """Return the label rules for a scale, made once."""
    return LabelReader(scale)


def _all_numbers(scale: Scale) -> bool:
    return all(re.fullmatch(r"[-+]?\d+(?:\.\d+)?", label) for label in scale.labels)


def _number(written: str) -> float:
    # A comma or a second point makes it something other than one score.
    return float(written) if len(written) <= 20 and "," not in written and written.count(".") <= 1 else float("nan")


def _squeeze(label: str) -> str:
    return re.sub(r"[\s\\]+", "", label).casefold()


def _excerpt(text: str, at: int) -> str:
    shown = " ".join(text[at : at + 60].split())
    return repr(shown if len(shown) <= 40 else shown[:39] + "…")
