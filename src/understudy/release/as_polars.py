"""An Arrow table as a polars frame. Public; see ``frames``."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from understudy.schema import Column, Schema
from understudy.schema.derived import DerivedColumn


def to_polars(table: pa.Table, schema: Schema, *, lazy: bool) -> Any:
    """Return a polars frame with the types of the schema; its categories are an Enum of the listed values."""
    made = pl.DataFrame([_series(table.column(column.name), column) for column in schema.written])
    return made.lazy() if lazy else made


def _series(array: pa.ChunkedArray, column: Column | DerivedColumn) -> Any:
    series = pl.Series(column.name, pl.from_arrow(array))
    if not pa.types.is_dictionary(array.type):
        return series
    values = array.combine_chunks().dictionary if array.num_chunks else pa.array([], pa.string())
    return series.cast(pl.String).cast(pl.Enum([str(value) for value in values.to_pylist()]))
