"""An Arrow table as a polars frame with the types of the frame that came in. Public; see ``frames``."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from understudy.release.frames import Convert, family, listed_values
from understudy.schema import Column, Schema
from understudy.schema.listed import Listed


def like_polars(frame: Any, schema: Schema) -> Convert:
    """Return what makes a polars frame with the types of ``frame``'s columns; of a lazy one, with the schema's own.

    The types of a lazy frame are not asked for: to work them out may take reading its rows.
    """
    lazy = isinstance(frame, pl.LazyFrame)
    types = {} if lazy else dict(frame.schema)

    def convert(table: pa.Table) -> Any:
        plain = {c.name: pl.Series(c.name, pl.from_arrow(table.column(c.name))) for c in schema.columns}
        made = pl.DataFrame([_series(plain[c.name], c, types.get(c.name)) for c in schema.columns])
        return made.lazy() if lazy else made

    return convert


def _series(series: Any, column: Column, wanted: Any) -> Any:
    if wanted is None or wanted == series.dtype or not _adoptable(column, wanted):
        return series
    try:
        if isinstance(wanted, pl.Enum):  # with the schema's values, whatever the frame's own were
            return series.cast(pl.String).cast(pl.Enum(_texts(column)))
        if isinstance(wanted, pl.Datetime) and isinstance(series.dtype, pl.Datetime):
            return _moments(series, wanted)
        return series.cast(wanted)
    except pl.exceptions.PolarsError:
        return series


def _adoptable(column: Column, wanted: Any) -> bool:
    if isinstance(wanted, pl.Enum | pl.Categorical):
        return isinstance(column, Listed)
    tests: dict[str, bool] = {"truth": wanted == pl.Boolean, "whole": wanted.is_integer(), "text": wanted == pl.String}
    tests |= {"real": wanted.is_float() or wanted.is_decimal(), "time": isinstance(wanted, pl.Date | pl.Datetime)}
    return tests.get(family(column.type), False)


def _texts(column: Column) -> list[str]:
    return [str(value) for value in listed_values(column).to_pylist()] if isinstance(column, Listed) else []


def _moments(series: Any, wanted: Any) -> Any:
    """Change the unit and the time zone; without a zone a moment is what the clock on the wall shows."""
    if wanted.time_zone is None:
        return series.dt.replace_time_zone(None).cast(wanted)
    if series.dtype.time_zone is None:
        series = series.dt.replace_time_zone("UTC")
    return series.dt.convert_time_zone(wanted.time_zone).cast(wanted)
