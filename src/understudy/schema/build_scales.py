"""Builds the scale of a column from its declaration, and says what does not make sense in it. Public."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from understudy.schema import declaration as d
from understudy.schema.formats import clock_pattern, end_of_day, format_grain, format_pattern, has
from understudy.schema.moments import step_seconds
from understudy.schema.problems import Wrong
from understudy.schema.scales import Clock, Continuous, Decimals, Moments, Scale, Whole
from understudy.schema.signs import Signs
from understudy.schema.typed import DAY

EXACT = 2**53  # beyond this, float64 no longer holds every whole number

Ranged = d.Integer | d.Real | d.Date | d.DateTime | d.Time


def build_scale(declared: Ranged) -> Scale:
    """Build the scale of a column; raises Wrong."""
    if isinstance(declared, d.Integer):
        arrow, signs = pa.type_for_alias(declared.type), _signs(declared)
        return Whole(arrow, signs=signs) if declared.step in (None, 1) else Decimals(arrow, 0, declared.step, signs=signs)
    if isinstance(declared, d.Real):
        return _real_scale(declared)
    if isinstance(declared, d.Time):
        return _clock_scale(declared)
    pattern = _pattern(declared.format)
    extra: dict[str, Any] = {} if pattern is None else {"pattern": pattern, "form": declared.format, **_century(declared)}
    if isinstance(declared, d.Date):
        if declared.format is not None and format_grain(declared.format) != DAY:
            raise Wrong('the format of a date has no hours; use kind = "datetime" for these.', "format")
        return Moments(pa.date32() if pattern is None else pa.string(), **extra)
    return _datetime_scale(declared, extra)


def _signs(declared: d.Integer | d.Real) -> Signs:
    return Signs(declared.before or "", declared.after or "")


def _real_scale(declared: d.Real) -> Scale:
    match = re.match(r"decimal\((\d+), ?(\d+)\)", declared.type)
    if match is not None:
        precision, places = int(match[1]), int(match[2])
        if not places <= precision <= 15:
            raise Wrong("a decimal type has at most 15 digits, the decimals included.", "type")
        if declared.decimals not in (None, places):
            raise Wrong(f"decimals must be {places}, as the type says; leave it out.", "decimals")
        return Decimals(pa.decimal128(precision, places), places, _units(declared, places), signs=_signs(declared))
    arrow = pa.type_for_alias(declared.type)
    if declared.decimals is None and declared.step is None:
        return Continuous(arrow, signs=_signs(declared))
    places = _places_of(declared.step or 1) if declared.decimals is None else declared.decimals
    return Decimals(arrow, places, _units(declared, places), signs=_signs(declared))


def _places_of(step: float) -> int:
    exponent = Decimal(str(step)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _units(declared: d.Real, places: int) -> int:
    """Return the declared step in units of the last decimal."""
    if declared.step is None:
        return 1
    units = Decimal(str(declared.step)).scaleb(places)
    if units != int(units) or units >= EXACT or places > 12:
        raise Wrong(f"step = {declared.step} is finer than the column's decimals ({places}), or too large.", "step")
    return int(units)


def _clock_scale(declared: d.Time) -> Clock:
    try:
        pattern = clock_pattern(declared.format)
    except ValueError as error:
        raise Wrong(f"the format cannot be used: {error}.", "format") from None
    whole = declared.type.startswith(("int", "uint"))
    if (whole or declared.type == "float64") and declared.format not in ("%H%M", "%H%M%S"):
        raise Wrong(f'type = "{declared.type}" goes with format = "%H%M" or "%H%M%S".', "type")
    if declared.max == d.END_OF_DAY and end_of_day(declared.format) is None:
        raise Wrong(f'format = "{declared.format}" has no 24:00; leave max out.', "max")
    if declared.max == d.END_OF_DAY and declared.type.startswith("time"):
        raise Wrong(f'type = "{declared.type}" has no 24:00; leave max out, or write type = "string".', "max")
    if whole and np.iinfo(declared.type).max < (2400 if declared.format == "%H%M" else 240_000):
        raise Wrong(f'type = "{declared.type}" cannot hold the end of the day; choose a wider type.', "type")
    return Clock(pa.type_for_alias(declared.type), _grain(declared), declared.format, pattern)


def _grain(declared: d.DateTime | d.Time) -> int:
    """Return the finest step, in seconds."""
    finest = format_grain(declared.format) if declared.format is not None else 1
    if declared.step is None:
        return finest
    try:
        seconds = step_seconds(declared.step)
    except ValueError as error:
        raise Wrong(f'step = "{declared.step}" cannot be used: {error}.', "step") from None
    if seconds % finest or DAY % seconds:
        raise Wrong(f'step = "{declared.step}" is finer than the format, or does not divide a day.', "step")
    return seconds


def _pattern(form: str | None) -> str | None:
    try:
        return None if form is None else format_pattern(form)
    except ValueError as error:
        raise Wrong(f"the format cannot be used: {error}.", "format") from None


def _century(declared: d.Date | d.DateTime) -> dict[str, int]:
    """Return the first of the hundred years that years of two digits are of: that of the first bound."""
    bounds = [one for one in (declared.min, *(declared.edges or ()), declared.max) if one is not None]
    if declared.format is None or not has(declared.format, "y") or not bounds:
        return {}
    first = bounds[0].year
    if outside := [one for one in (*bounds, declared.other) if one is not None and not 0 <= one.year - first < 100]:
        raise Wrong(
            f"years of two digits (%y) are of the hundred from {first} to {first + 99}, where the bounds begin; "
            f"{outside[0].year} cannot be told from another.",
            "format",
        )
    return {"first_year": first}


def _datetime_scale(declared: d.DateTime, extra: dict[str, Any]) -> Moments:
    if declared.timezone is not None:
        if extra:
            raise Wrong(
                "format and timezone do not go together: once a year an hour is spelled twice.",
                "format",
            )
        try:
            ZoneInfo(declared.timezone)
        except (KeyError, ValueError, OSError):
            raise Wrong(
                f'"{declared.timezone}" is not a known time zone, such as "Europe/Paris" or "UTC".',
                "timezone",
            ) from None
    unit = declared.type.removeprefix("timestamp[").removesuffix("]")
    arrow = pa.string() if extra else pa.timestamp(unit, declared.timezone)
    return Moments(arrow, grain=_grain(declared), timezone=declared.timezone, **extra)
