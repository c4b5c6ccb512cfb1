"""Texts that spell days, moments and times of day otherwise than ISO 8601 does: which of the known layouts a text has.

Sees private rows and never raises on a value. The layouts are the same for every table. A text such as 03/04/2020 fits two
formats, 03/14/2020 one: which of them a column has is told by the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.formats import NAMES, clock_pattern, format_grain, format_pattern, has
from understudy.schema.reading import flags
from understudy.schema.typed import DAY

Rows = NDArray[np.intp]
CLOCKS = ("%H:%M", "%H:%M:%S", *(f"{clock}{blank}%p" for clock in ("%I:%M", "%I:%M:%S", "%I") for blank in (" ", "")))
_FIGURES = ("%d.%m.%{}",), ("%d/%m/%{}", "%m/%d/%{}"), ("%d-%m-%{}", "%m-%d-%{}")
_NAMED = ("%d-%b-%{}", "%d %b %{}", "%d. %b %{}", "%d/%b/%{}", "%d%b%{}", "%b %d, %{}", "%b %d %{}")
_MONTH = "|".join(name[:3] for name in NAMES)
_LIKELY = (
    rf"(?i)^(\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}|\d{{1,4}}([-/ ]|\. )?({_MONTH})[a-z]*[-/ ]?\d{{1,4}}"
    rf"|({_MONTH})[a-z]* \d{{1,2}},? \d{{2,4}})( \d{{1,2}}(:\d{{2}}){{0,2}} ?([ap]m)?)?$"
    r"|^\d{1,2}((:\d{2}){1,2} ?([ap]m)?| ?[ap]m)$"
)
"""What each of these looks like. Digits aside, few different texts do."""


@dataclass(frozen=True)
class Layout:
    """A way to spell moments: one format, or two that differ in whether the day comes first, or (the second) the month."""

    formats: tuple[str, ...]

    @property
    def is_clock(self) -> bool:
        """Whether it spells times of day."""
        return not has(self.formats[0], "d")

    @property
    def has_clock(self) -> bool:
        """Whether it spells moments, and not days alone."""
        return format_grain(self.formats[0]) < DAY

    @property
    def short(self) -> bool:
        """Whether years have two digits."""
        return has(self.formats[0], "y")

    @property
    def patterns(self) -> tuple[str, ...]:
        """The regular expressions of the formats."""
        return tuple(map(clock_pattern if self.is_clock else format_pattern, self.formats))


@cache
def layouts() -> tuple[Layout, ...]:
    """Return all layouts. No text fits two, but for months in May."""
    figures = [tuple(form.format(year) for form in forms) for year in "Yy" for forms in _FIGURES]
    named = [(form.format("Y"),) for form in ("%Y/%m/%d", "%Y-%b-%d", *_NAMED)] + [(form.format("y"),) for form in _NAMED]
    days = [*figures, *named, *((form.replace("%b", "%B"),) for (form,) in named if "%b" in form)]
    moments = [tuple(f"{form} {clock}" for form in forms) for forms in days for clock in CLOCKS]
    moments += [(f"%Y-%m-%d {clock}",) for clock in CLOCKS if has(clock, "I")]
    return tuple(map(Layout, (*((clock,) for clock in CLOCKS), *days, *moments)))


def laid_out(text: pa.Array) -> Iterator[tuple[int, Rows, pa.Array]]:
    """Yield layouts by their numbers: the rows whose text looks so, and these texts. What day they are is not looked at."""
    trimmed = pc.utf8_trim_whitespace(text)
    rows = np.flatnonzero(flags(pc.match_substring_regex(trimmed, _LIKELY)))
    some = trimmed.take(pa.array(rows))
    shapes = pc.replace_substring_regex(some, "[0-9]", "9").dictionary_encode()
    numbers = np.array([_layout_of(shape) for shape in shapes.dictionary.to_pylist()] or [-1], np.int64)
    found = numbers[shapes.indices.to_numpy(zero_copy_only=False)]
    for number in np.unique(found[found >= 0]).tolist():
        here = np.flatnonzero(found == number)
        yield number, rows[here], some.take(pa.array(here))


def _layout_of(shape: str) -> int:
    """Return the number of the layout that a text has, all of whose digits are nines; -1 where it has none."""
    return next((number for number, one in enumerate(_compiled()) if one.search(shape)), -1)


@cache
def _compiled() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(layout.patterns[0], re.ASCII) for layout in layouts())
