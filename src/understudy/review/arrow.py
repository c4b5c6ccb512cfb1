"""Any table in memory as an Arrow table, for a draft: values of mixed types are spelled as text.

NOT PRIVATE: reads rows for their owner, before any release. Private counting never looks at a column as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.errors import SourceError
from understudy.source.guard import guarded

_ALONE = (str, bool, int, float, Decimal, date, datetime, time, bytes)
"""Kinds of value that Arrow can be trusted with when a column holds no other."""
_MISSING = ("NAType", "NaTType")


def arrow_table(data: Any) -> pa.Table:
    """Return an Arrow table of every column of a frame, dict, structured array or Arrow table."""
    with guarded(f"This {type(data).__name__}"):
        return _table(data)


def _table(data: Any) -> pa.Table:
    library = type(data).__module__.partition(".")[0]
    if isinstance(data, pa.Table | pa.RecordBatch):
        return pa.table(data)
    if library == "pandas" and hasattr(data, "iloc"):
        return _named((str(name), data.iloc[:, i]) for i, name in enumerate(data.columns))
    if library == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        return _named((name, frame[name]) for name in frame.columns)
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return _named((name, data[name]) for name in data.dtype.names)
    if isinstance(data, Mapping):
        return _named((str(name), values) for name, values in data.items())
    if isinstance(data, pa.RecordBatchReader) or hasattr(data, "__arrow_c_stream__"):
        return (data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)).read_all()
    if isinstance(data, np.ndarray):
        raise SourceError("An array of codes has no names of columns to declare; write its schema as a plain domain file.")
    raise SourceError(f"A {type(data).__name__} is not a table that can be opened.")


def arrow_batches(read: Callable[[], Iterator[Any]], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Return what ``read`` yields as Arrow batches; objects in one type a column, for which all rows are looked at first."""
    first = next(read(), None)
    if first is None or isinstance(first, pa.RecordBatch):
        return read()
    found: list[set[pa.DataType]] = [set() for _ in names]
    for batch in read():
        for kinds, column in zip(found, batch.columns, strict=True):
            kinds.add(_column(column.values).type)
    schema = pa.schema([(name, _one_type(kinds)) for name, kinds in zip(names, found, strict=True)])
    return (_batch_of(batch.columns, schema) for batch in read())


def _one_type(kinds: set[pa.DataType]) -> pa.DataType:
    kinds = kinds - {pa.null()}
    if len(kinds) <= 1:
        return next(iter(kinds), pa.large_string())
    return pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.large_string()


def _batch_of(columns: Sequence[Any], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        _texts([_plain(value) for value in column.values])
        if one.type == pa.large_string()
        else _column(column.values).cast(one.type)
        for column, one in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _named(columns: Iterable[tuple[str, Any]]) -> pa.Table:
    pairs = list(columns)
    return pa.table([_column(values) for _, values in pairs], names=[name for name, _ in pairs])


def _column(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    dtype = str(getattr(values, "dtype", "object"))
    if dtype.lower() != "object":
        return values.to_arrow() if hasattr(values, "to_arrow") else pa.array(values, from_pandas=True)
    plain = [_plain(value) for value in values]
    kinds = {type(value) for value in plain if value is not None}
    if kinds <= {int, float} or (len(kinds) == 1 and kinds <= set(_ALONE)):
        return _inferred(plain)
    return _texts(plain)


def _inferred(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):  # an integer beyond 64 bits, a lone surrogate
        return _texts(values)


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's own, and None for whatever means missing."""
    if value is None or type(value).__name__ in _MISSING or (isinstance(value, float | np.floating) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.bool_ | np.integer | np.floating | np.str_) else value


def _texts(values: list[Any]) -> pa.Array:
    return pa.array([None if value is None else _text(value) for value in values], pa.large_string())


def _text(value: Any) -> str | None:
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # a value's own code may raise anything
        return None
