"""Opens any table for a draft: copied into DuckDB, which may spill to disk, with the types that it has or seems to have.

NOT PRIVATE: reads rows for their owner, before any release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from understudy.errors import SourceError
from understudy.review.arrow import arrow_batches, arrow_table
from understudy.review.dialects import Sniffed, sniffed
from understudy.review.figures import with_marks
from understudy.review.layouts import exact, unusual
from understudy.review.types import CANDIDATES, PLAIN, Ask, Spelling, nearly, spelling
from understudy.schema.declaration import DEFAULT_BINS
from understudy.schema.dialect import Dialect
from understudy.schema.reading import is_text
from understudy.source.csv import Csv
from understudy.source.duck import MEMORY_LIMIT, connect, identifier
from understudy.source.files import File, files_of, require_text
from understudy.source.frames import require_all_named
from understudy.source.guard import guarded
from understudy.source.parquet import ParquetFile
from understudy.source.sql import Sql, SqlReader

VIEW = "understudy_data"
_COPY = "understudy_copy"
_BATCH = "understudy_batch"
_TEXT = Spelling("VARCHAR")


@dataclass(frozen=True)
class Opened:
    """A table that DuckDB can be asked about as ``VIEW``, how a CSV file is written, and what its texts spell.

    ``orders`` are the values of ordered categories, the lowest first.
    """

    connection: duckdb.DuckDBPyConnection
    types: pa.Schema
    spellings: dict[str, Spelling] = field(default_factory=dict)
    dialect: Sniffed | None = None
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query over ``VIEW``."""
        with guarded("The table"):
            answer: pa.Table = self.connection.sql(query).to_arrow_table()
        return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))


@contextmanager
def open_data(data: Any) -> Iterator[Opened]:
    """Open a table for a draft."""
    with connect(None, MEMORY_LIMIT) as connection:
        if isinstance(data, Sql):
            reader = SqlReader(data, [])
            names = reader.columns()
            yield _typed(_copied(connection, arrow_batches(lambda: reader.batches(names), names)))
        elif isinstance(data, str | Path | Csv):
            yield _open_files(connection, data)
        else:
            yield _typed(_copied(connection, (table := arrow_table(data)).to_batches(), table.schema))


def _open_files(connection: duckdb.DuckDBPyConnection, data: str | Path | Csv) -> Opened:
    files = files_of(data)
    if isinstance(files[0], ParquetFile):
        return _typed(_copied(connection, _all_batches(files), files[0].types()))
    dialect = sniffed(data, files[0])
    files = files_of(dialect.csv(data))
    names = files[0].columns()
    require_text(files[0], names)
    _require_names(names, files[0].what)
    text = pa.schema([(name, pa.large_string()) for name in names])
    opened = _copied(connection, _all_batches(files), text)
    return _typed(opened, with_marks(dialect, data, [partial(_of_texts, opened, name) for name in names]))


