"""Files and queries: what is tolerated, what is refused, and that no refusal quotes the table."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import SourceError
from understudy.review import check_schema, draft_schema
from understudy.schema import parse_schema
from understudy.source import Csv, Sql, open_source
from understudy.source.files import FilesReader, files_of, require_fields
from understudy.source.opening import columns_of

SCHEMA = parse_schema(
    """
    [table]
    nulls = ["NA"]
    [columns.name]
    kind = "categorical"
    values = ["ann", "bob"]
    other = "someone"
    nullable = true
    [columns.Age]
    kind = "integer"
    min = 0
    max = 3
    nullable = true
    """
)
BOTH = [("name", "Age")]


def count(path: Path, content: bytes) -> list[list[int]]:
    path.write_bytes(content)
    return open_source(path, SCHEMA).count(BOTH)[0].tolist()  # type: ignore[no-any-return]


def assert_silent(caught: pytest.ExceptionInfo[SourceError], secret: str = "SECRET") -> None:
    """No part of the error, nor of an error attached to it, may hold the secret."""
    error: BaseException | None = caught.value
    assert secret not in str(error)
    assert error is not None
    assert error.__cause__ is None
    assert error.__context__ is None


def test_csv_is_text_until_the_schema_reads_it(tmp_path: Path) -> None:
    counts = count(tmp_path / "a.csv", b"name,Age\nann,1\nann, 2 \nbob,NA\nNA,1\n,abc\nzed,007\n")
    assert np.sum(counts) == 6
    assert counts == [[0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 0], [0, 1, 0, 0, 1]]


def test_ragged_lines_are_neither_dropped_nor_fatal(tmp_path: Path) -> None:
    counts = count(tmp_path / "a.csv", b'name,Age\nann\nbob,1,more,fields\n"a\nb",2\nann,3')
    # A quote never reaches into the next line: "a and b" are two records.
    assert counts == [[0, 0, 0, 1, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0]]


def test_an_odd_value_far_down_changes_no_other_row(tmp_path: Path) -> None:
    lines = b"".join(b"ann,1\n" for _ in range(30_000))
    before = count(tmp_path / "a.csv", b"name,Age\n" + lines)
    after = count(tmp_path / "b.csv", b"name,Age\n" + lines + b"ann,not a number\n")
    assert before[0] == [0, 30_000, 0, 0, 0]
    assert after[0] == [0, 30_000, 0, 0, 1]


def test_a_damaged_parquet_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 SECRET PAR1")
    with pytest.raises(SourceError, match="whole Parquet file") as caught:
        open_source(tmp_path / "a.parquet", SCHEMA)
    assert_silent(caught)


@pytest.mark.promise(28)
def test_bad_utf_8_in_parquet_does_not_stop_the_reader(tmp_path: Path) -> None:
    stored = pa.array([b"ann", b"b\xff", b"bob"])
    text = pa.Array.from_buffers(pa.string(), 3, stored.buffers())
    pq.write_table(pa.table({"name": text, "Age": [1, 2, 3]}), tmp_path / "a.parquet")
    [batch] = FilesReader(tmp_path / "a.parquet", ["name", "Age"]).batches(["Age", "name"])
    assert batch.schema.names == ["Age", "name"]
    assert batch.column(1).cast(pa.binary()).to_pylist() == [b"ann", b"b\xff", b"bob"]


def test_parquet_is_streamed_and_only_what_is_asked_for(tmp_path: Path) -> None:
    table = pa.table({"a": [{"b": 1}] * 5, "a.b": ["x"] * 5, "c": range(5)})
    pq.write_table(pa.concat_tables([table] * 40_000), tmp_path / "a.parquet")
    reader = FilesReader(tmp_path / "a.parquet", ["a.b"])
    found = list(reader.batches(["a.b"]))
    assert len(found) > 2
    assert sum(batch.num_rows for batch in found) == 200_000
    assert {batch.column(0)[0].as_py() for batch in found} == {"x"}
    assert sum(batch.num_rows for batch in reader.batches([])) == 200_000


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_file_of_a_glob_must_have_the_columns(tmp_path: Path, ending: str) -> None:
    for name, columns in (("1", ["name", "Age"]), ("2", ["name", "age"])):
        path = tmp_path / f"{name}.{ending}"
        if ending == "csv":
            path.write_text(",".join(columns) + "\nann,1\n")
        else:
            pq.write_table(pa.table([["ann"], [1]], names=columns), path)
    advice = "Does its first line hold the names" if ending == "csv" else 'Did you mean "age"'
    with pytest.raises(SourceError, match=rf'2\.\w+" has no column "Age".*{advice}'):
        open_source(f"{tmp_path}/*.{ending}", SCHEMA)


@pytest.mark.promise(15)
def test_the_first_record_of_a_file_without_a_header_is_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        count(tmp_path / "a.csv", b"Agee,nama\n1,2\n")
    assert "Agee" not in str(caught.value)
    assert "nama" not in str(caught.value)


def test_names_that_differ_in_case_alone_stay_apart_in_csv(tmp_path: Path) -> None:
    counts = count(tmp_path / "a.csv", b"age,Age,name\n1,2,ann\n")
    assert counts[0] == [0, 0, 1, 0, 0]


def test_paths_that_look_like_patterns_or_sql_are_paths(tmp_path: Path) -> None:
    assert np.sum(count(tmp_path / "it's [1].csv", b"name,Age\nann,1\n")) == 1
    pq.write_table(pa.table({"name": ["ann"], "Age": [1]}), tmp_path / "it's [2].parquet")
    assert open_source(tmp_path / "it's [2].parquet", SCHEMA).count([()])[0] == 1


def test_folders_named_like_partitions_do_not_replace_columns(tmp_path: Path) -> None:
    folder = tmp_path / "Age=3"
    folder.mkdir()
    pq.write_table(pa.table({"name": ["ann"], "Age": [1]}), folder / "a.parquet")
    assert open_source(str(tmp_path / "*" / "*.parquet"), SCHEMA).count([("Age",)])[0].tolist() == [0, 1, 0, 0, 0]


def test_only_the_columns_that_are_asked_for_are_read(tmp_path: Path) -> None:
    source = open_source(Sql("SELECT 'ann' AS name, error('touched') AS Age"), SCHEMA)
    assert source.count([("name",)])[0].tolist() == [1, 0, 0, 0]
    with pytest.raises(SourceError):
        source.count(BOTH)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nope FROM range(3)", '"nope" not found'),
        ("SELECT 1 AS name; SELECT 2", "one SELECT"),
        ("DROP TABLE people", "one SELECT"),
        ("COPY people TO 'stolen.csv'", "one SELECT"),
        ("", "one SELECT"),
        ("SELECT 'ann' AS name", 'no column "Age"'),
        ("SELECT name, Age AS age FROM people", 'Did you mean "age"'),
        ("SELECT * FROM data", "does not exist"),
    ],
)
def test_queries_that_cannot_be_a_table(tmp_path: Path, query: str, words: str) -> None:
    data = pa.table({"name": ["SECRET"], "Age": [1]})  # DuckDB left to itself would find this variable
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.from_arrow(data).create("people")
    with pytest.raises(SourceError, match=words) as caught:
        open_source(Sql(query, tmp_path / "a.duckdb"), SCHEMA)
    assert_silent(caught, "Candidate")


def test_a_query_that_fails_on_a_row_does_not_quote_it() -> None:
    rows = "(VALUES ('ann', '1'), ('SECRET', 'SECRET')) AS t(name, age)"
    source = open_source(Sql(f"SELECT name, CAST(age AS INTEGER) AS Age FROM {rows}"), SCHEMA)
    with pytest.raises(SourceError, match="ConversionException") as caught:
        source.count(BOTH)
    assert_silent(caught)


def test_a_database_is_not_changed_and_must_exist(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with pytest.raises(SourceError, match="no database file"):
        open_source(Sql("SELECT 1", path), SCHEMA)
    assert not path.exists()
    path.write_bytes(b"SECRET, and no database")
    with pytest.raises(SourceError, match="DuckDB file") as caught:
        open_source(Sql("SELECT 1", path), SCHEMA)
    assert_silent(caught)


def test_nothing_is_left_behind_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    query = "SELECT 'ann' || i AS name, i % 4 AS Age FROM range(400000) AS r(i) ORDER BY name"
    source = open_source(Sql(query, memory_limit="60MB"), SCHEMA)
    assert source.count([("Age",)])[0].tolist() == [100_000] * 4 + [0]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name\nann\n", 'has no column "Age".*as separator its first line has one field'),
        (b"name;Age\nann;1\n", 'has no column "name".*as separator its first line has one field'),
        (b"", "is empty"),
        (b"\n\n", "is empty"),
    ],
)
def test_a_csv_file_without_its_columns_names_the_one_that_is_missing(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    for look in (lambda path: FilesReader(path, ["name", "Age"]), lambda path: check_schema(path, SCHEMA)):
        with pytest.raises(SourceError, match=words):
            look(tmp_path / "a.csv")


def test_a_column_that_the_declared_names_lack_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"SECRET\n")
    with pytest.raises(
        SourceError, match=r'has no column "Age", which the schema declares\. Did you mean "Ages"\?'
    ) as caught:
        FilesReader(Csv(tmp_path / "a.csv", header=["name", "Ages"]), ["name", "Age"])
    assert_silent(caught)


def test_one_field_with_another_separator_is_told_in_a_whole_sentence(tmp_path: Path) -> None:
    path = tmp_path / "arzt.csv"
    path.write_text("name;age\nann;1\n")
    [file] = files_of(path)
    with pytest.raises(SourceError) as caught:
        require_fields(file, file.columns())
    assert str(caught.value).startswith(f'The file "{path}" has one field in its first line with "," as separator')
    assert " The file" not in str(caught.value)


def test_a_column_without_a_name_is_named_by_its_place_and_stops_nobody_who_does_not_declare_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = pa.table([["ann", "bob"], [1, 2], [3, 4]], names=["name", "Age", " "])
    pq.write_table(rows, path)
    with pytest.raises(SourceError, match=r"a\.parquet.* without a name \(number 3 of 3\).*Rename it, or leave it out"):
        draft_schema(path)
    for table in (path, rows):
        with pytest.raises(SourceError, match=r"without a name \(number 3 of 3\)"):
            columns_of(table, None)
    assert open_source(path, SCHEMA).count(BOTH)[0].sum() == 2
