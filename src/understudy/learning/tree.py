"""Bins of about equal mass, learnt by a private tree: what has many rows is divided, level by level, through the door.

Sees no counts: it holds a door. All that it does follows from the door's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.learning.nodes import Node, first_of, labels
from understudy.privacy import Door, Groups, Linear, linear_scale_for
from understudy.schema.ladder import FAMILIES, PLAIN, ladder

MOST_BINS = 32
SPIKE = 48
"""A single value that one row in so many has is a bin of its own …"""
MONTHS = 8
"""… and a month is divided where it has more than one row in so many: people count by months, where there are several."""
SURE = 3.5
"""So many standard deviations above nothing, a noisy count is taken for rows …"""
LIKELY = 1.5
"""… and so many where values surely lie beside it."""


@dataclass(frozen=True, eq=False)
class First:
    """What the first question tells of a column: noisy rows of each plain cell (missing, text …), and of each node."""

    sigma: float
    plain: NDArray[np.int64]
    nodes: tuple[Node, ...]
    values: NDArray[np.int64]

    def rows(self, *families: str) -> float:
        """Return the noisy rows of some families together."""
        wanted = {FAMILIES.index(family) for family in families}
        return float(sum(v for node, v in zip(self.nodes, self.values, strict=True) if wanted & {*node.families}))

    def sure(self, rows: float, cells: int) -> bool:
        """Whether so many noisy rows, summed over ``cells``, can hardly be noise alone."""
        return bool(rows > SURE * self.sigma * cells**0.5)


def ask_first(door: Door, column: str, rho: Fraction) -> First:
    """Ask what a column holds."""
    nodes = [node for family in range(len(FAMILIES)) for node in first_of((family,))]
    known = labels(ladder(), nodes) + len(PLAIN) - 1
    known[: len(PLAIN)] = PLAIN
    found = ask(door, column, known, rho)
    return First(found.sigma, found.values[: len(PLAIN)], tuple(nodes), found.values[len(PLAIN) :])


@dataclass(frozen=True, eq=False)
class Answer:
    """Noisy rows of each group, and their noise."""

    values: NDArray[np.int64]
    sigma: float


def ask(door: Door, column: str, groups: NDArray[np.int64], rho: Fraction) -> Answer:
    """Ask how many rows each group of cells has; ``groups`` need not use every number."""
    used = np.flatnonzero(np.bincount(groups))
    query = Groups([np.searchsorted(used, groups)])
    answer = door.ask(Linear((column,), query, linear_scale_for(rho, query, "gaussian", door.unit)))
    values = np.zeros(int(used[-1]) + 1, np.int64)
    values[used] = answer.values
    return Answer(values, answer.sigma)


@dataclass(frozen=True, eq=False)
class Leaf:
    """Values that are not divided further, and how many rows they have, with noise.

    ``sure`` says whether some rows are surely there, or in what it was divided from; ``rounder``, whether it starts where
    that does, at a rounder number.
    """

    node: Node
    rows: float
    sigma: float
    sure: bool
    rounder: bool


def divide(door: Door, column: str, first: First, families: tuple[int, ...], rho: Fraction) -> list[Leaf]:
    """Divide what has many rows until it has few; ``rho`` is for all levels together, in equal parts."""
    noise = first.sigma * len(families) ** 0.5
    level = [Leaf(node, rows, noise, rows > SURE * noise, True) for node, rows in _joined(first, families)]
    total = sum(leaf.rows for leaf in level if leaf.sure)
    done: list[Leaf] = []
    while True:
        wide = [leaf for leaf in level if leaf.rows > max(_enough(leaf, total), SURE * leaf.sigma) and leaf.node.children()]
        done += [leaf for leaf in level if leaf not in wide]
        if not wide:
            return done
        part = rho / max(leaf.node.levels for leaf in wide)
        rho -= part
        nodes = [node for leaf in wide for node in leaf.node.children()]
        found = ask(door, column, labels(ladder(), nodes), part)
        values = iter(found.values[1:].tolist())
        level = [part for leaf in wide for part in _parts(leaf, [next(values) for _ in leaf.node.children()], found.sigma)]


def _enough(leaf: Leaf, total: float) -> float:
    """Return how many rows a leaf must have to be divided."""
    return total / (MONTHS if leaf.node.month else SPIKE)


def _parts(leaf: Leaf, rows: list[int], sigma: float) -> list[Leaf]:
    """Return the parts of a leaf. What their sum is off from the leaf's own rows is shared out, by the noise of both."""
    many, start = len(rows), leaf.node.span[0]
    both = many * sigma**2 + leaf.sigma**2
    off = (leaf.rows - sum(rows)) * sigma**2 / both if both else 0.0  # noise too small to move a count has no deviation
    children = zip(leaf.node.children(), rows, strict=True)
    sure = [not leaf.node.whole or one + off > SURE * sigma for one in rows]
    return [Leaf(node, n + off, sigma, s, node.span[0] == start) for (node, n), s in zip(children, sure, strict=True)]


def _joined(first: First, families: tuple[int, ...]) -> list[tuple[Node, float]]:
    """Return the first nodes of some families taken together, each with the rows of all."""
    rows = {(n.families[0], n.sign, n.low): float(v) for n, v in zip(first.nodes, first.values, strict=True)}
    return [(node, sum(rows.get((family, node.sign, node.low), 0.0) for family in families)) for node in first_of(families)]


def bins(leaves: Sequence[Leaf]) -> list[tuple[float, float]]:
    """Return bins of about equal mass (from, up to), where there surely are rows.

    At a rounder number a bin may end with half of that mass: people's own bins start there too. What lies beyond all that
    are likely rows, on either side, is a bin of its own: a wide one, which a release will find to be all but empty.
    """
    ordered = sorted(leaves, key=lambda leaf: leaf.node.span)
    sure = [place for place, leaf in enumerate(ordered) if leaf.sure]
    if not sure:
        return []
    first, last = sure[0], sure[-1]
    first -= first > 0 and ordered[first - 1].rows > _needed(ordered[first - 1])
    last += last + 1 < len(ordered) and ordered[last + 1].rows > LIKELY * ordered[last + 1].sigma
    inside = _trimmed(_trimmed(ordered[first : last + 1])[::-1])[::-1]
    total = sum(leaf.rows for leaf in inside)
    mass = max(total / MOST_BINS, SURE * max(leaf.sigma for leaf in inside))
    below, above = _beyond(inside), len(inside) - _beyond(inside[::-1])
    starts: list[float] = []
    held = mass
    for place, leaf in enumerate(inside):
        spike = leaf.node.single and leaf.rows >= max(total / SPIKE, SURE * leaf.sigma)
        full = held >= (mass / 2 if leaf.rounder else mass) or leaf.rows >= mass or spike
        if place in (0, below, above) or (full and below < place < above):
            starts.append(leaf.node.span[0])
            held = 0.0
        held += mass if spike else leaf.rows
    ends = [*starts[1:], inside[-1].node.span[1]]
    return list(zip(starts, ends, strict=True))


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
