"""The synthetic table in the kind of frame that came in: pandas, polars, Arrow, dicts, arrays.

Public: only the kind of a frame and the declared types of its columns are looked at, and no reference to it is kept. Where a
library picks a type by looking at values (pandas turns whole numbers into floats when one is missing, and mixed values into
objects), the schema decides instead, so that no row of the private table shows in the type of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema import Column, Schema
from understudy.schema.listed import Listed

Convert = Callable[[pa.Table], Any]


def like(data: Any, schema: Schema) -> Convert:
    """Return what turns an Arrow table of ``schema`` into the kind of table that ``data`` is."""
    if isinstance(data, np.ndarray):
        return _like_array(data, schema)
    if isinstance(data, Mapping):
        lists = any(isinstance(values, list) for values in data.values())
        return _to_lists if lists else _to_arrays
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        from understudy.release.as_pandas import like_pandas

        return like_pandas(data, schema)
    if library == "polars":
        from understudy.release.as_polars import like_polars

        return like_polars(data, schema)
    found = getattr(data, "schema", None)
    return _like_arrow(found, schema) if isinstance(found, pa.Schema) else _same


def _same(table: pa.Table) -> pa.Table:
    return table


def _to_lists(table: pa.Table) -> dict[str, list[Any]]:
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _to_arrays(table: pa.Table) -> dict[str, Any]:
    return {name: to_numpy(table.column(name)) for name in table.column_names}


def to_numpy(array: pa.ChunkedArray) -> Any:
    """Return a NumPy array: missing numbers are NaN, missing texts None, as NumPy users expect."""
    return (array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array).to_numpy()


def _like_array(data: np.ndarray[Any, Any], schema: Schema) -> Convert:
    if data.dtype.names is not None:
        return lambda table: np.rec.fromarrays([*_to_arrays(table).values()], names=table.column_names)
    fits = all(size - 1 <= np.iinfo(data.dtype).max for size in schema.domain.sizes)
    dtype = data.dtype if fits else np.dtype(np.int32)
    return lambda table: schema.encode(table).astype(dtype)


def _like_arrow(found: pa.Schema, schema: Schema) -> Convert:
    types = {column.name: found.field(column.name).type for column in schema.columns if column.name in found.names}

    def convert(table: pa.Table) -> pa.Table:
        columns = {c.name: as_arrow(table.column(c.name), c, types.get(c.name)) for c in schema.columns}
        return pa.table(columns, metadata=table.schema.metadata)

    return convert


def as_arrow(array: pa.ChunkedArray, column: Column, wanted: pa.DataType | None) -> pa.ChunkedArray:
    """Return ``array`` in the type ``wanted`` where the schema's values allow that, else as it is."""
    if wanted is None or wanted == array.type or not adoptable(column, wanted):
        return array
    if pa.types.is_dictionary(wanted):
        return with_categories(array, column, ordered=wanted.ordered)
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(array.type):
        return as_timestamp(array, wanted)
    try:
        return array.cast(wanted)
    except pa.ArrowException:
        return array


def adoptable(column: Column, wanted: pa.DataType) -> bool:
    """Say whether a frame's own type may be used: not where a value may have picked it.

    One odd value makes a column of numbers one of texts, and one missing value makes whole numbers floats; so a type of
    another family than the schema's is never taken over.
    """
    return not isinstance(wanted, pa.BaseExtensionType) and family(wanted) == family(column.type) != ""


def family(type_: pa.DataType) -> str:
    """Return what a type is for: all types that can be chosen for the same values without looking at them."""
    types = pa.types
    if types.is_dictionary(type_):
        return family(type_.value_type)
    tests: dict[str, Callable[[pa.DataType], bool]] = {
        "truth": types.is_boolean,
        "whole": types.is_integer,
        "real": types.is_floating,  # not decimals: their digits may have been counted over the values
        "text": lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t),
        "time": lambda t: types.is_date(t) or types.is_timestamp(t),
    }
    return next((name for name, fits in tests.items() if fits(type_)), "")


def as_timestamp(array: pa.ChunkedArray, wanted: pa.TimestampType) -> pa.ChunkedArray:
    """Change the unit and the time zone; without a zone a moment is what the clock on the wall shows."""
    if array.type.tz is not None and wanted.tz is None:
        array = pc.local_timestamp(array)
    return array.cast(wanted, safe=False)


def with_categories(array: pa.ChunkedArray, column: Column, *, ordered: bool) -> pa.ChunkedArray:
    """Return a column of categories: those of the schema, whatever categories the frame had."""
    if not isinstance(column, Listed):
        return array
    values = listed_values(column)
    plain = array.cast(values.type) if pa.types.is_dictionary(array.type) else array
    index = pc.index_in(plain, value_set=values).combine_chunks()
    return pa.chunked_array([pa.DictionaryArray.from_arrays(index, values, ordered=ordered)])


def listed_values(column: Listed) -> pa.Array:
    """Return the listed values in the order of their codes, without null."""
    codes = np.arange(column.size - column.nullable, dtype=np.int32)
    values = column.decode(codes, np.random.default_rng(0))
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
