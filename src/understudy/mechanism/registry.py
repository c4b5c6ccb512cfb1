"""The mechanisms by name, behind one interface. To add one: a class with that interface, a line here."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from understudy.errors import UserError, did_you_mean
from understudy.mechanism.aim import Aim
from understudy.mechanism.base import Mechanism
from understudy.mechanism.config import AimConfig
from understudy.mechanism.gaussian import Gaussian
from understudy.mechanism.independent import Independent
from understudy.mechanism.mwem import mwem

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
