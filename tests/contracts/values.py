"""A value is encoded alone: whatever stands beside it, in front of it or behind it, in every container.

Each case adds one odd record to an ordinary column and counts before and after: of the ordinary values none may move. Run as
a program it prints what failed as JSON; a case that brings the interpreter down is then only a test that fails.
"""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.schema import Schema, parse_schema
from understudy.source import Csv, Sql, open_source

from .odd import ODD, spelled

MONTHS = 'min = 2020-01-01\nmax = 2021-12-31\nwidth = "1 month"\nnullable = true'
LETTERS = 'kind = "categorical"\nvalues = ["a", " a", "b"]\nother = "o"\nnullable = true'
REAL = 'kind = "real"\nmin = 0\nmax = 1\nbins = 10\nnullable = true'
KINDS: dict[str, tuple[str, list[Any]]] = {
    "categorical": (LETTERS, ["a", " a", "b", "a"]),
    "categorical with strays": (LETTERS, ["a", " a", "b", "zz", None]),
    "codes": ('kind = "categorical"\nvalues = [1, 2, 30]\nother = 99', [1, 2, 30, 4]),
    "codes as text": ('kind = "categorical"\nvalues = ["01", "2", "x"]\nother = "o"', [1, 2, 5, 2]),
    "ordinal": ('kind = "ordinal"\nvalues = ["low", "high"]\nnullable = true', ["low", "high", "low", "?"]),
    "open": ('kind = "open"\nnulls = [-9, "N"]\nnullable = true', ["a", "b", "N", 7]),
    "boolean": ('kind = "boolean"\nnullable = true', [True, False, True, None]),
    "spelled boolean": ('kind = "boolean"\nnullable = true', ["yes", "NO ", "t", "0"]),
    "integer": ('kind = "integer"\nmin = 0\nmax = 9\nother = 0\ninvalid = "other"', [1, 2, 9, 4]),
    "integer of booleans": ('kind = "integer"\nmin = 0\nmax = 1\nnullable = true', [True, False, True]),
    "spelled numbers": (REAL, ["0.7", " .1", "5e-1", "x", "y"]),
    "real": (REAL, [0.7, 0.1, 0.30000000000000004, 0.5]),
    "single precision": (REAL, [np.float32(0.7), np.float32(0.1), np.float32(0.5)]),
    "decimals": ('kind = "real"\nmin = 0\nmax = 1\ndecimals = 2\nnullable = true', [Decimal("0.70"), Decimal("0.29")]),
    "codes with nulls": ('kind = "categorical"\nvalues = [1, 2]\nnulls = [-9, "N"]\nnullable = true', [1, 2, -9, 1]),
    "prefixes": ('kind = "categorical"\nprefix = 1\nvalues = ["a", "b"]\nother = "o"', ["abc", "b", "a", "xa"]),
    "integer with nulls": (
        'kind = "integer"\nmin = 0\nmax = 90\nstep = 10\nnulls = [-9, "N"]\nnullable = true',
        [10, -9, 90, 44],
    ),
    "clock": ('kind = "time"\nnullable = true', ["05:17", "23:59", "24:00", "NA"]),
    "clock of half days": (
        'kind = "time"\nformat = "%I:%M %p"\nnullable = true',
        ["05:17 AM", "12:00 am", "13:00 PM", "NA"],
    ),
    "clock of digits": ('kind = "time"\nformat = "%H%M"\ntype = "int64"\nnulls = [9999]\nnullable = true', [517, 5, 9999]),
    "clock to its end": ('kind = "time"\nmax = "24:00"\nnullable = true', ["00:00", "23:59", "12:30", "2400"]),
    "date": (f'kind = "date"\n{MONTHS}', [dt.date(2020, 5, 6), dt.date(2021, 2, 3)]),
    "date with nulls": (f'kind = "date"\n{MONTHS}\nnulls = ["9999-12-31"]', [dt.date(2020, 5, 6), dt.date(9999, 12, 31)]),
    "numbers with signs": (
        'kind = "integer"\nmin = -9\nmax = 90\nbefore = "$"\nafter = " %"\nnulls = ["n/a"]\nnullable = true',
        ["$5 %", "-$7", "12%", "8", "$ -3", "n/a", "$", "%5", "5 €"],
    ),
    "spelled date": (f'kind = "date"\n{MONTHS}\nformat = "%d/%m/%Y"', ["05/06/2020", "01/02/2021", "?", ""]),
    "date with names": (
        f'kind = "date"\n{MONTHS}\nformat = "%b %-d, %Y"',
        ["May 6, 2020", "feb 03, 2021", "Mai 6, 2020", ""],
    ),
    "date of two digits": (f'kind = "date"\n{MONTHS}\nformat = "%d-%^b-%y"', ["06-MAY-20", "03-Feb-21", "01-JAN-19", "?"]),
    "dates under a format": (f'kind = "date"\n{MONTHS}\nformat = "%d/%m/%Y"', [dt.date(2020, 5, 6), dt.date(2021, 2, 3)]),
    "datetime": (
        'kind = "datetime"\nmin = 1969-01-01T00:00:00\nmax = 2021-12-31T00:00:00\nwidth = "1 month"\nnullable = true',
        [dt.datetime(2020, 5, 6, 7, 8, 9, 10), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), np.datetime64("2021-02-03")],
    ),
    "datetime in a zone": (
        f'kind = "datetime"\ntimezone = "Europe/Berlin"\n{MONTHS}'.replace("-01-01", "-01-01T00:00:00").replace(
            "-12-31", "-12-31T00:00:00"
        ),
        [dt.datetime(2020, 5, 31, 23, 30, tzinfo=dt.UTC), dt.datetime(2021, 2, 3)],
    ),
}
"""Declarations, and ordinary values for each: some with nothing odd among them, some with one or two."""

