"""Tables in memory, of whatever library, as Arrow columns: the declared ones, and never an error on a value.

PRIVATE: holds the rows. Libraries are recognised by what the object is, and none is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.errors import SourceError, did_you_mean

_BATCH_ROWS = 2**16
_FAILURES = (pa.ArrowException, TypeError, ValueError, OverflowError)


class ColumnsReader:
    """Arrow columns in memory, all of one length."""

    def __init__(self, columns: Mapping[str, pa.ChunkedArray | pa.Array], rows: int) -> None:
        self._columns, self._rows = columns, rows

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""
        if not names:
            # Arrow tables without columns forget their rows.
            column = pa.nulls(self._rows)
            yield pa.RecordBatch.from_arrays([column], [""])
            return
        table = pa.table({name: self._columns[name] for name in names})
        yield from table.to_batches(max_chunksize=_BATCH_ROWS)


def require(declared: Iterable[str], found: Sequence[str], where: str) -> None:
    """Raise when a declared column is missing or ambiguous; other columns are nobody's business."""
    for name in declared:
        if name not in found:
            hint = did_you_mean(name, found)
            raise SourceError(f'{where} has no column "{name}", which the schema declares.{hint}')
        if found.count(name) > 1:
            raise SourceError(f'{where} has more than one column "{name}"; names must differ.')


def read_mapping(data: Mapping[Any, Any], names: Sequence[str]) -> ColumnsReader:
    """Read a dict of arrays or lists."""
    keys = {str(key): key for key in data}
    require(names, [str(key) for key in data], "The dict")
    columns = {name: arrow_column(data[keys[name]], name) for name in names}
    if len({len(column) for column in columns.values()}) > 1:
        raise SourceError("The columns of the dict have different lengths; give each the same number of values.")
    first = next(iter(columns.values()), None)
    return ColumnsReader(columns, _rows_of_mapping(data) if first is None else len(first))


def read_pandas(frame: Any, names: Sequence[str]) -> ColumnsReader:
    """Read a pandas frame; its index is no column."""
    found = [str(name) for name in frame.columns]
    require(names, found, "The pandas frame")
    columns = {name: arrow_column(frame.iloc[:, found.index(name)], name) for name in names}
    return ColumnsReader(columns, len(frame))


def read_polars(frame: Any, names: Sequence[str]) -> ColumnsReader:
    """Read a polars frame, or a lazy frame (of which only the declared columns are collected)."""
    lazy = not hasattr(frame, "height")
    require(names, list(frame.collect_schema().names() if lazy else frame.columns), "The polars frame")
    if lazy:
        frame = _collect(frame, names)
    return ColumnsReader({name: arrow_column(frame[name], name) for name in names}, frame.height)


def read_arrow(data: Any, names: Sequence[str]) -> ColumnsReader:
    """Read an Arrow table, batch or reader, or anything that exports an Arrow stream."""
    table = data if isinstance(data, pa.Table) else _to_table(data)
    require(names, table.column_names, "The Arrow table")
    return ColumnsReader({name: table.column(name) for name in names}, table.num_rows)


def arrow_column(values: Any, name: str) -> pa.ChunkedArray | pa.Array:
    """Make an Arrow column of any one-dimensional thing; values of mixed types are spelled out as text."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise SourceError(f'Column "{name}" is a {type(values).__name__}; give an array or a list of values.')
    if getattr(values, "ndim", 1) != 1:
        raise SourceError(f'Column "{name}" has {values.ndim} dimensions; give one value for each row.')
    try:
        if hasattr(values, "to_arrow"):
            # polars would hand out its objects as memory addresses.
            return _spelled(values) if str(values.dtype) == "Object" else values.to_arrow()
        return pa.array(values, from_pandas=True)
    except _FAILURES:
        return _spelled(values)


def _spelled(values: Iterable[Any]) -> pa.Array:
    spelling: dict[Any, str | None] = {}
    return pa.array([_spell(value, spelling) for value in values], pa.large_string())


def _spell(value: Any, spelling: dict[Any, str | None]) -> str | None:
    """Spell a value as it would be in a column of its own type, so that no neighbour changes its code."""
    try:
        key = (type(value), value)
        if key not in spelling:
            spelling[key] = _text(value)
        return spelling[key]
    except TypeError:  # cannot be a key
        return _text(value)


def _text(value: Any) -> str | None:
    try:
        scalar = pa.array([value], from_pandas=True)[0]
        text = scalar.cast(pa.large_string()).as_py()
    except (*_FAILURES, KeyError):
        text = _own_text(value)
    return None if text is None else text.encode("utf-8", "replace").decode()


def _own_text(value: Any) -> str | None:
    try:
        return str(value)
    except Exception:  # a value's own code may raise anything, and no value may stop a run
        return None


def _to_table(data: Any) -> pa.Table:
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    try:
        reader = data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
        return reader.read_all()
    except (pa.ArrowException, OSError):
        failed = type(data).__name__
    # Raised out here so that the cause, which may quote the table, is not attached.
    raise SourceError(f"The Arrow stream of this {failed} cannot be read; its own error may quote the table.")


def _collect(frame: Any, names: Sequence[str]) -> Any:
    try:
        return frame.select(list(names)).collect() if names else frame.collect()
    except Exception as error:  # polars' own errors, which cannot be named without importing it
        failed = type(error).__name__
    raise SourceError(f"The polars lazy frame cannot be collected ({failed}); its own error may quote the table.")


def _rows_of_mapping(data: Mapping[Any, Any]) -> int:
    return max((len(values) for values in data.values() if isinstance(values, Sequence | np.ndarray)), default=0)
