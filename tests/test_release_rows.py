"""Synthetic rows some at a time: the same values and the same files as all at once, and codes as narrow as declared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from release_tables import SCHEMA, quick, schema, table
from understudy.release.synthetic import ROWS_TOGETHER, SyntheticTable, narrowed
from understudy.release.tables import write_table, write_tables
from understudy.schema import Schema, parse_schema
from understudy.schema.binned import Binned

ORDERED = (
    SCHEMA
    + """
[columns.later]
kind = "datetime"
min = 2024-01-01T00:00:00
max = 2024-12-31T23:59:59
width = "quarter"
nullable = true
[columns.young]
kind = "derived"
expression = "age + 1"
[[zeros]]
always = "seen <= later"
"""
)


def schemas() -> list[Schema]:
    return [schema(), parse_schema(ORDERED, source="ordered.toml")]


def drawn(declared: Schema, rows: int = 1000) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Codes that no structural zero forbids, and weights inside the bins of the first column that has such."""
    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, size, rows) for size in declared.domain.sizes]).astype(np.int32)
    for zero in declared.zeros:
        places = [declared.domain.index(a) for a in zero.clique]
        codes = codes[~np.array([tuple(row) in set(map(tuple, zero.cells)) for row in codes[:, places]])]
    column = declared["age"]
    assert isinstance(column, Binned)
    assert column.fine is not None
    return codes, {"age": rng.random(len(column.fine.bins.lowest)) + 0.1}


@pytest.mark.parametrize("declared", schemas(), ids=["plain", "ordered"])
@pytest.mark.parametrize("step", [1, 37, 5000])
def test_rows_are_the_same_some_at_a_time(declared: Schema, step: int, tmp_path: Path) -> None:
    codes, inside = drawn(declared)
    whole = declared.decode(codes, np.random.default_rng(9), inside)
    made = SyntheticTable.of_drawn(declared, codes, np.random.default_rng(9), inside)
    assert pa.concat_tables(made.tables(step)).equals(whole)
    for name in declared.domain:
        assert made.column(name).equals(whole.column(name))
    write_table(whole, tmp_path / "whole.csv", declared)
    write_tables(made.tables(step), tmp_path / "parts.csv", declared)
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "parts.csv").read_bytes()
    assert made.arrow.equals(whole)
    assert made.codes.dtype == np.int32
    assert (made.codes == codes).all()


def test_a_generator_that_goes_on_changes_no_row() -> None:
    declared, rng = schema(), np.random.default_rng(9)
    codes, inside = drawn(declared)
    made = SyntheticTable.of_drawn(declared, codes, rng, inside)
    rng.random(100)
    assert made.arrow.equals(declared.decode(codes, np.random.default_rng(9), inside))
    assert pa.concat_tables(made.marked("").tables(10)).equals(made.arrow)


def test_only_columns_whose_bins_hold_several_values_draw() -> None:
    declared, rng = schema(), np.random.default_rng(9)
    codes, _ = drawn(declared)
    before = rng.bit_generator.state
    for position, column in enumerate(declared.columns):
        if not (isinstance(column, Binned) and column.drawn):
            column.decode(codes[:, position], rng)
    assert rng.bit_generator.state == before
    assert [c.name for c in declared.columns if isinstance(c, Binned) and c.drawn] == ["age", "pay", "born", "seen"]


def test_a_parquet_file_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    rows = 2 * ROWS_TOGETHER + 5
    declared = Schema.from_domain({"a": 7, "b": 300})
    codes = np.column_stack([np.arange(rows) % 7, np.arange(rows) % 300]).astype(np.int32)
    made = SyntheticTable.of_drawn(declared, codes, np.random.default_rng(0), {}).marked("for research")
    write_tables(made.tables(), tmp_path / "parts.parquet", declared)
    write_table(made.arrow, tmp_path / "whole.parquet", declared)
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "parts.parquet").read_bytes()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_to_look_at_the_table_changes_no_file(kind: str, tmp_path: Path) -> None:
    """Also for a table without rows."""
    for rows in (None, 0):
        first, second = (quick(table(), rows=rows) for _ in range(2))
        _ = second.table, second.codes
        saved = [release.save(tmp_path / f"{i}-{rows}", format=kind) for i, release in enumerate((first, second))]  # type: ignore[arg-type]
        name = f"synthetic.NOT-PRIVATE.{kind}"
        assert (saved[0] / name).read_bytes() == (saved[1] / name).read_bytes()
        assert "arrow" not in vars(first.synthetic)  # it was written without ever being whole


def test_codes_are_as_narrow_as_the_schema_whatever_the_rows() -> None:
    codes = np.zeros((3, 2), np.int32)
    for largest, kind in [(256, np.uint8), (257, np.uint16), (70_000, np.uint32)]:
        assert narrowed(codes, Schema.from_domain({"a": 2, "b": largest}).domain).dtype == kind
