"""The weighted average estimator of a supported marginal: every measurement that contains it, by inverse
variance.

Public: it combines released measurements. Theorem "Weighted Average Estimator" of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.privacy import Measurement
from understudy.uncertainty.tails import Term, deviation


@dataclass(frozen=True, eq=False)
class Estimate:
    """An unbiased estimate of a marginal: ``values`` = truth + noise, independent from cell to cell."""

    clique: Clique
    values: NDArray[np.float64]
    terms: tuple[Term, ...]
    """What the noise on each cell is a sum of, exactly."""

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on each cell (σ̄_r of the paper)."""
        return deviation(self.terms)


def supports(measurements: Sequence[Measurement], clique: Clique) -> list[Measurement]:
    """Return the measurements from which ``clique`` can be read by adding cells up."""
    wanted = set(clique)
    return [m for m in measurements if wanted <= set(m.clique)]


def weighted_average(measurements: Sequence[Measurement], clique: Clique) -> Estimate | None:
    """Return ȳ_r, weighted by n_r / (n_{r_i} σ_i²); None when no measurement contains it."""
    found = supports(measurements, clique)
    if not found:
        return None
    projected = [_project(m, clique) for m in found]
    repeats = [m.values.size // projected[0].size for m in found]
    variances = [Term(1.0, m.noise, m.scale, n).variance for m, n in zip(found, repeats, strict=True)]
    total = sum(1 / v for v in variances)
    factors = [1 / (v * total) for v in variances]
    values = sum((f * p for f, p in zip(factors, projected, strict=True)), np.zeros(projected[0].shape))
    terms = tuple(Term(f, m.noise, m.scale, n) for f, m, n in zip(factors, found, repeats, strict=True))
    return Estimate(clique, np.asarray(values), tuple(sorted(terms, key=lambda t: (t.factor, t.scale))))


def _project(measurement: Measurement, clique: Clique) -> NDArray[np.int64]:
    """Sum out what ``clique`` does not name; both are in the domain's order."""
    axes = tuple(i for i, a in enumerate(measurement.clique) if a not in clique)
    return np.asarray(measurement.values.sum(axis=axes))
