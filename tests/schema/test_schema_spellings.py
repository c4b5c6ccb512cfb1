"""Missing codes, steps, widths and times come back as the table spells them."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from understudy.release.tables import read_table, write_csv, write_table
from understudy.schema import Column, Schema, SchemaFileError, parse_schema


def schema_of(body: str) -> Schema:
    return parse_schema(f"[columns.c]\n{body}\n")


def column_of(body: str) -> Column:
    return schema_of(body)["c"]


def round_trip(column: Column, values: list[Any]) -> list[Any]:
    """Encode and decode values that each have a code of their own."""
    found: list[Any] = column.decode(column.encode(pa.array(values)), np.random.default_rng(0)).to_pylist()
    return found


@pytest.mark.parametrize(
    ("body", "values", "back"),
    [
        ('kind = "categorical"\nvalues = ["a"]\nnulls = ["N", "NA"]', ["a", "NA", " N ", None, ""], ["a", *"NNNN"]),
        ('kind = "categorical"\ntype = "category"\nvalues = ["a"]\nnulls = ["N"]', ["a", None], ["a", "N"]),
        ('kind = "categorical"\nvalues = [1]\nnulls = [-9]', [1, -9, None], [1, -9, -9]),
        ('kind = "categorical"\nvalues = [1]\nnulls = ["N", -9]', [1, -9, None], [1, None, None]),
        ('kind = "integer"\nmin = 0\nmax = 9\nnulls = [99, "N"]', ["3", "99", "99.0", "N", None], [3, 99, 99, 99, 99]),
        ('kind = "integer"\nmin = 0\nmax = 9\nnulls = ["N", 99]', ["3", "99", "N", None], [3, None, None, None]),
        ('kind = "integer"\nmin = 0\nmax = 9\nnulls = ["", 99]', ["3", "99", ""], [3, None, None]),
        ('kind = "real"\nmin = 3\nmax = 3\ndecimals = 1\nnulls = [-9.5]', [3.0, -9.5], [3.0, -9.5]),
        (
            'kind = "date"\nmin = 2020-01-01\nmax = 2020-01-02\nnulls = ["9999-12-31"]',
            [dt.date(2020, 1, 2), dt.date(9999, 12, 31)],
            [dt.date(2020, 1, 2), dt.date(9999, 12, 31)],
        ),
        ('kind = "date"\nmin = 2020-01-01\nmax = 2020-01-02\nformat = "%d.%m.%Y"\nnulls = ["-"]', ["-", None], ["-", "-"]),
        ('kind = "boolean"\nnulls = ["N/A"]', ["yes", "N/A", None], [True, None, None]),
        ('kind = "time"\nformat = "%H%M"\ntype = "int16"\nnulls = [9999]\nwidth = "1 minute"', [517, 9999], [517, 9999]),
        ('kind = "time"\nformat = "%H%M"\ntype = "float64"\nwidth = "1 minute"', [517.0, None, 5.0], [517.0, None, 5.0]),
        ('kind = "time"\nformat = "%H%M"\ntype = "int16"\nmax = "24:00"\nwidth = "1 minute"', [2400, 0], [2400, 0]),
        ('kind = "time"\nmax = "24:00"\nwidth = "1 minute"', ["24:00", "0:00", "24:01"], ["24:00", "00:00", None]),
    ],
)
def test_a_missing_value_comes_back_in_its_first_spelling(body: str, values: list[Any], back: list[Any]) -> None:
    assert round_trip(column_of(f"{body}\nnullable = true"), values) == back


@pytest.mark.promise(27)
@pytest.mark.parametrize(
    ("body", "values"),
    [
        ('kind = "integer"\nmin = 0\nmax = 900\nstep = 100\nnulls = [-9, "N"]', ["0", "300", "-9.0", "N", "7"]),
        ('kind = "integer"\nmin = 0\nmax = 900\nstep = 100\nnulls = [-9, "N"]', [0, 300, -9, 899, 7]),
        ('kind = "categorical"\nvalues = [1, 2]\nother = 3\nnulls = [-9]', [1, 2, -9, 3, 4]),
        (
            'kind = "categorical"\nvalues = ["a", "b"]\nprefix = 1\nother = "o"\nnulls = ["b-"]',
            ["a", "bcd", "b-", "x", "ax"],
        ),
        ('kind = "time"\nformat = "%H%M"\ntype = "int16"\nnulls = [9999]', [517, 5, 9999, 1275, 2400]),
        ('kind = "time"', ["05:17", "24:00", "0517", "23:59", "x"]),
        (
            'kind = "date"\nmin = 2020-01-01\nmax = 2020-12-31\nnulls = ["9999-12-31"]',
            ["2020-05-05", "9999-12-31", "9999-12-30"],
        ),
    ],
)
def test_a_missing_code_changes_how_no_other_value_is_read(body: str, values: list[Any]) -> None:
    column = column_of(f"{body}\nnullable = true")
    alone = [int(column.encode(pa.array([value]))[0]) for value in values]
    assert column.encode(pa.array(values)).tolist() == alone
    assert column.encode(pa.array(values[::-1])).tolist() == alone[::-1]
    assert len(set(alone)) > 2


def test_a_missing_code_is_no_neighbour_of_a_value() -> None:
    column = column_of('kind = "integer"\nmin = 0\nmax = 900\nstep = 100\nnulls = [-9]\nnullable = true')
    assert column.encode(pa.array([0, -8, -9, 9])).tolist() == [0, 0, column.size - 1, 0]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('kind = "categorical"\nvalues = ["a", "N"]\nnulls = ["N"]', "also a value"),
        ('kind = "categorical"\nvalues = [1, 2]\nnulls = [2]', "also a value"),
        ('kind = "integer"\nmin = 0\nmax = 99\nnulls = [99]', "also a value"),
        ('kind = "integer"\nmin = 0\nmax = 9\nother = 99\nnulls = [99]', "also a value"),
        ('kind = "integer"\nmin = 0\nmax = 9\ntype = "uint8"\nnulls = [-9]', "cannot hold -9"),
        ('kind = "categorical"\nvalues = [1]\ntype = "uint8"\nnulls = [-9]', "cannot hold -9"),
        ('kind = "date"\nmin = 2020-01-01\nmax = 2020-01-09\nnulls = ["2020-01-03"]', "also a value"),
        ('kind = "categorical"\nvalues = ["abc"]\nprefix = 2', "at most that many characters"),
        ('kind = "categorical"\nvalues = [1]\nprefix = 2', "texts of at most"),
        ('kind = "integer"\nmin = 0\nmax = 9\nwidth = 2\nbins = 3', "bins or width"),
        ('kind = "integer"\nmin = 0\nmax = 900000\nwidth = 1', "more than 100,000"),
        ('kind = "integer"\nmin = 0\nmax = 150\nstep = 100', "finer than the column's decimals or step"),
        ('kind = "real"\nmin = 0\nmax = 1\ndecimals = 1\nstep = 0.25', "step = 0.25 is finer"),
        ('kind = "time"\nformat = "%d %H:%M"', "no time of day"),
        ('kind = "time"\nformat = "%M"', "needs %H"),
        ('kind = "time"\ntype = "int16"', "goes with format"),
        ('kind = "time"\nformat = "%H%M"\ntype = "int8"', "end of the day"),
        ('kind = "time"\ntype = "float64"', "goes with format"),
        ('kind = "integer"\nmin = 0\nmax = 9\nafter = "5"', "pattern"),
        ('kind = "real"\nmin = 0\nmax = 9\nbefore = "a,b"', "pattern"),
        ('kind = "time"\nformat = "%H:%M:%S"\ntype = "time32[s]"\nmax = "24:00"', "has no 24:00"),
        ('kind = "time"\nmin = 08:00:00\nmax = 07:00:00', "not below"),
        ('kind = "time"\nstep = "7 minutes"', "does not divide a day"),
        ('kind = "time"\nstep = "1 week"', "cannot be used"),
        ('kind = "real"\nedges = [0, 1, 1, 1]', "must rise"),
    ],
)
def test_what_makes_no_sense_is_refused(body: str, words: str) -> None:
    with pytest.raises(SchemaFileError, match=words):
        column_of(f"{body}\nnullable = true")


def test_the_nulls_of_the_table_stay_nulls() -> None:
    schema = parse_schema('[table]\nnulls = ["?"]\n[columns.c]\nkind = "categorical"\nvalues = ["a"]\nnullable = true\n')
    assert round_trip(schema["c"], ["a", "?"]) == ["a", None]


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        ('kind = "integer"\nmin = 0\nmax = 10\nwidth = 5', ("0 to 4", "5 to 10")),
        ('kind = "integer"\nmin = 0\nmax = 12\nwidth = 5', ("0 to 4", "5 to 9", "10 to 12")),
        ('kind = "integer"\nmin = 0\nmax = 1000\nstep = 100\nwidth = 500', ("0 to 400", "500 to 1000")),
        ('kind = "real"\nmin = 0\nmax = 0.3\nwidth = 0.1', ("[0, 0.1)", "[0.1, 0.2)", "[0.2, 0.3]")),
        ('kind = "integer"\nedges = [0, 1, 99999, 99999]', ("0", "1 to 99998", "99999")),
        ('kind = "real"\nedges = [0, 1.5, 1.5]', ("[0, 1.5)", "1.5")),
        ('kind = "time"\nedges = [00:00:00, 12:00:00, 23:59:00]', ("00:00 to 11:59", "12:00 to 23:59")),
    ],
)
def test_bins_are_where_a_person_would_put_them(body: str, labels: tuple[str, ...]) -> None:
    column = column_of(f"{body}\nnullable = true")
    assert column.ordinary_labels() == labels
    codes = np.repeat(np.arange(column.size), 50)
    assert (column.encode(column.decode(codes, np.random.default_rng(0))) == codes).all()


def test_values_keep_their_step() -> None:
    for body in ('kind = "integer"\nstep = 100', 'kind = "real"\nstep = 100', 'kind = "real"\ndecimals = 1\nstep = 100'):
        column = column_of(f"{body}\nmin = 0\nmax = 10000\nbins = 4\nnullable = true")
        drawn = column.decode(np.full(500, 2), np.random.default_rng(0)).to_numpy()
        assert set(drawn % 100) == {0}
        assert len(set(drawn)) > 10
    column = column_of('kind = "time"\nstep = "15 minutes"\nnullable = true')
    assert set(column.decode(np.full(99, 7), np.random.default_rng(0)).to_pylist()) == {"07:00", "07:15", "07:30", "07:45"}
    body = 'kind = "datetime"\nmin = 2020-01-01T00:00:00\nmax = 2020-01-31T23:00:00\nwidth = "1 day"\nstep = "1 hour"'
    column = column_of(f'{body}\nformat = "%Y-%m-%dT%H:%M:%SZ"\nnullable = true')
    drawn = column.decode(np.full(99, 3), np.random.default_rng(0)).to_pylist()
    assert all(text.startswith("2020-01-04T") and text.endswith(":00:00Z") for text in drawn)


def test_labels_are_shown_and_never_written() -> None:
    column = column_of('kind = "categorical"\nvalues = [1, 2]\nlabels = { "1" = "Male" }\nother = 2')
    assert column.labels == ("1 (Male)", "2")
    assert round_trip(column, [1, 2, 3]) == [1, 2, 2]
    with pytest.raises(SchemaFileError, match='labels names "3", which is not among the values'):
        column_of('kind = "categorical"\nvalues = [1, 2]\nlabels = { "3" = "x" }\nother = 2')


def test_a_time_of_day_can_be_part_of_a_rule() -> None:
    schema = parse_schema(
        '[columns.at]\nkind = "time"\nnullable = true\n[columns.night]\nkind = "boolean"\nnullable = true\n'
        "[[zeros]]\nwhen = 'at < 06:00'\nthen = 'night = true'\n"
    )
    assert len(schema.zeros[0].cells) == 6


SPELLED = """
[columns.n]
kind = "integer"
min = 0
max = 9
nulls = ["N"]
nullable = true

