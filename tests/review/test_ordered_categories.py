"""Ordered categories are drafted in their order, as ordinal columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.review import check_schema, draft_schema
from understudy.review.groups import groups_of
from understudy.review.marks import marks_of
from understudy.schema import parse_schema

SIZES = ["small", "middle", "large", "huge"]
FRAME = pd.DataFrame(
    {
        "size": pd.Categorical(SIZES[:3] * 40, categories=SIZES, ordered=True),
        "town": pd.Categorical(["Ulm", "Bonn", "Aue", "Ulm"] * 30, categories=["Ulm", "Bonn", "Aue"]),
    }
)


@pytest.mark.parametrize("form", ["frame", "Arrow", "Parquet"])
def test_ordered_categories_are_ordinal(form: str, tmp_path: Path) -> None:
    table: Any = FRAME if form == "frame" else pa.Table.from_pandas(FRAME)
    if form == "Parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        table = str(tmp_path / "t.parquet")
    text = draft_schema(table)
    schema = parse_schema(text)
    assert [column.kind for column in schema.columns] == ["ordinal", "categorical"]
    assert schema["size"].labels == ("small", "middle", "large")
    assert schema["town"].labels == ("Aue", "Bonn", "Ulm")
    assert [", in this order; " in mark.message for mark in marks_of(text)] == [True, False]
    assert len(groups_of(text)) == 1
    assert check_schema(table, schema) == []
    back = schema.decode(np.array([[0, 0], [2, 1]], np.int32), np.random.default_rng(0))
    assert back.schema.field("size").type.ordered


def test_parts_of_a_table_that_differ_in_the_order_have_none() -> None:
    def part(order: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 40, pa.int8()), order, ordered=True)

    def kind(first: list[str], second: list[str]) -> str:
        return parse_schema(draft_schema(pa.table({"size": pa.chunked_array([part(first), part(second)])})))["size"].kind

    assert kind(SIZES, SIZES[:3]) == "ordinal"
    assert kind(SIZES, SIZES[::-1]) == "categorical"
