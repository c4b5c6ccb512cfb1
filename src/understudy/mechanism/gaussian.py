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
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import allocate
from understudy.workload import Workload


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """The baseline without selection. It answers the queries, and makes no model."""

    config: NoiseConfig = field(default_factory=NoiseConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "gaussian"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run asks for."""
        return workload.cliques

    def execute(self, run: Run) -> Outcome:
        """Measure every query of the workload at its share."""
        workload = run.workload
        with run.running():
            measure_all(run, self.config, workload.cliques, shares(workload))
            return run.outcome(answers={m.clique: m.values for m in run.measurements})


@dataclass(frozen=True)
class GaussianPgm(Mechanism):
    """The same, with a model fitted to the answers."""

    config: ModelConfig = field(default_factory=ModelConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "gaussian+pgm"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run asks for."""
        return workload.cliques

    def execute(self, run: Run) -> Outcome:
        """Measure every query of the workload at its share, then fit."""
        workload = run.workload
        require_tree(run.domain, [*workload.cliques, *run.model_cliques], self.config.max_size)
        with run.running():
            measure_all(run, self.config, workload.cliques, shares(workload))
            run.estimate(0)
            return run.outcome()


def shares(workload: Workload) -> list[float]:
    """Return ρ_i ∝ (c_i n_i)^(2/3), which minimises Σ c_i n_i σ_i; PrivSyn's allocation, with weights."""
    cells = [workload.domain.cells(clique) for clique in workload.cliques]
    return [(c * n) ** (2 / 3) for c, n in zip(workload.query_weights, cells, strict=True)]


def measure_all(run: Run, config: NoiseConfig, cliques: Sequence[Clique], parts: Sequence[float]) -> None:
    """Measure each clique with its part of the budget; the last takes what rounding has left."""
    budgets = allocate(run.rho, parts)
    for position, (clique, rho) in enumerate(zip(cliques, budgets, strict=True), start=1):
        spend = run.remaining if position == len(cliques) else rho
        scale = config.scale_for(spend, run.door.unit)
        run.measure(clique, scale=scale, noise=config.noise, round_index=0)
