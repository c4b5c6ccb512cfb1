"""Tables in databases: the same counts as from Parquet, each value read alone, nothing of a row or a password told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import understudy
from understudy.cli import main
from understudy.errors import SourceError
from understudy.schema import parse_schema
from understudy.source import Sql, databases, open_source, unopened

from .postgres import programs, server

SCHEMA_TEXT = """
person = "who"
rows_per_person = 3

[columns.ward]
kind = "categorical"
values = ["Zürich", "東京", "it's"]
other = "?"
nullable = true

[columns.age]
kind = "integer"
min = 0
max = 99
bins = 10
nullable = true

[columns.'Größe "cm"']
kind = "real"
min = 0
max = 1
bins = 4
nullable = true

[columns.seen]
kind = "date"
min = 2020-01-01
max = 2020-12-31
width = "month"
nullable = true
"""
SCHEMA = parse_schema(SCHEMA_TEXT)
CLIQUES = [(), ("ward", "age"), ("age", 'Größe "cm"', "seen")]
QUERY = "SELECT * FROM visits WHERE age IS NULL OR age <> 77; -- all but these"


def table(rows: int = 70_000) -> pa.Table:
    rng = np.random.default_rng(2)
    days = pa.array([date(2019, 12, 1).toordinal() - 719163 + int(i) for i in rng.integers(0, 500, rows)], pa.int32())
    return pa.table(
        {
            "who": pa.array(rng.integers(0, rows // 5, rows)),
            "ward": pa.array(rng.choice(["Zürich", "東京", "it's", "elsewhere", None], rows).tolist()),  # type: ignore[list-item]
            "age": pa.array(rng.integers(-5, 120, rows), mask=rng.random(rows) < 0.1),
            'Größe "cm"': pa.array(rng.uniform(-0.1, 1.1, rows)),
            "seen": days.cast(pa.date32()),
        }
    )


def in_duckdb(rows: pa.Table, folder: Path) -> str:
    with duckdb.connect(str(folder / "v.duckdb")) as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE visits AS SELECT * FROM rows")
    return str(folder / "v.duckdb")


def in_sqlite(rows: pa.Table, folder: Path) -> str:
    with sqlite3.connect(folder / "v.db") as connection:
        connection.execute('CREATE TABLE visits (who, ward, age, "Größe ""cm""", seen)')
        listed = [column.to_pylist() for column in rows.set_column(4, "seen", rows["seen"].cast(pa.string())).columns]
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", zip(*listed, strict=True))
    return str(folder / "v.db")


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    if programs() is None:
        pytest.skip("there is no PostgreSQL server to start: install Debian's package postgresql")
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver of PostgreSQL is not installed")
    with server() as url:
        yield url


def in_postgres(rows: pa.Table, url: str) -> None:
    run(url, "DROP TABLE IF EXISTS visits")
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("visits", rows)
        connection.commit()


