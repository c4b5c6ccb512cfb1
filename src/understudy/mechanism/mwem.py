"""MWEM+PGM, the paper's ("basic elements right"): AIM's loop with four switches turned. Sees no counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from understudy.domain import Clique
from understudy.mechanism.aim import Aim
from understudy.mechanism.base import Mechanism
from understudy.mechanism.config import AimConfig, RoundsConfig
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.workload import Workload


@dataclass(frozen=True)
class Mwem(Mechanism):
    """Uniform start, candidates from the workload itself, distance less cells as the score, T = d equal rounds.

    Unlike the paper's it respects ``max_size``, and it measures the number of rows first, which the paper takes as known.
    """

    config: RoundsConfig = field(default_factory=RoundsConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "mwem"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a door should count in its first pass; others are counted when they are asked for."""
        return self._switched.expects(workload)

    def execute(self, run: Run) -> Outcome:
        """Play Algorithm 1 with the switches."""
        return self._switched.execute(run)

    @property
    def _switched(self) -> Aim:
        switches = AimConfig(
            **asdict(self.config), initial="uniform", candidates="workload", criterion="mwem", adaptive=False
        )
        return Aim(switches)
