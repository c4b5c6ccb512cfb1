"""Any SQL query as a table: asked of DuckDB, over its own database or Parquet files, or of another database.

PRIVATE: reads the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from understudy.errors import SourceError
from understudy.source.databases import Database, database_of
from understudy.source.duck import MEMORY_LIMIT, binding, column_names, connect, stream
from understudy.source.frames import require
from understudy.source.guard import guarded
from understudy.source.sqlfiles import lock_files, refuse_guessing

_WHAT = "The SQL query"
_ADVICE = "Try the query in DuckDB itself."
_VIEW = "__understudy_source"
_FROM_VIEW = f"FROM temp.{_VIEW}"


@dataclass(frozen=True)
class Sql:
    """A query that gives the table, in the SQL of its database; read-only.

    ``database`` is a file of DuckDB or SQLite, or a URL such as ``postgresql://host/name``. Without one DuckDB is asked, and
    of files it may read Parquet alone. Each row of the result is a record: write queries that look at each row by itself.
    ``memory_limit`` is DuckDB's. ``Sql("SELECT * FROM visits WHERE year = 2024", "hospital.duckdb")``
    """

    query: str
    database: str | Path | None = field(default=None, repr=False)
    memory_limit: str = MEMORY_LIMIT


class SqlReader:
    """Streams the rows of a query."""

    def __init__(self, sql: Sql, names: Sequence[str]) -> None:
        self._asked, self._query = require_query(sql), sql.query
        require(names, self.columns(), _WHAT)

    def columns(self) -> list[str]:
        """Return the names of the columns, of no row."""
        return self._asked.columns(self._query)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield all rows, some at a time."""
        yield from self._asked.batches(self._query, names)


@dataclass(frozen=True)
class Duck:
    """DuckDB, with a file of its own or with none."""

    database: Path | None
    memory_limit: str

    def columns(self, query: str) -> list[str]:
        """Return the names of the columns, without running the query."""
        with self._view(query) as connection:
            return column_names(connection, _FROM_VIEW, binding(_WHAT, _ADVICE))

    def batches(self, query: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""
        with self._view(query) as connection:
            yield from stream(connection, _FROM_VIEW, names, guarded(_WHAT, _ADVICE))

    @contextmanager
    def _view(self, query: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """Connect, with the query as a temporary view: whatever it ends with, it cannot run into ours."""
        with connect(self.database, self.memory_limit) as connection:
            lock_files(connection, query, binding(_WHAT, _ADVICE))
            with binding(_WHAT, _ADVICE):
                connection.execute(f"CREATE TEMP VIEW {_VIEW} AS {query}")
            yield connection


def require_query(sql: Sql) -> Database | Duck:
    """Return what is asked. Refuses all that can be told to be wrong without running anything: no database, no driver, and
    for DuckDB what is not one statement that only reads.
    """
    place = None if sql.database is None else database_of(sql.database)
    if isinstance(place, Database):
        return place
    with binding(_WHAT, _ADVICE):
        statements = duckdb.extract_statements(sql.query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SourceError("The SQL query must be one SELECT statement: a source only reads.")
    refuse_guessing(sql.query, binding(_WHAT, _ADVICE))
    return Duck(place, sql.memory_limit)
