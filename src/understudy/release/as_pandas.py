"""An Arrow table as a pandas frame with the types of the frame that came in. Public; see ``frames``."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from understudy.release.frames import Convert, as_arrow, as_timestamp, family, listed_values
from understudy.release.marks import mark_of
from understudy.schema import Column, Schema
from understudy.schema.listed import Listed


def like_pandas(frame: Any, schema: Schema) -> Convert:
    """Return what makes a pandas frame with the types of ``frame``'s columns."""
    dtypes = dict(zip([str(name) for name in frame.columns], frame.dtypes, strict=True))

    def convert(table: pa.Table) -> Any:
        made = pd.DataFrame({c.name: _series(table.column(c.name), c, dtypes.get(c.name)) for c in schema.columns})
        made.attrs = mark_of(table)
        return made

    return convert


def _series(array: pa.ChunkedArray, column: Column, dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(column, Listed):
        categories = listed_values(column).to_pylist()
        return pd.Series(pd.Categorical(array.to_pylist(), categories=categories, ordered=bool(dtype.ordered)))
    if isinstance(dtype, pd.ArrowDtype):
        return pd.Series(pd.arrays.ArrowExtensionArray(as_arrow(array, column, dtype.pyarrow_dtype)))
    if _is_moment(dtype) and (pa.types.is_timestamp(array.type) or pa.types.is_date(array.type)):
        return _moments(array, dtype)
    plain = _plain(array, column)
    if (_keeps_nulls(dtype) and _fits(dtype, array.type)) or (_is_float(dtype) and _is_float(plain.dtype)):
        try:
            return plain.astype(dtype)
        except (TypeError, ValueError, OverflowError):
            return plain
    return plain


def _is_moment(dtype: Any) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(dtype))


def _is_float(dtype: Any) -> bool:
    return getattr(dtype, "kind", "") == "f"


def _keeps_nulls(dtype: Any) -> bool:
    """Say whether pandas would not have chosen another type for the sake of a missing value."""
    return isinstance(dtype, pd.api.extensions.ExtensionDtype) and not isinstance(dtype, pd.CategoricalDtype)


def _fits(dtype: Any, type_: pa.DataType) -> bool:
    """Say whether an extension type is for such values as the schema's: one odd value may have picked another."""
    types = pd.api.types
    if isinstance(dtype, pd.StringDtype):
        return family(type_) == "text"
    tests = {"truth": types.is_bool_dtype, "whole": types.is_integer_dtype, "real": types.is_float_dtype}
    return family(type_) in tests and bool(tests[family(type_)](dtype))


def _moments(array: pa.ChunkedArray, dtype: Any) -> Any:
    zone = None if dtype.kind == "M" and not hasattr(dtype, "tz") else str(dtype.tz)
    unit = getattr(dtype, "unit", None) or dtype.name.partition("[")[2].rstrip("]")
    days = array.cast(pa.timestamp("s")) if pa.types.is_date(array.type) else array
    return as_timestamp(days, pa.timestamp(unit, zone)).to_pandas().astype(dtype)


def _plain(array: pa.ChunkedArray, column: Column) -> Any:
    """Return pandas' usual type for the schema's, the same whether or not a null was drawn."""
    if pa.types.is_boolean(array.type):
        return pd.Series(pd.arrays.ArrowExtensionArray(array)).astype("boolean" if column.nullable else "bool")
    series = array.to_pandas()
    if pa.types.is_integer(array.type) and column.nullable:
        return series.astype("float64")
    return series
