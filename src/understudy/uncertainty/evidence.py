"""What bounds rest on: the released part of a run. Public.

A run that has just ended has all of it. A release that was loaded lacks the models of earlier rounds, and so the rounds:
its measurements and distances still speak.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from understudy.domain import Clique, Zeros
from understudy.mechanism import Outcome, Round
from understudy.model import Model
from understudy.privacy import Distances, Measurement
from understudy.workload import Workload


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was measured, chosen and compared, with the model that came of it."""

    workload: Workload
    """Its closure are the marginals that bounds are for."""
    model: Model | None = field(repr=False)
    measurements: tuple[Measurement, ...] = field(repr=False)
    zeros: tuple[Zeros, ...] = field(repr=False)
    """Combinations declared impossible."""
    rho: Fraction
    """What the run was allowed to spend; rounds share the failure probability by their part of it."""
    rounds: tuple[Round, ...] = field(default=(), repr=False)
    """With the models that candidates were compared with; empty where these are gone, or where sums were compared."""
    distances: Distances | None = field(default=None, repr=False)
    """Noisy distances of the model from the table, where a part of the budget was kept for that."""

    @classmethod
    def of(cls, outcome: Outcome) -> Evidence:
        """Return what a finished run has shown."""
        return cls(
            workload=outcome.workload,
            model=outcome.model,
            measurements=outcome.measurements,
            zeros=outcome.zeros,
            rho=outcome.rho,
            rounds=() if outcome.workload.asked else outcome.rounds,  # Theorem 2 is about scores of cells, not of sums
            distances=outcome.distances,
        )

    @cached_property
    def checked(self) -> frozenset[Clique]:
        """The marginals that were compared with the table; a set, since a wide workload has many."""
        return frozenset() if self.distances is None else frozenset(self.distances.cliques)
