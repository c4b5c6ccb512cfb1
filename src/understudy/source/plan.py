"""Which tables to count from the rows, and which marginals then follow by adding up cells.

Public: a plan is made from the domain, the cliques asked for and a size limit; it sees no counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

Positions = tuple[int, ...]
"""Attributes by their position in the domain, ascending."""


@dataclass(frozen=True)
class Carrier:
    """One table counted from the rows, and the marginals (all inside it) that are summed out of it."""

    positions: Positions
    targets: tuple[Positions, ...]


def plan_carriers(sizes: Sequence[int], wanted: Sequence[Positions], limit: int) -> tuple[Carrier, ...]:
    """Cover ``wanted`` by few carriers, each at most ``limit`` cells unless one wanted marginal is larger.

    Counting a table costs a pass over the rows, summing it out a pass over its cells: with fewer cells
    than rows, one table of four attributes that yields four marginals of three is cheaper than four passes.
    Greedy, by size, so that a marginal inside a larger one is never counted by itself.
    """
    open_masks = {_mask(positions): positions for positions in wanted}
    carriers = []
    for positions in sorted(open_masks.values(), key=lambda p: (-len(p), -prod(sizes[i] for i in p), p)):
        if _mask(positions) in open_masks:
            mask = _grow(_mask(positions), sizes, open_masks, limit)
            inside = [open_masks.pop(m) for m in list(_subsets(mask)) if m in open_masks]
            carriers.append(Carrier(_positions(mask), tuple(inside)))
    return tuple(sorted(carriers, key=lambda carrier: carrier.positions))


def _grow(mask: int, sizes: Sequence[int], open_masks: dict[int, Positions], limit: int) -> int:
    """Add attributes to the carrier while there is room and each brings in a marginal not yet covered."""
    cells = prod(sizes[i] for i in _positions(mask))
    while True:
        subsets = list(_subsets(mask))
        best, best_gain = -1, 0
        for i, size in enumerate(sizes):
            if mask >> i & 1 or cells * size > limit:
                continue
            gain = sum((subset | 1 << i) in open_masks for subset in subsets)
            if gain > best_gain:
                best, best_gain = i, gain
        if best < 0:
            return mask
        mask |= 1 << best
        cells *= sizes[best]


def _mask(positions: Positions) -> int:
    return sum(1 << i for i in positions)


def _positions(mask: int) -> Positions:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _subsets(mask: int) -> Iterator[int]:
    """Yield every subset of ``mask``, itself first and the empty set last."""
    subset = mask
    while subset:
        yield subset
        subset = (subset - 1) & mask
    yield 0
