"""Columns whose values are listed: categorical, ordinal and boolean.

Reading sees private rows and never raises on a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.column import Column, Operator, Truth
from understudy.schema.reading import (
    Fault,
    Reading,
    is_number,
    is_text,
    missing_text,
    nulls_of,
    numbers_of,
    text_of,
)

Label = str | int | bool
SPELLED_BOOLEANS = {"false": 0, "f": 0, "no": 0, "n": 0, "0": 0, "true": 1, "t": 1, "yes": 1, "y": 1, "1": 1}


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed(Column):
    """A column of listed values, in the order of their codes; ``other_value`` is the catch-all's label."""

    values: tuple[Label, ...]
    other_value: Label | None
    arrow: pa.DataType

    @property
    def other_label(self) -> str:
        """The declared catch-all value, for people."""
        return _spell(self.other_value) if self.other_value is not None else ""

    @property
    def type(self) -> pa.DataType:
        """The Arrow type that ``decode`` gives."""
        return self.arrow

    def ordinary_labels(self) -> tuple[str, ...]:
        """Spell each listed value."""
        return tuple(_spell(value) for value in self.values)

    @cached_property
    def _known(self) -> tuple[Label, ...]:
        own = () if self.places.own_other is None or self.other_value is None else (self.other_value,)
        return (*self.values, *own)

    def read(self, array: pa.Array) -> Reading:
        """Match as spelled, then without surrounding blanks, then as a number where either side is one."""
        missing = nulls_of(array)
        text = text_of(array)
        if text is None:
            return _reading(np.full(len(array), -1), missing, np.zeros(len(array), bool))
        found = self._match(text, [_spell(value) for value in self._known])
        if is_text(array.type) and (found < 0).any():
            trimmed = pc.utf8_trim_whitespace(text)
            found = np.where(found < 0, self._match(trimmed, [_spell(value) for value in self._known]), found)
        if (found < 0).any():
            found = np.where(found < 0, self._match_otherwise(array, text), found)
        blank = missing_text(text, self.nulls) & (found < 0)
        return _reading(found, missing | blank, np.ones(len(array), bool))

    def _match(self, text: pa.Array, spelled: list[str]) -> NDArray[np.int64]:
        index = pc.index_in(text, value_set=pa.array(spelled, type=text.type))
        return np.asarray(pc.fill_null(index, -1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def _match_otherwise(self, array: pa.Array, text: pa.Array) -> NDArray[np.int64]:
        if self.kind == "boolean":
            return self._match_boolean(array, text)
        whole = all(isinstance(value, int) for value in self._known)
        if not (is_number(array.type) or whole):
            return np.full(len(array), -1, dtype=np.int64)
        return self._match_number(array)

    def _match_boolean(self, array: pa.Array, text: pa.Array) -> NDArray[np.int64]:
        spelled = list(SPELLED_BOOLEANS)
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(text))
        index = self._match(lower, spelled)
        codes = np.array([*SPELLED_BOOLEANS.values(), -1], dtype=np.int64)
        return codes[index]

    def _match_number(self, array: pa.Array) -> NDArray[np.int64]:
        """Match 7, 7.0 and "07": a file may have read a spelled code as a number, or the reverse."""
        read = numbers_of(array, self.nulls)
        codes = {
            number: code for code, value in reversed(list(enumerate(self._known))) if (number := _number(value)) is not None
        }
        if not codes:
            return np.full(len(array), -1, dtype=np.int64)
        index = pc.index_in(pa.array(read.numbers), value_set=pa.array(list(codes), type=pa.float64()))
        rows = pc.fill_null(index, len(codes)).to_numpy(zero_copy_only=False)
        found = np.array([*codes.values(), -1], dtype=np.int64)[rows]
        return np.where(read.missing | read.unreadable, -1, found)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        """Return the values as they were spelled in the schema."""
        kind = self.arrow.value_type if pa.types.is_dictionary(self.arrow) else self.arrow
        values = pa.array([*self._known, *([None] if self.nullable else [])], type=kind)
        if not pa.types.is_dictionary(self.arrow):
            return values.take(pa.array(codes))
        null = self.places.null
        index = pa.array(codes, type=self.arrow.index_type, mask=None if null is None else codes == null)
        return pa.DictionaryArray.from_arrays(index, pa.array(list(self._known), type=kind), ordered=self.arrow.ordered)

    def compare(self, operator: Operator, literal: Any) -> Truth | str:
        """Compare each value with a listed literal; only ordinal columns have an order, that of listing."""
        spelled = [_spell(value) for value in self._known]
        if not isinstance(literal, str | int) or _spell(literal) not in spelled:
            return "unlisted"
        code = spelled.index(_spell(literal))
        codes = np.arange(self.size)
        if operator == "=":
            return self.unknown(Truth(codes == code, codes == code), other=False)
        if self.kind != "ordinal" or code >= len(self.values):
            return "unordered"
        below = codes < code if operator == "<" else codes <= code
        return self.unknown(Truth(below, below), other=True)


def _reading(found: NDArray[np.int64], missing: NDArray[np.bool_], readable: NDArray[np.bool_]) -> Reading:
    unfit = np.where(readable, Fault.UNLISTED, Fault.UNREADABLE)
    faults = np.where(missing, Fault.MISSING, np.where(found < 0, unfit, Fault.FITS))
    return Reading(np.maximum(found, 0).astype(np.int32), faults.astype(np.uint8))


def _spell(value: Label) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Label) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
