"""Any SQL query as a table, through DuckDB: a database file, or Parquet files that the query itself names.

PRIVATE: reads the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from understudy.errors import SourceError
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
    """A query that gives the table, in DuckDB's SQL; read-only, in ``database`` or with none.

    Of files it may read Parquet alone. Each row of its result is a record: write queries that look at each row by itself.
    ``Sql("SELECT * FROM visits WHERE year = 2024", "hospital.duckdb")``
    """

    query: str
    database: str | Path | None = None
    memory_limit: str = MEMORY_LIMIT


class SqlReader:
    """Streams the rows of a query."""

    def __init__(self, sql: Sql, names: Sequence[str]) -> None:
        require_query(sql)
        self._query, self._memory_limit = sql.query, sql.memory_limit
        self._database = None if sql.database is None else Path(sql.database)
        require(names, self.columns(), _WHAT)

    def columns(self) -> list[str]:
        """Return the names of the columns, without running the query."""
        with self._view() as connection:
            return column_names(connection, _FROM_VIEW, binding(_WHAT, _ADVICE))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""
        with self._view() as connection:
            yield from stream(connection, _FROM_VIEW, names, guarded(_WHAT, _ADVICE))

    @contextmanager
    def _view(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Connect, with the query as a temporary view: whatever it ends with, it cannot run into ours."""
        with connect(self._database, self._memory_limit) as connection:
            lock_files(connection, self._query, binding(_WHAT, _ADVICE))
            with binding(_WHAT, _ADVICE):
                connection.execute(f"CREATE TEMP VIEW {_VIEW} AS {self._query}")
            yield connection


def require_query(sql: Sql) -> None:
    """Refuse what is not one statement that only reads, or has no database: all that can be told without running it."""
    with binding(_WHAT, _ADVICE):
        statements = duckdb.extract_statements(sql.query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SourceError("The SQL query must be one SELECT statement: a source only reads.")
    refuse_guessing(sql.query, binding(_WHAT, _ADVICE))
    if sql.database is not None and not Path(sql.database).exists():
        raise SourceError(f'There is no database file "{sql.database}".')
