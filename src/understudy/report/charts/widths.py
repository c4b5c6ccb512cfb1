"""How wide the bars of a histogram are: unequal bins by density, heavy tails on a logarithmic scale. Public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import copysign, log, log1p

from understudy.report.data import ColumnView, Value

MOST_ORDERED_ROWS = 12
"""Ordered values beyond this become a histogram."""
UNEQUAL, FINEST = 1.5, 200
"""Bins whose widths differ by this factor are unequal; one narrower than this part of all cannot be drawn to scale."""
DENSITY = "bins of unequal width: the area of a bar is its share"
LOGARITHMIC = "bins of unequal width, on a logarithmic scale: the area of a bar is its share"
FROM_ZERO = "bins of unequal width, on a scale that is logarithmic away from 0: the area of a bar is its share"
UNSCALED = "bins of unequal width, drawn equally wide: the height of a bar is its share"


@dataclass(frozen=True)
class Bar:
    """A bar to scale: where it begins and ends, of 100 in all, and its heights, as shares of the highest."""

    start: float
    end: float
    height: float
    lower: float | None
    upper: float | None


def scaling(column: ColumnView) -> str:
    """Say how a histogram shows bins of unequal width: by ``density``, so on a ``logarithmic`` scale, or ``unscaled``.

    Empty where they are equal, and where few are named one by one.
    """
    values = [v for v in column.values if v.ordinary]
    widths = [v.width for v in values]
    if not column.ordered or len(widths) < 3 or max(widths) <= UNEQUAL * min(widths):
        return ""
    if _visible(widths):
        return "density"
    if len(widths) <= MOST_ORDERED_ROWS:
        return ""
    return "logarithmic" if _visible(_stretched(values)) else "unscaled"


def scaled_words(column: ColumnView) -> list[str]:
    """Say that bins are unequal, and how they are drawn; a last group of fewer neighbours is not worth a word."""
    how, values = scaling(column), [v for v in column.values if v.ordinary]
    widths = [v.width for v in values]
    if column.grouped > 1 and max(widths[:-1], default=1.0) <= UNEQUAL * min(widths[:-1], default=1.0):
        return []
    away = LOGARITHMIC if all((v.start or 0.0) > 0 for v in values) else FROM_ZERO
    return {"density": [DENSITY], "logarithmic": [away], "unscaled": [UNSCALED]}.get(how, [])


def bars(values: Sequence[Value], how: str) -> list[Bar]:
    """Lay bars side by side: as wide as ``scaling`` says and as high as their density, or all equally wide."""
    widths = {"density": [v.width for v in values], "logarithmic": _stretched(values)}.get(how, [1.0] * len(values))
    ends = list(accumulate(widths))
    peak = max(max(v.synthetic, v.upper or 0.0) / w for v, w in zip(values, widths, strict=True))
    peak = max(peak, 1e-9)
    return [
        Bar(
            100 * (end - w) / ends[-1],
            100 * end / ends[-1],
            max(v.synthetic, 0.0) / w / peak,
            None if v.lower is None else v.lower / w / peak,
            None if v.upper is None else v.upper / w / peak,
        )
        for v, w, end in zip(values, widths, ends, strict=True)
    ]


def _visible(widths: Sequence[float]) -> bool:
    """Whether the narrowest can be seen beside the others."""
    return bool(widths) and min(widths) > 0 and min(widths) >= sum(widths) / FINEST


def _stretched(values: Sequence[Value]) -> list[float]:
    """Return widths on a logarithmic scale; where 0 is on it, on one that is even from 0 to the smallest end beside it.

    Empty where it is not known where the bins begin.
    """
    starts = [v.start for v in values if v.start is not None]
    if len(starts) < len(values):
        return []
    ends = [*starts, starts[-1] + values[-1].width]
    if starts[0] > 0:
        places = [log(end) for end in ends]
    else:
        near = min((abs(end) for end in ends if end), default=1.0)
        places = [copysign(log1p(abs(end) / near), end) for end in ends]
    return [after - before for before, after in pairwise(places)]
