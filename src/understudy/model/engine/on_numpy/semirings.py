"""Sums and products of tables, on three scales: probabilities as they are, scaled to maximum 1, and logarithms.

Public numbers only. Sums and products are those of a semiring; inference runs the same plan on any of them.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.model.network import Flat, Network

Table = NDArray[np.float64]

SAFE_SMALLEST = 1e-290
"""A table scaled to maximum 1 whose cells are all above this has lost no term that could matter in 10 digits."""


class Underflow(Exception):
    """Scaled probabilities are not safe here; use logarithms."""


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


class Semiring:
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


class Linear(Semiring):
    """Probabilities scaled to maximum 1, step by step."""

    one = np.ones(())

    def product(self, left: Table, right: Table) -> Table:
        """Multiply stacks of matrices: (b, m, k) by (b, k, n)."""
        if left.shape[2] == 1:
            return np.multiply(left, right)
        if left.shape[0] == 1:
            return np.asarray(np.matmul(left[0], right[0]))[None]
        return np.asarray(np.matmul(left, right))

    def sum(self, left: Table) -> Table:
        """Sum (b, m, k) over k."""
        return np.asarray(np.matmul(left, np.ones(left.shape[2])))

    def rescale(self, table: Table) -> tuple[Table, float]:
        """Bring the largest cell to 1; return the logarithm of what was divided out."""
        top = float(table.max())
        if not top > SAFE_SMALLEST:
            raise Underflow
        table *= 1.0 / top
        return table, float(np.log(top))

    def normalise(self, inside: Flat, outside: Flat, network: Network) -> Flat:
        """Return the beliefs as probabilities, each table's summing to 1."""
        belief = inside * outside
        totals = np.add.reduceat(belief, network.starts)
        if not (totals.min() > SAFE_SMALLEST and totals.max() < 1 / SAFE_SMALLEST):
            raise Underflow
        belief *= np.repeat(1.0 / totals, network.lengths)
        return belief

    def log(self, table: Table) -> float:
        """Return the logarithm of a table that is one number."""
        return float(np.log(table))


class Unscaled(Linear):
    """Looks at nothing on the way: for where no product can leave the range of floats, or all are looked at afterwards."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._scratch.rewind()

    def product(self, left: Table, right: Table) -> Table:
        """Multiply into memory that was used before."""
        out = self._scratch.take((left.shape[0], left.shape[1], right.shape[2]))
        if left.shape[2] == 1:
            return np.multiply(left, right, out=out)
        if left.shape[0] == 1:
            np.matmul(left[0], right[0], out=out[0])
            return out
        return np.matmul(left, right, out=out)

    def rescale(self, table: Table) -> tuple[Table, float]:
        """Leave the table as it is."""
        return table, 0.0

    def log(self, table: Table) -> float:
        """Return the logarithm of a table that is one number, unless every record is forbidden."""
        if not table > 0:
            raise Underflow
        return float(np.log(table))


class Possible(Linear):
    """Which cells can be positive: 0 and 1, so that nothing grows or shrinks."""

    def rescale(self, table: Table) -> tuple[Table, float]:
        """Set every positive cell to 1."""
        return (table > 0).astype(np.float64), 0.0

    def normalise(self, inside: Flat, outside: Flat, network: Network) -> Flat:
        """Return which cells are possible, as 0 and 1."""
        return inside * outside

    def log(self, table: Table) -> float:
        """Nothing was scaled."""
        return 0.0


class Logarithmic(Semiring):
    """Logarithms: nothing underflows; several times slower."""

    one = np.zeros(())

    def product(self, left: Table, right: Table) -> Table:
        """Multiply stacks of matrices given by their logarithms."""
        if left.shape[2] == 1:
            return left + right
        return _log_sum(left[:, :, :, None] + right[:, None, :, :], axis=2)

    def sum(self, left: Table) -> Table:
        """Sum (b, m, k) over k, in logarithms."""
        return _log_sum(left, axis=2)

    def rescale(self, table: Table) -> tuple[Table, float]:
        """Bring the largest cell to 0; return what was subtracted."""
        top = float(table.max())
        if top == -np.inf:
            raise SchemaError("The structural zeros, taken together, forbid every record; allow at least one.")
        return table - top, top

    def normalise(self, inside: Flat, outside: Flat, network: Network) -> Flat:
        """Return the beliefs as probabilities, each table's summing to 1."""
        belief = inside + outside
        belief = np.exp(belief - np.repeat(np.maximum.reduceat(belief, network.starts), network.lengths))
        return np.asarray(belief / np.repeat(np.add.reduceat(belief, network.starts), network.lengths))

    def log(self, table: Table) -> float:
        """Return a table that is one number."""
        return float(table)


def _log_sum(table: Table, axis: int) -> Table:
    top = table.max(axis=axis, keepdims=True)
    top[top == -np.inf] = 0.0
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.exp(table - top).sum(axis=axis))
    return np.asarray(total + top.squeeze(axis))


LINEAR, POSSIBLE, LOGARITHMIC = Linear(), Possible(), Logarithmic()
