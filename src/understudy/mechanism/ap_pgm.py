"""AP-PGM: the whole workload measured, and marginals fitted that agree where they overlap: no junction tree is needed.

Sees no counts: what needs the table goes through the door, and says what it costs.

McKenna, Pradhan, Sheldon and Miklau, 2021, give an estimator, and leave open what is measured. Here it is every marginal of
the workload, as in Gaussian, with the budget split as is best for their summed L1 error; AIM chooses for itself with
``estimator="regions"``. What the estimator does, and how other answers and records come from it, is in
``understudy.model``. A small share of the budget is kept to compare the finished model with the table, which bounds
rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from understudy.domain import Clique
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.estimators import ESTIMATORS, Estimation, require_regions
from understudy.mechanism.gaussian import measure_all, shares
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.workload import Workload


@dataclass(frozen=True)
class ApPgm(Mechanism):
    """Every marginal of the workload, then a model of regions."""

    config: CheckedConfig = field(default_factory=CheckedConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "ap-pgm"

    @property
    def estimation(self) -> Estimation:
        """Marginals that agree where they overlap."""
        return ESTIMATORS["regions"]

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run asks for, and those that the model may be checked on."""
        return workload.closure

    def execute(self, run: Run) -> Outcome:
        """Measure every marginal at its share, then fit."""
        workload = run.workload
        require_regions(run.domain, workload.cliques, run.zeros, self.config.max_size)
        run.reserve(self.config.kept)
        with run.running():
            measure_all(run, self.config, workload.cliques, shares(workload))  # costs all but what is kept for the check
            model = run.estimate(0)
            return run.outcome(checked=to_check(run, self.config, model))