Container = Callable[[list[Any], Path], Any]


def objects(values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def _arrow_union(values: list[Any], folder: Path) -> pa.Table:
    kinds: dict[Any, list[Any]] = {}
    types, offsets = [], []
    for value in values:
        one = pa.array([value.as_py() if isinstance(value, pa.Scalar) else value], from_pandas=True)
        held = kinds.setdefault(str(one.type), [])
        types.append(list(kinds).index(str(one.type)))
        offsets.append(len(held))
        held.append(one)
    children = [pa.concat_arrays(held) for held in kinds.values()]
    return pa.table({"x": pa.UnionArray.from_dense(pa.array(types, pa.int8()), pa.array(offsets, pa.int32()), children)})


def _sqlite(values: list[Any], folder: Path) -> pd.DataFrame:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])
        return pd.read_sql("SELECT x FROM t", connection)


def _csv(values: list[Any], folder: Path) -> str:
    lines = ['"' + ("" if v is None else spelled(v)).replace('"', '""').replace("\n", " ") + '",1' for v in values]
    (folder / "t.csv").write_text("\n".join(["x,y", *lines]) + "\n", encoding="utf-8", errors="replace")
    return str(folder / "t.csv")


def _commas(values: list[Any], folder: Path) -> Csv:
    """Numbers with decimal commas, and points between thousands; odd values stand as they are."""
    _csv([_german(value) for value in values], folder)
    return Csv(folder / "t.csv", decimal=",", thousands=".")


def _german(value: Any) -> Any:
    number = isinstance(value, int | float | Decimal | np.floating) and not isinstance(value, bool)
    return spelled(value).replace(".", ",") if number else value


def _texts(values: list[Any]) -> list[str | None]:
    return [None if v is None else spelled(v).encode("utf-8", "replace").decode() for v in values]


def _parquet(values: list[Any], folder: Path) -> Path:
    pq.write_table(pa.table({"x": pa.array(_texts(values), pa.string())}), folder / "t.parquet")
    return folder / "t.parquet"


def _bad_parquet(values: list[Any], folder: Path) -> Path:
    """A Parquet file of text, in which bytes need not be UTF-8."""
    raw = [None if v is None else v if isinstance(v, bytes) else spelled(v).encode("utf-8", "replace") for v in values]
    binary = pa.array(raw, pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(binary), binary.buffers(), binary.null_count)
    pq.write_table(pa.table({"x": text}), folder / "b.parquet")
    return folder / "b.parquet"


def _bad_arrow(values: list[Any], folder: Path) -> pa.Table:
    return pq.read_table(_bad_parquet(values, folder), use_threads=False)


