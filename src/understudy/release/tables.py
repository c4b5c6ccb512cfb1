"""The synthetic table as CSV or Parquet, and back in the same types. Public: the table is synthetic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from understudy.errors import FormatError
from understudy.schema import Column, Schema
from understudy.schema.binned import Binned
from understudy.schema.derived import DerivedColumn
from understudy.schema.reading import Fault, is_text
from understudy.schema.signs import UNSIGNED, Signs

_ROWS = 65_536
_NEEDS_QUOTES = r'^$|[",\r\n]|^\s|\s$'


def write_table(table: pa.Table, path: Path, schema: Schema) -> None:
    """Write ``table`` to a file, by the ending of its name."""
    write_tables(iter([table]), path, schema)


def write_tables(tables: Iterator[pa.Table], path: Path, schema: Schema) -> None:
    """Write tables, of which there is one at least, one below the other to a file; each is held no longer than it takes."""
    if path.suffix.lower() == ".csv":
        with open(path, "wb") as file:
            write_csv(tables, file, schema)
        return
    first = next(tables)
    with pa.parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        del first
        for table in tables:
            writer.write_table(table)
            del table  # not to be held while the next is made


def write_csv(tables: Iterator[pa.Table], file: BinaryIO, schema: Schema) -> None:
    """Write tables as the columns of ``schema`` spell their values; null is an empty field unless it has a spelling."""
    headed = False
    for table in tables:
        if not headed:
            _write_lines(file, [_quoted(pa.array([name], pa.large_string())) for name in table.column_names])
        _write_rows(table, file, schema)
        headed = True
        del table


def _write_rows(table: pa.Table, file: BinaryIO, schema: Schema) -> None:
    known = {column.name: column for column in schema.written}
    for batch in table.to_batches(max_chunksize=_ROWS):
        columns = zip(batch.schema.names, batch.columns, strict=True)
        _write_lines(file, [_field(known[name], values) for name, values in columns])


def _field(column: Column | DerivedColumn, values: pa.Array) -> pa.Array:
    """Return values as their fields, quoted where they may need it: numbers and moments never do."""
    text = pc.cast(column.spell(pa.chunked_array([values])).combine_chunks(), pa.large_string())
    if not (is_text(values.type) or pa.types.is_dictionary(values.type) or column.own_nulls):
        return text
    distinct = text.dictionary_encode()
    return _quoted(distinct.dictionary).take(distinct.indices)


def _write_lines(file: BinaryIO, texts: list[pa.Array]) -> None:
    ends = pa.scalar("\n", pa.large_string())
    lines = pc.binary_join_element_wise(*texts, pa.scalar(",", pa.large_string()), null_handling="replace")
    file.write("".join(pc.binary_join_element_wise(lines, ends, pa.scalar("", pa.large_string())).to_pylist()).encode())


def _quoted(text: pa.Array) -> pa.Array:
    """Put quotes around text that needs them, empty text included: without quotes it would be null."""
    needs = pc.match_substring_regex(text, _NEEDS_QUOTES)
    inside = pc.replace_substring(text, '"', '""')
    mark = pa.scalar('"', pa.large_string())
    return pc.if_else(needs, pc.binary_join_element_wise(mark, inside, mark, pa.scalar("", pa.large_string())), text)


def read_table(path: Path, schema: Schema) -> pa.Table:
    """Read a file that ``write_table`` wrote, in the types of ``schema`` and with its categories."""
    try:
        types = schema.arrow_schema
        table = pa.parquet.read_table(path) if path.suffix == ".parquet" else _read_csv(path, schema)
        columns = [_typed(table.column(column.name), column) for column in schema.written]
        return pa.table(columns, schema=types)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise FormatError(f"{path} is damaged or foreign ({type(error).__name__}).") from None


def _typed(array: pa.ChunkedArray, column: Column | DerivedColumn) -> pa.ChunkedArray:
    if _spells_null(column) and array.type != column.type:
        array = pc.if_else(pc.equal(array, column.own_nulls[0]), pa.scalar(None, array.type), array)
    array = _signs(column).bare(array) if pa.types.is_string(array.type) else array
    if isinstance(column, DerivedColumn) or not pa.types.is_dictionary(column.type):
        return array.cast(column.type)
    if (column.faults(array) > Fault.MISSING).any():
        raise ValueError("a category is not listed")
    return pa.chunked_array([column.decode(column.encode(array), np.random.default_rng(0))])


def _signs(column: Column | DerivedColumn) -> Signs:
    """Return what stands around the numbers of a column in a CSV file."""
    return column.scale.signs if isinstance(column, Binned) else UNSIGNED


def _spells_null(column: Column | DerivedColumn) -> bool:
    """Whether a CSV file spells null in a way that the column's type cannot hold."""
    return column.decodes_null and column.own_nulls not in ((), ("",))


def _read_csv(path: Path, schema: Schema) -> pa.Table:
    types = [
        pa.field(field.name, pa.string() if _spells_null(column) or _signs(column) else field.type)
        for field, column in zip(_plain(schema.arrow_schema), schema.written, strict=True)
    ]
    convert = pa.csv.ConvertOptions(
        column_types=pa.schema(types), null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    return pa.csv.read_csv(path, convert_options=convert, parse_options=parse)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return ``schema`` with categories as their values, which is how a CSV file spells them."""
    return pa.schema([pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])
