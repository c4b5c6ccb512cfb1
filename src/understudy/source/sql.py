"""Any SQL query as a table, through DuckDB: a database file, or files that the query itself names.

PRIVATE: reads the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from understudy.errors import SourceError
from understudy.source.duck import MEMORY_LIMIT, column_names, connect, guarded, identifier, stream
from understudy.source.frames import require

_ADVICE = "Try the query in DuckDB itself."


@dataclass(frozen=True)
class Sql:
    """A query that gives the table, in DuckDB's SQL; read-only, in ``database`` or with none.

    ``Sql("SELECT * FROM visits WHERE year = 2024", "hospital.duckdb")``
    """

    query: str
    database: str | Path | None = None
    memory_limit: str = MEMORY_LIMIT


class SqlReader:
    """Streams the rows of a query."""

    def __init__(self, sql: Sql, names: Sequence[str]) -> None:
        self._query = _single_select(sql.query)
        self._database = None if sql.database is None else Path(sql.database)
        self._memory_limit = sql.memory_limit
        if self._database is not None and not self._database.exists():
            raise SourceError(f'There is no database file "{self._database}".')
        with connect(self._database, self._memory_limit) as connection:
            found = column_names(connection, f"SELECT * FROM {self._query}", "The SQL query", _ADVICE)
        require(names, found, "The SQL query")

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""
        wanted = ", ".join(identifier(name) for name in names) or "NULL"
        with connect(self._database, self._memory_limit) as connection:
            yield from stream(connection, f"SELECT {wanted} FROM {self._query}", "The SQL query", _ADVICE)


def _single_select(query: str) -> str:
    """Return the query as a subquery, if it is one statement that only reads."""
    statements = guarded(lambda: duckdb.extract_statements(query), "The SQL query", _ADVICE, binding=True)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SourceError("The SQL query must be one SELECT statement: a source only reads.")
    # The line break ends a comment that the query may end with.
    return f"({statements[0].query.strip().rstrip(';')}\n) AS source"
