"""Arrow columns taken apart by kind. The type of a column says what its values are; where it does not, each is looked at.

Sees private rows and never raises on a value. No type is inferred over a column, and no column is read twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.cells import ALL, Cells, Kind, Objects, Part
from understudy.schema.objects import parts_of
from understudy.schema.reading import flags, is_text

DAY = 86_400
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def cells_of(values: pa.Array | Objects) -> Cells:
    """Look at each value of a plain Arrow array (not a dictionary), or at each object."""
    if isinstance(values, Objects):
        return Cells(len(values), tuple(parts_of(values)))
    if values.type in _VIEWS:  # Arrow does less with these
        values = pc.cast(values, _VIEWS[values.type])
    read = _typed(values.type)
    if read is None:
        return cells_of(Objects(_unpacked(values)))
    kind, convert = read
    missing = flags(pc.is_null(values))
    if not missing.any():
        return Cells(len(values), (Part(kind, ALL, convert(values)),))
    present = Part(kind, np.flatnonzero(~missing), convert(values.drop_null()))
    return Cells(len(values), (present, Part(Kind.MISSING, np.flatnonzero(missing), None)))


def _unpacked(array: pa.Array) -> list[Any]:
    """Return Python objects of a type that is read object by object; what Python cannot hold stays an Arrow scalar."""
    found = []
    for scalar in array:
        try:
            found.append(scalar.as_py())
        except Exception:  # as_py may raise anything, and no value may stop a run
            found.append(scalar)
    return found


def _typed(kind: pa.DataType) -> tuple[Kind, Callable[[pa.Array], Any]] | None:
    """Return what a column of this type holds and how to read it; None where that depends on the value."""
    types = pa.types
    readers: list[tuple[bool, Kind, Callable[[pa.Array], Any]]] = [
        (types.is_boolean(kind), Kind.BOOLEAN, flags),
        (types.is_integer(kind) or types.is_floating(kind), Kind.NUMBER, _floats),
        (types.is_decimal(kind), Kind.NUMBER, _decimals),
        (types.is_null(kind) or is_text(kind), Kind.TEXT, _text),
        (types.is_timestamp(kind) and kind.tz is not None, Kind.INSTANT, _seconds),
        (types.is_timestamp(kind) or types.is_date(kind), Kind.WALL_CLOCK, _seconds),
        (is_binary(kind), Kind.TEXT, _bytes_as_text),
    ]
    return next(((held, read) for fits, held, read in readers if fits), None)


def is_binary(kind: pa.DataType) -> bool:
    """Whether ``kind`` is any of Arrow's types of bytes."""
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _floats(array: pa.Array) -> NDArray[np.float64]:
    cast = pc.cast(array, pa.float64(), safe=False)
    return np.asarray(cast.to_numpy(zero_copy_only=False), dtype=np.float64)


def _decimals(array: pa.Array) -> NDArray[np.float64]:
    """Through their digits, so that each is the float nearest to it, as anywhere else."""
    return _floats(pc.cast(pc.cast(array, pa.large_string()), pa.float64()))


def _seconds(array: pa.Array) -> NDArray[np.int64]:
    kind = array.type
    width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    ticks = array.view(width).to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_date32(kind):
        return np.asarray(ticks * DAY, dtype=np.int64)
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    return np.asarray(ticks // PER_SECOND[unit], dtype=np.int64)


def _text(array: pa.Array) -> pa.Array:
    """Text as it is; Arrow does not promise that its bytes are UTF-8, so they are looked at."""
    text = pc.cast(array, pa.large_string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return _bytes_as_text(pc.cast(text, pa.large_binary()))
    return text


def _bytes_as_text(array: pa.Array) -> pa.Array:
    """Bytes as UTF-8; a byte that is not becomes U+FFFD, in its own value only."""
    binary = pc.cast(array, pa.large_binary())
    try:
        return pc.cast(binary, pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([value.as_buffer().to_pybytes().decode("utf-8", "replace") for value in binary], pa.large_string())
