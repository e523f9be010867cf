"""A study's development and test part, item by item: its questions' draws, which no verdict changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.facts import Coded
from storage.held_out import Part, draw_question


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """The number that each of a study's questions has drawn by its seed."""

    questions: tuple[str, ...]
    numbers: NDArray[np.uint64]

    @classmethod
    def of(cls, questions: tuple[str, ...], seed: int) -> Draws:
        """Draw for every question."""
        drawn = (draw_question(question, seed) for question in questions)
        return cls(questions, np.fromiter(drawn, np.uint64, len(questions)))

    def choose(self, question: Coded, part: Part, share: float) -> NDArray[np.bool_]:
        """Return which items, known by their questions among these, belong to the development or the test part."""
        limit = min(max(share, 0.0), 1.0) * 2.0**64
        tested = np.ones_like(self.numbers, dtype=np.bool_)
        if limit < 2.0**64:
            tested = self.numbers < np.uint64(math.ceil(limit))
        return (tested if part == "test" else ~tested)[question.codes]
