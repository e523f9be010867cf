"""The rules of a study's statistics as a page's address says them, and the folded form that changes the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from urllib.parse import parse_qs

import gradio as gr

from agreement.combine import Levels, Rule
from exchange.panel import Options
from judge.domain import InputError
from storage.choices import Choices
from storage.ratings import Filters
from ui.agreement_parts import show_glossary
from ui.display import escape

Words = Mapping[str, Sequence[str]]
USUAL = Options()
MOST_RESAMPLES = 20_000  # a page must answer


@dataclass(frozen=True, slots=True)
class Choice:
    """A rule that has a few values: its name in the address, its label, what each value means, and what it is for."""

    name: str
    label: str
    values: Mapping[str, str]
    meant: str


CHOICES = (
    Choice(
        "levels",
        "Levels",
        {"full": "the scale as it is", "3": "A, tie, B", "2": "A or B, ties left out"},
        "Which labels are told apart",
    ),
    Choice(
        "combine",
        "A judge's two orders",
        {
            "strict": "tie when they differ",
            "drop": "left out when they differ",
            "mean": "their mean",
            "first": "the first order only",
        },
        "What the verdicts of a judge that saw an item in both orders become",
    ),
    Choice(
        "consensus",
        "People's consensus",
        {"majority": "majority", "dawid-skene": "Dawid–Skene"},
        "How several people's labels become one; Dawid–Skene weighs each person by how reliable they look",
    ),
    Choice(
        "undecided",
        "Without a majority",
        {"missing": "left out", "tie": "a tie"},
        "What becomes of an item on which no label has more than half of people's votes",
    ),
)
TWO_WAY = Choice(
    "two_way",
    "Intervals of alpha",
    {"no": "for these raters", "yes": "other raters drawn too (8 or more)"},
    "Whether the interval of Krippendorff's alpha allows for other people too",
)
PART = Choice(
    "part",
    "Part of the items",
    {"all": "all of them", "development": "development, to tune on", "test": "test, held out"},
    "Judges tuned on one part are tested fairly on the other",
)
NUMBERS = {
    "length_k": ("Length rule K", "none", "A judge's slight win becomes a tie if the winner is longer by more"),
    "epsilon": ("Margin ε", "0.2", "What the judge's cheapness is worth in the alternative annotator test"),
    "resamples": ("Resamples", "2000", "How many resamples make an interval"),
    "seed": ("Seed", "0", "The seed of the resamples"),
    "test_share": ("Test share", "0.5", "The share of questions that the test part holds out"),
}

BOXES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "cluster": (
        "Resample by",
        "item",
        "What intervals resample: each item, each question (prompt), a tag (tag:NAME) or a field of the items",
        ("item", "prompt"),
    ),
    "chosen": (
        "Labelled items chosen",
        "random",
        "How the labelled items were chosen: random, doubt (the judge's), or the field with each item's chance",
        ("random", "doubt"),
    ),
    "scores": (
        "Scores to check against",
        "no study",
        "The name of a study of scores (1 to 5) on the same responses, to check preferences against",
        (),
    ),
}
FILTERS = {
    "tag": "items with the tag",
    "model": "items with the model",
    "annotators": "verdicts of",
    "since": "people's verdicts since",
    "until": "people's verdicts before",
}
OTHERS = ("cluster", "chosen", "scores", "two_way", "tag", "model", "annotators", "since", "until")


def words_of(request: gr.Request) -> dict[str, list[str]]:
    """Return what the page's address says, each name with all its values."""
    asked: Any = request.query_params
    pairs = asked.multi_items() if hasattr(asked, "multi_items") else dict(asked).items()
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(str(name), []).append(str(value))
    return found


def read_words(search: str) -> dict[str, list[str]]:
    """Return what an address says behind its question mark."""
    return parse_qs(search.removeprefix("?"))


def only(words: Words, name: str) -> str:
    """Return the one value of a name; empty when there is none."""
    return words[name][-1].strip() if words.get(name) else ""


def read_rules(words: Words) -> Options:
    """Return the rules that an address names; what it does not name is as the command line has it."""
    return Options(
        levels=_one_of(words, "levels", get_args(Levels), USUAL.levels),
        combine=_one_of(words, "combine", get_args(Rule), USUAL.combine),
        consensus=_one_of(words, "consensus", ("majority", "dawid-skene"), USUAL.consensus),
        undecided=_one_of(words, "undecided", ("missing", "tie"), USUAL.undecided),
        length_k=_number(words, "length_k", None),
        cluster=only(words, "cluster") or USUAL.cluster,
        epsilon=_number(words, "epsilon", USUAL.epsilon) or 0.0,
        seed=_whole(words, "seed", USUAL.seed),
        resamples=_whole(words, "resamples", USUAL.resamples, MOST_RESAMPLES),
        two_way=_one_of(words, "two_way", tuple(TWO_WAY.values), "no") == "yes",
        scores=only(words, "scores") or USUAL.scores,
        chosen=only(words, "chosen") or USUAL.chosen,
        filters=Filters(
            _several(words, "tag"),
            _several(words, "model"),
            _several(words, "annotators"),
            _moment(words, "since"),
            _moment(words, "until"),
            _one_of(words, "part", tuple(PART.values), USUAL.filters.part),
            _number(words, "test_share", None) or USUAL.filters.test_share,
        ),
    )


def _several(words: Words, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in words.get(name, ()) if value))


