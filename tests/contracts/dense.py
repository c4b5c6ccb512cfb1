"""A toy engine: every question is answered from the whole joint table. It shows all that an engine must do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import SchemaError
from understudy.model.contraction import Family
from understudy.model.engine import Factors, two_loop
from understudy.model.network import Flat, Network
from understudy.model.observation import Layout


class Dense:
    def __init__(self, network: Network, potentials: Flat) -> None:
        self.domain = network.domain
        joint = np.zeros(self.domain.sizes)
        for clique, start, length in zip(network.cliques, network.starts, network.lengths, strict=True):
            shape = [self.domain[a] if a in clique else 1 for a in self.domain]
            joint = joint + potentials[start : start + length].reshape(shape)
        if joint.max() == -np.inf:
            raise SchemaError("The structural zeros forbid every record; allow at least one.")
        self.log_z = float(joint.max() + np.log(np.exp(joint - joint.max()).sum()))
        self.joint = np.exp(joint - self.log_z)

    def marginals(self, cliques: Sequence[Clique], total: float, precision: str) -> list[NDArray[np.float64]]:
        return [total * self._sum([self.domain.index(a) for a in clique]) for clique in cliques]

    def factors(self, family: Family) -> Factors:
        scope = tuple(sorted((family.attribute, *family.parents)))
        return Factors((scope,), (self._sum(scope),))

    def _sum(self, kept: Sequence[int]) -> NDArray[np.float64]:
        return np.asarray(self.joint.sum(axis=tuple(i for i in range(len(self.domain)) if i not in kept)))


@dataclass
class DenseFolding:
    matrix: NDArray[np.int64]

    def fold(self, cells: Any) -> Any:
        return cells @ self.matrix

    def unfold(self, places: Any) -> Any:
        return self.matrix @ places


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
    name, calibrate, objective = "dense", staticmethod(Dense), staticmethod(DenseObjective)
    vector = numpy = staticmethod(np.asarray)
    two_loop, refiner = staticmethod(two_loop), None

    def folding(self, index: NDArray[np.int64], places: int) -> DenseFolding:
        return DenseFolding((index[:, :, None] == np.arange(places)).sum(axis=0))
