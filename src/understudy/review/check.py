"""Counts what in a table does not fit its schema, so that the owner knows before anything private runs.

NOT PRIVATE: its counts are exact and for the owner's eyes only.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import Zeros
from understudy.errors import UnderstudyWarning, did_you_mean
from understudy.review.faults import GOES, line_faults
from understudy.schema.column import KEEP, Column
from understudy.schema.reading import Fault
from understudy.schema.schema import Schema
from understudy.source.csv import Csv, CsvFile
from understudy.source.files import files_of, require_separated
from understudy.source.frames import require
from understudy.source.guard import guarded
from understudy.source.opening import in_figures, open_reader, open_source
from understudy.source.sql import Sql, SqlReader
from understudy.source.tables import MemorySource

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Misfit:
    """``rows`` of ``total`` rows do not fit in a column (or a combination of columns), and where they go."""

    column: str
    problem: str
    rows: int
    total: int
    goes_to: str
    line: int | None = None


def check_schema(data: Any, schema: Schema) -> list[Misfit]:
    """Count what in a table does not fit: any table that ``synthesize`` takes. Not private."""
    faults: Counter[tuple[int, int]] = Counter()
    broken: Counter[int] = Counter()
    rules: Counter[tuple[str, str]] = Counter()
    total = 0
    names = list(schema.domain)
    present = _columns(data, schema)
    names += [column.name for column in schema.derived if present and all(column.name in found for found in present)]
    persons = _persons(present, schema)
    for found in present:
        schema.require_columns(found)
        require(persons, found, "The table")
    figures = [*in_figures(schema.columns), *(column.name for column in schema.derived if column.in_figures)]
    for batch in open_reader(_named(data, schema), names, schema.csv, figures).batches(names):
        with guarded("The table"):
            everything = {name: batch.column(i) for i, name in enumerate(names)}
            columns = [everything[name] for name in schema.domain]
            total += batch.num_rows
            rules += _count_unruly(everything, schema)
            faults += _count_faults(columns, schema)
            if schema.zeros:
                broken += _count_broken([c.encode(a) for c, a in zip(schema.columns, columns, strict=True)], schema)
    if not total:
        return [Misfit("(table)", "it has no rows", 0, 0, "nowhere: there is nothing to check")]
    misfits = [*_lines(data, schema, total), *_misfits(faults, schema, total), *_impossible(broken, schema, total)]
    return [*misfits, *_unruly(rules, schema, total), *(_left_out(data, schema, total) if persons else [])]


def _persons(present: Sequence[Sequence[str]], schema: Schema) -> list[str]:
    """Return the column that says who a person is, if any; none where no file has it, as a synthetic table never does."""
    if schema.person is None:
        return []
    column = schema.person.column
    if not present or any(column in found for found in present):
        return [column]
    text = (
        f'The table has no column "{column}", which the schema declares as the person. A synthetic table has none, and is '
        "checked without it; a private run with this table would be refused."
    )
    warnings.warn(text, UnderstudyWarning, stacklevel=3)  # where check_schema is called
    return []


def _left_out(data: Any, schema: Schema, total: int) -> list[Misfit]:
    """Say how many rows are beyond those that are used of a person. A stream was read already, and is not read again."""
    person = schema.person
    if person is None or isinstance(data, pa.RecordBatchReader):
        return []
    rows = total - int(open_source(data, schema).count([()])[0])
    return (
        [Misfit(person.column, f"beyond {person.rows:,} row{'s' * (person.rows != 1)} of a person", rows, total, "left out")]
        if rows
        else []
    )


def _columns(data: Any, schema: Schema) -> list[list[str]]:
    """Return the names of the columns of each file, query or frame, so that all that are missing can be told at once."""
    if isinstance(data, str | Path | Csv):
        found = [(file, file.columns()) for file in files_of(data, schema.csv)]
        for file, columns in found:
            require_separated(file, columns, list(schema.domain))
            if isinstance(file, CsvFile) and not any(
                name in columns or did_you_mean(name, columns) for name in schema.domain
            ):
                require(schema.domain, columns, file.what, quote=False)  # its first line is hardly one of names
        return [columns for _, columns in found]
    if isinstance(data, Sql):
        return [SqlReader(data, []).columns()]
    if isinstance(data, Mapping):
        return [[str(name) for name in data]]
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return [list(data.schema.names)]
    return [[str(name) for name in data.columns]] if type(data).__name__ == "DataFrame" else []


def _named(data: Any, schema: Schema) -> Any:
    """Give the columns of an array of codes their names."""
    if not isinstance(data, np.ndarray) or data.dtype.names is not None:
        return data
    MemorySource.of_codes(data[:0], schema.domain)  # refuses what is no array of codes for this schema
    return {name: data[:, i] for i, name in enumerate(schema.domain)}


def _lines(data: Any, schema: Schema, total: int) -> list[Misfit]:
    """Return what is wrong with lines of CSV files as a whole."""
    found = line_faults(data, schema.csv) if isinstance(data, str | Path | Csv) else Counter()
    return [Misfit("(line)", problem, found[problem], total, goes_to) for problem, goes_to in GOES.items() if found[problem]]


def _count_faults(columns: Sequence[Any], schema: Schema) -> Counter[tuple[int, int]]:
    counts: Counter[tuple[int, int]] = Counter()
    for position, (column, array) in enumerate(zip(schema.columns, columns, strict=True)):
        by_fault = np.bincount(column.faults(array), minlength=len(Fault))
        counts.update({(position, fault): int(rows) for fault, rows in enumerate(by_fault) if rows})
    return counts


def _count_broken(codes: Sequence[Codes], schema: Schema) -> Counter[int]:
    listed = [(i, zero) for i, zero in enumerate(schema.zeros) if not zero.of_order]
    return Counter({i: rows for i, zero in listed if (rows := _rows_in(codes, zero, schema))})


def _count_unruly(table: Mapping[str, Any], schema: Schema) -> Counter[tuple[str, str]]:
    """Count the rows in which an order does not hold, or a derived column is not what it follows to be."""
    counts = {("order", rule): rows for rule, rows in schema.orders.count_broken(table).items()}
    derived = {column.name: column for column in schema.derived if column.name in table}
    counts |= {("derived", name): int(column.broken(table).sum()) for name, column in derived.items()}
    return Counter(counts)


def _unruly(counts: Counter[tuple[str, str]], schema: Schema, total: int) -> list[Misfit]:
    rules = {column.name: column for column in schema.derived}
    found = []
    for (kind, what), rows in sorted(counts.items()):
        if rows and kind == "order":
            found.append(Misfit(what, "out of order", rows, total, "stays, but is never generated"))
        elif rows:
            words = f"not what follows: {rules[what].rule}"
            found.append(Misfit(what, words, rows, total, "is not read, and worked out", rules[what].line))
    return found


def _rows_in(codes: Sequence[Codes], zero: Zeros, schema: Schema) -> int:
    """Count the rows that lie in a forbidden cell."""
    shape = schema.domain.shape(zero.clique)
    cells = np.ravel_multi_index([codes[schema.domain.index(name)] for name in zero.clique], shape)
    return int(np.isin(cells, np.ravel_multi_index(list(zero.cells.T), shape)).sum())


def _misfits(faults: Counter[tuple[int, int]], schema: Schema, total: int) -> list[Misfit]:
    found = []
    for (position, number), rows in sorted(faults.items()):
        column, fault = schema.columns[position], Fault(number)
        fits = fault is Fault.FITS or (fault is Fault.MISSING and column.nullable)
        if fits or (fault is Fault.UNLISTED and column.kind == "open"):
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
