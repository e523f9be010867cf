"""Everyone's labels side by side, under the rules that were asked for: what all statistics of a study start from."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import MISSING, BoolArray, Categories, FloatArray, IntArray
from agreement.combine import (
    Combined,
    Levels,
    Rule,
    collapse_codes,
    combine_orders,
    take_majority,
    take_majority_of,
    take_single_orders,
)
from agreement.dawid_skene import find_consensus
from agreement.intervals import Sampling
from agreement.length import log_ratio
from agreement.many import count_labels
from agreement.prediction_powered import Selection
from agreement.wildbench import apply_length_rule
from judge.domain import InputError, Kind, Scale
from storage.facts import code_texts
from storage.ratings import EVERYTHING, Filters, Ratings

BLANK_COUNTS = {"unreadable": 0, "refused": 0, "cut_off": 0, "failed": 0}
SELECTIONS: dict[str, Selection] = {"random": "random", "doubt": "judge's doubt"}
PROMPT_FIELDS = ("prompt", "conversation", "instruction")


@dataclass(frozen=True, slots=True)
class Options:
    """The rules of a study's statistics, as the command line names them."""

    levels: Levels = "full"
    combine: Rule = "strict"
    consensus: Literal["majority", "dawid-skene"] = "majority"
    undecided: Literal["missing", "tie"] = "missing"
    length_k: float | None = None
    cluster: str = "item"
    epsilon: float = 0.2
    seed: int = 0
    resamples: int = 2000
    two_way: bool = False
    scores: str | None = None
    chosen: str = "random"
    filters: Filters = field(default_factory=Filters)

    def as_dict(self) -> dict[str, Any]:
        """Return the rules as JSON has them, without seed and resamples, which stand beside the numbers."""
        value = asdict(self)
        del value["seed"], value["resamples"]
        chosen, usual = value.pop("filters"), asdict(EVERYTHING)
        value["filters"] = {name: _plain(found) for name, found in chosen.items() if found != usual[name]}
        return value


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


