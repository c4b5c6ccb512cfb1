"""How the values of a column lie, numbers or moments: means of its codes, and quantiles of any counts of them. Public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.bins import Bins, WholeBins
from understudy.schema.column import Column
from understudy.schema.listed import Listed
from understudy.schema.scales import Decimals

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """A number of a column: so far up (``part``) in a cell; -1 and one beyond the last stand for the catch-all's own."""

    cell: int
    part: float


@dataclass(frozen=True, eq=False)
class Spread:
    """The cells of a column in rising order: of each the code, its share of the code's rows, its ends.

    ``other`` is the number of a catch-all with a code of its own, where no cell has it.
    """

    column: Column
    bins: Bins
    code: NDArray[np.integer]
    share: Floats
    other: float | None = None
    unit: float = 1.0
    """What 1 on the column's scale is worth, where its values are numbers."""

    @property
    def _own(self) -> int | None:
        """The code of a catch-all that no cell has."""
        own = self.column.places.own_other
        return own if own is not None and own not in self.code else None

    def codes(self) -> NDArray[np.intp]:
        """Return the codes that have a value: all but null."""
        return np.array([c for c in range(self.column.size) if c != self.column.places.null], dtype=np.intp)

    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest value that a row can have."""
        own = [] if self._own is None else [float(self.other or 0)]
        numbers = [float(self.bins.lowest.min()), float(self.bins.highest.max()), *own]
        return min(numbers) * self.unit, max(numbers) * self.unit

    def means(self) -> Floats:
        """Return the mean value of each code; 0 for null."""
        middle = (self.bins.lowest + self.bins.highest) / 2
        found = np.bincount(self.code, self.share * middle, minlength=self.column.size)
        if self._own is not None and self.other is not None:
            found[self._own] = self.other
        return np.asarray(found * self.unit, dtype=np.float64)

    def quantiles(self, counts: Floats, at: float) -> Floats:
        """Return a quantile of each row of counts (a count for each code); NaN where a row has none."""
        return np.array([self.quantile(row, at) for row in counts])

    def quantile(self, counts: Floats, at: float) -> float:
        """Return the number that a share ``at`` of the rows lies below; NaN where there are none."""
        place = self.place(counts, at)
        if place is None:
            return float("nan")
        if not 0 <= place.cell < len(self.share):
            return float(self.other or 0) * self.unit
        return float(self.bins.at(np.array([place.cell]), np.array([place.part]))[0]) * self.unit

    def place(self, counts: Floats, at: float) -> Place | None:
        """Walk up the cells until a share of the rows is below; the declared catch-all stands where its value does."""
        weights, below, total = self._stacked(counts)
        if total <= 0:
            return None
        ends, point = below + np.cumsum(weights), at * total
        if self._own is not None and (point <= below or point > ends[-1]):
            return Place(-1 if point <= below else len(ends), 1.0)
        cell = min(int(np.searchsorted(ends, point)), len(ends) - 1)
        part = (point - (ends[cell] - weights[cell])) / max(float(weights[cell]), 1e-300)
        return Place(cell, min(max(part, 0.0), 1.0))

    def rank(self, counts: Floats, place: Place) -> float:
        """Return the share of the rows that lies below a place; NaN where there are none."""
        weights, below, total = self._stacked(counts)
        if total <= 0:
            return float("nan")
        inside = float(weights[place.cell]) if 0 <= place.cell < len(weights) else 0.0
        lower = float(weights[: max(place.cell, 0)].sum()) + place.part * inside
        return (below + lower) / total

    def _stacked(self, counts: Floats) -> tuple[Floats, float, float]:
        """Return the rows of each cell, those of the catch-all below all cells, and those of all together."""
        extra = 0.0 if self._own is None else float(counts[self._own])
        weights = self.share * counts[self.code]
        below = extra if self.other is not None and self.other < self.bins.bounds[0] else 0.0
        return weights, below, float(weights.sum()) + extra


def spread_of(column: Column, inside: Floats | None) -> Spread:
    """Return the spread by the weights ``inside``; without any, evenly inside each bin. Listed numbers are cells each."""
    if isinstance(column, Listed):
        order = np.argsort(column.numbers, kind="stable")
        rising = column.numbers[order]
        return Spread(column, WholeBins(rising, rising), order, np.ones(len(order)))
    assert isinstance(column, Binned)
    scale, other = column.scale, column.other_number
    unit = scale.step / scale.per_one if isinstance(scale, Decimals) else 1.0
    if inside is None or column.fine is None:
        number = len(column.bins.lowest)
        return Spread(column, column.bins, np.arange(number), np.ones(number), other, unit)
    code = column.coarse[: len(inside)]
    return Spread(column, column.fine.bins, code, inside / np.bincount(code, inside)[code], other, unit)