def _sql(values: list[Any], folder: Path) -> Sql:
    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", pa.table({"x": pa.array(_texts(values), pa.string())}))
        connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    return Sql("SELECT x FROM t", path)


def _structured(values: list[Any], folder: Path) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), dtype=[("x", object), ("y", "i8")])
    array["x"], array["y"] = objects(values), 0
    return array


def _category(values: Sequence[Any], folder: Path) -> pd.DataFrame:
    """Before version 3, pandas takes texts that are the same up to a NUL for one category: it does not hold the values."""
    made = pd.DataFrame({"x": pd.Series(objects(values)).astype("category")})
    if any(isinstance(value, str) and value != kept for value, kept in zip(values, made["x"].tolist(), strict=True)):
        raise ValueError
    return made


CONTAINERS: dict[str, Container] = {
    "dict of lists": lambda values, folder: {"x": values},
    "dict of tuples": lambda values, folder: {"x": tuple(values)},
    "dict of object arrays": lambda values, folder: {"x": objects(values)},
    "structured array": _structured,
    "pandas": lambda values, folder: pd.DataFrame({"x": values}),
    "pandas objects": lambda values, folder: pd.DataFrame({"x": pd.Series(objects(values), dtype=object)}),
    "pandas category": _category,
    "polars objects": lambda values, folder: pl.DataFrame({"x": pl.Series("x", values, dtype=pl.Object)}),
    "Arrow union": _arrow_union,
    "SQLite": _sqlite,
    "CSV": _csv,
    "CSV with decimal commas": _commas,
    "Parquet": _parquet,
    "Parquet of any bytes": _bad_parquet,
    "Arrow text of any bytes": _bad_arrow,
    "SQL": _sql,
}
POSITIONS = ("front", "middle", "end")


@cache
def schema_of(kind: str) -> Schema:
    return parse_schema(f"[columns.x]\n{KINDS[kind][0]}\n")


def placed(values: Sequence[Any], odd: Any, position: str) -> list[Any]:
    at = {"front": 0, "middle": len(values) // 2, "end": len(values)}[position]
    return [*values[:at], odd, *values[at:]]


def counted(data: Any, schema: Schema) -> list[int]:
    return [int(n) for n in open_source(data, schema).count([("x",)])[0]]


def moved(before: list[int], after: list[int]) -> bool:
    """Whether anything but one count, by one, changed when a record was added."""
    return sorted(b - a for a, b in zip(before, after, strict=True)) != [0] * (len(before) - 1) + [1]


def cases(containers: Sequence[str], every: int) -> list[tuple[str, str, str, str]]:
    return list(product(containers, KINDS, ODD, POSITIONS))[::every]


def made(container: str, values: list[Any], folder: Path) -> Any:
    """Make the container; None where it cannot hold the values itself, before this package sees them."""
    try:
        return CONTAINERS[container](values, folder)
    except Exception:
        return None


def failures(
    containers: Sequence[str], every: int = 1, tell: Callable[[str], object] = lambda case: None
) -> Iterator[tuple[str, str | None]]:
    """Yield every case (or each ``every``-th) with what went wrong in it, if anything did."""
    known: dict[tuple[str, str], list[int] | None] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for container, kind, name, position in cases(containers, every):
            schema, ordinary = schema_of(kind), KINDS[kind][1]
            case = " | ".join((container, kind, name, position))
            tell(case)
            if (container, kind) not in known:
                plain = made(container, ordinary, folder)
                known[container, kind] = None if plain is None else counted(plain, schema)
            data, before = made(container, placed(ordinary, ODD[name], position), folder), known[container, kind]
            if data is None or before is None:
                continue
            try:
                yield case, "moved" if moved(before, counted(data, schema)) else None
            except Exception as error:
                yield case, type(error).__name__


def main(containers: Sequence[str]) -> None:
    """Print each case on standard error as it begins (a crash shows the last), then how many there were and what failed."""
    every = 20 if containers == ["SQL"] else 1  # a quarter of a second each
    found = list(failures(containers, every, tell=lambda case: print(case, file=sys.stderr, flush=True)))
    print(json.dumps({"cases": len(found), "failed": [[case, why] for case, why in found if why]}))


if __name__ == "__main__":
    main(sys.argv[1:] or list(CONTAINERS))
