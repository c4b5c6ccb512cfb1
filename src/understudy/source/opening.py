"""Opens whatever table a user has as a source, by looking at what kind of thing it is.

PRIVATE: may read the table, to code it; errors name columns and kinds, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.errors import SourceError
from understudy.schema.dialect import Settings
from understudy.source.csv import Csv
from understudy.source.files import FilesReader, files_of, require_fields
from understudy.source.frames import ColumnsReader, read_arrow, read_mapping, read_pandas, read_polars, require_all_named
from understudy.source.guard import guarded
from understudy.source.protocol import Declared, Encoder, Reader, Source
from understudy.source.spark import SparkSource, is_spark
from understudy.source.sql import Sql, SqlReader
from understudy.source.tables import MemorySource, StreamedSource, to_read

_ACCEPTED = (
    "a pandas, polars or Spark frame, an Arrow table or stream, a dict of arrays, a two-dimensional array of "
    "integer codes, the path or glob of CSV or Parquet files, Csv(path), or Sql(query)"
)


def open_source(data: Any, schema: Declared) -> Source:
    """Return the source of exact counts for ``data`` under ``schema``.

    Frames and arrays are coded once and kept as codes; files and queries are read anew at each count; Spark counts its own
    tables. Columns that the schema does not declare are ignored. A two-dimensional array holds the schema's own codes, in
    its order.
    """
    person = schema.person
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        if person is not None:
            raise SourceError(
                f'An array of codes has no column "{person.column}", which the schema declares to identify a person. Give a '
                "frame, a dict or a structured array that has it."
            )
        return MemorySource.of_array(data, schema)
    if is_spark(data):
        return SparkSource(data, schema)
    names = to_read(schema.columns)
    names += [] if person is None else [person.column]
    reader = open_reader(data, names, getattr(schema, "csv", None), in_figures(schema.columns))
    if isinstance(data, Sql | str | Path | Csv):
        return StreamedSource(reader, schema)
    with guarded(f"This {type(data).__name__}"):
        return MemorySource.of_reader(reader, schema)


def columns_of(data: Any, csv: Settings | None) -> list[str]:
    """Return the names of the columns of a table that has them, without looking at a row; each must have one."""
    found = _columns_of(data, csv)
    require_all_named(found, "The table")
    return found


def _columns_of(data: Any, csv: Settings | None) -> list[str]:
    if isinstance(data, str | Path | Csv):
        file = files_of(data, csv)[0]
        columns = list(file.columns())
        require_fields(file, columns)
        return columns
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return list(data.dtype.names)
    if isinstance(data, Mapping):
        return [str(name) for name in data]
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return list(data.schema.names)
    if type(data).__name__ == "DataFrame":
        return [str(name) for name in data.columns]
    raise SourceError("Which columns this table has is not told without reading it: name those that you want.")


def in_figures(columns: Iterable[Encoder]) -> list[str]:
    """Return the names of the columns that a text file spells as numbers."""
    return [column.name for column in columns if column.in_figures]


def open_reader(data: Any, names: list[str], csv: Settings | None, figures: Iterable[str]) -> Reader:
    """Return what reads the columns ``names`` of ``data``; ``csv`` is the dialect that the schema declares.

    Of CSV files, ``figures`` are read as numbers of the dialect.
    """
    if isinstance(data, Sql):
        return SqlReader(data, names)
    if isinstance(data, str | Path | Csv):
        return FilesReader(data, names, csv, figures)
    with guarded(f"This {type(data).__name__}"):
        return _read(data, names)


def _read(data: Any, names: list[str]) -> ColumnsReader:
    if isinstance(data, np.ndarray):
        return read_mapping({name: data[name] for name in data.dtype.names or ()}, names)
    if isinstance(data, Mapping):
        return read_mapping(data, names)
    return _frame_reader(data)(data, names)


def _frame_reader(data: Any) -> Callable[[Any, list[str]], ColumnsReader]:
    # By name, so that neither library is imported unless the user did.
    kind = type(data)
    library = kind.__module__.partition(".")[0]
    if library == "pandas" and kind.__name__ == "DataFrame":
        return read_pandas
    if library == "polars" and kind.__name__ in ("DataFrame", "LazyFrame"):
        return read_polars
    if hasattr(data, "__arrow_c_stream__") and not is_series(data):
        return read_arrow
    raise SourceError(f"A {kind.__name__} is not a table that can be opened. Give {_ACCEPTED}.")


def is_series(data: Any) -> bool:
    """Say whether ``data`` is one column of pandas or polars, which is no table although it is an Arrow stream."""
    return type(data).__name__ == "Series" and type(data).__module__.partition(".")[0] in ("pandas", "polars")
