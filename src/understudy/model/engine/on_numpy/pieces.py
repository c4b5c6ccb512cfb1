"""Tables with the attributes of their axes, multiplied and summed as an answer needs them. Public numbers only.

Which tables to multiply is decided in ``answers``; here it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InternalError
from understudy.model.routes import Mask, bits_of, mask_of

CACHED = 1 << 18
"""Cells that fit in a core's own cache."""

SINGLE = 1e-6
"""What single precision is trusted to: this part of the total."""

MASS_LOST = 1e-3
"""Probabilities sum to 1 within this, or something went wrong; in single precision 3e-6 was the most seen."""

Real = type[np.float64] | type[np.float32]


@dataclass(frozen=True)
class Piece:
    """A table and the attributes of its axes; a small one remembers how its axes were last rearranged for a product."""

    scope: tuple[int, ...]
    table: NDArray[np.float64]
    _arranged: dict[tuple[int, ...], NDArray[np.float64]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def mask(self) -> Mask:
        """The attributes as bits."""
        return mask_of(self.scope)

    def arranged(self, scope: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the table, contiguous, with its axes in the order of ``scope``."""
        known = self._arranged.get(scope)
        if known is None:
            known = np.asarray(self.table.transpose([self.scope.index(i) for i in scope]), order="C")
            if known.size <= CACHED:  # to move a larger one again takes little beside what it is moved for
                self._arranged.clear()  # another thread may want another order meanwhile: what it holds stays its own
                self._arranged[scope] = known
        return known

    def ordered(self) -> NDArray[np.float64]:
        """Return the table with its axes in domain order."""
        return self.table.transpose(sorted(range(len(self.scope)), key=self.scope.__getitem__))


def multiply_pair(a: Piece, b: Piece, staying: Mask, sizes: Sequence[int]) -> Piece:
    """Multiply two tables, summing out what does not stay: one stack of matrix products."""
    a, b = keep_only(a, staying | b.mask), keep_only(b, staying | a.mask)
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


def apart(pieces: Sequence[Piece], shared: Mask) -> bool:
    """Say whether nothing but ``shared`` is in more than one of three tables."""
    a, b, c = (piece.mask & ~shared for piece in pieces)
    return not (a & b | a & c | b & c)


def multiply_three(pieces: list[Piece], shared: Mask, sizes: Sequence[int]) -> Piece:
    """Multiply three tables and sum out all that they share, a few rows at a time so that the work stays in cache."""
    pieces = sorted(pieces, key=lambda piece: piece.table.size)
    summed = bits_of(shared)
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


def keep_only(piece: Piece, keep: Mask) -> Piece:
    """Sum out all attributes but ``keep``."""
    axes = tuple(k for k, a in enumerate(piece.scope) if not keep >> a & 1)
    if not axes:
        return piece
    return Piece(tuple(a for a in piece.scope if keep >> a & 1), piece.table.sum(axis=axes))


def sum_out(piece: Piece, attribute: int) -> Piece:
    """Sum out one attribute, as one pass over contiguous memory."""
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


def fix(piece: Piece, attribute: int, value: int) -> Piece:
    """Return the slice of a table at one value of an attribute, where it has that attribute."""
    if not piece.mask >> attribute & 1:
        return piece
    axis = piece.scope.index(attribute)
    return Piece(piece.scope[:axis] + piece.scope[axis + 1 :], piece.table[(slice(None),) * axis + (value,)])


def conditional(joint: Piece, wanted: Mask) -> Piece:
    """Turn a joint into p(wanted | the rest), with the axes of ``wanted`` last: its rows are then moved whole."""
    given = tuple(a for a in joint.scope if not wanted >> a & 1)
    scope = (*given, *bits_of(wanted & joint.mask))
    table = joint.table.transpose([joint.scope.index(a) for a in scope])
    rows = table.reshape(prod(table.shape[: len(given)]), -1)
    return Piece(scope, (rows * _inverse(rows @ np.ones(rows.shape[1], dtype=rows.dtype))[:, None]).reshape(table.shape))


def divided(joint: Piece, given: Piece) -> Piece:
    """Return p(the rest | given) from a joint and the marginal on what is ``given``: its axes first."""
    scope = (*given.scope, *(a for a in joint.scope if not given.mask >> a & 1))
    table = joint.table.transpose([joint.scope.index(a) for a in scope])
    rows = table.reshape(given.table.size, -1)
    return Piece(scope, (rows * _inverse(given.table.reshape(-1))[:, None]).reshape(table.shape))


def _inverse(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one over each; 0 where there is nothing."""
    return np.divide(1.0, mass, out=np.zeros_like(mass), where=mass >= np.finfo(mass.dtype).tiny)


def mass_of(table: NDArray[np.float64]) -> float:
    """Return what a table of probabilities sums to; refuse to go on where that is not 1, for then its cells are wrong."""
    mass = float(table.sum(dtype=np.float64))
    if not abs(mass - 1.0) <= MASS_LOST:
        raise InternalError(f"The probabilities of a marginal of the model sum to {mass:g} instead of 1.")
    return mass


def part_of(piece: Piece) -> Piece:
    """Return a table that holds a part of all probabilities; refuse to go on where it holds more than all."""
    if not float(piece.table.sum(dtype=np.float64)) <= 1 + MASS_LOST:
        raise InternalError(
            "The probabilities of a part of a marginal of the model sum to more than 1 instead of 1 at most."
        )
    return piece


def normalised(piece: Piece, dtype: Real) -> Piece:
    """Scale a table to sum to 1."""
    return Piece(piece.scope, (piece.table * (1.0 / float(piece.table.sum()))).astype(dtype, copy=False))
