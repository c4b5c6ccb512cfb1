"""No text of another library reaches a user: errors are raised with a marker inside, and the marker is looked for."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from understudy.cli import main
from understudy.errors import InternalError, SourceError
from understudy.review import check_schema, draft_schema
from understudy.schema import parse_schema
from understudy.source import Csv, Sql, Tally, open_source, unopened
from understudy.source.guard import each, guarded

MARK = "MARKER"
TOML = '[columns.name]\nkind = "categorical"\nvalues = ["ann"]\nother = "someone"\n'
SCHEMA = parse_schema(TOML)
GUARD = guarded("The thing")


def words_of(error: BaseException) -> str:
    """Return everything that an error says, with its notes and the errors attached to it."""
    found, places = [], [error]
    while places:
        place = places.pop()
        found += [str(place), repr(place.args), *getattr(place, "__notes__", [])]
        places += [more for more in (place.__cause__, place.__context__) if more is not None]
    return "\n".join(found)


def broken_stream(folder: Path) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"name": ["ann"]})
        raise ValueError(MARK)

    return pa.RecordBatchReader.from_batches(pa.schema([("name", pa.string())]), batches())


def broken_gzip(folder: Path) -> Path:
    path = folder / "a.csv.gz"
    path.write_bytes(gzip.compress(b"name\nann\n" * 1000)[:-6] + MARK.encode())
    return path


def broken_parquet(folder: Path) -> Path:
    path = folder / "a.parquet"
    pq.write_table(pa.table({"name": [f"{MARK} {i}" for i in range(1000)]}), path, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[8:40] = (MARK * 6)[:32].encode()
    path.write_bytes(data)
    return path


def broken_lazy_frame(folder: Path) -> pl.LazyFrame:
    return pl.LazyFrame({"name": [MARK]}).with_columns(pl.col("name").cast(pl.Int64))


def broken_query(folder: Path) -> Sql:
    return Sql(f"SELECT CAST(name AS INTEGER) AS name FROM (VALUES ('1'), ('{MARK}'), (getenv('HOME'))) AS t(name)")


def broken_database(folder: Path) -> Sql:
    path = folder / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT '{MARK}' AS name")
        connection.execute("CREATE VIEW v AS SELECT CAST(name AS DATE) AS name FROM t")
    return Sql("FROM v", path)


class Broken:
    """A sequence that fails when it is looked at."""

    dtype = "object"

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[Any]:
        yield "ann"
        raise RuntimeError(MARK)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(MARK)


def broken_column(folder: Path) -> dict[str, Any]:
    return {"name": Broken()}


class BrokenFrame(pd.DataFrame):
    """A pandas frame that fails with a word of the table."""

    @property
    def iloc(self) -> Any:
        raise KeyError(MARK)


BrokenFrame.__name__ = "DataFrame"
BrokenFrame.__module__ = "pandas.core.frame"


def broken_frame(folder: Path) -> pd.DataFrame:
    return BrokenFrame({"name": ["ann"]})


BROKEN: list[Callable[[Path], Any]] = [
    *(broken_stream, broken_gzip, broken_parquet, broken_lazy_frame, broken_query, broken_database),
    *(broken_column, broken_frame),
]
WAYS: dict[str, Callable[[Any], Any]] = {
    "count": lambda data: open_source(data, SCHEMA).count([("name",)]),
    "check": lambda data: check_schema(data, SCHEMA),
    "draft": draft_schema,
}


@pytest.mark.promise(31)
@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_a_failure_says_what_failed_and_nothing_of_the_table(make: Callable[[Path], Any], way: str, tmp_path: Path) -> None:
    data = make(tmp_path)
    with pytest.raises(SourceError, match=r"cannot be (read|collected)") as caught:
        WAYS[way](data)
    assert MARK not in words_of(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.promise(31)
@pytest.mark.parametrize(
    "make", [broken_gzip, broken_parquet, broken_query, broken_database], ids=lambda make: make.__name__
)
@pytest.mark.parametrize("command", ["synthesize", "schema check", "schema draft"])
def test_nor_does_the_command_line(make: Callable[[Path], Any], command: str, tmp_path: Path) -> None:
    data = make(tmp_path)
    (tmp_path / "s.toml").write_text(TOML)
    given = ["--sql", data.query] if isinstance(data, Sql) else [str(data)]
    given += ["--database", str(data.database)] if isinstance(data, Sql) and data.database else []
    given += [] if command == "schema draft" else ["-s", str(tmp_path / "s.toml")]
    given += ["-e", "1", "-w", "all-1way", "-o", str(tmp_path / "out")] if command == "synthesize" else []
    result = CliRunner().invoke(main, [*command.split(), *given])
    assert result.exit_code == 2, result.output
    assert MARK not in result.output
    assert "cannot be read" in result.stderr


def test_what_is_ours_passes_and_what_is_not_an_error_too() -> None:
    with pytest.raises(InternalError, match="ours"), GUARD:
        raise InternalError("ours")
    with pytest.raises(KeyboardInterrupt), GUARD:
        raise KeyboardInterrupt
    with pytest.raises(MemoryError), GUARD:
        raise MemoryError


class PanicException(BaseException):
    """As a library written in Rust raises it."""


@pytest.mark.promise(31)
def test_a_panic_is_a_failure_and_lack_of_memory_does_not_say_how_many_rows_there_are() -> None:
    with pytest.raises(SourceError, match="PanicException") as panicked, GUARD:
        raise PanicException(MARK)
    with pytest.raises(MemoryError, match="The thing") as starved, GUARD:
        raise MemoryError(f"Unable to allocate 1 GiB for an array with shape ({MARK},)")
    for caught in (panicked, starved):
        assert MARK not in words_of(caught.value)


@pytest.mark.promise(31)
@pytest.mark.parametrize("kind", [ValueError, MemoryError])
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.LazyFrame, Path])
def test_counting_that_fails_says_nothing_of_the_table(
    kind: type[Exception], make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise kind(MARK)

    (tmp_path / "a.csv").write_text("name\nann\n")
    data = tmp_path / "a.csv" if make is Path else make({"name": ["ann"]})
    source = unopened(data, SCHEMA)
    monkeypatch.setattr(Tally, "add", fail)
    with pytest.raises((InternalError, MemoryError)) as caught:
        source.count([("name",)])
    assert MARK not in words_of(caught.value)


def test_each_step_is_guarded_and_what_is_done_with_it_is_not() -> None:
    def steps() -> Iterator[int]:
        yield 1
        raise KeyError(MARK)

    def use() -> None:
        for _ in each(steps(), GUARD):
            raise KeyError("the user's")

    with pytest.raises(KeyError, match="the user's"):
        use()
    with pytest.raises(SourceError, match="The thing cannot be read") as caught:
        list(each(steps(), GUARD))
    assert MARK not in words_of(caught.value)


def test_a_csv_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name\nann\n")
    source = open_source(Csv(tmp_path / "a.csv"), SCHEMA)
    (tmp_path / "a.csv").unlink()
    with pytest.raises(SourceError, match=r'a\.csv" cannot be read \(FileNotFoundError'):
        source.count([("name",)])
