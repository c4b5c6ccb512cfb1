"""Times of day that are written as whole numbers, 517 for 5:17: told by one question, where numbers may be such.

Sees no counts: it holds a door. All that it does follows from the door's answers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from understudy.learning.tree import SURE, First, ask
from understudy.privacy import Door
from understudy.schema.declaration import END_OF_DAY
from understudy.schema.ladder import ladder

EARLY, LATE = 100, 1000
"""From 1:00 and from 10:00."""
CLEAR = 10
"""So many standard deviations, and so many times what is no time of day, are times of day."""


def may_be_clock(first: First) -> bool:
    """Whether nearly all rows are whole numbers from 100 to 9,999, some of them below 1,000."""
    sure = {node.low: float(v) for node, v in zip(first.nodes, first.values, strict=True) if node.families == (0,)}
    sure = {low: rows for low, rows in sure.items() if rows > SURE * first.sigma}
    some = sure.get(EARLY, 0.0) + sure.get(LATE, 0.0)
    return {EARLY, LATE} <= sure.keys() and sum(sure.values()) < 1.1 * some


def ask_clock(door: Door, column: str, rho: Fraction) -> dict[str, Any] | None:
    """Ask whether whole numbers are times of day, before ten and after, never past :59 or 24:00; return their settings.

    Years (1900 to 2059) are none: they are all after ten. Numbers that are all multiples of 25 are none either.
    """
    cells = ladder()
    whole, minute = (cells.family == 0) & (cells.sign == 1) & (cells.start >= EARLY), cells.start % 100
    never = whole & ((minute >= 60) | (cells.start > 2400))
    time = whole & ~never & (minute % 25 != 0)
    groups = np.select([never, time & (cells.start < LATE), time, whole & (cells.start == 2400)], [1, 2, 3, 4], 0)
    found = ask(door, column, groups, rho)
    _, wrong, early, late, end = (float(value) for value in found.values)
    if min(early, late) <= (early + late) / 20 or max(CLEAR * wrong, CLEAR * found.sigma) >= early + late:
        return None
    last = {"max": END_OF_DAY} if end > SURE * found.sigma else {}
    return {"format": "%H%M", "type": "int64", **last}
