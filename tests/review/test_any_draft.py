"""Whatever a table holds, its draft loads, and what is declared fits what was seen."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.review import check_schema, draft_schema
from understudy.review.marks import accept, finish, marks_of
from understudy.schema import parse_schema

NUMBERS = st.floats(-1e300, 1e300) | st.just(float("nan"))
COLUMNS: list[tuple[st.SearchStrategy[Any], pa.DataType]] = [
    (st.integers(-(2**62), 2**62) | st.integers(-(2**50), 2**50), pa.int64()),
    (st.integers(0, 255), pa.uint8()),
    (st.sampled_from([0, 0, 0, 1, 7, 99999]) | st.integers(0, 10**6), pa.int64()),
    (st.sampled_from([-9, 9999]) | st.integers(0, 40), pa.int32()),
    (st.integers(0, 24).map(lambda i: i * 100), pa.int16()),
    (NUMBERS, pa.float64()),
    (st.floats(width=32, allow_nan=False, allow_infinity=False), pa.float32()),
    (st.integers(-(10**6), 10**6).map(lambda i: i / 100), pa.float64()),
    (st.decimals(-999, 999, places=2), pa.decimal128(7, 2)),
    (st.text(max_size=4), pa.string()),
    (st.sampled_from(["Y", "N", "NA", ""]), pa.string()),
    (st.sampled_from(["1", "2", "N", "x y"]) | st.integers(0, 99).map(str), pa.string()),
    (st.booleans(), pa.bool_()),
    (st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)), pa.date32()),
    (st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)), pa.timestamp("us")),
    (st.times(), pa.time64("us")),
]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    values, kind = draw(st.sampled_from(COLUMNS))
    few = draw(st.lists(st.none() | values, min_size=1, max_size=30))
    name = draw(st.sampled_from(["c", "age", "month", "start time", "a.b", 'q"q']))
    return pa.table({name: pa.array(few * draw(st.sampled_from([1, 3, 40])), kind)})


@settings(max_examples=120, deadline=None)
@given(tables())
def test_any_draft_loads_and_fits(table: pa.Table) -> None:
    fits(table)


GENERATOR = np.random.default_rng(0)
EDGES: dict[str, list[Any]] = {
    "nothing to bin": [2**62, -(2**62), 5],
    "identifiers beyond 2^53": [2**60 + i for i in range(40)] * 5,
    "tiny": [1e-300, 2e-300, 5e-310] * 5,
    "blank text": ["", "0"],
    "zero": [0.0] * 50,
    "one real": [3.7] * 50,
    "below zero": [-5, -6, -200] * 20,
    "skewed, never zero": GENERATOR.lognormal(3, 3, 3000).tolist(),
    "skewed both ways": GENERATOR.standard_cauchy(3000).tolist(),
    "skewed whole": [int(x * 10) for x in GENERATOR.standard_cauchy(3000)],
    "codes alone": [-9] * 40,
    "codes and values": [-9] * 40 + [-8] * 2 + [3, 4, 5] * 30,
    "far apart": [0, 10**15] * 30,
    "steps": [float(i * 100) for i in range(300)] * 3,
    "first and last day": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
}


@pytest.mark.parametrize("edge", EDGES)
def test_the_draft_of_an_odd_column_loads_and_fits(edge: str) -> None:
    fits(pa.table({"c": EDGES[edge]}))


def fits(table: pa.Table) -> None:
    """Draft a table beside a column that can always be drafted."""
    table = table.append_column("sure", pa.array([i % 3 for i in range(table.num_rows)]))
    text = draft_schema(table)
    schema = parse_schema(text)
    assert [(m.column, m.problem) for m in check_schema(table, schema)] == []
    while marks := marks_of(text):
        text = accept(text, marks[0])
    assert not parse_schema(finish(text)).draft
