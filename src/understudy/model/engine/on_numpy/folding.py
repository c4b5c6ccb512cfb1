"""Sums of cells by place. Public numbers only."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from understudy.model.engine.protocol import Vector
from understudy.model.network import Flat


class NumpyFolding:
    """Sums by place, one row of the index after another."""

    def __init__(self, index: NDArray[np.int64], places: int) -> None:
        self._rows = [np.minimum(row, places) for row in index]
        self._places = places

    def fold(self, cells: Vector) -> Flat:
        """Return, for each place, the sum of the cells that are added to it."""
        found = np.zeros(self._places + 1)
        for row in self._rows:
            found += np.bincount(row, cast(Flat, cells), self._places + 1)
        return found[:-1]

    def unfold(self, places: Vector) -> Flat:
        """Return, for each cell, the sum of the places that it is added to."""
        padded = np.append(cast(Flat, places), 0.0)
        found: Flat = padded[self._rows[0]]
        for row in self._rows[1:]:
            found += padded[row]
        return found
