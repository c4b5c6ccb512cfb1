"""Many pairs of attributes of a calibrated model at once, by products of message matrices. Public numbers only.

A message matrix from a clique to its parent is p(value of an attribute below | values of what both share), with a column for
each value of every attribute below that the parent lacks. Attributes that no clique has together meet at one: where it has
one of them, a product of p(attribute, what is shared) with the message gives the pairs of that attribute with all below;
where both come from below, a product of two messages gives all pairs of what lies below two neighbours. So messages go
towards one root alone, and each is let go of once its parent has been reached.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from itertools import accumulate, chain
from math import prod
from operator import or_

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InternalError
from understudy.model.engine.on_numpy.pieces import MASS_LOST, Piece
from understudy.model.routes import Mask, Routes, bits_of

AT_ONCE = 1 << 23
"""Two messages meet a few columns at a time, of so many cells."""

Matrix = NDArray[np.float64]
Scope = tuple[int, ...]
Message = tuple[Scope, Matrix]
"""The attributes below, and p(value | shared): a row for each cell of what is shared, all their values side by side."""


class Pairs:
    """Works out pairs of attributes that hang together, but are in no clique together."""

    def __init__(self, routes: Routes, within: Callable[[int, Mask], Piece]) -> None:
        self._cliques, self._around, self._homes = routes.cliques, routes.separators, routes.homes
        self._sizes, self._within = routes.sizes, within

    def cells(self, asked: Collection[Mask]) -> int:
        """Return how many cells all messages have that ``all_of`` sends."""
        wanted, below, cells = reduce(or_, asked, 0), dict[int, Mask](), 0
        for clique, parent in self._upwards():
            held = self._cliques[clique] | below.pop(clique, 0)
            if parent >= 0:
                shared = self._around[clique][parent]
                below[parent] = below.get(parent, 0) | held
                cells += self._size(shared) * self._width(held & wanted & ~shared)
        return cells

    def all_of(self, asked: Collection[Mask]) -> dict[Mask, Piece]:
        """Return the marginals on the pairs ``asked``, by one message over each separator."""
        found: dict[Mask, Piece] = {}
        for rows, columns, joint in self._blocks(reduce(or_, asked, 0)):
            found |= self._pieces(rows, columns, joint, asked)
        return found

    def _blocks(self, wanted: Mask) -> Iterator[tuple[Scope, Scope, Matrix]]:
        """Yield p(attribute, attribute) for whole blocks of ``wanted`` attributes, each pair once."""
        sent: dict[int, list[tuple[Mask, Message]]] = defaultdict(list)
        for clique, parent in self._upwards():
            arrived: dict[Mask, Message] = {}
            for shared, coming in sent.pop(clique, ()):
                scope = bits_of(shared)
                if own := bits_of(self._cliques[clique] & ~shared & wanted):
                    yield own, coming[0], np.concatenate([self._joint(clique, (k,), scope) for k in own]) @ coming[1]
                for other, known in arrived.items():
                    yield coming[0], known[0], self._product(clique, shared, coming[1], other, known[1])
                arrived[shared] = _beside(arrived[shared], coming) if shared in arrived else coming
            shared = self._around[clique][parent] if parent >= 0 else 0
            if shared and (arrived or self._cliques[clique] & ~shared & wanted):
                sent[parent].append((shared, self._message(clique, shared, wanted, arrived)))

    def _message(self, clique: int, shared: Mask, wanted: Mask, arrived: dict[Mask, Message]) -> Message:
        """Return p(value | ``shared``) for what is ``wanted`` of ``clique`` and of all below it."""
        scope, own = bits_of(shared), bits_of(self._cliques[clique] & ~shared & wanted)
        share = _inverse(self._joint(clique, scope, ())[:, 0])
        parts = [self._joint(clique, scope, (k,)) for k in own]
        parts += [self._passed_on(clique, shared, further, given) for further, (_, given) in arrived.items()]
        columns = (*own, *chain.from_iterable(below for below, _ in arrived.values()))
        given = np.concatenate(parts, axis=1)
        given *= share[:, None]
        return columns, given

    def _product(self, clique: int, a: Mask, given_a: Matrix, b: Mask, given_b: Matrix) -> Matrix:
        """Return Σ p(a, b) · given_a · given_b, columns of ``given_a`` as rows; the cheaper one is passed on first."""
        joint, (rows_a, wide_a), (rows_b, wide_b) = self._size(a | b), given_a.shape, given_b.shape
        if joint * wide_a + wide_a * rows_b * wide_b > joint * wide_b + wide_b * rows_a * wide_a:
            return self._product(clique, b, given_b, a, given_a).T
        step = max(1, AT_ONCE // rows_b)
        some = (given_a[:, k : k + step] for k in range(0, wide_a, step))
        return np.concatenate([self._passed_on(clique, b, a, columns).T @ given_b for columns in some])

    def _upwards(self) -> list[tuple[int, int]]:
        """Return the cliques with their parents (-1: none), each after all below it; roots are near to the middle."""
        known: set[int] = set()
        found: list[tuple[int, int]] = []
        for start in range(len(self._cliques)):
            if start not in known:
                part = self._downwards(start)
                known.update(clique for clique, _ in part)
                found += reversed(self._downwards(self._middle(part)))
        return found

    def _downwards(self, root: int) -> list[tuple[int, int]]:
        """Return the cliques that hang together with ``root``, each after its parent, with it."""
        found = [(root, -1)]
        for clique, parent in found:
            found += [(k, clique) for k, shared in self._around[clique].items() if shared and k != parent]
        return found

    def _middle(self, part: list[tuple[int, int]]) -> int:
        """Return the root towards which messages have the fewest cells."""
        below = {clique: self._cliques[clique] for clique, _ in part}
        for clique, parent in reversed(part):
            if parent >= 0:
                below[parent] |= below[clique]
        whole = below[part[0][0]]
        cost, best = {part[0][0]: 0}, part[0][0]
        for clique, parent in part[1:]:
            shared = self._around[clique][parent]
            up, down = self._width(below[clique] & ~shared), self._width(whole & ~below[clique])
            cost[clique] = cost[parent] + self._size(shared) * (down - up)
            best = min(best, clique, key=cost.__getitem__)
        return best

    def _pieces(self, rows: Scope, columns: Scope, joint: Matrix, asked: Collection[Mask]) -> dict[Mask, Piece]:
        """Take the tables that are asked for out of a block, each scaled to sum to 1."""
        if not rows or not columns:
            return {}
        tops, lefts = self._starts(rows), self._starts(columns)
        masses = np.add.reduceat(np.add.reduceat(joint, lefts, axis=1, dtype=np.float64), tops, axis=0)
        if not (np.abs(masses - 1.0) <= MASS_LOST).all():
            raise InternalError("The probabilities of a pair of the model do not sum to 1.")
        found: dict[Mask, Piece] = {}
        for a, top, scales in zip(rows, tops, (1.0 / masses).tolist(), strict=True):
            for b, left, scale in zip(columns, lefts, scales, strict=True):
                if (mask := 1 << a | 1 << b) in asked:
                    table = joint[top : top + self._sizes[a], left : left + self._sizes[b]] * joint.dtype.type(scale)
                    found[mask] = Piece((a, b), table) if a < b else Piece((b, a), table.T)
        return found

    def _starts(self, scope: Scope) -> list[int]:
        """Return where the values of each attribute begin, side by side."""
        return list(accumulate((self._sizes[k] for k in scope[:-1]), initial=0))

    def _width(self, mask: Mask) -> int:
        return sum(self._sizes[i] for i in bits_of(mask))

    def _size(self, mask: Mask) -> int:
        return self._cells(bits_of(mask))

    def spread(self, attribute: int, asked: Collection[Mask]) -> dict[Mask, Piece]:
        """Return those of ``asked`` with ``attribute``, which is sent outwards: less work than all messages, for a few."""
        found: dict[Mask, Piece] = {}
        waiting = [
            (home, neighbour, self._joint(home, bits_of(shared), (attribute,)))
            for home in self._homes[attribute]
            for neighbour, shared in self._around[home].items()
            if shared and not self._cliques[neighbour] >> attribute & 1
        ]
        while waiting:
            source, clique, joint = waiting.pop()
            shared = self._around[source][clique]
            given = joint * _inverse(self._joint(clique, bits_of(shared), ())[:, 0])[:, None]
            for other in bits_of(self._cliques[clique] & ~shared):
                pair = self._passed_on(clique, 1 << other, shared, given)
                found |= self._pieces((other,), (attribute,), pair, asked)
            for neighbour, further in self._around[clique].items():
                if neighbour != source and further:
                    waiting.append((clique, neighbour, self._passed_on(clique, further, shared, given)))
        return found

    def _passed_on(self, clique: int, shared: Mask, further: Mask, given: Matrix) -> Matrix:
        """Return Σ p(shared, further) · given over what of ``further`` is not ``shared``."""
        both, mine, theirs = (bits_of(m) for m in (shared & further, shared & ~further, further & ~shared))
        b, m, t = (self._cells(scope) for scope in (both, mine, theirs))
        joint = self._joint(clique, (*both, *mine), theirs).reshape(b, m, t)
        scope = bits_of(further)
        order = [scope.index(i) for i in (*both, *theirs)]
        rows = given.reshape([self._sizes[i] for i in scope] + [-1]).transpose([*order, len(scope)]).reshape(b, t, -1)
        out = np.matmul(joint, rows)
        scope, width = (*both, *mine), out.shape[-1]
        shaped = out.reshape([self._sizes[i] for i in scope] + [width])
        order = [scope.index(i) for i in bits_of(shared)]
        return np.asarray(shaped.transpose([*order, len(scope)]).reshape(b * m, width))

    def _joint(self, clique: int, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
        """Return the marginal of ``clique`` on two sets of attributes as a matrix."""
        scope = (*rows, *columns)
        piece = self._within(clique, sum(1 << i for i in scope))
        table = piece.table.transpose([piece.scope.index(i) for i in scope])
        return np.asarray(table.reshape(self._cells(rows), self._cells(columns)))

    def _cells(self, scope: Sequence[int]) -> int:
        return prod(self._sizes[i] for i in scope)


def _beside(a: Message, b: Message) -> Message:
    """Put two messages about the same separator side by side."""
    return (*a[0], *b[0]), np.concatenate([a[1], b[1]], axis=1)


def _inverse(mass: Matrix) -> Matrix:
    """Return 1 / mass, and 0 where there is none."""
    return np.divide(1.0, mass, out=np.zeros_like(mass), where=mass >= np.finfo(mass.dtype).tiny)
