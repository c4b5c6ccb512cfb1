"""Draws values of columns in order anew, inside their bins, so that they lie as far apart as the weights of their gaps say.

Public: works on synthetic rows and on what was released. Values inside bins are drawn for each column by itself, so a stay
of hours becomes one of weeks where both of its ends are told by the month. Here several values are proposed for all columns
of a row that gaps connect, a likely distance apart, and one proposal is taken. What it is taken by has a factor for each
cell of a gap and for each finer bin of a column: fitted (by iterative proportional fitting) so that distances are as
counted, and each column by itself stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.gaps import Gap
from understudy.schema.measures import Floats
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
"""Rows that are worked on at a time; fewer where many columns hang together:"""
HELD = 1 << 25
"""so many proposed values are held at most,"""
WORK = 1 << 28
"""and rows that factors are fitted on take so many steps, by the square of the columns."""
STARTS = 64
"""Gaps from which values are proposed, times the columns that each must be completed to: of a long chain, few propose."""
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
        """The share of all distances that each cell has; none has nothing."""
        cells = len(self.weights)
        found = self.weights / max(float(self.weights.sum()), np.finfo(float).tiny)
        return np.asarray((1 - RARE) * found + RARE / cells)

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

    def _room(self, low: NDArray[np.integer], high: NDArray[np.integer], distances: Floats) -> tuple[Floats, Floats]:
        """Return between which places of its bin the lower value is, so that the higher one is in its bin, too."""
        first, last = (self.low.up(end - distances) for end in self.high.ends(high))
        return np.clip(first, low, low + 1.0), np.clip(last, low, low + 1.0)

    def start(self, codes: Codes, rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
        """Propose both values, by the distance first; and how much likelier each pair is than it is proposed.

        That is by the distances alone: how likely the lower value is by itself comes on top.
        """
        low, high = codes[self.low.name][:, None], codes[self.high.name][:, None]
        (start, end), (first, last) = self.low.ends(low), self.high.ends(high)
        least, most = self.below(first - end + self.gap.step), self.below(last - start)
        shape = len(low), PROPOSED
        distances = self.at(least + rng.random(shape) * np.maximum(most - least, 0.0))
        first, last = self._room(low, high, distances)
        room = np.maximum(last - first, 0.0)
        values = self.low.at(first + rng.random(shape) * room)
        weights = room * np.maximum(most - least, 0.0) / np.maximum(self.low.density(values), np.finfo(float).tiny)
        return {self.low.name: values, self.high.name: self.high.measure.snapped(values + distances)}, weights

    def onward(
        self, name: str, known: Floats, codes: NDArray[np.integer], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Propose the values of column ``name``, beside the other's; and how likely a distance reaches its bin."""
        if name == self.high.name:
            start, end = self.high.ends(codes[:, None])
            first, last = self.below(start - known), self.below(end - known)
        else:
            start, end = self.low.ends(codes[:, None])
            first, last = self.below(known - end + self.gap.step), self.below(known - start + self.gap.step)
        reach = np.maximum(last - first, 0.0)
        distances = self.at(first + rng.random(known.shape) * reach)
        if name == self.high.name:
            return self.high.measure.snapped(known + distances), reach
        return self.low.measure.snapped(known - distances), reach


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows: the values and codes that they have, of all columns in order."""

    rows: Rows
    values: Mapping[str, Floats]
    codes: Codes

    @classmethod
    def of(cls, rows: Rows, values: Mapping[str, Floats], codes: Codes) -> Part:
        """Pick rows of a table."""
        return cls(rows, {n: v[rows] for n, v in values.items()}, {n: c[rows] for n, c in codes.items()})


@dataclass(frozen=True, eq=False)
class Proposals:
    """What is proposed for some rows: of each column rows × proposals, the last of them the values that the rows have.

    ``cells`` has the place of each proposal in what is fitted: the cell of a gap, the finer bin of a column.
    """

    rows: Rows
    values: dict[str, Floats]
    weights: Floats
    cells: dict[str, NDArray[np.intp]]
    wanted: dict[str, Floats]
    """How many of the rows should be there."""

    def chances(self, factors: Mapping[str, Floats]) -> Floats:
        """Return how likely each proposal is to be taken."""
        found = self.weights.copy()
        for name, cells in self.cells.items():
            if name in factors:  # else it is known in so few rows that none of them was fitted on
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
        columns, drawn = len(_places(self.apart)), len(_starts(self.apart)) * PROPOSED + 1
        fitted_on = min(FITTED, every, 1 + WORK // (columns**2 * drawn))
        together = min(TOGETHER, 1 + HELD // (columns * drawn))
        some[rng.choice(every, fitted_on, replace=False)] = True
        groups = list(self._groups(values))
        fitted = [p for rows, apart in groups for p in self._proposals(Part.of(rows[some[rows]], values, codes), apart, rng)]
        factors = _factors(fitted)
        for rows, apart in groups:
            for start in range(0, len(rows), together):
                for found in self._proposals(Part.of(rows[start : start + together], values, codes), apart, rng):
                    for name, taken in found.taken(factors, rng).items():
                        values[name][found.rows] = taken

    def _groups(self, values: Mapping[str, Floats]) -> Iterator[tuple[Rows, list[Apart]]]:
        """Yield rows, and gaps whose columns are known in all of these and hang together."""
        known = np.stack([np.isfinite(values[a.low.name]) & np.isfinite(values[a.high.name]) for a in self.apart], axis=1)
        patterns, rows = np.unique(known, axis=0, return_inverse=True)
        order = np.argsort(rows.reshape(-1), kind="stable")
        ends = np.searchsorted(rows.reshape(-1)[order], np.arange(len(patterns) + 1))
        together: dict[tuple[Apart, ...], list[Rows]] = {}
        for place, pattern in enumerate(patterns):
            left = [a for a, both in zip(self.apart, pattern, strict=True) if both]
            while left:
                found = _connected(left)
                left = [a for a in left if a not in found]
                together.setdefault(tuple(found), []).append(order[ends[place] : ends[place + 1]])
        for apart, parts in together.items():
            yield np.sort(np.concatenate(parts)), list(apart)

    def _proposals(self, part: Part, apart: Sequence[Apart], rng: np.random.Generator) -> Iterator[Proposals]:
        """Yield proposals for rows: what goes with values that stay, else some from gaps on, the others after these."""
        places = _places(apart)
        stays = {n: np.repeat(part.values[n][:, None], PROPOSED, axis=1) for n, place in places.items() if place.fixed}
        if len(stays) == len(places) or not len(part.rows):
            return
        if stays:
            found = [_completed(part, apart, stays, np.ones((len(part.rows), PROPOSED)), rng)]
        else:
            found = [_completed(part, apart, *one.start(part.codes, rng), rng) for one in _starts(apart)]
        drawn = {name: np.concatenate([values[name] for values, _ in found], axis=1) for name in places}
        yield self._weighed(part, apart, drawn, np.concatenate([weights for _, weights in found], axis=1))

    def _weighed(self, part: Part, apart: Sequence[Apart], drawn: dict[str, Floats], weights: Floats) -> Proposals:
        """Leave out proposals that do not fit; and say of all where they are in what is fitted."""
        places = _places(apart)
        if not apart[0].low.fixed:
            weights = weights * apart[0].low.density(drawn[apart[0].low.name])
        free = [place for place in places.values() if not place.fixed]
        fits = [place.fits(drawn[place.name], part.codes[place.name]) for place in free]
        beside = {name: values[:, None] for name, values in part.values.items()}
        weights = np.where(np.all(fits, axis=0) & ~self.broken(beside | drawn), weights, 0.0)
        whole = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0)
        both = {name: np.column_stack([drawn[name], part.values[name]]) for name in places}
        shaped = [place for place in free if place.weights is not None]
        cells = {place.name: place.find(both[place.name]) for place in shaped}
        cells |= {a.gap.name: a.gap.find(np.maximum(both[a.high.name] - both[a.low.name], 0.0)) for a in apart}
        wanted = {place.name: place.rows(part.codes[place.name]) for place in shaped}
        wanted |= {a.gap.name: a.share * len(part.rows) for a in apart}
        return Proposals(part.rows, both, np.column_stack([weights, np.zeros(len(weights))]), cells, wanted)


def _completed(
    part: Part, apart: Sequence[Apart], drawn: dict[str, Floats], weights: Floats, rng: np.random.Generator
) -> tuple[dict[str, Floats], Floats]:
    """Draw the other columns, each beside one that is known."""
    while len(drawn) < len(_places(apart)):
        one = next(a for a in apart if (a.low.name in drawn) != (a.high.name in drawn))
        known, name = one.gap.columns if one.low.name in drawn else one.gap.columns[::-1]
        values, reach = one.onward(name, drawn[known], part.codes[name], rng)
        drawn, weights = drawn | {name: values}, weights * reach
    return drawn, weights


def _starts(apart: Sequence[Apart]) -> list[Apart]:
    """Return the gaps from which values are proposed: all, or some at even distances."""
    number = min(len(apart), max(1, STARTS // len(_places(apart))))
    return [apart[place * len(apart) // number] for place in range(number)]


def _places(apart: Sequence[Apart]) -> dict[str, Place]:
    return {place.name: place for one in apart for place in (one.low, one.high)}


def _factors(proposals: Sequence[Proposals]) -> dict[str, Floats]:
    """Return a factor for each cell of a gap and each finer bin, with which rows are as they were counted."""
    wanted: dict[str, Floats] = {}
    for found in proposals:
        wanted |= {name: wanted.get(name, 0.0) + rows for name, rows in found.wanted.items()}
    factors = {name: np.ones(len(rows)) for name, rows in wanted.items()}
    for _ in range(STEPS):
        for name, rows in wanted.items():
            having = [found for found in proposals if name in found.cells]
            parts = [np.bincount(p.cells[name].ravel(), p.chances(factors).ravel(), len(rows)) for p in having]
            now = np.sum(parts, axis=0)
            factors[name] = np.clip(factors[name] * (rows + FEW) / (now + FEW), 1 / MOST, MOST)
    return factors


def _connected(apart: Sequence[Apart]) -> list[Apart]:
    """Return the gaps that hang together with the first."""
    names: set[str] = set()
    reached = {apart[0].low.name}
    while names != reached:
        names = set(reached)
        reached |= {end for a in apart if {a.low.name, a.high.name} & names for end in (a.low.name, a.high.name)}
    return [a for a in apart if a.low.name in names]
