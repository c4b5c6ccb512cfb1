"""How text spells dates and date-times, as whole seconds since 1970.

Sees private rows; never raises on a value. Calendar arithmetic for bin edges lives here too.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.formats import NAMES
from understudy.schema.reading import Bools, Values, flags, missing_text
from understudy.schema.typed import DAY

ISO = (
    r"^(?P<Y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})"
    r"(?:[T ](?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d+)?)?\s?(?P<z>Z|z|[+-]\d{2}(?::?\d{2})?)?)?$"
)
CLOCK = r"^(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d+)?)?$"


def seconds_of(moment: date | datetime, timezone: str | None) -> int:
    """Return a declared bound as seconds since 1970: of the wall clock, or UTC with a time zone."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(timezone) if timezone else UTC)
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() // 1)


def moments_in(
    text: pa.Array, nulls: tuple[str, ...] = (), pattern: str = ISO, timezone: str | None = None, first_year: int = 1970
) -> Values:
    """Read text that spells moments, as whole seconds since 1970 (int64): UTC where there is a zone.

    Years of two digits are of the hundred from ``first_year`` on.
    """
    missing = missing_text(text, nulls)
    found = pc.extract_regex(pc.utf8_trim_whitespace(text), pattern=pattern)
    names = {field.name for field in found.type}
    part = {name: _whole(found, name, names, default) for name, default in _DEFAULTS.items()}
    year = first_year + (part["y"] - first_year) % 100 if "y" in names else part["Y"]
    days, real = _days(year, _month(found) if "b" in names else part["m"], part["d"])
    hour, clock = _hour(found, part["I"]) if "I" in names else (part["H"], part["H"] < 24)
    clock &= (part["M"] < 60) & (part["S"] < 61)
    seconds = days * DAY + hour * 3600 + part["M"] * 60 + part["S"]
    offset, aware = _offset(found, names)
    # A spelled offset is an instant; anything else is the wall clock of the column's zone.
    seconds = np.where(aware, seconds - offset, to_utc(seconds, timezone))
    return Values(seconds, missing, ~missing & ~(flags(pc.is_valid(found)) & real & clock))


