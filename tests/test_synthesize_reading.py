"""Nothing is read before it is reserved: a table that fails on its first read leaves a run on record that counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy
from release_tables import schema, table
from understudy.errors import SourceError, Spent, UserError
from understudy.ledger import Ledger
from understudy.privacy import Budget

SETTINGS: dict[str, Any] = {"epsilon": 1, "workload": "all-1way", "mechanism": "independent", "progress": False}


def raising(*_: object) -> Any:
    raise RuntimeError("something in the rows")


class Stream:
    """An Arrow stream that fails as soon as anybody asks for it."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return raising()


def lazy() -> pl.LazyFrame:
    frame = pl.from_arrow(table(20))
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy().map_batches(raising)


def lazy_file(folder: Path) -> pl.LazyFrame:
    (folder / "torn.parquet").write_bytes(b"PAR1 and nothing of the kind")
    return pl.scan_parquet(folder / "torn.parquet")


def failing_query(folder: Path) -> understudy.Sql:
    names = ", ".join(f'CAST(x AS INTEGER) AS "{name}"' for name in schema().domain)
    pq.write_table(pa.table({"x": ["1", "x"]}), folder / "t.parquet")
    return understudy.Sql(f"SELECT {names} FROM '{folder / 't.parquet'}'")


TABLES: dict[str, Callable[[Path], Any]] = {
    "a lazy frame": lambda folder: lazy(),
    "a lazy frame over a broken file": lazy_file,
    "a stream": lambda folder: Stream(),
    "a dict of columns of two lengths": lambda folder: {name: [1] * (1 + (name == "age")) for name in schema().domain},
    "a query over values that cannot be cast": failing_query,
    "a query without the columns": lambda folder: understudy.Sql("SELECT 1 AS other"),
}


@pytest.mark.promise(29)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_fails_on_its_first_read_leaves_a_run_on_record(name: str, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "budget.ledger")
    ledger.declare("visits", Budget.of(rho=1))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        understudy.synthesize(TABLES[name](tmp_path), schema(), ledger=ledger, dataset="visits", **SETTINGS)
    (run,) = ledger.state().runs
    assert run.state == "stopped"
    assert 0 < run.counts < run.budget
    assert caught.value.spent == Spent(run.counts, run.budget, run.counts, resumable=True)  # type: ignore[attr-defined]


@pytest.mark.promise(29)
@pytest.mark.parametrize("name", TABLES)
def test_until_the_budget_is_reserved_no_table_is_asked_for_anything(name: str, tmp_path: Path) -> None:
    """A ledger that refuses ends the run first: were the table opened before, its own failure would be seen instead."""
    ledger = Ledger.create(tmp_path / "budget.ledger")
    ledger.declare("visits", Budget.of(rho=1e-6))
    with pytest.raises(understudy.errors.BudgetExceeded) as caught:
        understudy.synthesize(TABLES[name](tmp_path), schema(), ledger=ledger, dataset="visits", **SETTINGS)
    assert ledger.state().runs == ()
    assert caught.value.spent is not None
    assert caught.value.spent.rho == caught.value.spent.counts == 0


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "one column of pandas": (lambda folder: pd.Series([1, 2]), "A Series is not a table"),
    "one column of polars": (lambda folder: pl.Series([1, 2]), "A Series is not a table"),
    "no such file": (lambda folder: folder / "none.csv", "no file"),
    "a frame without a column": (lambda folder: table(5).drop_columns(["sex"]), 'no column "sex"'),
    "a polars frame without a column": (lambda folder: pl.DataFrame({"age": [1]}), "lacks 8 of the 9 columns"),
    "a dict without a column": (lambda folder: {"age": [1]}, "lacks 8 of the 9 columns"),
    "a reader without a column": (lambda folder: pa.table({"age": [1]}).to_reader(), "lacks 8 of the 9 columns"),
    "two statements": (lambda folder: understudy.Sql("SELECT 1; SELECT 2"), "one SELECT"),
    "no database": (lambda folder: understudy.Sql("SELECT 1", folder / "none.duckdb"), "no database"),
    "no table": (lambda folder: object(), "not a table"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_names_alone_can_tell_is_refused_with_nothing_on_record(name: str, tmp_path: Path) -> None:
    make, says = WRONG[name]
    ledger = Ledger.create(tmp_path / "budget.ledger")
    ledger.declare("visits", Budget.of(rho=1))
    with pytest.raises(SourceError, match=says) as caught:
        understudy.synthesize(make(tmp_path), schema(), ledger=ledger, dataset="visits", **SETTINGS)
    assert ledger.state().runs == ()
    assert caught.value.spent == Spent()


@pytest.mark.promise(30)
def test_an_error_before_any_budget_is_known_says_that_nothing_was_spent() -> None:
    with pytest.raises(UserError) as caught:
        understudy.synthesize(table(5), schema(), workload="all-1way")
    assert caught.value.spent == Spent()
    assert caught.value.__notes__ == ["Nothing was spent."]
