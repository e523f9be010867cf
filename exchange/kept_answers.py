"""Answers that take a while to make, kept for whoever asks the same again.

An answer holds while what it was made from stays as it is. Of one that took long, the last is given at once even when
it no longer holds, and says so; whoever was given it may then have the new one made. All but quick answers are kept in
the database too: a server that has just been started has them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from threading import Lock
from time import perf_counter
from typing import Any

from exchange.program import program_digest
from judge.domain import StorageError
from storage.answers import StoredAnswer
from storage.store import Store

MOST_KEPT = 16
KEPT = 0.25  # seconds to make an answer, beyond which it is kept in the database
LONG = 1.0  # seconds to make an answer, beyond which nobody is kept waiting who can be given the last one


@dataclass(frozen=True, slots=True)
class Known:
    """An answer, as of when it is, of what state of things, and how long it took; and whether it still holds."""

    answer: Any
    moment: datetime
    state: str
    seconds: float
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of which study, the state of things that its answer depends on, and how it is made.

    Two questions are the same if they read the same.
    """

    study: str
    asked: Hashable
    state: Callable[[], str]
    make: Callable[[], Any]

    @property
    def key(self) -> str:
        """Return what the same question to the same program has in common, and no other."""
        return sha256(f"{self.asked!r} {program_digest()}".encode()).hexdigest()


class KeptAnswers:
    """The last answers to the questions that were asked last."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
            for look in (self._find, self._find_stored):  # another process may have stored what this one lacks
                known = look(question)
                if known is not None and known.state == state:
                    return self._keep(question, known)
            made = self._keep(question, self._make(question, state))
        self._store_slow(question, made)  # which may have to wait for whoever is storing something
        return made

    def answer_at_once(self, question: Question) -> Known:
        """Return the answer that holds now, or the last one where making a new one would take long."""
        known = self._find(question) or self._find_stored(question)
        if known is not None:
            self._keep(question, known)
        if known is None or known.seconds < LONG:
            return self.answer(question)
        return known if known.state == question.state() else replace(known, holds=False)

    def _find(self, question: Question) -> Known | None:
        with self._books:
            if question.asked in self._kept:
                self._kept.move_to_end(question.asked)
            return self._kept.get(question.asked)

    def _find_stored(self, question: Question) -> Known | None:
        found = self._store.find_answer(question.study, question.key)
        return None if found is None else Known(found.value, found.made, found.state, found.seconds)

    @staticmethod
    def _make(question: Question, state: str) -> Known:
        moment, began = datetime.now(UTC), perf_counter()
        return Known(question.make(), moment, state, perf_counter() - began)

    def _store_slow(self, question: Question, known: Known) -> None:
        if known.seconds >= KEPT:
            with suppress(StorageError):  # a database that can only be read gives answers as well
                stored = StoredAnswer(known.answer, known.state, known.moment, known.seconds)
                self._store.keep_answer(question.study, question.key, stored)

    def _keep(self, question: Question, known: Known) -> Known:
        with self._books:
            self._kept[question.asked] = known
            self._kept.move_to_end(question.asked)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return known
