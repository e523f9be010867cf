"""What an uncertain reference costs a correlation: nothing can agree with a mean better than the mean is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from agreement.categories import Categories
from agreement.many import add_coincidences, count_labels, krippendorff


@dataclass(frozen=True, slots=True)
class Attenuation:
    """How reliable the mean of an item's raters is, the most a correlation with it can be, and r relative to that."""

    reliability: float | None
    bound: float | None
    relative: float | None
    why: str | None = None


def correct_attenuation(r: float | None, codes: ArrayLike, categories: Categories) -> Attenuation:
    """Return a correlation r with the mean of raters (N x R codes) relative to its bound (Spearman 1904).

    The reliability is interval alpha stepped up to the harmonic mean of the number of raters on an item (Spearman and
    Brown). It is a point without an interval, for a footnote: two noisy numbers divided.
    """
    counts = count_labels(codes, len(categories))
    rated = counts.sum(axis=1)
    alpha = float(krippendorff(add_coincidences(counts), "interval", categories.array))
    if not np.isfinite(alpha) or alpha <= 0:
        return Attenuation(None, None, None, "people do not agree beyond chance, or no item has two of them")
    raters = float((rated > 0).sum() / (1.0 / rated[rated > 0]).sum())
    reliability = raters * alpha / (1.0 + (raters - 1.0) * alpha)
    bound = float(np.sqrt(reliability))
    if r is None:
        return Attenuation(reliability, bound, None, "the correlation is undefined")
    return Attenuation(reliability, bound, r / bound)
