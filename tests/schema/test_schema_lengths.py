"""Lengths of time in derived columns: a moment and a length give a moment, two moments a number of minutes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy import check_schema
from understudy.release import load
from understudy.schema import SchemaFileError, parse_schema

BERLIN = ZoneInfo("Europe/Berlin")
PARENTS = """
[columns.arrival]
kind = "datetime"
format = "%d.%m.%Y %H:%M"
step = "15 minutes"
min = 2023-01-01T00:00:00
max = 2023-12-31T23:45:00
width = "1 month"
nullable = true
[columns.discharge]
kind = "datetime"
min = 2023-01-01T00:00:00
max = 2024-12-31T23:59:59
width = "1 month"
other = 2023-01-01T00:00:00
[columns.seen]
kind = "datetime"
timezone = "Europe/Berlin"
type = "timestamp[s]"
min = 2023-01-01T00:00:00
max = 2023-12-31T00:00:00
width = "1 month"
other = 2023-01-01T00:00:00
[columns.exact]
kind = "datetime"
type = "timestamp[ns]"
min = 2023-01-01T00:00:00
max = 2023-12-31T00:00:00
width = "1 month"
other = 2023-01-01T00:00:00
[columns.born]
kind = "date"
format = "%d.%m.%Y"
min = 1900-01-01
max = 2023-12-31
width = "1 year"
nullable = true
[columns.admitted]
kind = "date"
min = 2022-01-01
max = 2023-12-31
width = "1 month"
other = 2022-01-01
[columns.at]
kind = "time"
nullable = true
[columns.until]
kind = "time"
nullable = true
[columns.stay]
kind = "integer"
min = 0
max = 100000
bins = 20
nullable = true
[columns.days]
kind = "real"
min = 0
max = 400
decimals = 1
other = 0
"""
TABLE: dict[str, pa.Array] = {
    "arrival": pa.array(["31.12.2023 23:45", "01.02.2023 10:00", None]),
    "discharge": pa.array([datetime(2024, 1, 2, 1, 15, 30), datetime(2023, 2, 1, 10, 0), datetime(2023, 5, 1)]),
    "seen": pa.array([datetime(2023, 3, 25, 12, tzinfo=BERLIN)] * 3, pa.timestamp("s", "Europe/Berlin")),
    "exact": pa.array([datetime(2023, 6, 1)] * 3),
    "born": pa.array(["28.02.2023", "31.12.1999", None]),
    "admitted": pa.array([date(2022, 2, 7), date(2023, 12, 31), date(2022, 1, 1)]),
    "at": pa.array(["23:30", "10:00", None]),
    "until": pa.array(["23:45", "09:00", "10:00"]),
    "stay": pa.array([75, 1440, 5]),
    "days": pa.array([1.5, 0.1, 2.0]),
}


def derived(expression: str, more: str = "") -> Any:
    [made] = parse_schema(f"{PARENTS}\n[columns.made]\nkind = 'derived'\nexpression = '{expression}'\n{more}").derived
    return made


@pytest.mark.parametrize(
    ("expression", "kind", "expected"),
    [
        ("arrival + minutes(stay)", "string", ["01.01.2024 01:00", "02.02.2023 10:00", None]),
        ("minutes(stay) + arrival", "string", ["01.01.2024 01:00", "02.02.2023 10:00", None]),
        ("arrival - hours(stay)", "string", ["28.12.2023 20:45", "03.12.2022 10:00", None]),
        ("arrival + days(days)", "string", ["02.01.2024 11:45", "01.02.2023 12:24", None]),
        ("arrival + (discharge - discharge)", "string", ["31.12.2023 23:45", "01.02.2023 10:00", None]),
        ("arrival + seconds(stay)", "string", ["31.12.2023 23:46", "01.02.2023 10:24", None]),
        (
            "discharge + seconds(1)",
            "timestamp[us]",
            [datetime(2024, 1, 2, 1, 15, 31), datetime(2023, 2, 1, 10, 0, 1), datetime(2023, 5, 1, 0, 0, 1)],
        ),
        ("seen + days(1)", "timestamp[s, tz=Europe/Berlin]", [datetime(2023, 3, 26, 13, tzinfo=BERLIN)] * 3),
        ("born + days(1)", "string", ["01.03.2023", "01.01.2000", None]),
        ("admitted + days(round(days))", "date32[day]", [date(2022, 2, 9), date(2023, 12, 31), date(2022, 1, 3)]),
        ("max(born, admitted)", "string", ["28.02.2023", "31.12.2023", None]),
        ("minutes(discharge - arrival)", "double", [1530.5, 0.0, None]),
        ("round(minutes(discharge - arrival))", "int64", [1531, 0, None]),
        ("minutes(arrival - arrival)", "int64", [0, 0, None]),
        ("seconds(discharge - arrival)", "int64", [91830, 0, None]),
        ("hours(discharge - arrival)", "double", [25.508333333333333, 0.0, None]),
        ("hours(admitted - born)", "int64", [-386 * 24, 24 * 8766, None]),
        ("days(admitted - born)", "int64", [-386, 8766, None]),
        ("minutes(until - at)", "int64", [15, -60, None]),
        ("minutes((discharge - arrival) / 2)", "double", [765.25, 0.0, None]),
        ("minutes(discharge - arrival) > 60", "bool", [True, False, None]),
        ("discharge - arrival > hours(24)", "bool", [True, False, None]),
        ("discharge - arrival", "int64", [91830, 0, None]),  # bare, a length counts in seconds, or in days
        ("admitted - born", "int64", [-386, 8766, None]),
    ],
)
def test_lengths(expression: str, kind: str, expected: list[object]) -> None:
    made = derived(expression)
    found = made.work_out(TABLE)
    assert str(made.type) == str(found.type) == kind
    assert found.to_pylist() == expected
    assert made.decodes_null or None not in expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("arrival + stay", "add a length of time to a moment, such as arrival + minutes(stay)"),
        ("arrival + discharge", "add a length of time"),
        ("stay - arrival", "add a length of time"),
        ("-arrival", "add a length of time"),
        ("minutes(arrival)", "minutes() is of a difference of moments"),
        ("minutes(stay)", "minutes() is of a difference of moments"),
        ("at + minutes(stay)", "a time of day with a length added may be past midnight"),
        ("born + hours(30)", "a date counts in whole days; use days() instead of hours()"),
        ("born + days(days)", "a date counts in whole days; use days(round(...))"),
        ("seen - discharge", "with a time zone and one without"),
        ("arrival - born", "do not count in the same unit"),
        ("minutes(stay, 2)", "minutes() is of 1 number"),
    ],
)
def test_what_has_no_meaning_is_refused(expression: str, words: str) -> None:
    with pytest.raises(SchemaFileError) as caught:
        derived(expression)
    assert words in str(caught.value)


@pytest.mark.parametrize("more", ["type = 'int64'", "decimals = 2"])
def test_a_moment_is_written_as_its_parent_and_not_otherwise(more: str) -> None:
    with pytest.raises(SchemaFileError, match=r"written as .arrival. is; drop type and decimals"):
        derived("arrival + minutes(stay)", more)


@pytest.mark.parametrize(
    ("expression", "many"),
    [("discharge + days(stay)", 100_000_000), ("exact + days(stay)", 100_000), ("discharge - days(stay)", 100_000_000)],
)
def test_what_is_beyond_the_calendar_is_missing_and_the_column_says_so(expression: str, many: int) -> None:
    text = PARENTS.replace("max = 100000", f"max = {many}")
    [made] = parse_schema(f"{text}\n[columns.made]\nkind = 'derived'\nexpression = '{expression}'").derived
    made_ones = made.work_out({**TABLE, "stay": pa.array([0, many, 1])})
    assert [one is None for one in made_ones.to_pylist()] == [False, True, False]
    assert made.decodes_null


def test_what_cannot_be_missing_is_not_said_to_be() -> None:
    assert not derived("discharge + days(days)").decodes_null
    assert not derived("minutes(exact - discharge)").decodes_null
    assert derived("arrival + days(days)").decodes_null  # an arrival may be missing


CANONICAL = """
[columns.arrival]
kind = "datetime"
format = "%d.%m.%Y %H:%M"
min = 2023-01-01T00:00:00
max = 2023-12-31T23:59:00
width = "1 month"
nullable = true
[columns.stay]
kind = "integer"
edges = [0, 30, 60, 120, 240, 1440, 20000]
nullable = true
[columns.discharge]
kind = "derived"
expression = "arrival + minutes(stay)"
[columns.hours]
kind = "derived"
expression = "stay / 60"
decimals = 1
"""


def test_a_release_of_arrival_and_stay_has_discharges_without_a_violation(tmp_path: Any) -> None:
    rng = np.random.default_rng(4)
    starts = [datetime(2023, 1, 1) + timedelta(minutes=int(m)) for m in rng.integers(0, 500_000, 2_000)]
    stays = [int(s) for s in rng.integers(1, 3_000, 2_000)]
    form = "%d.%m.%Y %H:%M"
    table = {
        "arrival": [one.strftime(form) for one in starts],
        "stay": [None if i % 50 == 0 else stay for i, stay in enumerate(stays)],
        "discharge": [(one + timedelta(minutes=s)).strftime(form) for one, s in zip(starts, stays, strict=True)],
    }
    schema = parse_schema(CANONICAL)
    [misfit] = check_schema(pa.table(table), schema)
    assert (misfit.column, misfit.rows) == ("discharge", 40)  # the stays that are missing
    release = understudy.synthesize(table, schema, epsilon=1, workload="all-2way", rows=1_500, out=f"{tmp_path}/r")
    assert "discharge" not in release.domain
    for made in (release.arrow, load(f"{tmp_path}/r").arrow):
        assert check_schema(made, schema) == []
        columns = [made[name].to_pylist() for name in ("arrival", "stay", "discharge")]
        for arrival, stay, discharge in zip(*columns, strict=True):
            if arrival is None or stay is None:
                assert discharge is None
            else:
                assert discharge == (datetime.strptime(arrival, form) + timedelta(minutes=stay)).strftime(form)
    assert made["discharge"].type == made["arrival"].type


def test_a_table_of_its_own_is_checked_to_the_second() -> None:
    schema = parse_schema(f"{PARENTS}\n[columns.made]\nkind = 'derived'\nexpression = 'seen + minutes(stay)'")
    own = [datetime(2023, 3, 25, 12, tzinfo=BERLIN).astimezone(UTC) + timedelta(minutes=m) for m in (75, 1440, 5)]
    own[1] += timedelta(seconds=1)
    table = pa.table({**TABLE, "made": pa.array(own, pa.timestamp("us", "UTC"))})
    assert [(one.column, one.rows) for one in check_schema(table, schema)] == [("made", 1)]
