"""Noisy sums of a marginal as noisy cells: what the sums say of each cell, with noise that cells share. Public numbers only.

Sums that tell every cell (prefixes, hierarchies) say as much as their least-squares estimate of the cells does, whose noise
has the covariance σ² (AᵀA)⁻¹. A fit with a parameter for each cell takes far fewer steps than one with a parameter for each
sum: the curvature is then nearly diagonal, as it is for cells that were measured one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from understudy.model.network import Flat

Floats = NDArray[np.float64]

WORST = 1e8
"""Sums whose matrix is worse conditioned than this are taken for not telling every cell."""


@runtime_checkable
class Separable(Protocol):
    """A query that maps each attribute by itself."""

    @property
    def axes(self) -> Sequence[NDArray[np.int64] | int]:
        """For each attribute a matrix (answers × values), or the number of its values where these stay as they are."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The covariance of the noise on cells, over σ²: a product of one matrix for each attribute (None: the identity)."""

    shape: tuple[int, ...]
    inverses: tuple[Floats | None, ...]
    """A⁺ of each attribute."""
    covariances: tuple[Floats | None, ...]
    precisions: tuple[Floats | None, ...]

    @classmethod
    def of(cls, query: object) -> Spread | None:
        """Return that of a query's sums; None where they do not tell every cell."""
        if not isinstance(query, Separable):
            return None
        found = [None if isinstance(one, int) else _factors(one.shape, one.tobytes()) for one in query.axes]
        if any(one is None and not isinstance(axis, int) for one, axis in zip(found, query.axes, strict=True)):
            return None
        shape = tuple(one if isinstance(one, int) else one.shape[1] for one in query.axes)
        turned = [tuple(None if one is None else one[k] for one in found) for k in range(3)]
        return cls(shape, *turned)

    def cells(self, answers: Flat) -> Floats:
        """Return the least-squares estimate of the cells (shaped)."""
        parts = [size if m is None else m.shape[1] for size, m in zip(self.shape, self.inverses, strict=True)]
        return along(answers.reshape(parts), self.inverses)

    def covered(self, cells: Flat) -> Flat:
        """Multiply by the covariance."""
        return along(cells.reshape(self.shape), self.covariances).ravel()

    def weighed(self, cells: Flat) -> Flat:
        """Multiply by the inverse of the covariance."""
        return along(cells.reshape(self.shape), self.precisions).ravel()

    @property
    def size(self) -> int:
        """How many cells there are."""
        return prod(self.shape)

    @property
    def diagonal(self) -> Floats:
        """The variance of each cell (shaped)."""
        found = np.ones(self.shape)
        for axis, matrix in enumerate(self.covariances):
            if matrix is not None:
                found *= np.diag(matrix).reshape([-1 if k == axis else 1 for k in range(len(self.shape))])
        return found


@lru_cache(maxsize=256)
def _factors(shape: tuple[int, int], stored: bytes) -> tuple[Floats, Floats, Floats] | None:
    """Return A⁺, (AᵀA)⁻¹ and AᵀA; None where A does not tell every value."""
    matrix = np.frombuffer(stored, dtype=np.int64).reshape(shape).astype(np.float64)
    if shape[0] < shape[1] or np.linalg.cond(matrix) > WORST:
        return None
    inverse: Floats = np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
    return inverse, inverse @ inverse.T, matrix.T @ matrix


def along(table: Floats, matrices: Sequence[Floats | None]) -> Floats:
    """Return the table multiplied by a matrix along each axis; None leaves an axis as it is."""
    for axis, matrix in enumerate(matrices):
        if matrix is not None:
            table = np.moveaxis(np.tensordot(matrix, table, (1, axis)), 0, axis)
    return np.asarray(table)
