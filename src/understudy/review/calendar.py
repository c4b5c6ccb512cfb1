"""Drafts columns of dates, date-times and times of day.

NOT PRIVATE: what it writes was seen in the data.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import pyarrow as pa

from understudy.review.blocks import Block, quote
from understudy.review.look import Seen
from understudy.review.types import MISSING_MARKS
from understudy.schema import parse_schema
from understudy.schema.formats import end_of_day, format_pattern, has, parts_of
from understudy.source.duck import literal

MAY_BE_LENGTHS = (
    "hours without a zero in front may be lengths of time, and are taken for times of day; if they say how long, and not "
    "when, write them as numbers, such as minutes, and draft again"
)
_STEPS = {86_400: "1 day", 3600: "1 hour"} | {60 * m: f"{m} minute{'s' * (m > 1)}" for m in (30, 15, 10, 5, 1)}


def draft_time(seen: Seen) -> Block:
    """Draft a column of times of day."""
    form = seen.spelling.form or "%H:%M"
    lines = [] if form == "%H:%M" else [f"format = {quote(form)}"]
    spelled = end_of_day(form) or ""
    last, mark = ending(spelled, seen=bool(spelled) and seen.of_text and not seen.holds(f"trim(v) <> {literal(spelled)}"))
    step, regular = _step_of_times(seen, "%H:%M:%S" if pa.types.is_time(seen.type) else form)
    mark = "; ".join(part for part in (mark, MAY_BE_LENGTHS if form == "%-H:%M:%S" else "", regular) if part)
    if pa.types.is_time(seen.type):
        lines = ['format = "%H:%M:%S"', 'type = "time32[s]"' if pa.types.is_time32(seen.type) else 'type = "time64[us]"']
    return _block(seen, ['kind = "time"', *lines, *step, *last], mark, "12:00:00")


def ending(spelled: str, *, seen: bool) -> tuple[list[str], str]:
    """Return the settings and the mark of a column of times in which the end of a day was ``seen``."""
    mark = f"{spelled} was seen, and is kept as the end of the day; without max it counts as the last minute before"
    return (['max = "24:00"'], mark) if seen else ([], "")


def draft_date(seen: Seen) -> Block:
    """Draft a column of days."""
    low, high = seen.extremes()
    first, last = _rounded(_day(low), _day(high))
    form, words = _format(seen)
    lines = ['kind = "date"', *form, f"min = {first}", f"max = {last}", f"width = {quote(_width((last - first).days))}"]
    return _block(
        seen, lines, f"the first and the last day were seen, and rounded; write those that you know{words}", str(first)
    )


def draft_datetime(seen: Seen) -> Block:
    """Draft a column of moments."""
    low, high = seen.extremes()
    zone = seen.type.tz
    first, last = _rounded(_day(low, zone), _day(high, zone))
    form, words = _format(seen)
    step, clock = _step(seen, form, (first, last))
    settings = [
        *form,
        *step,
        *([] if form or seen.type.unit == "us" else [f'type = "timestamp[{seen.type.unit}]"']),
        *([] if zone is None else [f"timezone = {quote(zone)}"]),
    ]
    bounds = [f"min = {first}T00:00:00", f"max = {last}T{clock}", f"width = {quote(_width((last - first).days))}"]
    mark = f"the first and the last moment were seen, and rounded; write those that you know{words}"
    return _block(seen, ['kind = "datetime"', *settings, *bounds], mark, f"{first}T00:00:00")


def _block(seen: Seen, lines: list[str], mark: str, first: str) -> Block:
    odd = [quote(word) for word in seen.nulls if word and word.lower() not in MISSING_MARKS]
    doubt = f'{", ".join(odd)} seem{"s" if len(odd) == 1 else ""} to mean "missing"' if odd else ""
    nulls = [f"nulls = [{', '.join(map(quote, seen.nulls))}]"] if seen.nulls else []
    nullable = bool(nulls or seen.missing)
    place = [*nulls, "nullable = true"] if nullable else [f"other = {first}"]
    block = Block(seen.name, (*lines, *place), nullable=nullable)
    lost = _lost(seen, block)
    strays = slips(lost, seen.rows - seen.missing + lost, "not in this format") if lost else ""
    marks = "; ".join(part for part in (mark, doubt, strays) if part)
    return replace(block, mark=f"{marks}." if marks else "")


def slips(lost: int, of: int, what: str) -> str:
    """Say what becomes of values that are not as all the others."""
    are, become = ("is", "becomes") if lost == 1 else ("are", "become")
    return f"{lost:,} of {of:,} values {are} {what}, and {become} missing"


def _lost(seen: Seen, block: Block) -> int:
    """Return how many rows have a text that the column as it is declared does not read."""
    strays = seen.strays()
    if not strays:
        return 0
    schema = parse_schema(str(block))
    codes = schema.encode(pa.table({seen.name: pa.array(strays, pa.string())}))[:, 0]
    return sum(rows for rows, code in zip(strays.values(), codes, strict=True) if code == schema[seen.name].size - 1)


def _format(seen: Seen) -> tuple[list[str], str]:
    """Declare how texts spell moments, unless it is the usual way; say so where day and month may be mistaken."""
    form = seen.spelling.form
    if form is None:
        return [], ""
    format_pattern(form)
    first, second = [part.letter for part in parts_of(form) if part.letter in [*"Yymbd"]][:2]
    figures, by_points = {first, second} <= {*"ymd"}, "." in form
    doubt = ""
    if figures and not by_points:
        doubt = f", and whether the day{', the month or the year' if has(form, 'y') else ' or the month'} comes first"
    if has(form, "y"):
        doubt += "; years of two digits are of the hundred from the year of min on"
    return [f"format = {quote(form)}"], doubt


def _step(seen: Seen, form: list[str], ends: Sequence[date]) -> tuple[list[str], str]:
    """Declare what all moments are multiples of, and return the last time of a day that is one."""
    finest, zone = 60 if form and "%S" not in form[0] else 1, seen.type.tz
    steps = [one for one in _STEPS if one > finest and (zone is None or _fits_zone(one, zone, ends))]
    seconds = seen.multiple_of("epoch(v)", steps)
    last = (datetime.min + timedelta(seconds=86_400 - (seconds or finest))).time()
    return [] if seconds is None else [f"step = {quote(_STEPS[seconds])}"], str(last)


def _fits_zone(seconds: int, zone: str, ends: Sequence[date]) -> bool:
    """Whether days begin at a multiple on the clocks of a zone: steps are counted in UTC."""
    starts = (datetime(one.year, one.month, one.day, tzinfo=ZoneInfo(zone)) for one in ends)
    return (seconds <= 3600 or zone == "UTC") and not any(one.timestamp() % seconds for one in starts)


def step_of_day(minutes: Collection[int]) -> tuple[list[str], str]:
    """Return the setting, and the mark, of what times of day in minutes are all multiples of; empty for one minute."""
    steps = (seconds for seconds in _STEPS if 60 < seconds <= 3600)
    return _stepped(next((seconds for seconds in steps if not any(60 * one % seconds for one in minutes)), None))


def _stepped(seconds: int | None) -> tuple[list[str], str]:
    if seconds is None:
        return [], ""
    step = _STEPS[seconds]
    return [f"step = {quote(step)}"], f"all times that were seen are multiples of {step}; take step away where others can be"


def _step_of_times(seen: Seen, form: str) -> tuple[list[str], str]:
    """Return the setting, and the mark, of what times of day are all multiples of, beyond what the format says."""
    read = f"epoch(try_strptime(trim(v), {literal(seen.spelling.format or form)}))" if seen.of_text else "epoch(v)"
    finest = 60 if "%S" not in form else 1
    return _stepped(seen.multiple_of(read, [one for one in _STEPS if finest < one <= 3600]))


def _day(moment: Any, zone: str | None = None) -> date:
    """Return the day of a moment, on the clocks of ``zone``."""
    if not isinstance(moment, datetime):
        return cast(date, moment)
    return (moment.astimezone(ZoneInfo(zone)) if zone else moment).date()


def _rounded(first: date, last: date) -> tuple[date, date]:
    """Widen to whole months, or to whole years where there are more than five."""
    if (last - first).days > 5 * 366:
        return date(first.year, 1, 1), date(last.year, 12, 31)
    following = date(last.year + last.month // 12, last.month % 12 + 1, 1)
    return first.replace(day=1), following - timedelta(days=1)


def _width(days: int) -> str:
    return "1 day" if days <= 62 else "1 month" if days <= 5 * 366 else "1 quarter" if days <= 15 * 366 else "1 year"