def run(url: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def same_counts(found: Sql, rows: pa.Table, folder: Path) -> None:
    pq.write_table(rows, folder / "reference.parquet")
    reference = open_source(Sql(QUERY.replace("visits", f"'{folder / 'reference.parquet'}'")), SCHEMA).count(CLIQUES)
    source = open_source(found, SCHEMA)
    for count, other in zip(source.count(CLIQUES), reference, strict=True):
        np.testing.assert_array_equal(count, other)
    np.testing.assert_array_equal(source.count([("age",)])[0], reference[1].sum(axis=0))


@pytest.mark.promise(16)
@pytest.mark.promise(27)
@pytest.mark.parametrize("kind", ["file", "path", "url"])
@pytest.mark.parametrize("make", [in_duckdb, in_sqlite], ids=["DuckDB", "SQLite"])
def test_files_of_databases_count_as_parquet_does(make: Callable[[pa.Table, Path], str], kind: str, tmp_path: Path) -> None:
    rows = table() if kind == "file" else table(500)
    place = make(rows, tmp_path)
    scheme = "duckdb" if place.endswith("duckdb") else "sqlite"
    database: str | Path = {"file": place, "path": Path(place), "url": f"{scheme}:///{place}"}[kind]
    same_counts(Sql(QUERY, database), rows, tmp_path)


@pytest.mark.promise(16)
@pytest.mark.promise(27)
def test_postgresql_counts_as_parquet_does(postgres: str, tmp_path: Path) -> None:
    rows = table()
    in_postgres(rows, postgres)
    same_counts(Sql(QUERY, postgres), rows, tmp_path)


@pytest.mark.promise(27)
def test_sqlite_values_of_any_type_are_read_alone(tmp_path: Path) -> None:
    declared = parse_schema('[columns.x]\nkind = "integer"\nmin = 0\nmax = 9\nnullable = true\n')
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
        odd = [1, 2.0, "3", " 4 ", b"5", None, "six", 2**62, -1e300]
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in odd])
        connection.execute("INSERT INTO t VALUES (CAST(x'ff' AS TEXT))")
    counted = open_source(Sql("SELECT * FROM t", tmp_path / "t.db"), declared).count([("x",)])[0].tolist()
    assert counted == [1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 3]


@pytest.mark.promise(27)
def test_postgresql_types_that_arrow_has_not(postgres: str) -> None:
    """As their text; moments at infinity are missing; long numbers are exact."""
    run(
        postgres,
        "DROP TABLE IF EXISTS odd",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        """CREATE TABLE odd AS SELECT i, m::mood AS mood, n::numeric AS money, d::date AS day,
           ('00000000-0000-0000-0000-00000000000' || i)::uuid AS who
           FROM (VALUES (1, 'sad', '0.50', '2020-03-01'), (2, 'ok', 'NaN', 'infinity'), (3, NULL, '7.5', '-infinity'))
           t (i, m, n, d)""",
    )
    declared = parse_schema(
        """
        person = "who"
        rows_per_person = 1
        [columns.mood]
        kind = "categorical"
        values = ["sad", "ok"]
        nullable = true
        [columns.money]
        kind = "real"
        min = 0
        max = 8
        bins = 8
        nullable = true
        [columns.day]
        kind = "date"
        min = 2020-01-01
        max = 2020-12-31
        width = "month"
        nullable = true
        """
    )
    mood, money, day = open_source(Sql("TABLE odd", postgres), declared).count([("mood",), ("money",), ("day",)])
    assert mood.tolist() == [1, 1, 1]
    assert money.tolist() == [1, 0, 0, 0, 0, 0, 0, 1, 1]
    assert (day[2], day[-1]) == (1, 2)


def test_postgresql_is_only_read(postgres: str) -> None:
    run(postgres, "DROP TABLE IF EXISTS safe", "CREATE TABLE safe AS SELECT 1 AS age")
    run(
        postgres,
        "CREATE OR REPLACE FUNCTION dropping() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DROP TABLE safe; RETURN 1; END $$",
    )
    declared = parse_schema('[columns.age]\nkind = "integer"\nmin = 0\nmax = 9\nnullable = true\n')
    for query in ("SELECT dropping() AS age", "DROP TABLE safe", "SELECT 1 AS age) x; DROP TABLE safe; SELECT (1"):
        with pytest.raises(SourceError, match="cannot be read"):
            open_source(Sql(query, postgres), declared).count([("age",)])
    assert open_source(Sql("SELECT * FROM safe", postgres), declared).count([()])[0] == 1


@pytest.mark.promise(31)
def test_neither_rows_nor_passwords_are_told(postgres: str, tmp_path: Path) -> None:
    declared = parse_schema('[columns.x]\nkind = "integer"\nmin = 0\nmax = 9\nnullable = true\n')
    in_sqlite(table(5), tmp_path)
    secret = postgres.replace("owner@", "owner:hunter2@")
    for query, place in (
        ("SELECT ('SEC' || 'RET')::int AS x", secret),
        ("SELECT x FROM nowhere", secret),
        ("SELECT x FROM nowhere", secret.replace("understudy-pg", "gone")),
        ("SELECT abs('SEC' || 'RET', 1) AS x", tmp_path / "v.db"),
    ):
        with pytest.raises(SourceError, match=r"cannot be read \(\w+; details withheld") as caught:
            open_source(Sql(query, place), declared).count([("x",)])
        said = f"{caught.value} {caught.value.__context__} {caught.value.__cause__} {Sql(query, place)!r}"
        assert "SECRET" not in said
        assert "hunter2" not in said


