"""Queries to databases that are not DuckDB's: SQLite, PostgreSQL, and whatever has an ADBC driver or an SQLAlchemy URL.

PRIVATE: reads the rows, some at a time. A value has the type that its column declares, or is looked at alone: none is
guessed by other rows. Libraries are imported when they are needed. Their messages may quote rows or passwords, and are kept.
"""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from understudy.errors import SourceError
from understudy.schema.cells import Objects
from understudy.source.duck import identifier
from understudy.source.frames import Batch
from understudy.source.guard import each, guarded

_BATCH_ROWS = 2**16
_ROWS = "understudy_rows"
_SQLITE = b"SQLite format 3\0"
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9_]*)(?P<library>\+\w+)?://(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
_NAMED = re.compile(r"(?P<scheme>\w[\w+]*://)([^/@?#]*@)?(?P<host>[^@?#]*)([?#][^@]*)?", re.DOTALL)
_END = re.compile(r"\s*;\s*(?:--[^\n]*\s*)*\Z")
"""The semicolon at the end of a query, with comments after it."""
_NAMES = {"postgres": "postgresql", "grpc": "flightsql"}
_ADVICE = "Is the database there, may you read it, and does the query run there?"


@dataclass(frozen=True)
class Database(ABC):
    """A database that can be asked. ``place`` is its file or URL."""

    place: str

    @property
    def what(self) -> str:
        """Name the database in a message, without a name or password in its URL."""
        return f'The query to "{_without_secrets(self.place)}"'

    def columns(self, query: str) -> list[str]:
        """Return the names of the columns of a query."""
        with guarded(self.what, _ADVICE):
            return self.names_of(f"SELECT * FROM ({_inner(query)}\n) {_ROWS} WHERE 1 = 0")

    def batches(self, query: str, names: Sequence[str]) -> Iterator[Any]:
        """Yield some columns of all rows of a query, some rows at a time; without columns, one column of nulls."""
        with guarded(self.what, _ADVICE):
            wanted = ", ".join(self.quoted(query, names)) or "NULL"
        yield from each(self.rows_of(f"SELECT {wanted} FROM ({_inner(query)}\n) {_ROWS}"), guarded(self.what, _ADVICE))

    def quoted(self, query: str, names: Sequence[str]) -> list[str]:
        """Return what to select for the columns ``names`` of the query."""
        return [identifier(name) for name in names]

    @abstractmethod
    def names_of(self, query: str) -> list[str]:
        """Return the names of the columns of a query that has no rows."""

    @abstractmethod
    def rows_of(self, query: str) -> Iterator[Any]:
        """Yield the rows of a query, in batches."""


def _without_secrets(place: str) -> str:
    """Return a URL without user, password and settings; where it is not plain which part they are, its scheme alone."""
    if "://" not in place:
        return place
    found = _NAMED.fullmatch(place)
    return place.partition("://")[0] + "://…" if found is None else found["scheme"] + found["host"]


def _inner(query: str) -> str:
    """Return a query that can stand in brackets."""
    return _END.sub("", query)


class Sqlite(Database):
    """A file of SQLite, whose columns may hold values of any type: each is looked at alone."""

    def names_of(self, query: str) -> list[str]:
        """Return the names of the columns of a query that has no rows."""
        with closing(self._connect()) as connection:
            return [column[0] for column in connection.execute(query).description]

    def rows_of(self, query: str) -> Iterator[Batch]:
        """Yield the rows of a query, in batches."""
        with closing(self._connect()) as connection:
            cursor = connection.execute(query)
            while rows := cursor.fetchmany(_BATCH_ROWS):
                yield _batch(rows)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{quote(str(Path(self.place).absolute()))}?mode=ro", uri=True)
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        return connection


