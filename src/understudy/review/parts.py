"""Columns that are a part of a moment beside them, such as its year, as far as the rows show: proposed, never assumed.

NOT PRIVATE: looks at all values of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from understudy.review.blocks import Block
from understudy.review.look import Seen
from understudy.review.opening import VIEW, Opened
from understudy.schema.expressions import CALENDAR
from understudy.source.duck import identifier, literal

_RANGES = {"year": (1000, 9999), "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "weekday": (1, 7)} | {
    "hour": (0, 23),
    "minute": (0, 59),
}
_SQL = {"weekday": "isodow"}
_FEWEST, _MOST = 100, 400
"""Rows in which both must be known; and candidates that are looked at."""


@dataclass(frozen=True)
class _Moment:
    """A column of moments: its kind, and the SQL that reads it as one of DuckDB's."""

    name: str
    kind: str
    sql: str


def parts_of_moments(
    opened: Opened, seen: Sequence[Seen], blocks: Sequence[Block], known: Collection[str], word: Callable[[str], str]
) -> list[str]:
    """Return the rules ``year = year(released)`` that all rows keep; ``known`` columns follow from others already."""
    pairs = list(zip(seen, blocks, strict=True))
    moments = [moment for one, block in pairs if one.name not in known and (moment := _moment(one, block))]
    whole = [one for one, block in pairs if _is_whole(one, block) and one.name not in known]
    candidates = [
        (one.name, moment, part)
        for one in (whole if moments else [])
        for part in _possible(one)
        for moment in moments
        if moment.kind in CALENDAR[part][1]
    ][:_MOST]
    if not candidates:
        return []
    asked = ", ".join(_holds(*one) for one in candidates)
    [answers] = opened.ask(f"SELECT {asked} FROM {VIEW}")
    found: dict[str, str] = {}
    for (name, moment, part), holds in zip(candidates, answers, strict=True):
        if holds:
            found.setdefault(name, f"{word(name)} = {part}({word(moment.name)})")
    return list(found.values())


def _is_whole(one: Seen, block: Block) -> bool:
    """Whether a column is of whole numbers, and of no times of day."""
    return bool(block.lines) and pa.types.is_integer(one.type) and _kind(block) in ("integer", "categorical")


def _kind(block: Block) -> str:
    return block.lines[0].removeprefix('kind = "').removesuffix('"') if block.lines else ""


def _possible(one: Seen) -> list[str]:
    """Return the parts that numbers of more than one value may be, by their range."""
    values = one.counted.values
    if len(values) < 2:
        return []
    return [part for part, (low, high) in _RANGES.items() if low <= np.min(values) and np.max(values) <= high]


def _moment(one: Seen, block: Block) -> _Moment | None:
    kind, name = _kind(block), identifier(one.name)
    if kind == "datetime" and one.type.tz is not None:
        return _Moment(one.name, kind, f"timezone({literal(one.type.tz)}, {name})")
    if kind in ("date", "datetime") or pa.types.is_time(one.type):
        return _Moment(one.name, kind, name)
    if kind != "time":
        return None
    if one.of_text and one.spelling.format is not None:
        return _Moment(one.name, kind, f"try_strptime(trim({name}), {literal(one.spelling.format)})")
    digits = f"{name}::BIGINT"
    return (
        _Moment(one.name, kind, f"make_time({digits} // 100, {digits} % 100, 0)") if pa.types.is_integer(one.type) else None
    )


def _holds(name: str, moment: _Moment, part: str) -> str:
    value = f"{_SQL.get(part, part)}({moment.sql})"
    both = f"count({moment.sql}) FILTER ({identifier(name)} IS NOT NULL)"
    return f"(bool_and({value} IS NOT DISTINCT FROM {identifier(name)}::BIGINT) AND {both} >= {_FEWEST})"
