"""Draws values of columns in order anew, inside their bins, so that they lie as far apart as noisy counts of gaps say.

Public: works on synthetic rows and on what was released. Values inside bins are drawn for each column by itself, so a stay of
hours becomes one of weeks where both of its ends are told by the month. Here several pairs of values are proposed for each
row: some as before, some a likely distance apart; one of them is taken, by weights that have a factor for each cell of a gap.
The factors are found by fitting: the distances of all rows together become those that were counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.bins import RealBins
from understudy.schema.gaps import Gap
from understudy.schema.measures import Floats, Measure
from understudy.schema.weights import shrunk

PROPOSED = 8
"""Pairs of values that are proposed for a row in each of the two ways."""
FITTED = 1 << 15
"""Rows that the factors are fitted on."""
STEPS = 12
"""How often the factors are fitted again …"""
LEAST, MOST = 1e-9, 1e9
"""… and what they stay between."""
_ELEMENTS = 1 << 21
"""Numbers of an array that is worked on at a time."""
_POINT = 1e-9
"""The width, as a part of the column's range, that a single real number counts with."""

Broken = Callable[[str, Floats, str, Floats], NDArray[np.bool_]]
Integers = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Place:
    """One column of a gap: where its values may lie. ``fixed``: it has its value, and no other is drawn."""

    measure: Measure
    weights: Floats | None
    fixed: bool

    @cached_property
    def _cells(self) -> tuple[Floats, Floats]:
        """The values at which cells start, with the end of the last; and how far up that is, each bin taking a length of 1."""
        column = self.measure.column
        assert isinstance(column, Binned)
        fine = column.bins if self.weights is None or column.fine is None else column.fine.bins
        real = isinstance(fine, RealBins)
        numbers = np.append(fine.lowest, fine.edges[-1] if isinstance(fine, RealBins) else fine.highest[-1] + 1)
        starts = self.measure.values(numbers)
        if real:
            starts[-1] = max(starts[-1], starts[-2] + _POINT * (starts[-1] - starts[0]))
        bins = column.bins.find(fine.lowest)
        held = np.ones(len(bins)) if self.weights is None else self.weights
        share = held / np.bincount(bins, held)[bins]
        up = np.append(0.0, np.cumsum(share))
        first = np.searchsorted(bins, np.arange(bins[-1] + 1))
        within = up[:-1] - up[first][bins]
        return starts, np.append(bins + np.clip(within, 0.0, 1.0), bins[-1] + 1.0)

    @cached_property
    def _density(self) -> Floats:
        starts, up = self._cells
        least = _POINT * (starts[-1] - starts[0])
        return np.diff(up) / np.maximum(np.diff(starts), least)

    def density(self, values: Floats) -> Floats:
        """Return how likely values are among those of their bins."""
        if self.fixed:
            return np.ones_like(values)
        cells = np.searchsorted(self._cells[0], values, side="right") - 1
        return self._density[np.clip(cells, 0, len(self._density) - 1)]

    def up(self, values: Floats) -> Floats:
        """Return the bin of each value, and how many of the bin's rows are below it."""
        return np.interp(values, *self._cells)

    def at(self, up: Floats) -> Floats:
        """Return the value that lies so far up."""
        starts, ups = self._cells
        cells = np.clip(np.searchsorted(ups, up, side="right") - 1, 0, len(ups) - 2)
        length = np.maximum(ups[cells + 1] - ups[cells], np.finfo(float).tiny)
        part = np.clip((up - ups[cells]) / length, 0.0, 1.0)
        return starts[cells] + part * (starts[cells + 1] - starts[cells])

    def draw(self, codes: Integers, rng: np.random.Generator) -> Floats:
        """Draw a value inside each bin, without a look at other columns."""
        column = self.measure.column
        assert isinstance(column, Binned)
        return self.measure.values(column.draw_numbers(codes, rng, self.weights))

    def fits(self, values: Floats, codes: Integers) -> NDArray[np.bool_]:
        """Say which values lie in the bins of ``codes``."""
        return np.asarray((values >= self.measure.low[codes]) & (values <= self.measure.high[codes]))

    def reach(self, codes: Integers, values: Floats) -> tuple[Floats, Floats]:
        """Return between which values each may lie, the second excluded."""
        step = self.measure.times / self.measure.parts
        if self.fixed:
            return values, values + (step or _POINT * (self.measure.high[0] - self.measure.low[0]))
        return self.measure.low[codes], self.measure.high[codes] + step


