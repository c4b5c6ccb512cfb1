"""What a cell of the grid is, and the configurations of our mechanisms that a cell can name. Public: settings only."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from understudy.mechanism import MEGABYTE, Mechanism, mechanism
from understudy.privacy import Unit

EPSILONS = tuple(float(f"{10 ** (k / 2):.4g}") for k in range(-4, 5))
"""The paper's nine, 0.01 to 100, evenly spaced on a logarithmic scale."""
DELTA = 1e-9
OURS = ("aim", "mwem", "independent", "gaussian", "gaussian+pgm")
FAMILY = ("mst", "privbayes+pgm", "privmrf", "privsyn+pgm", "rap", "gem")
"""Other papers' mechanisms that run on the tables of this one (HDMM+PGM refuses all of their workloads)."""
QUICK_FAMILY = ("mst", "privbayes+pgm", "privmrf", "privsyn+pgm")
"""Those of them whose runs take seconds."""
ESTIMATED = ("relaxed", "generator")
"""AIM with another estimator; the first is the paper's ablation O1."""
ROUNDS = (2, 4, 8, 16, 32, 64, 128, 256)
CAPACITIES = (1.25, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1280.0)
"""MB, as in the paper's experiment; 80 is the default."""


@dataclass(frozen=True)
class Cell:
    """One run of one mechanism. A peer's mechanism has a slash: ``dpmm/aim``."""

    dataset: str
    workload: str
    epsilon: float
    trial: int
    mechanism: str

    @property
    def key(self) -> str:
        """The cell in words that name it, in every file."""
        return f"{self.dataset} {self.workload} {self.mechanism} {self.epsilon:g} {self.trial}"

    @classmethod
    def parse(cls, key: str) -> Cell:
        """Read a key back."""
        dataset, workload, name, epsilon, trial = key.split(" ")
        return cls(dataset, workload, float(epsilon), int(trial), name)

    def seed(self, base: int) -> int:
        """A seed of the cell's own, so that no two cells share noise; the same at every run."""
        digest = hashlib.sha256(f"{base} {self.key}".encode()).digest()
        return int.from_bytes(digest[:6], "big")

    @property
    def setting(self) -> tuple[str, str, float, str]:
        """What its trials have in common."""
        return self.dataset, self.workload, self.epsilon, self.mechanism

    @property
    def is_peer(self) -> bool:
        """Whether another library runs it."""
        return "/" in self.mechanism


@dataclass(frozen=True)
class Configuration:
    """One of our mechanisms with the options that a name stands for."""

    mechanism: str
    options: dict[str, Any] = field(default_factory=dict)
    unit: Unit = Unit.ADD_REMOVE
    zeros: bool = False

    def make(self) -> Mechanism:
        """Return the mechanism."""
        return mechanism(self.mechanism, **self.options)


ABLATIONS: dict[str, tuple[str, str, Configuration]] = {
    "aim:laplace": ("B1", "Laplace noise", Configuration("aim", {"noise": "laplace"})),
    "aim:bounded": ("B2", "bounded (replace-one) privacy", Configuration("aim", unit=Unit.REPLACE)),
    "aim:even": ("B3", "50/50 budget split", Configuration("aim", {"alpha": 0.5})),
    "aim:uniform": ("A1", "uniform initialisation", Configuration("aim", {"initial": "uniform"})),
    "aim:mwem-selection": (
        "A2",
        "MWEM+PGM's criterion and candidates",
        Configuration("aim", {"candidates": "workload", "criterion": "mwem"}),
    ),
    "aim:fixed": ("A3", "d rounds of equal budget", Configuration("aim", {"adaptive": False})),
}
"""By name: the paper's code, what replaces the element, and the configuration without it."""


def _configurations() -> dict[str, Configuration]:
    found = {name: Configuration(name) for name in (*OURS, *FAMILY)}
    found |= {name: configuration for name, (_, _, configuration) in ABLATIONS.items()}
    found |= {f"aim:T={t}": Configuration("aim", {"adaptive": False, "rounds": t}) for t in ROUNDS}
    found |= {f"mwem:T={t}": Configuration("mwem", {"rounds": t}) for t in ROUNDS}
    found |= {f"aim:{c:g}MB": Configuration("aim", {"max_size": int(c * MEGABYTE)}) for c in CAPACITIES if c != 80.0}
    found |= {f"aim:{name}": Configuration("aim", {"estimator": name}) for name in ESTIMATED}
    found["rap:T=1"] = Configuration("rap", {"rounds": 1})
    return found | {"aim:zeros": Configuration("aim", zeros=True)}


CONFIGURATIONS = _configurations()
