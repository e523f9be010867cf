"""A consensus that weighs raters by how reliable they prove to be (Dawid & Skene 1979).

The judge under test is never among the raters. Two raters cannot be told apart from each other's errors, so two are
refused; with fewer than three ratings an item, or a rater with fewer than ten items, the majority is the honest answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from agreement.categories import MISSING, FloatArray, IntArray, check_codes
from agreement.many import count_labels

SMOOTHING = 0.01
STEPS = 200
TOLERANCE = 1e-6
LEAST_RATINGS = 3.0
LEAST_ITEMS = 10


@dataclass(frozen=True, slots=True)
class Consensus:
    """Labels with their posteriors, each rater's confusion (rows: true label) and the class shares.

    `why` is set, and the arrays are None, where the model cannot be fitted: take the majority then. `differs` is the
    share of rated items where the label is not the one most raters gave.
    """

    codes: IntArray | None
    posterior: FloatArray | None
    confusion: FloatArray | None
    prior: FloatArray | None
    differs: float | None
    steps: int
    why: str | None = None


def _refuse(codes: IntArray) -> str | None:
    rated = codes >= 0
    items = rated.any(axis=1)
    if codes.ndim != 2 or codes.shape[1] < 3:
        return "fewer than three raters: their errors cannot be told apart"
    if not items.any():
        return "no item has a rating"
    if rated[items].sum(axis=1).mean() < LEAST_RATINGS:
        return "fewer than three ratings for an item on average"
    if rated.sum(axis=0).min() < LEAST_ITEMS:
        return f"a rater has fewer than {LEAST_ITEMS} items"
    return None


def find_consensus(codes: ArrayLike, k: int) -> Consensus:
    """Return the consensus of N x R codes by expectation-maximisation in log space, started from the vote shares."""
    array = check_codes(codes, k).astype(np.int64)
    why = _refuse(array)
    if why:
        return Consensus(None, None, None, None, None, 0, why)
    items = (array >= 0).any(axis=1)
    votes = count_labels(array[items], k).astype(np.float64)
    said = (array[items][:, :, None] == np.arange(k)).astype(np.float64)  # (N, R, K)
    belief = votes / votes.sum(axis=1, keepdims=True)
    before, steps = -np.inf, 0
    for steps in range(1, STEPS + 1):  # noqa: B007 - reported afterwards
        prior = belief.mean(axis=0)
        confusion = np.einsum("ik,irl->rkl", belief, said) + SMOOTHING
        confusion /= confusion.sum(axis=2, keepdims=True)
        score = np.log(np.maximum(prior, 1e-300)) + np.einsum("irl,rkl->ik", said, np.log(confusion))
        evidence = logsumexp(score, axis=1, keepdims=True)
        belief = np.exp(score - evidence)
        likelihood = float(evidence.sum())
        if abs(likelihood - before) <= TOLERANCE * abs(likelihood):
            break
        before = likelihood
    posterior = np.full((array.shape[0], k), np.nan)
    posterior[items] = belief
    answer = np.full(array.shape[0], MISSING, dtype=np.int64)
    answer[items] = belief.argmax(axis=1)
    top = votes[np.arange(votes.shape[0]), answer[items]]
    return Consensus(answer, posterior, confusion, prior, float((top < votes.max(axis=1)).mean()), steps)
