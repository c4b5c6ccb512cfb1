"""The forms in which a table may come. A new source joins the contract by one function here."""

from __future__ import annotations

import csv
import gzip
import io
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.schema import Schema
from understudy.source import Codes, Csv, Source, Sql, Tally, open_source
from understudy.source.duck import identifier

from . import spark
from .people import TYPES, Row, arrow, codes, schema

Form = Callable[[Sequence[Row], Path], Any]
"""Turns rows into what a user would pass to ``open_source``; may write files into the folder."""

FORMS: dict[str, Form] = {}


def form(make: Form) -> Form:
    FORMS[make.__name__] = make
    return make


@form
def arrow_table(rows: Sequence[Row], folder: Path) -> pa.Table:
    return arrow(rows)


@form
def arrow_many_chunks(rows: Sequence[Row], folder: Path) -> pa.Table:
    return pa.Table.from_batches(arrow(rows).to_batches(max_chunksize=max(1, len(rows) // 7)), TYPES)


@form
def arrow_reader(rows: Sequence[Row], folder: Path) -> pa.RecordBatchReader:
    return arrow(rows).to_reader(max_chunksize=1000)


@form
def arrow_dictionary(rows: Sequence[Row], folder: Path) -> pa.Table:
    table = arrow(rows)
    at = table.column_names.index("city")
    return table.set_column(at, "city", table.column("city").dictionary_encode())


@form
def pandas_frame(rows: Sequence[Row], folder: Path) -> pd.DataFrame:
    return arrow(rows).to_pandas()


@form
def pandas_nullable(rows: Sequence[Row], folder: Path) -> pd.DataFrame:
    return arrow(rows).to_pandas().convert_dtypes()


@form
def pandas_objects(rows: Sequence[Row], folder: Path) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=TYPES.names, dtype=object)


@form
def polars_frame(rows: Sequence[Row], folder: Path) -> pl.DataFrame:
    frame = pl.from_arrow(arrow(rows))
    assert isinstance(frame, pl.DataFrame)
    return frame


@form
def polars_lazy(rows: Sequence[Row], folder: Path) -> pl.LazyFrame:
    return polars_frame(rows, folder).lazy()  # type: ignore[no-any-return]


@form
def dict_of_lists(rows: Sequence[Row], folder: Path) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in TYPES.names}


@form
def dict_of_arrays(rows: Sequence[Row], folder: Path) -> dict[str, NDArray[Any]]:
    return {name: np.array([row[name] for row in rows], dtype=object) for name in TYPES.names}


@form
def code_array(rows: Sequence[Row], folder: Path) -> NDArray[np.int64]:
    return codes(rows)


@form
def parquet_file(rows: Sequence[Row], folder: Path) -> Path:
    pq.write_table(arrow(rows), folder / "people.parquet", row_group_size=10_000)
    return folder / "people.parquet"


@form
def parquet_glob(rows: Sequence[Row], folder: Path) -> str:
    table, half = arrow(rows), len(rows) // 2
    pq.write_table(table.slice(0, half), folder / "part 1.parquet")
    pq.write_table(table.slice(half).select(TYPES.names[::-1]), folder / "part 2.parquet")
    return str(folder / "part *.parquet")


@form
def csv_file(rows: Sequence[Row], folder: Path) -> str:
    (folder / "people.csv").write_text(as_csv(rows), encoding="utf-8", newline="")
    return str(folder / "people.csv")


@form
def csv_windows(rows: Sequence[Row], folder: Path) -> str:
    text = as_csv(rows, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    (folder / "people.csv").write_text(text, encoding="utf-8-sig", newline="")
    return str(folder / "people.csv")


@form
def csv_commas(rows: Sequence[Row], folder: Path) -> Csv:
    """Numbers with decimal commas, and points between thousands."""
    written = [{name: _german(value) for name, value in row.items()} for row in rows]
    (folder / "people.csv").write_text(as_csv(written, delimiter=";"), encoding="utf-8", newline="")
    return Csv(folder / "people.csv", separator=";", decimal=",", thousands=".")


def _german(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        return value
    spelled = f"{value:,}" if isinstance(value, int) else f"{value:,.17f}"
    return spelled.translate(str.maketrans(",.", ".,"))


@form
def csv_gzip(rows: Sequence[Row], folder: Path) -> Path:
    with gzip.open(folder / "people.csv.gz", "wt", encoding="utf-8", newline="") as file:
        file.write(as_csv(rows))
    return folder / "people.csv.gz"


@form
def tsv_glob(rows: Sequence[Row], folder: Path) -> str:
    half = len(rows) // 2
    one, two = as_csv(rows[:half], delimiter="\t"), as_csv(rows[half:], TYPES.names[::-1], delimiter="\t")
    (folder / "a.tsv").write_text(one, encoding="utf-8", newline="")
    (folder / "b.tsv").write_text(two, encoding="utf-8", newline="")
    return str(folder / "*.tsv")


@form
def sql_database(rows: Sequence[Row], folder: Path) -> Sql:
    path = folder / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", arrow(rows))
        connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    return Sql("SELECT * FROM people WHERE true; -- all of them", path)


@form
def sqlite_database(rows: Sequence[Row], folder: Path) -> Sql:
    with sqlite3.connect(folder / "people.db") as connection:
        connection.execute(f"CREATE TABLE people ({', '.join(map(identifier, TYPES.names))})")
        places = ", ".join("?" * len(TYPES.names))
        values = [[str(v) if isinstance(v, date) else v for v in map(row.get, TYPES.names)] for row in rows]
        connection.executemany(f"INSERT INTO people VALUES ({places})", values)
    return Sql("SELECT * FROM people", folder / "people.db")


@form
def sql_over_files(rows: Sequence[Row], folder: Path) -> Sql:
    return Sql(f"FROM '{parquet_file(rows, folder)}' ORDER BY age", memory_limit="200MB")


class PartitionedSource:
    """What a distributed engine would do: one tally a partition, merged in no particular order."""

    def __init__(self, partitions: Sequence[pa.Table], schema: Schema) -> None:
        self.domain: Domain = schema.domain
        self._partitions, self._schema = partitions, schema

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        total = Tally(self.domain, cliques)
        for partition in reversed(list(self._tallies(cliques))):
            total.merge(partition)
        return total.counts()

    def _tallies(self, cliques: Sequence[Clique]) -> Iterator[Tally]:
        for partition in self._partitions:
            tally = Tally(self.domain, cliques)
            coded = self._schema.encode(partition)
            columns = tuple(coded[:, i].astype(np.uint8) for i in range(coded.shape[1]))
            tally.add(Codes(len(coded), columns))
            yield tally


@form
def partitions(rows: Sequence[Row], folder: Path) -> PartitionedSource:
    table, step = arrow(rows), len(rows) // 3 + 1
    return PartitionedSource([table.slice(i * step, step) for i in range(4)], schema())


if not spark.absent():
    form(spark.spark_frame)


def as_csv(rows: Sequence[Row], names: Sequence[str] = TYPES.names, **dialect: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, **({"lineterminator": "\n"} | dialect))
    writer.writerow(names)
    writer.writerows([["" if row[name] is None else _one_line(row[name]) for name in names] for row in rows])
    return text.getvalue()


def _one_line(value: Any) -> Any:
    """A record of a CSV file is one line, so no value has a line break."""
    return value.replace("\n", " ") if isinstance(value, str) else value


def opened(data: Any, declared: Schema | None = None) -> Source:
    return data if isinstance(data, PartitionedSource) else open_source(data, declared or schema())
