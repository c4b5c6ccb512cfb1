"""Refinement of generated rows: values are changed where that brings the rows' counts nearer to the model's marginals.

Rounding keeps the counts of the model's own cliques near their expectation; on other marginals rows are as noisy as a
sample. Here the counts n of chosen marginals are compared with the model's, e (scaled to as many rows), by

    F = Σ w (n - e)² / (e + 1)    over the cells of all chosen marginals, w the marginal's weight,

which measures a cell by about its variance in a sample. F is lowered by damped coordinate descent in batches: one attribute
after another, rows in random order are offered the value of the attribute that makes F least, all else in the row as it is;
then all attributes once more, since each has settled where the others were before they moved.
The rows of a batch do not see each other's moves, and several may go to the same cell: only a share of them moves, the share
at which F falls fastest, estimated from the batches before. A row never moves into a combination that a structural zero
forbids. In the end single columns are settled (``settling.py``). Public numbers only; post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.model import settling
from understudy.model.engine import Goal, Refiner
from understudy.model.generation import Column

Floats = NDArray[np.float32]
Index = NDArray[np.intp]
Positions = tuple[int, ...]

MOST_CELLS = 1 << 24
"""Marginals are refined towards, the smallest first, while all of them together have no more cells."""
MOST_WORK = 1 << 32
"""Cells looked up in all, at a nanosecond or two each; of more rows than that allows, some are left as they are."""
PASSES = 3
"""Every attribute is offered new values so many times …"""
CHEAP = MOST_WORK // 2
"""… where that looks up no more cells: of a long table, a second pass gains a five-hundredth for as much time again."""
AT_ONCE = 1 << 20
"""Cells of the model's marginals that are held at a time, until they are compared with the rows."""
TOGETHER = 1 << 18
"""Cells looked up at a time: they stay in cache."""
PARTS = 64
"""Rows are moved in at least so many batches, so that the later ones see what the earlier ones did …"""
FEWEST = 16
"""… but in batches of at least so many rows."""
NUMBERED = 1 << 20
"""Lines looked for at a time, over rows and tables."""
FORBIDDEN = np.float32(1e12)
FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 0.05, 0.01, 0.5
MEMORY = 0.8
"""The weight of an earlier batch in the estimate of the best share, one batch later."""


class Target(Protocol):
    """What refinement reads of a model."""

    @property
    def domain(self) -> Domain:
        """The attributes."""

    @property
    def total(self) -> float:
        """The mass of the model."""

    @property
    def zeros(self) -> tuple[Zeros, ...]:
        """Combinations that cannot occur."""

    def marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.float64]]:
        """Return the marginals, each summing to ``total``."""


