"""A marginal in the user's own values with its bound, and the codes of values that a user names. Public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import islice, product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.errors import UserError, did_you_mean
from understudy.release.promise import confidence
from understudy.schema import Column
from understudy.schema.cells import Objects
from understudy.uncertainty import Bound

SHOWN = 12
"""Rows of a marginal that a notebook or a console shows."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The model's counts on ``columns``: an axis each, named by ``labels``; ``bound`` is on their summed error."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: NDArray[np.float64] = field(repr=False)
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


def code_of(column: Column, value: Any) -> int:
    """Return the code of one value that a user names; None is null."""
    named = Objects([value])
    if value is None and not column.nullable:
        raise UserError(f'Column "{column.name}" is never null; its values are {_some(column.labels)}.')
    if column.faults(named)[0]:
        if value is None:
            return column.size - 1
        hint = did_you_mean(str(value), column.labels)
        raise UserError(f'Column "{column.name}" has no value "{value}"; its values are {_some(column.labels)}.{hint}')
    return int(column.encode(named)[0])


def _some(labels: tuple[str, ...]) -> str:
    return ", ".join(labels) if len(labels) <= 8 else f"{', '.join(labels[:4])}, … {labels[-1]}"
