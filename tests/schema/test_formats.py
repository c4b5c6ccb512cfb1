"""Formats of days and times: each spells what it reads, and what cannot be read back is refused."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import UserError
from understudy.schema import Schema, parse_schema
from understudy.schema.formats import NAMES, clock_pattern, end_of_day, format_grain, format_pattern, written

DAYS = [dt.datetime(1999, 12, 31), dt.datetime(2000, 2, 29), dt.datetime(2020, 5, 8), dt.datetime(2021, 11, 18)]
TIMES = ["00:00:00", "00:05:09", "07:54:00", "11:59:59", "12:00:00", "12:01:07", "19:30:00", "23:59:59"]


def schema_of(body: str) -> Schema:
    return parse_schema(f"[columns.x]\n{body}\nnullable = true\n")


def back(body: str, texts: list[str]) -> list[str | None]:
    """Return what texts come back as, in bins of one value each."""
    column = schema_of(body)["x"]
    found = column.decode(column.encode(pa.array(texts)), np.random.default_rng(0))
    return [None if text == "" else text for text in found.to_pylist()]


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("%d-%b-%y", ["31-Dec-99", "29-Feb-00", "08-May-20", "18-Nov-21"]),
        ("%d-%^b-%y", ["31-DEC-99", "29-FEB-00", "08-MAY-20", "18-NOV-21"]),
        ("%b %d, %Y", ["Dec 31, 1999", "Feb 29, 2000", "May 08, 2020", "Nov 18, 2021"]),
        ("%B %-d, %Y", ["December 31, 1999", "February 29, 2000", "May 8, 2020", "November 18, 2021"]),
        ("%-m/%-d/%y", ["12/31/99", "2/29/00", "5/8/20", "11/18/21"]),
        ("%d%^b%Y", ["31DEC1999", "29FEB2000", "08MAY2020", "18NOV2021"]),
        ("%y%m%d", ["991231", "000229", "200508", "211118"]),
        ("100%% %d.%m.%Y", ["100% 31.12.1999", "100% 29.02.2000", "100% 08.05.2020", "100% 18.11.2021"]),
    ],
)
def test_days_come_back_as_they_are_spelled(form: str, texts: list[str]) -> None:
    body = f'kind = "date"\nmin = 1950-01-01\nmax = 2049-12-31\nwidth = "1 day"\nformat = "{form}"'
    assert back(body, texts) == texts
    assert written(pa.array(DAYS, pa.timestamp("s")), form).to_pylist() == texts
    assert back(body, [f" {text.lower()} " for text in texts]) == texts
    column = schema_of(body)["x"]
    days = column.encode(pa.array([day.date() for day in DAYS]))
    assert column.encode(pa.array(texts)).tolist() == days.tolist()


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("%I:%M:%S %p", [f"{t:%I:%M:%S %p}" for t in map(dt.time.fromisoformat, TIMES)]),
        ("%-I:%M:%S%P", [f"{t:%I:%M:%S}{t:%p}".lower().removeprefix("0") for t in map(dt.time.fromisoformat, TIMES)]),
        ("%-H:%M:%S", [t.removeprefix("0") for t in TIMES]),
    ],
)
def test_times_come_back_as_they_are_spelled(form: str, texts: list[str]) -> None:
    body = f'kind = "time"\nwidth = "1 second"\nformat = "{form}"'
    assert back(body, texts) == texts
    column = schema_of(body)["x"]
    assert column.encode(pa.array(texts)).tolist() == column.encode(pa.array(TIMES)).tolist()


def test_every_month_has_its_name() -> None:
    months = pa.array([dt.datetime(2020, month, 1) for month in range(1, 13)], pa.timestamp("s"))
    assert tuple(written(months, "%B").to_pylist()) == NAMES
    assert written(months, "%b").to_pylist() == [name[:3] for name in NAMES]


@pytest.mark.parametrize("first", [1900, 1938, 1969, 2000])
def test_years_of_two_digits_are_of_the_hundred_from_the_first_bound_on(first: int) -> None:
    declared = schema_of(
        f'kind = "date"\nmin = {first}-06-01\nmax = {first + 99}-12-31\nwidth = "1 year"\nformat = "%d.%m.%y"'
    )
    column = declared["x"]
    for year in range(first + 1, first + 100):
        code = column.encode(pa.array([f"01.07.{year % 100:02}"]))[0]
        assert str(year) in column.labels[code]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('kind = "date"\nmin = 1900-01-01\nmax = 2000-01-01\nformat = "%d.%m.%y"', "hundred from 1900 to 1999"),
        (
            'kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nother = 1949-12-31\nformat = "%d.%m.%y"',
            "1949 cannot be told from another",
        ),
        ('kind = "date"\nedges = [1900-01-01, 2001-01-01]\nformat = "%d.%m.%y"', "2001 cannot be told from another"),
        ('kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nformat = "%d.%m.%y %Y"', "appears twice"),
        ('kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nformat = "%d.%m.%b.%Y"', "appears twice"),
        ('kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nformat = "%-d%m%Y"', "cannot stand beside other digits"),
        ('kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nformat = "%-d0%m %Y"', "cannot stand beside other digits"),
        ('kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nformat = "%Y/1%-m/%d"', "cannot stand beside other digits"),
        ('kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nformat = "%^d.%m.%Y"', '"%^d" is not understood'),
        ('kind = "date"\nmin = 1950-01-01\nmax = 2000-01-01\nformat = "%-b.%d.%Y"', '"%-b" is not understood'),
        ('kind = "time"\nformat = "%I:%M"', "go with AM and PM"),
        ('kind = "time"\nformat = "%H:%M %p"', "go with AM and PM"),
        ('kind = "time"\nformat = "%b %H:%M"', '"%b" is part of a date'),
        ('kind = "time"\nformat = "%I:%M %p"\nmax = "24:00"', "has no 24:00"),
        ('kind = "time"\nformat = "%I:%M %p"\ntype = "int16"', "goes with format"),
    ],
)
def test_what_could_not_be_read_back_is_refused(body: str, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)):
        schema_of(body)


def test_what_is_between_percent_signs_is_no_part() -> None:
    assert format_grain("%%H %d") == 86_400
    assert format_grain("%-I %p") == 3600
    assert format_grain("%Y-%m-%d %-H:%M") == 60
    assert end_of_day("%-H:%M") == "24:00"
    assert end_of_day("%I:%M %p") is None
    assert format_pattern("%Y%%m%m%d").count("(?P<") == 3
    assert clock_pattern("%H%%M").count("(?P<") == 1


def test_a_derived_day_has_two_digits_where_they_tell_it_and_is_missing_elsewhere() -> None:
    text = """
