"""A column: a declared set of codes, with a place for every value that could ever turn up.

Encoding sees private rows and never raises on a value; everything else here is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema.cells import Categories, Cells, Kind, Objects, Part
from understudy.schema.reading import Bools, Fault, Reading, all_missing
from understudy.schema.typed import cells_of

Invalid = Literal["clamp", "other", "null"]
Operator = Literal["=", "<", "<="]
Held: TypeAlias = pa.Array | pa.ChunkedArray | Objects | Categories
"""What may hold the values of a column."""
KEEP = -1  # a fault that keeps the provisional (clamped) code


def fine_name(column: str) -> str:
    """Return the name of the attribute that says where inside its bins a column's values lie."""
    return f"{column} inside its bins"


class ByItself:
    """A column that is read, and follows from no other."""

    @property
    def parents(self) -> tuple[str, ...]:
        """The columns that it follows from: none."""
        return ()

    @property
    def in_figures(self) -> bool:
        """Whether a text file spells its values as numbers, with the marks of its dialect."""
        return False

    def follow(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
        """Not asked of a column without parents."""
        raise NotImplementedError


class Undivided(ByItself):
    """A column that is counted by its codes alone: nothing finer lies inside them."""

    @property
    def fine(self) -> None:
        """There is none."""
        return

    @property
    def coarse(self) -> NDArray[np.int32]:
        """Of no fine codes, none."""
        return np.empty(0, np.int32)


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
class Column(ByItself, ABC):
    """One declared column; ``line`` is where the schema file declares it.

    ``nulls`` are the texts that mean "missing" here; ``own_nulls`` those of this column alone, which also count as numbers.
    """

    name: str
    kind: str
    places: Places
    nulls: tuple[str, ...] = ()
    own_nulls: tuple[str, ...] = ()
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
    def adds_up(self) -> bool:
        """Whether its values are amounts or scores, of which there are means and totals."""

    @property
    @abstractmethod
    def null_value(self) -> Any:
        """What ``decode`` gives for null: the declared spelling where the column's type can hold it, else None."""

    @property
    def decodes_null(self) -> bool:
        """Whether ``decode`` may give a null."""
        return self.nullable and self.null_value is None

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
    def read_numbers(self, numbers: NDArray[np.float64]) -> Reading:
        """Read numbers, one at a time; none is NaN."""

    @abstractmethod
    def read_text(self, text: pa.Array) -> Reading:
        """Read texts (large_string without nulls), one at a time."""

    @abstractmethod
    def read_moments(self, seconds: NDArray[np.int64], kind: Kind) -> Reading:
        """Read moments, one at a time: whole seconds since 1970 of the wall clock, or of UTC for instants."""

    def read_booleans(self, booleans: Bools) -> Reading:
        """Read booleans, one at a time: as 0 and 1, unless the column knows better."""
        return self.read_numbers(booleans.astype(np.float64))

    @property
    def fine(self) -> Column | None:
        """The same column with finer codes, each inside one of these; None where a code is one value."""
        return None

    @property
    def coarse(self) -> NDArray[np.int32]:
        """The code of this column for each code of ``fine``."""
        return np.arange(self.size, dtype=np.int32)

    @abstractmethod
    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        """Return values of the user's own type; a value inside a bin is drawn uniformly."""

    def spell(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return decoded values as a text file spells them; null stays null where it has no spelling."""
        text = pa.compute.cast(values, pa.string())
        return text.fill_null(self.own_nulls[0]) if self.own_nulls and self.own_nulls[0] else text

    @abstractmethod
    def compare(self, operator: Operator, literal: Any) -> Truth | str:
        """Say whether the values of each code compare so with a literal; a string says why they cannot."""

    def faults(self, values: Held) -> NDArray[np.uint8]:
        """Return why each row does not fit (Fault numbers)."""
        return self.read(values).faults

    def encode(self, values: Held) -> NDArray[np.int32]:
        """Return the code of each row, whatever its value, and whatever stands in the other rows."""
        reading = self.read(values)
        if not reading.faults.any():
            return reading.codes
        placed = self.places.table()[reading.faults]
        return np.where(placed == KEEP, reading.codes, placed).astype(np.int32)

    def read(self, values: Held) -> Reading:
        """Return a provisional code and a fault for each row."""
        if isinstance(values, pa.ChunkedArray):
            pieces = [self.read(chunk) for chunk in values.chunks] or [self._read_cells(Cells(0, ()))]
            return Reading(np.concatenate([p.codes for p in pieces]), np.concatenate([p.faults for p in pieces]))
        if isinstance(values, pa.ExtensionArray):
            return self.read(values.storage)
        if isinstance(values, pa.RunEndEncodedArray):
            rows = np.arange(values.offset, values.offset + len(values))
            return self._read_dictionary(values.values, pa.array(np.searchsorted(values.run_ends, rows, side="right")))
        if isinstance(values, pa.DictionaryArray):
            return self._read_dictionary(values.dictionary, values.indices)
        if isinstance(values, Categories):
            return self._read_dictionary(values.categories, pa.array(values.codes, mask=values.codes < 0))
        return self._read_cells(cells_of(values))

    def _read_dictionary(self, dictionary: Held, indices: pa.Array) -> Reading:
        """Read each distinct value once; one more row stands for the nulls among the indices."""
        distinct, absent = self.read(dictionary), all_missing(1)
        index = pa.compute.fill_null(pa.compute.cast(indices, pa.int64()), len(distinct.codes))
        rows = index.to_numpy(zero_copy_only=False)
        codes, faults = np.append(distinct.codes, absent.codes), np.append(distinct.faults, absent.faults)
        return Reading(codes[rows], faults[rows])

    def _read_cells(self, cells: Cells) -> Reading:
        reading = all_missing(cells.length)
        for part in cells.parts:
            if part.kind is not Kind.MISSING:
                read = self._read_part(part)
                reading.codes[part.rows], reading.faults[part.rows] = read.codes, read.faults
        return reading

    def _read_part(self, part: Part) -> Reading:
        if part.kind is Kind.TEXT:
            return self.read_text(part.values)
        if part.kind is Kind.BOOLEAN:
            return self.read_booleans(part.values)
        if part.kind is not Kind.NUMBER:
            return self.read_moments(part.values, part.kind)
        nan = np.isnan(part.values)
        reading = self.read_numbers(np.where(nan, 0.0, part.values) + 0.0)  # there is no zero below zero
        reading.faults[nan] = Fault.MISSING
        return reading

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
