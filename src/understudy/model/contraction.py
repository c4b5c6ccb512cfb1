"""Sums of products of small tables, planned once and run many times. Public numbers only; the hot loop of the house.

The tables of a graphical model are never multiplied out into clique tables. Each attribute is eliminated by pairwise
contractions (matrix products), in an order that never makes a table larger than the junction tree's own cliques;
running the same contractions backwards gives the marginals of all the tables at once.
This module plans, without arrays; an engine runs the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from understudy.errors import InternalError

Scope = tuple[int, ...]

EXHAUSTIVE = 6
"""Up to this many tables in one elimination, every order of multiplying them is tried; beyond it, greedily merged."""

# What a contraction costs, in nanoseconds, measured on one core: only the ratios matter.
CALL, PER_CELL, PER_PRODUCT, PER_BATCH = 10_000.0, 1.0, 0.1, 50.0


@dataclass(frozen=True)
class Step:
    """Contract tables ``left`` and ``right`` into ``out``: sum of products over what they share and ``out`` has not.

    The tables are seen as stacks of matrices: left is (batch, m, k), right is (batch, k, n), out is (batch, m, n). A table
    comes to that by its axes in the order ``*_axes``, and comes back by the shape ``*_dims`` and the order ``*_back``.
    A step without a ``right`` (-1) sums attributes out of one table.
    """

    left: int
    right: int
    out: int
    left_axes: tuple[int, ...]
    right_axes: tuple[int, ...]
    left_dims: tuple[int, ...]
    right_dims: tuple[int, ...]
    batch: int
    m: int
    k: int
    n: int
    left_back: tuple[int, ...]
    right_back: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """How to contract the tables over ``leaves``: all of ``scopes`` (leaves first, then results), and the steps.

    ``roots`` are the results that nothing uses: numbers, one for each connected part.
    """

    sizes: tuple[int, ...]
    leaves: int
    scopes: tuple[Scope, ...]
    steps: tuple[Step, ...]
    roots: tuple[int, ...]

    def shape(self, node: int) -> tuple[int, ...]:
        """Return the shape of a node's table."""
        return tuple(self.sizes[i] for i in self.scopes[node])


@dataclass(frozen=True)
class Family:
    """An attribute with its parents (positions in the domain), and the plan's tables that tell p(a | parents)."""

    attribute: int
    parents: tuple[int, ...]
    nodes: tuple[int, ...]


def families(plan: Plan) -> list[Family]:
    """Return each attribute with its parents, the reverse of the order in which the plan eliminates them.

    When an attribute was eliminated, the tables that hold it were multiplied and the attribute summed out; what is left
    are its parents.
    """
    found = []
    for step in reversed(plan.steps):
        nodes = (step.left,) if step.right < 0 else (step.left, step.right)
        gone = {a for node in nodes for a in plan.scopes[node]} - set(plan.scopes[step.out])
        if len(gone) > 1:
            raise InternalError("A contraction sums out several attributes at once; generation expects one.")
        found += [Family(a, tuple(plan.scopes[step.out]), nodes) for a in gone]
    return found


def plan(sizes: Sequence[int], leaves: Sequence[Scope], order: Sequence[int]) -> Plan:
    """Plan the elimination of ``order``, all attributes, from tables over ``leaves``."""
    return _Planner(tuple(sizes), leaves).run(order)


