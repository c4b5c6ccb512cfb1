"""Bins of the leaves of a private tree: they start at round numbers, as people's own do. Public: from answers alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from understudy.learning.tree import PART, SURE, Leaf

LIKELY = 1.5
"""So many standard deviations above nothing, a noisy count is taken for rows where values surely lie beside it."""
FEW, NEARLY = 32, 0.9
"""So many single values that so large a share of the rows has are a bin each."""
DAYS_BINS = 32
"""Bins of days have one row in so many."""
OUT = 3
"""A value stands out that many rows have, so many times as many as each one beside it."""
WIDE = 150
"""A bin is as bad as the square of its share of the rows, times this and the root of the rows for each one of noise …"""
START = (1.0, 1.3, 3.0, 4.0, 6.0)
"""… and as where it starts: at one digit and zeros (300), at two of which the second is a five (250), at two others (240),
at three with a five (245), or elsewhere."""
Span = tuple[float, float]


def bins(leaves: Sequence[Leaf]) -> list[Span]:
    """Return bins (from, up to), where there surely are rows.

    What lies beyond all that are likely rows, on either side, is a bin of its own: a wide one, which a release will find to
    be all but empty.
    """
    inside = _kept(sorted(leaves, key=lambda leaf: leaf.node.span))
    if not inside:
        return []
    below = _beyond(inside)
    above = max(len(inside) - _beyond(inside[::-1]), below + 1)
    divided = _days if inside[0].node.families[0] > 1 else _numbers
    outside = [part[0].node.span[0] for part in (inside[:below], inside[above:]) if part]
    starts = sorted([*outside, *divided(inside[below:above])])
    ends = [*starts[1:], inside[-1].node.span[1]]
    return list(zip(starts, ends, strict=True))


def _numbers(leaves: Sequence[Leaf]) -> list[float]:
    """Return where bins of numbers start, so that they are the least bad all together.

    Leaves, of which noise hides how many rows their parts have, are taken to have as many in each.
    """
    total = max(sum(leaf.rows for leaf in leaves), 1.0)
    cuts = {cut for place in _spikes(leaves, total) for cut in (place, place + 1)}
    runs = [leaves[i:j] for i, j in pairwise(sorted({0, *cuts, len(leaves)}))]
    return [start for run in runs for start in _least(run, total)]


def _spikes(leaves: Sequence[Leaf], total: float) -> list[int]:
    """Return the places of single values that are a bin each: few that nearly all rows have, or what stands out."""
    singles = [i for i, leaf in enumerate(leaves) if leaf.node.single and leaf.rows > SURE * leaf.sigma]
    if len(singles) <= FEW and sum(leaves[i].rows for i in singles) >= NEARLY * total:
        return singles
    each = [leaf.rows / max(leaf.node.high - leaf.node.low, 1.0) for leaf in leaves]
    return [
        i
        for i in singles
        if leaves[i].rows >= max(total / PART, OUT * max(each[max(i - 1, 0) : i] + each[i + 1 : i + 2], default=0.0))
    ]


def _least(leaves: Sequence[Leaf], total: float) -> list[float]:
    """Return where bins of these leaves start, for the least sum of how bad they are."""
    parts = [(start, leaf.rows / len(starts)) for leaf in leaves for starts in [_starts(leaf)] for start in starts]
    below = np.cumsum([0.0, *(rows for _, rows in parts)]) / total
    worth = WIDE * (total / max(1.0, *(leaf.sigma for leaf in leaves))) ** 0.5
    costs = np.array([START[_roundness(start)] for start, _ in parts])
    best, chosen = [0.0], [0]
    for end in range(1, len(below)):
        found = np.array(best) + worth * (below[end] - below[:end]) ** 2 + costs[:end]
        chosen.append(int(np.argmin(found)))
        best.append(float(found.min()))
    places = [chosen[-1]]
    while places[-1]:
        places.append(chosen[places[-1]])
    return [parts[place][0] for place in places[::-1]]


def _starts(leaf: Leaf) -> list[float]:
    """Return where the parts of a leaf start."""
    return sorted(node.span[0] for node in leaf.node.children()) or [leaf.node.span[0]]


def _roundness(number: float) -> int:
    """Return which of ``START`` a number has."""
    digits = f"{abs(number):.3e}".split("e")[0].replace(".", "").rstrip("0")
    if len(digits) < 2:
        return 0
    return 2 * min(len(digits), 3) - 2 - (digits[-1] == "5" and len(digits) < 4)


def _days(leaves: Sequence[Leaf]) -> list[float]:
    """Return where bins of about equal mass start; at a rounder day they may with half of that mass."""
    total = sum(leaf.rows for leaf in leaves)
    mass = max(total / DAYS_BINS, SURE * max(leaf.sigma for leaf in leaves))
    starts: list[float] = []
    held = mass
    for leaf in leaves:
        if held >= (mass / 2 if leaf.rounder else mass) or leaf.rows >= mass or not starts:
            starts.append(leaf.node.span[0])
            held = 0.0
        held += leaf.rows
    return starts


def _kept(ordered: list[Leaf]) -> list[Leaf]:
    """Return the leaves between the bounds."""
    sure = [place for place, leaf in enumerate(ordered) if leaf.sure]
    if not sure:
        return []
    first, last = sure[0], sure[-1]
    first -= first > 0 and ordered[first - 1].rows > _needed(ordered[first - 1])
    last += last + 1 < len(ordered) and ordered[last + 1].rows > LIKELY * ordered[last + 1].sigma
    return _trimmed(_trimmed(ordered[first : last + 1])[::-1])[::-1]


def _beyond(leaves: list[Leaf]) -> int:
    """Return how many of the first leaves hold, all together, no rows that are likely to be there."""
    rows, noise = np.cumsum([leaf.rows for leaf in leaves]), np.cumsum([leaf.sigma**2 for leaf in leaves]) ** 0.5
    return int(np.argmax(rows > LIKELY * noise))


def _needed(below: Leaf) -> float:
    """Return how many noisy rows must lie below all that is sure to be kept: of numbers towards zero, any.

    A column of larger numbers often has smaller ones, too, and a bin for them that is empty costs little.
    """
    return 0.0 if below.node.families[0] < 2 and below.node.span[0] >= 0 else LIKELY * below.sigma


def _trimmed(leaves: list[Leaf]) -> list[Leaf]:
    """Leave out the first ones, as long as noisy counts tell of no rows in all that is left out.

    Bounds that are too wide cost little, since a run also asks where in their bins values lie; rows that are left out do.
    """
    rows = np.cumsum([leaf.rows for leaf in leaves])
    return leaves[int(np.argmax(rows > 0)) :]
