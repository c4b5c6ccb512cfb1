"""One record moves one count in a typed column too: odd are values that its type can hold, and Python often cannot."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from understudy.schema import Schema, parse_schema

from .values import POSITIONS, counted, moved, objects, placed, schema_of

MOST, LEAST = 2**63 - 1, -(2**63)
DAYS, SECONDS, SMALL = [18_000, 18_500], [1_590_000_000, 1_600_000_000], [15, 16]
TEXT: list[Any] = ["a", "b", "0.7"]
KINDS = ["categorical with strays", "codes", "integer", "spelled numbers", "date", "datetime in a zone"]
Typed = tuple[Callable[[list[Any]], Any], list[Any], list[Any]]


def viewed(kind: Any, storage: pa.DataType = pa.int64()) -> Callable[[list[Any]], pa.Array]:  # noqa: B008
    return lambda values: pa.array(values, storage).view(kind)


def polar(kind: Any, storage: Any = pl.Int64) -> Callable[[list[Any]], pl.Series]:
    return lambda values: pl.Series("x", values, dtype=storage).cast(kind)


def listed(kind: Any) -> Callable[[list[Any]], pl.Series]:
    storage = pl.List(pl.Int64)
    return lambda values: pl.Series("x", [None if v is None else [v] for v in values], dtype=storage).cast(pl.List(kind))


def runs(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(values) + 1), pa.int32()), values)


def dictionary(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), pa.int32()), values)


def sliced(values: list[Any]) -> pa.Array:
    return pc.run_end_encode(pa.array(["q", "q", *values, "q"])).slice(2, len(values))


def numpy_of(kind: str) -> Callable[[list[Any]], Any]:
    return lambda values: np.array(values, "i8").view(kind)


def stamps(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(objects([pd.Timestamp(np.datetime64(v, "s")) for v in values]), dtype=object)


def zoned(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(objects([pd.Timestamp(np.datetime64(v, "s")).tz_localize("UTC") for v in values]), dtype=object)


WIDE = [MOST, LEAST, LEAST + 1, -1, 0]
TYPED: dict[str, Typed] = {
    "numpy M8[Y]": (numpy_of("M8[Y]"), [50, 51], WIDE),
    "numpy M8[ns]": (numpy_of("M8[ns]"), SMALL, WIDE),
    "numpy M8[as]": (numpy_of("M8[as]"), [LEAST, LEAST], WIDE),
    "numpy m8[s]": (numpy_of("m8[s]"), SMALL, WIDE),
    "numpy half": (lambda values: np.array(values, "f2"), [0.5, 1.0], [np.nan, np.inf]),
    "numpy long": (lambda values: np.array(values, "g"), [0.5, 1.0], [np.nan, np.longdouble("1e4000")]),
    "numpy swapped": (lambda values: np.array(values, ">f8"), [0.5, 1.0], [np.nan, 1e308]),
    "pandas moments of any year": (stamps, SECONDS, [2**60, -(2**50), 2**40]),
    "pandas instants of any year": (zoned, SECONDS, [2**55, -(2**50), 2**40]),
    "pandas periods": (
        lambda values: pd.Series(pd.PeriodIndex.from_ordinals(values, freq="D")),
        DAYS,
        [LEAST, 2**40, -(10**6)],
    ),
    "pandas sparse": (lambda values: pd.Series(pd.arrays.SparseArray(values)), [0.0, 0.7], [np.nan, np.inf]),
    "polars duration": (polar(pl.Duration("ms")), SMALL, [*WIDE, None]),
    "polars datetime": (polar(pl.Datetime("ms", "Europe/Berlin")), SECONDS, [*WIDE, None]),
    "polars date": (polar(pl.Date, pl.Int32), DAYS, [2**31 - 1, -(2**31), None]),
    "polars list of datetimes": (listed(pl.Datetime("ms")), SMALL, [MOST, LEAST, None]),
    "polars list of durations": (listed(pl.Duration("us")), SMALL, [MOST, LEAST, None]),
    "polars decimal": (
        lambda values: pl.Series("x", values, dtype=pl.Decimal(38, 2)),
        [Decimal("0.70"), Decimal("0.29")],
        [None, Decimal("9" * 36)],
    ),
    "polars int128": (lambda values: pl.Series("x", values, dtype=pl.Int128), [1, 2, 9], [2**127 - 1, -(2**127), None]),
    "Arrow timestamp": (viewed(pa.timestamp("s", "Europe/Berlin")), SECONDS, [*WIDE, None]),
    "Arrow timestamp in no zone": (viewed(pa.timestamp("us", "Nowhere/Zone")), SECONDS, [*WIDE, None]),
    "Arrow timestamp of microseconds": (
        viewed(pa.timestamp("us")),
        [1_590_969_599_500_000, 1_612_325_106_000_000],  # the first is half a second before June 2020
        [*WIDE, -500_000, None],
    ),
    "Arrow duration": (viewed(pa.duration("s")), SMALL, [*WIDE, None]),
    "Arrow time": (viewed(pa.time64("ns")), SMALL, [MOST, -1, None]),
    "Arrow date": (viewed(pa.date32(), pa.int32()), DAYS, [2**31 - 1, -(2**31), None]),
    "Arrow decimal": (
        lambda v: pa.array(v, pa.decimal256(76, 2)),
        [Decimal("0.70"), Decimal("0.29")],
        [None, Decimal("9" * 70)],
    ),
    "Arrow run-end encoded": (lambda values: pc.run_end_encode(pa.array(values)), [*TEXT, "a", "a"], [None, "zz"]),
    "Arrow run-end encoded slice": (sliced, TEXT, [None, "zz"]),
    "Arrow runs of a dictionary": (lambda values: runs(pa.array(values).dictionary_encode()), TEXT, [None, "zz"]),
    "Arrow runs of views": (lambda values: runs(pa.array(values, pa.string_view())), TEXT, [None, "zz"]),
    "Arrow dictionary of a dictionary": (lambda v: dictionary(pa.array(v).dictionary_encode()), TEXT, [None, "zz"]),
    "Arrow dictionary of lists": (lambda v: dictionary(pa.array(v)), [["a"], ["b"]], [None, [], ["zz"]]),
    "Arrow struct": (lambda v: pa.array(v, pa.struct({"a": pa.string()})), [{"a": "x"}], [None, {"a": None}, {}]),
    "Arrow map": (lambda v: pa.array(v, pa.map_(pa.string(), pa.int64())), [[("a", 1)]], [None, [], [("a", 1), ("a", 2)]]),
    "Arrow interval": (lambda v: pa.array(v, pa.month_day_nano_interval()), [(1, 2, 3)], [(2**31 - 1, 0, MOST), None]),
    "Arrow UUID": (
        lambda v: pa.ExtensionArray.from_storage(pa.uuid(), pa.array(v, pa.binary(16))),
        [b"a" * 16, b"b" * 16],
        [None, b"\xff" * 16],
    ),
}
"""How a column is made of values, ordinary values, and odd ones."""


@pytest.mark.promise(27)
@pytest.mark.parametrize("name", TYPED)
def test_a_typed_value_is_encoded_alone(name: str) -> None:
    make, ordinary, odd = TYPED[name]
    failed = []
    for kind in KINDS:
        schema = schema_of(kind)
        before = counted({"x": make(ordinary)}, schema)
        assert sum(before) == len(ordinary)
        for value in odd:
            for position in POSITIONS:
                after = counted({"x": make(placed(ordinary, value, position))}, schema)
                failed += [(kind, value, position)] if moved(before, after) else []
    assert failed == []


@pytest.mark.promise(27)
def test_the_runs_of_a_slice_are_its_own() -> None:
    schema = schema_of("categorical with strays")
    assert counted({"x": sliced(TEXT)}, schema) == counted({"x": TEXT}, schema)


ACCENTS = parse_schema('[columns.x]\nkind = "categorical"\nvalues = ["é", "ü", "b"]\nother = "o"')
ZONE = parse_schema(
    '[columns.x]\nkind = "datetime"\nmin = 2020-01-01T00:00:00\nmax = 2021-12-31T00:00:00\nwidth = "1 month"\n'
    'timezone = "Europe/Berlin"\nnullable = true'
)
CLOCK = ["2020-05-31 23:30", "2020-06-01 00:30", "2021-02-03T04:05:06", "2020-12-31 23:59:59,9"]
TEXTS: dict[str, tuple[Schema, list[str], list[Any]]] = {
    "accents": (ACCENTS, ["é", "ü", "b", " é"], ["\ud800", b"\xff", b"\xc3\xa9", "\ufeffé", "É", None]),
    "wall clocks": (
        ZONE,
        CLOCK,
        ["2021-02-03T04:05:06Z", "2021-02-03 04:05+05:30", "0000-00-00", "9999-12-31T23:59:60-15:59"],
    ),
}
HELD: dict[str, Callable[[list[Any]], Any]] = {
    "objects": list,
    "texts": lambda values: pa.array(
        [v.encode("utf-8", "replace") if isinstance(v, str) else v for v in values], pa.binary()
    ),
}


@pytest.mark.promise(27)
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_alone(name: str, held: str) -> None:
    schema, ordinary, odd = TEXTS[name]
    make = HELD[held]
    before = counted({"x": make(ordinary)}, schema)
    for value in odd:
        for position in POSITIONS:
            after = counted({"x": make(placed(ordinary, value, position))}, schema)
            assert not moved(before, after), (value, position)
