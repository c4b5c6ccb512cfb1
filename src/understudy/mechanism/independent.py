"""Independent: measure all one-way marginals with equal shares of the budget, and assume nothing else.

Sees no counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from understudy.domain import Clique
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import require_tree
from understudy.mechanism.config import ModelConfig
from understudy.mechanism.gaussian import measure_all
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.workload import Workload


@dataclass(frozen=True)
class Independent(Mechanism):
    """The baseline that keeps columns and drops everything between them (structural zeros apart)."""

    config: ModelConfig = field(default_factory=ModelConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "independent"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run asks for."""
        return tuple((attribute,) for attribute in workload.domain)

    def execute(self, run: Run) -> Outcome:
        """Measure every column alike, then fit."""
        cliques = self.expects(run.workload)
        require_tree(run.domain, [*cliques, *run.model_cliques], self.config.max_size)
        with run.running():
            measure_all(run, self.config, cliques, [1.0] * len(cliques))
            run.estimate(0)
            return run.outcome()
