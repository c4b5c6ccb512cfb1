"""Any marginal of a calibrated model, also across cliques; hundreds at once share their work. Public numbers only.

A marginal inside one clique is summed out of it, through smaller marginals that are kept for the next query. A marginal
across cliques is gathered at one of them: each attribute from elsewhere arrives as a message, the conditional table
p(attribute | separator), and a message serves every query that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import InternalError
from understudy.model.inference import Beliefs, Network
from understudy.model.threads import workers

SLICE_ABOVE = 1 << 21
"""A product with more cells than this is made one slice at a time."""

SMALLEST_SUM = 1e-250
"""A product of scaled tables that sums to more than this has lost no term that could matter in 50 digits."""

THREADED_FROM = 16
"""From this many queries on, the cores share them; two that work out the same message at once lose only time."""

THREADED_ABOVE = 1 << 19
"""In a smaller tree (of so many cells) the work is the interpreter's, not NumPy's, and threads only get in its way."""

CACHED = 1 << 18
"""Cells that fit in a core's own cache."""

SINGLE = 1e-6
"""What single precision is trusted to: this part of the total."""

MASS_LOST = 1e-3
"""Probabilities sum to 1 within this, or something went wrong; in single precision 3e-6 was the most seen."""

Mask = int
Real = type[np.float64] | type[np.float32]


