"""SQL queries: of all files they read Parquet alone, since DuckDB guesses the types of others from their content."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import SourceError
from understudy.schema import parse_schema
from understudy.source import Sql, open_source
from understudy.source import sql as sql_module
from understudy.source.duck import connect

SCHEMA = parse_schema('[columns.day]\nkind = "date"\nmin = 2020-01-01\nmax = 2020-12-31\nwidth = "month"\nnullable = true\n')
ALL = [("day",)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of several kinds, and a database with views and macros over them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("day\n05/06/2020\n")
    (tmp_path / "a.json").write_text('{"day": "2020-01-01"}')
    (tmp_path / "fake.parquet").write_text("day\n05/06/2020\n")
    table = pa.table({"day": ["2020-01-01", "2020-06-01"]})
    pq.write_table(table, "a.parquet")
    (tmp_path / "it's").mkdir()
    pq.write_table(table, "it's/one.parquet")
    pq.write_table(table, "it's/two.pq")
    with duckdb.connect("a.duckdb") as connection:
        for statement in (
            "CREATE VIEW over_csv AS SELECT * FROM 'a.csv'",
            "CREATE VIEW over_view AS SELECT * FROM over_csv",
            "CREATE VIEW over_parquet AS SELECT * FROM 'a.parquet'",
            "CREATE MACRO any_file(path) AS TABLE SELECT * FROM read_csv(path)",
            "CREATE MACRO one_file() AS TABLE SELECT * FROM read_csv_auto('a.csv')",
            "CREATE TABLE days AS SELECT DATE '2020-01-01' AS day",
        ):
            connection.execute(statement)
    return tmp_path


QUERIES = [
    "FROM 'a.csv'",
    "SELECT * FROM a.csv",
    'SELECT * FROM "a.csv"',
    "SELECT * FROM read_csv('a.csv')",
    "SELECT * FROM READ_CSV_AUTO(['a.csv'])",
    "SELECT * FROM read_csv('a.csv', auto_detect = false, columns = {'day': 'VARCHAR'})",
    "WITH t AS (SELECT * FROM 'a.csv') SELECT * FROM t",
    "SELECT (SELECT max(day) FROM 'a.csv') AS day",
    "SELECT day FROM range(3), LATERAL (SELECT * FROM read_csv('a.csv'))",
    "SELECT day FROM days WHERE day IN (SELECT day FROM 'a.csv')",
    "SELECT day FROM days UNION ALL SELECT day FROM 'a.csv'",
    "SELECT Columns AS day FROM sniff_csv('a.csv')",
    "FROM 'a.json'",
    "SELECT * FROM read_json_auto('a.json')",
    "SELECT content AS day FROM read_text('a.csv')",
    "SELECT file AS day FROM glob('*')",
    "SELECT * FROM query('FROM ''a.csv''')",
    "SELECT * FROM query_table('a.csv')",
    "SELECT * FROM read_csv('fake.parquet')",
]
VIEWS = ["FROM over_csv", "FROM over_view", "FROM one_file()", "FROM any_file('fake.parquet')", 'FROM "OVER_CSV"']


@pytest.mark.promise(27)
@pytest.mark.parametrize("query", [*QUERIES, *VIEWS])
def test_a_query_that_would_guess_types_is_refused(folder: Path, query: str) -> None:
    with pytest.raises(SourceError, match=r"not Parquet|other than Parquet") as caught:
        open_source(Sql(query, folder / "a.duckdb"), SCHEMA)
    assert "CSV file itself" in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.promise(27)
@pytest.mark.parametrize("query", [query for query in QUERIES if "fake" not in query])
def test_the_second_lock_does_not_need_the_first(folder: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_module, "refuse_guessing", lambda *_: None)
    with pytest.raises(SourceError, match=r"not Parquet|PermissionException"):
        open_source(Sql(query, folder / "a.duckdb"), SCHEMA).count(ALL)


def test_nothing_is_opened_before_the_first_lock(folder: Path) -> None:
    (folder / "a.csv").unlink()
    with pytest.raises(SourceError, match=r'other than Parquet: "a\.csv"'):
        open_source(Sql("FROM 'a.csv'"), SCHEMA)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("FROM 'a.parquet'", 2),
        ("FROM './a.parquet'", 2),
        ("SELECT * FROM read_parquet(['a.parquet', 'it''s/two.pq'])", 4),
        ("SELECT * FROM parquet_scan('it''s/*.parquet')", 2),
        ('FROM "it\'s/one.parquet"', 2),
        ("FROM 'it''s/**/*.parquet'", 2),
        ("FROM over_parquet", 2),
        ("SELECT p.day FROM days d JOIN 'a.parquet' p ON d.day = CAST(p.day AS DATE) -- 'a.csv' is not read", 1),
        ("SELECT 'a.csv' AS day FROM range(3)", 3),
        ("FROM days;", 1),
    ],
)
def test_parquet_and_tables_can_be_read(folder: Path, query: str, rows: int) -> None:
    for _ in range(2):
        assert open_source(Sql(query, folder / "a.duckdb"), SCHEMA).count(ALL)[0].sum() == rows


def test_an_absolute_path_can_be_read(folder: Path) -> None:
    assert open_source(Sql(f"FROM '{folder}/a.parquet'"), SCHEMA).count(ALL)[0].sum() == 2


@pytest.mark.promise(15)
@pytest.mark.parametrize("database", [None, "a.duckdb"])
def test_what_spills_goes_to_a_folder_of_the_owner_alone_that_is_removed(folder: Path, database: str | None) -> None:
    with connect(None if database is None else folder / database, "1GB") as connection:
        [(spill,)] = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        assert Path(spill).is_dir()
        assert Path(spill).stat().st_mode & 0o077 == 0
        assert not Path(spill).is_relative_to(folder)
    assert not Path(spill).exists()
