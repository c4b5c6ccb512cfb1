"""Bins: consecutive intervals of numbers, how a number finds its bin, and how a number is drawn inside one.

Public: edges are declared. Every method works on whole arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64] | NDArray[np.int64]


class Bins(Protocol):
    """Consecutive bins; ``lowest`` and ``highest`` are the smallest and largest number inside each."""

    @property
    def lowest(self) -> Numbers: ...  # noqa: D102

    @property
    def highest(self) -> Numbers: ...  # noqa: D102

    @property
    def bounds(self) -> tuple[float, float]: ...  # noqa: D102

    def find(self, numbers: Numbers) -> NDArray[np.int32]: ...  # noqa: D102

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Numbers: ...  # noqa: D102

    def at(self, codes: NDArray[np.integer], parts: NDArray[np.float64]) -> Numbers: ...  # noqa: D102

    def sizes(self) -> NDArray[np.float64]: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class WholeBins:
    """Bins of whole numbers: bin i holds ``lowest[i]`` … ``highest[i]``."""

    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]

    @classmethod
    def equal(cls, low: int, high: int, bins: int) -> WholeBins:
        """Split low … high into bins of widths that differ by at most one; one value each if few."""
        span = high - low + 1
        count = min(bins, span)
        # Exact integer arithmetic: bin i starts at the ceiling of i·span/count.
        return cls.starting([low - (-i * span // count) for i in range(count)], high)

    @classmethod
    def even(cls, low: int, high: int, bins: int) -> WholeBins:
        """Split as a continuous range would be: edges at equal distances, the last value in the last bin."""
        span = high - low
        if span < bins:
            return cls.equal(low, high, bins)
        return cls.starting([low - (-i * span // bins) for i in range(bins)], high)

    @classmethod
    def wide(cls, low: int, high: int, width: int) -> WholeBins:
        """Bins of ``width`` values from ``low`` on; the last holds ``high`` too, and may be shorter."""
        return cls.starting(list(range(low, high, width)) or [low], high)

    @classmethod
    def starting(cls, starts: Sequence[int], high: int) -> WholeBins:
        """Bins that start at ``starts`` and end just before the next; the last ends with ``high``."""
        first = np.asarray(starts, dtype=np.int64)
        return cls(first, np.append(first[1:] - 1, high).astype(np.int64))

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest number that fits."""
        return int(self.lowest[0]), int(self.highest[-1])

    def find(self, numbers: Numbers) -> NDArray[np.int32]:
        """Return the bin of each number; numbers outside get the nearest bin."""
        return np.searchsorted(self.lowest[1:], numbers, side="right").astype(np.int32)

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw uniformly among the whole numbers of each bin."""
        drawn: NDArray[np.int64] = rng.integers(self.lowest[codes], self.highest[codes], endpoint=True)
        return drawn

    def at(self, codes: NDArray[np.integer], parts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number that lies so far up in each bin: 0 is its lowest, 1 (excluded) beyond its highest."""
        low, high = self.lowest[codes], self.highest[codes]
        return np.asarray(np.clip(low + np.floor(parts * (high - low + 1)).astype(np.int64), low, high), dtype=np.int64)

    def sizes(self) -> NDArray[np.float64]:
        """Return how many numbers each bin holds."""
        return np.asarray(self.highest - self.lowest + 1, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class RealBins:
    """Bins of real numbers: [edge, next edge), the last closed. ``single`` keeps draws exact in float32.

    Where the last two edges are equal, the last bin holds that value alone.
    """

    edges: NDArray[np.float64]
    single: bool = False

    @classmethod
    def equal(cls, low: float, high: float, bins: int, single: bool = False) -> RealBins:
        """Split [low, high] into ``bins`` bins of equal width."""
        return cls.between(np.linspace(low, high, bins + 1).tolist(), single)

    @classmethod
    def between(cls, edges: Sequence[float], single: bool = False) -> RealBins:
        """Bins between ``edges``, which are rounded to float32 when that is the column's type."""
        exact = np.asarray(edges, dtype=np.float64)
        with np.errstate(over="ignore"):  # an edge beyond float32 becomes infinite, which is refused later
            return cls(exact.astype(np.float32).astype(np.float64) if single else exact, single)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest number that fits."""
        return float(self.edges[0]), float(self.edges[-1])

    @property
    def lowest(self) -> NDArray[np.float64]:
        """The smallest number of each bin."""
        return self.edges[:-1]

    @property
    def highest(self) -> NDArray[np.float64]:
        """The largest number of each bin that the column's type can hold."""
        inner = self.edges[1:-1].astype(np.float32) if self.single else self.edges[1:-1]
        return np.append(np.nextafter(inner, inner.dtype.type(-np.inf)), self.edges[-1]).astype(np.float64)

    def find(self, numbers: Numbers) -> NDArray[np.int32]:
        """Return the bin of each number; numbers outside get the nearest bin."""
        return np.searchsorted(self.edges[1:-1], numbers, side="right").astype(np.int32)

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw uniformly in each bin."""
        return self.at(codes, rng.random(len(codes)))

    def at(self, codes: NDArray[np.integer], parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number that lies so far up in each bin, from 0 to 1."""
        low, high = self.lowest[codes], self.highest[codes]
        drawn = low + parts * (high - low)
        if self.single:
            drawn = drawn.astype(np.float32).astype(np.float64)
        # Rounding must not push a draw into the next bin.
        return np.asarray(np.clip(drawn, low, high), dtype=np.float64)

    def sizes(self) -> NDArray[np.float64]:
        """Return the width of each bin."""
        return np.asarray(np.diff(self.edges), dtype=np.float64)

    def held(self, number: float) -> float:
        """Return the nearest number that the column's type can hold."""
        return float(np.float32(number)) if self.single else number

    def after(self, number: float) -> float:
        """Return the next larger number that the column's type can hold."""
        kind = np.float32 if self.single else np.float64
        return float(np.nextafter(kind(number), kind(np.inf)))
