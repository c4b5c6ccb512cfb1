"""Columns whose values are listed: categorical, ordinal and boolean.

Reading sees private rows and never raises on a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.cells import Kind
from understudy.schema.column import Column, Operator, Truth
from understudy.schema.moments import moments_in
from understudy.schema.reading import Bools, Fault, Reading, missing_text, numbers_in

Label = str | int | bool
SPELLED_BOOLEANS = {"false": 0, "f": 0, "no": 0, "n": 0, "0": 0, "true": 1, "t": 1, "yes": 1, "y": 1, "1": 1}


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed(Column):
    """A column of listed values, in the order of their codes; ``other_value`` is the catch-all's label."""

    values: tuple[Label, ...]
    other_value: Label | None
    arrow: pa.DataType
    prefix: int | None = None
    meanings: Mapping[str, str] = field(default_factory=dict)

    @property
    def other_label(self) -> str:
        """The declared catch-all value, for people."""
        return spell(self.other_value) if self.other_value is not None else ""

    @property
    def null_value(self) -> str | int | None:
        """What ``decode`` gives for null: the first declared spelling, as text or as a whole number."""
        if not self.own_nulls or not self.own_nulls[0] or self.kind == "boolean":
            return None
        if not self.values or isinstance(self.values[0], str):  # an open column has texts
            return self.own_nulls[0]
        number = _number(self.own_nulls[0])
        return int(number) if number is not None and number.is_integer() else None

    @property
    def type(self) -> pa.DataType:
        """The Arrow type that ``decode`` gives."""
        return self.arrow

    def ordinary_labels(self) -> tuple[str, ...]:
        """Spell each listed value, with what it means where that is declared."""
        spelled = [spell(value) for value in self.values]
        return tuple(f"{text} ({self.meanings[text]})" if text in self.meanings else text for text in spelled)

    @property
    def in_figures(self) -> bool:
        """Whether its values are numbers, and not texts."""
        return self.kind != "boolean" and any(isinstance(value, int) for value in self.values)

    @property
    def adds_up(self) -> bool:
        """Whether its values are scores: whole numbers in an order. Without one they are codes."""
        return self.kind == "ordinal" and self.in_figures

    @cached_property
    def _known(self) -> tuple[Label, ...]:
        own = () if self.places.own_other is None or self.other_value is None else (self.other_value,)
        return (*self.values, *own)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each code but null, where it ``adds_up``."""
        return np.array(self._known, np.int64)

    @cached_property
    def _spelled(self) -> pa.Array:
        return pa.array([spell(value) for value in self._known], type=pa.large_string())

    @cached_property
    def _numbers(self) -> dict[float, int]:
        """The code of each number that is listed, typed or spelled: "7" before "07", and "true" where there is no 1."""
        found: dict[float, int] = {}
        for code, value in enumerate(self._known):
            number = _number(value)
            if number is not None and (number not in found or spell(value) == spell_number(number)):
                found[number] = code
        words = [spell(value) for value in self._known]
        as_words = {float(i): words.index(word) for i, word in enumerate(("false", "true")) if word in words}
        return as_words | found

    @cached_property
    def _null_numbers(self) -> list[float]:
        return [number for null in self.own_nulls if (number := _number(null)) is not None]

    @cached_property
    def _moments(self) -> dict[int, int]:
        """The code of each date or date-time that is listed."""
        read = moments_in(self._spelled)
        fits = np.flatnonzero(~read.missing & ~read.unreadable)
        return {int(read.numbers[code]): int(code) for code in fits[::-1]}

    def read_text(self, text: pa.Array) -> Reading:
        """Match as spelled, then without surrounding blanks, then as a number if the listed values are numbers."""
        found = self._match(text)
        if (found < 0).any():
            found = np.where(found < 0, self._match(pc.utf8_trim_whitespace(text)), found)
        if (found < 0).any():
            found = np.where(found < 0, self._match_otherwise(text), found)
        if self.prefix is not None and (found < 0).any():
            cut = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(text), 0, self.prefix)
            found = np.where((found < 0) & ~missing_text(text, self.nulls), self._match(cut), found)
        return _reading(found, missing_text(text, self.nulls) & (found < 0))

    def read_numbers(self, numbers: NDArray[np.float64]) -> Reading:
        """Match numbers with listed numbers, however those are spelled."""
        found = _look_up(numbers, self._numbers, pa.float64())
        return _reading(found, np.isin(numbers, self._null_numbers) & (found < 0))

    def read_booleans(self, booleans: Bools) -> Reading:
        """Match true and false as they are spelled; else as 1 and 0."""
        words = self._match(pa.array(["false", "true"], pa.large_string()))
        numbers = np.array([self._numbers.get(0.0, -1), self._numbers.get(1.0, -1)])
        return _reading(np.where(words < 0, numbers, words)[booleans.astype(np.intp)])

    def read_moments(self, seconds: NDArray[np.int64], kind: Kind) -> Reading:
        """Match moments with listed dates and date-times."""
        return _reading(_look_up(seconds, self._moments, pa.int64()))

    def _match(self, text: pa.Array) -> NDArray[np.int64]:
        index = pc.index_in(text, value_set=self._spelled)
        return np.asarray(pc.fill_null(index, -1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def _match_otherwise(self, text: pa.Array) -> NDArray[np.int64]:
        if self.kind == "boolean":
            words = pa.array(list(SPELLED_BOOLEANS), type=pa.large_string())
            index = pc.index_in(pc.utf8_lower(pc.utf8_trim_whitespace(text)), value_set=words)
            codes = np.array([*SPELLED_BOOLEANS.values(), -1], dtype=np.int64)
            return np.asarray(codes[pc.fill_null(index, -1).to_numpy(zero_copy_only=False)])
        if not all(isinstance(value, int) for value in self._known):
            return np.full(len(text), -1, dtype=np.int64)
        read = numbers_in(text)
        return _look_up(np.where(read.missing | read.unreadable, np.nan, read.numbers), self._numbers, pa.float64())

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        """Return the values as they were spelled in the schema."""
        kind = self.arrow.value_type if pa.types.is_dictionary(self.arrow) else self.arrow
        values = pa.array([*self._known, *([self.null_value] if self.nullable else [])], type=kind)
        if not pa.types.is_dictionary(self.arrow):
            return values.take(pa.array(codes))
        null = self.places.null if self.decodes_null else None
        index = pa.array(codes, type=self.arrow.index_type, mask=None if null is None else codes == null)
        return pa.DictionaryArray.from_arrays(index, values.drop_null(), ordered=self.arrow.ordered)

    def compare(self, operator: Operator, literal: Any) -> Truth | str:
        """Compare each value with a listed literal; only ordinal columns have an order, that of listing."""
        spelled = [spell(value) for value in self._known]
        if not isinstance(literal, str | int) or spell(literal) not in spelled:
            return "unlisted"
        code = spelled.index(spell(literal))
        codes = np.arange(self.size)
        if operator == "=":
            return self.unknown(Truth(codes == code, codes == code), other=False)
        if self.kind != "ordinal" or code >= len(self.values):
            return "unordered"
        below = codes < code if operator == "<" else codes <= code
        return self.unknown(Truth(below, below), other=True)


def _reading(found: NDArray[np.int64], missing: Bools | None = None) -> Reading:
    faults = np.where(found < 0, Fault.UNLISTED, Fault.FITS).astype(np.uint8)
    if missing is not None:
        faults[missing] = Fault.MISSING
    return Reading(np.maximum(found, 0).astype(np.int32), faults)


def _look_up(values: NDArray[Any], codes: dict[Any, int], kind: pa.DataType) -> NDArray[np.int64]:
    """Return the code of each value, or -1."""
    index = pc.index_in(pa.array(values, type=kind), value_set=pa.array(list(codes), type=kind))
    rows = pc.fill_null(index, -1).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*codes.values(), -1], dtype=np.int64)[rows])


def spell(value: Label) -> str:
    """Return a listed value as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Label) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def spell_number(number: float) -> str:
    """Return a number as text, a whole one without a point."""
    return str(int(number)) if number.is_integer() else repr(number)
