"""Columns whose values are binned: integer, real, date and date-time.

A scale turns the user's values into plain numbers and back; the bins do the rest. Reading sees private rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.bins import Bins, Numbers, RealBins
from understudy.schema.cells import Kind
from understudy.schema.column import Column, Operator, Truth
from understudy.schema.moments import ISO, moments_in, seconds_of, to_utc
from understudy.schema.reading import Fault, Reading, Values, numbers_in
from understudy.schema.typed import DAY, PER_SECOND


@dataclass(frozen=True)
class Scale(ABC):
    """How the user's values become numbers that bins understand, and back; ``type`` is that of the values."""

    type: pa.DataType

    def of_numbers(self, numbers: NDArray[np.float64]) -> Numbers | None:
        """Return numbers as numbers of this scale; None when it has none."""
        return None

    def of_moments(self, seconds: NDArray[np.int64], kind: Kind) -> Numbers | None:
        """Return moments as numbers of this scale; None when it has none."""
        return None

    @abstractmethod
    def of_text(self, text: pa.Array, nulls: tuple[str, ...]) -> Values:
        """Read what the text spells, never raising on a value."""

    @abstractmethod
    def write(self, numbers: Numbers, null: NDArray[np.bool_]) -> pa.Array:
        """Return the user's values."""

    @abstractmethod
    def number(self, literal: Any) -> float | int | None:
        """Return a declared literal as a number of this scale, or None when it is of another kind."""

    @abstractmethod
    def show(self, number: float) -> str:
        """Spell a number of this scale for people."""


@dataclass(frozen=True)
class Continuous(Scale):
    """Real numbers as they are, in the precision of their type."""

    def of_numbers(self, numbers: NDArray[np.float64]) -> Numbers:
        """Return the numbers in the precision of the type."""
        if not pa.types.is_float32(self.type):
            return numbers
        with np.errstate(over="ignore"):  # beyond float32 is infinite, so out of range: as it should be
            return numbers.astype(np.float32).astype(np.float64)

    def of_text(self, text: pa.Array, nulls: tuple[str, ...]) -> Values:
        """Read numbers, never raising on a value."""
        read = numbers_in(text, nulls)
        return Values(self.of_numbers(read.numbers.astype(np.float64)), read.missing, read.unreadable)

    def write(self, numbers: Numbers, null: NDArray[np.bool_]) -> pa.Array:
        """Return the numbers in their own type."""
        return pc.cast(pa.array(numbers, mask=null), self.type)

    def number(self, literal: Any) -> float | int | None:
        """Return the literal when it is a number."""
        return literal if isinstance(literal, int | float) and not isinstance(literal, bool) else None

    def show(self, number: float) -> str:
        """Spell a number."""
        return f"{float(number):.6g}"


@dataclass(frozen=True)
class Whole(Continuous):
    """Whole numbers; a fraction is a fault."""

    def show(self, number: float) -> str:
        """Spell a number."""
        return str(int(number))


@dataclass(frozen=True)
class Decimals(Scale):
    """Reals of a fixed number of decimals, counted in their last decimal."""

    decimals: int

    def of_numbers(self, numbers: NDArray[np.float64]) -> Numbers:
        """Round to the declared decimals."""
        with np.errstate(over="ignore"):  # beyond float64 is infinite, so out of range: as it should be
            return np.rint(numbers * 10.0**self.decimals)

    def of_text(self, text: pa.Array, nulls: tuple[str, ...]) -> Values:
        """Read numbers and round them to the declared decimals."""
        read = numbers_in(text, nulls)
        return Values(self.of_numbers(read.numbers.astype(np.float64)), read.missing, read.unreadable)

    def write(self, numbers: Numbers, null: NDArray[np.bool_]) -> pa.Array:
        """Return the numbers in their own type."""
        return pc.cast(pa.array(numbers / 10.0**self.decimals, mask=null), self.type, safe=False)

    def number(self, literal: Any) -> float | int | None:
        """Return the literal in units of the last decimal; not rounded, so that comparisons stay exact."""
        if isinstance(literal, bool) or not isinstance(literal, int | float):
            return None
        scaled = literal * 10.0**self.decimals
        return round(scaled) if abs(scaled - round(scaled)) < 1e-6 else scaled

    def show(self, number: float) -> str:
        """Spell a number with its decimals."""
        return f"{number / 10.0**self.decimals:.{self.decimals}f}"


