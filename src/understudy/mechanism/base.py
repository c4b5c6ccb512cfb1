"""What every mechanism is: settings, the marginals it may ask for, and how it runs. ``run`` is the same for all.

Sees no counts: a mechanism holds a door, in a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import monotonic
from typing import ClassVar

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import InternalError
from understudy.mechanism.candidates import require_capacity
from understudy.mechanism.config import ModelConfig, NoiseConfig
from understudy.mechanism.estimators import PGM, Estimation, instead
from understudy.mechanism.events import OnEvent
from understudy.mechanism.outcome import Estimator, Outcome
from understudy.mechanism.public import Public
from understudy.mechanism.running import Run
from understudy.model import EngineFor, on_cpu
from understudy.privacy import Door
from understudy.schema import Column
from understudy.schema.gaps import Gap
from understudy.workload import Workload


class Mechanism(ABC):
    """Turns a door and a workload into an outcome, spending all that is left of the door's budget."""

    config: NoiseConfig
    """Settings of its own; those of a model where it makes one."""
    takes_public: ClassVar[bool] = False
    """Whether it can start from a public table."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in the registry."""

    @property
    def max_size(self) -> int:
        """Bytes that its model may grow to; 0 where it makes none."""
        return self.config.max_size if isinstance(self.config, ModelConfig) else 0

    @property
    def follows(self) -> bool:
        """Whether it models derived columns that the codes of others tell, so that it can choose what is asked of them."""
        return False

    @property
    def every_column(self) -> bool:
        """Whether its last fit is held to what all answers say of each single column; to numeric ones it is in any case."""
        return False

    @property
    def estimation(self) -> Estimation:
        """How its models are fitted."""
        return PGM

    def require(self, domain: Domain, zeros: Sequence[Zeros]) -> None:
        """Refuse what no model of the allowed size can hold, as far as the schema tells: before a budget is reserved."""
        kept = self.config.enforced(zeros)
        self.estimation.require(domain, kept, self.max_size)
        if self.max_size and self.estimation.graphical:
            require_capacity(domain, [zero.clique for zero in kept], [domain.attributes[:1]], self.max_size)

    @abstractmethod
    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a door should count in its first pass; others are counted when they are asked for."""

    @abstractmethod
    def execute(self, run: Run) -> Outcome:
        """Refuse what cannot be done, before any spend; then measure, and close the record."""

    def run(
        self,
        door: Door,
        workload: Workload,
        *,
        zeros: Sequence[Zeros] = (),
        on_event: OnEvent | None = None,
        estimator: Estimator | None = None,
        clock: Callable[[], float] = monotonic,
        engine: EngineFor = on_cpu,
        public: Public | None = None,
        columns: Sequence[Column] = (),
        gaps: Sequence[Gap] = (),
    ) -> Outcome:
        """Run on the table behind ``door``, spending all that is left of its budget.

        A ``public`` table of the same schema helps a mechanism that ``takes_public``; others are not given one.
        ``columns`` are the schema's: what their numbers add up to is asked for where there is a model to tell it to. So are
        ``gaps``: the last fit is held to what the door's counts of them say.
        ``estimator`` takes the place of ``fit`` where models are graphical.
        """
        if public is not None and not (self.takes_public and self.estimation.graphical):
            raise InternalError(f"{self.name} has no use for public data.")
        self.require(door.domain, zeros)
        return self.execute(
            Run(
                self.name,
                door,
                workload,
                zeros=self.config.enforced(zeros),
                on_event=on_event,
                estimation=instead(estimator) if estimator and self.estimation.graphical else self.estimation,
                clock=clock,
                engine=engine,
                inside=self.config.for_inside,
                public=public,
                columns=columns if isinstance(self.config, ModelConfig) else (),
                gaps=gaps,
            )
        )