[columns.paid]
kind = "real"
min = 0
max = 20000
step = 100
decimals = 1
nulls = ["NA"]
nullable = true

[columns.word]
kind = "categorical"
values = ["a", "b, c", 'say "hi"', " d"]
nulls = ["?"]
nullable = true

[columns.plain]
kind = "categorical"
values = ["x", ""]
nullable = true

[columns.on]
kind = "date"
min = 2020-01-01
max = 2020-12-31
nulls = ["."]
nullable = true
"""


def test_a_csv_file_spells_what_the_schema_declares(tmp_path: Any) -> None:
    schema = parse_schema(SPELLED)
    table = pa.table(
        {
            "n": [3, None],
            "paid": [15400.0, None],
            "word": ["b, c", "?"],
            "plain": ["", None],
            "on": [dt.date(2020, 2, 3), None],
        },
        schema=schema.arrow_schema,
    )
    sink = io.BytesIO()
    write_csv(iter([table]), sink, schema)
    assert sink.getvalue().decode() == 'n,paid,word,plain,on\n3,15400.0,"b, c","",2020-02-03\nN,NA,?,,.\n'
    write_table(table, tmp_path / "t.csv", schema)
    assert read_table(tmp_path / "t.csv", schema).equals(table)


def test_any_code_survives_a_csv_file(tmp_path: Any) -> None:
    schema = parse_schema(SPELLED)
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, size, 200) for size in schema.domain.sizes], axis=1)
    table = schema.decode(codes, rng)
    write_table(table, tmp_path / "t.csv", schema)
    assert read_table(tmp_path / "t.csv", schema).equals(table)
    assert (schema.encode(read_table(tmp_path / "t.csv", schema)) == codes).all()


@pytest.mark.parametrize(
    ("body", "values", "lines"),
    [
        ('kind = "real"\nmin = 0\nmax = 9\ndecimals = 1\nnulls = [-9]', [3.5, -9.0], ["3.5", "-9"]),
        ('kind = "real"\nmin = 0\nmax = 9\ndecimals = 4\nnulls = [999]', [3.5, 999.0], ["3.5000", "999"]),
        ('kind = "real"\nmin = 0\nmax = 9\nnulls = [-9, "N"]', [3.5, -9.0], ["3.5", "-9"]),
        ('kind = "time"\nformat = "%H%M"\ntype = "float64"\nnulls = [9999]', [517.0, 9999.0], ["517.0", "9999"]),
    ],
)
def test_a_number_that_means_missing_is_spelled_as_declared(body: str, values: list[Any], lines: list[str]) -> None:
    schema = schema_of(f"{body}\nnullable = true")
    table = pa.table({"c": values}, schema=schema.arrow_schema)
    sink = io.BytesIO()
    write_csv(iter([table]), sink, schema)
    assert sink.getvalue().decode().splitlines()[1:] == lines


def test_moments_with_a_zone_are_spelled_by_iso_8601(tmp_path: Any) -> None:
    schema = schema_of(
        'kind = "datetime"\ntimezone = "Europe/Paris"\nmin = 2023-01-01T00:00:00\nmax = 2023-12-31T23:59:59\nnullable = true'
    )
    moments = [dt.datetime(2023, 7, 1, 10, 4, 5, tzinfo=dt.UTC), None, dt.datetime(2023, 10, 29, 1, 30, tzinfo=dt.UTC)]
    table = pa.table({"c": moments}, schema=schema.arrow_schema)
    write_table(table, tmp_path / "t.csv", schema)
    lines = ["2023-07-01T12:04:05+02:00", "", "2023-10-29T02:30:00+01:00"]
    assert (tmp_path / "t.csv").read_text().splitlines()[1:] == lines
    assert read_table(tmp_path / "t.csv", schema).equals(table)
