"""Means, totals, quantiles, counts and shares by group, as ``mean(income) by region``: read, computed, shown.

Public: from the model and the weights inside bins, at no cost in privacy. Rows are not drawn for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.errors import UserError, did_you_mean
from understudy.release.answer import given
from understudy.release.contents import Contents
from understudy.release.spread import spread_of
from understudy.schema import Column, Schema
from understudy.schema.binned import Binned

FUNCTIONS = ("mean", "total", "median", "quantile", "count", "share")
EXAMPLE = '"mean(income) by region", "quantile(income, 0.9)", "share(sex = F) by region, year"'
SHOWN = 40
_FORM = re.compile(r"\s*(\w+)\s*\((.*)\)\s*(?:by\s+(\S.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """A query that was read: what to compute, of which column, by which columns."""

    function: str
    column: str | None
    by: tuple[str, ...]
    at: float = 0.5
    value: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Figures:
    """A figure for each group, with the rows that the model expects in it. A group without rows has none."""

    query: str
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    values: pa.Array
    rows: NDArray[np.float64]
    private: bool

    def to_arrow(self) -> pa.Table:
        """Return one row a group: its labels, its figure, and the rows it has by the model."""
        labels = {name: pa.array([group[i] for group in self.groups], pa.string()) for i, name in enumerate(self.by)}
        return pa.table({**labels, "value": self.values, "rows": pa.array(self.rows)})

    def lines(self) -> list[tuple[str, ...]]:
        """Return the same as text."""
        texts = [_text(value) for value in self.values.to_pylist()]
        return [(*g, t, f"{n:,.0f}") for g, t, n in zip(self.groups, texts, self.rows.tolist(), strict=True)]

    def promise(self) -> str:
        """Say in words how far off the figures may be."""
        said = (
            "These figures come from the model and from noisy counts inside bins. No bound on their error is proved; the "
            "bounds on counts are those of the marginal on the same columns."
        )
        return said if self.private else f"NOT PRIVATE. {said}"

    def __repr__(self) -> str:
        lines = [(*self.by, self.query, "rows"), *self.lines()[:SHOWN]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        more = [f"… {len(self.groups):,} groups."] if len(self.groups) > SHOWN else []
        return "\n".join([*shown, *more, self.promise()])


def figures(contents: Contents, query: str, least: float = 0.0) -> Figures:
    """Answer a query; groups of fewer than ``least`` rows, by the model, are left out."""
    asked = parse(query, contents.schema)
    axes = (*asked.by, *(() if asked.column is None or asked.column in asked.by else (asked.column,)))
    counts = np.maximum(contents.model.marginal(axes), 0.0)
    if asked.column in asked.by:
        raise UserError(f'"{asked.column}" cannot be what is asked and a group at once; leave it out of by.')
    size = 1 if asked.column is None else contents.schema[asked.column].size
    table = counts.reshape(-1, size)
    rows = table.sum(axis=1)
    values = _computed(asked, contents.schema, contents.inside, table, rows)
    groups = tuple(product(*(contents.schema[name].labels for name in asked.by)))
    kept = np.flatnonzero(rows >= least)
    return Figures(
        query.strip(), asked.by, tuple(groups[i] for i in kept), values.take(pa.array(kept)), rows[kept], contents.private
    )


def parse(query: str, schema: Schema) -> Asked:
    """Read a query; whatever is wrong with it is said."""
    found = _FORM.fullmatch(query)
    if found is None:
        raise UserError(f'"{query}" is not a query. Write one as {EXAMPLE}.')
    function = {"sum": "total"}.get(found[1].lower(), found[1].lower())
    if function not in FUNCTIONS:
        hint = did_you_mean(function, FUNCTIONS)
        raise UserError(f'There is no "{found[1]}"; choose one of {", ".join(FUNCTIONS)}.{hint}')
    by = () if found[3] is None else tuple(_name(part, schema) for part in found[3].split(","))
    if len({*by}) != len(by):
        raise UserError("A column is named twice after by; name each once.")
    inner = found[2].strip()
    if function in ("count", "share"):
        return _counting(function, inner, by, schema)
    if function != "quantile":
        return Asked(function, _name(inner, schema), by)
    column, _, level = inner.rpartition(",")
    return Asked(function, _name(column, schema), by, _level(level))


def _counting(function: str, inner: str, by: tuple[str, ...], schema: Schema) -> Asked:
    if not inner:
        return Asked(function, None, by)
    column, equals, value = inner.partition("=")
    if not equals:
        raise UserError(
            f'{function}({inner}) needs a value, as in {function}({inner} = ...), or nothing: "{function}() by …".'
        )
    return Asked(function, _name(column, schema), by, value=value.strip().strip("\"'"))


def _name(text: str, schema: Schema) -> str:
    """Return the name of a column, with or without quotes."""
    name = text.strip().strip("\"'")
    schema.require_counted([name])
    if name not in schema.domain:
        raise UserError(f'There is no column "{name}" in this release.{did_you_mean(name, schema.domain.attributes)}')
    return name


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = -1.0
    if not 0 < level < 1:
        raise UserError(
            f"A quantile needs a share strictly between 0 and 1, as in quantile(income, 0.9), not {text.strip()!r}."
        )
    return level


def _computed(
    asked: Asked, schema: Schema, inside: Mapping[str, Any], table: NDArray[np.float64], rows: NDArray[np.float64]
) -> pa.Array:
    if asked.column is None:
        return pa.array(rows if asked.function == "count" else _over(rows, np.full(len(rows), rows.sum())), from_pandas=True)
    column = schema[asked.column]
    if asked.value is not None:
        chosen = table[:, _code(column, asked.value)]
        return pa.array(chosen if asked.function == "count" else _over(chosen, rows), from_pandas=True)
    if not isinstance(column, Binned) or (asked.function == "total" and not column.numeric):
        raise UserError(f'Column "{column.name}" has no numbers to make a {asked.function} of; use count or share.')
    spread = spread_of(column, inside.get(column.name))
    if asked.function == "total":
        return pa.array(table @ spread.means())
    known = table[:, spread.codes()].sum(axis=1)
    if asked.function == "mean":
        return _written(column, _over(table @ spread.means(), known))
    return _written(column, spread.quantiles(table, asked.at))


def _over(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return found


def _written(column: Binned, numbers: NDArray[np.float64]) -> pa.Array:
    """Return numbers as they are, and moments as the column has them; null for a group without rows."""
    if column.numeric:
        return pa.array(numbers, from_pandas=True)
    none = np.isnan(numbers)
    return column.scale.write(np.where(none, 0, np.rint(numbers)).astype(np.int64), none)


def _code(column: Column, value: str) -> int:
    found = given(column, value)
    if found.value is not None and column.labels[found.code] != value and isinstance(column, Binned):
        low, high = column.bins.lowest, column.bins.highest
        if found.code < len(low) and low[found.code] != high[found.code]:
            raise UserError(f'"{value}" is one value of the bin "{column.labels[found.code]}"; name the bin.')
    return found.code


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return "" if value is None else str(value)
