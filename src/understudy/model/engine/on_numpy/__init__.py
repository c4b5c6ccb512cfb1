"""The engine on NumPy: one core for the small products of a fit, all of them for many marginals of a large model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from understudy.model.engine.on_numpy.calibrated import NumpyCalibrated
from understudy.model.engine.on_numpy.curvature import two_loop
from understudy.model.engine.on_numpy.folding import NumpyFolding
from understudy.model.engine.on_numpy.inference import Inference
from understudy.model.engine.on_numpy.objective import NumpyObjective
from understudy.model.engine.protocol import Vector
from understudy.model.network import Flat, Network
from understudy.model.observation import Layout
from understudy.model.sums import Sum


class NumpyEngine:
    """Exact inference on NumPy arrays; its vectors are the caller's own."""

    name = "numpy"
    two_loop = staticmethod(two_loop)
    refiner = None

    def vector(self, values: Flat) -> Flat:
        """Return the numbers as doubles."""
        return np.asarray(values, dtype=np.float64)

    def numpy(self, vector: Vector) -> Flat:
        """Return the vector as it is."""
        return cast(Flat, vector)

    def folding(self, sums: Sequence[Sum], cells: int, places: int) -> NumpyFolding:
        """Prepare sums by place."""
        return NumpyFolding(sums, cells, places)

    def objective(self, layout: Layout) -> NumpyObjective:
        """Prepare a fit to the observations of ``layout``."""
        return NumpyObjective(layout)

    def calibrate(self, network: Network, potentials: Flat) -> NumpyCalibrated:
        """Run inference on log-potentials."""
        return NumpyCalibrated(network, Inference(network).infer(potentials))


__all__ = ["NumpyEngine"]