[columns.came]
kind = "date"
min = 1950-01-01
max = 2049-12-31
width = "1 day"
format = "%d-%b-%y"
nullable = true
[columns.days]
kind = "integer"
min = 0
max = 40
width = 1
other = 0
[columns.left]
kind = "derived"
expression = "came + days(days)"
"""
    schema = parse_schema(text)
    table = pa.table({"came": ["08-Nov-20", "31-Dec-49", "31-Dec-49"], "days": [30, 0, 1]})
    made = schema.decode(schema.encode(table), np.random.default_rng(0))
    assert made.column("came").to_pylist() == table.column("came").to_pylist()
    assert made.column("left").to_pylist() == ["08-Dec-20", "31-Dec-49", None]


def test_a_derived_day_of_two_digits_ends_with_the_last_year_that_there_is() -> None:
    text = """
[columns.came]
kind = "date"
min = 9999-12-30
max = 9999-12-31
width = "1 day"
format = "%d.%m.%y"
nullable = true
[columns.left]
kind = "derived"
expression = "came + days(1)"
"""
    schema = parse_schema(text)
    made = schema.decode(schema.encode(pa.table({"came": ["30.12.99", "31.12.99"]})), np.random.default_rng(0))
    assert made.column("left").to_pylist() == ["31.12.99", None]
