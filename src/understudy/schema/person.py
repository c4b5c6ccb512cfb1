"""Who a person is: the column that identifies one, and how many rows of each person may be used.

Sees private identifiers and never raises on one. What leaves this module is numbers that are equal where identifiers are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.cells import Categories, Kind, Objects, Part
from understudy.schema.column import Held
from understudy.schema.reading import Bools, flags, missing_text
from understudy.schema.typed import cells_of, is_binary

_WHOLE = r"^(0|-?[1-9]\d{0,17})$"
"""Texts that spell a whole number in the one way that numbers are spelled here: with at most 18 digits."""
_LARGEST = 10**18
_EXACT = 2**53
_DIGITS = 100
"""Decimals beyond so many digits are told by their own spelling."""

Words = NDArray[np.uint64]


def scrambled(words: Words) -> Words:
    """Return other words for words, each for one, in which every bit depends on all (the finalizer of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Identities:
    """128 bits a row. Rows have the same bits where their identifiers are the same; ``missing`` rows have none.

    Whole numbers of up to 18 digits have bits of their own, with nothing in ``second``. Of other identifiers the bits are a
    cryptographic digest, so that nobody can make two that look like one.
    """

    first: Words
    second: Words
    missing: Bools

    @classmethod
    def none(cls, length: int) -> Identities:
        """All missing."""
        return cls(np.zeros(length, np.uint64), np.zeros(length, np.uint64), np.ones(length, np.bool_))

    def put(self, rows: Any, other: Identities) -> None:
        """Set some of the rows."""
        self.first[rows], self.second[rows], self.missing[rows] = other.first, other.second, other.missing

    def take(self, rows: NDArray[np.integer]) -> Identities:
        """Return the rows at these places."""
        return Identities(self.first[rows], self.second[rows], self.missing[rows])


@dataclass(frozen=True)
class Person:
    """The column that identifies a person, and the most rows of each person that are used."""

    column: str
    rows: int
    nulls: tuple[str, ...] = ()

    def identify(self, values: Held) -> Identities:
        """Tell the identifiers of a column apart, each by its own value alone.

        1, 1.0 and the text "1" are the same; so are texts that differ in spaces around them. "01" is another. Null, NaN,
        blank text and the declared ``nulls`` are missing.
        """
        if isinstance(values, pa.ChunkedArray):
            found = [self.identify(chunk) for chunk in values.chunks]
            parts = [np.concatenate(column) for column in zip(*((f.first, f.second, f.missing) for f in found), strict=True)]
            return Identities(*parts) if parts else Identities.none(0)
        if isinstance(values, pa.ExtensionArray):
            return self.identify(values.storage)
        if isinstance(values, pa.RunEndEncodedArray):
            rows = np.arange(values.offset, values.offset + len(values))
            return self._listed(values.values, pa.array(np.searchsorted(values.run_ends, rows, side="right")))
        if isinstance(values, pa.DictionaryArray):
            return self._listed(values.dictionary, values.indices)
        if isinstance(values, Categories):
            return self._listed(values.categories, pa.array(values.codes, mask=values.codes < 0))
        return self._objects(list(values.values)) if isinstance(values, Objects) else self._typed(values)

    @cached_property
    def _null_numbers(self) -> NDArray[np.int64]:
        """The whole numbers among the declared ``nulls``: they mean the same where a column has a type."""
        return np.array([int(null) for null in self.nulls if re.fullmatch(_WHOLE, null, re.ASCII)], np.int64)

    def _listed(self, distinct: Held, indices: pa.Array) -> Identities:
        """Look at each distinct value once; one more stands for the nulls among the indices."""
        known = self.identify(distinct)
        with_null = Identities.none(len(known.first) + 1)
        with_null.put(slice(0, len(known.first)), known)
        rows = pc.fill_null(pc.cast(indices, pa.int64()), len(known.first))
        return with_null.take(rows.to_numpy(zero_copy_only=False))

    def _typed(self, array: pa.Array) -> Identities:
        kind = array.type
        if pa.types.is_signed_integer(kind) or (pa.types.is_unsigned_integer(kind) and kind != pa.uint64()):
            numbers = pc.fill_null(pc.cast(array, pa.int64()), 0).to_numpy(zero_copy_only=False)
            return _except(_of_numbers(numbers), flags(pc.is_null(array)) | np.isin(numbers, self._null_numbers))
        if kind == pa.uint64() or pa.types.is_decimal(kind) or is_binary(kind):
            return self._objects(array.to_pylist())
        return self._cells(array)

    def _objects(self, values: list[Any]) -> Identities:
        """Whole numbers, decimals and bytes as they are; the rest as a column would read them."""
        exact = np.fromiter((_is_exact(value) for value in values), np.bool_, len(values))
        found = Identities.none(len(values))
        if exact.any():
            rows = np.flatnonzero(exact)
            found.put(rows, self._texts(_text([_digits(values[i]) for i in rows])))
        if not exact.all():
            rows = np.flatnonzero(~exact)
            found.put(rows, self._cells(Objects([values[i] for i in rows])))
        return found

    def _cells(self, values: pa.Array | Objects) -> Identities:
        found = Identities.none(len(values))
        for part in cells_of(values).parts:
            if part.kind is not Kind.MISSING:
                found.put(part.rows, self._part(part))
        return found

    def _part(self, part: Part) -> Identities:
        if part.kind is Kind.TEXT:
            return self._texts(part.values)
        if part.kind is Kind.NUMBER:
            return self._floats(part.values)
        return self._texts(_text([f"{part.kind.value} {value}" for value in part.values.tolist()]))

    def _floats(self, numbers: NDArray[np.float64]) -> Identities:
        whole = (np.abs(numbers) < _EXACT) & (np.floor(numbers) == numbers)
        found = _of_numbers(np.where(whole, numbers, 0.0).astype(np.int64))
        others = np.flatnonzero(~whole)
        if others.size:
            found.put(others, self._texts(_text([_digits(number) for number in numbers[others].tolist()])))
        return _except(found, np.isnan(numbers) | np.isin(numbers, self._null_numbers))

    def _texts(self, text: pa.Array) -> Identities:
        trimmed = pc.utf8_trim_whitespace(text)
        whole = pc.match_substring_regex(trimmed, _WHOLE)
        numbers = pc.cast(pc.if_else(whole, trimmed, "0"), pa.int64())
        found = _of_numbers(numbers.to_numpy(zero_copy_only=False))
        others = np.flatnonzero(~flags(whole))
        if others.size:
            first, second = _digests(trimmed.take(pa.array(others)))
            found.first[others], found.second[others] = first, second
        return _except(found, missing_text(text, self.nulls))


def _except(found: Identities, missing: Bools) -> Identities:
    return Identities(found.first, found.second, found.missing | missing)


def _of_numbers(numbers: NDArray[np.int64]) -> Identities:
    """Each number has bits of its own; those with more digits than a text may have are told by their text."""
    zeros = np.zeros(len(numbers), np.uint64)
    found = Identities(scrambled(numbers.astype(np.int64).view(np.uint64)), zeros, zeros.astype(np.bool_))
    long = np.flatnonzero((numbers <= -_LARGEST) | (numbers >= _LARGEST))
    if long.size:
        found.first[long], found.second[long] = _digests(_text([str(number) for number in numbers[long].tolist()]))
    return found


def _digests(text: pa.Array) -> tuple[Words, Words]:
    """Return 127 bits of each text's digest; the last of ``second`` is always 1, which no number has."""
    listed = text.dictionary_encode()
    digests = b"".join(blake2b(value.encode(), digest_size=16).digest() for value in listed.dictionary.to_pylist())
    words = np.frombuffer(digests, "<u8").reshape(-1, 2).astype(np.uint64)[listed.indices.to_numpy(zero_copy_only=False)]
    return words[:, 0].copy(), words[:, 1] | np.uint64(1)


def _is_exact(value: Any) -> bool:
    return isinstance(value, int | np.integer | Decimal | bytes) and not isinstance(value, bool)


def _digits(value: Any) -> str:
    """Spell a number: without a point where it is whole. Of what is not a number, nothing: it is missing.

    Bytes are the text that they spell in UTF-8, or else their digits.
    """
    try:
        if isinstance(value, bytes):
            return _bytes_digits(value)
        if isinstance(value, Decimal):
            return _decimal_digits(value)
        return str(int(value)) if value == int(value) else str(value)
    except Exception:  # infinities; or a number's own code, which may raise anything
        return "inf"


def _bytes_digits(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"bytes {value.hex()}"


def _decimal_digits(value: Decimal) -> str:
    if value.is_nan():
        return ""
    if not value.is_finite() or abs(value.adjusted()) > _DIGITS:
        return str(value)
    digits = f"{value:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _text(values: list[str]) -> pa.Array:
    return pa.array(values, pa.large_string())
