"""What can be opened, and what a user is told when it cannot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.errors import SourceError
from understudy.schema import Schema, parse_schema
from understudy.schema.cells import Objects
from understudy.source import MemorySource, Source, open_source
from understudy.source.frames import column_of

PLAIN = Schema.from_domain({"age": 4, "sex": 2})
KINDS = parse_schema(
    """
    [columns.kind]
    kind = "categorical"
    values = ["a", "1", "true"]
    other = "?"
    nullable = true
    """
)


def test_integer_codes_need_only_a_domain() -> None:
    source: Source = MemorySource.of_codes(np.array([[0, 1], [3, 1], [3, 1]]), PLAIN.domain)
    assert source.count([("age", "sex")])[0].tolist() == [[0, 1], [0, 0], [0, 0], [0, 2]]


def test_a_table_without_declared_columns_still_has_rows() -> None:
    class Nothing:
        domain = fine = PLAIN.domain.project(())
        columns = gaps = ()
        person = None

    for data in (pa.table({"x": [1, 2, 3]}), pd.DataFrame({"x": [1, 2, 3]}), {"x": [1, 2, 3]}, np.empty((3, 0), int)):
        assert open_source(data, Nothing()).count([()])[0] == 3


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda f: f.__name__)
def test_a_missing_column_is_named_with_a_near_one(make: Callable[[Any], Any]) -> None:
    with pytest.raises(SourceError, match=r'no column "age".*Did you mean "agee"') as caught:
        open_source(make({"agee": [1, 2], "sex": [0, 1], "secret": [7, 7]}), PLAIN)
    assert "secret" not in str(caught.value)


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(SourceError, match='more than one column "age"'):
        open_source(pa.table([[1], [2], [0]], names=["age", "age", "sex"]), PLAIN)
    with pytest.raises(SourceError, match='more than one column "age"'):
        open_source(pd.DataFrame([[1, 2, 0]], columns=["age", "age", "sex"]), PLAIN)


@pytest.mark.parametrize("data", [42, None, object(), [1, 2], "people.xlsx", "nowhere.csv", "nowhere/*.parquet"])
def test_what_is_no_table_gets_a_clear_answer(data: Any) -> None:
    with pytest.raises(SourceError, match=r"Give a pandas|There is no file|No file matches"):
        open_source(data, PLAIN)


def test_a_folder_is_called_one(tmp_path: Any) -> None:
    with pytest.raises(SourceError, match=r"is a folder\. For all files in it, give a glob"):
        open_source(str(tmp_path), PLAIN)


def test_a_file_of_another_kind_lists_the_kinds(tmp_path: Any) -> None:
    (tmp_path / "people.xlsx").write_text("x")
    with pytest.raises(SourceError, match=r"\.csv.*\.parquet"):
        open_source(tmp_path / "people.xlsx", PLAIN)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (np.zeros((2, 3), int), "3 columns but the schema has 2"),
        (np.zeros(4, int), "1 dimension"),
        (np.zeros((2, 2)), "float64"),
    ],
)
def test_arrays_of_the_wrong_shape_or_type(codes: Any, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        open_source(codes, PLAIN)


def test_dicts_of_the_wrong_shape() -> None:
    with pytest.raises(SourceError, match="different lengths"):
        open_source({"age": [1], "sex": [1, 0]}, PLAIN)
    with pytest.raises(SourceError, match='"age" has 2 dimensions'):
        open_source({"age": np.zeros((2, 2)), "sex": [1, 0]}, PLAIN)
    with pytest.raises(SourceError, match='"age" is a str'):
        open_source({"age": "12", "sex": [1, 0]}, PLAIN)


def test_a_structured_array_is_a_table() -> None:
    data = np.array([(1, 0), (3, 1)], dtype=[("sex", "i8"), ("age", "f8")])
    assert open_source(data, PLAIN).count([("age", "sex")])[0].tolist() == [[0, 1], [0, 1], [0, 0], [0, 0]]


class Awkward:
    """A value whose own code fails."""

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise RuntimeError("a value may not stop a run")


MIXED: list[Any] = ["a", 1, 1.0, True, None, float("nan"), "\ud800", b"\xff", 2**80, Awkward(), ["x"], pd.NA, "b"]


@pytest.mark.parametrize("make", [lambda v: {"kind": v}, lambda v: pd.DataFrame({"kind": pd.Series(v, dtype=object)})])
def test_no_value_stops_a_run_nor_changes_the_code_of_another(make: Callable[[list[Any]], Any]) -> None:
    together = open_source(make(MIXED), KINDS).count([("kind",)])[0]
    assert together.sum() == len(MIXED)
    alone = sum(open_source(make([value]), KINDS).count([("kind",)])[0] for value in ["a", 1, 1.0, True, None, "b"])
    rest = open_source(make(MIXED[5:-1]), KINDS).count([("kind",)])[0]
    np.testing.assert_array_equal(together, alone + rest)
    assert together[:3].tolist() == [1, 2, 1]


def test_polars_objects_stay_objects() -> None:
    series = pl.Series("kind", ["a", 1, None], dtype=pl.Object)
    column = column_of(series, "kind")
    assert isinstance(column, Objects)
    assert list(column.values) == ["a", 1, None]


def test_a_failing_lazy_frame_does_not_quote_its_rows() -> None:
    lazy = pl.LazyFrame({"age": ["1", "SECRET"], "sex": [0, 1]}).with_columns(pl.col("age").cast(pl.Int64))
    with pytest.raises(SourceError) as caught:
        open_source(lazy, PLAIN)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_neither_pandas_nor_polars_is_needed_for_other_data() -> None:
    program = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled())
import pyarrow as pa
from understudy.schema import Schema
from understudy.source import open_source
schema = Schema.from_domain({"a": 2})
for data in (pa.table({"a": [0, 1]}), {"a": [0, 1, None, "x"]}):
    print(open_source(data, schema).count([("a",)])[0].tolist())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n") == ["[1, 1]", "[3, 1]", ""]
