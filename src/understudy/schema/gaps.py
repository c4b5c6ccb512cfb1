"""How far a column lies above one that it is never below, as an attribute of its own: its cells follow from the declaration.

Encoding sees private rows: each gets one cell, by its own two values alone. Everything else here is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.column import Held
from understudy.schema.measures import Floats, Measure

PARTS = 4
"""Cells for each doubling of a distance; up to so many steps, each distance has a cell."""
MOST_STEPS = 1 << 30
"""The largest distance is counted in no more steps than this."""
_NEARLY = 1e-6
"""A distance that is so little of a step short of the next is the next: it was rounded."""


@dataclass(frozen=True, eq=False)
class Gap:
    """The distances from ``low`` to ``high``, from 0 up, in cells that widen; a last code where there is none.

    There is none where a value is missing, does not fit, or where the order does not hold.
    """

    low: Measure
    high: Measure

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return gap_name(self.low.column.name, self.high.column.name)

    @property
    def columns(self) -> tuple[str, str]:
        """The columns that it is between."""
        return self.low.column.name, self.high.column.name

    @cached_property
    def largest(self) -> float:
        """The largest distance that the bounds allow."""
        return float(np.nanmax(self.high.high) - np.nanmin(self.low.low))

    @cached_property
    def step(self) -> float:
        """What distances are counted in: the finer of both columns' steps, but no less than a part of the largest."""
        steps = [m.times / m.parts for m in (self.low, self.high)]
        return max(min(steps), self.largest / MOST_STEPS)

    @cached_property
    def starts(self) -> Floats:
        """Where each cell starts, in steps: 0, 1, 2, … one by one, and then so many for each doubling."""
        most = int(self.largest / self.step + _NEARLY)
        found, width = list(range(min(PARTS, most + 1))), 1
        while PARTS * width <= most:
            found += [x for x in range(PARTS * width, 2 * PARTS * width, width) if x <= most]
            width *= 2
        return np.array(found, np.float64)

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.starts) + 1

    @cached_property
    def ends(self) -> Floats:
        """The distances between which the cells lie, in the columns' own numbers: one more than there are cells."""
        return np.append(self.starts, np.floor(self.largest / self.step + _NEARLY) + 1) * self.step

    def find(self, distances: Floats) -> NDArray[np.intp]:
        """Return the cell of each distance, none of which is below 0."""
        return np.searchsorted(self.starts, np.floor(distances / self.step + _NEARLY), side="right") - 1

    def inside(self, cells: NDArray[np.intp], part: Floats | float) -> Floats:
        """Return the distance that lies so far up in each cell: a whole number of steps."""
        first, last = self.ends[cells], self.ends[cells + 1]
        return np.asarray(np.floor((first + part * (last - first)) / self.step + _NEARLY) * self.step)

    def encode(self, low: Held, high: Held) -> NDArray[np.int32]:
        """Return the code of each row."""
        distances = self.high.of(high) - self.low.of(low)
        known = distances >= 0
        return np.where(known, self.find(np.where(known, distances, 0.0)), self.size - 1).astype(np.int32)


def gap_name(low: str, high: str) -> str:
    """Return the name of the attribute that says how far a column lies above another."""
    return f"{high} above {low}"


def gap_between(low: Measure, high: Measure) -> Gap | None:
    """Return the gap of two columns in order; None where their codes tell it, or where there can be none."""
    drawn = [isinstance(m.column, Binned) and m.column.drawn for m in (low, high)]
    if not any(drawn) or not np.nanmax(high.high) > np.nanmin(low.low):
        return None
    return Gap(low, high)
