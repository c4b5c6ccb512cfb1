"""What measurements say about a marginal that they contain: each by itself, and averaged by inverse variance.

Public: it combines released measurements. Theorem "Weighted Average Estimator" of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.privacy import Measurement
from understudy.privacy.noise import NoiseKind
from understudy.uncertainty.tails import Term
from understudy.uncertainty.zeros import Possible

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """A marginal as one measurement shows it: each cell is the truth plus ``repeats`` independent draws of noise."""

    values: Floats
    repeats: NDArray[np.int64]
    """0 in a cell that is empty by declaration: it has no noise, and its value is 0."""
    noise: NoiseKind
    scale: float

    @property
    def variances(self) -> Floats:
        """At most this, cell by cell."""
        return np.asarray(self.repeats * Term(1.0, self.noise, self.scale, 1).variance)

    def terms(self) -> tuple[tuple[Term, int], ...]:
        """Return the noise of a cell, and how many cells have it."""
        repeats, cells = np.unique(self.repeats[self.repeats > 0], return_counts=True)
        return tuple((Term(1.0, self.noise, self.scale, int(n)), int(k)) for n, k in zip(repeats, cells, strict=True))


@dataclass(frozen=True, eq=False)
class Estimate:
    """An unbiased estimate of a marginal, from every measurement that contains it."""

    clique: Clique
    values: Floats
    precision: Floats
    """One over the variance of the noise, cell by cell; infinite in a cell that is empty by declaration."""

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on the noisiest cell (σ̄_r of the paper)."""
        return float(self.precision.min() ** -0.5)


def seen(measurements: Sequence[Measurement], clique: Clique, possible: Possible | None = None) -> list[Seen]:
    """Return ``clique`` as each measurement shows it from which it can be read by adding cells up, in order.

    No theorem here speaks of a linear query of a marginal: it is left out.
    """
    wanted = set(clique)
    return [_seen(m, clique, possible) for m in measurements if m.query is None and wanted <= set(m.clique)]


def averaged(clique: Clique, found: Sequence[Seen]) -> Estimate:
    """Return ȳ_r, weighted by n_r / (n_{r_i} σ_i²)."""
    precision, values = np.zeros(found[0].values.shape), np.zeros(found[0].values.shape)
    empty = np.any([one.repeats == 0 for one in found], axis=0)
    for one in found:
        weights = 1 / np.where(empty, 1.0, one.variances)
        precision, values = precision + weights, values + weights * one.values
    return Estimate(clique, np.where(empty, 0.0, values / precision), np.where(empty, np.inf, precision))


def weighted_average(measurements: Sequence[Measurement], clique: Clique) -> Estimate | None:
    """Return ȳ_r; None when no measurement contains it."""
    found = seen(measurements, clique)
    return averaged(clique, found) if found else None


def _seen(measurement: Measurement, clique: Clique, possible: Possible | None) -> Seen:
    """Sum out what ``clique`` does not name, over the cells that are possible; both are in the domain's order."""
    axes = tuple(i for i, a in enumerate(measurement.clique) if a not in clique)
    cells = None if possible is None else possible.cells(measurement.clique)
    if cells is None:
        values = np.asarray(measurement.values.sum(axis=axes))
        repeats = np.full(values.shape, measurement.values.size // values.size, dtype=np.int64)
    else:
        values = np.asarray((measurement.values * cells).sum(axis=axes))
        repeats = np.asarray(cells.sum(axis=axes, dtype=np.int64))
    return Seen(values.astype(np.float64), repeats, measurement.noise, measurement.scale)
