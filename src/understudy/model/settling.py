"""Single columns of refined rows, settled: each value gets as many rows as the model says, to the nearest whole numbers.

Refinement moves rows to where pairs of columns lack them. Pairs with a rare value have many cells that expect less than one
row, and a row more in some of them seems to cost nothing: rare values end up with a few rows too many, and since they
are often the large ones, means and totals with them. Here these rows are moved back, those first for which it costs least.
Public numbers only; post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]
Costs = NDArray[np.float32]

LOOKED_AT, FEWEST = 16, 64
"""For each row to be moved, so many that have the same value are looked at, and at least so many of each value …"""
PRICES = 1 << 20
"""… while no more prices than this are compared: of more rows that should be moved, some stay."""
AT_ONCE = 1 << 12
"""Prices of which those that nobody can pay any more are left out together."""


def whole(expected: NDArray[np.float64], rows: int, rng: np.random.Generator) -> Index:
    """Return whole numbers that add up to ``rows``, each the one below or above what is expected, without a bias."""
    ends = np.cumsum(expected) * (rows / expected.sum()) + rng.random()
    ends[-1] = rows
    return np.asarray(np.diff(np.floor(np.minimum(ends, rows)), prepend=0.0), dtype=np.intp)


def offered(column: NDArray[np.signedinteger], surplus: Index, rng: np.random.Generator) -> Index:
    """Return rows of the values that have too many: more than have to be moved, where that is not too many to compare."""
    room = PRICES // max(int((surplus < 0).sum()), 1)
    whole_surplus = int(surplus[surplus > 0].sum())
    found = [np.empty(0, np.intp)]
    for value in np.flatnonzero(surplus > 0):
        held, excess = np.flatnonzero(column == value), int(surplus[value])
        most = max(1, min(max(LOOKED_AT * excess, FEWEST), room * excess // whole_surplus))
        found.append(held if held.size <= most else rng.choice(held, most, replace=False))
    return np.concatenate(found)


def cheapest_first(price: Costs, beyond: float) -> Iterator[Index]:
    """Give the places of prices below ``beyond``, the cheapest first, equal ones in their order.

    The dear ones are sorted only when their turn comes, which is seldom: sorting all is most of the work of settling.
    """
    left, size = np.flatnonzero(price < beyond), AT_ONCE
    while left.size:
        prices = price[left]
        near = prices <= np.partition(prices, size)[size] if size < left.size else np.ones(left.size, np.bool_)
        some = left[near]
        some = some[np.argsort(price[some], kind="stable")]
        yield from (some[first : first + AT_ONCE] for first in range(0, some.size, AT_ONCE))
        left, size = left[~near], 4 * size


def moves(now: Index, costs: Costs, surplus: Index, beyond: float) -> tuple[Index, Index]:
    """Return which of the rows offered move, and to which value: the cheapest first, while there are too many and too few.

    ``now`` is the value of each, ``costs`` what each other value would cost it; none moves at a cost of ``beyond``.
    """
    lacking = np.flatnonzero(surplus < 0)
    price = costs[:, lacking]
    left, places = surplus.copy(), list[tuple[int, int]]()
    taken, missing = np.zeros(len(now), np.bool_), int(-surplus[lacking].sum())
    for order in cheapest_first(price.ravel(), beyond):
        rows, whither = np.divmod(order, len(lacking))
        goals = lacking[whither]
        possible = ~taken[rows] & (left[now[rows]] > 0) & (left[goals] < 0)
        for row, to in zip(rows[possible].tolist(), goals[possible].tolist(), strict=True):
            if taken[row] or left[now[row]] <= 0 or left[to] >= 0:
                continue
            taken[row] = True
            left[now[row]] -= 1
            left[to] += 1
            places.append((row, to))
        if len(places) == missing:
            break
    moved, values = (np.array([place[k] for place in places], dtype=np.intp) for k in (0, 1))
    return moved, values
