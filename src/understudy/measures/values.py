"""The numbers behind the codes of a numeric or date column, as its schema reads them.

PRIVATE where the values are. A value outside its bounds counts as its schema declares: moved to the bound,
as the catch-all, or as missing.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema import Column
from understudy.schema.binned import Binned
from understudy.schema.cells import Categories, Cells, Kind, Part
from understudy.schema.column import Held
from understudy.schema.scales import Clock, Decimals, Moments
from understudy.schema.typed import DAY, cells_of

Floats = NDArray[np.float64]
YEARS = (1000, 2999)
"""Whole numbers between these are written as years are, without a separator."""


def has_numbers(column: Column) -> bool:
    """Whether means and quantiles of the column make sense."""
    return isinstance(column, Binned)


def numbers_of(column: Column, values: Held, codes: NDArray[np.integer]) -> Floats:
    """Return a number for each row, in the unit of ``unit_of``; NaN where it counts as missing. ``codes`` are the rows'."""
    assert isinstance(column, Binned)
    low, high = column.bins.bounds
    numbers = _read(column, values)
    if column.places.invalid == "clamp":
        numbers = np.clip(numbers, low, high)
    if column.other_number is not None:
        fits = (numbers >= low) & (numbers <= high)
        numbers = np.where(fits, numbers, column.other_number)
    return _placed(column, numbers, codes)


def numbers_of_codes(column: Column, codes: NDArray[np.integer]) -> Floats:
    """Return a number for each code, where each bin holds a single number; elsewhere NaN, since nobody knows it."""
    assert isinstance(column, Binned)
    alone = column.bins.lowest == column.bins.highest
    of_bin = np.where(alone, column.bins.lowest, np.nan).astype(np.float64)
    return _placed(column, of_bin[np.minimum(codes, column.places.ordinary - 1)], codes)


def unit_of(column: Column) -> str:
    """Say what the numbers of a column count."""
    assert isinstance(column, Binned)
    if isinstance(column.scale, Moments):
        return "days since 1970-01-01"
    return "hours since midnight" if isinstance(column.scale, Clock) else ""


def years(column: Column) -> bool:
    """Whether the numbers of a column look like years: whole, of four digits, up to 2999. Nobody reads 1,968 as one."""
    if not (isinstance(column, Binned) and column.kind == "integer"):
        return False
    low, high = (bound * _factor(column) for bound in column.bins.bounds)
    return YEARS[0] <= low and high <= YEARS[1]


def show(column: Column, number: float) -> str:
    """Spell a number of ``numbers_of`` for people: 1,234.5, or a date."""
    assert isinstance(column, Binned)
    if isinstance(column.scale, Moments | Clock):
        return column.scale.show(round(number / _factor(column)))
    size = max(abs(number), 1e-300)
    decimals = int(np.clip(4 - np.ceil(np.log10(size)), 0, 12)) if size < 1e4 else 0
    text = f"{number:,.{decimals}f}"
    if years(column) and number <= YEARS[1]:  # a total is more, and no year
        text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if "." in text else text


def show_difference(column: Column, difference: float) -> str:
    """Spell a difference of two numbers, with its sign."""
    assert isinstance(column, Binned)
    if isinstance(column.scale, Moments | Clock):
        return f"{difference:+,.2f} {'days' if isinstance(column.scale, Moments) else 'hours'}"
    return f"{'+' if difference >= 0 else '−'}{show(column, abs(difference))}"


def _factor(column: Binned) -> float:
    """Return what one step of the column's scale is in the unit of ``unit_of``."""
    scale = column.scale
    if isinstance(scale, Decimals):
        return scale.step / scale.per_one
    if isinstance(scale, Moments):
        return scale.grain / DAY
    return scale.grain / 3600 if isinstance(scale, Clock) else 1.0


def _placed(column: Binned, numbers: Floats, codes: NDArray[np.integer]) -> Floats:
    """Put the catch-all and missing values where the schema has them, and return the numbers in their unit."""
    placed = np.array(numbers, np.float64)
    if column.places.own_other is not None and column.other_number is not None:
        placed[codes == column.places.own_other] = column.other_number
    if column.places.null is not None:
        placed[codes == column.places.null] = np.nan
    return np.asarray(placed * _factor(column))


def _read(column: Binned, values: Held) -> Floats:
    """Return numbers of the column's scale, NaN where there is none. Each value is read alone."""
    if isinstance(values, pa.ChunkedArray):
        return np.concatenate([np.zeros(0), *(_read(column, chunk) for chunk in values.chunks)])
    if isinstance(values, pa.ExtensionArray):
        return _read(column, values.storage)
    if isinstance(values, pa.RunEndEncodedArray):
        return _read(column, pc.run_end_decode(values))
    if isinstance(values, pa.DictionaryArray):
        index = pc.fill_null(pc.cast(values.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
        return np.asarray(np.append(_read(column, values.dictionary), np.nan)[index])
    if isinstance(values, Categories):
        return np.asarray(np.append(_read(column, values.categories), np.nan)[np.maximum(values.codes, -1)])
    return _of_cells(column, cells_of(values))


def _of_cells(column: Binned, cells: Cells) -> Floats:
    found = np.full(cells.length, np.nan)
    for part in cells.parts:
        numbers = _of_part(column, part)
        if numbers is not None:
            found[part.rows] = numbers
    return found


def _of_part(column: Binned, part: Part) -> Floats | None:
    scale = column.scale
    if part.kind is Kind.MISSING:
        return None
    if part.kind is Kind.TEXT:
        read = scale.of_text(part.values, column.nulls)
        return np.where(read.missing | read.unreadable, np.nan, read.numbers)
    if part.kind in (Kind.NUMBER, Kind.BOOLEAN):
        numbers = np.asarray(part.values, np.float64)
        given = scale.of_numbers(np.where(np.isnan(numbers), 0.0, numbers))
        return None if given is None else np.where(np.isnan(numbers), np.nan, given)
    moments = scale.of_moments(part.values, part.kind)
    return None if moments is None else np.asarray(moments, np.float64)
