"""A ladder of codes that has a place for every value of any column, before anything is declared of it.

Encoding sees private rows and never raises on a value. The cells are the same for every table: missing, text, false, true,
digits after a zero, lengths of time, times of day, words that every table may have; numbers by sign and significant digits,
whole ones apart from others; days, those of dates apart from those of date-times, and by what their texts leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.cells import Categories, Cells, Kind, Objects, Part
from understudy.schema.column import Held, Undivided
from understudy.schema.days import FIRST_DAY, LAST_DAY, families, placed
from understudy.schema.layouts import CLOCKS, laid_out, layouts
from understudy.schema.moments import ISO, moments_in
from understudy.schema.reading import flags, missing_text, numbers_in
from understudy.schema.typed import DAY, cells_of

Codes = NDArray[np.int32]
_ALIKE = "yes no, y n, true false, t f, ja nein, j n, oui non, o n, si no, sí no, male female, m f"
PAIRS = tuple(
    dict.fromkeys(
        tuple(map(case, pair.split())) for pair in _ALIKE.split(", ") for case in (str.lower, str.capitalize, str.upper)
    )
)
"""Words that go together, spelled as people do. They are texts, whatever they mean."""
MISSING, TEXT, FALSE, TRUE, PADDED, LENGTH, MIDNIGHT = range(7)
CLOCK_CELLS = range(7, 7 + len(CLOCKS))
_BEFORE_WORDS = CLOCK_CELLS.stop
WORDS = {word: _BEFORE_WORDS + number for number, word in enumerate(dict.fromkeys(word for pair in PAIRS for word in pair))}
PLAIN = range(_BEFORE_WORDS + len(WORDS))
ISO_FAMILIES = ("whole", "other", "date", "datetime")
FAMILIES = (*ISO_FAMILIES, *(family.name for family in families()))
"""What the cells after these are of: whole numbers, other numbers, days, and days that are not spelled as in ISO 8601."""
WHOLE_DECADES, OTHER_DECADES = range(10), range(-4, 9)
WHOLE_DIGITS, OTHER_DIGITS = 4, 3
_TRUTHS = "^(?i:true|false)$"
"""Words that are numbers where a column is declared as one of these."""
_ODD_TEXTS = {
    PADDED: "^0[0-9]+$",
    LENGTH: r"^[0-9]+:[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?$",
    MIDNIGHT: "^24:00(:00)?$",
}
"""Digits after a zero, such as a postcode 01055, which as numbers would lose it. Hours above 23: what has up to 23 is a time
of day, which is told later; 24:00 may be the end of one."""


def power(digits: int, exponent: int) -> float:
    """Return ``digits`` times a power of ten: the float nearest to it."""
    return float(f"{digits}e{exponent}")


def number_end(family: int) -> float:
    """Return where the numbers of a family end: larger ones have the last cell."""
    return power(1, (WHOLE_DECADES, OTHER_DECADES)[family].stop)


@dataclass(frozen=True, eq=False)
class Ladder:
    """The cells, by code: which family each is of, its sign, and where it starts (in magnitude, or in days).

    ``swapped`` is where it starts if the month comes before the day.
    """

    family: NDArray[np.int8]
    sign: NDArray[np.int8]
    start: NDArray[np.float64]
    swapped: NDArray[np.float64]

    @classmethod
    def made(cls) -> Ladder:
        """Make the ladder."""
        days = np.arange(FIRST_DAY, LAST_DAY + 1, dtype=np.float64)
        spelled = [(days, days), (days, days), *((one.days, one.others) for one in families())]
        parts = [
            (np.full(len(PLAIN), -1), *([np.zeros(len(PLAIN))] * 3)),
            *(_signed(number, starts) for number, starts in enumerate((_whole(), _other()))),
            *((np.full(len(one), family), np.ones(len(one)), one, other) for family, (one, other) in enumerate(spelled, 2)),
        ]
        family, sign, start, swapped = (np.concatenate(one) for one in zip(*parts, strict=True))
        return cls(family.astype(np.int8), sign.astype(np.int8), start, swapped)

    def starts(self, family: int) -> NDArray[np.float64]:
        """Return where each cell starts, read as the texts of a family are: those of 03/04/2020 tell two days."""
        return self.swapped if FAMILIES[family].endswith("month first") else self.start

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.start)

    @cached_property
    def _first(self) -> dict[tuple[int, int], int]:
        """The first code of each family and sign."""
        pairs = 3 * self.family.astype(np.int64) + self.sign
        found, first = np.unique(pairs, return_index=True)
        return {
            ((pair + 1) // 3, (pair + 1) % 3 - 1): code for pair, code in zip(found.tolist(), first.tolist(), strict=True)
        }

    def of_numbers(self, numbers: NDArray[np.float64]) -> Codes:
        """Return the cell of each number; one beyond all cells goes to the last, NaN is missing."""
        known = np.where(np.isnan(numbers), 0.0, numbers)
        whole = (known == np.floor(known)) & np.isfinite(known)
        codes = np.full(len(numbers), MISSING, np.int64)
        for family, starts in enumerate((_whole(), _other())):
            place = np.clip(np.searchsorted(starts, np.abs(known), side="right") - 1, -1, len(starts) - 1)
            for sign in (-1, 1):
                rows = (whole == (family == 0)) & (np.sign(known) == sign) & (place >= 0)
                codes[rows] = self._first[family, sign] + place[rows]
            zero = (whole == (family == 0)) & ((known == 0) | (place < 0))
            codes[zero] = self._first[family, 0]
        codes[np.isnan(numbers)] = MISSING
        return codes.astype(np.int32)

    def of_layout(self, number: int, places: NDArray[np.intp]) -> Codes:
        """Return the cells of days in the family of texts of this number, by their places in it."""
        return np.asarray(self._first[len(ISO_FAMILIES) + number, 1] + places, np.int32)

    def of_seconds(self, seconds: NDArray[np.int64], *, clock: NDArray[np.bool_]) -> Codes:
        """Return the cell of each moment: of a date, or of a date-time where it has a ``clock``."""
        days = np.clip(seconds // DAY, FIRST_DAY, LAST_DAY) - FIRST_DAY
        first = np.where(clock, self._first[3, 1], self._first[2, 1])
        return np.asarray(first + days, np.int32)


@cache
def _whole() -> NDArray[np.float64]:
    """Magnitudes of whole numbers: each up to 9,999, then by four significant digits."""
    small = list(range(1, 10**WHOLE_DIGITS))
    large = [m * 10 ** (e - WHOLE_DIGITS + 1) for e in WHOLE_DECADES if e >= WHOLE_DIGITS for m in range(1000, 10000)]
    return np.array(small + large, np.float64)


@cache
def _other() -> NDArray[np.float64]:
    """Magnitudes of other numbers, by three significant digits; what is below counts as zero."""
    return np.array([power(m, e - OTHER_DIGITS + 1) for e in OTHER_DECADES for m in range(100, 1000)])


def _signed(family: int, starts: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    size = len(starts)
    sign = np.concatenate([np.full(size, -1.0), np.zeros(1), np.ones(size)])
    all_starts = np.concatenate([starts, np.zeros(1), starts])
    return np.full(2 * size + 1, float(family)), sign, all_starts, all_starts


@cache
def ladder() -> Ladder:
    """Return the ladder, which is the same for all tables."""
    return Ladder.made()


@dataclass(frozen=True)
class Climber(Undivided):
    """Encodes one column by the ladder, each value by itself."""

    name: str

    @property
    def in_figures(self) -> bool:
        """Whether a text file may spell its values as numbers: any column may hold them."""
        return True

    def encode(self, values: Held) -> Codes:
        """Return the code of each row, whatever its value."""
        if isinstance(values, pa.ChunkedArray):
            return np.concatenate([np.empty(0, np.int32), *(self.encode(chunk) for chunk in values.chunks)])
        if isinstance(values, pa.ExtensionArray):
            return self.encode(values.storage)
        if isinstance(values, pa.RunEndEncodedArray):
            return self.encode(pc.run_end_decode(values))
        if isinstance(values, pa.DictionaryArray):
            return self._by_index(values.dictionary, values.indices)
        if isinstance(values, Categories):
            return self._by_index(values.categories, pa.array(values.codes, mask=values.codes < 0))
        return self._climbed(cells_of(values))

    def _by_index(self, dictionary: pa.Array | Objects, indices: pa.Array) -> Codes:
        distinct = np.append(self.encode(dictionary), np.int32(MISSING))
        rows = pc.fill_null(pc.cast(indices, pa.int64()), len(distinct) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(distinct[rows], np.int32)

    def _climbed(self, cells: Cells) -> Codes:
        codes = np.full(cells.length, MISSING, np.int32)
        for part in cells.parts:
            if part.kind is not Kind.MISSING:
                codes[part.rows] = self._part(part)
        return codes

    def _part(self, part: Part) -> Codes:
        if part.kind is Kind.TEXT:
            return self._texts(part.values)
        if part.kind is Kind.BOOLEAN:
            return np.where(part.values, TRUE, FALSE).astype(np.int32)
        if part.kind is Kind.NUMBER:
            return ladder().of_numbers(part.values)
        return ladder().of_seconds(part.values, clock=part.values % DAY != 0)

    def _texts(self, text: pa.Array) -> Codes:
        """Read each text as a number or a moment, if it is one."""
        trimmed = pc.utf8_trim_whitespace(text)
        word = pc.fill_null(pc.index_in(trimmed, value_set=pa.array(WORDS, pa.large_string())), -1)
        codes: Codes = np.array([*WORDS.values(), TEXT], np.int32)[word.to_numpy(zero_copy_only=False)]
        for code, pattern in _ODD_TEXTS.items():
            codes[flags(pc.match_substring_regex(trimmed, pattern))] = code
        numbers = numbers_in(text)
        fits = ~(numbers.missing | numbers.unreadable | flags(pc.match_substring_regex(trimmed, _TRUTHS))) & (codes == TEXT)
        codes[fits] = ladder().of_numbers(numbers.numbers[fits].astype(np.float64))
        moments = moments_in(text, (), ISO, None)
        fits = ~(moments.missing | moments.unreadable)
        clock = flags(pc.match_substring(text, ":"))
        codes[fits] = ladder().of_seconds(np.asarray(moments.numbers[fits], np.int64), clock=clock[fits])
        for number, rows, some in laid_out(text):
            layout = layouts()[number]
            if layout.is_clock:
                codes[rows[~moments_in(some, (), layout.patterns[0]).unreadable]] = CLOCK_CELLS[number]
            else:
                for family, here, places in placed(layout, some):
                    codes[rows[here]] = ladder().of_layout(family, places)
        codes[missing_text(text, ()) | numbers.missing] = MISSING
        return codes
