"""All pairs of attributes of one part of a calibrated model at once, by products of message matrices. Public numbers only.

A message matrix from clique c to its neighbour b is p(value of an attribute beyond b | values of what c and b share), with a
column for each value of every attribute beyond: one product of it with p(attribute of c, what is shared) gives the pairs of
that attribute with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InternalError
from understudy.model.engine.on_numpy.pieces import MASS_LOST, Piece
from understudy.model.routes import Mask, Routes, bits_of

Matrix = NDArray[np.float64]
Message = tuple[list[int], Matrix]
"""The attributes beyond, and p(value | shared): a row for each cell of what is shared, all their values side by side."""


class Pairs:
    """Works out the pairs of an attribute with all others that hang together with it."""

    def __init__(self, routes: Routes, within: Callable[[int, Mask], Piece]) -> None:
        self._cliques, self._around, self._homes = routes.cliques, routes.separators, routes.homes
        self._sizes, self._within = routes.sizes, within
        self._messages: dict[tuple[int, int], Message] = {}

    def of(self, attribute: int) -> dict[int, Matrix]:
        """Return p(attribute, other) for each other outside the cliques that have the attribute."""
        found: dict[int, Matrix] = {}
        for home in self._homes[attribute]:
            for neighbour, shared in self._around[home].items():
                if shared and not self._cliques[neighbour] >> attribute & 1:
                    others, given = self._message(home, neighbour)
                    joint = self._joint(home, (attribute,), bits_of(shared)) @ given
                    found |= self._columns(others, joint)
        return found

    def spread(self, attribute: int) -> dict[int, Matrix]:
        """Return the same by sending p(attribute | shared) outwards: less work than the messages of all, for a few."""
        found: dict[int, Matrix] = {}
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
                found |= self._columns([other], pair.T)
            for neighbour, further in self._around[clique].items():
                if neighbour != source and further:
                    waiting.append((clique, neighbour, self._passed_on(clique, further, shared, given)))
        return found

    def _columns(self, others: list[int], joint: Matrix) -> dict[int, Matrix]:
        """Take the table of each attribute out, scaled to sum to 1."""
        starts = np.cumsum([0, *(self._sizes[k] for k in others[:-1])])
        mass = np.add.reduceat(joint.sum(axis=0, dtype=np.float64), starts)
        if not (np.abs(mass - 1.0) <= MASS_LOST).all():
            raise InternalError("The probabilities of a pair of the model do not sum to 1.")
        scaled = joint * np.repeat(1 / mass, [self._sizes[k] for k in others]).astype(joint.dtype)
        return {k: scaled[:, start : start + self._sizes[k]] for k, start in zip(others, starts.tolist(), strict=True)}

    def _message(self, source: int, target: int) -> Message:
        """Return what ``source`` may know of all that lies beyond its neighbour ``target``."""
        known = self._messages.get((source, target))
        if known is None:
            known = self._messages[source, target] = self._made(source, target)
        return known

    def _made(self, source: int, target: int) -> Message:
        shared = self._around[source][target]
        scope = bits_of(shared)
        others = list(bits_of(self._cliques[target] & ~shared))
        mass = self._joint(target, scope, ())[:, 0]
        share = _inverse(mass)
        parts = [self._joint(target, scope, (k,)) * share[:, None] for k in others]
        for neighbour, further in self._around[target].items():
            if neighbour != source and further:
                beyond, given = self._message(target, neighbour)
                others += beyond
                parts.append(self._passed_on(target, shared, further, given) * share[:, None])
        return others, np.concatenate(parts, axis=1) if parts else np.zeros((mass.size, 0), dtype=mass.dtype)

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


def _inverse(mass: Matrix) -> Matrix:
    """Return 1 / mass, and 0 where there is none."""
    return np.divide(1.0, mass, out=np.zeros_like(mass), where=mass >= np.finfo(mass.dtype).tiny)