def _one_of(words: Words, name: str, known: Sequence[Any], usual: Any) -> Any:
    value = only(words, name) or usual
    if value not in known:
        raise InputError(f"{name} in the address is {value[:40]!r}; it is one of {', '.join(known)}")
    return value


def _number(words: Words, name: str, usual: float | None) -> float | None:
    text = only(words, name)
    try:
        return float(text) if text else usual
    except ValueError as error:
        raise InputError(f"{NUMBERS[name][0]}: {text[:40]!r} is not a number") from error


def _whole(words: Words, name: str, usual: int, most: int = 2**31) -> int:
    text = only(words, name)
    if text and not (text.isdecimal() and int(text) <= most):
        raise InputError(f"{NUMBERS[name][0]}: {text[:40]!r} is not a whole number up to {most:,}")
    return int(text) if text else usual


def _moment(words: Words, name: Literal["since", "until"]) -> datetime | None:
    text = only(words, name)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{name} in the address is {text[:40]!r}; write a day as 2026-01-31") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def show_rules(words: Words, choices: Choices) -> str:
    """Return the folded form; in its head stands how many rules differ from the usual ones."""
    named = [*(choice.name for choice in (*CHOICES, PART)), *NUMBERS, *OTHERS]
    changed = sum(bool(only(words, name)) for name in named)
    told = f" · {changed} set" if changed else ""
    choosers = [
        _boxes("Tags", "tag", choices.tags, words),
        _boxes("Models", "model", choices.models, words),
        _boxes("Annotators", "annotators", choices.annotators, words),
    ]
    days = "".join(
        f'<label title="{tip}">{label} '
        f'<input type="date" name="{name}" value="{escape(only(words, name)[:10])}"></label>'
        for name, label, tip in (
            ("since", "Verdicts of people since", "The first day, UTC"),
            ("until", "until before", "The day after the last, UTC"),
        )
    )
    numbers = "".join(_input(name, words) for name in NUMBERS)
    boxes = "".join(_box(name, words) for name in BOXES)
    part = _select(PART, words, USUAL.filters.part)
    chosen = _select(TWO_WAY, words, "no") + "".join(
        _select(choice, words, getattr(USUAL, choice.name)) for choice in CHOICES
    )
    return (
        f'<details class="rules"><summary>Filters and rules{told}</summary><form>'
        f'<div class="boxes">{"".join(choosers)}</div><div class="fields-row">{days}{part}</div>'
        f'<div class="fields-row">{chosen}</div>'
        f'<div class="fields-row">{numbers}{boxes}</div>{_glossary()}'
        '<p class="actions"><button type="submit" class="primary">Apply</button>'
        f'<button type="button" data-clear>Clear all</button></p></form></details>{show_chosen(words)}'
    )


def _glossary() -> str:
    """Return what the rules mean, for whom no pointer can hover."""
    meanings = {choice.label: choice.meant for choice in (PART, TWO_WAY, *CHOICES)}
    meanings |= {label: tip for label, _, tip in NUMBERS.values()}
    return show_glossary(meanings | {label: tip for label, _, tip, _ in BOXES.values()})


def _boxes(title: str, name: str, known: Sequence[str], words: Words) -> str:
    chosen = words.get(name, ())
    entries = "".join(
        f'<label><input type="checkbox" name="{name}" value="{escape(each)}"{" checked" if each in chosen else ""}>'
        f" <bdi>{escape(each)}</bdi></label>"
        for each in known
    )
    if not entries:
        return ""
    return f'<fieldset><legend>{title}</legend><div class="choices" tabindex="0">{entries}</div></fieldset>'


def _select(choice: Choice, words: Words, usual: str) -> str:
    chosen = only(words, choice.name) or usual
    entries = "".join(
        f'<option value="{value}"{" selected" if value == chosen else ""}>{escape(told)}</option>'
        for value, told in choice.values.items()
    )
    box = f'<select name="{choice.name}" data-usual="{usual}">{entries}</select>'
    return f'<label title="{escape(choice.meant)}">{choice.label} {box}</label>'


def _input(name: str, words: Words) -> str:
    label, empty, tip = NUMBERS[name]
    return (
        f'<label title="{escape(tip)}">{label} <input name="{name}" inputmode="decimal" size="8" '
        f'placeholder="{empty}" value="{escape(only(words, name))}"></label>'
    )


def _box(name: str, words: Words) -> str:
    label, empty, tip, offered = BOXES[name]
    listed = "".join(f'<option value="{value}">' for value in offered)
    return (
        f'<label title="{escape(tip)}">{label} <input name="{name}" size="14" list="{name}-offered" '
        f'placeholder="{empty}" value="{escape(only(words, name))}"></label>'
        f'<datalist id="{name}-offered">{listed}</datalist>'
    )


def show_chosen(words: Words) -> str:
    """Return which filters are set, in sight: a number must not be taken for one of the whole study."""
    found = [
        f"{told} <bdi>{escape(', '.join(_several(words, name)))}</bdi>"
        for name, told in FILTERS.items()
        if _several(words, name)
    ]
    if only(words, "part") not in ("", USUAL.filters.part):
        found.append(f"the {escape(only(words, 'part'))} part")
    if not found:
        return ""
    return (
        f'<p class="chosen"><span>Only {"; ".join(found)}.</span> '
        '<button type="button" data-clear="filters">Clear filters</button></p>'
    )
