"""Texts that spell days and moments otherwise than ISO 8601 does: the formats that are known, and which of them a text fits.

Sees private rows and never raises on a value. The formats are the same for every table. A text such as 03/04/2020 fits two,
03/14/2020 one: which of them a column has is told by the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.formats import format_pattern
from understudy.schema.moments import moments_in
from understudy.schema.reading import flags
from understudy.schema.typed import DAY

Days = NDArray[np.int64]
FIRST_DAY, LAST_DAY = (int(np.datetime64(day, "D").astype(np.int64)) for day in ("1900-01-01", "2099-12-31"))
_MONTHS = 12
"""A number above this is a day."""
_LIKE_A_DAY = r"^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(\s|$)"
_DAYS = (("%d.%m.%Y",), ("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"), ("%Y/%m/%d",))
_CLOCKS = ("", " %H:%M", " %H:%M:%S")


@dataclass(frozen=True, eq=False)
class Family:
    """Texts that fit the same ``formats``: one, or both of those that differ in whether the day or the month comes first.

    ``days`` has each day that they may mean, by the first format; ``others`` the day by the last one.
    """

    formats: tuple[str, ...]
    days: Days
    others: Days

    @property
    def name(self) -> str:
        """What it is called."""
        return " or ".join(self.formats)


@cache
def layouts() -> tuple[tuple[Family, ...], ...]:
    """Return the families of texts that look alike, together: one, or both formats, the first alone, the second alone."""
    return tuple(tuple(_of(tuple(day + clock for day in days))) for clock in _CLOCKS for days in _DAYS)


def families() -> tuple[Family, ...]:
    """Return all families; a day has one place in each, or none."""
    return tuple(chain.from_iterable(layouts()))


def _of(formats: tuple[str, ...]) -> Iterator[Family]:
    days = np.arange(FIRST_DAY, LAST_DAY + 1)
    if len(formats) == 1:
        yield Family(formats, days, days)
        return
    dates = days.astype("datetime64[D]")
    years, months = dates.astype("datetime64[Y]").astype("datetime64[M]"), dates.astype("datetime64[M]")
    month, day = (months - years).astype(np.int64), (dates - months).astype(np.int64)
    swapped = (years + day).astype("datetime64[D]").astype(np.int64) + month
    unclear = day < _MONTHS
    yield Family(formats, days[unclear], swapped[unclear])
    for form in formats:
        yield Family((form,), days[~unclear], days[~unclear])


def placed(text: pa.Array) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield for families by their numbers: the rows whose text is of it, and the place of each one's day in the family."""
    trimmed = pc.utf8_trim_whitespace(text)
    rows = np.flatnonzero(flags(pc.match_substring_regex(trimmed, _LIKE_A_DAY)))
    some, number = trimmed.take(pa.array(rows)), 0
    for layout in layouts():
        formats = layout[0].formats
        here = np.flatnonzero(flags(pc.match_substring_regex(some, format_pattern(formats[0]))))
        alike = some.take(pa.array(here)).dictionary_encode()
        found = {form: _days(alike.dictionary, form)[alike.indices.to_numpy(zero_copy_only=False)] for form in formats}
        for family in layout:
            own = found[family.formats[0]] + FIRST_DAY
            fits = np.logical_and.reduce([(days >= 0) == (form in family.formats) for form, days in found.items()])
            fits &= np.isin(own, family.days)  # 23:59:60 is on the next day, which may be none of these
            yield number, rows[here[fits]], np.searchsorted(family.days, own[fits])
            number += 1


def _days(text: pa.Array, form: str) -> Days:
    """Return how many days after the first each text is; -1 where it is none in this format, or no day that is known."""
    found = moments_in(text, (), format_pattern(form))
    days = found.numbers.astype(np.int64) // DAY
    return np.where(found.unreadable | (days < FIRST_DAY) | (days > LAST_DAY), -1, days - FIRST_DAY)
