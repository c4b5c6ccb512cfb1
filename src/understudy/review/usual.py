"""Bounds and bins that people choose for numbers: those that a column's name tells, else round ones that fit a histogram.

Sees no rows: what it says is as public as the histogram is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, inf, isclose, log10

import numpy as np
from numpy.typing import NDArray

from understudy.schema.declaration import DEFAULT_BINS

Rows = NDArray[np.int64] | NDArray[np.float64]
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
_MANTISSAS = ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5))
_SPIKE, _SPIKES = 0.02, 8
"""The share of the rows that makes a value a spike, and how many of these are looked for."""
_FAR, _BEYOND_NORMAL, _BETTER = 10, 3.5, 1.5
"""Bins grow where the values reach so many times as far as nine in ten of them; or farther than those of a normal
distribution do, and such bins spread the rows over so many times as many."""


def known_range(name: str, values: Collection[float]) -> tuple[int, int, int | None] | None:
    """Return the bounds and the width of bins that a name tells, if no value lies outside."""
    known = RANGES.get(last_word(name))
    if known is None or not known[0] <= min(values) <= max(values) <= known[1]:
        return None
    return known


def last_word(name: str) -> str:
    """Return the last word of a column's name, in small letters."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return words[-1].lower() if words else ""


@dataclass(frozen=True, eq=False)
class Counted:
    """Different numbers, the smallest first, and how many rows have each."""

    values: NDArray[np.float64]
    rows: Rows

    def quantile(self, share: float) -> float:
        """Return the smallest value that is not below ``share`` of the rows."""
        return float(self.values[np.searchsorted(np.cumsum(self.rows), share * self.rows.sum())])

    def where(self, which: NDArray[np.bool_]) -> Counted:
        """Return some of the values."""
        return Counted(self.values[which], self.rows[which])


@dataclass(frozen=True)
class Layout:
    """Bounds with a width, or edges."""

    edges: tuple[float, ...] = ()
    low: float = 0
    high: float = 0
    width: float | None = None

    @property
    def starts(self) -> tuple[float, ...]:
        """Where each bin starts, then where the last one ends; two alike are a bin of one value."""
        if self.edges:
            return self.edges
        assert self.width is not None
        return tuple(_plain(self.low + i * self.width) for i in range(round((self.high - self.low) / self.width) + 1))


def layout(numbers: Counted, smallest: float) -> Layout:
    """Choose bins; ``smallest`` is the smallest difference of two values, 0 where there is none."""
    first = numbers.values[0] if _piles_up(numbers.rows) else None
    last = numbers.values[-1] if _piles_up(numbers.rows[::-1]) else None
    inner = numbers.where((numbers.values != first) & (numbers.values != last))
    if len(inner.values) < 2:
        return _even(numbers, smallest)
    logarithmic, reach = _logarithmic(numbers, inner, last, smallest), _reach(numbers, inner)
    even = _even(inner if last is not None or first == 0 else numbers, smallest)
    empty = len(even.starts) - 1 > len(inner.values)
    if reach > _FAR and (empty or len(inner.values) > DEFAULT_BINS):
        return logarithmic
    spikes = _spikes(inner, even, smallest, _SPIKE * numbers.rows.sum())
    if last is not None or first == 0 or spikes:
        even = _with_spikes(_with_ends(even, first if first == 0 else None, last, smallest), spikes, smallest)
    rest = inner.where(~np.isin(inner.values, [0.0] if 0.0 in spikes else []))  # a bin of its own in either
    better = reach > _BEYOND_NORMAL and _spread(rest, logarithmic) > _BETTER * _spread(rest, even)
    return logarithmic if better else even


def _spread(numbers: Counted, chosen: Layout) -> float:
    """Return over how many bins the rows are spread: one over the chance that two of them share a bin."""
    if chosen.edges:
        bins = np.searchsorted(chosen.edges, numbers.values, side="right")
    else:
        assert chosen.width is not None
        bins = np.floor((numbers.values - chosen.low) / chosen.width + 1e-9).astype(np.int64)
    shares = np.bincount(bins.clip(0), numbers.rows) / numbers.rows.sum()
    return float(1 / (shares**2).sum())


def _piles_up(rows: Rows) -> bool:
    """Whether many more rows have the first value than any of the next five."""
    return len(rows) > DEFAULT_BINS and bool(rows[0] >= 20 and rows[0] > 3 * rows[1:6].max())


def _reach(numbers: Counted, inner: Counted) -> float:
    """Return how many times as far as nine in ten of them all values reach."""
    middle = numbers.quantile(0.95) - numbers.quantile(0.05)
    usual = middle or inner.quantile(0.95) - inner.quantile(0.05)
    span = float(numbers.values[-1] - numbers.values[0])
    return span / usual if usual else inf


