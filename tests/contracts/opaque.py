"""Vectors that can do what the protocol of engines says and nothing else: no NumPy function takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.model.engine import Calibrated, Folding, Objective, two_loop
from understudy.model.engine.on_numpy import NumpyEngine
from understudy.model.network import Flat
from understudy.model.observation import Layout
from understudy.model.sums import Sum

OPERATORS = ("add", "sub", "mul", "truediv", "pow", "radd", "rmul", "rtruediv")


class Opaque:
    """A vector on a made-up device."""

    def __init__(self, cells: Flat) -> None:
        self.cells = cells

    def __matmul__(self, other: Opaque) -> float:
        return float(self.cells @ other.cells)

    def __neg__(self) -> Opaque:
        return Opaque(-self.cells)

    def __abs__(self) -> Opaque:
        return Opaque(abs(self.cells))

    def max(self) -> float:
        return float(self.cells.max())

    def clip(self, min: float) -> Opaque:
        return Opaque(self.cells.clip(min=min))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("A vector of an engine was taken for a NumPy array.")

    __array_ufunc__ = __array_function__ = __array__


def _operator(name: str) -> Any:
    def operate(self: Opaque, other: Any) -> Opaque:
        if isinstance(other, np.generic | np.ndarray):
            raise TypeError("A vector of an engine met a number of NumPy's.")
        return Opaque(getattr(self.cells, name)(other.cells if isinstance(other, Opaque) else other))

    return operate


for _name in OPERATORS:
    setattr(Opaque, f"__{_name}__", _operator(f"__{_name}__"))


class OpaqueEngine(NumpyEngine):
    name = "opaque"
    two_loop = staticmethod(two_loop)

    def vector(self, values: Flat) -> Any:
        return Opaque(np.array(values, dtype=np.float64))

    def numpy(self, vector: Any) -> Flat:
        return np.array(vector.cells)

    def folding(self, sums: Sequence[Sum], cells: int, places: int) -> Any:
        return OpaqueFolding(super().folding(sums, cells, places))

    def objective(self, layout: Layout) -> Any:
        return OpaqueObjective(super().objective(layout))


class OpaqueFolding:
    def __init__(self, inner: Folding) -> None:
        self.inner = inner

    def fold(self, cells: Any) -> Any:
        return Opaque(np.asarray(self.inner.fold(cells.cells)))

    def unfold(self, places: Any) -> Any:
        return Opaque(np.asarray(self.inner.unfold(places.cells)))


class OpaqueObjective:
    def __init__(self, inner: Objective) -> None:
        self.inner = inner

    def evaluate(self, parameters: Any) -> tuple[Any, float]:
        answers, log_z = self.inner.evaluate(parameters.cells)
        return Opaque(np.asarray(answers)), log_z

    def calibrate(self, parameters: Any) -> Calibrated:
        return self.inner.calibrate(parameters.cells)
