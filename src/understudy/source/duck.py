"""DuckDB as a reader: streams a query as Arrow batches within a memory limit, and keeps its errors to itself.

PRIVATE: reads the rows. DuckDB's messages quote values and lines, so none of those goes further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import duckdb
import pyarrow as pa

from understudy.errors import SourceError

MEMORY_LIMIT = "1GB"
_BATCH_ROWS = 2**16
_PUBLIC = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
_FAILURES = (duckdb.Error, pa.ArrowException, OSError, UnicodeError)
T = TypeVar("T")


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
        advice = "Is it a DuckDB file, and closed everywhere else? Is the memory limit one like 1GB?"
        opened = guarded(lambda: duckdb.connect(where, read_only=database is not None, config=config), what, advice)
        with closing(opened) as connection:
            yield connection


def column_names(connection: duckdb.DuckDBPyConnection, query: str, what: str, advice: str) -> list[str]:
    """Return the names of the columns of a query without running it."""
    return guarded(lambda: list(connection.sql(query).columns), what, advice, binding=True)


def stream(
    connection: duckdb.DuckDBPyConnection, query: str, columns: Sequence[str], what: str, advice: str
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a query, some rows at a time; without columns, one column of nulls."""
    wanted = ", ".join(identifier(column) for column in columns) or "NULL"
    reader = guarded(lambda: connection.sql(query).project(wanted).to_arrow_reader(_BATCH_ROWS), what, advice)
    while (batch := guarded(lambda: next(reader, None), what, advice)) is not None:
        yield batch


def guarded(action: Callable[[], T], what: str, advice: str, *, binding: bool = False) -> T:
    """Do ``action``; a failure becomes a SourceError that names ``what`` and the kind of failure, no content.

    While ``binding`` a query, before any row is read, the first line of DuckDB's complaint about the query
    itself is kept; what follows it may list names found in the data.
    """
    try:
        return action()
    except _FAILURES as error:
        kind = type(error).__name__
        public = binding and isinstance(error, _PUBLIC)
        detail = str(error).splitlines()[0] if public else "details withheld, since they may quote the table"
    # Raised out here so that the original error is not attached to this one.
    raise SourceError(f"{what} cannot be read ({kind}: {detail}). {advice}".rstrip())


def identifier(name: str) -> str:
    """Quote a column name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"
