"""Weights of a column's finer bins, from noisy counts of them and the rows of each bin. Public: computed from both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned

Floats = NDArray[np.float64]

FEWEST = 1e-6
"""Rows of a bin that the model takes for empty: its values are as likely as those beside them."""
CLEAR = 3.0
"""A single value stands out where its count exceeds what is expected of it by so many standard deviations of the noise."""
NOTHING = 1e-280
"""Fewer rows are none: what is shared out is not divided by them."""
THIN = 1 / 50
"""A finer bin that takes less than this part of its surroundings is a single value among many."""


def fine_weights(column: Binned, rows: Floats, counted: NDArray[np.integer], variance: float) -> Floats:
    """Return what share of a bin's rows lies in each of its finer bins, times those rows.

    ``rows`` are those of its codes, ``counted`` noisy counts of the finer ones, with noise of this variance.
    """
    assert column.fine is not None
    number = len(column.fine.bins.lowest)
    expected = expected_rows(column, np.maximum(rows[: column.places.ordinary], FEWEST))
    counts = counted.reshape(-1)[:number].astype(np.float64)
    starts = np.searchsorted(column.coarse[:number], np.arange(column.places.ordinary + 1))
    shrunk = _Shrinking(counts, expected, variance, expected.copy())
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        shrunk.settle(first, last)
    return shrunk.weights


@dataclass(frozen=True)
class _Shrinking:
    """Splits a bin's rows in two, again and again, as noisy counts say, as far as these stand out from the noise."""

    counts: Floats
    expected: Floats
    variance: float
    weights: Floats

    def settle(self, first: int, last: int) -> None:
        """Share the weight of the fine bins ``first`` … ``last``-1 among them; their sum stays."""
        if last - first < 2:
            return
        middle = self._middle(first, last)
        total = float(self.weights[first:last].sum())
        prior = self.expected[first:middle].sum() / max(float(self.expected[first:last].sum()), 1e-300) * total
        low, high = middle - first, last - middle
        excess = total - self.counts[first:last].sum()
        left = self.counts[first:middle].sum() + excess * low / (low + high) - prior
        moved = self._kept(float(left), self.variance * low * high / (low + high), self._alone(first, middle, last))
        left = min(max(prior + moved, 0.0), total)
        self._scale(first, middle, left)
        self._scale(middle, last, total - left)
        self.settle(first, middle)
        self.settle(middle, last)

    def _kept(self, difference: float, variance: float, alone: int) -> float:
        """Return how much of a difference to keep: all or nothing for a single value, else less the more it may be noise."""
        if alone:
            return difference if alone * difference > CLEAR * variance**0.5 else 0.0
        return difference * max(0.0, 1.0 - variance / max(difference**2, 1e-300))

    def _middle(self, first: int, last: int) -> int:
        """Return where to split: halfway, but not between a single value and what follows it."""
        middle = (first + last) // 2
        if last - first > 2 and self.expected[middle - 1] < THIN * self.expected[middle]:
            middle -= 1 if middle - 1 > first else -1
        return middle

    def _alone(self, first: int, middle: int, last: int) -> int:
        """Return 1 where the lower part is a single value among many, -1 where the upper part is, else 0."""
        whole = THIN * float(self.expected[first:last].sum())
        if middle - first == 1 and self.expected[first] < whole:
            return 1
        return -1 if last - middle == 1 and self.expected[middle] < whole else 0

    def _scale(self, first: int, last: int, total: float) -> None:
        held = self.expected[first:last]
        whole = float(held.sum())
        self.weights[first:last] = held * (total / whole) if whole > NOTHING else total / (last - first)


def expected_rows(column: Binned, rows: Floats) -> Floats:
    """Return the rows of each finer bin that those of the bins beside each other let expect.

    A smooth curve through the cumulated rows (a monotone cubic spline, by Fritsch and Butland) keeps the rows of each bin.
    """
    assert column.fine is not None
    widths, fine = _in_parts(column.bins.sizes(), column.fine.bins.sizes())
    bins = column.coarse[: len(fine)]
    starts = np.searchsorted(bins, np.arange(len(widths)))
    density = np.divide(rows, widths, out=np.zeros_like(rows), where=widths > 0)
    slopes = _slopes(density, widths)
    ends = np.cumsum(fine)
    ends -= np.append(0.0, ends)[starts][bins]  # from the start of its own bin
    width = np.maximum(widths, np.finfo(float).tiny)[bins]
    after = _risen(np.clip(ends / width, 0, 1), rows[bins], width * slopes[:-1][bins], width * slopes[1:][bins])
    before = np.append(0.0, after[:-1])
    before[starts] = 0.0
    return np.asarray(np.maximum(after - before, 0.0), np.float64)


def _in_parts(widths: Floats, fine: Floats) -> tuple[Floats, Floats]:
    """Return both as parts of a power of two near the widest: no digit changes, and rows can be divided by them."""
    power = -int(np.frexp(widths.max())[1])
    return np.ldexp(widths, power), np.ldexp(fine, power)


def _slopes(density: Floats, widths: Floats) -> Floats:
    """Return the density at each edge: between those of both bins, nearer to the smaller."""
    low, high = density[:-1], density[1:]
    first, second = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner = np.where((low > 0) & (high > 0), (first + second) / (first / low + second / high), 0.0)
    return np.concatenate([density[:1], inner, density[-1:]])


def _risen(part: Floats, rows: Floats, start: Floats, end: Floats) -> Floats:
    """Return how many of a bin's rows lie below a part of it: the cubic with these slopes at its ends."""
    square, cube = part**2, part**3
    risen: Floats = (cube - 2 * square + part) * start + (3 * square - 2 * cube) * rows + (cube - square) * end
    return risen