@dataclass(frozen=True, eq=False)
class Proposals:
    """Pairs of values for some rows, rows × pairs: the first are those that the rows have. ``weights`` without factors."""

    low: Floats
    high: Floats
    cells: NDArray[np.intp]
    weights: Floats

    def chances(self, factors: Floats) -> Floats:
        """Return how likely each pair is to be taken, each row by itself; 0 in rows where none can be."""
        found = self.weights * factors[self.cells]
        whole = found.sum(axis=1, keepdims=True)
        return np.divide(found, whole, out=np.zeros_like(found), where=whole > 0)

    def shares(self, factors: Floats) -> Floats:
        """Return the share of the rows that each cell is likely to have."""
        found = np.bincount(self.cells.ravel(), self.chances(factors).ravel(), minlength=len(factors))
        return found / max(float(found.sum()), 1e-300)


@dataclass(frozen=True, eq=False)
class Apart:
    """A gap, and noisy counts of its cells; ``variance`` is that of their noise."""

    gap: Gap
    counts: Floats
    variance: float
    low: Place
    high: Place

    @cached_property
    def likely(self) -> Floats:
        """A share for each cell, to propose distances by: counts that are more than noise, and a little for all others."""
        found = np.maximum(self.counts - self.variance**0.5, 0.0)
        return 0.95 * found / max(float(found.sum()), 1e-300) + 0.05 / len(found)

    def propose(self, values: tuple[Floats, Floats], codes: tuple[Integers, Integers], rng: np.random.Generator) -> Proposals:
        """Propose pairs for rows that have these values and bins."""
        alone = [self._by_themselves(values, codes, rng) for _ in range(PROPOSED)]
        together, chance = self._together(values, codes, rng)
        low, high = (np.column_stack([values[i], *(pair[i] for pair in [*alone, *together])]) for i in range(2))
        distances = high - low
        fits = (distances >= 0) & self.low.fits(low, codes[0][:, None]) & self.high.fits(high, codes[1][:, None])
        cells = self.gap.find(np.where(fits, distances, 0.0))
        by_itself = self.high.density(high)
        widths = np.diff(self.gap.ends)
        in_pairs = (self.likely / widths)[cells] * chance[:, None]
        weights = np.divide(by_itself, by_itself + in_pairs, out=np.zeros_like(by_itself), where=fits & (by_itself > 0))
        return Proposals(low, high, cells, weights)

    def _by_themselves(self, values: tuple[Floats, Floats], codes: tuple[Integers, Integers], rng: np.random.Generator) -> tuple[Floats, Floats]:
        low, high = (
            value if place.fixed else place.draw(code, rng)
            for place, value, code in zip((self.low, self.high), values, codes, strict=True)
        )
        return low, high

    def _together(
        self, values: tuple[Floats, Floats], codes: tuple[Integers, Integers], rng: np.random.Generator
    ) -> tuple[list[tuple[Floats, Floats]], Floats]:
        """Propose pairs by their distance; and return one over the chance that a likely distance leaves both in their bins."""
        middles = (self.gap.ends[:-1] + self.gap.ends[1:]) / 2
        first, last = self.high.reach(codes[1], values[1])
        possible = self._possible(first[:, None] - middles, last[:, None] - middles, values[0][:, None], codes[0][:, None])
        summed = np.cumsum(self.likely * np.maximum(possible[1] - possible[0], 0.0), axis=1)
        whole = summed[:, -1]
        found = []
        for _ in range(PROPOSED):
            points = rng.random(len(whole)) * whole
            cells = np.minimum((summed <= points[:, None]).sum(axis=1), len(middles) - 1)
            distance = self.gap.ends[cells] + rng.random(len(cells)) * (self.gap.ends[cells + 1] - self.gap.ends[cells])
            if self.low.fixed:
                low = values[0]
            else:
                start, end = self._possible(first - distance, last - distance, values[0], codes[0])
                low = self.low.measure.snapped(self.low.at(start + rng.random(len(cells)) * np.maximum(end - start, 0.0)))
            high = values[1] if self.high.fixed else self.high.measure.snapped(low + distance)
            found.append((low, high))
        return found, np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)

    def _possible(self, first: Floats, last: Floats, values: Floats, codes: Integers) -> tuple[Floats, Floats]:
        """Return between which places of its bin the lower value is, when it lies from ``first`` to ``last``."""
        if self.low.fixed:
            return np.zeros_like(first), np.asarray((first <= values) & (values < last), np.float64)
        return np.clip(self.low.up(first), codes, codes + 1), np.clip(self.low.up(last), codes, codes + 1)

    def fitted(self, proposals: Proposals) -> Floats:
        """Return the factor of each cell with which the rows lie as far apart as was counted, as far as their bins allow.

        Counts are drawn towards the distances that rows have without them, the more the less they stand out from noise.
        """
        factors = np.ones(len(self.counts))
        before = proposals.shares(factors)
        wanted = shrunk(self.counts, before * max(float(self.counts.sum()), 1.0), self.variance)
        wanted /= max(float(wanted.sum()), 1e-300)
        for _ in range(STEPS):
            now = proposals.shares(factors)
            change = np.divide(wanted, now, out=np.ones_like(now), where=now > 0)
            factors = np.clip(factors * change, LEAST, MOST)
        return factors


