"""Columns whose values are binned: integer, real, date, date-time and time of day.

A scale turns the user's values into plain numbers and back; the bins do the rest. Reading sees private rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.bins import Bins, Numbers, RealBins
from understudy.schema.cells import Kind
from understudy.schema.column import Column, Operator, Truth
from understudy.schema.fine import by_number, refined
from understudy.schema.inside import place_inside
from understudy.schema.reading import Fault, Reading, numbers_in
from understudy.schema.scales import Clock, Moments, Scale, Whole


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

    @cached_property
    def _null_moments(self) -> Numbers:
        """The moments, as numbers of the scale, that mean "missing"."""
        values = self.scale.of_text(pa.array([] if self.numeric else self.own_nulls, pa.large_string()), ())
        return values.numbers[~(values.missing | values.unreadable)]

    @cached_property
    def _null_digits(self) -> Numbers:
        """The numbers, as they are before the scale rounds them, that mean "missing"."""
        values = numbers_in(pa.array(self.own_nulls, pa.large_string()))
        return values.numbers[~(values.missing | values.unreadable)]

    @property
    def numeric(self) -> bool:
        """Whether its values are held as numbers. Times of day may be, too."""
        return bool(pa.types.is_integer(self.type) or pa.types.is_floating(self.type) or pa.types.is_decimal(self.type))

    @property
    def adds_up(self) -> bool:
        """Whether its values are amounts, of which there is a total: numbers, and no moments however these are held."""
        return self.numeric and not isinstance(self.scale, Moments | Clock)

    @property
    def in_figures(self) -> bool:
        """Whether a text file spells its values as numbers: times of day, too, where 517 is one."""
        return self.numeric or (isinstance(self.scale, Clock) and self.scale.of_digits)

    @cached_property
    def null_value(self) -> Any:
        """What ``decode`` gives for null: the first declared spelling, as text or as a value of the column's type."""
        first = self.own_nulls[0] if self.own_nulls else ""
        if not first or pa.types.is_string(self.type):
            return first or None
        if self.numeric:
            number = numbers_in(pa.array([first], pa.large_string())).numbers[0]
            fits = np.isfinite(number) and (number == round(number) or not pa.types.is_integer(self.type))
            return (int(number) if pa.types.is_integer(self.type) else float(number)) if fits else None
        read = self.scale.of_text(pa.array([first], pa.large_string()), ())
        return None if read.unreadable[0] else self.scale.write(read.numbers, np.zeros(1, np.bool_))[0].as_py()

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
            labels = [f"[{edges[i]}, {edges[i + 1]}{']' if i == last else ')'}" for i in range(last + 1)]
            alone = self.bins.edges[-1] == self.bins.edges[-2]
            return (*labels[:-1], edges[-1] if alone else labels[-1])
        ends = zip(self.bins.lowest.tolist(), self.bins.highest.tolist(), strict=True)
        return tuple(show(low) if low == high else f"{show(low)} to {show(high)}" for low, high in ends)

    def may_draw(self, text: str) -> bool:
        """Whether ``text`` spells a value that ``decode`` may give: inside the bounds, or the catch-all."""
        values = self.scale.of_text(pa.array([text], pa.large_string()), ())
        if values.missing[0] or values.unreadable[0]:
            return False
        low, high = self.bins.bounds
        number = values.numbers[0]
        if not (low <= number <= high or number == self.other_number):
            return False
        written = self.scale.write(values.numbers, np.zeros(1, np.bool_))[0].as_py()
        return not self.numeric or float(written) == numbers_in(pa.array([text], pa.large_string())).numbers[0]

    def read_numbers(self, numbers: NDArray[np.float64]) -> Reading:
        """Find the bin of each number."""
        found = self.scale.of_numbers(numbers)
        reading = _unreadable(len(numbers)) if found is None else self._placed(found)
        reading.faults[np.isin(numbers, self._null_digits)] = Fault.MISSING
        return reading

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
        if len(self._null_digits):
            digits = self.scale.signs.numbers_in(text).numbers
            reading.faults[np.isin(digits, self._null_digits)] = Fault.MISSING
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
        faults[np.isnan(numbers)] = Fault.UNREADABLE
        if self.places.own_other is not None:
            named = numbers == self.other_number
            codes[named], faults[named] = self.places.own_other, Fault.FITS
        faults[np.isin(numbers, self._null_moments)] = Fault.MISSING
        return Reading(codes, faults)

    @property
    def drawn(self) -> bool:
        """Whether ``decode`` draws values: a bin holds several."""
        return isinstance(self.bins, RealBins) or bool((self.bins.lowest != self.bins.highest).any())

    @cached_property
    def rounded(self) -> Binned | None:
        """The same column with finer bins, each inside one of these; None where all bins hold one value alone."""
        bins = refined(self.bins, self.scale.grain if isinstance(self.scale, Moments | Clock) else None)
        return None if bins is None else self._with(bins)

    @cached_property
    def fine(self) -> Binned | None:
        """The same, where finer bins of few numbers are cut into these: what values are counted in, and drawn from."""
        if self.rounded is None or not self.numeric:
            return self.rounded
        bins = by_number(self.rounded.bins)
        return self.rounded if bins is self.rounded.bins else self._with(bins)

    def _with(self, bins: Bins) -> Binned:
        other = self.places.other
        if other is not None:
            other = (
                len(bins.lowest) if self.places.own_other is not None else int(bins.find(np.array([self.other_number]))[0])
            )
        return replace(self, bins=bins, places=replace(self.places, ordinary=len(bins.lowest), other=other))

    @cached_property
    def coarse(self) -> NDArray[np.int32]:
        """The code of this column for each code of ``fine``."""
        return self._codes_of(self.fine)

    @cached_property
    def coarse_of_rounded(self) -> NDArray[np.int32]:
        """The code of this column for each code of ``rounded``."""
        return self._codes_of(self.rounded)

    @cached_property
    def rounds(self) -> NDArray[np.int32]:
        """The code of ``rounded`` for each code of ``fine``; rising."""
        assert self.rounded is not None
        return self.rounded._codes_of(self.fine)

    def _codes_of(self, finer: Binned | None) -> NDArray[np.int32]:
        assert finer is not None
        extra = np.arange(self.places.ordinary, self.size)
        return np.append(self.bins.find(finer.bins.lowest), extra).astype(np.int32)

    def decode(
        self, codes: NDArray[np.integer], rng: np.random.Generator, inside: NDArray[np.float64] | None = None
    ) -> pa.Array:
        """Draw a value inside each bin: uniformly, or with a weight for each fine bin."""
        numbers = self.draw_numbers(np.minimum(codes, self.places.ordinary - 1), rng, inside)
        if self.places.own_other is not None and self.other_number is not None:
            numbers = np.where(codes == self.places.own_other, self.other_number, numbers)
        null = np.asarray(codes == (-1 if self.places.null is None else self.places.null))
        written = self.scale.write(numbers, null)
        return written if self.null_value is None else pc.fill_null(written, pa.scalar(self.null_value, self.type))

    def draw_numbers(
        self, bins: NDArray[np.integer], rng: np.random.Generator, inside: NDArray[np.float64] | None = None
    ) -> Numbers:
        """Draw a number of the scale inside each bin."""
        return self.bins.draw(bins, rng) if inside is None else self._drawn(bins, inside, rng)

    def _drawn(self, codes: NDArray[np.integer], inside: NDArray[np.float64], rng: np.random.Generator) -> Numbers:
        """Draw evenly from what lies inside each bin: of n rows, each takes another n-th part of it."""
        assert self.fine is not None
        order = rng.permutation(len(codes))
        short = codes.astype(np.min_scalar_type(len(self.bins.lowest)))  # sorted by counting, and not by comparing
        order = order[np.argsort(short[order], kind="stable")]
        rows = np.bincount(codes, minlength=len(self.bins.lowest))
        rank = np.arange(len(codes)) - np.repeat(np.cumsum(rows) - rows, rows)
        parts = (rank + rng.random(len(codes))) / np.repeat(rows, rows)
        cells, within = place_inside(inside, self.coarse[: len(inside)], codes[order], parts)  # in order: quick to look up
        drawn = self.fine.bins.at(cells, within)
        numbers = np.empty_like(drawn)
        numbers[order] = drawn
        return numbers

    def spell(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return decoded values as a text file spells them: with their decimals, and what means "missing" as declared."""
        text = self.scale.spell(values)
        if self.null_value is not None:
            missing = pc.fill_null(pc.equal(values, pa.scalar(self.null_value, self.type)), False)
            text = pc.if_else(missing, self.own_nulls[0], text)
        return super().spell(text)

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
