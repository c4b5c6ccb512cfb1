"""Sums and products of tables on two scales: probabilities as they are, and logarithms. Public numbers only.

Each writes into memory that it is given, and none looks at a number: a device is never waited for here.
"""

from __future__ import annotations

from typing import TypeAlias

import torch

Table: TypeAlias = torch.Tensor


class Linear:
    """Probabilities as they are; whether they stayed in range is looked at afterwards."""

    logarithmic = False

    def leaves(self, potentials: Table) -> Table:
        """Turn log-potentials into tables."""
        return potentials.exp()

    def product(self, left: Table, right: Table, out: Table) -> None:
        """Multiply stacks of matrices: (b, m, k) by (b, k, n)."""
        if left.shape[2] == 1:
            torch.mul(left, right, out=out)
        elif left.shape[0] == 1:
            torch.mm(left[0], right[0], out=out[0])
        else:
            torch.bmm(left, right, out=out)

    def sum(self, left: Table, out: Table) -> None:
        """Sum (b, m, k) over k."""
        torch.sum(left, 2, keepdim=True, out=out)

    def inverse(self, table: Table) -> Table:
        """Return what makes 1 of a table that is one number."""
        return 1.0 / table

    def times(self, left: Table, right: Table) -> Table:
        """Multiply cell by cell, to probabilities."""
        return left * right

    def log(self, table: Table) -> Table:
        """Return the logarithm of a table."""
        return table.log()


class Possible(Linear):
    """Which cells can be positive: 0 and 1, so that nothing grows or shrinks."""

    def product(self, left: Table, right: Table, out: Table) -> None:
        """Multiply, and set every positive cell to 1."""
        super().product(left, right, out)
        out.clamp_(max=1.0)

    def sum(self, left: Table, out: Table) -> None:
        """Sum over k, and set every positive cell to 1."""
        super().sum(left, out)
        out.clamp_(max=1.0)


class Logarithmic(Linear):
    """Logarithms: nothing underflows; every term of a sum is made, so that it takes more memory and time."""

    logarithmic = True

    def leaves(self, potentials: Table) -> Table:
        """Leave log-potentials as they are."""
        return potentials

    def product(self, left: Table, right: Table, out: Table) -> None:
        """Multiply stacks of matrices given by their logarithms."""
        if left.shape[2] == 1:
            torch.add(left, right, out=out)
        else:
            torch.logsumexp(left[:, :, :, None] + right[:, None, :, :], 2, out=out)

    def sum(self, left: Table, out: Table) -> None:
        """Sum (b, m, k) over k, in logarithms."""
        torch.logsumexp(left, 2, keepdim=True, out=out)

    def inverse(self, table: Table) -> Table:
        """Return the logarithm of what makes 1 of a table that is one number."""
        return -table

    def times(self, left: Table, right: Table) -> Table:
        """Multiply cell by cell, to probabilities."""
        return (left + right).exp()

    def log(self, table: Table) -> Table:
        """Return the table as it is."""
        return table


LINEAR, POSSIBLE, LOGARITHMIC = Linear(), Possible(), Logarithmic()