@dataclass(frozen=True, eq=False)
class Panel:
    """The items' labels by rater (columns) on the scale in force, with what they were made from.

    `field_of` gives an item field that is not kept beside the verdicts, for every item; it is asked only when a
    cluster is named by such a field.
    """

    ratings: Ratings
    scale: Scale
    kind: Kind
    options: Options
    field_of: Callable[[str], Sequence[Any]]

    @cached_property
    def sampling(self) -> Sampling:
        """Return how intervals are made; one for all, so that what was drawn once is drawn once."""
        return Sampling(self.options.resamples, self.options.seed)

    @property
    def size(self) -> int:
        """Return how many items there are."""
        return len(self.ratings.facts)

    @cached_property
    def full(self) -> Categories:
        """Return the declared scale; preferences count from its middle, whatever number that has."""
        declared = Categories.of(self.scale)
        return declared.from_middle() if self.kind == "pairwise" else declared

    @property
    def reach(self) -> tuple[float, float]:
        """Return between what a model's score lies, or its reward, on whichever side its response stands."""
        values = self.full.values
        most = max(map(abs, values))
        return (-most, most) if self.kind == "pairwise" else (min(values), max(values))

    @property
    def by_distance(self) -> bool:
        """Return whether two labels are more or less apart, and not only different."""
        return not self.scale.nominal and (self.kind == "direct" or len(self.categories) > 3)

    @cached_property
    def categories(self) -> Categories:
        """Return the scale in force."""
        return collapse_codes(np.zeros(0, dtype=np.int64), self.full, self.options.levels)[1]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the scale in force."""
        if self.options.levels == "full":
            return self.scale.labels
        return ("B", "tie", "A") if len(self.categories) == 3 else ("B", "A")

    @cached_property
    def humans(self) -> tuple[int, ...]:
        """Return the places of the people among the raters."""
        return tuple(place for place, rater in enumerate(self.ratings.raters) if rater.kind == "human")

    @cached_property
    def judges(self) -> tuple[int, ...]:
        """Return the places of the judges among the raters."""
        return tuple(place for place, rater in enumerate(self.ratings.raters) if rater.kind == "judge")

    @cached_property
    def rows(self) -> tuple[IntArray, ...]:
        """Return each rater's rows in the ratings."""
        return tuple(np.flatnonzero(self.ratings.rater == place) for place in range(len(self.ratings.raters)))

    def first_labels(self, rater: int, order: int | None = None, repeat: bool = False) -> IntArray:
        """Return a rater's first label on every item on the declared scale, in one order or in any; -1 is none.

        An order that nobody recorded counts as AB, the order of the import.
        """
        rows = self.rows[rater]
        kept = self.ratings.repeat[rows] == repeat
        if order is not None:
            kept &= np.maximum(self.ratings.order[rows], 0) == order
        rows = rows[kept][::-1]  # of several, the first is written last
        answer = np.full(self.size, MISSING, dtype=np.int64)
        answer[self.ratings.item[rows]] = self.ratings.code[rows]
        return answer

    @cached_property
    def orders(self) -> dict[int, tuple[IntArray, IntArray]]:
        """Return each judge's labels in order AB and in order BA."""
        return {judge: (self.first_labels(judge, 0), self.first_labels(judge, 1)) for judge in self.judges}

    @cached_property
    def asked(self) -> dict[int, tuple[BoolArray, BoolArray]]:
        """Return which items each judge was asked about in order AB and in order BA, whatever came of it."""
        answer = {}
        for judge in self.judges:
            rows = self.rows[judge]
            found = np.zeros((2, self.size), dtype=np.bool_)
            found[np.maximum(self.ratings.order[rows], 0), self.ratings.item[rows]] = True
            answer[judge] = found[0], found[1]
        return answer

    def orders_asked(self, judge: int) -> Literal["both", "one", "one an item"]:
        """Return whether a judge was asked in both orders of some item, or in one order: always the same, or mixed."""
        first, second = self.asked[judge]
        if (first & second).any():
            return "both"
        return "one an item" if first.any() and second.any() else "one"

    def has_both_orders(self, judge: int) -> bool:
        """Return whether a judge was asked about any item in both orders."""
        return self.orders_asked(judge) == "both"

    def ruled_orders(self, judge: int, length_k: float | None) -> tuple[IntArray, IntArray]:
        """Return a judge's labels in order AB and in order BA under a length rule, on the declared scale."""
        first, second = self.orders[judge]
        if length_k is None:
            return first, second
        one, two = (apply_length_rule(side, self.lengths, self.full, length_k)[0] for side in (first, second))
        return one, two

    def sides(self, judge: int, length_k: float | None = None) -> tuple[IntArray, IntArray, int]:
        """Return both orders' labels, an item asked in one order only taken as it is, and how many such there are."""
        known = self._known_sides
        if (judge, length_k) not in known:
            known[judge, length_k] = take_single_orders(self.ruled_orders(judge, length_k), self.asked[judge])
        return known[judge, length_k]

    @cached_property
    def _known_sides(self) -> dict[tuple[int, float | None], tuple[IntArray, IntArray, int]]:
        """Keep what `sides` has made: the table of policies and the models ask for the same few again and again."""
        return {}

    def combine(self, judge: int, rule: Rule, length_k: float | None = None, levels: Levels = "full") -> Combined:
        """Return a judge's one label an item: each order under the length rule and on the levels, then both together.

        Two levels are three with the ties left out at the end: a tie that the two orders make is none of either side.
        """
        return self.combine_sides(judge, self.sides(judge, length_k)[:2], rule, levels)

    def combine_sides(self, judge: int, sides: tuple[IntArray, IntArray], rule: Rule, levels: Levels) -> Combined:
        """Return the same from labels in order AB and in order BA that have been ruled by length."""
        coarse = "3" if levels == "2" else levels
        (first, scale), (second, _) = (collapse_codes(side, self.full, coarse) for side in sides)
        found = combine_orders(first, second, scale, rule if self.has_both_orders(judge) else "first")
        if levels != "2":
            return found
        ties = 0 if scale.tie is None else int((found.codes == scale.tie).sum())
        left_out = {**found.left_out, "tie": ties} if ties else found.left_out
        return replace(found, codes=collapse_codes(found.codes, scale, "2")[0], left_out=left_out)

    @cached_property
    def combined(self) -> dict[int, Combined]:
        """Return each judge's labels under the rules in force, on the scale in force."""
        chosen = self.options
        return {judge: self.combine(judge, chosen.combine, chosen.length_k, chosen.levels) for judge in self.judges}

    @cached_property
    def declared(self) -> IntArray:
        """Return items x raters on the declared scale."""
        return self._columns(lambda judge: self.combine(judge, self.options.combine, self.options.length_k).codes)

    @cached_property
    def codes(self) -> IntArray:
        """Return items x raters on the scale in force."""
        if self.options.levels == "full":
            return self.declared
        return self._columns(lambda judge: self.combined[judge].codes, self.coarse)

    def _columns(
        self, of_judge: Callable[[int], IntArray], of_person: Callable[[IntArray], IntArray] = np.asarray
    ) -> IntArray:
        columns = [
            of_person(self.first_labels(place)) if place in self.humans else of_judge(place)
            for place in range(len(self.ratings.raters))
        ]
        # Rater by rater in memory: nearly everything asks for whole columns.
        return np.stack(columns).T if columns else np.zeros((self.size, 0), dtype=np.int64)

    @cached_property
    def people(self) -> IntArray:
        """Return items x people on the scale in force."""
        return self.codes[:, list(self.humans)]

    @cached_property
    def people_counts(self) -> IntArray:
        """Return how many people gave each item each label of the scale in force."""
        return count_labels(self.people, len(self.categories))

    def coarse(self, codes: ArrayLike) -> IntArray:
        """Return codes of the declared scale on the scale in force."""
        return collapse_codes(codes, self.full, self.options.levels)[0]

    @cached_property
    def lengths(self) -> tuple[FloatArray, FloatArray]:
        """Return the responses' lengths in characters."""
        return self.ratings.facts.length_a, self.ratings.facts.length_b

    @cached_property
    def length_ratio(self) -> FloatArray:
        """Return the log ratio of A's length to B's; NaN where a response is empty, or there is one alone."""
        return log_ratio(*self.lengths)

    @property
    def consensus(self) -> tuple[IntArray, dict[str, Any]]:
        """Return the people's consensus on the scale in force, and how it was reached; no judge is ever in it."""
        return self.consensus_on(self.options.levels)

    def consensus_on(self, levels: Levels) -> tuple[IntArray, dict[str, Any]]:
        """Return the people's consensus on a scale, which every judge is held against: it is made once."""
        if levels not in self._known_consensus:
            codes, categories = self.declared[:, list(self.humans)], self.full
            people = self.people if levels == self.options.levels else collapse_codes(codes, categories, levels)[0]
            self._known_consensus[levels] = self._agree(people, collapse_codes(codes[:0], categories, levels)[1])
        return self._known_consensus[levels]

    @cached_property
    def _known_consensus(self) -> dict[Levels, tuple[IntArray, dict[str, Any]]]:
        return {}

    def _agree(self, people: IntArray, categories: Categories) -> tuple[IntArray, dict[str, Any]]:
        """Return the consensus of people's codes (items x people) under the rule in force."""
        if self.options.consensus == "dawid-skene":
            found = find_consensus(people, len(categories))
            if found.codes is not None and found.confusion is not None:
                names = [self.ratings.raters[place].name for place in self.humans]
                confusion = dict(zip(names, found.confusion.tolist(), strict=True))
                told = {"rule": "dawid-skene", "differs_from_majority": found.differs, "confusion": confusion}
                return found.codes, told
            codes, told = self._majority(people, categories)
            return codes, {**told, "why": f"not Dawid-Skene: {found.why}"}
        return self._majority(people, categories)

    def _majority(self, people: IntArray, categories: Categories) -> tuple[IntArray, dict[str, Any]]:
        undecided = self.options.undecided if categories.tie is not None else "missing"
        if people is self.people:
            found = take_majority_of(self.people_counts, categories, undecided)
        else:
            found = take_majority(people, categories, undecided)
        return found.codes, {"rule": "majority", "undecided": undecided, "left_out": dict(found.left_out)}

    def people_mean(self, worth: FloatArray, codes: IntArray) -> FloatArray:
        """Return the mean worth of people's labels (items x people) on each item; NaN where nobody gave one."""
        seen = codes >= 0
        many = seen.sum(axis=1)
        sums = np.where(seen, worth[codes], 0.0).sum(axis=1)
        # Equal means are equal to the last digit, whoever gave which label.
        return np.where(many > 0, np.round(sums / np.maximum(many, 1), 12), np.nan)

    @cached_property
    def cluster(self) -> IntArray | None:
        """Return each item's cluster, or None where every item stands for itself."""
        return _number(self._named_cluster())

    @cached_property
    def prompts(self) -> IntArray | None:
        """Return what numbers about models resample: the clusters asked for, by default items with one question."""
        questions = _number(self.ratings.facts.question.codes) if self.options.cluster == "item" else None
        return self.cluster if questions is None else questions

    def _named_cluster(self) -> IntArray:
        facts, wanted = self.ratings.facts, self.options.cluster
        if wanted == "item":
            return facts.cluster.codes
        if wanted in PROMPT_FIELDS:
            return facts.question.codes
        codes = self._field_codes(wanted)
        if self.size and (codes < 0).all():
            what = "tag" if wanted.startswith("tag:") else "field"
            raise InputError(f"--cluster {wanted}: no item has such a {what}; try item, prompt, tag:NAME or a field")
        return codes

    def _field_codes(self, wanted: str) -> IntArray:
        facts = self.ratings.facts
        if wanted in ("model_a", "model_b"):
            return facts.model_a.codes if wanted == "model_a" else facts.model_b.codes
        if wanted.startswith("tag:"):
            return _code([_find_tag(tags, wanted[4:]) for tags in facts.tags.names])[facts.tags.codes]
        values = self.field_of(wanted)
        return _code([None if value is None else json.dumps(value, sort_keys=True) for value in values])

    @property
    def selection(self) -> Selection:
        """Return how the labelled items were chosen."""
        return SELECTIONS.get(self.options.chosen, "known chances")

    @cached_property
    def chance(self) -> FloatArray | None:
        """Return each item's chance of having been chosen for labelling, NaN where none is known."""
        if self.selection != "known chances":
            return None
        name = self.options.chosen
        values = self.field_of(name)
        if self.size and all(value is None for value in values):
            raise InputError(f"--chosen {name}: no item has such a field; give random, doubt or a field of the items")
        return np.array([_as_number(value) for value in values], dtype=np.float64)


def _number(codes: IntArray) -> IntArray | None:
    """Return each item's cluster, one without a code (-1) by itself; None where every item stands for itself."""
    numbers = np.where(codes < 0, codes.max(initial=-1) + 1 + np.arange(codes.size), codes)
    return None if not codes.size or np.bincount(numbers).max() == 1 else numbers


def _as_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _find_tag(tags: Sequence[str], name: str) -> str | None:
    """Return the tag that NAME means: the one in that place (1, 2 …), or the one written NAME:value or NAME=value."""
    if name.isdigit():
        return tags[int(name) - 1] if 0 < int(name) <= len(tags) else None
    return next((tag for tag in tags if tag.partition(":")[0] == name or tag.partition("=")[0] == name), None)


def _code(texts: Sequence[str | None]) -> IntArray:
    return code_texts(texts).codes
