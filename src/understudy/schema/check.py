"""Counts what in a table does not fit its schema, so that the owner knows before anything private runs.

NOT PRIVATE: its counts are exact and for the owner's eyes only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from understudy.schema.column import KEEP, Column
from understudy.schema.files import read_batches
from understudy.schema.reading import Fault
from understudy.schema.schema import Schema
from understudy.schema.zeros import Zeros

Data: TypeAlias = pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch] | str | Path


@dataclass(frozen=True)
class Misfit:
    """``rows`` of ``total`` rows do not fit in a column (or a combination of columns), and where they go."""

    column: str
    problem: str
    rows: int
    total: int
    goes_to: str
    line: int | None = None


def check(data: Data, schema: Schema) -> list[Misfit]:
    """Count what does not fit: a table, batches, or a CSV or Parquet file. Not private."""
    faults: Counter[tuple[int, int]] = Counter()
    broken: Counter[int] = Counter()
    total = 0
    for batch in _batches(data):
        total += batch.num_rows
        schema.require_columns(batch.schema.names)
        faults += _count_faults(batch, schema)
        if schema.zeros:
            broken += _count_broken(batch, schema)
    return [*_misfits(faults, schema, total), *_impossible(broken, schema, total)]


def _batches(data: Data) -> Iterable[pa.RecordBatch]:
    if isinstance(data, str | Path):
        return read_batches(data)
    if isinstance(data, pa.Table):
        return data.to_batches() or [pa.RecordBatch.from_pylist([], schema=data.schema)]
    return [data] if isinstance(data, pa.RecordBatch) else data


def _count_faults(batch: pa.RecordBatch, schema: Schema) -> Counter[tuple[int, int]]:
    counts: Counter[tuple[int, int]] = Counter()
    for position, column in enumerate(schema.columns):
        by_fault = np.bincount(column.faults(batch.column(column.name)), minlength=len(Fault))
        counts.update({(position, fault): int(rows) for fault, rows in enumerate(by_fault) if rows})
    return counts


def _count_broken(batch: pa.RecordBatch, schema: Schema) -> Counter[int]:
    codes = schema.encode(batch)
    return Counter({i: rows for i, zero in enumerate(schema.zeros) if (rows := _rows_in(codes, zero, schema))})


def _rows_in(codes: np.ndarray, zero: Zeros, schema: Schema) -> int:
    """Count the rows that lie in a forbidden cell."""
    shape = schema.domain.shape(zero.clique)
    cells = np.ravel_multi_index([codes[:, schema.domain.index(name)] for name in zero.clique], shape)
    return int(np.isin(cells, np.ravel_multi_index(list(zero.cells.T), shape)).sum())


def _misfits(faults: Counter[tuple[int, int]], schema: Schema, total: int) -> list[Misfit]:
    found = []
    for (position, number), rows in sorted(faults.items()):
        column, fault = schema.columns[position], Fault(number)
        if fault is Fault.FITS or (fault is Fault.MISSING and column.nullable):
            continue
        found.append(Misfit(column.name, fault.words, rows, total, _place(column, fault), column.line))
    return found


def _place(column: Column, fault: Fault) -> str:
    code = column.places.of(fault)
    return "the nearest bin" if code == KEEP else column.labels[code]


def _impossible(broken: Counter[int], schema: Schema, total: int) -> list[Misfit]:
    return [
        Misfit(
            ", ".join(schema.zeros[i].clique),
            f"declared impossible: {schema.zeros[i].rule}",
            rows,
            total,
            "stays, but is never generated",
        )
        for i, rows in sorted(broken.items())
    ]
