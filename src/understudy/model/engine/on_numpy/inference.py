"""Exact inference: from the log-potentials of a network's tables to their marginals and the log-partition function.

Public numbers only. Works on probabilities where nothing underflows, and on logarithms where something might;
a cell that a structural zero forbids is exactly 0 either way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.model.contraction import Step
from understudy.model.engine.on_numpy.semirings import (
    LINEAR,
    LOGARITHMIC,
    POSSIBLE,
    SAFE_SMALLEST,
    Scratch,
    Semiring,
    Table,
    Underflow,
    Unscaled,
)
from understudy.model.network import Flat, Network

SAFE_RANGE = 650.0
"""The natural logarithm of the largest (and one over the smallest) number that a sum of products may come to."""

Stacks = tuple[Table, Table | None]
"""The two stacks of matrices that a step multiplies; a step that sums attributes out of one table has no second."""
Guard = Callable[[int, bool, Table], None]
"""Looks at each table that is made: its node, whether it is an outside one, and the table."""


@dataclass(frozen=True)
class Beliefs:
    """The outcome of one run: for each node of the plan, what lies below it and what lies outside it.

    The belief on a node's scope is ``inside * outside``, up to scale. ``marginals`` are the leaves' own, each summing to 1.
    """

    log_z: float
    inside: list[Table]
    outside: list[Table]
    marginals: Flat
    logarithmic: bool = False


class Inference:
    """Runs the plan of one network, as often as wanted."""

    def __init__(self, network: Network) -> None:
        self.network, self.plan = network, network.plan
        self._starts, self._lengths = network.starts, network.lengths
        self._growth = float(np.log(np.asarray(network.domain.sizes, dtype=np.float64)).sum())
        self._supports: list[NDArray[np.bool_] | None] | None = None

    def infer(self, potentials: Flat, scratch: Scratch | None = None) -> Beliefs:
        """Run the plan up and down on log-potentials (``-inf`` exactly in the forbidden cells).

        With ``scratch``, the tables inside and outside are written over by the next inference that is given the same.
        """
        tops = np.maximum.reduceat(potentials, self._starts)
        if not np.all(np.isfinite(tops)):
            raise SchemaError("The structural zeros forbid every combination of some attributes; allow at least one.")
        possible = potentials if self.network.allowed is None else np.where(self.network.allowed, potentials, np.inf)
        reach = (tops - np.minimum.reduceat(possible, self._starts)) / 2
        scaled = potentials - np.repeat(tops, self._lengths)
        try:
            with np.errstate(under="ignore"):
                if beliefs := self._unscaled(scaled, tops, reach, scratch):
                    return beliefs
                return self._run(np.exp(scaled), float(tops.sum()), LINEAR, self._guard())
        except Underflow:
            return self._run(scaled, float(tops.sum()), LOGARITHMIC, None)

    def _unscaled(self, scaled: Flat, tops: Flat, reach: Flat, scratch: Scratch | None) -> Beliefs | None:
        """Run on tables that are centred, so that products grow as far as they shrink; None where that is not safe.

        It is where even the product of all tables stays in range. Often it is although that bound does not hold: then
        every product that was made is looked at afterwards, all in one go. One that stayed in range has lost no term
        of its sum that could matter. (A forbidden cell is 0, and so never in range.)
        """
        proved = float(reach.sum()) + self._growth <= SAFE_RANGE
        if not proved and (self.network.allowed is not None or float(reach.max()) > SAFE_RANGE):
            return None
        memory = scratch or Scratch()
        centred, offset = np.exp(scaled + np.repeat(reach, self._lengths)), float((tops - reach).sum())
        if proved:
            return self._run(centred, offset, Unscaled(memory), None)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                beliefs = self._run(centred, offset, Unscaled(memory), None)
        except Underflow:
            return None
        return beliefs if memory.within(SAFE_SMALLEST, 1 / SAFE_SMALLEST) else None

    def _split(self, flat: Flat) -> list[Table]:
        ends = self._starts + self._lengths
        return [flat[a:b].reshape(shape) for a, b, shape in zip(self._starts, ends, self.network.shapes, strict=True)]

    def _guard(self) -> Guard:
        """Return a check for every table made: that no possible cell has underflown."""
        supports = self._structure() if self.network.allowed is not None else None
        nodes = len(self.plan.scopes)

        def guard(node: int, outside: bool, table: Table) -> None:
            support = supports[node + nodes * outside] if supports else None
            low = table.min() if support is None else table[support].min(initial=1.0)
            if not low > SAFE_SMALLEST:
                raise Underflow

        return guard

    def _structure(self) -> list[NDArray[np.bool_] | None]:
        """Return which cells of each inside, then each outside table can be positive (None: all of them)."""
        if self._supports is None and self.network.allowed is not None:
            possible = self._run(self.network.allowed.astype(np.float64), 0.0, POSSIBLE, None)
            found: list[NDArray[np.bool_] | None] = []
            for table in [*possible.inside, *possible.outside]:
                found.append(None if (table > 0).all() else table > 0)
            self._supports = found
        return self._supports or []

    def _run(self, leaves: Flat, offset: float, ring: Semiring, guard: Guard | None) -> Beliefs:
        inside, log_z, stacks = self._up(self._split(leaves), ring, guard)
        outside = self._down(len(inside), stacks, ring, guard)
        around = np.empty(self.network.cells)
        for table, place in zip(outside, self._split(around), strict=False):
            place[...] = table
        return Beliefs(offset + log_z, inside, outside, ring.normalise(leaves, around, self.network), ring is LOGARITHMIC)

    def _up(self, leaves: list[Table], ring: Semiring, guard: Guard | None) -> tuple[list[Table], float, list[Stacks]]:
        """Contract the leaves step by step; return all tables, log Z, and the matrices that each step multiplied."""
        inside = leaves + [ring.one] * len(self.plan.steps)
        stacks: list[Stacks] = []
        log_z = 0.0
        for step in self.plan.steps:
            left = _left_matrices(step, inside[step.left])
            right = _right_matrices(step, inside[step.right]) if step.right >= 0 else None
            stacks.append((left, right))
            table, scale = ring.rescale(ring.sum(left) if right is None else ring.product(left, right))
            table = table.reshape(self.plan.shape(step.out))
            if guard:
                guard(step.out, False, table)
            inside[step.out] = table
            log_z += scale
        for root in self.plan.roots:
            log_z += ring.log(inside[root])
        return inside, log_z, stacks

    def _down(self, nodes: int, stacks: list[Stacks], ring: Semiring, guard: Guard | None) -> list[Table]:
        """Run the steps backwards: what lies outside of each table is what it is multiplied by in the whole."""
        outside = [ring.one] * nodes
        for step, (left, right) in zip(reversed(self.plan.steps), reversed(stacks), strict=True):
            above = outside[step.out].reshape(step.batch, step.m, step.n)
            if right is None:
                outside[step.left] = _left_table(step, np.broadcast_to(above, (step.batch, step.m, step.k)))
                continue
            outside[step.left] = _left_table(step, ring.rescale(ring.product(above, right.transpose(0, 2, 1)))[0])
            outside[step.right] = _right_table(step, ring.rescale(ring.product(left.transpose(0, 2, 1), above))[0])
            if guard:
                guard(step.left, True, outside[step.left])
                guard(step.right, True, outside[step.right])
        return outside


def _left_matrices(step: Step, table: Table) -> Table:
    """View (or copy) the left table as (batch, m, k)."""
    return table.transpose(step.left_axes).reshape(step.batch, step.m, step.k)


def _right_matrices(step: Step, table: Table) -> Table:
    """View (or copy) the right table as (batch, k, n)."""
    return table.transpose(step.right_axes).reshape(step.batch, step.k, step.n)


def _left_table(step: Step, matrices: Table) -> Table:
    """Turn (batch, m, k) back into the axes of the left table."""
    return matrices.reshape(step.left_dims).transpose(step.left_back)


def _right_table(step: Step, matrices: Table) -> Table:
    """Turn (batch, k, n) back into the axes of the right table."""
    return matrices.reshape(step.right_dims).transpose(step.right_back)
