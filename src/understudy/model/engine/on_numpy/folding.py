"""Sums of cells by place. Public numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from understudy.model.engine.protocol import Vector
from understudy.model.network import Flat
from understudy.model.sums import Sum, index_of

LARGE = 1024
"""Tables of so many cells are summed axis by axis; smaller ones cell by cell, all at once. (Measured.)"""
LONG = 8
"""Along an axis of so many cells, or the last one, a product with ones is the fastest sum. (Measured.)"""


class NumpyFolding:
    """Sums by place: of large tables one after another, of all small ones by an index."""

    def __init__(self, sums: Sequence[Sum], cells: int, places: int) -> None:
        self._cells, self._places = cells, places
        self._large = [Axes.of(one) for one in sums if one.cells >= LARGE]
        small = [one for one in sums if one.cells < LARGE]
        index = index_of(small, cells, places) if small else np.empty((0, cells), dtype=np.int64)
        used = np.flatnonzero((index < places).any(axis=0))
        self._where: NDArray[np.int64] | slice = used if used.size < cells else slice(None)
        self._rows = [np.ascontiguousarray(row[self._where]) for row in index]

    def fold(self, cells: Vector) -> Flat:
        """Return, for each place, the sum of the cells that are added to it."""
        found = np.zeros(self._places + 1)
        flat = cast(Flat, cells)
        some = flat[self._where] if self._rows else flat
        for row in self._rows:
            found += np.bincount(row, some, self._places + 1)
        for one in self._large:
            one.add_sums(flat, found)
        return found[:-1]

    def unfold(self, places: Vector) -> Flat:
        """Return, for each cell, the sum of the places that it is added to."""
        found = np.zeros(self._cells)
        flat = cast(Flat, places)
        if self._rows:
            padded = np.append(flat, 0.0)
            small = padded[self._rows[0]]
            for row in self._rows[1:]:
                small += padded[row]
            found[self._where] = small
        for one in self._large:
            one.add_back(flat, found)
        return found


@dataclass(frozen=True)
class Axes:
    """A sum, axis by axis: each as the middle one of three, the last first."""

    cells: slice
    shape: tuple[int, ...]
    steps: tuple[tuple[tuple[int, int, int], Flat], ...]
    """The shape that is summed over its middle axis, and as many ones."""
    places: slice
    kept: tuple[int, ...]

    @classmethod
    def of(cls, one: Sum) -> Axes:
        """Plan it."""
        shape, steps = list(one.shape), []
        for axis in sorted(one.over, reverse=True):
            steps.append(((prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])), np.ones(shape[axis])))
            shape[axis] = 1
        cells, places = slice(one.start, one.start + one.cells), slice(one.place, one.place + one.sums)
        return cls(cells, one.shape, tuple(steps), places, tuple(shape))

    def add_sums(self, cells: Flat, places: Flat) -> None:
        """Add the table's sums to ``places``."""
        found = cells[self.cells]
        for shape, ones in self.steps:
            found = _summed(found.reshape(shape), ones)
        places[self.places] += found.ravel()

    def add_back(self, places: Flat, cells: Flat) -> None:
        """Add to each cell of the table the place that it is summed to."""
        table = cells[self.cells].reshape(self.shape)
        table += places[self.places].reshape(self.kept)


def _summed(table: NDArray[np.float64], ones: Flat) -> NDArray[np.float64]:
    """Sum over the middle axis."""
    if table.shape[2] == 1:
        return np.asarray(np.dot(table[:, :, 0], ones))
    if ones.size < LONG:
        return np.asarray(np.einsum("abc->ac", table))
    return np.asarray(np.matmul(ones, table))