def _all_batches(files: list[File]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files that must have the columns of the first."""
    names = files[0].columns()
    for file in files:
        found = file.columns()
        _require_alike(names, found, file.what)
        yield from file.batches(names, found)


def _require_alike(names: list[str], found: list[str], what: str) -> None:
    if missing := [name for name in names if name not in found]:
        raise SourceError(f'{what} has no column "{missing[0]}", which the first file has.')


def _require_names(names: list[str], what: str) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is None and all(name.strip() for name in names):
        return
    wrong = "leaves a column without a name" if twice is None or not twice.strip() else f'has the name "{twice}" twice'
    raise SourceError(
        f"{what}: its first line {wrong}. Write names that differ there; if that line is a record, give them "
        "with --header A,B,C."
    )


def _copied(
    connection: duckdb.DuckDBPyConnection, batches: Iterable[pa.RecordBatch], types: pa.Schema | None = None
) -> Opened:
    """Copy a table into DuckDB; a text that is not valid there is mended."""
    steps = iter(batches)
    first = next(steps, None)
    schema = types if types is not None else None if first is None else first.schema
    if schema is None:
        raise SourceError("The table has no rows to look at; write the schema by hand.")
    require_all_named(schema.names, "The table")
    if len({name.lower() for name in schema.names}) < len(schema.names):
        raise SourceError(
            "Two columns have names that differ in case alone, or not at all; rename one, or write the schema by hand."
        )
    plain = pa.schema([pa.field(one.name, _plain_type(one.type)) for one in schema])
    with guarded("The table"):
        _run(connection, f"CREATE TABLE {_COPY} AS SELECT * FROM {_BATCH}", plain.empty_table())
        connection.execute(f"CREATE VIEW {VIEW} AS SELECT * FROM {_COPY}")
    orders: dict[str, tuple[str, ...]] = {}
    for batch in chain([] if first is None else [first], steps):
        with guarded("The table"):
            _keep_orders(orders, batch)
            _run(connection, f"INSERT INTO {_COPY} SELECT * FROM {_BATCH}", _mended(batch, plain))
    return Opened(connection, schema, orders={name: order for name, order in orders.items() if order})


def _keep_orders(orders: dict[str, tuple[str, ...]], batch: pa.RecordBatch) -> None:
    """Note the order of ordered categories; none where parts of a table differ in it."""
    for one, column in zip(batch.schema, batch.columns, strict=True):
        if pa.types.is_dictionary(one.type) and one.type.ordered:
            order = tuple(str(value) for value in column.dictionary.drop_null().to_pylist())
            known = orders.setdefault(one.name, order)
            same = all(a == b for a, b in zip(known, order, strict=False))
            orders[one.name] = max(known, order, key=len) if same and known else ()


def _run(connection: duckdb.DuckDBPyConnection, statement: str, table: pa.Table) -> None:
    """Run a statement that reads ``table``."""
    connection.register(_BATCH, table)
    connection.execute(statement)
    connection.unregister(_BATCH)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _mended(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Return the batch in the types of ``schema``, with text that is valid."""
    arrays = [_valid(array).cast(one.type) for array, one in zip(batch.columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _valid(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not is_text(array.type):
        return array
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        values = array.cast(pa.large_binary()).to_pylist()
        return pa.array([None if v is None else v.decode("utf-8", "replace") for v in values], array.type)
    return array


def _typed(opened: Opened, dialect: Sniffed | None = None) -> Opened:
    """Give text columns the types that their values seem to have: all of a CSV file, else those with many values."""
    found: dict[str, Spelling] = {}
    for name in opened.types.names:
        if dialect is not None or _is_long(opened, name, texts_of(name)):
            marks = PLAIN if dialect is None else dialect.found
            ask = partial(_of_texts, opened, name)
            usual = spelling(ask, marks, signed=dialect is not None)
            found[name] = exact(ask, _moments_or_slips(ask, usual, marks) if usual.type == "VARCHAR" else usual)
    if not found:
        return opened
    columns = ", ".join(_read(name, found.get(name)) for name in opened.types.names)
    with guarded("The table"):
        opened.connection.execute(f"CREATE OR REPLACE VIEW {VIEW} AS SELECT {columns} FROM {_COPY}")
        types = opened.connection.sql(f"SELECT * FROM {VIEW} LIMIT 0").to_arrow_table().schema
    kept = [types.field(one.name) if found.get(one.name, _TEXT).type != "VARCHAR" else one for one in opened.types]
    return Opened(opened.connection, pa.schema(kept), found, dialect, opened.orders)


def _moments_or_slips(ask: Ask, usual: Spelling, marks: Dialect) -> Spelling:
    """Return what texts spell that are nothing usual, or are so but for a few slips."""
    known = [replace(one, marks=marks) for one in CANDIDATES]
    return unusual(ask) or nearly(ask, known) or unusual(ask, nearly) or usual


def texts_of(name: str) -> str:
    """Return the SQL of the texts of a column that are not blank, as ``v``, with the rows that have each, as ``n``."""
    text = f"trim({identifier(name)})"
    return f"SELECT {text} AS v, count(*) AS n FROM {_COPY} WHERE {text} <> '' GROUP BY 1"


def _of_texts(opened: Opened, name: str, query: str) -> tuple[Any, ...]:
    """Return the one row of a query over the texts of a column."""
    return opened.ask(f"SELECT {query} FROM ({texts_of(name)})")[0]


def _read(name: str, how: Spelling | None) -> str:
    column = identifier(name)
    return column if how is None else f"{how.read(column)} AS {column}"


def _is_long(opened: Opened, name: str, text: str) -> bool:
    """Say whether a column of text has so many values that they can hardly be codes."""
    if not is_text(opened.types.field(name).type):
        return False
    return bool(opened.ask(f"SELECT count(*) FROM ({text} LIMIT {DEFAULT_BINS + 1})")[0][0] > DEFAULT_BINS)
