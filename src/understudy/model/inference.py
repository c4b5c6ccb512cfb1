"""Exact inference: from the log-potentials of a model's tables to their marginals and the log-partition function.

Public numbers only. Works on probabilities where nothing underflows, and on logarithms where something might;
a cell that a structural zero forbids is exactly 0 either way. All array work of inference is in this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import SchemaError
from understudy.model.contraction import Plan, Scope, Table, plan
from understudy.model.tree import JunctionTree, junction_tree

SAFE_RANGE = 650.0
"""The natural logarithm of the largest (and one over the smallest) number that a sum of products may come to."""
SAFE_SMALLEST = 1e-290
"""A table scaled to maximum 1 whose cells are all above this has lost no term that could matter in 10 digits."""

Flat = NDArray[np.float64]
Guard = Callable[[int, bool, Table], None]
"""Looks at each table that is made: its node, whether it is an outside one, and the table."""


class _Underflow(Exception):
    """Scaled probabilities are not safe here; use logarithms."""


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


class Scratch:
    """Memory that inference after inference writes over, in the same places: fresh memory costs more than the sums in it."""

    def __init__(self) -> None:
        self._block: Flat = np.empty(0)
        self._taken = self._used = 0
        self._beyond: list[Table] = []

    def rewind(self) -> None:
        """Begin again; what was taken before is written over. The block grows to what the last inference took."""
        if self._taken > self._block.size:
            self._block = np.empty(self._taken)
        self._taken = self._used = 0
        self._beyond = []

    def take(self, shape: tuple[int, ...]) -> Table:
        """Return a table of undefined content."""
        start, self._taken = self._taken, self._taken + prod(shape)
        if self._taken > self._block.size:
            self._beyond.append(np.empty(shape))
            return self._beyond[-1]
        self._used = self._taken
        return self._block[start : self._taken].reshape(shape)

    def within(self, smallest: float, largest: float) -> bool:
        """Say whether every number written since the last ``rewind`` lies between the two."""
        tables = [self._block[: self._used], *self._beyond]
        return all(table.min(initial=1.0) > smallest and table.max(initial=1.0) < largest for table in tables)


class Network:
    """The tables of a model side by side in one flat vector, and the plan that contracts them.

    ``cliques`` are the maximal ones of those given, with an attribute that no clique mentions as a clique of its own.
    """

    def __init__(self, domain: Domain, cliques: Sequence[Clique]) -> None:
        if not len(domain):
            raise SchemaError("A model needs at least one attribute; the schema declares none.")
        self.domain = domain
        self.cliques = _cover(domain, cliques)
        self.tree: JunctionTree = junction_tree(domain, self.cliques)
        scopes: list[Scope] = [tuple(domain.index(a) for a in clique) for clique in self.cliques]
        self.plan: Plan = plan(domain.sizes, scopes, [domain.index(a) for a in self.tree.order])
        self.shapes = [domain.shape(clique) for clique in self.cliques]
        ends = np.cumsum([domain.cells(clique) for clique in self.cliques])
        self.starts: NDArray[np.int64] = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        self.cells = int(ends[-1])
        self.lengths = np.diff(np.append(self.starts, self.cells))
        self._growth = float(np.log(np.asarray(domain.sizes, dtype=np.float64)).sum())
        self._supports: list[NDArray[np.bool_] | None] | None = None
        self._allowed: NDArray[np.bool_] | None = None

    def add(self, flat: Flat, clique: Clique, table: Table, *, everywhere: bool = False) -> None:
        """Add a table over ``clique`` (in domain order) to the first of the network's tables that holds it, or to all."""
        for leaf, start, length in zip(self.cliques, self.starts, self.lengths, strict=True):
            if set(clique) <= set(leaf):
                shape = [self.domain[a] if a in clique else 1 for a in leaf]
                flat[start : start + length] += np.broadcast_to(table.reshape(shape), self.domain.shape(leaf)).ravel()
                if not everywhere:
                    return

    def forbid(self, allowed: NDArray[np.bool_]) -> None:
        """Declare which cells of the flat vector are possible at all (structural zeros are not)."""
        self._allowed = None if allowed.all() else allowed
        self._supports = None

    def infer(self, potentials: Flat, scratch: Scratch | None = None) -> Beliefs:
        """Run the plan up and down on log-potentials (``-inf`` exactly in the forbidden cells).

        With ``scratch``, the tables inside and outside are written over by the next inference that is given the same.
        """
        tops = np.maximum.reduceat(potentials, self.starts)
        if not np.all(np.isfinite(tops)):
            raise SchemaError("The structural zeros forbid every combination of some attributes; allow at least one.")
        possible = potentials if self._allowed is None else np.where(self._allowed, potentials, np.inf)
        reach = (tops - np.minimum.reduceat(possible, self.starts)) / 2
        scaled = potentials - np.repeat(tops, self.lengths)
        try:
            with np.errstate(under="ignore"):
                if beliefs := self._unscaled(scaled, tops, reach, scratch):
                    return beliefs
                return self._run(np.exp(scaled), float(tops.sum()), _LINEAR, self._guard())
        except _Underflow:
            return self._run(scaled, float(tops.sum()), _LOGARITHMIC, None)

    def _unscaled(self, scaled: Flat, tops: Flat, reach: Flat, scratch: Scratch | None) -> Beliefs | None:
        """Run on tables that are centred, so that products grow as far as they shrink; None where that is not safe.

        It is where even the product of all tables stays in range. Often it is although that bound does not hold: then
        every product that was made is looked at afterwards, all in one go. One that stayed in range has lost no term
        of its sum that could matter. (A forbidden cell is 0, and so never in range.)
        """
        proved = float(reach.sum()) + self._growth <= SAFE_RANGE
        if not proved and (self._allowed is not None or float(reach.max()) > SAFE_RANGE):
            return None
        memory = scratch or Scratch()
        centred, offset = np.exp(scaled + np.repeat(reach, self.lengths)), float((tops - reach).sum())
        if proved:
            return self._run(centred, offset, _Unscaled(memory), None)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                beliefs = self._run(centred, offset, _Unscaled(memory), None)
        except _Underflow:
            return None
        return beliefs if memory.within(SAFE_SMALLEST, 1 / SAFE_SMALLEST) else None

    def _split(self, flat: Flat) -> list[Table]:
        ends = self.starts + self.lengths
        return [flat[a:b].reshape(shape) for a, b, shape in zip(self.starts, ends, self.shapes, strict=True)]

    def _guard(self) -> Guard:
        """Return a check for every table made: that no possible cell has underflown."""
        supports = self._structure() if self._allowed is not None else None
        nodes = len(self.plan.scopes)

        def guard(node: int, outside: bool, table: Table) -> None:
            support = supports[node + nodes * outside] if supports else None
            low = table.min() if support is None else table[support].min(initial=1.0)
            if not low > SAFE_SMALLEST:
                raise _Underflow

        return guard

    def _structure(self) -> list[NDArray[np.bool_] | None]:
        """Return which cells of each inside, then each outside table can be positive (None: all of them)."""
        if self._supports is None and self._allowed is not None:
            possible = self._run(self._allowed.astype(np.float64), 0.0, _POSSIBLE, None)
            found: list[NDArray[np.bool_] | None] = []
            for table in [*possible.inside, *possible.outside]:
                found.append(None if (table > 0).all() else table > 0)
            self._supports = found
        return self._supports or []

    def _run(self, leaves: Flat, offset: float, ring: _Ring, guard: Guard | None) -> Beliefs:
        inside, log_z, stacks = self._up(self._split(leaves), ring, guard)
        outside = self._down(len(inside), stacks, ring, guard)
        around = np.empty(self.cells)
        for table, place in zip(outside, self._split(around), strict=False):
            place[...] = table
        return Beliefs(offset + log_z, inside, outside, ring.normalise(leaves, around, self), ring is _LOGARITHMIC)

    def _up(
        self, leaves: list[Table], ring: _Ring, guard: Guard | None
    ) -> tuple[list[Table], float, list[tuple[Table, Table | None]]]:
        """Contract the leaves step by step; return all tables, log Z, and the matrices that each step multiplied."""
        inside = leaves + [ring.one] * len(self.plan.steps)
        stacks: list[tuple[Table, Table | None]] = []
        log_z = 0.0
        for step in self.plan.steps:
            left = step.left_matrices(inside[step.left])
            right = step.right_matrices(inside[step.right]) if step.right >= 0 else None
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

    def _down(self, nodes: int, stacks: list[tuple[Table, Table | None]], ring: _Ring, guard: Guard | None) -> list[Table]:
        """Run the steps backwards: what lies outside of each table is what it is multiplied by in the whole."""
        outside = [ring.one] * nodes
        for step, (left, right) in zip(reversed(self.plan.steps), reversed(stacks), strict=True):
            above = outside[step.out].reshape(step.batch, step.m, step.n)
            if right is None:
                outside[step.left] = step.left_table(np.broadcast_to(above, (step.batch, step.m, step.k)))
                continue
            outside[step.left] = step.left_table(ring.rescale(ring.product(above, right.transpose(0, 2, 1)))[0])
            outside[step.right] = step.right_table(ring.rescale(ring.product(left.transpose(0, 2, 1), above))[0])
            if guard:
                guard(step.left, True, outside[step.left])
                guard(step.right, True, outside[step.right])
        return outside


