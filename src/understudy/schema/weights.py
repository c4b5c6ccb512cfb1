"""Weights of a column's finer bins, from noisy counts of them and the rows of each bin. Public: computed from both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.looks import Look

Floats = NDArray[np.float64]

FEWEST = 1e-6
"""Rows of a bin that the model takes for empty: its values are as likely as those beside them."""
CLEAR = 3.0
"""A single value stands out where its count exceeds what is expected of it by so many standard deviations of the noise."""
NOTHING = 1e-280
"""Fewer rows are none: what is shared out is not divided by them."""
MORE = 2.0
"""Small finer bins that do not stand out one by one do together where the squares of what they are off by add up to more
than those of noise do, by so many deviations.
"""
SMALL = 1 / 4
"""A finer bin that has less than this part of the numbers of both is small beside another."""
THIN = 1 / 50
"""A finer bin that takes less than this part of its surroundings is a single value among many."""


def fine_weights(column: Binned, rows: Floats, counts: Floats, variances: Floats) -> Floats:
    """Return what share of a bin's rows lies in each of its finer bins, times those rows.

    ``rows`` are those of its codes, ``counts`` noisy counts of the finer ones, with noise of these variances.
    """
    assert column.rounded is not None
    number = len(column.rounded.bins.lowest)
    expected = expected_rows(column, np.maximum(rows[: column.places.ordinary], FEWEST))
    sizes = _in_parts(column.bins.sizes(), column.rounded.bins.sizes())[1]
    starts = np.searchsorted(column.coarse_of_rounded[:number], np.arange(column.places.ordinary + 1))
    parts = (slice(first, last) for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
    return np.concatenate([_in_bin(counts[p], expected[p], variances[p], sizes[p]) for p in parts])


def _in_bin(counts: Floats, expected: Floats, variances: Floats, sizes: Floats) -> Floats:
    """Return the rows of each fine bin of one bin.

    A small one (a round number) has as much noise as the one beside it, and hardly any rows unless it stands out. Where it
    does not, it is taken for a part of that, unless those of the bin together depart from it by more than noise.
    """
    places, wide = np.arange(len(sizes)), _beside(sizes)
    ratio = sizes / sizes[wide]
    off = (counts - ratio * counts[wide]) ** 2 / (variances + ratio**2 * variances[wide])
    few = (wide != places) & (off <= CLEAR**2)
    noise = off[few].sum() <= few.sum() + MORE * (2 * few.sum()) ** 0.5
    each, group = np.unique(np.where(few & noise, wide, places), return_inverse=True)
    size = np.asarray(np.bincount(group, sizes), np.float64)
    times = np.divide(size, sizes[each], out=np.ones_like(size), where=sizes[each] > 0)
    rows = np.asarray(np.bincount(group, expected), np.float64)
    shrunk = _Shrinking(times * counts[each], rows, times**2 * variances[each], rows.copy())
    shrunk.settle(0, len(each))
    part = np.divide(sizes, size[group], out=np.ones_like(sizes), where=size[group] > 0)
    return np.asarray(shrunk.weights[group] * part, np.float64)


def _beside(sizes: Floats) -> NDArray[np.intp]:
    """Return for each fine bin the next one that it is small beside, or at the end the one before; else itself."""
    places = np.arange(len(sizes))
    after, before = np.append(places[1:], places[-1]), np.append(0, places[:-1])
    near = np.where(after > places, after, before)
    small = sizes < SMALL * (sizes + sizes[near])
    return np.where(small & ~small[near], near, places)


def number_weights(column: Binned, inside: Floats, look: Look | None) -> Floats:
    """Return the same for its codes of ``fine``; ``inside`` are the rows of its finer bins, even inside each, but where a
    look counted the numbers in it.
    """
    assert column.fine is not None
    number, place = len(column.fine.bins.lowest), column.rounds[: len(column.fine.bins.lowest)]
    sizes = column.fine.bins.sizes()
    weights = inside[place] * (sizes / np.bincount(place, sizes)[place])
    if look is None or number == len(inside):
        return weights
    groups = look.groups[:number]
    shrunk = _Shrinking(look.counts[groups], weights.copy(), np.full(number, look.variance), weights)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    for first, last in zip(starts.tolist(), [*starts[1:].tolist(), number], strict=True):
        if groups[last - 1] > groups[first]:
            shrunk.settle(first, last)
    return shrunk.weights


@dataclass(frozen=True)
class _Shrinking:
    """Splits a bin's rows in two, again and again, as noisy counts say, as far as these stand out from the noise."""

    counts: Floats
    expected: Floats
    variances: Floats
    weights: Floats

    def settle(self, first: int, last: int) -> None:
        """Share the weight of the fine bins ``first`` … ``last``-1 among them; their sum stays."""
        if last - first < 2:
            return
        middle = self._middle(first, last)
        total = float(self.weights[first:last].sum())
        prior = self.expected[first:middle].sum() / max(float(self.expected[first:last].sum()), 1e-300) * total
        low, high = float(self.variances[first:middle].sum()), float(self.variances[middle:last].sum())
        excess = total - self.counts[first:last].sum()
        left = self.counts[first:middle].sum() + excess * low / (low + high) - prior
        moved = self._kept(float(left), low * high / (low + high), self._alone(first, middle, last))
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
    assert column.rounded is not None
    widths, fine = _in_parts(column.bins.sizes(), column.rounded.bins.sizes())
    bins = column.coarse_of_rounded[: len(fine)]
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
