"""The synthetic table as CSV or Parquet, and back in the same types. Public: the table is synthetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from understudy.errors import FormatError
from understudy.schema import Column, Schema
from understudy.schema.reading import Fault


def write_table(table: pa.Table, path: Path) -> None:
    """Write ``table`` to a file, by the ending of its name."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.csv.write_csv(table.cast(_plain(table.schema)), path)


def read_table(path: Path, schema: Schema) -> pa.Table:
    """Read a file that ``write_table`` wrote, in the types of ``schema`` and with its categories."""
    try:
        types = schema.arrow_schema
        table = pa.parquet.read_table(path) if path.suffix == ".parquet" else _read_csv(path, types)
        columns = [_typed(table.column(column.name), column) for column in schema.columns]
        return pa.table(columns, schema=types)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise FormatError(f"{path} is damaged or foreign ({type(error).__name__}).") from None


def _typed(array: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return array.cast(column.type)
    if (column.faults(array) > Fault.MISSING).any():
        raise ValueError("a category is not listed")
    return pa.chunked_array([column.decode(column.encode(array), np.random.default_rng(0))])


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    convert = pa.csv.ConvertOptions(
        column_types=_plain(schema), null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    return pa.csv.read_csv(path, convert_options=convert, parse_options=parse)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return ``schema`` with categories as their values, which is how a CSV file spells them."""
    return pa.schema([pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])
