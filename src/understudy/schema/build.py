"""Builds columns from their declarations, and says what does not make sense in them.

Public. Every column that leaves here has a place for every value that could turn up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from understudy.schema import declaration as d
from understudy.schema.binned import Binned, Continuous, Decimals, Moments, Scale, Whole
from understudy.schema.bins import Bins, RealBins, WholeBins
from understudy.schema.column import Column, Invalid, Places
from understudy.schema.listed import Listed
from understudy.schema.moments import format_grain, format_pattern, width_starts
from understudy.schema.problems import Wrong
from understudy.schema.typed import DAY

EXACT = 2**53  # beyond this, float64 no longer holds every whole number
WIDEST = 1e300

Ranged = d.Integer | d.Real | d.Date | d.DateTime


def build_column(name: str, declared: Any, nulls: Sequence[str], line: int | None) -> Column:
    """Build one column; raises Wrong."""
    common = {
        "name": name,
        "kind": declared.kind,
        "nulls": tuple(nulls),
        "line": line,
        "description": declared.description,
    }
    if isinstance(declared, d.Boolean):
        return _boolean(declared, common)
    if isinstance(declared, d.Categorical | d.Ordinal):
        return _listed(declared, common)
    return _binned(declared, common)


def _places(ordinary: int, other: int | None, nullable: bool, invalid: Invalid | None) -> Places:
    """Check that every value has a place."""
    if other is None and not nullable:
        raise Wrong(
            "nothing says where a missing or unreadable value goes. Add nullable = true (null gets a code "
            "of its own), or other = ... (the value that it counts as)."
        )
    if invalid == "null" and not nullable:
        raise Wrong('invalid = "null" needs nullable = true.', "invalid")
    if invalid == "other" and other is None:
        raise Wrong('invalid = "other" needs other = ..., the value that it counts as.', "invalid")
    places = Places(ordinary, other, nullable, invalid or ("null" if other is None else "other"))
    if places.size > d.MAX_CODES:
        raise Wrong(f"it has {places.size:,} codes; at most {d.MAX_CODES:,} are possible. Use fewer or wider bins.")
    return places


def _boolean(declared: d.Boolean, common: dict[str, Any]) -> Listed:
    other = None if declared.other is None else int(declared.other)
    places = _places(2, other, declared.nullable, declared.invalid)
    return Listed(**common, places=places, values=(False, True), other_value=declared.other, arrow=pa.bool_())


def _listed(declared: d.Categorical | d.Ordinal, common: dict[str, Any]) -> Listed:
    values, other = declared.values, declared.other
    if not values:
        raise Wrong("values is empty; list at least one.", "values")
    twice = next((value for i, value in enumerate(values) if value in values[:i]), None)
    if twice is not None:
        raise Wrong(f'the value "{twice}" is listed twice.', "values")
    if other is not None and type(other) is not type(values[0]):
        raise Wrong(f"other must be spelled as the values are ({_kind(values[0])}).", "other")
    if isinstance(values[0], int) and any(abs(int(value)) >= EXACT for value in [*values, other or 0]):
        raise Wrong("whole numbers beyond ±2^53 cannot be listed; spell them as text.", "values")
    code = None if other is None else [*values, other].index(other)
    places = _places(len(values), code, declared.nullable, declared.invalid)
    arrow = _listed_type(declared)
    return Listed(**common, places=places, values=tuple(values), other_value=other, arrow=arrow)


def _kind(value: object) -> str:
    return "text" if isinstance(value, str) else "whole numbers"


def _listed_type(declared: d.Categorical | d.Ordinal) -> pa.DataType:
    text = isinstance(declared.values[0], str)
    given = declared.type or ("string" if text else "int64")
    if given == "category":
        values = pa.string() if text else pa.int64()
        return pa.dictionary(pa.int32(), values, ordered=declared.kind == "ordinal")
    if text != (given in ("string", "large_string")):
        raise Wrong(f'type = "{given}" does not go with values that are {_kind(declared.values[0])}.', "type")
    if not text:
        everything = [*declared.values, *([] if declared.other is None else [declared.other])]
        _fits_type(given, [int(value) for value in everything], "values")
    return pa.large_string() if given == "large_string" else pa.type_for_alias(given)


def _fits_type(given: str, numbers: Sequence[int], key: str) -> None:
    info = np.iinfo(given)
    if min(numbers) < info.min or max(numbers) > info.max:
        raise Wrong(f'type = "{given}" holds {info.min} to {info.max} only; choose a wider type.', key)


def _binned(declared: Ranged, common: dict[str, Any]) -> Binned:
    scale = _scale(declared)
    bins = _bins(declared, scale)
    other, code = _other(declared, scale, bins)
    places = _places(len(bins.lowest), code, declared.nullable, declared.invalid)
    if isinstance(declared, d.Integer):
        _fits_type(
            declared.type,
            [int(bins.bounds[0]), int(bins.bounds[1]), *([] if other is None else [int(other)])],
            "type",
        )
    return Binned(**common, places=places, scale=scale, bins=bins, other_number=other)


def _scale(declared: Ranged) -> Scale:
    if isinstance(declared, d.Integer):
        return Whole(pa.type_for_alias(declared.type))
    if isinstance(declared, d.Real):
        return _real_scale(declared)
    pattern = _pattern(declared.format)
    extra: dict[str, Any] = {} if pattern is None else {"pattern": pattern, "form": declared.format}
    if isinstance(declared, d.Date):
        if declared.format is not None and format_grain(declared.format) != DAY:
            raise Wrong('the format of a date has no hours; use kind = "datetime" for these.', "format")
        return Moments(pa.date32() if pattern is None else pa.string(), **extra)
    return _datetime_scale(declared, extra)


def _real_scale(declared: d.Real) -> Scale:
    match = re.match(r"decimal\((\d+), ?(\d+)\)", declared.type)
    if match is not None:
        precision, places = int(match[1]), int(match[2])
        if not places <= precision <= 15:
            raise Wrong("a decimal type has at most 15 digits, the decimals included.", "type")
        if declared.decimals not in (None, places):
            raise Wrong(f"decimals must be {places}, as the type says; leave it out.", "decimals")
        return Decimals(pa.decimal128(precision, places), places)
    arrow = pa.type_for_alias(declared.type)
    return Continuous(arrow) if declared.decimals is None else Decimals(arrow, declared.decimals)


def _pattern(form: str | None) -> str | None:
    try:
        return None if form is None else format_pattern(form)
    except ValueError as error:
        raise Wrong(f"the format cannot be used: {error}.", "format") from None


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
    grain = format_grain(declared.format) if declared.format is not None else 1
    return Moments(arrow, grain=grain, timezone=declared.timezone, **extra)


def _bins(declared: Ranged, scale: Scale) -> Bins:
    if declared.edges is not None:
        return _edges(declared, scale)
    low, high = _bounds(declared, scale)
    single = isinstance(declared, d.Real) and declared.type == "float32"
    if _continuous(scale):
        return _check_real(RealBins.equal(low, high, declared.bins or d.DEFAULT_BINS, single), "bins")
    width = getattr(declared, "width", None)
    if width is not None and isinstance(scale, Moments):
        return _width(declared, scale, width, int(low), int(high))
    split = WholeBins.even if isinstance(scale, Decimals) else WholeBins.equal
    return split(int(low), int(high), declared.bins or d.DEFAULT_BINS)


def _bounds(declared: Ranged, scale: Scale) -> tuple[float, float]:
    for key in ("min", "max"):
        if getattr(declared, key) is None:
            raise Wrong(
                f"{key} is missing: declare the {'smallest' if key == 'min' else 'largest'} value "
                "that can occur (from what you know, not from the data).",
                key,
            )
    low, high = _number(declared.min, scale, declared, "min"), _number(declared.max, scale, declared, "max")
    if low > high or (low == high and _continuous(scale)):
        raise Wrong(f"min = {declared.min} is not below max = {declared.max}.", "min")
    return low, high


def _number(literal: Any, scale: Scale, declared: Ranged, key: str) -> float:
    number = scale.number(literal)
    if number is None:
        raise Wrong(f"{key} = {literal} is not a value of a column of kind {declared.kind}.", key)
    if _continuous(scale):
        if abs(number) > WIDEST:
            raise Wrong(f"{key} is beyond ±{WIDEST:g}.", key)
        return number
    if number != round(number):
        limit_name = "decimals" if isinstance(scale, Decimals) else "format"
        raise Wrong(f"{key} = {literal} is finer than the column's {limit_name}.", key)
    limit = _limit(scale)
    if abs(number) >= limit:
        raise Wrong(f"{key} = {literal} is too large to be kept exactly; use fewer decimals, or a wider type.", key)
    return number


def _continuous(scale: Scale) -> bool:
    return isinstance(scale, Continuous) and not isinstance(scale, Whole)


def _limit(scale: Scale) -> int:
    """Below this, a number of this scale survives being written in its type and read again."""
    if not isinstance(scale, Decimals):
        return EXACT
    if pa.types.is_decimal(scale.type):
        return min(2**50, int(10**scale.type.precision))
    return 2**22 if pa.types.is_float32(scale.type) else 2**50


def _check_real(bins: RealBins, key: str) -> RealBins:
    if (np.diff(bins.edges) <= 0).any() or not np.isfinite(bins.edges).all():
        raise Wrong("the bins are finer or wider than what the type can hold; use fewer bins or closer bounds.", key)
    return bins


def _edges(declared: Ranged, scale: Scale) -> Bins:
    for key in ("min", "max", "width"):
        if getattr(declared, key, None) is not None:
            raise Wrong(f"edges say it all; drop {key}.", key)
    if "bins" in declared.model_fields_set:
        raise Wrong("edges say it all; drop bins.", "bins")
    edges = list(declared.edges or [])
    if len(edges) < 2:
        raise Wrong("edges needs at least two values: where the first bin starts, and the largest value.", "edges")
    numbers = [_number(edge, scale, declared, "edges") for edge in edges]
    if any(low >= high for low, high in pairwise(numbers)):
        raise Wrong("edges must rise, each one above the one before.", "edges")
    if _continuous(scale):
        return _check_real(RealBins.between(numbers, pa.types.is_float32(scale.type)), "edges")
    return WholeBins.starting([int(number) for number in numbers[:-1]], int(numbers[-1]))


def _width(declared: Ranged, scale: Moments, width: str, low: int, high: int) -> Bins:
    if getattr(declared, "bins", None) is not None:
        raise Wrong("give bins or width, not both.", "width")
    try:
        seconds = width_starts(width, low * scale.grain, high * scale.grain, d.MAX_CODES)
    except ValueError as error:
        raise Wrong(f'width = "{width}" cannot be used: {error}.', "width") from None
    starts = sorted({second // scale.grain for second in seconds})
    if any(second % scale.grain for second in seconds):
        raise Wrong(f'width = "{width}" is finer than the column itself.', "width")
    return WholeBins.starting(starts, high)


def _other(declared: Ranged, scale: Scale, bins: Bins) -> tuple[float | None, int | None]:
    """Return the catch-all's number and code: an ordinary code when it lies in range, else one of its own."""
    if declared.other is None:
        return None, None
    number = _number(declared.other, scale, declared, "other")
    if _continuous(scale) and pa.types.is_float32(scale.type):
        number = float(np.float32(number))
    low, high = bins.bounds
    if low <= number <= high:
        return number, int(bins.find(np.array([number]))[0])
    return number, len(bins.lowest)
