"""What everybody knows of a column by its name or its words: months go from 1 to 12, answers are yes or no.

Public: nothing here was looked up in a table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

RANGES: dict[str, tuple[int, int, int | None]] = {
    "month": (1, 12, None),
    "day": (1, 31, None),
    "hour": (0, 23, None),
    "minute": (0, 59, 2),
    "second": (0, 59, 2),
    "quarter": (1, 4, None),
    "week": (1, 53, 2),
    "weekday": (0, 7, None),
    "age": (0, 120, 5),
    "percent": (0, 100, 5),
    "percentage": (0, 100, 5),
    "pct": (0, 100, 5),
}
"""The smallest and the largest whole number of a column whose name ends so, and the width of its bins."""
PAIRS = (
    *(("n", "y"), ("no", "yes"), ("f", "t"), ("false", "true"), ("0", "1"), ("off", "on")),
    *(("f", "m"), ("female", "male"), ("woman", "man"), ("non", "oui"), ("nein", "ja"), ("no", "si"), ("no", "sí")),
)
"""Words, in any case, that are a whole list of answers; what stands for "no" comes first."""


def known_range(name: str, values: Collection[float]) -> tuple[int, int, int | None] | None:
    """Return the bounds and the width of bins that a name tells, if no value lies outside."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    known = RANGES.get(words[-1].lower()) if words else None
    if known is None or not known[0] <= min(values) <= max(values) <= known[1]:
        return None
    return known


def known_answers(texts: Iterable[str]) -> list[str] | None:
    """Return the two texts in their usual order when they are the two answers to a question."""
    found = {text.strip().lower(): text for text in texts}
    return next(([found[word] for word in pair] for pair in PAIRS if set(pair) == set(found)), None)


def is_clock(name: str, values: Collection[float]) -> bool:
    """Whether whole numbers are times of day, hours before minutes: 517 is 5:17."""
    named = "time" in name.lower()
    fits = all(0 <= value <= 2400 and value % 100 < 60 for value in values)
    return fits and max(values) > 999 and len(values) >= (24 if named else 200)
