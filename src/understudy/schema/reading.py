"""Reads Arrow values of whatever type a table has into numbers or text, never raising on a value.

Sees private rows; what leaves this module is arrays of the same length, never a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Bools = NDArray[np.bool_]

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity)$"
NOT_A_NUMBER = r"^[+-]?(?i:nan)$"


class Fault(IntEnum):
    """Why a value does not fit its column; ``FITS`` when it does."""

    FITS = 0
    MISSING = 1
    UNREADABLE = 2
    UNLISTED = 3
    BELOW = 4
    ABOVE = 5
    FRACTION = 6

    @property
    def words(self) -> str:
        """Say it for a person."""
        return _WORDS[self]


_WORDS = {
    Fault.FITS: "fits",
    Fault.MISSING: "missing",
    Fault.UNREADABLE: "not readable as this kind",
    Fault.UNLISTED: "not listed",
    Fault.BELOW: "below min",
    Fault.ABOVE: "above max",
    Fault.FRACTION: "not a whole number",
}


@dataclass(frozen=True, eq=False)
class Reading:
    """What a column made of an array: a provisional code per row (clamped), and the fault of each row."""

    codes: NDArray[np.int32]
    faults: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Values:
    """Canonical numbers per row; ``missing`` and ``unreadable`` rows hold an arbitrary number."""

    numbers: NDArray[np.float64] | NDArray[np.int64]
    missing: Bools
    unreadable: Bools


def is_text(kind: pa.DataType) -> bool:
    """Whether ``kind`` is any of Arrow's text types."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether ``kind`` counts: integers, floats, decimals."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def nothing(length: int) -> Values:
    """Every row unreadable."""
    return Values(np.zeros(length), np.zeros(length, dtype=bool), np.ones(length, dtype=bool))


def flags(array: pa.Array) -> Bools:
    """Return an Arrow boolean array as NumPy; null counts as false."""
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def nulls_of(array: pa.Array) -> Bools:
    """Rows that are null or NaN."""
    return flags(pc.is_null(array, nan_is_null=True))


def text_of(array: pa.Array) -> pa.Array | None:
    """Return the values spelled as text (1.0 as "1"), or None when the type cannot be spelled."""
    kind = array.type
    spelled = is_text(kind) or is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)
    if not spelled or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return None
    try:
        return pc.cast(array, pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def missing_text(text: pa.Array, nulls: tuple[str, ...]) -> Bools:
    """Rows whose text is blank, or one of the texts that the schema declares to mean null."""
    trimmed = pc.utf8_trim_whitespace(text)
    listed = pc.is_in(trimmed, value_set=pa.array(list(nulls), type=text.type))
    return flags(pc.or_(pc.equal(trimmed, ""), listed))


def numbers_of(array: pa.Array, nulls: tuple[str, ...]) -> Values:
    """Read ``array`` as float64 numbers."""
    kind = array.type
    if pa.types.is_null(kind):
        return Values(np.zeros(len(array)), np.ones(len(array), dtype=bool), np.zeros(len(array), dtype=bool))
    if is_text(kind):
        return _parse_numbers(pc.cast(array, pa.large_string()), nulls)
    if not (is_number(kind) or pa.types.is_boolean(kind)):
        return nothing(len(array))
    numbers = _to_float(pc.cast(array, pa.float64(), safe=False))
    return Values(numbers, np.isnan(numbers), np.zeros(len(array), dtype=bool))


def _to_float(array: pa.Array) -> NDArray[np.float64]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _parse_numbers(text: pa.Array, nulls: tuple[str, ...]) -> Values:
    trimmed = pc.utf8_trim_whitespace(text)
    nan = pc.match_substring_regex(trimmed, NOT_A_NUMBER)
    missing = nulls_of(text) | missing_text(text, nulls) | flags(nan)
    readable = flags(pc.match_substring_regex(trimmed, NUMBER)) & ~missing
    numbers = _cast_numbers(pc.if_else(pa.array(readable), trimmed, pa.scalar(None, type=trimmed.type)))
    return Values(numbers, missing, ~missing & ~readable)


def _cast_numbers(text: pa.Array) -> NDArray[np.float64]:
    try:
        return _to_float(pc.cast(text, pa.float64()))
    except pa.ArrowInvalid:  # a number beyond float64 that Arrow refuses; Python reads it as infinite
        unique = text.dictionary_encode()
        parsed = [None if one is None else float(one) for one in unique.dictionary.to_pylist()]
        return _to_float(pa.array(parsed, type=pa.float64()).take(unique.indices))
