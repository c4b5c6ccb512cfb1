"""How much a budget should buy of each residual: what errs most of the workload is measured. Public numbers only.

A residual is known with the precision q by what was measured of it. A model of smaller marginals says what to expect of it,
and is off by a departure of variance s² a cell. So what is left is 1 / (q + 1/s²). Before a residual is measured, s is a
guess: how far marginals are from what their parts say, in tables on average, in proportion to what is expected of a cell.
Afterwards, it is what its noisy values depart by beyond their noise. The split makes

    Σ_A w_A √(Σ_{B ⊆ A} k_B² / (q_B + p_B + 1/s_B²))   least, for a given Σ p_B times its price,

where k_B is the error that a unit of noise on residual B leaves in the marginal on B itself after a fit (``penalty.py``).
Not in A: a fit takes off most of the noise on the cells of a large marginal that are near zero, but what its columns and its
rows err by stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism.hdmm import Residuals, moved, subsets, variances
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
    """The places of A and B, for each residual B of a marginal A of the workload."""
    wholes: NDArray[np.intp]
    parts: NDArray[np.intp]
    """The places of B and C, for each residual C of the marginal on B."""
    counts: Floats
    """What a unit of variance on C comes to over all cells of B."""

    @classmethod
    def of(cls, workload: Workload, unit: Unit) -> Needs:
        """List them, the smaller ones first."""
        domain = workload.domain
        found = sorted((b for b, v in variances(workload).items() if v > 0), key=len)
        place = {b: k for k, b in enumerate(found)}
        held = [(i, place[b]) for i, r in enumerate(workload.cliques) for b in subsets(r) if b in place]
        inside = [(place[b], place[c], _count(domain, b, c)) for b in found for c in subsets(b)]
        rows, columns = zip(*held, strict=True)
        wholes, parts, counts = zip(*inside, strict=True)
        prices = np.array([moved(domain, b, unit) ** 2 / 2 for b in found])
        places = (np.array(rows), np.array(columns), np.array(wholes), np.array(parts))
        return cls(workload, found, prices, *places, np.array(counts))

    def split(self, model: Model, known: Residuals, departures: Mapping[Clique, float], rho: float) -> Floats:
        """Return the part of ``rho`` that each residual should get; 0 where it would be too small."""
        precisions = np.array([known.precisions.get(b, 0.0) for b in self.residuals])
        marginals, parts = model.marginals(self.residuals), np.full(len(precisions), 1 / len(precisions))
        precisions += [self._known(b, m, known, departures) for b, m in zip(self.residuals, marginals, strict=True)]
        for _ in range(TIMES):
            worth = self._worth(marginals, precisions + rho * parts / self.prices)
            for _ in range(STEPS):
                parts = self._step(parts, precisions + rho * parts / self.prices, worth)
        parts[parts < LEAST * parts.max()] = 0.0
        return np.asarray(parts / parts.sum())

    def _known(self, residual: Clique, marginal: Floats, known: Residuals, departures: Mapping[Clique, float]) -> float:
        """Return 1/s² of a residual; 0 where no smaller marginal says anything."""
        if len(residual) < 2:
            return 0.0
        off = dependence(len(residual), len(residual) - 1) / sqrt(2 / pi)
        guess = off**2 * float(np.mean(np.square(marginal, dtype=np.float64)))
        if residual in departures:
            unsure = sqrt(2 / prod(n - 1 for n in marginal.shape)) / known.precisions[residual]
            guess = max(departures[residual], min(unsure, guess))
        return 1 / max(guess, 1e-300)

    def _worth(self, marginals: Sequence[Floats], precisions: Floats) -> Floats:
        """Return k² of each residual, with what noise there is; that of the rows goes into every answer as it is."""
        cells = np.array([m.size for m in marginals], dtype=np.float64)
        left = np.bincount(self.wholes, self.counts / precisions[self.parts], minlength=len(cells))
        pairs = zip(marginals, np.sqrt(left / cells).tolist(), strict=True)
        each = np.array([fitted_errors([m], s, "gaussian")[0] / s if m.size > 1 else sqrt(2 / pi) for m, s in pairs])
        own = self.counts[self.wholes == self.parts]
        return np.asarray(each**2 / cells * own)

    def _step(self, parts: Floats, precisions: Floats, worth: Floats) -> Floats:
        """Move the split towards the residuals in which more precision takes off most for its price."""
        squares = np.bincount(self.rows, (worth / precisions)[self.columns], minlength=len(self.workload.cliques))
        weights = np.array(self.workload.query_weights) / np.sqrt(squares)
        slopes = np.bincount(self.columns, weights[self.rows], minlength=len(parts)) * worth
        moved_to = parts * (slopes / precisions**2 / self.prices) ** POWER
        return np.asarray(moved_to / moved_to.sum()) if moved_to.any() else parts  # without noise to speak of, any will do


def _count(domain: Domain, clique: Clique, part: Clique) -> float:
    """Return what a unit of variance on the residual ``part`` comes to over all cells of ``clique``."""
    own = prod((domain[a] - 1) / domain[a] for a in part)
    return domain.cells(clique) * own * (domain.cells(part) / domain.cells(clique)) ** 2
