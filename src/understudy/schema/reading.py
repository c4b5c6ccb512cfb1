"""What a column makes of values, and how text spells numbers. Never raises on a value.

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
    """Numbers of a column's scale, one a row; ``missing`` and ``unreadable`` rows hold an arbitrary number."""

    numbers: NDArray[np.float64] | NDArray[np.int64]
    missing: Bools
    unreadable: Bools


def all_missing(length: int) -> Reading:
    """Every row missing."""
    return Reading(np.zeros(length, np.int32), np.full(length, Fault.MISSING, np.uint8))


def is_text(kind: pa.DataType) -> bool:
    """Whether ``kind`` is any of Arrow's text types."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def flags(array: pa.Array) -> Bools:
    """Return an Arrow boolean array as NumPy; null counts as false."""
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def missing_text(text: pa.Array, nulls: tuple[str, ...]) -> Bools:
    """Rows whose text is blank, or one of the texts that the schema declares to mean null."""
    trimmed = pc.utf8_trim_whitespace(text)
    listed = pc.is_in(trimmed, value_set=pa.array(list(nulls), type=text.type))
    return flags(pc.or_(pc.equal(trimmed, ""), listed))


def numbers_in(text: pa.Array, nulls: tuple[str, ...] = ()) -> Values:
    """Read text that spells numbers; true and false are 1 and 0, as they are where they have a type."""
    trimmed = pc.utf8_trim_whitespace(text)
    missing = missing_text(text, nulls) | flags(pc.match_substring_regex(trimmed, NOT_A_NUMBER))
    spelled = flags(pc.match_substring_regex(trimmed, NUMBER)) & ~missing
    digits = pc.if_else(pa.array(spelled), trimmed, pa.scalar(None, type=trimmed.type))
    numbers = pc.cast(digits, pa.float64()).to_numpy(zero_copy_only=False)  # beyond float64 is infinite
    if (missing | spelled).all():
        return Values(numbers, missing, ~missing & ~spelled)
    lower = pc.utf8_lower(trimmed)
    true, false = flags(pc.equal(lower, "true")), flags(pc.equal(lower, "false"))
    return Values(np.where(true, 1.0, np.where(false, 0.0, numbers)), missing, ~(missing | spelled | true | false))