def to_utc(seconds: NDArray[np.int64], timezone: str | None) -> NDArray[np.int64]:
    """Wall-clock seconds in ``timezone`` as UTC seconds; unchanged when the column has no zone."""
    if timezone is None:
        return seconds
    # Beyond these years Arrow would refuse; such rows are out of any bounds anyway.
    bounded = np.clip(seconds, seconds_of(date(1, 1, 3), None), seconds_of(date(9999, 12, 29), None))
    wall = pa.array(bounded, type=pa.timestamp("s"))
    zoned = pc.assume_timezone(wall, timezone, ambiguous="earliest", nonexistent="earliest")
    return np.asarray(zoned.view(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


_DEFAULTS = {"Y": 1970, "y": 0, "m": 1, "d": 1, "H": 0, "I": 12, "M": 0, "S": 0}


def _field(found: pa.Array, name: str) -> pa.Array:
    spelled = pc.struct_field(found, name)
    return pc.if_else(pc.equal(spelled, ""), pa.scalar(None, type=spelled.type), spelled)


def _whole(found: pa.Array, name: str, names: set[str], default: int) -> NDArray[np.int64]:
    if name not in names:
        return np.full(len(found), default, dtype=np.int64)
    digits = pc.cast(_field(found, name), pa.int64())
    return np.asarray(pc.fill_null(digits, default).to_numpy(zero_copy_only=False), dtype=np.int64)


def _month(found: pa.Array) -> NDArray[np.int64]:
    """Return the number of the month that is named; 1 where none is."""
    named = pc.utf8_slice_codeunits(pc.utf8_capitalize(_field(found, "b")), 0, 3)
    month = pc.index_in(named, value_set=pa.array([name[:3] for name in NAMES], named.type))
    return np.asarray(pc.fill_null(month, 0).to_numpy(zero_copy_only=False), dtype=np.int64) + 1


def _hour(found: pa.Array, hour: NDArray[np.int64]) -> tuple[NDArray[np.int64], Bools]:
    """Return the hour of a clock with AM and PM, and whether there is such a one: 12 AM is midnight."""
    afternoon = flags(pc.fill_null(pc.equal(pc.utf8_upper(_field(found, "p")), "PM"), fill_value=False))
    return hour % 12 + 12 * afternoon, (hour >= 1) & (hour <= 12)


def _days(year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]) -> tuple[NDArray[np.int64], Bools]:
    """Return days since 1970, and whether such a day exists (no 30 February)."""
    real = (month >= 1) & (month <= 12) & (day >= 1)
    start = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    first = start.astype("datetime64[D]").astype(np.int64)
    following = (start + 1).astype("datetime64[D]").astype(np.int64)
    return first + day - 1, real & (day <= following - first)


def _offset(found: pa.Array, names: set[str]) -> tuple[NDArray[np.int64], Bools]:
    """Return the spelled offset from UTC in seconds, and which rows spell one."""
    if "z" not in names:
        return np.zeros(len(found), dtype=np.int64), np.zeros(len(found), dtype=bool)
    spelled = _field(found, "z").dictionary_encode()
    seconds = [_offset_seconds(one) for one in spelled.dictionary.to_pylist()]
    taken = pa.array(seconds, type=pa.int64()).take(spelled.indices)
    return np.asarray(pc.fill_null(taken, 0).to_numpy(zero_copy_only=False)), flags(pc.is_valid(taken))


def _offset_seconds(spelled: str | None) -> int | None:
    if not spelled:
        return None
    if spelled in "Zz":
        return 0
    digits = spelled[1:].replace(":", "").ljust(4, "0")
    return (-1 if spelled[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)


WIDTH = re.compile(r"^\s*(\d*)\s*(second|minute|hour|day|week|month|quarter|year)s?\s*$")
_FIXED = {"second": 1, "minute": 60, "hour": 3600, "day": DAY, "week": 7 * DAY}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def step_seconds(step: str) -> int:
    """Return the seconds of a step such as "15 minutes"; ValueError says what is wrong."""
    match = WIDTH.match(step)
    if match is None or int(match[1] or 1) < 1 or match[2] not in ("second", "minute", "hour", "day"):
        raise ValueError('write it as "30 seconds", "15 minutes", "1 hour" or "1 day"')
    return int(match[1] or 1) * _FIXED[match[2]]


def width_starts(width: str, low: int, high: int, limit: int) -> list[int]:
    """Return where each bin of ``width`` starts, from ``low`` to ``high`` (seconds, inclusive).

    Months, quarters and years follow the calendar, so the first bin may be short; other widths count from
    ``low``. ValueError says what is wrong with the width.
    """
    match = WIDTH.match(width)
    if match is None or int(match[1] or 1) < 1:
        raise ValueError('write it as "7 days", "1 month", "6 hours", "quarter" or "year"')
    count, unit = int(match[1] or 1), match[2]
    if unit in _FIXED:
        step = count * _FIXED[unit]
        if (high - low) // step >= limit:
            raise ValueError(f"it makes more than {limit:,} bins")
        return list(range(low, high + 1, step))
    months = count * _MONTHS[unit]
    first = int(np.datetime64(low, "s").astype("datetime64[M]").astype(np.int64))
    last = int(np.datetime64(high, "s").astype("datetime64[M]").astype(np.int64))
    if (last - first) // months >= limit:
        raise ValueError(f"it makes more than {limit:,} bins")
    marks = np.arange(first - first % months, last + 1, months).astype("datetime64[M]").astype("datetime64[s]")
    return [low, *(int(mark) for mark in marks.astype(np.int64) if low < mark <= high)]