def test_what_there_is_not_is_told_before_anything_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (tmp_path / "none.duckdb", "sqlite:///none.db"):
        with pytest.raises(SourceError, match="There is no database file"):
            unopened(Sql("SELECT 1 AS x", place), SCHEMA)
    monkeypatch.setattr(databases, "find_spec", lambda name: None)
    with pytest.raises(SourceError, match=r'ask "oracle://host/db".*understudy\[postgresql\].*SQLAlchemy') as caught:
        unopened(Sql("SELECT 1 AS x", "oracle://me:hunter2@host/db"), SCHEMA)
    assert "hunter2" not in str(caught.value)


@pytest.mark.promise(31)
@pytest.mark.parametrize("url", ["x://me:hunter2@host/d", "x+y://hunter2@host", "x://host/d?user=me&password=hunter2&a=b"])
def test_a_database_is_named_without_its_password(url: str) -> None:
    assert "hunter2" not in databases.Adbc(url).what
    assert "host" in databases.Adbc(url).what


@pytest.mark.promise(31)
@pytest.mark.parametrize(
    "url",
    [
        "x+y://me:hunter/2@host/d",
        "x://me:hunter@2@host",
        "x://me:hunter?2@host/d",
        "x://h/d?pwd=hunter@2",
        "x://h/d?p=hunter",
    ],
)
def test_a_password_with_marks_of_its_own_is_not_told_either(url: str) -> None:
    assert "hunter" not in databases.Adbc(url).what
    assert "2" not in databases.Adbc(url).what
    assert "x" in databases.Adbc(url).what


def test_whatever_sqlalchemy_can_ask(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    rows = table(3_000)
    same_counts(Sql(QUERY, f"sqlite+pysqlite:///{in_sqlite(rows, tmp_path)}"), rows, tmp_path)


def test_every_command_asks_databases(tmp_path: Path) -> None:
    asked = ["--sql", "SELECT * FROM visits", "--database", in_sqlite(table(400), tmp_path)]
    (tmp_path / "s.toml").write_text(SCHEMA_TEXT, encoding="utf-8")
    options = ["-s", str(tmp_path / "s.toml"), "--rho", "1", "-w", "all-1way", "--mechanism", "independent"]
    out = str(tmp_path / "out")
    for command in (
        ["schema", "draft", *asked],
        ["schema", "check", *asked, "-s", str(tmp_path / "s.toml")],
        ["synthesize", *asked, *options, "-o", out],
        ["evaluate", *asked, out],
    ):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, (command[:2], done.output)
    both = CliRunner().invoke(main, ["evaluate", *asked, "also.csv", out])
    assert both.exit_code == 2
    assert "Give either DATA" in both.output


@pytest.mark.parametrize("make", [in_duckdb, in_sqlite], ids=["DuckDB", "SQLite"])
def test_drafts_have_types(make: Callable[[pa.Table, Path], str], tmp_path: Path) -> None:
    text = understudy.draft_schema(Sql("SELECT * FROM visits", make(table(2_000), tmp_path)))
    kinds = {name: column.kind for name, column in parse_schema(text).declaration.columns.items()}
    assert kinds == {"who": "integer", "ward": "categorical", "age": "integer", 'Größe "cm"': "real", "seen": "date"}


def test_a_query_without_rows(tmp_path: Path) -> None:
    place: Any = in_sqlite(table(5), tmp_path)
    assert open_source(Sql("SELECT * FROM visits WHERE false", place), SCHEMA).count([()])[0] == 0
