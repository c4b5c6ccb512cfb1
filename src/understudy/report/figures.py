"""Mean, total and quantiles of a column of the synthetic table. Public: the table is synthetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.measures.values import has_numbers, numbers_of, show
from understudy.schema import Column

Expected = Callable[[str], Mapping[str, str]]
"""Says where the private table's own figures of a column are expected, by their names."""
LEVELS = {"5% below": 0.05, "25% below": 0.25, "Median": 0.5, "75% below": 0.75, "95% below": 0.95}
MOST = 1_000_000
"""Quantiles are of at most so many rows, taken at equal distances."""


@dataclass(frozen=True)
class Figure:
    """A number of the synthetic table: what it is, the number, and how people read it."""

    name: str
    value: float
    shown: str
    expected: str = ""
    """Where the private table's own is expected; empty where that was not worked out."""


def figures_of(
    column: Column,
    values: pa.ChunkedArray,
    codes: NDArray[np.integer],
    weight: float,
    expected: Expected | None = None,
) -> tuple[Figure, ...]:
    """Return the figures of a column with numbers; none where it has no numbers, or all are missing.

    ``expected`` says where the private table's own are expected.
    """
    if not has_numbers(column):
        return ()
    numbers = numbers_of(column, values, codes)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return ()
    found = {"Mean": float(numbers.mean())}
    if column.kind in ("integer", "real"):
        found["Total"] = float(numbers.sum()) * weight
    some = numbers[:: -(-len(numbers) // MOST)]
    found |= dict(zip(LEVELS, map(float, np.quantile(some, [*LEVELS.values()])), strict=True))
    ranges = expected(column.name) if expected is not None else {}
    return tuple(Figure(name, value, show(column, value), ranges.get(name, "")) for name, value in found.items())
