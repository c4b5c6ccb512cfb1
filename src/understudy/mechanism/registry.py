"""The mechanisms by name, behind one interface. To add one: a class with that interface, a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from understudy.errors import UserError, did_you_mean
from understudy.mechanism.aim import Aim
from understudy.mechanism.base import Mechanism
from understudy.mechanism.config import AimConfig
from understudy.mechanism.gaussian import Gaussian
from understudy.mechanism.independent import Independent
from understudy.mechanism.mwem import SWITCHES, mwem


@dataclass(frozen=True)
class Kind:
    """How a mechanism is made, and the settings of ``AimConfig`` that mean something to it."""

    make: Callable[..., Mechanism]
    takes: tuple[str, ...]


ALL = tuple(field.name for field in fields(AimConfig))
MODELLED = ("max_size", "noise", "zeros")

MECHANISMS: MappingProxyType[str, Kind] = MappingProxyType(
    {
        "aim": Kind(lambda **options: Aim(AimConfig(**options)), ALL),
        "mwem": Kind(mwem, tuple(name for name in ALL if name not in SWITCHES)),
        "independent": Kind(lambda **options: Independent(AimConfig(**options)), MODELLED),
        "gaussian": Kind(lambda **options: Gaussian(AimConfig(**options)), ("noise",)),
        "gaussian+pgm": Kind(lambda **options: Gaussian(AimConfig(**options), modelled=True), MODELLED),
    }
)


def mechanism(name: str, **options: Any) -> Mechanism:
    """Return the mechanism called ``name`` with ``options`` of ``AimConfig``; one that it has no use for is refused."""
    try:
        kind = MECHANISMS[name]
    except KeyError:
        hint = did_you_mean(name, MECHANISMS)
        raise UserError(f'There is no mechanism "{name}"; choose from {", ".join(MECHANISMS)}.{hint}') from None
    for option in options:
        if option not in kind.takes:
            hint = did_you_mean(option, kind.takes)
            raise UserError(f'"{name}" has no option "{option}"; its options are {", ".join(kind.takes)}.{hint}')
    return kind.make(**options)
