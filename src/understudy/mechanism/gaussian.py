"""Gaussian: measure every query of the workload, with the budget split as is best for their summed L1 error.

Sees no counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from understudy.domain import Clique
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import require_tree
from understudy.mechanism.config import ModelConfig, NoiseConfig
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.schedule import allocate
from understudy.mechanism.session import Session
from understudy.workload import Workload


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """The baseline without selection. It answers the queries, and makes no model."""

    config: NoiseConfig = field(default_factory=NoiseConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "gaussian"

    def expects(self, workload: Workload) -> tuple[Clique, ...]:
        """Return the marginals that a run asks for."""
        return workload.cliques

    def play(self, session: Session) -> Outcome:
        """Measure every query of the workload at its share."""
        workload = session.workload
        with session.running():
            measure_all(session, self.config, workload.cliques, shares(workload))
            return session.outcome(answers={m.clique: m.values for m in session.measurements})


@dataclass(frozen=True)
class GaussianPgm(Mechanism):
    """The same, with a model fitted to the answers."""

    config: ModelConfig = field(default_factory=ModelConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "gaussian+pgm"

    def expects(self, workload: Workload) -> tuple[Clique, ...]:
        """Return the marginals that a run asks for."""
        return workload.cliques

    def play(self, session: Session) -> Outcome:
        """Measure every query of the workload at its share, then fit."""
        workload = session.workload
        require_tree(session.domain, [*workload.cliques, *session.model_cliques], self.config.max_size)
        with session.running():
            measure_all(session, self.config, workload.cliques, shares(workload))
            session.estimate(0)
            return session.outcome()


def shares(workload: Workload) -> list[float]:
    """Return ρ_i ∝ (c_i n_i)^(2/3), which minimises Σ c_i n_i σ_i; PrivSyn's allocation, with weights."""
    cells = [workload.domain.cells(clique) for clique in workload.cliques]
    return [(c * n) ** (2 / 3) for c, n in zip(workload.costs, cells, strict=True)]


def measure_all(session: Session, config: NoiseConfig, cliques: Sequence[Clique], parts: Sequence[float]) -> None:
    """Measure each clique with its part of the budget; the last takes what rounding has left."""
    budgets = allocate(session.rho, parts)
    for position, (clique, rho) in enumerate(zip(cliques, budgets, strict=True), start=1):
        spend = session.remaining if position == len(cliques) else rho
        scale = config.scale_for(spend, session.door.unit)
        session.measure(clique, scale=scale, noise=config.noise, round_index=0)
