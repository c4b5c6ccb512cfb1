"""DuckDB as a reader: streams a query as Arrow batches within a memory limit, and keeps its errors to itself.

PRIVATE: reads the rows. DuckDB's messages quote values and lines, so none of those goes further.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from understudy.source.guard import each, guarded

MEMORY_LIMIT = "1GB"
_BATCH_ROWS = 2**16
_PUBLIC = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)


class binding(guarded):
    """While a query is parsed and bound, before any row is read, the first line of DuckDB's complaint about it is kept.

    It speaks of the query. What follows it may list names found in the data, and goes no further.
    """

    def told(self, error: BaseException) -> str:
        """Return what may be said of the failure."""
        if isinstance(error, duckdb.PermissionException):
            return "it names a file that is not Parquet; give a CSV file itself, and convert other files to Parquet first"
        if not isinstance(error, _PUBLIC):
            return super().told(error)
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@contextmanager
def connect(database: Path | None, memory_limit: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database read-only, or an empty one in memory; what spills goes to a folder removed after."""
    with TemporaryDirectory(prefix="understudy-") as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory_limit,
            "temp_directory": spill,
            "preserve_insertion_order": "false",
            "enable_external_file_cache": "false",
            # A run over private data fetches no code, and a query sees no variable of the calling program.
            "autoinstall_known_extensions": "false",
            "python_enable_replacements": "false",
        }
        where = ":memory:" if database is None else str(database)
        what = "DuckDB in memory" if database is None else f'The database "{database}"'
        with guarded(what, "Is it a DuckDB file, and closed everywhere else? Is the memory limit one like 1GB?"):
            opened = duckdb.connect(where, read_only=database is not None, config=config)
        with closing(opened) as connection:
            yield connection


def column_names(connection: duckdb.DuckDBPyConnection, query: str, guard: binding) -> list[str]:
    """Return the names of the columns of a query without running it."""
    with guard:
        return list(connection.sql(query).columns)


def stream(
    connection: duckdb.DuckDBPyConnection, query: str, columns: Sequence[str], guard: guarded
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a query, some rows at a time; without columns, one column of nulls."""
    wanted = ", ".join(identifier(column) for column in columns) or "NULL"
    with guard:
        reader = connection.sql(query).project(wanted).to_arrow_reader(_BATCH_ROWS)
    yield from each(reader, guard)


def identifier(name: str) -> str:
    """Quote a column name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"
