"""Confidence intervals for single cells of supported marginals, one by one or all of a marginal at once.

Public: from released measurements alone. Theorem 3 of docs/bounds.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import UserError
from understudy.mechanism import Outcome
from understudy.uncertainty.estimator import weighted_average
from understudy.uncertainty.tails import cell_radius


@dataclass(frozen=True, eq=False)
class Intervals:
    """``lower`` ≤ true count ≤ ``upper``, each cell by itself, or all together if ``simultaneous``."""

    clique: Clique
    estimate: NDArray[np.float64] = field(repr=False)
    lower: NDArray[np.int64] = field(repr=False)
    upper: NDArray[np.int64] = field(repr=False)
    radius: float
    sigma: float
    confidence: float
    simultaneous: bool


def cell_intervals(
    outcome: Outcome, attributes: Iterable[str], *, confidence: float = 0.95, simultaneous: bool = False
) -> Intervals:
    """Return intervals for the counts of the marginal on ``attributes``, which a measurement must contain."""
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie strictly between 0 and 1 (say 0.95), not {confidence}.")
    clique = outcome.workload.domain.clique(attributes)
    estimate = weighted_average(outcome.measurements, clique)
    if estimate is None:
        raise UserError(
            f"No measurement contains {', '.join(clique)} together, so its cells have no interval; "
            "bounds() bounds the sum of its errors."
        )
    beta = 1 - confidence
    if simultaneous:  # the cells' noises are independent
        beta = -np.expm1(np.log1p(-beta) / estimate.values.size)
    radius = cell_radius(estimate.terms, float(beta))
    lower = np.maximum(np.ceil(estimate.values - radius), 0).astype(np.int64)
    upper = np.maximum(np.floor(estimate.values + radius), lower).astype(np.int64)
    return Intervals(clique, estimate.values, lower, upper, radius, estimate.sigma, confidence, simultaneous)
