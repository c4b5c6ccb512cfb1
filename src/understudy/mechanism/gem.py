"""GEM: generative networks with the exponential mechanism (Liu, Vietri and Wu, 2021), by whole marginals.

Sees no counts: the lines that need the table go through the door, and each says what it costs.

T equal rounds: the marginal of the workload that the network answers worst is chosen and measured, and the network is
trained on all that was measured so far. So it is AIM's loop with other settings and another estimator.

Where this departs from the printed text: a query is a whole marginal, as the AIM paper ran it; the number of rows is
measured first, which the paper takes as known; the loss is the squared error in units of the noise. A small share of the
budget is kept to compare the finished model with the table, which bounds rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from understudy.domain import Clique
from understudy.mechanism.aim import Aim, algorithm_1
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import RANKING, estimates
from understudy.mechanism.config import AimConfig, RoundsConfig
from understudy.mechanism.estimators import ESTIMATORS, Estimation
from understudy.mechanism.judge import Paper
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.model import Model
from understudy.privacy import Candidate
from understudy.workload import Workload

ROUNDS = 75
"""T, as the AIM paper ran it."""


@dataclass(frozen=True)
class GemConfig(RoundsConfig):
    """Of GEM."""

    rounds: int | None = ROUNDS
    """T."""
    alpha: float = 0.5
    """Share of each round that is spent on measuring."""


@dataclass(frozen=True)
class Gem(Mechanism):
    """T equal rounds with a generator network."""

    config: GemConfig = field(default_factory=GemConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "gem"

    @property
    def estimation(self) -> Estimation:
        """The generator network."""
        return ESTIMATORS["generator"]

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals to count in the first pass: all that may be asked for, or the first of too many."""
        return Aim(self._switched).expects(workload)

    def execute(self, run: Run) -> Outcome:
        """Play Algorithm 1 with these switches, judged by distance alone."""
        return algorithm_1(run, Distance(self._switched))

    @property
    def _switched(self) -> AimConfig:
        own: dict[str, Any] = {**asdict(self.config), "rounds": self.config.rounds or ROUNDS}
        return AimConfig(**own, initial="uniform", candidates="workload", criterion="mwem", adaptive=False)


class Distance(Paper):
    """The score of a marginal is its L1 error alone."""

    def least(self, scale: float) -> float:
        """Return next to nothing: every marginal could win."""
        return 1e-9

    def scored(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> list[Candidate]:
        """q_r = ‖M_r(D) - M_r(p)‖₁."""
        return [Candidate(r, 1.0, 0.0, e) for r, e in zip(choices, estimates(model, choices, RANKING), strict=True)]
