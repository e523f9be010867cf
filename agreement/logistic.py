"""Logistic regression by Newton's method, with errors that respect clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, stdtrit

from agreement.categories import FloatArray, IntArray, number_clusters
from agreement.estimate import Estimate, list_warnings, undefined

STEPS = 50
CLOSE = 1e-8  # a step after which the next one, which has its square's size, would change nothing
EXACT = "the verdicts follow the model exactly, so they say nothing of the uncertainty"
FEW_ROWS = 8
SINGULAR = 1e12  # condition of a matrix beyond which a solution means nothing
MANY = 5_000  # clusters
LONG, SOME = 50_000, 2_000  # rows, from which a fit begins with that of about so many of them
MOST_NUMBERS = 2_000_000
LARGEST = 15.0  # a logit beyond this means that the maximum lies at infinity


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Coefficients with a cluster-robust covariance, or the reason why there are none."""

    coefficients: FloatArray
    covariance: FloatArray
    groups: int
    why: str | None = None

    def estimate(self, index: int, n: int, clustered: bool, level: float = 0.95) -> Estimate:
        """Return a coefficient from n observations, or why there is none.

        Its interval is from t with one degree of freedom less than there are clusters.
        """
        groups = self.groups if clustered else None
        if self.why:
            return undefined(self.why, n, groups)
        value, variance = float(self.coefficients[index]), float(self.covariance[index, index])
        if variance <= 1e-24 * max(1.0, value**2):
            return Estimate(value, n=n, clusters=groups, why=EXACT, warnings=list_warnings(n, groups))
        half = float(stdtrit(self.groups - 1, (1.0 + level) / 2.0)) * variance**0.5
        warnings = list_warnings(n, groups)
        return Estimate(value, value - half, value + half, "cluster-robust, t", n, groups, warnings=warnings)


def fit_logistic(
    outcome: FloatArray, design: FloatArray, cluster: IntArray | None = None, times: IntArray | None = None
) -> LogisticFit:
    """Return the maximum-likelihood fit of outcomes in [0, 1]; separated data have none, and say so.

    A row may stand for several observations of the same cluster and design: so many `times`, with their mean outcome.
    """
    n, width = design.shape
    none = np.full(width, np.nan), np.full((width, width), np.nan)
    owner = np.arange(n) if cluster is None else number_clusters(cluster)[0]
    groups = int(owner.max()) + 1 if n else 0
    weight: FloatArray = np.ones(n) if times is None else times.astype(np.float64)
    columns = np.ascontiguousarray(design.T)  # column by column in memory, which each step goes along several times
    if (
        weight.sum() <= width
        or groups < 2
        or np.linalg.matrix_rank(_products(columns, columns), hermitian=True) < width
    ):
        return LogisticFit(*none, groups, "too few items, or nothing varies")
    beginning, found = np.zeros(width), None
    if n > LONG:  # where some of the rows lead, all of them need few steps more
        some = slice(None, None, n // SOME | 1)  # not every second one: two orders of an item follow one another
        near = _climb(outcome[some], columns[:, some], weight[some], beginning)
        found = None if near is None else _climb(outcome, columns, weight, near)
    if found is None:
        found = _climb(outcome, columns, weight, beginning)
    if found is None:
        return LogisticFit(*none, groups, "the verdicts are separated perfectly, so no finite coefficient fits best")
    share = expit(found @ columns)
    spread, residual = weight * share * (1.0 - share), weight * (outcome - share)
    return LogisticFit(found, _spread_of(columns, spread, residual, owner), groups)


def _climb(outcome: FloatArray, columns: FloatArray, weight: FloatArray, beta: FloatArray) -> FloatArray | None:
    """Return the coefficients of the greatest likelihood, from some to begin with; None where it has no maximum."""
    for _ in range(STEPS):
        logit = beta @ columns
        if np.abs(logit).max() > 10 * LARGEST:
            return None
        share = expit(logit)
        information = _products(columns * (weight * share * (1.0 - share)), columns)
        if np.linalg.cond(information) > SINGULAR:
            return None
        step = np.linalg.solve(information, columns @ (weight * (outcome - share)))
        beta = beta + step
        if np.abs(step).max() < CLOSE:
            return beta
    return None


def _spread_of(columns: FloatArray, spread: FloatArray, residual: FloatArray, owner: IntArray) -> FloatArray:
    """Return the cluster-robust covariance, from what the fit would be without each cluster, to first order (CR3).

    It is that of a jackknife and holds for few clusters, and where most verdicts follow from one column. Of very many
    clusters each changes so little that the plain one is the same: the sum of squared scores, with the usual G/(G-1)
    (CR1; Liang & Zeger 1986). So it is where without some cluster there is no fit.
    """
    groups, width = int(owner.max()) + 1, len(columns)
    information = _products(columns * spread, columns)
    scores = np.stack([np.bincount(owner, one, groups).astype(np.float64) for one in columns * residual])
    if groups < MANY and groups * width**2 < MOST_NUMBERS:
        own = np.stack([np.bincount(owner, one * two * spread, groups) for one in columns for two in columns], axis=1)
        rest = information - own.reshape(groups, width, width)
        if np.linalg.cond(rest).max() < SINGULAR:
            without = np.linalg.solve(rest, scores.T[..., None])[..., 0]
            return np.asarray(without.T @ without * (groups - 1) / groups)
    bread = np.linalg.inv(information)
    return np.asarray(bread @ _products(scores, scores) @ bread * groups / (groups - 1))


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return each row's product with each, where the first with the second is the second with the first.

    A few long rows are multiplied one by one, which a matrix product takes longer for.
    """
    if len(left) > FEW_ROWS:
        return left @ right.T
    answer = np.zeros((len(left), len(left)))
    for at, one in enumerate(left):
        answer[at, at:] = answer[at:, at] = [one @ two for two in right[at:]]
    return answer
