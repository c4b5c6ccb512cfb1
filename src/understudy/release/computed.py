"""Figures of a table of counts: means, totals, quantiles, counts and shares, as numbers. Public.

Counts may be the model's or those of a draw of ``understudy.uncertainty``; the same code computes both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import UserError
from understudy.release.answer import given
from understudy.release.asked import Asked
from understudy.release.inside import Weights
from understudy.schema import Column, Schema
from understudy.schema.binned import Binned
from understudy.schema.listed import Listed
from understudy.schema.spread import Spread, spread_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Computing:
    """What is to be computed of tables of counts, groups × codes of the column."""

    asked: Asked
    column: Column | None
    code: int | None
    """Of the value that is counted, where one is."""

    @classmethod
    def of(cls, asked: Asked, schema: Schema) -> Computing:
        """Refuse what the column has no numbers for, or no such value of."""
        column = None if asked.column is None else schema[asked.column]
        if column is None or asked.value is not None:
            return cls(asked, column, None if column is None or asked.value is None else _code(column, asked.value))
        _require_numbers(column, asked.function)
        return cls(asked, column, None)

    @property
    def of_values(self) -> bool:
        """Whether values of the column count, not only how many rows there are."""
        return self.column is not None and self.code is None

    def table(self, counts: Floats) -> Floats:
        """Return counts (an axis for each column asked for) as groups × codes."""
        return np.maximum(counts, 0.0).reshape(-1, 1 if self.column is None else self.column.size)

    def spread(self, inside: Weights) -> Spread:
        """Return how the values of the column lie inside its bins."""
        assert self.column is not None
        return spread_of(self.column, inside.get(self.column.name))

    def numbers(self, table: Floats, inside: Weights) -> Floats:
        """Return the figure of each group; NaN for a group without rows."""
        rows = table.sum(axis=1)
        if not self.of_values:
            chosen = rows if self.code is None else table[:, self.code]
            whole = rows if self.code is not None else np.full(len(rows), rows.sum())
            return chosen if self.asked.function == "count" else _over(chosen, whole)
        spread = self.spread(inside)
        if self.asked.function == "total":
            return np.asarray(table @ spread.means())
        if self.asked.function == "mean":
            return _over(table @ spread.means(), table[:, spread.codes()].sum(axis=1))
        return spread.quantiles(table, self.asked.at)

    def written(self, numbers: Floats) -> pa.Array:
        """Return numbers as they are, and moments as the column has them; null for a group without rows."""
        moments = self.of_values and isinstance(self.column, Binned) and not self.column.adds_up
        if not moments:
            return pa.array(numbers, from_pandas=True)
        assert isinstance(self.column, Binned)
        none = np.isnan(numbers)
        found = self.column.scale.write(np.where(none, 0, np.rint(numbers)).astype(np.int64), none)
        return pc.cast(found, pa.int64()) if self.column.numeric else found  # 1403 is a time, and not to be rounded


def _require_numbers(column: Column, function: str) -> None:
    """Refuse a column whose values are texts, or codes: moments have all figures but totals."""
    if column.adds_up or (isinstance(column, Binned) and function != "total"):
        return
    if isinstance(column, Listed) and column.in_figures:
        raise UserError(
            f'The numbers of "{column.name}" are codes (categorical), of which there is no {function}; use count or share. '
            'Where they are scores or amounts, declare kind = "ordinal" in the schema of the next release.'
        )
    raise UserError(f'Column "{column.name}" has no numbers to make a {function} of; use count or share.')


def _over(part: Floats, whole: Floats) -> Floats:
    found: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return found


def _code(column: Column, value: str) -> int:
    found = given(column, value)
    if found.value is not None and column.labels[found.code] != value and isinstance(column, Binned):
        low, high = column.bins.lowest, column.bins.highest
        if found.code < len(low) and low[found.code] != high[found.code]:
            raise UserError(f'"{value}" is one value of the bin "{column.labels[found.code]}"; name the bin.')
    return found.code
