"""Precision, recall and F1 against a declared reference rater: only then do they mean anything."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import FloatArray
from agreement.estimate import Estimate
from agreement.intervals import Sampling, Statistic, estimate_all
from agreement.pairs import divide
from agreement.tables import Tables, see
from agreement.units import Units

Score = Literal["precision", "recall", "f1"]


def macro_score(tables: ArrayLike | Tables, which: Score) -> FloatArray:
    """Return the mean over labels of one score; rows are the reference, columns the rater under test.

    A label that neither uses is left out of the mean; one that only one of them uses counts 0, as in scikit-learn with
    `zero_division=0`.
    """
    counts = see(tables)
    hits, said, true = counts.diagonal, counts.column, counts.row
    used = (said + true) > 0
    bottom = {"precision": said, "recall": true, "f1": (said + true) / 2.0}[which]
    score = np.where(used, np.nan_to_num(divide(hits, bottom)), 0.0)
    return divide(score.sum(axis=-1), used.sum(axis=-1).astype(np.float64))


def score_against_reference(units: Units, sampling: Sampling | None = None) -> dict[str, Estimate]:
    """Return macro precision, recall and F1 with intervals, of units whose sum is a K x K table."""
    scores: tuple[Score, ...] = ("precision", "recall", "f1")
    statistics = {f"macro_{name}": Statistic(partial(macro_score, which=name), bounds=(0.0, 1.0)) for name in scores}
    return estimate_all(units, statistics, sampling or Sampling())
