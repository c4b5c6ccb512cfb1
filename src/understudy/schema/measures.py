"""The values of a column as plain numbers, so that columns can be compared and reckoned with.

Public, but for ``of``: it reads private rows for the gaps between columns, each value by itself. All else works on declared
bounds and on synthetic values. The owner's check of a table uses it too, and is not private.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.bins import Numbers, RealBins
from understudy.schema.cells import Categories, Kind, Objects
from understudy.schema.column import Column, Held
from understudy.schema.listed import Listed
from understudy.schema.scales import Clock, Continuous, Decimals, Moments, Scale, Whole
from understudy.schema.typed import DAY, cells_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measure:
    """How values of ``column`` become numbers: whole multiples of ``times / parts``, or any number where ``times`` is 0.

    ``space`` says what they are: values of one space can be compared. Dates count in days, other moments in seconds.
    """

    column: Column
    space: str
    times: int = 1
    parts: int = 1

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.times > 0 and self.times % self.parts == 0

    @cached_property
    def low(self) -> Floats:
        """The smallest value of each code; NaN for null and for a catch-all with a code of its own."""
        return self._of_codes(self.column.bins.lowest if isinstance(self.column, Binned) else self._points)

    @cached_property
    def high(self) -> Floats:
        """The largest value of each code; NaN as in ``low``."""
        return self._of_codes(self.column.bins.highest if isinstance(self.column, Binned) else self._points)

    @cached_property
    def _points(self) -> Floats:
        """The number of each listed value: itself, or its place among ordered texts."""
        assert isinstance(self.column, Listed)
        numbers = self.space == "number"
        return np.array([float(v) if numbers else i for i, v in enumerate(self.column.values)], np.float64)

    def _of_codes(self, numbers: Numbers) -> Floats:
        extra = np.full(self.column.size - len(numbers), np.nan)
        return np.append(self.values(numbers), extra)

    def values(self, numbers: Numbers) -> Floats:
        """Return the numbers of a scale as values; the float nearest to each, so that equal values are equal."""
        floats = numbers.astype(np.float64)
        return floats if self.times == 0 or isinstance(self.column, Listed) else floats * self.times / self.parts

    def of(self, held: Held) -> Floats:
        """Return the value of each row; NaN where it is missing, does not fit, or is the catch-all with its own code."""
        reading = self.column.read(held)
        unknown = (reading.faults != 0) | (reading.codes >= self.column.places.ordinary)
        found = self._points[np.where(unknown, 0, reading.codes)] if isinstance(self.column, Listed) else self._read(held)
        return np.where(unknown, np.nan, found)

    def _read(self, held: Held) -> Floats:
        if isinstance(held, pa.ChunkedArray):
            return np.concatenate([np.empty(0), *(self._read(chunk) for chunk in held.chunks)])
        if isinstance(held, pa.ExtensionArray):
            return self._read(held.storage)
        if isinstance(held, pa.DictionaryArray):
            return self._read(held.dictionary_decode())
        if isinstance(held, Categories):
            rows = np.append(self._read(held.categories), np.nan)
            return np.asarray(rows[np.where(held.codes < 0, -1, held.codes)])
        found = np.full(len(held), np.nan)
        for part in cells_of(held).parts:
            if part.kind is not Kind.MISSING and (numbers := _numbers(self.column, part.kind, part.values)) is not None:
                found[part.rows] = self.values(numbers)
        return found

    def least(self, values: Floats, *, above: bool) -> Floats:
        """Return the smallest possible value that is not below each of ``values``, or that is ``above`` it."""
        if self.times == 0:
            return np.nextafter(values, np.inf) if above else values
        steps = np.floor(values * self.parts / self.times) - 1
        for _ in range(3):  # floor may be one off, either way
            short = self._stepped(steps) <= values if above else self._stepped(steps) < values
            steps = steps + short
        return self._stepped(steps)

    def most(self, values: Floats, *, below: bool) -> Floats:
        """Return the largest possible value that is not above each of ``values``, or that is ``below`` it."""
        if self.times == 0:
            return np.nextafter(values, -np.inf) if below else values
        steps = np.ceil(values * self.parts / self.times) + 1
        for _ in range(3):
            beyond = self._stepped(steps) >= values if below else self._stepped(steps) > values
            steps = steps - beyond
        return self._stepped(steps)

    def snapped(self, values: Floats) -> Floats:
        """Return the largest possible value that is not above each of ``values``, but for what rounding adds."""
        if self.times == 0:
            return self._held(values)
        return self._stepped(np.floor(values * self.parts / self.times + 1e-6))

    def _held(self, values: Floats) -> Floats:
        single = isinstance(self.column, Binned) and isinstance(self.column.bins, RealBins) and self.column.bins.single
        return values.astype(np.float32).astype(np.float64) if single else values

    def _stepped(self, steps: Floats) -> Floats:
        return steps * self.times / self.parts

    def write(self, values: Floats) -> pa.Array:
        """Return values as the column writes them; none is unknown. Only where it has bins."""
        assert isinstance(self.column, Binned)
        numbers: Numbers = values if self.times == 0 else np.rint(values * self.parts / self.times)
        if not isinstance(self.column.scale, Continuous | Decimals) or isinstance(self.column.scale, Whole):
            numbers = numbers.astype(np.int64)
        return self.column.scale.write(numbers, np.zeros(len(values), np.bool_))


def measure_of(column: Column) -> Measure | None:
    """Return how values of ``column`` become numbers; None where they do not, as texts without an order."""
    if isinstance(column, Binned):
        return _of_scale(column, column.scale)
    assert isinstance(column, Listed)
    if not isinstance(column.values[0], str):
        return Measure(column, "number")
    return Measure(column, f"ordinal {column.values}") if column.kind == "ordinal" else None


def _of_scale(column: Binned, scale: Scale) -> Measure:
    if isinstance(scale, Decimals):
        return Measure(column, "number", scale.step, 10**scale.decimals)
    if isinstance(scale, Moments):
        return Measure(column, column.kind, 1 if scale.grain == DAY and column.kind == "date" else scale.grain)
    if isinstance(scale, Clock):
        return Measure(column, "time", scale.grain)
    return Measure(column, "number", 1 if isinstance(scale, Whole) else 0)


def _numbers(column: Column, kind: Kind, values: Objects) -> Numbers | None:
    """Return values of one kind as numbers of the column's scale."""
    assert isinstance(column, Binned)
    if kind is Kind.TEXT:
        return column.scale.of_text(values, column.nulls).numbers
    if kind in (Kind.NUMBER, Kind.BOOLEAN):
        return column.scale.of_numbers(np.asarray(values, np.float64))
    return column.scale.of_moments(np.asarray(values), kind)
