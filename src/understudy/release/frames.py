"""The synthetic table in the kind of frame that came in: pandas, polars, Arrow, dicts, arrays.

Public: of the frame only its kind is looked at. The types of the columns are those of the schema. A frame's own types may
have been picked by a value, and would show it: one missing value makes floats of whole numbers, one odd value makes objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.release.synthetic import SyntheticTable
from understudy.schema import Schema

Convert = Callable[[SyntheticTable], Any]


def converter_for(data: Any, schema: Schema) -> Convert:
    """Return what turns synthetic rows of ``schema`` into the kind of table that ``data`` is."""
    if isinstance(data, np.ndarray):
        return _to_record_array if data.dtype.names is not None else lambda made: made.narrow.astype(np.int64)
    if isinstance(data, Mapping):
        lists = any(isinstance(values, list) for values in data.values())
        return _to_lists if lists else _to_arrays
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        from understudy.release.as_pandas import to_pandas

        return lambda made: to_pandas(made.arrow, schema)
    if library == "polars":
        from understudy.release.as_polars import to_polars

        lazy = type(data).__name__ == "LazyFrame"
        return lambda made: to_polars(made.arrow, schema, lazy=lazy)
    if library == "pyspark":
        session = data.sparkSession
        return lambda made: session.createDataFrame(plain(made.arrow))
    return to_arrow


def plain(table: pa.Table) -> pa.Table:
    """Return ``table`` with categories as their values, and nothing beside the rows."""
    types = [pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(types))


def to_arrow(made: SyntheticTable) -> pa.Table:
    """Return the Arrow table."""
    return made.arrow


def _to_lists(made: SyntheticTable) -> dict[str, list[Any]]:
    return {name: made.arrow.column(name).to_pylist() for name in made.arrow.column_names}


def _to_arrays(made: SyntheticTable) -> dict[str, Any]:
    return {name: to_numpy(made.arrow.column(name)) for name in made.arrow.column_names}


def _to_record_array(made: SyntheticTable) -> Any:
    return np.rec.fromarrays([*_to_arrays(made).values()], names=made.arrow.column_names)


def to_numpy(array: pa.ChunkedArray) -> Any:
    """Return a NumPy array: missing numbers are NaN, missing texts None, as NumPy users expect."""
    return (array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array).to_numpy()
