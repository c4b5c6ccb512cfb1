"""The mechanisms by name, behind one interface. To add one: a class with that interface, a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from understudy.domain import Clique
from understudy.errors import UserError, did_you_mean
from understudy.mechanism.aim import Aim
from understudy.mechanism.config import AimConfig
from understudy.mechanism.events import OnEvent
from understudy.mechanism.gaussian import Gaussian
from understudy.mechanism.independent import Independent
from understudy.mechanism.mwem import mwem
from understudy.mechanism.outcome import Estimator, Outcome, ZeroCells
from understudy.privacy import Door
from understudy.workload import Workload


class Mechanism(Protocol):
    """Turns a door and a workload into an outcome, spending all that is left of the door's budget."""

    @property
    def name(self) -> str:
        """As in the registry."""
        ...

    def expects(self, workload: Workload) -> tuple[Clique, ...]:
        """Return the marginals that a run may ask for, so that a door can count them in one pass."""
        ...

    def run(
        self,
        door: Door,
        workload: Workload,
        *,
        zeros: Sequence[ZeroCells] = (),
        on_event: OnEvent | None = None,
        estimator: Estimator | None = None,
        clock: Callable[[], float] = ...,
    ) -> Outcome:
        """Run the mechanism."""
        ...


MECHANISMS: MappingProxyType[str, Callable[..., Mechanism]] = MappingProxyType(
    {
        "aim": lambda **options: Aim(AimConfig.of(**options)),
        "mwem": mwem,
        "independent": lambda **options: Independent(AimConfig.of(**options)),
        "gaussian": lambda **options: Gaussian(AimConfig.of(**options)),
        "gaussian+pgm": lambda **options: Gaussian(AimConfig.of(**options), modelled=True),
    }
)


def mechanism(name: str, **options: Any) -> Mechanism:
    """Return the mechanism called ``name`` with ``options`` of ``AimConfig``."""
    try:
        make = MECHANISMS[name]
    except KeyError:
        hint = did_you_mean(name, MECHANISMS)
        raise UserError(f'There is no mechanism "{name}"; choose from {", ".join(MECHANISMS)}.{hint}') from None
    return make(**options)
