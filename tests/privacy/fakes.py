"""Sources and noises that tests look through: brute-force counts, a source that must not be read, a noise
that records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.privacy.noise import Counts


class TableSource:
    """Counts rows of codes one at a time, and remembers what was asked."""

    def __init__(self, domain: Domain, rows: Sequence[Sequence[int]]) -> None:
        self.domain = domain
        self.rows = [tuple(row) for row in rows]
        self.calls: list[tuple[Clique, ...]] = []

    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        self.calls.append(tuple(cliques))
        return [self._one(clique) for clique in cliques]

    def _one(self, clique: Clique) -> Counts:
        counts = np.zeros(self.domain.shape(clique), np.int64)
        positions = [self.domain.index(a) for a in clique]
        for row in self.rows:
            counts[tuple(row[p] for p in positions)] += 1
        return counts


class ConstantSource:
    """The same count in every cell, however large."""

    def __init__(self, domain: Domain, count: int) -> None:
        self.domain = domain
        self._count = count

    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        return [np.full(self.domain.shape(clique), self._count, np.int64) for clique in cliques]


class ForbiddenSource:
    """A source that must never be read."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.reads = 0

    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        self.reads += 1
        raise AssertionError("the source was read")


@dataclass
class RecordingNoise:
    """Keeps the exact numbers that it was given, and answers from a public list that no table can change."""

    seed: int = 0
    private: bool = False
    exact: list[tuple[str, NDArray[np.int64], float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._frozen = np.random.default_rng(self.seed)

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        self.exact.append(("gaussian", counts.copy(), sigma))
        return self._frozen.integers(-50, 50, counts.shape)

    def laplace(self, counts: Counts, scale: float) -> Counts:
        self.exact.append(("laplace", counts.copy(), scale))
        return self._frozen.integers(-50, 50, counts.shape)

    def select(self, scores: Counts, scale: float) -> int:
        self.exact.append(("select", scores.copy(), scale))
        return int(self._frozen.integers(scores.size))
