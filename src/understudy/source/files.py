"""CSV and Parquet files, alone or by glob, streamed through DuckDB with only the columns that are needed.

PRIVATE: reads the rows. Nothing is guessed from the content: the ending of its name says what a file is; a
CSV column is text until the schema reads it.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape, glob, has_magic
from pathlib import Path

import duckdb
import pyarrow as pa

from understudy.errors import SourceError
from understudy.source.duck import MEMORY_LIMIT, column_names, connect, guarded, literal, stream
from understudy.source.frames import require

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_PARQUET = (".parquet", ".pq")
ENDINGS = (*_DELIMITERS, *_PARQUET)


@dataclass(frozen=True)
class _File:
    """One file, and how it is read."""

    path: str

    @property
    def what(self) -> str:
        """Name the file in a message."""
        return f'The file "{self.path}"'

    @property
    def literal(self) -> str:
        """The path for DuckDB, which would take it for a pattern."""
        return literal(escape(self.path))


@dataclass(frozen=True)
class _Parquet(_File):
    advice = "Is it a whole Parquet file?"

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        return column_names(connection, self._query(), self.what, self.advice)

    def batches(
        self, connection: duckdb.DuckDBPyConnection, names: Sequence[str], found: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        return stream(connection, self._query(), names, self.what, self.advice)

    def _query(self) -> str:
        # A folder like year=2024 must not add a column, nor replace one of the file.
        return f"FROM read_parquet({self.literal}, hive_partitioning = false)"


@dataclass(frozen=True)
class _Csv(_File):
    delimiter: str
    advice = "It must be UTF-8 text; for another encoding or separator, read it with an Sql query."

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        return guarded(lambda: _header(self.path, self.delimiter), self.what, self.advice)

    def batches(
        self, connection: duckdb.DuckDBPyConnection, names: Sequence[str], found: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        # Columns go by number: to DuckDB "Age" and "age" would be one name.
        wanted = [f"c{found.index(name)}" for name in names]
        return stream(connection, self._query(len(found)), wanted, self.what, self.advice)

    def _query(self, width: int) -> str:
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
        # Short lines are filled with nulls and long ones cut, for no line may stop a run or be dropped;
        # DuckDB can do this with line breaks inside quotes only when it reads on one thread.
        return (
            f"FROM read_csv({self.literal}, auto_detect = false, header = true, columns = {{{columns}}}, "
            f"delim = {literal(self.delimiter)}, quote = '\"', escape = '\"', "
            "null_padding = true, strict_mode = false, parallel = false)"
        )


class FilesReader:
    """Streams files one after another; each must have every declared column, in any order."""

    def __init__(self, path: str | Path, names: Sequence[str], memory_limit: str = MEMORY_LIMIT) -> None:
        self._files = [_file(found) for found in _expand(str(path))]
        self._memory_limit = memory_limit
        with connect(None, memory_limit) as connection:
            self._columns = [file.columns(connection) for file in self._files]
        for file, columns in zip(self._files, self._columns, strict=True):
            require(names, columns, file.what)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows of all files, some at a time."""
        with connect(None, self._memory_limit) as connection:
            for file, found in zip(self._files, self._columns, strict=True):
                yield from file.batches(connection, names, found)


def _expand(path: str) -> list[str]:
    if Path(path).is_file():
        return [path]
    if not has_magic(path):
        raise SourceError(f'There is no file "{path}". For several files, give a glob such as "visits/*.parquet".')
    found = sorted(name for name in glob(path, recursive=True) if Path(name).is_file())
    if not found:
        raise SourceError(f'No file matches "{path}".')
    return found


def _file(path: str) -> _Parquet | _Csv:
    name = path.lower()
    if name.endswith(_PARQUET):
        return _Parquet(path)
    for ending, delimiter in _DELIMITERS.items():
        if name.endswith(ending):
            return _Csv(path, delimiter)
    raise SourceError(f'"{path}" is not of a known kind: a file must end in {", ".join(ENDINGS)}.')


def _header(path: str, delimiter: str) -> list[str]:
    """Read the first line of a CSV file. A name may contain quotes and line breaks as any value may."""
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file, delimiter=delimiter), [])