def refine(
    model: Target,
    codes: Column,
    near: Mapping[Clique, float],
    rng: np.random.Generator,
    refiner: Refiner | None = None,
) -> None:
    """Change ``codes`` in place, so that their counts come nearer to the model's on ``near`` (weights by clique).

    ``refiner`` does it in the place of what is below, where an engine has one.
    """
    rows, domain, sizes = len(codes), model.domain, model.domain.sizes
    chosen = _affordable(domain, near) if rows and model.total > 0 else []
    top = max((near[clique] for clique in chosen), default=1.0)
    if refiner and chosen and refiner(codes, _goals(model, chosen, near, rows), _attributes(domain, chosen, rng), rng):
        return
    tables = [
        _Table.of(_positions(domain, clique), expected * (rows / model.total), near[clique] / top, codes)
        for block in domain.blocks(chosen, AT_ONCE)
        for clique, expected in zip(block, model.marginals(block), strict=True)
    ]
    barriers = [_Barrier(_positions(domain, zero.clique), zero.table(domain)) for zero in model.zeros]
    work = {a: sizes[a] * sum(a in table.positions for table in tables) for a in range(len(sizes)) if sizes[a] > 1}
    each = max(1, sum(work.values()))
    some = MOST_WORK // each
    for a in _in_turn([a for a, cells in work.items() if cells], CHEAP // each // max(1, rows), rng):
        _Pass(a, tables, barriers, codes, sizes).run(rng.permutation(rows)[:some], rng)
    for table in [table for table in tables if len(table.positions) == 1 and table.positions[0] in work]:
        _Pass(table.positions[0], tables, barriers, codes, sizes).settle(table, rng)


def _goals(model: Target, chosen: list[Clique], near: Mapping[Clique, float], rows: int) -> list[Goal]:
    """Return what the rows should come near to, and what they must keep away from."""
    domain, top = model.domain, max(near[clique] for clique in chosen)
    wanted = zip(chosen, model.marginals(chosen), strict=True)
    goals = [Goal(_positions(domain, c), table * (rows / model.total), near[c] / top) for c, table in wanted]
    for zero in model.zeros:
        barred = zero.table(domain)
        goals.append(Goal(_positions(domain, zero.clique), np.zeros(barred.shape), 0.0, barred))
    return goals


def _attributes(domain: Domain, chosen: list[Clique], rng: np.random.Generator) -> list[int]:
    """Return the attributes that may be offered other values, in the order in which they are."""
    named = {p for clique in chosen for p in _positions(domain, clique) if domain.sizes[p] > 1}
    return _in_turn(sorted(named), PASSES, rng)


def _in_turn(attributes: Sequence[int], affordable: int, rng: np.random.Generator) -> list[int]:
    """Return each attribute once, and up to ``PASSES`` times as far as that is ``affordable``, in random order each time."""
    passes = min(PASSES, max(1, affordable))
    return [int(a) for _ in range(passes) for a in rng.permutation(attributes)]


def _affordable(domain: Domain, near: Mapping[Clique, float]) -> list[Clique]:
    """Return the cliques that count, the smallest first, as long as ``MOST_CELLS`` allows."""
    wanted = sorted((clique for clique, weight in near.items() if clique and weight > 0), key=domain.cells)
    cells = accumulate(map(domain.cells, wanted))
    return [clique for clique, so_far in zip(wanted, cells, strict=True) if so_far <= MOST_CELLS]


def _positions(domain: Domain, clique: Clique) -> Positions:
    return tuple(domain.index(attribute) for attribute in clique)


@dataclass(frozen=True)
class _Table:
    """A marginal: how far the rows' counts are from the model's (``over``), and what a square of it costs (``price``)."""

    positions: Positions
    over: Floats
    price: Floats

    @classmethod
    def of(cls, positions: Positions, expected: NDArray[np.float64], weight: float, codes: Column) -> _Table:
        """Count the rows of ``codes``, and compare."""
        cells = _numbers([codes[:, p] for p in positions], expected.shape)
        counts = np.bincount(cells, minlength=expected.size).reshape(expected.shape)
        return cls(positions, (counts - expected).astype(np.float32), (weight / (expected + 1.0)).astype(np.float32))

    def count(self, columns: Mapping[int, Column], sign: int) -> None:
        """Count rows in (1) or out (-1), by their columns."""
        cells = _numbers([columns[p] for p in self.positions], self.over.shape)
        np.add.at(self.over.reshape(-1), cells, np.float32(sign))


@dataclass(frozen=True)
class _Barrier:
    """Combinations that cannot occur."""

    positions: Positions
    forbidden: NDArray[np.bool_]


def _numbers(columns: Sequence[NDArray[np.signedinteger]], shape: Sequence[int]) -> Index:
    """Number each row's cell in a table of these columns; with no columns there is one cell."""
    numbers = columns[0].astype(np.intp) if columns else np.zeros((), np.intp)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        numbers *= size
        numbers += column
    return numbers


class _Pass:
    """One attribute offered new values. Every table that holds it is laid out with the attribute last, one below another.

    ``slope`` is what F gains when a row is added to a cell, (2 (n - e) + 1) · price; a row more raises it by ``step``.
    """

    def __init__(
        self, attribute: int, tables: Sequence[_Table], barriers: Sequence[_Barrier], codes: Column, sizes: Sequence[int]
    ) -> None:
        self.attribute, self.codes, self.sizes, self.size = attribute, codes, sizes, sizes[attribute]
        self.tables = [table for table in tables if attribute in table.positions]
        around = [barrier for barrier in barriers if attribute in barrier.positions]
        scopes = [*(table.positions for table in self.tables), *(barrier.positions for barrier in around)]
        self.others = [tuple(p for p in scope if p != attribute) for scope in scopes]
        *self.starts, lines = accumulate((prod(sizes[p] for p in others) for others in self.others), initial=0)
        self.slope, self.step = (np.zeros((lines, self.size), np.float32) for _ in range(2))
        for table, start in zip(self.tables, self.starts, strict=False):
            price = self._last(table.positions, table.price)
            here = slice(start, start + len(price))
            np.multiply(2 * self._last(table.positions, table.over) + 1, price, out=self.slope[here])
            np.multiply(2, price, out=self.step[here])
        for barrier, start in zip(around, self.starts[len(self.tables) :], strict=True):
            barred = self._last(barrier.positions, barrier.forbidden)
            self.slope[start : start + len(barred)][barred] = FORBIDDEN
        self.share, self.gain, self.crossing = FIRST_SHARE, 0.0, 0.0

    def _last(self, positions: Positions, table: NDArray[Any]) -> NDArray[Any]:
        return np.moveaxis(table, positions.index(self.attribute), -1).reshape(-1, self.size)

    def run(self, order: Index, rng: np.random.Generator) -> None:
        """Offer new values to the rows of ``order``, in that order."""
        before = self.codes[order, self.attribute]
        together = max(FEWEST, min(TOGETHER // (len(self.others) * self.size), order.size // PARTS))
        block = max(1, NUMBERED // (len(self.others) * together)) * together
        for begin in range(0, order.size, block):
            rows = order[begin : begin + block]
            lines = self._lines(rows)
            for first in range(0, rows.size, together):
                some = slice(first, first + together)
                self._offer(rows[some], lines[:, some], rng)
        self._count(order, before)

    def settle(self, table: _Table, rng: np.random.Generator) -> None:
        """Move rows until each value of the attribute has as many as ``table``, its own marginal, expects."""
        counts = np.bincount(self.codes[:, self.attribute], minlength=self.size)
        expected = counts - table.over.astype(np.float64)
        surplus = counts - settling.whole(np.maximum(expected, 0.0), len(self.codes), rng)
        rows = settling.offered(self.codes[:, self.attribute], surplus, rng)
        if not rows.size:
            return
        before, step = self.codes[rows, self.attribute], max(FEWEST, TOGETHER // (len(self.others) * self.size))
        parts = [rows[first : first + step] for first in range(0, rows.size, step)]
        cost = np.concatenate([self._costs(part, self._lines(part)) for part in parts])
        gained = cost - cost[np.arange(rows.size), before][:, None]
        moving, values = settling.moves(before.astype(np.intp), gained, surplus, float(FORBIDDEN) / 2)
        self.codes[rows[moving], self.attribute] = values
        self._count(rows, before)

    def _count(self, order: Index, before: Column) -> None:
        """Count the rows of ``order`` anew where their value is not the one ``before``."""
        moved = before != self.codes[order, self.attribute]
        arrived = self._columns(order[moved])
        left = {**arrived, self.attribute: before[moved]}
        for table in self.tables:
            table.count(left, -1)
            table.count(arrived, 1)

    def _columns(self, rows: Index) -> dict[int, Column]:
        """Return the columns of ``rows`` that some table has: a few of very many."""
        named = {self.attribute, *(p for others in self.others for p in others)}
        return {p: self.codes[rows, p] for p in sorted(named)}

    def _lines(self, rows: Index) -> Index:
        """Return, table by table, the line of ``slope`` that each of ``rows`` is in, whatever its value."""
        columns = self._columns(rows)
        lines = np.empty((len(self.others), rows.size), np.intp)
        for line, others, start in zip(lines, self.others, self.starts, strict=True):
            np.add(_numbers([columns[p] for p in others], [self.sizes[p] for p in others]), start, out=line)
        return lines

    def _offer(self, rows: Index, lines: Index, rng: np.random.Generator) -> None:
        """Offer these rows their best value, and let a share of those that would gain by it move."""
        now, each = self.codes[rows, self.attribute].astype(np.intp), np.arange(rows.size)
        cost = self._costs(rows, lines)
        best = cost.argmin(axis=1)
        gains = cost[each, now] - cost[each, best]
        moving = np.flatnonzero((gains > 0) & (rng.random(rows.size) < self.share))
        if not moving.size:
            return
        left, arrived = lines[:, moving] * self.size + now[moving], lines[:, moving] * self.size + best[moving]
        crossing = self._move(left.ravel(), arrived.ravel())
        self.codes[rows[moving], self.attribute] = best[moving]
        self._learn(float(gains[moving].sum()) / self.share, crossing / self.share**2)

    def _costs(self, rows: Index, lines: Index) -> Floats:
        """Return what each value would cost each of ``rows``, which are not counted themselves."""
        now = self.codes[rows, self.attribute].astype(np.intp)
        cost: Floats = self.slope.take(lines, axis=0).sum(axis=0)
        cost[np.arange(rows.size), now] -= self.step.reshape(-1).take(lines * self.size + now).sum(axis=0)
        return cost

    def _move(self, left: Index, arrived: Index) -> float:
        """Move rows; return by how much less F falls than if each had moved alone."""
        slope, step = self.slope.reshape(-1), self.step.reshape(-1)
        out, into = step.take(left), step.take(arrived)
        before = slope.take(arrived).sum(dtype=np.float64) - slope.take(left).sum(dtype=np.float64)
        np.subtract.at(slope, left, out)
        np.add.at(slope, arrived, into)
        after = slope.take(arrived).sum(dtype=np.float64) - slope.take(left).sum(dtype=np.float64)
        return float(after - before - out.sum(dtype=np.float64) - into.sum(dtype=np.float64)) / 2

    def _learn(self, gain: float, crossing: float) -> None:
        """If a share s of those who would gain moves, F falls by s · gain - s² · crossing: take the best s."""
        self.gain = MEMORY * self.gain + gain
        self.crossing = MEMORY * self.crossing + crossing
        best = self.gain / (2 * self.crossing) if self.crossing > 0 else MOST_SHARE
        self.share = min(MOST_SHARE, max(LEAST_SHARE, best), 2 * self.share)
