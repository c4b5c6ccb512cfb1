"""Tables on a device with the attributes of their axes, multiplied and summed as answers need it. Public numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from string import ascii_letters

import torch

from understudy.model.engine.on_torch.rings import Table
from understudy.model.routes import Mask, mask_of


@dataclass(frozen=True, eq=False)
class Piece:
    """A table and the attributes of its axes."""

    scope: tuple[int, ...]
    table: Table

    @cached_property
    def mask(self) -> Mask:
        """The attributes as bits."""
        return mask_of(self.scope)

    def ordered(self) -> Table:
        """Return the table with its axes in domain order."""
        return self.table.permute(sorted(range(len(self.scope)), key=self.scope.__getitem__))


def multiply(a: Piece, b: Piece, staying: Mask) -> Piece:
    """Multiply two tables, summing out what does not stay."""
    scope, equation = _equation(a.scope, b.scope, staying & (a.mask | b.mask))
    return Piece(scope, torch.einsum(equation, a.table, b.table))


@lru_cache(maxsize=1 << 14)
def _equation(a: tuple[int, ...], b: tuple[int, ...], staying: Mask) -> tuple[tuple[int, ...], str]:
    """Return the axes of a product, those that both tables have first, and the sum in Einstein's notation."""
    both = [i for i in a if i in b]
    scope = tuple(i for i in (*both, *(i for i in a if i not in b), *(i for i in b if i not in a)) if staying >> i & 1)
    letters = dict(zip(dict.fromkeys((*a, *b)), ascii_letters, strict=False))
    left, right, out = ("".join(letters[i] for i in some) for some in (a, b, scope))
    return scope, f"{left},{right}->{out}"


def keep_only(piece: Piece, keep: Mask) -> Piece:
    """Sum out all attributes but ``keep``."""
    axes = [k for k, a in enumerate(piece.scope) if not keep >> a & 1]
    if not axes:
        return piece
    return Piece(tuple(a for a in piece.scope if keep >> a & 1), piece.table.sum(axes))


def fix(piece: Piece, attribute: int, value: int) -> Piece:
    """Return the slice of a table at one value of an attribute, where it has that attribute."""
    if not piece.mask >> attribute & 1:
        return piece
    axis = piece.scope.index(attribute)
    return Piece(piece.scope[:axis] + piece.scope[axis + 1 :], piece.table.select(axis, value))


def conditional(joint: Piece, wanted: Mask) -> Piece:
    """Turn a joint into p(wanted | the rest), 0 where the rest cannot be; the axes of ``wanted`` last."""
    given = [k for k, a in enumerate(joint.scope) if not wanted >> a & 1]
    those = [k for k, a in enumerate(joint.scope) if wanted >> a & 1]
    table = joint.table.permute(given + those)
    mass = table.sum(list(range(len(given), len(joint.scope))), keepdim=True)
    scope = tuple(joint.scope[k] for k in given + those)
    return Piece(scope, table / torch.where(mass > 0, mass, torch.inf))


def exponential(pieces: Sequence[Piece], scope: tuple[int, ...], sizes: Sequence[int]) -> Piece:
    """Add up tables of logarithms, and return the exponential of the sum, its axes as in ``scope``."""
    total: Table | None = None
    for piece in pieces:
        order = [piece.scope.index(a) for a in scope if a in piece.scope]
        spread = piece.table.permute(order).reshape([sizes[a] if a in piece.scope else 1 for a in scope])
        total = spread if total is None else total + spread
    assert total is not None
    return Piece(scope, total.exp())
