"""Noisy L1 distances of public estimates from the table. May see exact distances, on their way to the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.domain import Clique, Domain
from understudy.errors import WorkloadError
from understudy.privacy.cost import distances_cost, positive
from understudy.privacy.noise import Counts
from understudy.privacy.questions.base import Mask, Question, Receipt
from understudy.privacy.questions.choice import require_estimates
from understudy.privacy.scoring import Candidate, distances
from understudy.privacy.unit import Unit


@dataclass(frozen=True, eq=False)
class Distances:
    """How far public estimates are from the table's marginals: noisy L1 distances, and all that is public about them."""

    cliques: tuple[Clique, ...]
    values: Counts
    """One a clique; may be negative."""
    sigma: float
    """The scale of the discrete Gaussian noise on each."""
    rho: Fraction
    private: bool


@dataclass(frozen=True, eq=False)
class DistancesTo(Question[Distances]):
    """Asks for ‖M_r(D) - round(estimate)‖₁ of each estimate, with Gaussian noise of scale ``sigma`` on each.

    Costs ``k · unit.score² / (2 sigma²)`` for k estimates: a neighbour moves each distance by at most ``unit.score``.
    Weights and penalties do not matter.
    """

    estimates: Sequence[Candidate]
    sigma: float

    def __post_init__(self) -> None:
        """Refuse an empty question, and a sigma that is none."""
        if not self.estimates:
            raise WorkloadError("There is nothing to compare with the table: give at least one estimate.")
        if any(estimate.query is not None for estimate in self.estimates):
            raise WorkloadError("Distances are those of cells: give estimates without a query.")
        object.__setattr__(self, "sigma", float(positive(self.sigma, "sigma")))

    @property
    def reads(self) -> tuple[Clique, ...]:
        """The marginals that were estimated."""
        return tuple(estimate.clique for estimate in self.estimates)

    @property
    def purpose(self) -> str:
        """As in ``check 12 marginals, gaussian noise of scale 3``: ledgers of unfinished runs have these words."""
        return f"check {len(self.estimates)} marginals, gaussian noise of scale {self.sigma:.6g}"

    def terms(self, unit: Unit) -> Mapping[str, Any]:
        """Return cliques and noise; estimates follow from earlier answers."""
        return {"check": self.reads, "scale": self.sigma.hex()}

    def cost(self, unit: Unit) -> Fraction:
        """Return the cost of so many distances."""
        return distances_cost(self.sigma, len(self.estimates), unit)

    def mask(self, unit: Unit) -> Mask:
        """Return the noise on each distance."""
        return Mask("gaussian", self.sigma, len(self.estimates) * unit.score**2)

    def require(self, domain: Domain) -> None:
        """Refuse estimates that do not fit the table; they are made here at the latest."""
        require_estimates(self.estimates, domain)

    def exact(self, counts: Sequence[Counts]) -> Counts:
        """Return the distances."""
        return np.array([*distances(counts, (one.estimate for one in self.estimates))], dtype=np.int64)

    def size(self, domain: Domain) -> int:
        """Return one for each estimate."""
        return len(self.estimates)

    def answer(self, outcome: Counts, receipt: Receipt) -> Distances:
        """Return the noisy distances."""
        return Distances(self.reads, outcome, self.sigma, receipt.rho, receipt.private)
