"""Fine bins inside declared ones: where they start follows from the declaration alone, so it is public.

A bin with few values has one fine bin for each. A wide one is cut at round numbers, and each round number has a fine bin of
its own, for values that many rows share (0, 40, 50,000). A bin whose ends are far apart is cut at ratios as well, near its
lower end, where most of what it holds may be.

Of these fine bins, those of few whole numbers may be cut into numbers: a run does so where many rows are in one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from math import ceil, floor, log10

from understudy.schema.bins import Bins, RealBins, WholeBins

MOST_CUTS = 24
"""A bin is cut at so many round numbers at most …"""
MOST_CELLS = 4096
"""… or at fewer, so that a column has no more fine bins than this."""
FAR, LOW = 4, 200
"""Where its highest number is so many times its lowest, a bin is cut at ratios too: below its first even cut, down to
so many times less."""
WIDEST = 32
"""A fine bin of so many whole numbers may be cut into these …"""
MOST_NUMBERS = 8192
"""… or of fewer, so that a column has no more codes than this."""
LEAST_POWER = -300
"""No number is rounder than others below this power of ten."""

_DAY = 86_400
_DECIMAL = (1, 2, 5)
_RATIOS = (10, 12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90)
_CALENDAR = tuple(60 * m for m in (1, 5, 10, 15, 30, 60, 120, 180, 360, 720)) + tuple(_DAY * d for d in (1, 2, 7, 14, 28))


def refined(bins: Bins, seconds: int | None = None) -> Bins | None:
    """Return bins of which each lies inside one of ``bins``.

    None where each of these holds one value alone, or where they are so many that they are fine enough.
    ``seconds`` is what 1 stands for where numbers are moments.
    """
    most = MOST_CUTS
    while True:
        finer = _real(bins, most) if isinstance(bins, RealBins) else _whole(bins, most, seconds)
        if len(finer.lowest) <= MOST_CELLS:
            return finer if len(finer.lowest) > len(bins.lowest) else None
        if most == 1:
            return None
        most //= 2


def by_number(finer: Bins) -> Bins:
    """Return bins of which those of few whole numbers are cut into these; the same bins where there is nothing to cut."""
    widest = WIDEST if isinstance(finer, WholeBins) else 1
    while widest > 1:
        ends = zip(finer.lowest.tolist(), finer.highest.tolist(), strict=True)
        starts = [x for low, high in ends for x in (range(low, high + 1) if high - low < widest else (low,))]
        if len(starts) <= MOST_NUMBERS:
            return finer if len(starts) == len(finer.lowest) else WholeBins.starting(starts, int(finer.bounds[1]))
        widest //= 2
    return finer


def _whole(bins: Bins, most: int, seconds: int | None) -> WholeBins:
    starts: list[int] = []
    for low, high in zip(bins.lowest.tolist(), bins.highest.tolist(), strict=True):
        if high - low < most:
            starts += range(low, high + 1)
            continue
        cuts = _moments(low, high, most, seconds) if seconds else [int(x) for x in _rounds(low, high, most, 1)]
        alone = (0,) if (seconds or 0) >= _DAY else (0, 1)  # of days, none is rounder than others
        starts += sorted({low, *(one + after for one in cuts for after in alone if low < one + after <= high)})
    return WholeBins.starting(starts, int(bins.bounds[1]))


def _real(bins: RealBins, most: int) -> RealBins:
    edges: list[float] = []
    for low, high in pairwise(bins.edges.tolist()):
        cuts = _rounds(low, high, most, 0)
        inner = (x for one in map(bins.held, cuts) for x in (one, bins.after(one)))
        edges += sorted({low, *(x for x in inner if low < x < high)})
    return RealBins.between([*edges, float(bins.edges[-1])], bins.single)


def _rounds(low: float, high: float, most: int, least: float) -> list[float]:
    """Return the roundest numbers of ``low`` … ``high``: at most ``most``, and no nearer to each other than ``least``."""
    if high <= low:
        return []
    if low > 0 and high > FAR * low and most > 1:
        even = _even(low, high, most - most // 3, least)
        first = next((x for x in even if x > low), high)
        return [*_thinned([x for x in _ratios(max(low, first / LOW), first, least) if x < first], most // 3), *even]
    if high < 0 and low < FAR * high:
        return [-x for x in reversed(_rounds(-high, -low, most, least))]
    return _even(low, high, most, least)


def _even(low: float, high: float, most: int, least: float) -> list[float]:
    """Return the multiples of a round number."""
    step = _step((high - low) / most, least)
    return [k * step if step >= 1 else k / (1 / step) for k in range(ceil(low / step), floor(high / step) + 1)]


def _step(least: float, whole: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, … and of 0.5, 0.2, 0.1, … that is no less; whole numbers where asked for."""
    power = floor(log10(max(least, whole, 10.0**LEAST_POWER)))
    for digit in (*_DECIMAL, 10):
        step = digit * 10.0**power if power >= 0 else digit / 10.0**-power
        if step >= least and step >= whole:
            return step
    return 10.0 ** (power + 1)


def _ratios(low: float, high: float, least: float) -> list[float]:
    powers = range(max(floor(log10(low)) - 1, LEAST_POWER), floor(log10(high)) + 1)
    found = [digits * 10.0**p if p >= 0 else digits / 10.0**-p for p in powers for digits in _RATIOS]
    inside = found[bisect_left(found, low) : bisect_right(found, high)]
    return [x for x in inside if x == floor(x)] if least else inside


def _thinned(numbers: list[float], most: int) -> list[float]:
    return numbers[:: max(1, -(-len(numbers) // most))]


def _moments(low: int, high: int, most: int, seconds: int) -> list[int]:
    """Return moments at even distances: minutes, hours, days, weeks."""
    least = -(-(high - low + 1) // most)
    steps = [s // seconds for s in _CALENDAR if s % seconds == 0 and s // seconds >= least]
    step = steps[0] if steps else least
    return list(range(-(-low // step) * step, high + 1, step))
