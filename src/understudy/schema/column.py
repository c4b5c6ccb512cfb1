"""A column: a declared set of codes, with a place for every value that could ever turn up.

Encoding sees private rows and never raises on a value; everything else here is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema.reading import Bools, Fault, Reading

Invalid = Literal["clamp", "other", "null"]
Operator = Literal["=", "<", "<="]
KEEP = -1  # a fault that keeps the provisional (clamped) code


@dataclass(frozen=True, eq=False)
class Truth:
    """What a comparison says of each code (or cell): whether it ``can`` hold, and whether it ``must``."""

    can: Bools
    must: Bools

    def __invert__(self) -> Truth:
        return Truth(~self.must, ~self.can)

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.can & other.can, self.must & other.must)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.can | other.can, self.must | other.must)


@dataclass(frozen=True)
class Places:
    """Where values go that are not ordinary: ordinary codes are 0 … ordinary-1, then a catch-all, then null.

    ``other`` is the catch-all code: one of its own, or an ordinary one when its value is in range.
    """

    ordinary: int
    other: int | None
    nullable: bool
    invalid: Invalid

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.ordinary + (self.own_other is not None) + self.nullable

    @property
    def own_other(self) -> int | None:
        """The catch-all code when it is a code of its own."""
        return self.other if self.other is not None and self.other >= self.ordinary else None

    @property
    def null(self) -> int | None:
        """The code of null."""
        return self.size - 1 if self.nullable else None

    def of(self, fault: Fault) -> int:
        """Return the code that ``fault`` gets, or KEEP for the nearest ordinary code."""
        if fault is Fault.FITS:
            return KEEP
        ordered = (self.null, self.other) if fault is Fault.MISSING or self.invalid == "null" else (self.other, self.null)
        if self.invalid == "clamp" and fault in (Fault.BELOW, Fault.ABOVE, Fault.FRACTION):
            return KEEP
        return next(code for code in ordered if code is not None)

    def table(self) -> NDArray[np.int32]:
        """Return the code of each fault, by its number."""
        return np.array([self.of(fault) for fault in Fault], dtype=np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class Column(ABC):
    """One declared column; ``line`` is where the schema file declares it."""

    name: str
    kind: str
    places: Places
    nulls: tuple[str, ...] = ()
    line: int | None = None
    description: str | None = None

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.places.size

    @property
    def nullable(self) -> bool:
        """Whether null is a code of its own (the last)."""
        return self.places.nullable

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each code."""
        other = () if self.places.own_other is None else (self.other_label,)
        return (*self.ordinary_labels(), *other, *(("null",) if self.nullable else ()))

    @property
    @abstractmethod
    def other_label(self) -> str:
        """The declared catch-all value, for people."""

    @property
    @abstractmethod
    def type(self) -> pa.DataType:
        """The Arrow type that ``decode`` gives."""

    @abstractmethod
    def ordinary_labels(self) -> tuple[str, ...]:
        """Name each ordinary code."""

    @abstractmethod
    def read(self, array: pa.Array) -> Reading:
        """Return a provisional code and a fault for each row of a plain (not dictionary) array."""

    @abstractmethod
    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        """Return values of the user's own type; a value inside a bin is drawn uniformly."""

    @abstractmethod
    def compare(self, operator: Operator, literal: Any) -> Truth | str:
        """Say whether the values of each code compare so with a literal; a string says why they cannot."""

    def faults(self, array: pa.Array) -> NDArray[np.uint8]:
        """Return why each row does not fit (Fault numbers)."""
        return self._read_any(array).faults

    def encode(self, array: pa.Array) -> NDArray[np.int32]:
        """Return the code of each row, whatever its value."""
        reading = self._read_any(array)
        if not reading.faults.any():
            return reading.codes
        placed = self.places.table()[reading.faults]
        return np.where(placed == KEEP, reading.codes, placed).astype(np.int32)

    def _read_any(self, array: pa.Array) -> Reading:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_run_end_encoded(array.type):
            array = pa.compute.run_end_decode(array)
        if not pa.types.is_dictionary(array.type):
            return self.read(array)
        # Read each distinct value once; one more row stands for the nulls among the indices.
        distinct = self._read_any(array.dictionary)
        absent = self.read(pa.nulls(1))
        index = pa.compute.fill_null(pa.compute.cast(array.indices, pa.int64()), len(array.dictionary))
        rows = index.to_numpy(zero_copy_only=False)
        codes, faults = np.append(distinct.codes, absent.codes), np.append(distinct.faults, absent.faults)
        return Reading(codes[rows], faults[rows])

    def unknown(self, truth: Truth, *, other: bool) -> Truth:
        """Make null (and, with ``other``, the catch-all) neither certainly true nor certainly false."""
        can, must = truth.can.copy(), truth.must.copy()
        codes = [self.places.null, self.places.own_other if other else None]
        for code in codes:
            if code is not None:
                can[code], must[code] = True, False
        return Truth(can, must)

    def is_null(self) -> Truth:
        """Say which codes are null."""
        null = np.zeros(self.size, dtype=bool)
        if self.places.null is not None:
            null[self.places.null] = True
        return Truth(null, null)
