"""Numbers behind codes are those that the schema declares, whatever holds the values."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from understudy.measures.values import numbers_of, show, show_difference, unit_of
from understudy.schema import Column, parse_schema
from understudy.schema.column import Held

SCHEMA = """
[columns.clamped]
kind = "integer"
min = 0
max = 100
bins = 4
nullable = true
[columns.other]
kind = "integer"
min = 0
max = 100
bins = 4
invalid = "other"
other = 7
[columns.nulled]
kind = "real"
min = 0
max = 100
bins = 4
nullable = true
invalid = "null"
[columns.money]
kind = "real"
min = 0
max = 100
bins = 4
decimals = 2
nullable = true
[columns.day]
kind = "date"
min = 2020-01-01
max = 2020-12-31
width = "month"
nullable = true
"""


def column(name: str) -> Column:
    return parse_schema(SCHEMA)[name]


def read(name: str, values: Held) -> list[float]:
    return [float(x) for x in numbers_of(column(name), values, column(name).encode(values))]


VALUES = pa.array([5.0, -3.0, 250.0, None])
TEXT = pa.array(["5", "-3", "250", "what"])


@pytest.mark.parametrize(
    ("name", "expected", "text"),
    [
        ("clamped", [5, 0, 100, np.nan], [5, 0, 100, np.nan]),
        ("other", [5, 7, 7, 7], [5, 7, 7, 7]),
        ("nulled", [5, np.nan, np.nan, np.nan], [5, np.nan, np.nan, np.nan]),
    ],
)
def test_what_does_not_fit_counts_as_declared(name: str, expected: list[float], text: list[float]) -> None:
    np.testing.assert_array_equal(read(name, VALUES), expected)
    np.testing.assert_array_equal(read(name, TEXT), text)


def test_every_way_to_hold_values_gives_the_same_numbers() -> None:
    expected = read("clamped", VALUES)
    for held in (VALUES.dictionary_encode(), pa.chunked_array([VALUES.slice(0, 2), VALUES.slice(2)])):
        np.testing.assert_array_equal(read("clamped", held), expected)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), VALUES)
    np.testing.assert_array_equal(read("clamped", runs), expected)


def test_numbers_are_in_the_users_units() -> None:
    assert read("money", pa.array([12.34, 0.1])) == pytest.approx([12.34, 0.1])
    (day,) = read("day", pa.array([date(2020, 3, 1)]))
    assert day == (date(2020, 3, 1) - date(1970, 1, 1)).days
    assert unit_of(column("day")) == "days since 1970-01-01"
    assert show(column("day"), day) == "2020-03-01"
    assert show_difference(column("day"), 1.5) == "+1.50 days"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.0, "0"), (1234567.8, "1,234,568"), (12.5, "12.5"), (-0.00123456, "-0.001235"), (999.96, "1,000")],
)
def test_numbers_as_people_read_them(number: float, shown: str) -> None:
    assert show(column("clamped"), number) == shown
