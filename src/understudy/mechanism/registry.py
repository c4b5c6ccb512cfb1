"""The mechanisms by name, behind one interface. To add one: a class with that interface, a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from understudy.errors import UserError, did_you_mean
from understudy.mechanism.aim import Aim
from understudy.mechanism.aim2 import Aim2, Aim2Config
from understudy.mechanism.ap_pgm import ApPgm
from understudy.mechanism.base import Mechanism
from understudy.mechanism.config import AimConfig, CheckedConfig, ModelConfig, NoiseConfig, RoundsConfig
from understudy.mechanism.gaussian import Gaussian, GaussianPgm
from understudy.mechanism.gem import Gem, GemConfig
from understudy.mechanism.hdmm import Hdmm
from understudy.mechanism.independent import Independent
from understudy.mechanism.mst import Mst
from understudy.mechanism.mwem import Mwem
from understudy.mechanism.privbayes import PrivBayes, PrivBayesConfig
from understudy.mechanism.privmrf import PrivMrf, PrivMrfConfig
from understudy.mechanism.privsyn import PrivSyn
from understudy.mechanism.rap import Rap, RapConfig
from understudy.mechanism.residuals import ByNeed


@dataclass(frozen=True)
class Kind:
    """A mechanism, and what its settings are."""

    make: Callable[[Any], Mechanism]
    config: type[NoiseConfig]

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of its options."""
        return tuple(sorted(field.name for field in fields(self.config)))

    @property
    def modelled(self) -> bool:
        """Whether it makes a model, which rows can be drawn from."""
        return issubclass(self.config, ModelConfig)


MECHANISMS: MappingProxyType[str, Kind] = MappingProxyType(
    {
        "aim": Kind(Aim, AimConfig),
        "aim2": Kind(Aim2, Aim2Config),
        "mwem": Kind(Mwem, RoundsConfig),
        "mst": Kind(Mst, CheckedConfig),
        "privbayes+pgm": Kind(PrivBayes, PrivBayesConfig),
        "privmrf": Kind(PrivMrf, PrivMrfConfig),
        "privsyn+pgm": Kind(PrivSyn, CheckedConfig),
        "hdmm+pgm": Kind(Hdmm, CheckedConfig),
        "residuals": Kind(ByNeed, CheckedConfig),
        "ap-pgm": Kind(ApPgm, CheckedConfig),
        "gem": Kind(Gem, GemConfig),
        "rap": Kind(Rap, RapConfig),
        "independent": Kind(Independent, ModelConfig),
        "gaussian": Kind(Gaussian, NoiseConfig),
        "gaussian+pgm": Kind(GaussianPgm, ModelConfig),
    }
)

DEFAULT = "auto"
"""Where nobody says: the mechanism with the least error forecast (``chosen.py``). No mechanism has this name."""


def mechanism(name: str, **options: Any) -> Mechanism:
    """Return the mechanism called ``name`` with ``options`` of its own; one that it has no use for is refused."""
    kind = kind_of(name)
    for option in options:
        if option not in kind.takes:
            hint = did_you_mean(option, kind.takes)
            raise UserError(f'"{name}" has no option "{option}"; its options are {", ".join(kind.takes)}.{hint}')
    return kind.make(kind.config(**options))


def kind_of(name: str) -> Kind:
    """Return the entry of the mechanism called ``name``."""
    try:
        return MECHANISMS[name]
    except KeyError:
        hint = did_you_mean(name, MECHANISMS)
        raise UserError(f'There is no mechanism "{name}"; choose from {", ".join(MECHANISMS)}.{hint}') from None
