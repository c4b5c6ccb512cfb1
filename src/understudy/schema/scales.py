"""Scales: how the user's values become plain numbers that bins understand, and back.

Reading sees private rows and never raises on a value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.bins import Numbers
from understudy.schema.cells import Kind
from understudy.schema.declaration import END_OF_DAY
from understudy.schema.formats import end_of_day, written
from understudy.schema.moments import CLOCK, ISO, moments_in, seconds_of, to_utc
from understudy.schema.reading import Values, flags, numbers_in
from understudy.schema.signs import UNSIGNED, Signs
from understudy.schema.typed import DAY, PER_SECOND


@dataclass(frozen=True)
class Scale(ABC):
    """How the user's values become numbers that bins understand, and back; ``type`` is that of the values.

    ``signs`` stand around numbers in text files.
    """

    type: pa.DataType
    signs: Signs = field(default=UNSIGNED, kw_only=True)

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

    def spell(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the user's values as a text file spells them."""
        return self.signs.worn(pc.cast(values, pa.string()))


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
        read = self.signs.numbers_in(text, nulls)
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
    """Numbers of a fixed number of decimals, counted in steps of so many units of the last decimal."""

    decimals: int
    step: int = 1

    @property
    def per_one(self) -> float:
        """How many units of the last decimal make 1."""
        return 10.0**self.decimals

    def of_numbers(self, numbers: NDArray[np.float64]) -> Numbers:
        """Round to the declared decimals and step."""
        with np.errstate(over="ignore"):  # beyond float64 is infinite, so out of range: as it should be
            return np.rint(numbers * self.per_one / self.step)

    def of_text(self, text: pa.Array, nulls: tuple[str, ...]) -> Values:
        """Read numbers and round them to the declared decimals and step."""
        read = self.signs.numbers_in(text, nulls)
        return Values(self.of_numbers(read.numbers.astype(np.float64)), read.missing, read.unreadable)

    def write(self, numbers: Numbers, null: NDArray[np.bool_]) -> pa.Array:
        """Return the numbers in their own type."""
        units = numbers * self.step
        exact = units if pa.types.is_integer(self.type) else units / self.per_one
        return pc.cast(pa.array(exact, mask=null), self.type, safe=False)

    def number(self, literal: Any) -> float | int | None:
        """Return the literal in steps; not rounded, so that comparisons stay exact."""
        if isinstance(literal, bool) or not isinstance(literal, int | float):
            return None
        scaled = literal * self.per_one / self.step
        return round(scaled) if abs(scaled - round(scaled)) < 1e-6 else scaled

    def show(self, number: float) -> str:
        """Spell a number with its decimals."""
        return f"{number * self.step / self.per_one:.{self.decimals}f}"

    def spell(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Spell numbers with their decimals, also where these are zeros."""
        if not pa.types.is_floating(self.type):
            return super().spell(values)
        exact = pc.round(pc.cast(values, pa.float64()), self.decimals)
        return super().spell(pc.cast(exact, pa.decimal128(38, self.decimals)))


@dataclass(frozen=True)
class Moments(Scale):
    """Dates and date-times, in steps of ``grain`` seconds since 1970; ``form`` spells those held as text."""

    grain: int = DAY
    timezone: str | None = None
    form: str | None = None
    pattern: str = ISO
    first_year: int = 1970
    """Of the hundred that years of two digits are of."""

    def of_moments(self, seconds: NDArray[np.int64], kind: Kind) -> Numbers:
        """Round down to the grain; a wall clock is that of the column's zone."""
        utc = seconds if kind is Kind.INSTANT else to_utc(seconds, self.timezone)
        return np.asarray(utc // self.grain, dtype=np.int64)

    def of_text(self, text: pa.Array, nulls: tuple[str, ...]) -> Values:
        """Read moments and round them down to the grain."""
        read = moments_in(text, nulls, self.pattern, self.timezone, self.first_year)
        return Values(read.numbers // self.grain, read.missing, read.unreadable)

    def write(self, numbers: Numbers, null: NDArray[np.bool_]) -> pa.Array:
        """Return dates, date-times, or text in the declared form."""
        seconds = np.where(null, 0, numbers * self.grain).astype(np.int64)
        if self.form is None and pa.types.is_date32(self.type):
            return pa.array((seconds // DAY).astype(np.int32), mask=null).view(pa.date32())
        if self.form is None:
            return pa.array(seconds * PER_SECOND[self.type.unit], mask=null).view(self.type)
        moments = pa.array(seconds, mask=null).view(pa.timestamp("s", self.timezone))
        return pc.cast(written(moments, self.form), self.type)

    def spell(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Spell moments with a time zone as ISO 8601 does: 2023-07-01T12:04:05+02:00."""
        if self.form is not None or self.timezone is None:
            return super().spell(values)
        seconds = pc.cast(values, pa.timestamp("s", self.timezone), safe=False)
        text = pc.strftime(seconds, format="%Y-%m-%dT%H:%M:%S%z")
        return pc.replace_substring_regex(text, r"(\d\d)$", r":\1")

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


@dataclass(frozen=True)
class Clock(Scale):
    """Times of day, in steps of ``grain`` seconds since midnight; ``form`` spells those held as text or whole numbers."""

    grain: int
    form: str
    pattern: str

    @property
    def of_digits(self) -> bool:
        """Whether a number spells a time: 517 is 5:17."""
        return self.form in ("%H%M", "%H%M%S")

    def of_numbers(self, numbers: NDArray[np.float64]) -> Numbers | None:
        """Take the digits apart, hours first; NaN where they are no time."""
        if not self.of_digits:
            return None
        whole = np.where(np.abs(numbers) < 10**6, numbers, -1)
        digits = np.floor(whole).astype(np.int64) * (1 if self.form == "%H%M%S" else 100)
        hour, minute, second = digits // 10_000, digits // 100 % 100, digits % 100
        real = (whole == np.floor(whole)) & (digits >= 0) & (minute < 60) & (second < 60)
        real &= (hour < 24) | (digits == 240_000)
        return np.where(real, (hour * 3600 + minute * 60 + second) // self.grain, np.nan)

    def of_text(self, text: pa.Array, nulls: tuple[str, ...]) -> Values:
        """Read times as the format spells them, or with colons."""
        read = moments_in(text, nulls, self.pattern)
        usual = moments_in(text, nulls, CLOCK)
        last = end_of_day(self.form)
        end = ~read.missing & (False if last is None else flags(pc.equal(pc.utf8_trim_whitespace(text), last)))
        numbers = np.where(end, DAY, np.where(read.unreadable, usual.numbers, read.numbers)) // self.grain
        unreadable = read.unreadable & usual.unreadable & ~end
        if not self.of_digits:
            return Values(numbers, read.missing, unreadable)
        digits = numbers_in(text, nulls)
        found = self.of_numbers(np.where(digits.missing | digits.unreadable, np.nan, digits.numbers))
        assert found is not None
        return Values(np.where(np.isnan(found), numbers, found), read.missing, unreadable & np.isnan(found))

    def write(self, numbers: Numbers, null: NDArray[np.bool_]) -> pa.Array:
        """Return times as text, digits or Arrow's times of day."""
        seconds = np.where(null, 0, numbers * self.grain).astype(np.int64)
        if pa.types.is_integer(self.type) or pa.types.is_floating(self.type):
            digits = seconds // 3600 * 10_000 + seconds // 60 % 60 * 100 + seconds % 60
            return pc.cast(pa.array(digits // (1 if self.form == "%H%M%S" else 100), mask=null), self.type)
        if pa.types.is_time32(self.type):
            return pa.array(seconds.astype(np.int32), mask=null).view(self.type)
        if pa.types.is_time64(self.type):
            return pa.array(seconds * PER_SECOND[self.type.unit], mask=null).view(self.type)
        text = written(pa.array(seconds, mask=null).view(pa.timestamp("s")), self.form)
        return pc.cast(pc.if_else(pa.array(seconds == DAY), end_of_day(self.form), text), self.type)

    def spell(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Spell times; those held as floats with a decimal, as programs write them that know no missing whole number."""
        if not pa.types.is_floating(self.type):
            return super().spell(values)
        return pc.cast(pc.cast(values, pa.decimal128(38, 1)), pa.string())

    def number(self, literal: Any) -> float | int | None:
        """Return the literal in steps of the grain; a fraction when it lies between two."""
        if literal == END_OF_DAY:
            return DAY // self.grain
        if not isinstance(literal, time):
            return None
        seconds = literal.hour * 3600 + literal.minute * 60 + literal.second
        return seconds // self.grain if seconds % self.grain == 0 else seconds / self.grain

    def show(self, number: float) -> str:
        """Spell a time."""
        seconds = int(number) * self.grain
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
        return clock if self.grain % 60 == 0 else f"{clock}:{seconds % 60:02}"
