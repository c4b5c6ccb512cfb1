"""A marginal in the user's own values with its bound, and the values that a user names. Public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from itertools import islice, product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.errors import UserError, did_you_mean
from understudy.manifest.promise import confidence
from understudy.schema import Column
from understudy.schema.binned import Binned
from understudy.schema.bins import Numbers
from understudy.schema.cells import Kind, Objects
from understudy.schema.typed import cells_of
from understudy.uncertainty import Bound

SHOWN = 12
"""Rows of a marginal that a notebook or a console shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The model's counts on ``columns``: an axis each, named by ``labels``; ``bound`` is on their summed error."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: NDArray[np.float64]
    bound: Bound | None
    private: bool

    def cells(self) -> Iterator[tuple[tuple[str, ...], float]]:
        """Yield each cell's labels and count."""
        return zip(product(*self.labels), self.counts.reshape(-1).tolist(), strict=True)

    def to_arrow(self) -> pa.Table:
        """Return one row a cell: its labels, and its count."""
        grid = list(product(*self.labels))
        columns = {name: pa.array([cell[i] for cell in grid], pa.string()) for i, name in enumerate(self.columns)}
        return pa.table({**columns, "count": pa.array(self.counts.reshape(-1))})

    def __repr__(self) -> str:
        """Show the first cells, and how far off they may be."""
        cells = [(*labels, f"{count:,.1f}") for labels, count in islice(self.cells(), SHOWN)]
        lines = [(*self.columns, "count"), *cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join([*map(str.ljust, line[:-1], widths), line[-1].rjust(widths[-1])]) for line in lines]
        more = [f"… {self.counts.size:,} cells."] if self.counts.size > SHOWN else []
        return "\n".join([*shown, *more, self.promise()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in (*self.columns, "count"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(label)}</td>" for label in labels) + f"<td>{count:,.1f}</td></tr>"
            for labels, count in islice(self.cells(), SHOWN)
        )
        more = f"<p>… {self.counts.size:,} cells.</p>" if self.counts.size > SHOWN else ""
        return f"<table><tr>{head}</tr>{rows}</table>{more}<p>{escape(self.promise())}</p>"

    def promise(self) -> str:
        """Say in words how far off the counts may be."""
        if self.bound is None:
            said = "There is no bound on this marginal: it was neither measured nor checked nor among the candidates."
        else:
            said = (
                f"The summed error of these counts is at most {self.bound.value:,.0f} rows "
                f"(with probability {confidence(self.bound.confidence)}; {self.bound.kind})."
            )
        return said if self.private else f"NOT PRIVATE. {said}"


@dataclass(frozen=True, eq=False)
class Given:
    """A value that all rows should have: its code, and the value itself where the code is a bin with others in it."""

    code: int
    value: pa.Array | None = None

    def column(self, rows: int) -> pa.Array | None:
        """Return the value itself in so many rows; None where any value of the code will do."""
        return None if self.value is None else self.value.take(pa.array(np.zeros(rows, np.int64)))


def given(column: Column, value: Any) -> Given:
    """Return what a user names: a value, None or its spelling for null, or the label of a code ("null", "70 to 79")."""
    if value is None and not column.nullable:
        raise UserError(f'Column "{column.name}" is never null; its values are {_some(column.labels)}.')
    if value is None or (column.nullable and isinstance(value, str) and value in column.own_nulls):
        return Given(column.size - 1)
    named = Objects([_moment(column, value)])
    if not column.faults(named)[0]:
        return Given(int(column.encode(named)[0]), _in_its_bin(column, named) if isinstance(column, Binned) else None)
    if value in column.labels:
        return Given(column.labels.index(value))
    hint = did_you_mean(str(value), column.labels)
    raise UserError(f'Column "{column.name}" has no value "{value}"; its values are {_some(column.labels)}.{hint}')


def _moment(column: Column, value: Any) -> Any:
    """Read a date as the labels of its column spell it, whatever format the table has."""
    if column.kind not in ("date", "datetime") or not isinstance(value, str) or not column.faults(Objects([value]))[0]:
        return value
    try:
        return (date if column.kind == "date" else datetime).fromisoformat(value.strip())
    except ValueError:
        return value


def _in_its_bin(column: Binned, named: Objects) -> pa.Array:
    """Return one value as the column writes it; it is known to fit."""
    (part,) = cells_of(named).parts
    numbers: Numbers | None
    if part.kind is Kind.TEXT:
        numbers = column.scale.of_text(part.values, column.nulls).numbers
    elif part.kind in (Kind.NUMBER, Kind.BOOLEAN):
        numbers = column.scale.of_numbers(np.asarray(part.values, np.float64))
    else:
        numbers = column.scale.of_moments(part.values, part.kind)
    assert numbers is not None  # what the scale has no numbers for does not fit
    return column.scale.write(numbers, np.zeros(1, bool))


def _some(labels: tuple[str, ...]) -> str:
    return ", ".join(labels) if len(labels) <= 8 else f"{', '.join(labels[:4])}, … {labels[-1]}"
