"""Tables in memory, of whatever library, as columns: the declared ones, and never an error on a value.

PRIVATE: holds the rows. Libraries are recognised by what the object is, and none is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.errors import SourceError, did_you_mean
from understudy.schema.cells import Categories, Objects
from understudy.schema.column import Held

_BATCH_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: one column after another, each as it was held."""

    num_rows: int
    columns: tuple[Held, ...]

    def column(self, position: int) -> Held:
        """Return one column."""
        return self.columns[position]


class ColumnsReader:
    """Columns in memory, all of one length."""

    def __init__(self, columns: Mapping[str, Held], rows: int) -> None:
        self._columns, self._rows = columns, rows

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """Yield all rows, some at a time."""
        for start in range(0, self._rows, _BATCH_ROWS):
            rows = min(_BATCH_ROWS, self._rows - start)
            yield Batch(rows, tuple(self._columns[name].slice(start, rows) for name in names))


MOST_NAMED = 12
"""Missing columns that a message names."""
HEADER = (
    " Does its first line hold the names of the columns? If not, give them with --header, or as header under [table.csv]."
)


def require(declared: Iterable[str], found: Sequence[str], where: str, *, quote: bool = True) -> None:
    """Raise when a declared column is missing or ambiguous; ``quote`` says whether a name like it may be shown."""
    wanted = list(declared)
    missing = [name for name in wanted if name not in found]
    if len(missing) == 1 or (missing and not quote):
        hint = did_you_mean(missing[0], found) if quote else HEADER
        raise SourceError(f'{where} has no column "{missing[0]}", which the schema declares.{hint}')
    if missing:
        raise SourceError(
            f"{where} lacks {len(missing)} of the {len(wanted)} columns that the schema declares:{_listed(missing, found)}"
        )
    for name in wanted:
        if found.count(name) > 1:
            raise SourceError(f'{where} has more than one column "{name}"; names must differ.')


def require_all_named(names: Sequence[str], where: str) -> None:
    """Raise when a column has no name: nothing can be declared of it."""
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise SourceError(
                f"{where} has a column without a name (number {place} of {len(names)}), of which nothing can be declared. "
                "Rename it, or leave it out: pandas writes an index that way, unless it is told index=False."
            )


def _listed(missing: Sequence[str], found: Sequence[str]) -> str:
    """Return the missing names, a line each; where most are missing and none is like another, ask which table it is."""
    hints = {name: did_you_mean(name, found) for name in missing}
    lines = "".join(f'\n  "{name}".{hint}' for name, hint in [*hints.items()][:MOST_NAMED])
    more = f"\n  and {len(missing) - MOST_NAMED:,} more." if len(missing) > MOST_NAMED else ""
    return lines + more + ("" if any(hints.values()) else "\nIs it the table that the schema was written for?")


def read_mapping(data: Mapping[Any, Any], names: Sequence[str]) -> ColumnsReader:
    """Read a dict of arrays or lists."""
    keys = {str(key): key for key in data}
    require(names, [str(key) for key in data], "The dict")
    columns = {name: column_of(data[keys[name]], name) for name in names}
    if len({len(column) for column in columns.values()}) > 1:
        raise SourceError("The columns of the dict have different lengths; give each the same number of values.")
    first = next(iter(columns.values()), None)
    return ColumnsReader(columns, _rows_of_mapping(data) if first is None else len(first))


def read_pandas(frame: Any, names: Sequence[str]) -> ColumnsReader:
    """Read a pandas frame; its index is no column."""
    found = [str(name) for name in frame.columns]
    require(names, found, "The pandas frame")
    columns = {name: column_of(frame.iloc[:, found.index(name)], name) for name in names}
    return ColumnsReader(columns, len(frame))


def read_polars(frame: Any, names: Sequence[str]) -> ColumnsReader:
    """Read a polars frame, or a lazy frame (of which only the declared columns are collected)."""
    lazy = not hasattr(frame, "height")
    require(names, list(frame.collect_schema().names() if lazy else frame.columns), "The polars frame")
    if lazy:
        frame = _collect(frame, names)
    return ColumnsReader({name: column_of(frame[name], name) for name in names}, frame.height)


def read_arrow(data: Any, names: Sequence[str]) -> ColumnsReader:
    """Read an Arrow table, batch or reader, or anything that exports an Arrow stream."""
    table = data if isinstance(data, pa.Table) else _to_table(data)
    require(names, table.column_names, "The Arrow table")
    return ColumnsReader({name: table.column(name) for name in names}, table.num_rows)


def column_of(values: Any, name: str) -> Held:
    """Return any one-dimensional thing as a column: by its type where it has one, else as objects.

    What becomes of a value may depend on the type of its column, which its owner chose, and never on another value.
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise SourceError(f'Column "{name}" is a {type(values).__name__}; give an array or a list of values.')
    if getattr(values, "ndim", 1) != 1:
        raise SourceError(f'Column "{name}" has {values.ndim} dimensions; give one value for each row.')
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        return _pandas_column(values)
    if library == "polars":
        return _polars_column(values)
    return _numpy_column(values) if isinstance(values, np.ndarray) else Objects(list(values))


def _pandas_column(values: Any) -> Held:
    kind = values.dtype
    if isinstance(kind, np.dtype):
        return _numpy_column(values.to_numpy())
    if kind.name == "category":
        categories = values.cat if hasattr(values, "cat") else values
        return Categories(_pandas_column(categories.categories), np.asarray(categories.codes))
    if type(kind).__name__ == "SparseDtype":
        return _numpy_column(np.asarray(values))
    if type(kind).__name__ == "DatetimeTZDtype":
        return pa.array(values.to_numpy(f"datetime64[{kind.unit}]").astype("datetime64[s]"), pa.timestamp("s", "UTC"))
    if type(kind).__name__ in _TYPED_IN_PANDAS or getattr(kind, "storage", None) == "pyarrow":
        return pa.array(values, from_pandas=True)
    return Objects(list(values))


_TYPED_IN_PANDAS = {
    *(f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *("Float32Dtype", "Float64Dtype", "BooleanDtype", "ArrowDtype"),
}
"""The classes of pandas' dtypes whose values are of one type, which Arrow has too."""


def _polars_column(values: Any) -> Held:
    kind = str(values.dtype.base_type())
    if kind in ("Int128", "UInt128"):
        return values.cast(type(values)([0.0]).dtype, strict=False).to_arrow()
    # Not through polars' own Python objects: a value that Python cannot hold makes polars panic.
    return Objects(values.to_list()) if kind == "Object" else values.to_arrow()


def _numpy_column(values: NDArray[Any]) -> Held:
    kind = values.dtype.kind
    if isinstance(values, np.ma.MaskedArray) or kind not in "biufM":
        return Objects(values.tolist() if kind in "SU" else list(values))
    if kind == "M" and np.datetime_data(values.dtype)[0] == "as":  # NumPy does not convert these all at once
        return Objects(list(values))
    if kind == "M":
        # Whole seconds are all that is read of a moment; NaT is a null to Arrow.
        return pa.array(values.astype("datetime64[s]"))
    if kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # beyond float64 is infinite
            return pa.array(values.astype(np.float64))
    return pa.array(values.astype(values.dtype.newbyteorder("=")), from_pandas=True)


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