class _Ring:
    """Sums and products of tables, on one scale."""

    one: Table

    def product(self, left: Table, right: Table) -> Table:
        """Multiply stacks of matrices: (b, m, k) by (b, k, n)."""
        raise NotImplementedError

    def sum(self, left: Table) -> Table:
        """Sum (b, m, k) over k."""
        raise NotImplementedError

    def rescale(self, table: Table) -> tuple[Table, float]:
        """Bring the largest cell to 1; return the logarithm of what was divided out."""
        raise NotImplementedError

    def normalise(self, inside: Flat, outside: Flat, network: Network) -> Flat:
        """Return the beliefs of the network's tables as probabilities, each table's summing to 1."""
        raise NotImplementedError

    def log(self, table: Table) -> float:
        """Return the logarithm of a table that is one number."""
        raise NotImplementedError


class _Linear(_Ring):
    one = np.ones(())

    def product(self, left: Table, right: Table) -> Table:
        if left.shape[2] == 1:
            return np.multiply(left, right)
        if left.shape[0] == 1:
            return np.asarray(np.matmul(left[0], right[0]))[None]
        return np.asarray(np.matmul(left, right))

    def sum(self, left: Table) -> Table:
        return np.asarray(np.matmul(left, np.ones(left.shape[2])))

    def rescale(self, table: Table) -> tuple[Table, float]:
        top = float(table.max())
        if not top > SAFE_SMALLEST:
            raise _Underflow
        table *= 1.0 / top
        return table, float(np.log(top))

    def normalise(self, inside: Flat, outside: Flat, network: Network) -> Flat:
        belief = inside * outside
        totals = np.add.reduceat(belief, network.starts)
        if not (totals.min() > SAFE_SMALLEST and totals.max() < 1 / SAFE_SMALLEST):
            raise _Underflow
        belief *= np.repeat(1.0 / totals, network.lengths)
        return belief

    def log(self, table: Table) -> float:
        return float(np.log(table))


