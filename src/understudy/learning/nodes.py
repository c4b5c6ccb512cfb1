"""Intervals of numbers and of days, each divided as people write them: by digits; by decade, year, month and day. Public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.schema.days import FIRST_DAY, LAST_DAY
from understudy.schema.ladder import (
    ISO_FAMILIES,
    OTHER_DECADES,
    OTHER_DIGITS,
    WHOLE_DECADES,
    WHOLE_DIGITS,
    Ladder,
    power,
)

_UNITS = ("Y", "M", "D")
_ALL = -1
"""The depth of all days together."""


@dataclass(frozen=True)
class Node:
    """Values of a ``family``, from ``low`` up to ``high``, which is the next node's (in magnitude, or in days).

    ``digits`` and ``exponent`` spell a number's ``low``; ``depth`` is how often a span of days was divided.
    """

    families: tuple[int, ...]
    sign: int
    low: float
    high: float
    digits: int = 0
    exponent: int = 0
    depth: int = 0

    def children(self) -> list[Node]:
        """Return the parts that it is divided into; none where the ladder has no finer cells."""
        if self.sign == 0 or (self.high - self.low <= 1 and self.families != (0, 1)):
            return []
        if self.depth == _ALL:
            return decades(self.families)
        if self.families[0] > 1:
            return self._days()
        longest = WHOLE_DIGITS if self.families == (0,) else OTHER_DIGITS
        return [] if self.digits >= 10 ** (longest - 1) else self._numbers()

    @property
    def levels(self) -> int:
        """How often it can be divided at most."""
        if self.sign == 0:
            return 0
        if self.families[0] > 1:
            return len(_UNITS) - self.depth
        known = len(str(self.digits)) if self.digits else 0
        if self.families == (0,):
            return min(WHOLE_DIGITS - known, self.exponent + (self.digits == 0))
        return OTHER_DIGITS - known

    @property
    def single(self) -> bool:
        """Whether it is one whole number."""
        return self.families == (0,) and self.high - self.low <= 1

    @property
    def whole(self) -> bool:
        """Whether it is all days together."""
        return self.depth == _ALL

    @property
    def month(self) -> bool:
        """Whether it is one month."""
        return self.families[0] > 1 and self.depth == 2

    def _numbers(self) -> list[Node]:
        parts = range(self.digits * 10, self.digits * 10 + 10) if self.digits else range(1, 10)
        exponent = self.exponent - (self.digits > 0)
        ends = [power(part, exponent) for part in (*parts, parts[-1] + 1)]
        spans = zip(parts, pairwise(ends), strict=True)
        return [Node(self.families, self.sign, low, high, part, exponent) for part, (low, high) in spans]

    def _days(self) -> list[Node]:
        unit = _UNITS[self.depth]
        first, last = (np.datetime64(int(day), "D") for day in (self.low, self.high))
        starts = np.arange(first.astype(f"M8[{unit}]"), last.astype(f"M8[{unit}]")).astype("M8[D]").astype(np.int64)
        ends = [*starts.tolist(), self.high]
        return [Node(self.families, 1, low, high, depth=self.depth + 1) for low, high in pairwise(ends)]

    @property
    def span(self) -> tuple[float, float]:
        """Its smallest value, and where the values above it start."""
        return (self.low, self.high) if self.sign >= 0 else (-self.high, -self.low)


def first_of(families: tuple[int, ...]) -> list[Node]:
    """Return the first nodes: of days that are not spelled as in ISO 8601 one, since most columns have none."""
    if families[0] < len(ISO_FAMILIES):
        return decades(families)
    return [Node(families, 1, float(FIRST_DAY), LAST_DAY + 1.0, depth=_ALL)]


def decades(families: tuple[int, ...]) -> list[Node]:
    """Return numbers by powers of ten and sign, or days by decades of years."""
    if families[0] > 1:
        years = [np.datetime64(f"{year}-01-01", "D").astype(np.int64) for year in range(1900, 2101, 10)]
        return [Node(families, 1, float(low), float(high)) for low, high in pairwise(years)]
    powers = [e for e in range(-10, 20) if (0 in families and e in WHOLE_DECADES) or (1 in families and e in OTHER_DECADES)]
    signed = [Node(families, sign, power(1, e), power(1, e + 1), 0, e) for sign in (-1, 1) for e in powers]
    zero = Node(families, 0, 0.0, 1.0 if families == (0,) else power(1, powers[0]))
    return [*signed, zero]


def labels(ladder: Ladder, nodes: Sequence[Node]) -> NDArray[np.int64]:
    """Return the number of the node that each cell of the ladder is in, from 1; 0 where it is in none."""
    found = np.zeros(ladder.size, np.int64)
    for families in dict.fromkeys(node.families for node in nodes):
        for sign in (-1, 0, 1):
            own = sorted(
                (node.low, place) for place, node in enumerate(nodes) if (node.families, node.sign) == (families, sign)
            )
            if not own:
                continue
            cells = np.flatnonzero(np.isin(ladder.family, families) & (ladder.sign == sign))
            lows, starts = np.array([low for low, _ in own]), ladder.starts(families[-1])[cells]
            place = np.searchsorted(lows, starts, side="right") - 1
            numbers = np.array([number for _, number in own])[np.maximum(place, 0)]
            ends = np.array([node.high for node in nodes])[numbers]
            inside = (place >= 0) & (starts < ends)
            found[cells[inside]] = numbers[inside] + 1
    return found