@dataclass(frozen=True)
class Moments(Scale):
    """Dates and date-times, in steps of ``grain`` seconds since 1970; ``form`` spells those held as text."""

    grain: int = DAY
    timezone: str | None = None
    form: str | None = None
    pattern: str = ISO

    def of_moments(self, seconds: NDArray[np.int64], kind: Kind) -> Numbers:
        """Round down to the grain; a wall clock is that of the column's zone."""
        utc = seconds if kind is Kind.INSTANT else to_utc(seconds, self.timezone)
        return np.asarray(utc // self.grain, dtype=np.int64)

    def of_text(self, text: pa.Array, nulls: tuple[str, ...]) -> Values:
        """Read moments and round them down to the grain."""
        read = moments_in(text, nulls, self.pattern, self.timezone)
        return Values(read.numbers // self.grain, read.missing, read.unreadable)

    def write(self, numbers: Numbers, null: NDArray[np.bool_]) -> pa.Array:
        """Return dates, date-times, or text in the declared form."""
        seconds = np.where(null, 0, numbers * self.grain).astype(np.int64)
        if self.form is None and pa.types.is_date32(self.type):
            return pa.array((seconds // DAY).astype(np.int32), mask=null).view(pa.date32())
        if self.form is None:
            return pa.array(seconds * PER_SECOND[self.type.unit], mask=null).view(self.type)
        moments = pa.array(seconds, mask=null).view(pa.timestamp("s", self.timezone))
        return pc.cast(pc.strftime(moments, format=self.form), self.type)

    def number(self, literal: Any) -> float | int | None:
        """Return the literal in steps of the grain; a fraction when it lies between two."""
        if not isinstance(literal, date):
            return None
        seconds = seconds_of(literal, self.timezone)
        return seconds // self.grain if seconds % self.grain == 0 else seconds / self.grain

    def show(self, number: float) -> str:
        """Spell a moment."""
        zone = ZoneInfo(self.timezone) if self.timezone else UTC
        moment = datetime.fromtimestamp(int(number) * self.grain, tz=zone).replace(tzinfo=None)
        return moment.date().isoformat() if self.grain == DAY else moment.isoformat(sep=" ")


@dataclass(frozen=True, eq=False, kw_only=True)
class Binned(Column):
    """A column of bins on a scale; ``other_number`` is the declared catch-all value."""

    scale: Scale
    bins: Bins
    other_number: float | int | None

    @property
    def type(self) -> pa.DataType:
        """The Arrow type that ``decode`` gives."""
        return self.scale.type

    @property
    def other_label(self) -> str:
        """The declared catch-all value, for people."""
        return "" if self.other_number is None else self.scale.show(self.other_number)

    def ordinary_labels(self) -> tuple[str, ...]:
        """Name each bin by its ends."""
        show = self.scale.show
        if isinstance(self.bins, RealBins):
            edges = [show(edge) for edge in self.bins.edges]
            last = len(edges) - 2
            return tuple(f"[{edges[i]}, {edges[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))
        ends = zip(self.bins.lowest.tolist(), self.bins.highest.tolist(), strict=True)
        return tuple(show(low) if low == high else f"{show(low)} to {show(high)}" for low, high in ends)

    def read_numbers(self, numbers: NDArray[np.float64]) -> Reading:
        """Find the bin of each number."""
        found = self.scale.of_numbers(numbers)
        return _unreadable(len(numbers)) if found is None else self._placed(found)

    def read_moments(self, seconds: NDArray[np.int64], kind: Kind) -> Reading:
        """Find the bin of each moment."""
        found = self.scale.of_moments(seconds, kind)
        return _unreadable(len(seconds)) if found is None else self._placed(found)

    def read_text(self, text: pa.Array) -> Reading:
        """Find the bin of what each text spells."""
        values = self.scale.of_text(text, self.nulls)
        unfit = values.missing | values.unreadable
        reading = self._placed(np.where(unfit, values.numbers.dtype.type(0), values.numbers))
        reading.faults[values.unreadable] = Fault.UNREADABLE
        reading.faults[values.missing] = Fault.MISSING
        return reading

    def _placed(self, numbers: Numbers) -> Reading:
        """Find the bin of each number of the scale, and what is wrong with it."""
        whole = isinstance(self.scale, Whole)
        codes = self.bins.find(np.rint(numbers) if whole else numbers)
        faults = np.zeros(len(numbers), dtype=np.uint8)
        if whole:
            faults[np.rint(numbers) != numbers] = Fault.FRACTION
        low, high = self.bins.bounds
        faults[numbers < low] = Fault.BELOW
        faults[numbers > high] = Fault.ABOVE
        if self.places.own_other is not None:
            named = numbers == self.other_number
            codes[named], faults[named] = self.places.own_other, Fault.FITS
        return Reading(codes, faults)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        """Draw a value inside each bin, uniformly."""
        ordinary = np.minimum(codes, self.places.ordinary - 1)
        numbers = self.bins.draw(ordinary, rng)
        if self.places.own_other is not None and self.other_number is not None:
            numbers = np.where(codes == self.places.own_other, self.other_number, numbers)
        return self.scale.write(numbers, np.asarray(codes == (-1 if self.places.null is None else self.places.null)))

    def compare(self, operator: Operator, literal: Any) -> Truth | str:
        """Compare each bin with a literal: a bin with values on both sides can, but need not, hold."""
        number = self.scale.number(literal)
        if number is None:
            return "kind"
        low, high = self.bins.lowest, self.bins.highest
        if operator == "=":
            can, must = (low <= number) & (number <= high), (low == number) & (high == number)
        else:
            can, must = (low < number, high < number) if operator == "<" else (low <= number, high <= number)
        extra = self.size - len(low)
        truth = Truth(np.append(can, np.zeros(extra, bool)), np.append(must, np.zeros(extra, bool)))
        if operator == "=" and self.places.own_other is not None:
            truth.can[self.places.own_other] = truth.must[self.places.own_other] = number == self.other_number
        return self.unknown(truth, other=operator != "=")


def _unreadable(length: int) -> Reading:
    return Reading(np.zeros(length, np.int32), np.full(length, Fault.UNREADABLE, np.uint8))
