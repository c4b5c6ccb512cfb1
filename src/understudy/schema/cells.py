"""What the rows of a column hold, taken apart by kind: missing, or a boolean, a number, a text or a moment.

Holds private rows. What a value is depends on that value and on nothing else (``typed.py``, ``objects.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp] | slice
ALL = slice(None)


class Kind(Enum):
    """What a value is. An instant has a time zone, a wall clock has none."""

    MISSING = "missing"
    BOOLEAN = "boolean"
    NUMBER = "number"
    TEXT = "text"
    WALL_CLOCK = "wall clock"
    INSTANT = "instant"


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows whose values are of one kind.

    ``values`` has one value a row: booleans; float64; text (large_string, valid UTF-8); whole seconds since 1970, rounded
    down (int64). Missing rows have none.
    """

    kind: Kind
    rows: Rows
    values: Any = None


@dataclass(frozen=True, eq=False)
class Cells:
    """A column, or a piece of one. Each row is in exactly one part."""

    length: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Objects:
    """Values of any class, in the order of the rows."""

    values: Sequence[Any] | NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, length: int) -> Objects:
        """Return some of the rows."""
        return Objects(self.values[start : start + length])


@dataclass(frozen=True, eq=False)
class Categories:
    """Values that are listed once each, and which of them a row has; a negative code is missing."""

    categories: Any
    codes: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.codes)

    def slice(self, start: int, length: int) -> Categories:
        """Return some of the rows."""
        return Categories(self.categories, self.codes[start : start + length])
