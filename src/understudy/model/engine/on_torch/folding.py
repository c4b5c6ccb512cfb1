"""Sums of cells by place, on a device, in an order that is always the same. Public numbers only."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from understudy.model.engine.on_torch.rings import Table

LONGEST = 64
"""Longer sums are made of sums of so many numbers, which are made at the same time."""


class TorchFolding:
    """Sums by place: the cells are gathered place by place, and each place's summed."""

    def __init__(self, index: NDArray[np.int64], places: int, device: torch.device) -> None:
        self._device = device
        flat = np.minimum(index, places).ravel()
        counts = np.bincount(flat, minlength=places + 1)[:places]
        self._index = self._tensor(np.minimum(index, places))
        self._padded = bool((flat == places).any())
        self._sources = self._tensor(np.argsort(flat, kind="stable")[: counts.sum()] % index.shape[1])
        self._sums: list[Table] = []
        if not np.all(counts == 1):
            self._sums = self._segments(counts)

    def _segments(self, counts: NDArray[np.int64]) -> list[Table]:
        """Return where the sums begin and end: of short pieces first, then of the pieces of each place."""
        pieces = -(-counts // LONGEST)
        if pieces.max(initial=0) <= 1:
            return [self._tensor(np.cumsum([0, *counts]))]
        lengths = np.full(pieces.sum(), LONGEST)
        ends = np.cumsum(pieces)[pieces > 0] - 1
        lengths[ends] = (counts - (pieces - 1) * LONGEST)[pieces > 0]
        return [self._tensor(np.cumsum([0, *lengths])), self._tensor(np.cumsum([0, *pieces]))]

    def _tensor(self, array: NDArray[np.int64]) -> Table:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(self._device)

    def fold(self, cells: Table) -> Table:
        """Return, for each place, the sum of the cells that are added to it."""
        found = cells[self._sources]
        for offsets in self._sums:
            found = torch.segment_reduce(found, "sum", offsets=offsets, initial=0.0, unsafe=True)
        return found

    def unfold(self, places: Table) -> Table:
        """Return, for each cell, the sum of the places that it is added to."""
        padded = torch.nn.functional.pad(places, (0, 1)) if self._padded else places
        return padded[self._index[0]] if len(self._index) == 1 else padded[self._index].sum(0)
