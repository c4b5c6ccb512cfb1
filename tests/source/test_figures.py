"""Numbers of CSV files with decimal commas and marks between thousands: declared, and read each by itself on every path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy
from understudy import check_schema, draft_schema, learn_schema
from understudy.errors import SourceError
from understudy.schema import SchemaFileError, parse_schema
from understudy.schema.dialect import Dialect
from understudy.schema.reading import numbers_in
from understudy.source import Csv, open_source
from understudy.source.figures import plain_numbers

GERMAN = Dialect(decimal=",", thousands=".")
WAYS = {
    "commas": Dialect(decimal=","),
    "commas and points": GERMAN,
    "points and commas": Dialect(thousands=","),
    "commas and blanks": Dialect(decimal=",", thousands=" "),
    "apostrophes": Dialect(thousands="'"),
}
COLUMNS = """
[columns.cost]
kind = "real"
min = 0
max = 20000
decimals = 2
nulls = [-9, "N"]
nullable = true
invalid = "null"

[columns.stays]
kind = "integer"
min = 0
max = 5000
nullable = true
invalid = "null"

[columns.dose]
kind = "categorical"
values = ["0,5", "1.0", "2"]
other = "2"

[columns.level]
kind = "categorical"
values = [1, 2]
nullable = true

[columns.at]
kind = "time"
format = "%H%M"
type = "float64"
nullable = true
"""
DECLARED = f"[table.csv]\nseparator = ';'\ndecimal = ','\nthousands = '.'\n{COLUMNS}"
ROWS = ["1.234,5;1.000;0,5;1,0;517,0", "-9,00;2;1.0;2;1.200", "12,25;3,0;2;1;2359", "N;4.000;2;2;0"]
POINTED = ['1234.5,1000,"0,5",1,517.0', "-9,2,1.0,2,1200", "12.25,3,2,1,2359", "N,4000,2,2,0"]


def read(text: str | None, dialect: Dialect) -> float | None:
    [plain] = plain_numbers(pa.array([text], pa.large_string()), dialect).to_pylist()
    values = numbers_in(pa.array([plain or "x"], pa.large_string()))
    return None if values.unreadable[0] or values.missing[0] else float(values.numbers[0])


@pytest.mark.parametrize(
    ("way", "text", "number"),
    [
        ("commas", "12,5", 12.5),
        ("commas", " -,5 ", -0.5),
        ("commas", "1,5e3", 1500.0),
        ("commas", "12", 12.0),
        ("commas", "12.5", None),  # a decimal point is none here, and must not be taken for one
        ("commas", "1.234", None),
        ("commas", "1.234,5", None),
        ("commas and points", "1.234,56", 1234.56),
        ("commas and points", "-12.345.678", -12345678.0),
        ("commas and points", "1.234", 1234.0),
        ("commas and points", "1234,5", 1234.5),
        ("commas and points", "12.5", None),
        ("commas and points", "1.2345", None),
        ("commas and points", "1234.567", None),
        ("commas and points", "0.123", None),
        ("commas and points", "1,234,567", None),
        ("points and commas", "1,234.5", 1234.5),
        ("points and commas", "1,23", None),
        ("points and commas", "12.5", 12.5),
        ("commas and blanks", "1 234,5", 1234.5),
        ("commas and blanks", "1\u00a0234\u202f567,5", 1234567.5),
        ("apostrophes", "1'234.50", 1234.5),
        ("apostrophes", "1\u2019234", 1234.0),
        ("commas", "inf", float("inf")),
        ("commas", "31.12.2023", None),
        ("commas", "", None),
        ("commas", None, None),
    ],
)
def test_what_a_number_is(way: str, text: str | None, number: float | None) -> None:
    assert read(text, WAYS[way]) == number


@pytest.mark.promise(27)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.none() | st.text("0123456789.,' -+eE\u00a0xN", max_size=9), min_size=1, max_size=9))
def test_each_text_is_read_as_it_is_alone(way: Dialect, texts: list[str | None]) -> None:
    together = plain_numbers(pa.array(texts, pa.large_string()), way).to_pylist()
    assert together == [plain_numbers(pa.array([one], pa.large_string()), way)[0].as_py() for one in texts]


def written(folder: Path, rows: list[str], name: str = "a.csv", separator: str = ";") -> Path:
    head = separator.join(("cost", "stays", "dose", "level", "at"))
    (folder / name).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return folder / name


def counts(data: Any, schema: Any) -> list[list[int]]:
    return [count.tolist() for count in open_source(data, schema).count([(name,) for name in schema.domain])]


def test_a_file_with_commas_is_read_as_one_with_points(tmp_path: Path) -> None:
    with_commas, with_points = written(tmp_path, ROWS), written(tmp_path, POINTED, "b.csv", ",")
    german, plain = parse_schema(DECLARED), parse_schema(COLUMNS)
    assert counts(with_commas, german) == counts(with_points, plain)
    given_marks = Csv(with_commas, separator=";", decimal=",", thousands=".")
    assert counts(given_marks, plain) == counts(with_points, plain)
    assert check_schema(with_commas, german) == []
    assert {misfit.column for misfit in check_schema(Csv(with_commas, separator=";"), plain)} == {
        "cost",
        "stays",
        "level",
        "at",
    }


def test_other_tables_are_read_as_ever(tmp_path: Path) -> None:
    german, plain = parse_schema(DECLARED), parse_schema(COLUMNS)
    table = {"cost": ["12.25", "12,25"], "stays": [1000, 2], "dose": ["0,5", "2"], "level": [1, 2], "at": ["0517", "517.0"]}
    assert counts(table, german) == counts(table, plain)


@pytest.mark.promise(27)
@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("line", ["1,5;x;;;", "1.5;1.5;1.5;1.5;1.5", "1.234.567,8;-;?;1,;,", "1,2,3;;;;", "e,;.;,;+;-"])
def test_one_record_moves_one_count(tmp_path: Path, place: int, line: str) -> None:
    schema = parse_schema(DECLARED)
    before = counts(written(tmp_path, ROWS), schema)
    after = counts(written(tmp_path, [*ROWS[:place], line, *ROWS[place:]]), schema)
    moved = [np.subtract(two, one) for one, two in zip(before, after, strict=True)]
    assert all(one.min() == 0 and one.sum() == 1 for one in moved)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("decimal = ';'", 'decimal must be "." or ","'),
        ("thousands = 'x'", "thousands must be a point"),
        ("thousands = '.'", "must differ"),
        ("decimal = ','\nthousands = ','", "must differ"),
    ],
)
def test_marks_that_make_no_sense(declared: str, words: str) -> None:
    with pytest.raises(SchemaFileError, match=words):
        parse_schema(f"[table.csv]\n{declared}\n{COLUMNS}")


def test_marks_of_the_schema_and_of_the_call_must_differ_too(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="must differ"):
        counts(Csv(written(tmp_path, ROWS), thousands=","), parse_schema(DECLARED))


def test_a_null_is_written_with_a_point() -> None:
    with pytest.raises(SchemaFileError, match='"-9,5" has a decimal comma: write it as a number with a point'):
        parse_schema(DECLARED.replace('"N"', '"-9,5"'))
    parse_schema(COLUMNS.replace('"N"', '"-9,5"'))  # in other tables it may be a word


def german(number: float, decimals: int = 2) -> str:
    return f"{number:,.{decimals}f}".translate(str.maketrans(",.", ".,"))


def file_of(folder: Path, columns: dict[str, list[str]], separator: str = ";") -> Path:
    lines = [
        separator.join(f'"{field}"' if separator in field else field for field in row)
        for row in zip(*columns.values(), strict=True)
    ]
    (folder / "d.csv").write_text("\n".join([separator.join(columns), *lines]) + "\n", encoding="utf-8")
    return folder / "d.csv"


RNG = np.random.default_rng(9)
COSTS = [german(cost) for cost in RNG.lognormal(7, 1.5, 600)]
WARM = [german(warm, 1) for warm in RNG.uniform(35, 41, 600)]
GROUPS = [f"{n:,}" for n in RNG.integers(200, 90_000, 600)]
VERSIONS = [f"{a}.{b}" for a, b in RNG.integers(1, 4, (600, 2))]


@pytest.mark.parametrize(
    ("columns", "separator", "declared"),
    [
        ({"cost": COSTS, "warm": WARM, "version": VERSIONS}, ";", {"decimal": ",", "thousands": "."}),
        ({"warm": WARM}, ",", {"decimal": ","}),
        ({"cost": [one.replace(".", " ") for one in COSTS]}, "|", {"decimal": ",", "thousands": " "}),
        ({"cost": [one.translate(str.maketrans(",.", ".,")) for one in COSTS]}, ",", {"thousands": ","}),
        ({"cost": [one.translate(str.maketrans(",.", ".'")) for one in COSTS]}, ";", {"thousands": "'"}),
        ({"cost": [one.replace(".", "").replace(",", ".") for one in COSTS]}, ";", {}),
        ({"level": [f"{n % 4},{n % 7}" for n in range(600)], "n": [str(n % 50) for n in range(600)]}, ";", {}),
    ],
)
def test_a_draft_declares_the_marks_without_a_question(
    tmp_path: Path, columns: dict[str, list[str]], separator: str, declared: dict[str, str]
) -> None:
    path = file_of(tmp_path, {"ward": ["A", "B"] * 300} | columns, separator)
    text = draft_schema(path)
    schema = parse_schema(text)
    found = {} if schema.csv is None else schema.csv.model_dump(exclude_defaults=True)
    assert {key: value for key, value in found.items() if key != "separator"} == declared
    assert "may be 1234 or 1.234" not in text
    assert check_schema(path, schema) == []
    assert {schema[name].kind for name in {"cost", "warm"} & set(columns)} <= {"real"}
    if "level" in columns:
        assert schema["level"].kind == "categorical"


@pytest.mark.parametrize(
    ("numbers", "separator", "declared", "advice"),
    [
        (GROUPS, ";", {"thousands": ","}, '--decimal ","'),
        (GROUPS, ",", {"thousands": ","}, '--decimal ","'),
        (
            [f"{n / 1000:.3f}".replace(".", ",") for n in range(1000, 1600)] + ["7000"],
            ";",
            {"decimal": ","},
            '--thousands ","',
        ),
        ([one.replace(",", ".") for one in GROUPS], ";", {"decimal": ",", "thousands": "."}, '--decimal "."'),
        ([one.replace(",", ".") for one in GROUPS], ",", {}, None),
    ],
)
def test_a_draft_asks_where_a_mark_may_be_either(
    tmp_path: Path, numbers: list[str], separator: str, declared: dict[str, str], advice: str | None
) -> None:
    path = file_of(tmp_path, {"ward": (["A", "B"] * 301)[: len(numbers)], "n": numbers}, separator)
    text = draft_schema(path)
    schema = parse_schema(text)
    found = {} if schema.csv is None else schema.csv.model_dump(exclude_defaults=True)
    assert {key: value for key, value in found.items() if key != "separator"} == declared
    asked = [line for line in text.splitlines() if "may be 1234 or 1.234" in line]
    assert [line.rpartition("draft again with ")[2] for line in asked] == ([] if advice is None else [f"{advice}."])
    assert check_schema(path, schema) == []


def test_a_draft_takes_the_marks_that_are_given(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"ward": ["A", "B"] * 300, "n": GROUPS})
    text = draft_schema(Csv(path, decimal=","))
    schema = parse_schema(text)
    assert schema.csv is not None
    assert (schema.csv.decimal, schema["n"].kind) == (",", "real")
    assert "may be 1234" not in text


def test_a_schema_is_learnt_from_decimal_commas(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"cost": COSTS * 5, "version": VERSIONS * 5})
    how = Csv(path, separator=";", decimal=",", thousands=".")
    schema = learn_schema(how, epsilon=50.0, seed=1)
    assert schema["cost"].kind == "real"
    assert set(VERSIONS) <= set(schema["version"].labels)
    assert schema.csv is not None
    assert (schema.csv.decimal, schema.csv.thousands) == (",", ".")


def test_a_release_has_points_whatever_the_table_had(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"ward": ["A", "B"] * 300, "cost": COSTS})
    schema = parse_schema(draft_schema(path).replace("draft = true", "draft = false"))
    release = understudy.synthesize(path, schema, epsilon=5.0, workload="all-1way", mechanism="independent", seed=1)
    release.save(tmp_path / "release")
    [made] = (tmp_path / "release").glob("synthetic*.csv")
    head, *rows = made.read_text(encoding="utf-8").splitlines()
    assert head == "ward,cost"
    assert all(row.count(",") == 1 and float(row.split(",")[1]) >= 0 for row in rows)
    report = understudy.evaluate(path, understudy.load(tmp_path / "release"))
    assert report.rows == 600


def test_signs_around_numbers_stay_and_what_is_between_them_is_read() -> None:
    texts = [
        "1.084,50 €",
        "$1",
        "-$1.234,50",
        "12.5 %",
        "12,5%",
        "k.A.",
        None,
        "1.2.2020",
        "5",
        "1.234 EUR",
        "€",
        "<0,5",
        "ca 0,5",
    ]
    plain = [
        "1084.50€",
        "$1",
        "-$1234.50",
        "12,5 %",
        "12.5%",
        "k.A.",
        None,
        "1.2.2020",
        "5",
        "1234EUR",
        "€",
        "<0,5",
        "ca 0,5",
    ]
    for kind in (pa.string(), pa.large_string()):
        assert plain_numbers(pa.array(texts, kind), GERMAN).to_pylist() == plain
        alone = [plain_numbers(pa.array([text], kind), GERMAN).to_pylist() for text in texts]
        assert alone == [[text] for text in plain]