def _even(numbers: Counted, smallest: float) -> Layout:
    """Choose bins of one round width, at most 32, between round bounds."""
    low, high = float(numbers.values[0]), float(numbers.values[-1])
    width = _nice((high - low or abs(high) or 1.0) / (DEFAULT_BINS - 4), smallest)
    width = ceil(_plain(width / smallest)) * smallest if smallest else width
    down, up = floor(low / width) * width, ceil(high / width) * width
    if 0 < down <= 0.1 * up:
        down = 0.0
    return Layout(low=_plain(down), high=_plain(up if up > down else down + width), width=_plain(width))


def _nice(number: float, smallest: float) -> float:
    """Return the next number above that is 1, 2, 2.5 or 5 times a power of ten, and a multiple of ``smallest``."""
    power = 10.0 ** floor(log10(number))
    round_ones = [_plain(factor * power) for factor in (1, 2, 2.5, 5, 10) if factor * power >= number * (1 - 1e-9)]
    return next((one for one in round_ones if not smallest or _plain(one / smallest) % 1 == 0), round_ones[-1])


def _plain(number: float) -> float:
    """Return a number without the traces of binary fractions."""
    return float(f"{number:.12g}")


def _with_ends(even: Layout, first: float | None, last: float | None, smallest: float) -> Layout:
    """Give the first and the last value a bin of their own."""
    assert even.width is not None
    starts = [*even.starts]
    if first is not None:
        starts = [first, _plain(first + smallest), *(start for start in starts if start > first + smallest)]
    if last is not None:
        return Layout(edges=(*(start for start in starts if start < last), last, last))
    return Layout(edges=tuple(starts))


def _spikes(numbers: Counted, even: Layout, smallest: float, many: float) -> list[float]:
    """Return values that ``many`` rows have and few beside them in their bin, as 40 hours a week; the commonest first."""
    assert even.width is not None
    if not smallest or even.width <= smallest:
        return []
    bins = np.floor((numbers.values - even.low) / even.width + 1e-9).astype(np.int64).clip(0)
    beside = np.bincount(bins, numbers.rows)[bins] - numbers.rows
    usual = beside / max(1.0, even.width / smallest - 1)
    found = np.flatnonzero((numbers.rows >= many) & (numbers.rows > 5 * usual))
    return [float(numbers.values[i]) for i in found[np.argsort(-numbers.rows[found])][:_SPIKES]]


def _with_spikes(chosen: Layout, spikes: list[float], smallest: float) -> Layout:
    """Give each of these values a bin of its own."""
    *starts, top = chosen.edges
    more = {_plain(edge) for spike in spikes for edge in (spike, spike + smallest) if spike + smallest < top}
    last = [starts.pop()] if starts[-1] == top else []
    return Layout(edges=(*sorted({*starts, *more}), *last, top))


def _logarithmic(numbers: Counted, inner: Counted, last: float | None, smallest: float) -> Layout:
    """Choose bins that grow with the distance from zero: 1, 2, 5, 10, 20, …"""
    sizes = np.abs(inner.values[inner.values != 0])
    order = np.argsort(sizes)
    near = Counted(sizes[order], inner.rows[inner.values != 0][order]).quantile(0.01)
    low, high = float(numbers.values[0]), float(numbers.values[-1] if last is None else inner.values[-1])
    for mantissas in _MANTISSAS:
        up = series(near, high, mantissas, smallest)
        down = [-edge for edge in reversed(series(near, -low, mantissas, smallest))] if low < 0 else []
        zero = [0.0, smallest] if smallest and up and up[0] > smallest else [0.0]
        edges = up if up and low >= up[0] else [*down, *(zero if low <= 0 else [0.0]), *up]
        if len(edges) <= DEFAULT_BINS + 1:
            break
    if last is None:
        return Layout(edges=tuple(edges))
    return Layout(edges=(*(edge for edge in edges if edge < last), last, last))


def series(near: float, far: float, mantissas: tuple[float, ...], smallest: float) -> list[float]:
    """Return round numbers from just below ``near`` to just above ``far``, no two nearer than ``smallest``."""
    if far <= 0:
        return []
    powers = range(floor(log10(min(near, far))), ceil(log10(far)) + 1)
    every = [_plain(mantissa * 10.0**power) for power in powers for mantissa in mantissas]
    if smallest:
        every = [edge for edge in every if isclose(edge / smallest, round(edge / smallest), rel_tol=1e-9)]
    below = max((edge for edge in every if edge <= near), default=every[0])
    above = min((edge for edge in every if edge >= far), default=every[-1])
    found = [edge for edge in every if below <= edge <= above]
    return [found[0], *(b for a, b in pairwise(found) if b - a >= smallest * (1 - 1e-9))]
