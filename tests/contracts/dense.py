"""A toy engine: every question is answered from the whole joint table. It shows all that an engine must do."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import SchemaError
from understudy.model.contraction import Family
from understudy.model.engine import Factors, two_loop
from understudy.model.network import Flat, Network
from understudy.model.observation import Layout
from understudy.model.sums import Sum, index_of


class Dense:
    def __init__(self, network: Network, potentials: Flat) -> None:
        self.domain, joint = network.domain, np.zeros(network.domain.sizes)
        for clique, piece in zip(network.cliques, np.split(potentials, network.starts[1:]), strict=True):
            joint = joint + piece.reshape([self.domain[a] if a in clique else 1 for a in self.domain])
        self.log_z = float(np.logaddexp.reduce(joint, axis=None))
        if self.log_z == -np.inf:
            raise SchemaError("The structural zeros forbid every record; allow at least one.")
        self.joint = np.exp(joint - self.log_z)

    def marginals(self, cliques: Sequence[Clique], total: float, precision: str) -> list[NDArray[np.float64]]:
        return [total * self._sum([self.domain.index(a) for a in clique]) for clique in cliques]

    def factors(self, family: Family) -> Factors:
        return Factors((scope := tuple(sorted((family.attribute, *family.parents))),), (self._sum(scope),))

    def _sum(self, kept: Sequence[int]) -> NDArray[np.float64]:
        return np.asarray(self.joint.sum(axis=tuple(i for i in range(len(self.domain)) if i not in kept)))


@dataclass
class DenseObjective:
    layout: Layout

    def calibrate(self, parameters: Any) -> Dense:
        by_cell = np.append(self.layout.adjoint(parameters), 0.0)
        return Dense(self.layout.network, by_cell[self.layout.index].sum(axis=0) + self.layout.network.floor)

    def evaluate(self, parameters: Any) -> tuple[Any, float]:
        here = self.calibrate(parameters)
        observed = here.marginals([o.clique for o in self.layout.observations], 1.0, "double")
        return self.layout.forward(np.concatenate([table.ravel() for table in observed])), here.log_z


class DenseEngine:
    name, calibrate, objective, vector = "dense", staticmethod(Dense), staticmethod(DenseObjective), staticmethod(np.asarray)
    numpy, two_loop, refiner = vector, staticmethod(two_loop), None

    def folding(self, sums: Sequence[Sum], cells: int, places: int) -> Any:
        index = index_of(sums, cells, places)
        matrix = (index[:, :, None] == np.arange(places)).sum(axis=0)
        return SimpleNamespace(fold=lambda cells: cells @ matrix, unfold=lambda sums: matrix @ sums)
