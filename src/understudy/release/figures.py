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
from understudy.release.asked import parse
from understudy.release.computed import Computing
from understudy.release.contents import Contents
from understudy.release.figure_intervals import interval
from understudy.uncertainty import Bootstrap

SHOWN = 40


@dataclass(frozen=True, eq=False, repr=False)
class Figures:
    """A figure for each group, with the rows that the model expects in it. A group without rows has none.

    ``lower`` to ``upper`` is where the private table's own figure is expected, each group by itself: a bootstrap interval.
    """

    query: str
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    values: pa.Array
    lower: pa.Array
    upper: pa.Array
    confidence: float
    rows: NDArray[np.float64]
    private: bool

    def to_arrow(self) -> pa.Table:
        """Return one row a group: its labels, its figure, the ends of its interval, and the rows it has by the model."""
        labels = {name: pa.array([group[i] for group in self.groups], pa.string()) for i, name in enumerate(self.by)}
        ends = {"value": self.values, "lower": self.lower, "upper": self.upper}
        return pa.table({**labels, **ends, "rows": pa.array(self.rows)})

    def head(self) -> tuple[str, ...]:
        """Return what stands above ``lines``."""
        return (*self.by, self.query, f"{confidence(self.confidence)} bootstrap", "rows")

    def lines(self) -> list[tuple[str, ...]]:
        """Return the same as text."""
        texts = [[_text(value) for value in part.to_pylist()] for part in (self.values, self.lower, self.upper)]
        found = zip(self.groups, *texts, self.rows.tolist(), strict=True)
        return [(*g, t, f"{low} to {high}" if low else "", f"{n:,.0f}") for g, t, low, high, n in found]

    def promise(self) -> str:
        """Say in words how far off the figures may be."""
        said = (
            "These figures come from the model and from noisy counts inside bins. Their intervals are bootstrap intervals: "
            "how often such hold was measured (docs/intervals.md), no bound is proved."
        )
        return said if self.private else f"NOT PRIVATE. {said}"

    def __repr__(self) -> str:
        lines = [self.head(), *self.lines()[:SHOWN]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        more = [f"… {len(self.groups):,} groups."] if len(self.groups) > SHOWN else []
        return "\n".join([*shown, *more, self.promise()])


def figures(contents: Contents, bootstrap: Bootstrap, query: str, least: float = 0.0, level: float = 0.95) -> Figures:
    """Answer a query; groups of fewer than ``least`` rows, by the model, are left out."""
    asked = parse(query, contents.schema)
    computing = Computing.of(asked, contents.schema)
    table = computing.table(contents.model.marginal(asked.axes))
    rows = table.sum(axis=1)
    kept = np.flatnonzero(rows >= least)
    ends = interval(computing, contents, bootstrap, table, level)
    value, lower, upper = (computing.written(n[kept]) for n in (computing.numbers(table, contents.inside), *ends))
    groups = tuple(product(*(contents.schema[name].labels for name in asked.by)))
    shown = tuple(groups[i] for i in kept)
    return Figures(query.strip(), asked.by, shown, value, lower, upper, level, rows[kept], contents.private)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return "" if value is None else str(value)
