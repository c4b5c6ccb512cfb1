"""Pairs of bins that are farther apart than any row, by noisy counts of the gap between two columns in order. Public.

Where two columns have tens of bins each, the noise on the hundreds of pairs that no row has adds up to rows that are not
there, and these are far apart: months where true stays are of hours. Counts of the gap say that there are none; the last
model has none either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.mechanism.anchors import distances
from understudy.privacy import Measurement
from understudy.schema.gaps import Gap
from understudy.schema.measures import Measure
from understudy.schema.reading import Bools


def too_far(
    domain: Domain,
    gaps: Sequence[Gap],
    counted: Sequence[Measurement],
    held: Iterable[Clique],
    declared: Sequence[Zeros],
    *,
    total: float,
) -> list[Zeros]:
    """Return pairs of bins that are farther apart than gaps reach, for columns that are in one of the cliques ``held``.

    Gaps that follow each other reach as far as all of them together. Of the pairs that are not ``declared`` impossible, each
    bin keeps those that are nearest to it. ``total`` is about how many rows there are.
    """
    noisy, sets = {m.clique: m for m in counted}, [set(clique) for clique in held]
    ends = {gap.columns: _reach(gap, noisy[gap.name,], total) for gap in gaps if (gap.name,) in noisy}
    measures = {m.column.name: m for gap in gaps for m in (gap.low, gap.high)}
    found = []
    for names, reach in _followed(ends).items():
        if any(one.issuperset(names) for one in sets):
            possible = _possible(names, domain, declared)
            cells, clique = _beyond(measures[names[0]], measures[names[1]], reach, possible), domain.clique(names)
            found.append(Zeros(clique, cells if clique == names else cells[:, ::-1]))
    return [zeros for zeros in found if len(zeros.cells)]


def _followed(ends: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Return how far gaps reach, those that follow each other together."""
    found, after = dict(ends), dict[str, list[str]]()
    for low, high in ends:
        after.setdefault(low, []).append(high)
    for low in after:
        reached = list(after[low])
        for middle in reached:  # grows on the way; orders never go round in a circle
            more = [high for high in after.get(middle, ()) if (low, high) not in found]
            found |= {(low, high): found[low, middle] + ends[middle, high] for high in more}
            reached += more
    return found


def _reach(gap: Gap, counted: Measurement, total: float) -> float:
    """Return the distance that no row exceeds; all if there is none, or little is known."""
    found = distances(counted.values.astype(np.float64), counted.sigma, total)
    last = -1 if found is None else int(np.flatnonzero(found)[-1]) + 1
    return float(gap.ends[last])


def _possible(names: tuple[str, str], domain: Domain, declared: Sequence[Zeros]) -> Bools:
    """Return which pairs of bins are not declared impossible, by themselves or by one of both."""
    found = np.ones((domain[names[0]], domain[names[1]]), np.bool_)
    for zeros in declared:
        if {*zeros.clique} <= {*names}:
            free = ~zeros.table(domain)
            first = zeros.clique[0] == names[0]
            found &= free[:, None] if first and free.ndim == 1 else free if first or free.ndim == 1 else free.T
    return found


def _beyond(low: Measure, high: Measure, reach: float, possible: Bools) -> NDArray[np.int64]:
    """Return the pairs of bins that are farther apart than ``reach``. Each bin keeps those that are nearest to it."""
    least = high.low[None, :] - low.high[:, None]
    able = possible & (high.high[None, :] >= low.low[:, None])
    near = np.where(able, np.maximum(least, 0.0), np.inf)
    nearest = (near == near.min(axis=0)) | (near == near.min(axis=1)[:, None])
    return np.argwhere((near > reach) & able & ~nearest).astype(np.int64)
