"""The days that texts of a layout spell, and which of them are in doubt: 03/04/2020 is one of two days, 03/14/2020 is one.

Sees private rows and never raises on a value. The families of days are the same for every table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema.layouts import Layout, Rows
from understudy.schema.moments import moments_in
from understudy.schema.typed import DAY

Days = NDArray[np.int64]
FIRST_DAY, SHORT_DAY, LAST_DAY = (
    int(np.datetime64(day, "D").astype(np.int64)) for day in ("1900-01-01", "2000-01-01", "2099-12-31")
)
"""The first day, that of years of two digits, which count from 2000 here, and the last."""
NO_DAY = FIRST_DAY - 1
_MONTHS = 12
"""A number above this is a day."""
ORDERS = ("plain", "either", "day first", "month first")
"""Of what a layout leaves open: nothing, or what comes first, which a text may tell."""


@dataclass(frozen=True, eq=False)
class Family:
    """Days of texts that are alike in what they leave open; ``others`` is what each is if the month comes first."""

    clock: bool
    short: bool
    order: str
    days: Days
    others: Days

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{'moments' if self.clock else 'days'}{' of short years' if self.short else ''}, {self.order}"


@cache
def families() -> tuple[Family, ...]:
    """Return all families, those of each ``ORDERS`` together."""
    return tuple(one for clock in (False, True) for short in (False, True) for one in _families(clock=clock, short=short))


def groups() -> list[tuple[Family, ...]]:
    """Return the families that differ in ``ORDERS`` alone, together."""
    return [families()[start : start + len(ORDERS)] for start in range(0, len(families()), len(ORDERS))]


def _families(*, clock: bool, short: bool) -> Iterator[Family]:
    days = np.arange(SHORT_DAY if short else FIRST_DAY, LAST_DAY + 1)
    dates = days.astype("datetime64[D]")
    years, months = dates.astype("datetime64[Y]").astype("datetime64[M]"), dates.astype("datetime64[M]")
    month, day = (months - years).astype(np.int64), (dates - months).astype(np.int64)
    swapped = (years + day).astype("datetime64[D]").astype(np.int64) + month
    unclear = day < _MONTHS
    clear = days[~unclear]
    for order, own, other in zip(
        ORDERS, (days, days[unclear], clear, clear), (days, swapped[unclear], clear, clear), strict=True
    ):
        yield Family(clock, short, order, own, other)


def placed(layout: Layout, text: pa.Array) -> Iterator[tuple[int, Rows, Rows]]:
    """Yield families by their numbers: which texts of a layout are of it, and the place of each one's day in the family."""
    found = [_days(text, layout, pattern) for pattern in layout.patterns]
    first = next(i for i, one in enumerate(families()) if (one.clock, one.short) == (layout.has_clock, layout.short))
    for place, family in enumerate(families()[first : first + len(ORDERS)]):
        own, fits = _of_order(found, place)
        here = np.flatnonzero(fits & np.isin(own, family.days))  # 23:59:60 is on the next day, which may be none of these
        yield first + place, here, np.searchsorted(family.days, own[here])


def _of_order(found: list[Days], place: int) -> tuple[Days, NDArray[np.bool_]]:
    """Return the days of texts by what is left open, and which of them are so; NO_DAY where it fits no format."""
    if len(found) == 1 or place == 0:
        return found[0], np.full(len(found[0]), len(found) == 1 and place == 0)
    own, other = found if place < len(ORDERS) - 1 else found[::-1]
    return own, (other > NO_DAY) == (ORDERS[place] == "either")


def _days(text: pa.Array, layout: Layout, pattern: str) -> Days:
    """Return the day that each text is in a format of the layout; NO_DAY where it is none, or none that is known."""
    alike = text.dictionary_encode()
    found = moments_in(alike.dictionary, (), pattern, first_year=2000 if layout.short else 1970)
    days = found.numbers.astype(np.int64) // DAY
    known = np.where(found.unreadable | (days < FIRST_DAY) | (days > LAST_DAY), NO_DAY, days)
    return np.asarray(known[alike.indices.to_numpy(zero_copy_only=False)])
