"""Answers that take a while to make, kept for whoever asks the same again.

An answer holds while what it was made from stays as it is. Of one that took long, the last is given at once even when
it no longer holds, and says so; whoever was given it may then have the new one made.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from time import perf_counter
from typing import Any

MOST_KEPT = 16
LONG = 1.0  # seconds to make an answer, beyond which nobody is kept waiting who can be given the last one


@dataclass(frozen=True, slots=True)
class Known:
    """An answer, as of when it is, of what state of things, and how long it took; and whether it still holds."""

    answer: Any
    moment: datetime
    state: Hashable
    seconds: float
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, the state of things that its answer depends on, and how it is made."""

    asked: Hashable
    state: Callable[[], Hashable]
    make: Callable[[], Any]


class KeptAnswers:
    """The last answers to the questions that were asked last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Known] = OrderedDict()
        self._books = Lock()  # held for a moment, to look up or to keep
        self._one_at_a_time = Lock()  # the work keeps a processor busy: side by side it would only be slower

    def answer(self, question: Question) -> Known:
        """Return the answer that holds now, and make it if need be."""
        known = self._find(question)
        if known is not None and known.state == question.state():
            return known
        with self._one_at_a_time:
            state = question.state()
            known = self._find(question)
            if known is None or known.state != state:
                known = self._make(question, state)
            return known

    def answer_at_once(self, question: Question) -> Known:
        """Return the answer that holds now, or the last one where making a new one would take long."""
        known = self._find(question)
        if known is None or known.seconds < LONG:
            return self.answer(question)
        return known if known.state == question.state() else replace(known, holds=False)

    def _find(self, question: Question) -> Known | None:
        with self._books:
            if question.asked in self._kept:
                self._kept.move_to_end(question.asked)
            return self._kept.get(question.asked)

    def _make(self, question: Question, state: Hashable) -> Known:
        moment, began = datetime.now(UTC), perf_counter()
        known = Known(question.make(), moment, state, perf_counter() - began)
        with self._books:
            self._kept[question.asked] = known
            self._kept.move_to_end(question.asked)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return known
