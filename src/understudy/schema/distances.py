"""Draws values of columns in order anew, inside their bins, so that they lie as far apart as the weights of their gaps say.

Public: works on synthetic rows and on what was released. Values inside bins are drawn for each column by itself, so a stay of
hours becomes one of weeks where both of its ends are told by the month. Here several values are proposed for all columns of a
row that gaps connect, a likely distance apart, and one proposal is taken. What it is taken by has a factor for each cell of a
gap and for each finer bin of a column: fitted (by iterative proportional fitting) so that distances are as counted, and each
column by itself stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.gaps import Gap
from understudy.schema.measures import Floats, Measure
from understudy.schema.placing import Place

PROPOSED = 8
"""What is proposed for a row, beside the values that it has."""
FITTED = 1 << 15
"""Rows that the factors are fitted on."""
STEPS = 4
"""How often each factor is fitted again …"""
MOST = 3.0
"""… and how large it gets, or how small."""
FEW = 10.0
"""So many rows more or less in a cell are chance."""
TOGETHER = 1 << 15
"""Rows that are worked on at a time."""
RARE = 1e-6
"""The share of all distances that may be any: bins may leave two values no likely one."""
LAST = 1e-12
"""The weight of the values that a row has: they are kept where no proposal fits."""

Broken = Callable[[Mapping[str, Floats]], NDArray[np.bool_]]
Codes = Mapping[str, NDArray[np.integer]]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Apart:
    """A gap, and a weight for each of its cells; the ``low`` column and the ``high`` one."""

    gap: Gap
    weights: Floats
    low: Place
    high: Place

    @cached_property
    def share(self) -> Floats:
        cells = len(self.weights)
        return (1 - RARE) * self.weights / max(float(self.weights.sum()), np.finfo(float).tiny) + RARE / cells

    @cached_property
    def _summed(self) -> Floats:
        return np.append(0.0, np.cumsum(self.share))

    def below(self, distances: Floats) -> Floats:
        """Return the share of all distances that are below these."""
        return np.interp(distances, self.gap.ends, self._summed)

    def at(self, shares: Floats) -> Floats:
        """Return the distance below which such a share of them is: a whole number of steps."""
        cells = np.clip(np.searchsorted(self._summed, shares, side="right") - 1, 0, len(self.share) - 1)
        part = (shares - self._summed[cells]) / np.maximum(self.share[cells], np.finfo(float).tiny)
        return self.gap.inside(cells, part)

    def reached(self, codes: Codes) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return how likely each distance is between two bins, pairs of bins × cells; and the part of its bin in which the
        lower value then is; and which pair of bins each row has.
        """
        low, high = codes[self.low.name], codes[self.high.name]
        pairs, rows = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
        middles = self.gap.inside(np.arange(len(self.share)), 0.5)
        first, last = self._room(pairs[0][:, None], pairs[1][:, None], middles)
        part = np.maximum(last - first, 0.0)
        return self.share * part, part, rows.reshape(-1)

    def _room(self, low: NDArray[np.integer], high: NDArray[np.integer], distances: Floats) -> tuple[Floats, Floats]:
        """Return between which places of its bin the lower value is, so that the higher one is in its bin, too."""
        first, last = (self.low.up(end - distances) for end in self.high.ends(high))
        return np.clip(first, low, low + 1.0), np.clip(last, low, low + 1.0)

    def both(self, codes: Codes, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Propose both values: by the distance first. And how much likelier they are than they are proposed."""
        chances, part, rows = self.reached(codes)
        whole = chances.sum(axis=1)
        ends = np.cumsum(chances, axis=1) / np.maximum(whole, np.finfo(float).tiny)[:, None] + np.arange(len(whole))[:, None]
        shape = len(rows), PROPOSED
        found = np.searchsorted(ends.reshape(-1), rows[:, None] + rng.random(shape), side="right")
        cells = np.clip(found - rows[:, None] * chances.shape[1], 0, chances.shape[1] - 1)
        distances = self.gap.inside(cells, rng.random(shape))
        bins = codes[self.low.name][:, None]
        first, last = self._room(bins, codes[self.high.name][:, None], distances)
        room = np.maximum(last - first, 0.0)
        low = self.low.at(first + rng.random(shape) * room)
        expected = part[rows[:, None], cells]
        weights = np.divide(room * whole[rows][:, None], expected, out=np.zeros(shape), where=expected > 0)
        return low, self.high.measure.snapped(low + distances), weights

    def onward(
        self, name: str, known: Floats, codes: NDArray[np.integer], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Propose the values of column ``name``, beside those of the other one; and how likely a distance reaches its bin."""
        up = name == self.high.name
        start, end = (self.high if up else self.low).ends(codes[:, None])
        step = self.gap.step
        first, last = (self.below(start - known), self.below(end - known)) if up else (
            self.below(known - end + step),
            self.below(known - start + step),
        )
        reach = np.maximum(last - first, 0.0)
        distances = self.at(first + rng.random(known.shape) * reach)
        return (self.high.measure.snapped(known + distances) if up else self.low.measure.snapped(known - distances)), reach


@dataclass(frozen=True, eq=False)
class Proposals:
    """What is proposed for some rows: of each column rows × proposals, the last of them the values that the rows have.

    ``cells`` has the place of each proposal in what is fitted: the cell of a gap, the finer bin of a column.
    """

    rows: Rows
    values: dict[str, Floats]
    weights: Floats
    cells: dict[str, NDArray[np.intp]]
    bins: dict[str, NDArray[np.intp]]
    """How many of the rows are in each bin of a column."""

    def chances(self, factors: Mapping[str, Floats]) -> Floats:
        """Return how likely each proposal is to be taken."""
        found = self.weights.copy()
        for name, cells in self.cells.items():
            if name in factors:
                found *= factors[name][cells]
        found[:, -1] += LAST
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def taken(self, factors: Mapping[str, Floats], rng: np.random.Generator) -> dict[str, Floats]:
        """Take one proposal for each row."""
        ends = np.cumsum(self.chances(factors), axis=1)
        found = np.minimum((ends <= rng.random(len(ends))[:, None] * ends[:, -1:]).sum(axis=1), ends.shape[1] - 1)
        return {name: values[np.arange(len(found)), found] for name, values in self.values.items()}


@dataclass(frozen=True, eq=False)
class Distances:
    """All gaps of a table that were counted. ``broken`` says in which proposals values are out of order."""

    apart: Sequence[Apart]
    broken: Broken

    def settle(self, values: dict[str, Floats], codes: Codes, rng: np.random.Generator) -> None:
        """Put other values in the place of those that are known, in rows that are in order; they still are afterwards."""
        every = len(next(iter(values.values())))
        some = np.zeros(every, np.bool_)
        some[rng.choice(every, min(FITTED, every), replace=False)] = True
        groups = list(self._groups(values))
        fitted = [p for rows, apart in groups for p in self._proposals(rows[some[rows]], apart, values, codes, rng)]
        factors = _factors(self.apart, fitted)
        for rows, apart in groups:
            for start in range(0, len(rows), TOGETHER):
                for proposals in self._proposals(rows[start : start + TOGETHER], apart, values, codes, rng):
                    for name, found in proposals.taken(factors, rng).items():
                        values[name][proposals.rows] = found

    def _groups(self, values: Mapping[str, Floats]) -> Iterator[tuple[Rows, list[Apart]]]:
        """Yield rows, and gaps whose columns are known in all of these and hang together."""
        known = np.stack([np.isfinite(values[a.low.name]) & np.isfinite(values[a.high.name]) for a in self.apart], axis=1)
        patterns, rows = np.unique(known, axis=0, return_inverse=True)
        for place, pattern in enumerate(patterns):
            left = [a for a, both in zip(self.apart, pattern, strict=True) if both]
            while left:
                found = _connected(left)
                left = [a for a in left if a not in found]
                yield np.flatnonzero(rows.reshape(-1) == place), found

    def _proposals(
        self, rows: Rows, apart: Sequence[Apart], values: Mapping[str, Floats], codes: Codes, rng: np.random.Generator
    ) -> Iterator[Proposals]:
        """Yield proposals for rows. The gap that is the least likely between its bins is drawn first; what hangs on it, after."""
        places = {p.name: p for a in apart for p in (a.low, a.high)}
        held = {name: values[name][rows] for name in places}
        some = {name: codes[name][rows] for name in places}
        known = {
            name: np.repeat(held[name][:, None], PROPOSED, axis=1) for name, place in places.items() if place.fixed
        }
        if len(known) == len(places) or not len(rows):
            return
        if known:
            yield self._proposed(rows, apart, known, np.ones((len(rows), PROPOSED)), held, some, rng)
            return
        chances = [one.reached(some) for one in apart]
        first = np.argmin([whole.sum(axis=1)[pairs] for whole, _, pairs in chances], axis=0)
        for place, one in enumerate(apart):
            part = np.flatnonzero(first == place)
            if len(part):
                held_, some_ = ({n: v[part] for n, v in of.items()} for of in (held, some))
                low, high, weights = one.both(some_, rng)
                weights = weights / np.maximum(one.low.density(low), np.finfo(float).tiny)
                rest = [other for other in apart if other is not one]
                drawn = {one.low.name: low, one.high.name: high}
                yield self._proposed(rows[part], apart, drawn, weights, held_, some_, rng)

    def _proposed(
        self,
        rows: Rows,
        apart: Sequence[Apart],
        drawn: dict[str, Floats],
        weights: Floats,
        held: Mapping[str, Floats],
        codes: Codes,
        rng: np.random.Generator,
    ) -> Proposals:
        """Draw the other columns, each beside one that is known; and weigh all proposals."""
        places = {p.name: p for a in apart for p in (a.low, a.high)}
        while len(drawn) < len(places):
            one = next(a for a in apart if (a.low.name in drawn) != (a.high.name in drawn))
            known, name = (one.low.name, one.high.name) if one.low.name in drawn else (one.high.name, one.low.name)
            drawn[name], reach = one.onward(name, drawn[known], codes[name], rng)
            weights = weights * reach
        free = [p for p in places.values() if not p.fixed]
        root = next(a.low for a in self.apart if a in apart)
        if not root.fixed:
            weights = weights * root.density(drawn[root.name])
        for place in free:
            start, end = place.measure.low[codes[place.name]], place.measure.high[codes[place.name]]
            weights = weights * ((drawn[place.name] >= start[:, None]) & (drawn[place.name] <= end[:, None]))
        weights = np.where(self.broken(drawn | {}), 0.0, weights)
        whole = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0)
        both = {name: np.column_stack([drawn[name], held[name]]) for name in drawn}
        cells = {p.name: p.find(both[p.name]) for p in free if p.weights is not None}
        for a in apart:
            distance = both[a.high.name] - both[a.low.name]
            cells[a.gap.name] = a.gap.find(np.maximum(distance, 0.0))
        bins = {p.name: np.bincount(codes[p.name], minlength=int(p.bins[-1]) + 1) for p in free if p.weights is not None}
        return Proposals(rows, both, np.column_stack([weights, np.zeros(len(weights))]), cells, bins)


