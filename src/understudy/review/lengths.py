"""Moments that follow from another moment and a length of time, as far as the rows show: proposed, never taken for granted.

NOT PRIVATE: looks at all values of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from understudy.review.opening import VIEW, Opened
from understudy.schema.expressions import UNITS
from understudy.source.duck import identifier

Found = tuple[str, str, str, str]
"""The later moment, the earlier one, and the unit and the column of what lies between."""
_FEWEST = 100


def lengths_between(
    opened: Opened, pairs: Sequence[tuple[str, str]], lengths: Sequence[str], word: Callable[[str], str]
) -> dict[str, str]:
    """Return the rule of each later moment of ``pairs`` that is the earlier one and so many minutes."""
    found = _following(opened, [(high, low, unit, name) for low, high in pairs for name in lengths for unit in UNITS])
    first = {high: (low, unit, name) for high, low, unit, name in reversed(found)}
    return {high: f"{word(high)} = {word(low)} + {unit}({word(name)})" for high, (low, unit, name) in first.items()}


def _following(opened: Opened, candidates: Sequence[Found]) -> list[Found]:
    """Return the candidates that hold in all rows in which nothing is missing."""
    if not candidates:
        return []
    asked = ", ".join(_holds(*one) for one in candidates)
    [answers] = opened.ask(f"SELECT {asked} FROM {VIEW}")
    return [one for one, holds in zip(candidates, answers, strict=True) if holds]


def _holds(high: str, low: str, unit: str, name: str) -> str:
    later, earlier, length = identifier(high), identifier(low), identifier(name)
    between = f"epoch({later}::TIMESTAMP) - epoch({earlier}::TIMESTAMP) - {UNITS[unit]} * {length}::DOUBLE"
    return f"(bool_and(abs({between}) < 0.5) AND count({between}) >= {_FEWEST} AND count(DISTINCT {length}) > 2)"
