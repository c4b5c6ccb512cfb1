"""An Arrow table as a pandas frame. Public; see ``frames``."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from understudy.release.marks import mark_of
from understudy.schema import Column, Schema
from understudy.schema.derived import DerivedColumn

_NAMES = (*(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64")
NULLABLE = {pa.bool_(): pd.BooleanDtype()} | {getattr(pa, n.lower())(): getattr(pd, f"{n}Dtype")() for n in _NAMES}
"""The types of pandas that have a missing value of their own, for those of Arrow."""


def to_pandas(table: pa.Table, schema: Schema, *, nullable: bool = False) -> Any:
    """Return a pandas frame with pandas' usual type for each type of the schema; or with its ``nullable`` ones.

    Which of them the private frame had is not looked at: one value may have picked them.
    """
    made = pd.DataFrame({column.name: _series(table.column(column.name), column, nullable) for column in schema.written})
    made.attrs = mark_of(table)
    return made


def _series(array: pa.ChunkedArray, column: Column | DerivedColumn, nullable: bool) -> Any:
    """Return one column, of the same type whether or not a null was drawn."""
    if nullable and array.type in NULLABLE:
        return pd.Series(NULLABLE[array.type].__from_arrow__(array))
    if pa.types.is_boolean(array.type):
        return pd.Series(pd.arrays.ArrowExtensionArray(array)).astype("boolean" if column.decodes_null else "bool")
    series = array.to_pandas()
    if pa.types.is_integer(array.type) and column.decodes_null:
        return series.astype("float64")
    return series
