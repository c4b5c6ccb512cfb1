"""Opens CSV and Parquet files through DuckDB, streamed, for drafting and checking a schema.

NOT PRIVATE: this reads rows for their owner, before any release. Private counting has its own room.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from understudy.errors import SourceError

BATCH = 100_000
VIEW = "understudy_data"


@dataclass(frozen=True)
class Opened:
    """A table that DuckDB can be asked about as ``VIEW``, and how a CSV file spells its dates."""

    connection: duckdb.DuckDBPyConnection
    types: pa.Schema
    date_format: str | None = None
    datetime_format: str | None = None

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query over ``VIEW``."""
        answer: pa.Table = self.connection.sql(query).to_arrow_table()
        return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))


_DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\\t", ".tsv.gz": "\\t"}
_PARQUET = (".parquet", ".pq")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _is_parquet(path: str) -> bool:
    return path.lower().endswith(_PARQUET)


def _reader(path: str, options: str) -> str:
    """Return the DuckDB call that reads ``path``; the ending of its name says what a file is."""
    if not (Path(path).is_file() or glob(path, recursive=True)):
        raise SourceError(f"There is no file {path}.")
    name = _literal(escape(path) if Path(path).is_file() else path)
    if _is_parquet(path):
        return f"read_parquet({name}, hive_partitioning = false)"
    delimiter = next((mark for ending, mark in _DELIMITERS.items() if path.lower().endswith(ending)), None)
    if delimiter is None:
        raise SourceError(f"{path} must end in one of {', '.join([*_DELIMITERS, *_PARQUET])}.")
    dialect = f"header = true, delim = '{delimiter}', quote = '\"', escape = '\"', hive_partitioning = false"
    return f"read_csv({name}, {dialect}, {options})"


@contextmanager
def open_data(data: str | Path | pa.Table) -> Iterator[Opened]:
    """Open a file or a table with the types that it has, or seems to have."""
    with duckdb.connect() as connection:
        if isinstance(data, pa.Table):
            connection.register(VIEW, data)
            yield Opened(connection, data.schema)
            return
        try:
            yield _open_file(connection, str(data))
        except duckdb.Error as error:
            raise SourceError(f"{data} cannot be read as a table ({type(error).__name__}).") from None


def _open_file(connection: duckdb.DuckDBPyConnection, path: str) -> Opened:
    connection.execute(f"CREATE VIEW {VIEW} AS SELECT * FROM {_reader(path, 'sample_size = -1')}")
    empty: pa.Table = connection.sql(f"SELECT * FROM {VIEW} LIMIT 0").to_arrow_table()
    types = empty.schema
    if _is_parquet(path):
        return Opened(connection, types)
    one = path if Path(path).is_file() else sorted(glob(path, recursive=True))[0]
    sniffed = f"SELECT DateFormat, TimestampFormat FROM sniff_csv({_literal(one)}, sample_size = -1)"
    [(days, moments)] = Opened(connection, types).ask(sniffed)
    return Opened(connection, types, days, moments)


def read_batches(path: str | Path) -> Iterator[pa.RecordBatch]:
    """Stream a file in batches: CSV as text, so that reading never fails on a value; Parquet as it is."""
    with duckdb.connect() as connection:
        try:
            # No line may stop the reading: short ones are filled with nulls, long ones cut.
            options = "all_varchar = true, null_padding = true, strict_mode = false, parallel = false"
            reader: pa.RecordBatchReader = connection.sql(f"SELECT * FROM {_reader(str(path), options)}").to_arrow_reader(
                BATCH
            )
            yield from reader
        except (duckdb.Error, pa.ArrowException) as error:
            raise SourceError(f"{path} cannot be read as a table ({type(error).__name__}).") from None