def _factors(apart: Sequence[Apart], proposals: Sequence[Proposals]) -> dict[str, Floats]:
    """Return a factor for each cell of a gap and each finer bin, with which rows are as they were counted."""
    places = {p.name: p for a in apart for p in (a.low, a.high)}
    wanted: dict[str, Floats] = {}
    for found in proposals:
        for name in found.cells:
            if name in places:
                more = places[name].counted * found.bins[name][places[name].bins]
            else:
                more = next(a.share for a in apart if a.gap.name == name) * len(found.rows)
            wanted[name] = wanted.get(name, 0.0) + more
    factors = {name: np.ones(len(counts)) for name, counts in wanted.items()}
    for _ in range(STEPS):
        for name, counts in wanted.items():
            now = np.zeros(len(counts))
            for found in proposals:
                if name in found.cells:
                    chances = found.chances(factors)
                    now += np.bincount(found.cells[name].ravel(), chances.ravel(), minlength=len(counts))
            factors[name] = np.clip(factors[name] * (counts + FEW) / (now + FEW), 1 / MOST, MOST)
    return factors


def _connected(apart: Sequence[Apart]) -> list[Apart]:
    """Return the gaps that hang together with the first."""
    names: set[str] = set()
    reached = {apart[0].low.name}
    while names != reached:
        names = set(reached)
        reached |= {end for a in apart if {a.low.name, a.high.name} & names for end in (a.low.name, a.high.name)}
    return [a for a in apart if a.low.name in names]
