"""Any marginal of a calibrated model on a device, also across cliques; hundreds share their work. Public numbers only.

A marginal inside one clique is summed out of it, through smaller marginals that are kept for the next query. A marginal
across cliques is gathered at one of them: each attribute from elsewhere arrives as a message, the conditional table
p(attribute | separator), and a message serves every query that needs it. Nothing leaves the device until all are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import InternalError
from understudy.model.engine.on_torch.inference import Beliefs
from understudy.model.engine.on_torch.pieces import (
    Piece,
    conditional,
    exponential,
    fix,
    keep_only,
    multiply,
)
from understudy.model.engine.on_torch.rings import Table
from understudy.model.network import Network
from understudy.model.routes import Mask, Routes, bits_of, mask_of

SLICE_ABOVE = 1 << 26
"""A product with more cells than this is made one slice at a time."""

MASS_LOST = 1e-6
"""Probabilities sum to 1 within this, or something went wrong."""


class Answers:
    """Answers marginals of one calibrated model; keeps what it worked out on the way."""

    def __init__(self, network: Network, beliefs: Beliefs) -> None:
        self.domain, self.sizes = network.domain, network.domain.sizes
        self._plan, self._swept, self._ring = network.plan, beliefs.swept, beliefs.ring
        self._routes = Routes(network.tree)
        self._inside: dict[tuple[int, Mask], Piece] = {}
        self._messages: dict[tuple[int, int, Mask], Piece] = {}

    def marginals(self, cliques: Sequence[Clique], total: float) -> list[NDArray[np.float64]]:
        """Return the marginals on ``cliques``, each summing to ``total``."""
        masks = [mask_of([self.domain.index(a) for a in clique]) for clique in cliques]
        if not masks:
            return []
        flat = torch.cat([self._marginal(mask).reshape(-1) for mask in masks]).cpu().numpy()
        shapes = [self.domain.shape(clique) for clique in cliques]
        ends = np.cumsum([prod(shape) for shape in shapes])
        pieces = np.split(flat, ends[:-1])
        return [_scaled(piece, total).reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def _marginal(self, wanted: Mask) -> Table:
        """Return one marginal with its axes in domain order."""
        pieces = [self._part(part) for part in self._routes.split(wanted)]
        while len(pieces) > 1:
            pieces.append(multiply(pieces.pop(), pieces.pop(), wanted))
        return pieces[0].ordered()

    def _part(self, wanted: Mask) -> Piece:
        """Return a marginal inside one part of the model."""
        place = self._routes.place(wanted)
        return self._within(place, wanted) if self._routes.has(place, wanted) else self._gather(place, -1, wanted)

    def _within(self, i: int, wanted: Mask) -> Piece:
        """Return the marginal of clique ``i`` on ``wanted``, summed out of the next larger one (smallest attribute last)."""
        known = self._inside.get((i, wanted))
        if known is None:
            missing = bits_of(self._routes.cliques[i] & ~wanted)
            if not missing:
                known = self._belief(i)
            else:
                smallest = min(missing, key=self.sizes.__getitem__)
                known = keep_only(self._within(i, wanted | 1 << smallest), wanted)
            self._inside[i, wanted] = known
        return known

    def _belief(self, i: int) -> Piece:
        """Return the probabilities of clique ``i``: of the plan's tables, those at the step that saw all of it."""
        plan, inside, outside = self._plan, self._swept.inside, self._swept.outside
        clique = self._routes.cliques[i]
        pieces: list[Piece] = []
        for node, mask in enumerate(self._scopes):
            if clique & ~mask == 0:
                pieces = [self._log(plan.scopes[node], inside[node]), self._log(plan.scopes[node], outside[node])]
                break
        else:
            for step in plan.steps:
                if step.right >= 0 and clique & ~(self._scopes[step.left] | self._scopes[step.right]) == 0:
                    pieces = [self._log(plan.scopes[k], inside[k]) for k in (step.left, step.right)]
                    pieces.append(self._log(plan.scopes[step.out], outside[step.out]))
                    break
        return exponential(pieces, bits_of(clique), self.sizes)

    @cached_property
    def _scopes(self) -> list[Mask]:
        return [mask_of(scope) for scope in self._plan.scopes]

    def _log(self, scope: tuple[int, ...], table: Table) -> Piece:
        return Piece(scope, self._ring.log(table))

    def _gather(self, i: int, towards: int, wanted: Mask) -> Piece:
        """Return the joint of ``wanted`` at clique ``i``, together with its separator ``towards`` a neighbour (-1: none)."""
        arriving, separators = self._routes.arriving(i, wanted), self._routes.separators[i]
        out = separators[towards] if towards >= 0 else 0
        needed = wanted & self._routes.cliques[i] | out
        for neighbour in arriving:
            needed |= separators[neighbour]
        pieces = [self._within(i, needed)]
        pieces += [self._message(neighbour, i, those) for neighbour, those in arriving.items()]
        return self._contract(pieces, wanted | out)

    def _message(self, source: int, target: int, wanted: Mask) -> Piece:
        """Return p(wanted | separator) as ``source`` tells it to ``target``."""
        known = self._messages.get((source, target, wanted))
        if known is None:
            known = conditional(self._gather(source, target, wanted), wanted)
            self._messages[source, target, wanted] = known
        return known

    def _contract(self, pieces: list[Piece], keep: Mask) -> Piece:
        """Multiply ``pieces`` and sum out all but ``keep``: the cheapest pair first, a slice at a time where it is large."""
        while len(pieces) > 1:
            a, b, staying = self._cheapest(pieces, keep)
            free = (a.mask | b.mask) & staying & ~keep
            if free and self._routes.cells((a.mask | b.mask) & staying) > SLICE_ABOVE:
                return self._slice(pieces, keep, max(bits_of(free), key=self.sizes.__getitem__))
            pieces = [piece for piece in pieces if piece is not a and piece is not b]
            pieces.append(multiply(a, b, staying))
        return keep_only(pieces[0], keep)

    def _cheapest(self, pieces: list[Piece], keep: Mask) -> tuple[Piece, Piece, Mask]:
        """Return the pair whose product is smallest beside what it replaces, and what must stay of it."""
        best: tuple[int, Piece, Piece, Mask] | None = None
        for i, a in enumerate(pieces):
            for b in pieces[:i]:
                staying = keep
                for piece in pieces:
                    if piece is not a and piece is not b:
                        staying |= piece.mask
                rank = (
                    self._routes.cells((a.mask | b.mask) & staying) - self._routes.cells(a.mask) - self._routes.cells(b.mask)
                )
                if best is None or rank < best[0]:
                    best = (rank, a, b, staying)
        assert best is not None
        return best[1:]

    def _slice(self, pieces: list[Piece], keep: Mask, attribute: int) -> Piece:
        """Contract one value of ``attribute`` after another, and add up."""
        total: Piece | None = None
        for value in range(self.sizes[attribute]):
            part = self._contract([fix(piece, attribute, value) for piece in pieces], keep)
            if total is None:
                total = part
            else:
                total.table.add_(part.table.permute([part.scope.index(a) for a in total.scope]))
        assert total is not None
        return total


def _scaled(piece: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Scale probabilities to sum to ``total``; refuse to go on where they do not sum to 1, for then they are wrong."""
    mass = float(piece.sum())
    if not abs(mass - 1.0) <= MASS_LOST:
        raise InternalError(f"The probabilities of a marginal of the model sum to {mass:g} instead of 1.")
    return piece * (total / mass)
