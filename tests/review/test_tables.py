"""Draft and check take whatever ``synthesize`` takes, and say the same of a table in whatever form it comes."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from understudy.cli import main
from understudy.errors import SourceError
from understudy.review import check_schema, draft_schema
from understudy.schema import Schema, SchemaFileError, parse_schema
from understudy.source import Csv, Sql

TABLE = pa.table(
    {
        "age": pa.array([17, 20, 45, 90] * 25),
        "sex": ["f", "m", "f", "x"] * 25,
        "paid": pa.array([1.5, 2.25, None, 7.75] * 25),
        "told": pa.array([True, False, None, True] * 25),
    }
)


def database(table: pa.Table, folder: Path) -> Sql:
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.from_arrow(table).create("people")
    return Sql("SELECT * FROM people", folder / "a.duckdb")


def parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def csv_file(table: pa.Table, folder: Path) -> Path:
    pa.csv.write_csv(table, folder / "a.csv")
    return folder / "a.csv"


def csv_dialect(table: pa.Table, folder: Path) -> Csv:
    pa.csv.write_csv(table, folder / "a.txt", pa.csv.WriteOptions(delimiter=";"))
    return Csv(folder / "a.txt", separator=";")


FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda t, _: t,
    "batch": lambda t, _: t.to_batches()[0],
    "reader": lambda t, _: t.to_reader(),
    "pandas": lambda t, _: t.to_pandas(),
    "pandas objects": lambda t, _: pd.DataFrame(t.to_pylist(), dtype=object),
    "polars": lambda t, _: pl.from_arrow(t),
    "lazy": lambda t, _: pl.from_arrow(t).lazy(),  # type: ignore[union-attr]
    "lists": lambda t, _: t.to_pydict(),
    "arrays": lambda t, _: {name: t.column(name).to_numpy() for name in t.column_names},
    "database": database,
    "parquet": parquet,
    "csv": csv_file,
    "csv dialect": csv_dialect,
}


@pytest.mark.parametrize("form", FORMS)
def test_any_table_can_be_drafted_and_fits_its_draft(form: str, tmp_path: Path) -> None:
    text = draft_schema(FORMS[form](TABLE, tmp_path))
    schema = parse_schema(text)
    assert [(c.name, c.kind) for c in schema.columns] == [
        ("age", "integer"),
        ("sex", "categorical"),
        ("paid", "real"),
        ("told", "boolean"),
    ]
    data = FORMS[form](TABLE, tmp_path / "..") if form == "database" else FORMS[form](TABLE, tmp_path)
    assert check_schema(data, schema) == []


@pytest.mark.parametrize("form", FORMS)
def test_any_table_can_be_checked(form: str, tmp_path: Path) -> None:
    schema = parse_schema(
        '[columns.sex]\nkind = "categorical"\nvalues = ["f"]\nother = "f"\n'
        '[columns.age]\nkind = "integer"\nmin = 18\nmax = 80\nnullable = true\n'
    )
    found = {(m.column, m.problem, m.rows, m.total) for m in check_schema(FORMS[form](TABLE, tmp_path), schema)}
    assert found == {("sex", "not listed", 50, 100), ("age", "below min", 25, 100), ("age", "above max", 25, 100)}


def test_codes_are_checked_and_cannot_be_drafted() -> None:
    codes = np.array([[0, 5], [1, 0]])
    found = check_schema(codes, Schema.from_domain({"a": 2, "b": 3}))
    assert [(m.column, m.problem, m.rows) for m in found] == [("b", "above max", 1)]
    with pytest.raises(SourceError, match="has 2 columns"):
        check_schema(codes, Schema.from_domain({"a": 2, "b": 3, "c": 2}))
    with pytest.raises(SourceError, match="no names"):
        draft_schema(codes)
    with pytest.raises(SourceError, match="not a table"):
        draft_schema(42)


def test_values_of_mixed_types_are_drafted_as_text() -> None:
    mixed = [1, "two", None, 3.5, True, b"x", "\ud800", np.datetime64("2020-01-01"), np.int64(4), pd.NA]
    for data in ({"m": mixed}, pd.DataFrame({"m": pd.Series(mixed, dtype=object)})):
        assert parse_schema(draft_schema(data))["m"].kind == "categorical"


def test_a_frame_that_cannot_be_drafted_is_not_quoted() -> None:
    frame = pd.DataFrame({"id": [f"SECRET {i}" for i in range(300)]})
    with pytest.raises(SourceError, match="by hand") as caught:
        draft_schema(frame)
    assert "SECRET" not in str(caught.value)


def test_bad_utf_8_in_parquet_stops_neither(tmp_path: Path) -> None:
    bad = pa.array([b"ann", b"b\xff", b"ann", None]).view(pa.binary())
    text = pa.Array.from_buffers(pa.string(), 4, bad.buffers())
    pq.write_table(pa.table({"name": text, "n": [1, 2, 3, 4]}), tmp_path / "a.parquet")
    assert 'values = ["ann", "b\ufffd"]' in draft_schema(tmp_path / "a.parquet")
    schema = parse_schema('[columns.n]\nkind = "integer"\nmin = 1\nmax = 4\nother = 1\n')
    assert check_schema(tmp_path / "a.parquet", schema) == []


@pytest.mark.parametrize("flags", [[], ["--separator", ";", "--encoding", "cp1252"]])
def test_a_draft_declares_the_dialect_that_it_found(flags: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"name;paid;day\n" + "Zoë – é;1,5;31.12.2020\nBob;2,5;01.02.2021\n".encode("cp1252") * 20)
    drafted = CliRunner().invoke(main, ["schema", "draft", str(path), "-o", str(tmp_path / "a.toml"), *flags])
    assert drafted.exit_code == 0, drafted.output
    text = (tmp_path / "a.toml").read_text(encoding="utf-8")
    assert 'separator = ";"' in text
    assert 'encoding = "cp1252"' in text
    assert 'format = "%d.%m.%Y"' in text
    schema = parse_schema(text)
    assert schema["name"].labels == ("Bob", "Zoë – é")
    checked = CliRunner().invoke(main, ["schema", "check", str(path), "-s", str(tmp_path / "a.toml")])
    assert "Every value fits." in checked.stdout


def test_a_usual_file_needs_no_dialect(tmp_path: Path) -> None:
    assert "[table.csv]" not in draft_schema(csv_file(TABLE, tmp_path))
    (tmp_path / "a.tsv").write_text("a\tb\n1\t2\n3\t4\n")
    assert "[table.csv]" not in draft_schema(tmp_path / "a.tsv")


def test_names_that_are_given_are_declared(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,f\n2,m\n")
    schema = parse_schema(draft_schema(Csv(tmp_path / "a.csv", header=["age", "sex"])))
    assert schema.csv is not None
    assert schema.csv.header == ["age", "sex"]
    assert check_schema(tmp_path / "a.csv", schema) == []


@pytest.mark.parametrize("content", ["a,a\n1,2\n", "a,\n1,2\n", "\n"])
def test_a_first_line_that_names_no_columns(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(SourceError, match=r"header|by hand|is empty"):
        draft_schema(tmp_path / "a.csv")


def test_line_breaks_inside_quotes_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b\n1,"two\nlines SECRET"\n2,x\n')
    with pytest.raises(SourceError, match="line breaks inside quotes") as caught:
        draft_schema(tmp_path / "a.csv")
    assert "to_parquet" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    (tmp_path / "b.csv").write_text('a,b\n1,"two\n2,x\n3,y\n')  # a stray quote is another matter
    assert "[columns.a]" in draft_schema(tmp_path / "b.csv")


def test_utf_16_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(SourceError, match="iconv -f UTF-16"):
        draft_schema(tmp_path / "a.csv")


def test_queries_on_the_command_line(tmp_path: Path) -> None:
    sql = database(TABLE, tmp_path)
    given = ["--sql", sql.query, "--database", str(sql.database)]
    drafted = CliRunner().invoke(main, ["schema", "draft", *given, "-o", str(tmp_path / "a.toml")])
    assert drafted.exit_code == 0, drafted.output
    checked = CliRunner().invoke(main, ["schema", "check", *given, "-s", str(tmp_path / "a.toml")])
    assert "Every value fits." in checked.stdout


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_of_a_glob_may_differ_in_order_alone(tmp_path: Path, ending: str) -> None:
    write = pa.csv.write_csv if ending == "csv" else pq.write_table
    write(TABLE.slice(0, 50), tmp_path / f"1.{ending}")
    write(TABLE.slice(50).select(TABLE.column_names[::-1]), tmp_path / f"2.{ending}")
    assert check_schema(tmp_path / f"*.{ending}", parse_schema(draft_schema(tmp_path / f"*.{ending}"))) == []
    write(TABLE.select(["age"]), tmp_path / f"3.{ending}")
    with pytest.raises(SourceError, match='has no column "sex", which the first file has'):
        draft_schema(tmp_path / f"*.{ending}")


@pytest.mark.parametrize("form", ["arrow", "lists", "database", "parquet", "csv"])
def test_all_missing_columns_are_told_at_once(form: str, tmp_path: Path) -> None:
    schema = parse_schema("".join(f'[columns.{name}]\nkind = "boolean"\nnullable = true\n' for name in ("agee", "sexx")))
    with pytest.raises(SchemaFileError) as caught:
        check_schema(FORMS[form](TABLE, tmp_path), schema)
    assert [problem.column for problem in caught.value.problems] == ["agee", "sexx"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_texts_that_seem_to_mean_missing_do_not_hide_numbers_and_dates(tmp_path: Path, ending: str) -> None:
    days = [f"{1 + i % 28:02}.{1 + i % 12:02}.2023" for i in range(300)]
    table = pa.table(
        {
            "minutes": ["N/A" if i % 50 == 0 else f"{i / 10:.1f}" for i in range(300)],
            "day": ["-" if i % 60 == 0 else day for i, day in enumerate(days)],
            "zip": [f"{i % 90:05}" for i in range(300)],
            "kind": [("N/A", "x", "y")[i % 3] for i in range(300)],
        }
    )
    path = tmp_path / f"a.{ending}"
    (pa.csv.write_csv if ending == "csv" else pq.write_table)(table, path)
    text = draft_schema(path)
    schema = parse_schema(text)
    assert [column.own_nulls for column in schema.columns] == [("N/A",), ("-",), (), ("N/A",)]
    assert [column.kind for column in schema.columns] == ["real", "date", "categorical", "categorical"]
    assert "N/A" not in schema["kind"].labels  # it means the same as beside the amounts
    assert check_schema(path, schema) == []


def test_texts_of_a_typed_table_with_few_values_stay_text() -> None:
    schema = parse_schema(draft_schema(pa.table({"triage": [str(i % 5) for i in range(100)]})))
    assert schema["triage"].kind == "categorical"


def test_a_first_line_of_numbers_is_marked(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("25,x\n31,y\n")
    assert "draft again with --header" in draft_schema(tmp_path / "a.csv")
    assert "draft again" not in draft_schema(Csv(tmp_path / "a.csv", header=["1", "b"]))


def test_names_that_differ_in_case_alone_are_not_drafted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,Age\n1,2\n")
    with pytest.raises(SourceError, match="differ in case alone"):
        draft_schema(tmp_path / "a.csv")


def test_the_conversion_that_is_advised_works(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes('a;b\n1;"two\nlines ü"\n2;x\n'.encode("latin-1"))
    with pytest.raises(SourceError, match="line breaks inside quotes") as caught:
        draft_schema(tmp_path / "a.csv")
    python, flag, script = shlex.split(str(caught.value).splitlines()[-1])
    assert (python, flag) == ("python", "-c")
    exec(script)
    assert pq.read_table(tmp_path / "a.parquet").to_pydict() == {"a": ["1", "2"], "b": ["two\nlines ü", "x"]}


@pytest.mark.parametrize("first", ["Report of 2023", 'a, "b\nin years",c', "a,b"])
def test_a_first_line_with_fewer_fields_than_all_others_holds_no_names(first: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{first}\n" + "1,2,3\n" * 300)
    with pytest.raises(SourceError, match="Nearly all lines of the file have more fields than its first line"):
        draft_schema(tmp_path / "a.csv")
