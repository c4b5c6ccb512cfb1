"""Tables summed over some of their axes: which cells are added up to which places. Public numbers only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Sum:
    """One table among the cells, and where its sums over some axes are added."""

    start: int
    """Where the table begins among the cells."""
    shape: tuple[int, ...]
    over: tuple[int, ...]
    """The axes that are summed; the others stay in their order."""
    place: int
    """Where the sums begin among the places."""

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return prod(self.shape)

    @property
    def sums(self) -> int:
        """How many sums it has."""
        return prod(size for axis, size in enumerate(self.shape) if axis not in self.over)

    def moved(self, start: int, place: int) -> Sum:
        """Return the same among cells and places that begin elsewhere."""
        return Sum(self.start + start, self.shape, self.over, self.place + place)


def index_of(sums: Sequence[Sum], cells: int, places: int) -> Index:
    """Return rows × cells: the places that each cell is added to, and ``places`` where a row has none for it.

    Sums of the same cells are of tables that begin alike.
    """
    taken: Counter[int] = Counter()
    rows = []
    for one in sums:
        rows.append(taken[one.start])
        taken[one.start] += 1
    index = np.full((max(rows, default=0) + 1, cells), places, dtype=np.int64)
    for one, row in zip(sums, rows, strict=True):
        index[row, one.start : one.start + one.cells] = _within(one.shape, one.over) + one.place
    return index


@lru_cache(maxsize=4096)
def _within(shape: tuple[int, ...], over: tuple[int, ...]) -> Index:
    """Return which of its sums each cell of a table belongs to."""
    left = [1 if axis in over else size for axis, size in enumerate(shape)]
    return np.broadcast_to(np.arange(prod(left), dtype=np.int64).reshape(left), shape).ravel()
