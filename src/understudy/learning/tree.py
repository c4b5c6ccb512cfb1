"""Where the rows of a column are, learnt by a private tree: what has many rows is divided, level by level, through the door.

Sees no counts: it holds a door. All that it does follows from the door's answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.learning.nodes import Node, first_of, labels
from understudy.privacy import Door, Groups, Linear, linear_scale_for
from understudy.schema.ladder import FAMILIES, MISSING, PLAIN, TEXT, ladder

PART = 48
"""What more than one row in so many has is divided …"""
MONTHS = 8
"""… and a month where it has more than one row in so many: people count by months, where there are several."""
SURE = 3.5
"""So many standard deviations above nothing, a noisy count is taken for rows."""


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


def glance(door: Door, column: str, rho: Fraction) -> First | None:
    """Ask, for little, whether a column plainly holds texts, more than all that has a cell of its own; None if not."""
    known = np.full(ladder().size, len(PLAIN))
    known[[MISSING, TEXT]] = MISSING, TEXT
    found = ask(door, column, known, rho)
    plain = np.zeros(len(PLAIN), np.int64)
    plain[[MISSING, TEXT]] = found.values[[MISSING, TEXT]]
    first = First(found.sigma, plain, (), found.values[:0])
    return first if first.sure(float(found.values[TEXT] - found.values[-1]), 2) else None


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
    return total / (MONTHS if leaf.node.month else PART)


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
