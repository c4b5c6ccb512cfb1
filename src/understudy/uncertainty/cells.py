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
from understudy.uncertainty.evidence import Evidence
from understudy.uncertainty.supported import reading


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
    evidence: Evidence, attributes: Iterable[str], *, confidence: float = 0.95, simultaneous: bool = False
) -> Intervals:
    """Return intervals for the counts of the marginal on ``attributes``, which a measurement must contain."""
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie strictly between 0 and 1 (say 0.95), not {confidence}.")
    clique = evidence.workload.domain.clique(attributes)
    beta = 1 - confidence
    at_once = evidence.workload.domain.cells(clique) if simultaneous else 1
    found = reading(evidence.measurements, clique, beta, at_once=at_once)
    if found is None:
        raise UserError(
            f"No measurement contains {', '.join(clique)} together, so its cells have no interval; "
            "bounds() bounds the sum of its errors."
        )
    lower = np.maximum(np.ceil(found.values - found.radius), 0).astype(np.int64)
    upper = np.maximum(np.floor(found.values + found.radius), lower).astype(np.int64)
    return Intervals(clique, found.values, lower, upper, found.radius, found.sigma, confidence, simultaneous)
