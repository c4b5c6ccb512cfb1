"""Independent: measure all one-way marginals with equal shares of the budget, and assume nothing else.

Sees no counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from understudy.domain import Clique
from understudy.mechanism.candidates import require_tree
from understudy.mechanism.config import AimConfig
from understudy.mechanism.events import OnEvent
from understudy.mechanism.gaussian import measure_all
from understudy.mechanism.outcome import Estimator, Outcome, ZeroCells
from understudy.mechanism.session import Session
from understudy.privacy import Door
from understudy.workload import Workload


@dataclass(frozen=True)
class Independent:
    """The baseline that keeps columns and drops everything between them (structural zeros apart)."""

    config: AimConfig = field(default_factory=AimConfig)
    name: str = "independent"

    def expects(self, workload: Workload) -> tuple[Clique, ...]:
        """Return the marginals that a run asks for."""
        return tuple((attribute,) for attribute in workload.domain)

    def run(
        self,
        door: Door,
        workload: Workload,
        *,
        zeros: Sequence[ZeroCells] = (),
        on_event: OnEvent | None = None,
        estimator: Estimator | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> Outcome:
        """Run on the table behind ``door``, spending all that is left of its budget."""
        session = Session(
            self.name,
            door,
            workload,
            zeros=zeros if self.config.zeros else (),
            on_event=on_event,
            estimator=estimator,
            clock=clock,
        )
        cliques = self.expects(workload)
        require_tree(door.domain, [*cliques, *session.model_cliques], self.config.max_size)
        with session.running():
            measure_all(session, self.config, cliques, [1.0] * len(cliques))
            session.estimate(0)
            return session.outcome()
