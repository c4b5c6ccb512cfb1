"""Means, totals, quantiles, counts and shares by group, as ``mean(income) by region``: computed, with intervals, shown.

Public: from the model and the weights inside bins, at no cost in privacy. Rows are not drawn for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.manifest.promise import confidence
from understudy.measures.values import years
from understudy.quantities import supported
from understudy.release.asked import Asked, parse
from understudy.release.computed import Computing
from understudy.release.figure_intervals import Simulation, interval
from understudy.schema import Column
from understudy.schema.binned import Binned
from understudy.schema.scales import Clock

SHOWN = 40
LEVELS = ("mean", "median", "quantile")
"""Functions whose figures are numbers as the column has them."""


@dataclass(frozen=True, eq=False, repr=False)
class Figures:
    """A figure for each group, with the rows that the model expects in it. A group without rows has none.

    ``lower`` to ``upper`` is where the private table's own figure is expected, each group by itself: a bootstrap interval.
    They are None, and so is ``confidence``, where no interval was asked for.
    """

    query: str
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    values: pa.Array
    lower: pa.Array | None
    upper: pa.Array | None
    confidence: float | None
    rows: NDArray[np.float64]
    private: bool
    unmeasured: tuple[str, ...] = ()
    """Columns of the query that were never measured: the workload leaves them out, and there is no interval."""
    years: bool = False
    """Whether the figures are years, which are written without a separator."""

    def to_arrow(self) -> pa.Table:
        """Return one row a group: its labels, its figure, the ends of its interval, and the rows it has by the model."""
        labels = {name: pa.array([group[i] for group in self.groups], pa.string()) for i, name in enumerate(self.by)}
        ends = {"value": self.values, "lower": self.lower, "upper": self.upper}
        known = {name: part for name, part in ends.items() if part is not None}
        return pa.table({**labels, **known, "rows": pa.array(self.rows)})

    def head(self) -> tuple[str, ...]:
        """Return what stands above ``lines``."""
        between = () if self.confidence is None else (f"{confidence(self.confidence)} bootstrap",)
        return (*self.by, self.query, *between, "rows")

    def lines(self) -> list[tuple[str, ...]]:
        """Return the same as text."""
        found = zip(self.groups, self._written(), self.rows.tolist(), strict=True)
        return [(*group, *written, f"{rows:,.0f}") for group, written, rows in found]

    def _written(self) -> list[tuple[str, ...]]:
        """Return each group's figure as text, with its interval where there are intervals."""
        values, written = self.values.to_pylist(), list[tuple[str, ...]]()
        if self.lower is None or self.upper is None:
            written = [(_text(value),) for value in values]
        else:
            ends = zip(values, self.lower.to_pylist(), self.upper.to_pylist(), strict=True)
            written = [(_text(value), "") if low is None else between(value, low, high) for value, low, high in ends]
        return [tuple(text.replace(",", "") for text in one) for one in written] if self.years else written

    def expected(self, column: Column) -> str:
        """Return the first interval as a report writes it: times of day by their clock, also where 1403 is one."""
        scale, known = (column.scale if isinstance(column, Binned) else None), self.lower is not None
        if not (isinstance(scale, Clock) and known and pa.types.is_int64(self.values.type)):
            return self.lines()[0][1]
        ends = [float(end[0].as_py()) for end in (self.lower, self.upper) if end is not None and end[0].is_valid]
        numbers = scale.of_numbers(np.array(ends))
        return "" if numbers is None else " to ".join(map(scale.show, numbers))

    def promise(self) -> str:
        """Say in words how far off the figures may be."""
        said = "These figures come from the model and from noisy counts inside bins. No bound on their error is proved"
        said += "." if self.confidence is None else "; how often bootstrap intervals hold was measured: docs/intervals.md."
        return said if self.private else f"NOT PRIVATE. {said}"

    def __repr__(self) -> str:
        lines = [self.head(), *self.lines()[:SHOWN]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        more = [f"… {len(self.groups):,} groups."] if len(self.groups) > SHOWN else []
        return "\n".join([*shown, *more, self.promise()])


def figures(simulation: Simulation, query: str, *, least: float = 0.0, level: float | None = 0.95) -> Figures:
    """Answer a query; groups of fewer than ``least`` rows, by the model, are left out. No ``level``: no intervals; nor for a
    column that was never measured.
    """
    return computed(simulation, parse(query, simulation.contents.schema), query, least=least, level=level)


def computed(simulation: Simulation, asked: Asked, query: str, *, least: float = 0.0, level: float | None = 0.95) -> Figures:
    """Answer what was read out of a query."""
    contents = simulation.contents
    computing = Computing.of(asked, contents.schema)
    table = computing.table(contents.model.marginal(asked.axes))
    rows = table.sum(axis=1)
    kept = np.flatnonzero(rows >= least)
    value = computing.written(computing.numbers(table, contents.inside)[kept])
    lower = upper = None
    unmeasured = tuple(simulation.bootstrap.unmeasured(asked.axes))
    level = None if unmeasured else level
    if level is not None:
        ends = interval(simulation, computing, table, level)
        lower, upper = (computing.written(end[kept]) for end in ends)
    groups = tuple(product(*(contents.schema[name].labels for name in asked.by)))
    shown = tuple(groups[i] for i in kept)
    return Figures(
        query.strip(),
        asked.by,
        shown,
        value,
        lower,
        upper,
        level,
        rows[kept],
        contents.private,
        unmeasured,
        years=asked.function in LEVELS and asked.column is not None and years(contents.schema[asked.column]),
    )


def between(value: Any, low: Any, high: Any) -> tuple[str, str]:
    """Return a figure and its interval as text: numbers with the digits that the interval supports."""
    if not all(isinstance(one, float) for one in (value, low, high)):
        return _text(value), f"{_text(low)} to {_text(high)}"
    shown, *ends = supported(value, low, high)
    return shown, " to ".join(ends)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return "" if value is None else str(value)
