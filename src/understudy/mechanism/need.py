"""How much a budget should buy of each residual: what errs most of the workload is measured. Public numbers only.

A residual is known with the precision q by what was measured of it. A model of smaller marginals says what to expect of it,
and is off by a departure of variance s² a cell. So what is left is 1 / (q + 1/s²). Before a residual is measured, s is a
guess: how far marginals are from what their parts say, in tables on average, in proportion to what is expected of a cell.
Afterwards, it is what its noisy values depart by beyond their noise. The split makes

    Σ_A w_A k_A √(Σ_{B ⊆ A} v_AB / (q_B + p_B + 1/s_B²))   least, for a given Σ p_B times its price,

where k_A is what a unit of noise on the cells of A leaves of error after a fit (``penalty.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism.hdmm import Residuals, moved, variances
from understudy.mechanism.penalty import fitted_errors
from understudy.model import Model
from understudy.privacy import Unit
from understudy.workload import Workload

Floats = NDArray[np.float64]

DEPENDENT = 0.3
"""How far a pair is from independence, on average over tables; a larger marginal so much more for each attribute."""
LEFT = 0.3
"""What is left of it, once all marginals of one attribute more are known."""
LEAST = 1e-3
"""What would get a smaller part of the largest one's is left out."""
TIMES, STEPS = 5, 20
"""So often k is worked out anew, and so many steps are taken with each."""
POWER = 0.5
"""A step multiplies each part of the budget by its slope to this power."""


def dependence(size: int, known: int) -> float:
    """Return how far a marginal of ``size`` attributes is, on average, from what those of ``known`` attributes say."""
    return 0.0 if known >= size else DEPENDENT * (size - 1) * LEFT ** (known - 1)


@dataclass(frozen=True)
class Needs:
    """The residuals of a workload, what each counts for, and what a unit of precision costs of it."""

    workload: Workload
    residuals: Sequence[Clique]
    prices: Floats
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    counts: Floats
    """v_AB, with the places of A and B."""

    @classmethod
    def of(cls, workload: Workload, unit: Unit) -> Needs:
        """List them, the smaller ones first: v_AB is what a unit of variance on B comes to over all cells of A."""
        found = sorted((b for b, v in variances(workload).items() if v > 0), key=len)
        place = {b: k for k, b in enumerate(found)}
        held = [
            (i, place[b], v)
            for i, clique in enumerate(workload.cliques)
            for b, v in variances(Workload.of(workload.domain, [clique])).items()
            if v > 0
        ]
        rows, columns, counts = zip(*held, strict=True)
        prices = np.array([moved(workload.domain, b, unit) ** 2 / 2 for b in found])
        return cls(workload, found, prices, np.array(rows), np.array(columns), np.array(counts))

    def split(self, model: Model, known: Residuals, departures: Mapping[Clique, float], rho: float) -> Floats:
        """Return the part of ``rho`` that each residual should get; 0 where it would be too small."""
        precisions = np.array([known.precisions.get(b, 0.0) for b in self.residuals])
        expected = np.array([self._expected(model, b, known, departures) for b in self.residuals])
        marginals, parts = model.marginals(self.workload.cliques), np.full(len(precisions), 1 / len(precisions))
        cells = np.array([m.size for m in marginals], dtype=np.float64)
        for _ in range(TIMES):
            left = self._left(precisions + expected + rho * parts / self.prices)
            noise = np.sqrt(left / cells)
            worth = [fitted_errors([m], s, "gaussian")[0] / s for m, s in zip(marginals, noise.tolist(), strict=True)]
            weights = np.array(self.workload.query_weights) * np.array(worth) / np.sqrt(cells)
            for _ in range(STEPS):
                parts = self._step(parts, precisions + expected + rho * parts / self.prices, weights)
        parts[parts < LEAST * parts.max()] = 0.0
        return np.asarray(parts / parts.sum())

    def _expected(self, model: Model, residual: Clique, known: Residuals, departures: Mapping[Clique, float]) -> float:
        """Return 1/s² of a residual; 0 where no smaller marginal says anything."""
        if len(residual) < 2:
            return 0.0
        marginal = model.marginal(residual)
        off = dependence(len(residual), len(residual) - 1) / sqrt(2 / pi)
        guess = off**2 * float(np.mean(np.square(marginal, dtype=np.float64)))
        if residual in departures:
            unsure = sqrt(2 / prod(n - 1 for n in marginal.shape)) / known.precisions[residual]
            guess = max(departures[residual], min(unsure, guess))
        return 1 / max(guess, 1e-300)

    def _left(self, precisions: Floats) -> Floats:
        """Return the squared error that is left of each marginal of the workload, summed over its cells."""
        each = self.counts / precisions[self.columns]
        return np.bincount(self.rows, each, minlength=len(self.workload.cliques)).astype(np.float64)

    def _step(self, parts: Floats, precisions: Floats, weights: Floats) -> Floats:
        """Move the split towards the residuals in which more precision takes off most for its price."""
        per_square = weights / np.sqrt(self._left(precisions))
        slopes = np.bincount(self.columns, per_square[self.rows] * self.counts, minlength=len(parts))
        moved_to = parts * (slopes / precisions**2 / self.prices) ** POWER
        return np.asarray(moved_to / moved_to.sum()) if moved_to.any() else parts  # without noise to speak of, any will do
