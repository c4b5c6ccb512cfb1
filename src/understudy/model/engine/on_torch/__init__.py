"""The engine on PyTorch: a GPU where there is one, else the processor. What does not fit in its memory, NumPy works out.

Everything is in double precision. A fit keeps its vectors on the device; a model keeps its calibrated tables there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from understudy.model.engine.on_torch.curvature import two_loop
from understudy.model.engine.on_torch.folding import TorchFolding
from understudy.model.engine.on_torch.refining import refine
from understudy.model.engine.on_torch.sparing import SparingCalibrated, SparingObjective, TooLarge, tried
from understudy.model.engine.protocol import Engine, Goal, Vector
from understudy.model.network import Flat, Network
from understudy.model.observation import Layout
from understudy.model.sums import Sum, index_of


class TorchEngine:
    """Exact inference on PyTorch's tensors."""

    name = "torch"
    two_loop = staticmethod(two_loop)

    def __init__(self, instead: Engine, device: str | None = None) -> None:
        """``instead`` takes over what does not fit in the memory of ``device``."""
        self._instead = instead
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def vector(self, values: Flat) -> Any:
        """Bring numbers to the device."""
        return torch.tensor(values, dtype=torch.float64, device=self._device)

    def numpy(self, vector: Vector) -> Flat:
        """Bring a vector back."""
        return cast(Flat, cast(torch.Tensor, vector).cpu().numpy())

    def folding(self, sums: Sequence[Sum], cells: int, places: int) -> TorchFolding:
        """Prepare sums by place."""
        return TorchFolding(index_of(sums, cells, places), places, self._device)

    def refiner(
        self, codes: NDArray[np.int32], goals: Sequence[Goal], attributes: Sequence[int], rng: np.random.Generator
    ) -> bool:
        """Change ``codes`` in place, the values of one of ``attributes`` after another; say whether memory sufficed."""
        seed = int(rng.integers(1 << 62))
        try:
            tried(lambda: refine(codes, goals, attributes, self._device, seed))
        except TooLarge:
            return False
        return True

    def objective(self, layout: Layout) -> SparingObjective:
        """Prepare a fit to the observations of ``layout``."""
        return SparingObjective(layout, self._device, self._instead)

    def calibrate(self, network: Network, potentials: Flat) -> SparingCalibrated:
        """Run inference on log-potentials."""
        return SparingCalibrated.of(network, potentials, self._device, self._instead)


def has_gpu() -> bool:
    """Say whether PyTorch finds a GPU."""
    return bool(torch.cuda.is_available())


__all__ = ["TorchEngine", "has_gpu"]