class _Planner:
    def __init__(self, sizes: tuple[int, ...], leaves: Sequence[Scope]) -> None:
        self.sizes = sizes
        self.leaves = len(leaves)
        self.scopes: list[Scope] = list(leaves)
        self.steps: list[Step] = []
        self.live: list[int] = list(range(len(leaves)))

    def run(self, order: Sequence[int]) -> Plan:
        for attribute in order:
            bucket = [node for node in self.live if attribute in self.scopes[node]]
            if bucket:
                self._eliminate(attribute, bucket)
        return Plan(self.sizes, self.leaves, tuple(self.scopes), tuple(self.steps), tuple(self.live))

    def _eliminate(self, attribute: int, bucket: list[int]) -> None:
        """Multiply all of ``bucket`` together, summing ``attribute`` out in the last product."""
        if len(bucket) == 1:
            self._step(bucket[0], -1, tuple(i for i in self.scopes[bucket[0]] if i != attribute))
            return
        bucket = self._merge_greedily(bucket)
        self._build(_best_order(self.sizes, [self.scopes[node] for node in bucket], attribute), bucket, attribute)

    def _merge_greedily(self, bucket: list[int]) -> list[int]:
        """Multiply the pair with the smallest result until few enough tables are left to try every order."""
        while len(bucket) > EXHAUSTIVE:
            pairs = [(a, b) for i, a in enumerate(bucket) for b in bucket[:i]]
            a, b = min(pairs, key=lambda pair: _cells(self.sizes, _union(self.scopes[pair[0]], self.scopes[pair[1]])))
            merged = self._step(a, b, _union(self.scopes[a], self.scopes[b]))
            bucket = [node for node in bucket if node not in (a, b)] + [merged]
        return bucket

    def _build(self, splits: dict[int, int], bucket: list[int], attribute: int, subset: int = -1) -> int:
        whole = subset < 0
        if whole:
            subset = (1 << len(bucket)) - 1
        if subset & (subset - 1) == 0:
            return bucket[subset.bit_length() - 1]
        left = self._build(splits, bucket, attribute, splits[subset])
        right = self._build(splits, bucket, attribute, subset & ~splits[subset])
        scope = _union(self.scopes[left], self.scopes[right])
        return self._step(left, right, tuple(i for i in scope if not (whole and i == attribute)))

    def _step(self, left: int, right: int, out: Scope) -> int:
        a, b = self.scopes[left], self.scopes[right] if right >= 0 else ()
        if right >= 0 and len(b) > len(a):
            left, right, a, b = right, left, b, a
        batch = [i for i in a if i in b and i in out]
        summed = [i for i in a if i not in out]
        rows = [i for i in a if i not in b and i in out]
        columns = [i for i in b if i not in a]
        node = len(self.scopes)
        self.scopes.append((*batch, *rows, *columns))
        left_order, right_order = (*batch, *rows, *summed), (*batch, *summed, *columns) if right >= 0 else ()
        left_axes, right_axes = tuple(a.index(i) for i in left_order), tuple(b.index(i) for i in right_order)
        self.steps.append(
            Step(
                left,
                right,
                node,
                left_axes,
                right_axes,
                tuple(self.sizes[i] for i in left_order),
                tuple(self.sizes[i] for i in right_order),
                _cells(self.sizes, batch),
                _cells(self.sizes, rows),
                _cells(self.sizes, summed),
                _cells(self.sizes, columns),
                _inverse(left_axes),
                _inverse(right_axes),
            )
        )
        self.live = [other for other in self.live if other not in (left, right)] + [node]
        return node


def _best_order(sizes: tuple[int, ...], scopes: list[Scope], attribute: int) -> dict[int, int]:
    """Return, for each subset of tables (a bit mask), the part to make first in the cheapest way of multiplying them."""
    masks = [sum(1 << i for i in scope) for scope in scopes]
    full = (1 << len(scopes)) - 1
    union = [0] * (full + 1)
    cost = [0.0] * (full + 1)
    splits: dict[int, int] = {}
    known: dict[int, int] = {}

    def cells(mask: int) -> int:
        if mask not in known:
            known[mask] = prod(sizes[i] for i in range(mask.bit_length()) if mask >> i & 1)
        return known[mask]

    for subset in range(1, full + 1):
        low = subset & -subset
        union[subset] = union[subset ^ low] | masks[low.bit_length() - 1]
        if subset == low:
            continue
        out = union[subset] & ~(1 << attribute) if subset == full else union[subset]
        best = float("inf")
        part = (subset - 1) & subset
        while part:
            if part & low:  # each split once
                other = subset ^ part
                price = cost[part] + cost[other] + _price(cells, union[part], union[other], out)
                if price < best:
                    best, splits[subset] = price, part
            part = (part - 1) & subset
        cost[subset] = best
    return splits


def _price(cells: Callable[[int], int], a: int, b: int, out: int) -> float:
    price = CALL + PER_CELL * (cells(a) + cells(b) + cells(out))
    if out != a | b:  # something is summed: a stack of matrix products, else one product cell by cell
        price += PER_PRODUCT * cells(a | b) + PER_BATCH * cells(a & b & out)
    return float(price)


def _union(a: Scope, b: Scope) -> Scope:
    return (*a, *(i for i in b if i not in a))


def _cells(sizes: Sequence[int], scope: Sequence[int]) -> int:
    return prod(sizes[i] for i in scope)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))
