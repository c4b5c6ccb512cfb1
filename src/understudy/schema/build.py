"""Builds columns from their declarations, and says what does not make sense in them.

Public. Every column that leaves here has a place for every value that could turn up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import time
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.errors import did_you_mean
from understudy.schema import declaration as d
from understudy.schema.binned import Binned
from understudy.schema.bins import Bins, RealBins, WholeBins
from understudy.schema.build_scales import EXACT, Ranged, build_scale
from understudy.schema.column import Column, Invalid, Places
from understudy.schema.listed import Listed
from understudy.schema.moments import width_starts
from understudy.schema.problems import Wrong
from understudy.schema.reading import Fault
from understudy.schema.scales import Clock, Continuous, Decimals, Moments, Scale, Whole
from understudy.schema.typed import DAY

WIDEST = 1e300


def build_column(name: str, declared: Any, nulls: Sequence[str], line: int | None) -> Column:
    """Build one column; raises Wrong."""
    own = tuple(dict.fromkeys(_spelled(null) for null in declared.nulls))
    common = {
        "name": name,
        "kind": declared.kind,
        "nulls": (*nulls, *own),
        "own_nulls": own,
        "line": line,
        "description": declared.description,
    }
    return _with_nulls(_build(declared, common))


def require_points(column: Column, csv: d.CsvDeclaration | None) -> None:
    """Check that what means "missing" among numbers has no decimal comma: a file may, a schema has points; raises Wrong."""
    commas = [null for null in column.own_nulls if re.fullmatch(r"[+-]?[0-9.]*,[0-9]+", null)]
    if csv is not None and csv.decimal == "," and column.in_figures and commas:
        raise Wrong(f'"{commas[0]}" has a decimal comma: write it as a number with a point, without quotes.', "nulls")


def _build(declared: Any, common: dict[str, Any]) -> Column:
    if isinstance(declared, d.Boolean):
        return _boolean(declared, common)
    if isinstance(declared, d.Open):
        return _open(declared, common)
    if isinstance(declared, d.Categorical | d.Ordinal):
        return _listed(declared, common)
    return _binned(declared, common)


def _spelled(null: str | int | float) -> str:
    return null.strip() if isinstance(null, str) else f"{null:.15g}"


def _with_nulls(column: Column) -> Column:
    """Check that what means "missing" in this column means nothing else, and can be written."""
    faults = column.faults(pa.array(column.own_nulls, pa.string()))
    drawn = isinstance(column, Binned) and any(map(column.may_draw, column.own_nulls))
    if drawn or (faults != Fault.MISSING).any():
        raise Wrong("a null is also a value of the column; leave it out of nulls, or out of the values and bounds.", "nulls")
    null = column.size - 1
    try:
        if column.decodes_null or not column.nullable:
            return column
        written = column.decode(np.array([null]), np.random.default_rng(0))
    except (pa.ArrowException, OverflowError, ValueError):
        raise Wrong(f'type = "{column.type}" cannot hold {column.own_nulls[0]}; choose a wider type.', "nulls") from None
    if column.encode(written)[0] != null:
        raise Wrong(f"{column.own_nulls[0]} cannot be written exactly in this column.", "nulls")
    return column


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
    _check_prefix(declared)
    code = None if other is None else [*values, other].index(other)
    places = _places(len(values), code, declared.nullable, declared.invalid)
    _check_labels(declared)
    more = {"arrow": _listed_type(declared), "prefix": declared.prefix, "meanings": declared.labels}
    return Listed(**common, places=places, values=tuple(values), other_value=other, **more)


def _open(declared: d.Open, common: dict[str, Any]) -> Listed:
    """A column of which nothing is listed yet: every text is the catch-all."""
    places, kind = Places(0, 0, declared.nullable, "other"), _text_type(declared.type or "string", ordered=False)
    return Listed(**common, places=places, values=(), other_value=declared.other, arrow=kind, prefix=declared.prefix)


def _check_labels(declared: d.Categorical | d.Ordinal) -> None:
    known = [str(value) for value in declared.values]
    if unknown := next((value for value in declared.labels if value not in known), None):
        raise Wrong(f'labels names "{unknown}", which is not among the values.{did_you_mean(unknown, known)}', "labels")


def _check_prefix(declared: d.Categorical | d.Ordinal) -> None:
    if declared.prefix is None:
        return
    if any(not isinstance(value, str) or len(value) > declared.prefix for value in declared.values):
        raise Wrong(f"with prefix = {declared.prefix}, values are texts of at most that many characters.", "values")


def _kind(value: object) -> str:
    return "text" if isinstance(value, str) else "whole numbers"


def _listed_type(declared: d.Categorical | d.Ordinal) -> pa.DataType:
    text = isinstance(declared.values[0], str)
    given = declared.type or ("string" if text else "int64")
    if given == "category" and not text:
        return pa.dictionary(pa.int32(), pa.int64(), ordered=declared.kind == "ordinal")
    if text != (given in ("string", "large_string", "category")):
        raise Wrong(f'type = "{given}" does not go with values that are {_kind(declared.values[0])}.', "type")
    if text:
        return _text_type(given, ordered=declared.kind == "ordinal")
    everything = [*declared.values, *([] if declared.other is None else [declared.other])]
    _fits_type(given, [int(value) for value in everything], "values")
    return pa.type_for_alias(given)


def _text_type(given: str, *, ordered: bool) -> pa.DataType:
    if given == "category":
        return pa.dictionary(pa.int32(), pa.string(), ordered=ordered)
    return pa.large_string() if given == "large_string" else pa.string()


def _fits_type(given: str, numbers: Sequence[int], key: str) -> None:
    info = np.iinfo(given)
    if min(numbers) < info.min or max(numbers) > info.max:
        raise Wrong(f'type = "{given}" holds {info.min} to {info.max} only; choose a wider type.', key)


def _binned(declared: Ranged, common: dict[str, Any]) -> Binned:
    scale = build_scale(declared)
    bins = _bins(declared, scale)
    other, code = _other(declared, scale, bins)
    places = _places(len(bins.lowest), code, declared.nullable, declared.invalid)
    if isinstance(declared, d.Integer):
        everything = [*bins.bounds, *([] if other is None else [other])]
        _fits_type(declared.type, [int(number) * (declared.step or 1) for number in everything], "type")
    return Binned(**common, places=places, scale=scale, bins=bins, other_number=other)


def _bins(declared: Ranged, scale: Scale) -> Bins:
    if declared.edges is not None:
        return _edges(declared, scale)
    low, high = _bounds(declared, scale)
    single = isinstance(declared, d.Real) and declared.type == "float32"
    if isinstance(declared, d.Integer | d.Real) and declared.width is not None:
        return _wide(declared, scale, low, high)
    if _continuous(scale):
        return _check_real(RealBins.equal(low, high, declared.bins or d.DEFAULT_BINS, single), "bins")
    if isinstance(declared, d.Date | d.DateTime | d.Time) and isinstance(scale, Moments | Clock):
        width = declared.width or ("1 hour" if isinstance(scale, Clock) and declared.bins is None else None)
        if width is not None:
            return _width(declared, scale, width, int(low), int(high))
    split = WholeBins.even if isinstance(scale, Decimals) else WholeBins.equal
    return split(int(low), int(high), declared.bins or d.DEFAULT_BINS)


def _wide(declared: d.Integer | d.Real, scale: Scale, low: float, high: float) -> Bins:
    """Bins of the declared width, from min to max."""
    if "bins" in declared.model_fields_set:
        raise Wrong("give bins or width, not both.", "width")
    width = _number(declared.width, scale, declared, "width")
    if (high - low) / width > d.MAX_CODES:
        raise Wrong(f"it makes more than {d.MAX_CODES:,} bins.", "width")
    if not _continuous(scale):
        return WholeBins.wide(int(low), int(high), int(width))
    first, last, by = (Decimal(str(number)) for number in (low, high, width))
    starts = [float(first + i * by) for i in range(int(-((first - last) // by)))]
    return _check_real(RealBins.between([*starts, high], pa.types.is_float32(scale.type)), "width")


def _bounds(declared: Ranged, scale: Scale) -> tuple[float, float]:
    if isinstance(scale, Clock):
        return _clock_bounds(declared, scale)
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


def _clock_bounds(declared: Ranged, scale: Clock) -> tuple[float, float]:
    low = 0 if declared.min is None else _number(declared.min, scale, declared, "min")
    high = DAY // scale.grain - 1 if declared.max is None else _number(declared.max, scale, declared, "max")
    if low > high:
        raise Wrong(f"min = {declared.min} is not below max = {declared.max or time(23, 59)}.", "min")
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
        limit_name = "decimals or step" if isinstance(scale, Decimals) else "format or step"
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
    return _decimal_limit(scale) // scale.step


def _decimal_limit(scale: Decimals) -> int:
    if pa.types.is_integer(scale.type):
        return EXACT
    if pa.types.is_decimal(scale.type):
        return min(2**50, int(10**scale.type.precision))
    return 2**22 if pa.types.is_float32(scale.type) else 2**50


def _check_real(bins: RealBins, key: str) -> RealBins:
    rising = np.diff(bins.edges) > 0
    alone = key == "edges" and len(rising) > 1 and bins.edges[-1] == bins.edges[-2]
    if not rising[: -1 if alone else None].all() or not np.isfinite(bins.edges).all():
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
    rising = [low < high for low, high in pairwise(numbers)]
    if not all(rising[:-1]) or not (rising[-1] or (len(rising) > 1 and numbers[-1] == numbers[-2])):
        raise Wrong(
            "edges must rise, each one above the one before; the last may be repeated, as a bin of its own.", "edges"
        )
    if _continuous(scale):
        return _check_real(RealBins.between(numbers, pa.types.is_float32(scale.type)), "edges")
    return WholeBins.starting([int(number) for number in numbers[:-1]], int(numbers[-1]))


def _width(declared: Ranged, scale: Moments | Clock, width: str, low: int, high: int) -> Bins:
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
