"""An Arrow table as a pandas frame. Public; see ``frames``."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from understudy.release.marks import mark_of
from understudy.schema import Column, Schema
from understudy.schema.derived import DerivedColumn


def to_pandas(table: pa.Table, schema: Schema) -> Any:
    """Return a pandas frame with pandas' usual type for each type of the schema."""
    made = pd.DataFrame({column.name: _series(table.column(column.name), column) for column in schema.written})
    made.attrs = mark_of(table)
    return made


def _series(array: pa.ChunkedArray, column: Column | DerivedColumn) -> Any:
    """Return one column, of the same type whether or not a null was drawn."""
    if pa.types.is_boolean(array.type):
        return pd.Series(pd.arrays.ArrowExtensionArray(array)).astype("boolean" if column.decodes_null else "bool")
    series = array.to_pandas()
    if pa.types.is_integer(array.type) and column.decodes_null:
        return series.astype("float64")
    return series