@dataclass(frozen=True, eq=False)
class Distances:
    """All gaps of a table that were counted. ``broken`` says where two values are out of order."""

    apart: Sequence[Apart]
    broken: Broken

    def settle(self, values: dict[str, Floats], codes: Mapping[str, Integers], rng: np.random.Generator) -> None:
        """Put other values in the place of those that are known, in rows that are in order; they still are afterwards."""
        factors: dict[str, Floats] = {}
        for _ in range(1 if len(self.apart) == 1 else 2):
            for one in self.apart:
                names = one.gap.columns
                rows = np.flatnonzero(np.isfinite(values[names[0]]) & np.isfinite(values[names[1]]))
                if not len(rows) or (one.low.fixed and one.high.fixed):
                    continue
                some = rows if len(rows) <= FITTED else np.sort(rng.choice(rows, FITTED, replace=False))
                parts = [self._proposals(one, part, values, codes, rng, factors) for part in _parts(some, one.gap.size)]
                factors[one.gap.name] = one.fitted(_joined(parts))
                for part in _parts(rows, one.gap.size):
                    found = self._proposals(one, part, values, codes, rng, factors)
                    taken = _taken(found.chances(factors[one.gap.name]), rng)
                    values[names[0]][part] = found.low[np.arange(len(part)), taken]
                    values[names[1]][part] = found.high[np.arange(len(part)), taken]

    def _proposals(
        self, one: Apart, rows: NDArray[np.intp], values: Mapping[str, Floats], codes: Mapping[str, Integers], rng: np.random.Generator, factors: Mapping[str, Floats]
    ) -> Proposals:
        """Propose pairs for some rows, with weights that heed the columns beside the two."""
        low, high = one.gap.columns
        found = one.propose((values[low][rows], values[high][rows]), (codes[low][rows], codes[high][rows]), rng)
        weights = found.weights
        proposed = {low: found.low, high: found.high}
        for name, held in proposed.items():
            for other in values:
                beside = proposed.get(other, values[other][rows][:, None])
                weights = weights * ~self.broken(name, held, other, beside)
        for another in self.apart:
            ends = another.gap.columns
            if another is not one and set(ends) & {low, high} and another.gap.name in factors:
                lower, upper = (proposed.get(end, values[end][rows][:, None]) for end in ends)
                distance = upper - lower
                known = distance >= 0
                weights = weights * np.where(known, factors[another.gap.name][another.gap.find(np.where(known, distance, 0.0))], 1.0)
        return Proposals(found.low, found.high, found.cells, weights)


def _parts(rows: NDArray[np.intp], cells: int) -> Iterator[NDArray[np.intp]]:
    step = max(1, _ELEMENTS // max(cells, 2 * PROPOSED + 1))
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _joined(parts: Sequence[Proposals]) -> Proposals:
    low, high, cells, weights = (np.concatenate([getattr(p, name) for p in parts]) for name in ("low", "high", "cells", "weights"))
    return Proposals(low, high, cells, weights)


def _taken(chances: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return which pair each row takes; the one that it has where none can be taken."""
    summed = np.cumsum(chances, axis=1)
    taken = (summed <= (rng.random(len(chances)) * summed[:, -1])[:, None]).sum(axis=1)
    return np.where(summed[:, -1] > 0, np.minimum(taken, chances.shape[1] - 1), 0)