@dataclass(frozen=True)
class Piece:
    """A table and the attributes of its axes; remembers how its axes were last rearranged for a product."""

    scope: tuple[int, ...]
    table: NDArray[np.float64]
    _arranged: dict[tuple[int, ...], NDArray[np.float64]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def mask(self) -> Mask:
        """The attributes as bits."""
        return _mask(self.scope)

    def arranged(self, scope: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the table, contiguous, with its axes in the order of ``scope``."""
        known = self._arranged.get(scope)
        if known is None:
            known = np.ascontiguousarray(self.table.transpose([self.scope.index(i) for i in scope]))
            self._arranged.clear()  # another thread may want another order meanwhile: what it holds stays its own
            self._arranged[scope] = known
        return known

    def ordered(self) -> NDArray[np.float64]:
        """Return the table with its axes in domain order."""
        return self.table.transpose(sorted(range(len(self.scope)), key=self.scope.__getitem__))


class Answers:
    """Answers marginals of one calibrated model; keeps what it worked out on the way."""

    def __init__(self, network: Network, beliefs: Beliefs, *, total: float, dtype: Real = np.float64) -> None:
        self._dtype = dtype
        self.domain = network.domain
        self.sizes = network.domain.sizes
        self.total = total
        self._network = network
        self._beliefs = beliefs
        self._cliques = [_mask([self.domain.index(a) for a in clique]) for clique in network.tree.cliques]
        self._separators = _connect(self._cliques, network.tree.parents)
        self._towards = [self._directions(attribute) for attribute in range(len(self.sizes))]
        self._sizes_known: dict[Mask, int] = {}
        self._inside: dict[tuple[int, Mask], Piece] = {}
        self._messages: dict[tuple[int, int, Mask], Piece] = {}

    def marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.float64]]:
        """Return the marginals on ``cliques``, each summing to ``total``."""
        masks = [_mask([self.domain.index(a) for a in clique]) for clique in cliques]
        if len(masks) < THREADED_FROM or self._network.tree.cells < THREADED_ABOVE:
            return [self._marginal(mask) for mask in masks]
        count = 8 * workers()
        parts = [masks[k::count] for k in range(count)]
        with ThreadPoolExecutor(max_workers=workers()) as pool:
            done = list(pool.map(lambda part: [self._marginal(mask) for mask in part], parts))
        return [done[k % count][k // count] for k in range(len(masks))]

    def _marginal(self, wanted: Mask) -> NDArray[np.float64]:
        """Return one marginal with its axes in domain order."""
        home = min(
            (i for i, clique in enumerate(self._cliques) if wanted & ~clique == 0),
            key=lambda i: self._cells(self._cliques[i]),
            default=-1,
        )
        # Some BLAS kernels warn of what lies past a table's end; ``_mass`` looks at what they made.
        with np.errstate(invalid="ignore"):
            piece = self._gather(self._root(wanted), -1, wanted) if home < 0 else self._within(home, wanted)
            table = piece.ordered()
            return table * (self.total / _mass(table))

    def _within(self, i: int, wanted: Mask) -> Piece:
        """Return the marginal of clique ``i`` on ``wanted``, summed out of the next larger one (smallest attribute last)."""
        known = self._inside.get((i, wanted))
        if known is None:
            missing = self._cliques[i] & ~wanted
            smallest = min(_bits(missing), key=self.sizes.__getitem__, default=-1)
            if missing & (missing - 1) == 0:
                known = self._out_of_belief(i, wanted)
            else:
                known = _sum_out(self._within(i, wanted | 1 << smallest), smallest)
            self._inside[i, wanted] = known
        return known

    def _belief(self, i: int) -> list[Piece]:
        """Return tables whose product is the belief on clique ``i``; the clique's own table is never made."""
        plan, beliefs = self._network.plan, self._beliefs
        best: list[Piece] = []
        for node, scope in enumerate(plan.scopes):
            if self._cliques[i] & ~_mask(scope) == 0:
                return [Piece(scope, beliefs.inside[node]), Piece(scope, beliefs.outside[node])]
        for step in plan.steps:
            if step.right >= 0 and self._cliques[i] & ~_mask(plan.scopes[step.left] + plan.scopes[step.right]) == 0:
                best = [Piece(plan.scopes[k], beliefs.inside[k]) for k in (step.left, step.right)]
                best.append(Piece(plan.scopes[step.out], beliefs.outside[step.out]))
        return best

    def _out_of_belief(self, i: int, wanted: Mask) -> Piece:
        """Return the marginal of clique ``i`` on nearly all of it, as probabilities.

        Scaled tables can peak in different cells, so that their product is too small for a double: then, and where
        inference itself had to use logarithms, they are multiplied as logarithms.
        """
        pieces = self._belief(i)
        logarithmic = self._beliefs.logarithmic
        if not logarithmic:
            product = self._contract(pieces, wanted)
            if float(product.table.sum()) > SMALLEST_SUM:
                return _normalised(product, self._dtype)
            with np.errstate(divide="ignore"):
                pieces = [Piece(piece.scope, np.log(piece.table)) for piece in pieces]
        return _normalised(_keep_only(self._exponential(pieces), wanted), self._dtype)

    def _exponential(self, pieces: list[Piece]) -> Piece:
        """Add up tables of logarithms, and return the exponential, scaled to maximum 1."""
        scope = _bits(_mask([a for piece in pieces for a in piece.scope]))
        table = np.zeros([self.sizes[a] for a in scope])
        for piece in pieces:
            table = table + piece.ordered().reshape([self.sizes[a] if a in piece.scope else 1 for a in scope])
        return Piece(scope, np.exp(table - table.max()))

    def _gather(self, i: int, towards: int, wanted: Mask) -> Piece:
        """Return the joint of ``wanted`` at clique ``i``, together with its separator ``towards`` a neighbour (-1: none)."""
        here = wanted & self._cliques[i]
        arriving: dict[int, Mask] = {}
        for attribute in _bits(wanted & ~here):
            neighbour = self._towards[attribute][i]
            arriving[neighbour] = arriving.get(neighbour, 0) | 1 << attribute
        out = self._separators[i][towards] if towards >= 0 else 0
        needed = here | out
        for neighbour in arriving:
            needed |= self._separators[i][neighbour]
        pieces = [self._within(i, needed)]
        pieces += [self._message(neighbour, i, those) for neighbour, those in arriving.items()]
        return self._contract(pieces, wanted | out)

    def _message(self, source: int, target: int, wanted: Mask) -> Piece:
        """Return p(wanted | separator) as ``source`` tells it to ``target``."""
        known = self._messages.get((source, target, wanted))
        if known is None:
            joint = self._gather(source, target, wanted)
            _mass(joint.table)
            known = _conditional(joint, wanted)
            self._messages[source, target, wanted] = known
        return known

    def _root(self, wanted: Mask) -> int:
        """Choose where to gather: messages that bring one attribute each, then the least work."""
        root, most, least = 0, len(self.sizes), 0
        for i, clique in enumerate(self._cliques):
            needed, arriving, together = wanted, 0, 0
            for attribute in _bits(wanted & ~clique):
                neighbour = self._towards[attribute][i]
                together += arriving >> neighbour & 1
                arriving |= 1 << neighbour
                needed |= self._separators[i][neighbour]
            if together <= most and (together < most or self._cells(needed) < least):
                root, most, least = i, together, self._cells(needed)
        return root

    def _contract(self, pieces: list[Piece], keep: Mask) -> Piece:
        """Multiply ``pieces`` and sum out all but ``keep``: the cheapest pair first, a slice at a time where it is large."""
        pieces = list(pieces)
        while len(pieces) > 1:
            a, b, size = self._cheapest(pieces, keep)
            others = 0
            for piece in pieces:
                if piece is not a and piece is not b:
                    others |= piece.mask
            staying = keep | others
            free = (a.mask | b.mask) & staying & ~keep
            if len(pieces) == 3 and all(piece.mask & ~keep == free for piece in pieces) and _apart(pieces, free):
                return _triple(pieces, free, self.sizes)
            if size > SLICE_ABOVE and free:
                return self._slice(pieces, keep, max(_bits(free), key=self.sizes.__getitem__))
            pieces = [piece for piece in pieces if piece is not a and piece is not b]
            pieces.append(_pair(a, b, staying, self.sizes))
        return _keep_only(pieces[0], keep)

    def _cheapest(self, pieces: list[Piece], keep: Mask) -> tuple[Piece, Piece, int]:
        """Return the pair whose product is smallest beside what it replaces, and the size of that product."""
        if len(pieces) == 2:
            return pieces[0], pieces[1], 0
        best = None
        for i, a in enumerate(pieces):
            for b in pieces[:i]:
                others = keep
                for piece in pieces:
                    if piece is not a and piece is not b:
                        others |= piece.mask
                size = self._cells((a.mask | b.mask) & others)
                rank = size - a.table.size - b.table.size
                if best is None or rank < best[0]:
                    best = (rank, a, b, size)
        assert best is not None
        return best[1:]

    def _slice(self, pieces: list[Piece], keep: Mask, attribute: int) -> Piece:
        """Contract one value of ``attribute`` after another, and add up."""
        total: Piece | None = None
        for value in range(self.sizes[attribute]):
            part = self._contract([_fix(piece, attribute, value) for piece in pieces], keep)
            if total is None:
                total = part
            else:
                total.table[...] += part.table.transpose([part.scope.index(a) for a in total.scope])
        assert total is not None
        return total

    def _cells(self, mask: Mask) -> int:
        cells = self._sizes_known.get(mask)
        if cells is None:
            cells = self._sizes_known[mask] = prod(self.sizes[a] for a in _bits(mask))
        return cells

    def _directions(self, attribute: int) -> list[int]:
        """Return, for each clique, the neighbour towards ``attribute`` (the clique itself where it has it)."""
        direction = [i if clique >> attribute & 1 else -1 for i, clique in enumerate(self._cliques)]
        frontier = [i for i, known in enumerate(direction) if known >= 0]
        while frontier:
            found = []
            for i in frontier:
                for neighbour in self._separators[i]:
                    if direction[neighbour] < 0:
                        direction[neighbour] = i
                        found.append(neighbour)
            frontier = found
        return direction


def _connect(cliques: Sequence[Mask], parents: Sequence[int]) -> list[dict[int, Mask]]:
    """Return each clique's neighbours with what they share; separate parts are joined by sharing nothing."""
    around: list[dict[int, Mask]] = [{} for _ in cliques]
    for i in range(1, len(cliques)):
        parent = max(parents[i], 0)
        shared = cliques[i] & cliques[parent]
        around[i][parent] = shared
        around[parent][i] = shared
    return around


def _pair(a: Piece, b: Piece, staying: Mask, sizes: Sequence[int]) -> Piece:
    """Multiply two tables, summing out what does not stay: one stack of matrix products."""
    a, b = _keep_only(a, staying | b.mask), _keep_only(b, staying | a.mask)
    guide = a if a.table.size >= b.table.size else b  # the larger table's axes move least
    batch = [i for i in guide.scope if (a.mask & b.mask & staying) >> i & 1]
    summed = [i for i in guide.scope if (a.mask & b.mask & ~staying) >> i & 1]
    if not summed:
        return _spread_product(guide, b if guide is a else a)
    rows = [i for i in a.scope if not b.mask >> i & 1]
    columns = [i for i in b.scope if not a.mask >> i & 1]
    left = _matrices(a, batch, summed, rows, sizes).swapaxes(1, 2)
    right = _matrices(b, batch, summed, columns, sizes)
    scope = (*batch, *rows, *columns)
    return Piece(scope, np.matmul(left, right).reshape([sizes[i] for i in scope]))


def _spread_product(large: Piece, small: Piece) -> Piece:
    """Multiply cell by cell where nothing is summed; the larger table is not moved."""
    extra = tuple(i for i in small.scope if not large.mask >> i & 1)
    scope = large.scope + extra
    order = [small.scope.index(i) for i in scope if small.mask >> i & 1]
    shape = [small.table.shape[small.scope.index(i)] if small.mask >> i & 1 else 1 for i in scope]
    spread = large.table.reshape(large.table.shape + (1,) * len(extra))
    return Piece(scope, np.ascontiguousarray(spread * small.table.transpose(order).reshape(shape)))


def _matrices(
    piece: Piece, batch: list[int], summed: list[int], others: list[int], sizes: Sequence[int]
) -> NDArray[np.float64]:
    """View a table as (batch, summed, others), copying whole runs where it must be copied."""
    b, k, m = (prod(sizes[i] for i in group) for group in (batch, summed, others))
    if others and piece.scope[-1] != others[-1] and summed:
        return piece.arranged((*batch, *others, *summed)).reshape(b, m, k).swapaxes(1, 2)
    return piece.arranged((*batch, *summed, *others)).reshape(b, k, m)


def _apart(pieces: Sequence[Piece], shared: Mask) -> bool:
    """Say whether nothing but ``shared`` is in more than one of three tables."""
    a, b, c = (piece.mask & ~shared for piece in pieces)
    return not (a & b | a & c | b & c)


def _triple(pieces: list[Piece], shared: Mask, sizes: Sequence[int]) -> Piece:
    """Multiply three tables and sum out all that they share, a few rows at a time so that the work stays in cache."""
    pieces = sorted(pieces, key=lambda piece: piece.table.size)
    summed = _bits(shared)
    own = [tuple(i for i in piece.scope if not shared >> i & 1) for piece in pieces]
    rows = prod(sizes[i] for i in summed)
    stacks = [piece.arranged((*summed, *mine)).reshape(rows, -1) for piece, mine in zip(pieces, own, strict=True)]
    if stacks[0].dtype == np.float32:
        stacks = _worthwhile(stacks)
    a, b, c = stacks
    total = np.zeros((a.shape[1] * b.shape[1], c.shape[1]), dtype=a.dtype)
    step = max(16, CACHED // total.shape[0])
    outer = np.empty((step, a.shape[1], b.shape[1]), dtype=a.dtype)
    for k in range(0, a.shape[0], step):
        part = outer[: min(step, a.shape[0] - k)]
        np.multiply(a[k : k + step, :, None], b[k : k + step, None, :], out=part)
        total += part.reshape(part.shape[0], -1).T @ c[k : k + step]
    scope = own[0] + own[1] + own[2]
    return Piece(scope, total.reshape([sizes[i] for i in scope]))


def _worthwhile(stacks: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Leave out the lightest rows, as many as together weigh less than single precision tells apart."""
    weight = np.ones(stacks[0].shape[0])
    for stack in stacks:
        weight *= stack @ np.ones(stack.shape[1], dtype=stack.dtype)
    ascending = np.sort(weight)
    below = int(np.searchsorted(np.cumsum(ascending), SINGLE * weight.sum()))
    keep = np.flatnonzero(weight >= ascending[below])
    return [stack[keep] for stack in stacks]


def _keep_only(piece: Piece, keep: Mask) -> Piece:
    axes = tuple(k for k, a in enumerate(piece.scope) if not keep >> a & 1)
    if not axes:
        return piece
    return Piece(tuple(a for a in piece.scope if keep >> a & 1), piece.table.sum(axis=axes))


def _sum_out(piece: Piece, attribute: int) -> Piece:
    axis = piece.scope.index(attribute)
    scope = piece.scope[:axis] + piece.scope[axis + 1 :]
    shape = piece.table.shape
    before, size, after = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    stacked = np.ascontiguousarray(piece.table).reshape(before, size, after)
    if after == 1:
        summed = stacked.reshape(before, size) @ np.ones(size, dtype=stacked.dtype)
    else:
        summed = np.add.reduce(stacked, axis=1)
    return Piece(scope, summed.reshape(shape[:axis] + shape[axis + 1 :]))


def _fix(piece: Piece, attribute: int, value: int) -> Piece:
    if not piece.mask >> attribute & 1:
        return piece
    axis = piece.scope.index(attribute)
    return Piece(piece.scope[:axis] + piece.scope[axis + 1 :], piece.table[(slice(None),) * axis + (value,)])


def _conditional(joint: Piece, wanted: Mask) -> Piece:
    """Turn a joint into p(wanted | the rest), with the axes of ``wanted`` last: its rows are then moved whole."""
    given = tuple(a for a in joint.scope if not wanted >> a & 1)
    scope = (*given, *_bits(wanted & joint.mask))
    table = joint.table.transpose([joint.scope.index(a) for a in scope])
    rows = table.reshape(prod(table.shape[: len(given)]), -1)
    mass = rows @ np.ones(rows.shape[1], dtype=rows.dtype)
    scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass >= np.finfo(mass.dtype).tiny)
    return Piece(scope, (rows * scale[:, None]).reshape(table.shape))


def _mass(table: NDArray[np.float64]) -> float:
    """Return what a table of probabilities sums to; refuse to go on where that is not 1, for then its cells are wrong."""
    mass = float(table.sum(dtype=np.float64))
    if not abs(mass - 1.0) <= MASS_LOST:
        raise InternalError(f"The probabilities of a marginal of the model sum to {mass:g} instead of 1.")
    return mass


def _normalised(piece: Piece, dtype: Real) -> Piece:
    return Piece(piece.scope, (piece.table * (1.0 / float(piece.table.sum()))).astype(dtype, copy=False))


def _mask(attributes: Sequence[int]) -> Mask:
    mask = 0
    for attribute in attributes:
        mask |= 1 << attribute
    return mask


@lru_cache(maxsize=1 << 16)
def _bits(mask: Mask) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