class Adbc(Database):
    """A database with an ADBC driver, which gives Arrow batches in the types that the columns declare."""

    def names_of(self, query: str) -> list[str]:
        """Return the names of the columns of a query that has no rows."""
        return list(self._types(query).names)

    def rows_of(self, query: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query, in batches."""
        with ExitStack() as opened:
            connection = opened.enter_context(closing(import_module(f"{_driver(self.place)}.dbapi").connect(self.place)))
            cursor = opened.enter_context(closing(connection.cursor()))
            self.prepare(cursor)
            cursor.execute(query)
            yield from opened.enter_context(cursor.fetch_record_batch())

    def prepare(self, cursor: Any) -> None:
        """Do what the database needs before a query."""

    def _types(self, query: str) -> pa.Schema:
        with ExitStack() as opened:
            connection = opened.enter_context(closing(import_module(f"{_driver(self.place)}.dbapi").connect(self.place)))
            cursor = opened.enter_context(closing(connection.cursor()))
            self.prepare(cursor)
            cursor.execute(query)
            return cursor.fetch_record_batch().schema


class Postgres(Adbc):
    """PostgreSQL. Types that Arrow does not have come as text; moments at infinity, which it has not either, as null."""

    def prepare(self, cursor: Any) -> None:
        """Only read."""
        cursor.execute("SET TRANSACTION READ ONLY")

    def quoted(self, query: str, names: Sequence[str]) -> list[str]:
        """Return what to select for the columns ``names`` of the query."""
        if not names:
            return []
        types = self._types(f"SELECT {', '.join(super().quoted(query, names))} FROM ({_inner(query)}\n) {_ROWS} LIMIT 0")
        return [_readable(identifier(one.name), one.type) for one in types]


def _readable(column: str, kind: pa.DataType) -> str:
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return f"CASE WHEN isfinite({column}) THEN {column} END AS {column}"
    return f"{column}::text AS {column}" if isinstance(kind, pa.BaseExtensionType) else column


class Alchemy(Database):
    """Whatever SQLAlchemy can ask; values come as Python objects, and each is looked at alone."""

    def names_of(self, query: str) -> list[str]:
        """Return the names of the columns of a query that has no rows."""
        with ExitStack() as opened:
            return list(self._execute(opened, query).keys())

    def rows_of(self, query: str) -> Iterator[Batch]:
        """Yield the rows of a query, in batches."""
        with ExitStack() as opened:
            for rows in self._execute(opened, query).partitions(_BATCH_ROWS):
                yield _batch(rows)

    def quoted(self, query: str, names: Sequence[str]) -> list[str]:
        """Return what to select for the columns ``names`` of the query."""
        quote_ = self._engine().dialect.identifier_preparer.quote_identifier
        return [quote_(name) for name in names]

    def _execute(self, opened: ExitStack, query: str) -> Any:
        engine = self._engine()
        opened.callback(engine.dispose)
        connection = opened.enter_context(engine.connect()).execution_options(stream_results=True, no_parameters=True)
        return connection.exec_driver_sql(query)

    def _engine(self) -> Any:
        return import_module("sqlalchemy").create_engine(self.place)


def _batch(rows: Sequence[Sequence[Any]]) -> Batch:
    return Batch(len(rows), tuple(Objects(column) for column in zip(*rows, strict=True)))


def database_of(place: str | Path) -> Database | Path:
    """Return what asks a database, by its file or URL; the path of a file of DuckDB's own, which is opened otherwise."""
    url = None if isinstance(place, Path) else _URL.fullmatch(place)
    if url is None:
        return _file(Path(place))
    if url["scheme"].lower() in ("duckdb", "sqlite") and url["library"] is None:
        return _file(Path(url["rest"].removeprefix("/")))
    if url["library"] is None and find_spec(_driver(str(place))):
        return (Postgres if _driver(str(place)).endswith("postgresql") else Adbc)(str(place))
    if find_spec("sqlalchemy"):
        return Alchemy(str(place))
    raise SourceError(
        f'Nothing here can ask "{_without_secrets(str(place))}". Install an ADBC driver (for PostgreSQL: pip install '
        '"understudy[postgresql]"), or SQLAlchemy with a driver for its URL (pip install "understudy[sqlalchemy]" ...).'
    )


def _file(path: Path) -> Database | Path:
    if not path.is_file():
        raise SourceError(f'There is no database file "{path}".')
    with guarded(f'The database "{path}"'), path.open("rb") as file:
        return Sqlite(str(path)) if file.read(len(_SQLITE)) == _SQLITE else path


def _driver(place: str) -> str:
    """Return the package of the ADBC driver for a URL."""
    scheme = place.partition("://")[0].partition("+")[0].lower()
    return f"adbc_driver_{_NAMES.get(scheme, scheme)}"