class _Unscaled(_Linear):
    """Looks at nothing on the way: for where no product can leave the range of floats, or all are looked at afterwards."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._scratch.rewind()

    def product(self, left: Table, right: Table) -> Table:
        out = self._scratch.take((left.shape[0], left.shape[1], right.shape[2]))
        if left.shape[2] == 1:
            return np.multiply(left, right, out=out)
        if left.shape[0] == 1:
            np.matmul(left[0], right[0], out=out[0])
            return out
        return np.matmul(left, right, out=out)

    def rescale(self, table: Table) -> tuple[Table, float]:
        return table, 0.0

    def log(self, table: Table) -> float:
        if not table > 0:  # every record is forbidden
            raise _Underflow
        return float(np.log(table))


class _Possible(_Linear):
    """Which cells can be positive: 0 and 1, so that nothing grows or shrinks."""

    def rescale(self, table: Table) -> tuple[Table, float]:
        return (table > 0).astype(np.float64), 0.0

    def normalise(self, inside: Flat, outside: Flat, network: Network) -> Flat:
        return inside * outside

    def log(self, table: Table) -> float:
        return 0.0


class _Logarithmic(_Ring):
    one = np.zeros(())

    def product(self, left: Table, right: Table) -> Table:
        if left.shape[2] == 1:
            return left + right
        return _log_sum(left[:, :, :, None] + right[:, None, :, :], axis=2)

    def sum(self, left: Table) -> Table:
        return _log_sum(left, axis=2)

    def rescale(self, table: Table) -> tuple[Table, float]:
        top = float(table.max())
        if top == -np.inf:
            raise SchemaError("The structural zeros, taken together, forbid every record; allow at least one.")
        return table - top, top

    def normalise(self, inside: Flat, outside: Flat, network: Network) -> Flat:
        belief = inside + outside
        belief = np.exp(belief - np.repeat(np.maximum.reduceat(belief, network.starts), network.lengths))
        return np.asarray(belief / np.repeat(np.add.reduceat(belief, network.starts), network.lengths))

    def log(self, table: Table) -> float:
        return float(table)


def _log_sum(table: Table, axis: int) -> Table:
    top = table.max(axis=axis, keepdims=True)
    top[top == -np.inf] = 0.0
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.exp(table - top).sum(axis=axis))
    return np.asarray(total + top.squeeze(axis))


_LINEAR, _POSSIBLE, _LOGARITHMIC = _Linear(), _Possible(), _Logarithmic()


def _cover(domain: Domain, cliques: Sequence[Clique]) -> tuple[Clique, ...]:
    """Return the maximal cliques, and a clique of its own for each attribute that none mentions."""
    found: list[frozenset[str]] = []
    for clique in sorted({frozenset(clique) for clique in cliques}, key=len, reverse=True):
        if not any(clique <= other for other in found):
            found.append(clique)
    mentioned = frozenset().union(*found)
    found += [frozenset([a]) for a in domain if a not in mentioned]
    return tuple(sorted(domain.clique(clique) for clique in found if clique))


__all__ = ["Beliefs", "Flat", "Network", "Scratch"]
