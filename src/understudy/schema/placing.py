"""Where inside its bins a column's values lie, as lengths: each bin takes up a length of 1, each finer bin its share.

Public: weights are released, bins are declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.bins import RealBins
from understudy.schema.measures import Floats, Measure

EVEN = 0.02
"""The part of a bin's rows that is spread evenly: no finer bin is without any, since its count may be 0 by noise."""
_POINT = 1e-9
"""The width, as a part of the column's range, that a single real number counts with."""


@dataclass(frozen=True, eq=False)
class Place:
    """A column with weights for its finer bins; even inside its bins without. ``fixed``: its values are known already."""

    measure: Measure
    weights: Floats | None
    fixed: bool

    @property
    def name(self) -> str:
        """The column's name."""
        return self.measure.column.name

    def ends(self, codes: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Return between which values each bin's lie, the second excluded."""
        measure = self.measure
        return measure.low[codes], measure.high[codes] + measure.times / measure.parts

    def fits(self, values: Floats, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Say which values, rows × any number, lie in their rows' bins."""
        low, high = self.measure.low[codes][:, None], self.measure.high[codes][:, None]
        return np.asarray((values >= low) & (values <= high))

    def rows(self, codes: NDArray[np.integer]) -> Floats:
        """Return how many rows with these codes each finer bin should have."""
        held: Floats = self.counted * np.bincount(codes, minlength=int(self.bins[-1]) + 1)[self.bins]
        return held

    def up(self, values: Floats) -> Floats:
        """Return the bin of each value, and how many of the bin's rows are below it."""
        return np.interp(values, self.starts, self._up)

    def at(self, up: Floats) -> Floats:
        """Return the value that lies so far up."""
        cells = np.clip(np.searchsorted(self._up, up, side="right") - 1, 0, len(self._up) - 2)
        length = np.maximum(self._up[cells + 1] - self._up[cells], np.finfo(float).tiny)
        part = np.clip((up - self._up[cells]) / length, 0.0, 1.0)
        return self.measure.snapped(self.starts[cells] + part * (self.starts[cells + 1] - self.starts[cells]))

    def find(self, values: Floats) -> NDArray[np.intp]:
        """Return the finer bin of each value."""
        return np.clip(np.searchsorted(self.starts, values, side="right") - 1, 0, len(self.share) - 1)

    def density(self, values: Floats) -> Floats:
        """Return how likely values are among those of their bins."""
        least = _POINT * (self.starts[-1] - self.starts[0])
        return np.asarray((self.share / np.maximum(np.diff(self.starts), least))[self.find(values)])

    @cached_property
    def _fine(self) -> Binned:
        column = self.measure.column
        assert isinstance(column, Binned)
        return column if self.weights is None or column.fine is None else column.fine

    @cached_property
    def starts(self) -> Floats:
        """The values at which finer bins start, and the end of the last."""
        bins = self._fine.bins
        starts = self.measure.values(bins.lowest)
        end = float(self.measure.values(bins.highest[-1:])[0]) + self.measure.times / self.measure.parts
        if isinstance(bins, RealBins):
            end = max(end, float(starts[-1]) + _POINT * (end - float(starts[0])))
        return np.append(starts, end)

    @cached_property
    def bins(self) -> NDArray[np.int32]:
        """The bin of each finer bin."""
        column = self.measure.column
        assert isinstance(column, Binned)
        return column.bins.find(self._fine.bins.lowest)

    @cached_property
    def share(self) -> Floats:
        """The part of its bin's rows that each finer bin has."""
        widths = self._fine.bins.sizes()
        return np.asarray((1 - EVEN) * self.counted + EVEN * self._in_bins(np.maximum(widths, _POINT * widths.sum())))

    @cached_property
    def counted(self) -> Floats:
        """The same, as it was counted."""
        return self._in_bins(np.ones(len(self.bins)) if self.weights is None else self.weights)

    def _in_bins(self, held: Floats) -> Floats:
        return np.asarray(held / np.bincount(self.bins, held)[self.bins])

    @cached_property
    def _up(self) -> Floats:
        ends = np.cumsum(self.share)
        within = ends - self.share - (ends - self.share)[np.searchsorted(self.bins, self.bins)]
        return np.append(self.bins + np.clip(within, 0.0, 1.0), self.bins[-1] + 1.0)
