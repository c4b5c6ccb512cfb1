"""How many marginals are chosen before the next estimate: one, as printed. Where pairs take turns several are, in sweeps.

In a sweep every pair has its turn, and something is chosen for each attribute. Then, at the latest, the noise is halved.
When a sweep has shown nothing but what chance does in a table of so many rows, and the noise is below that, nothing is left
to find. The rounds also end when what is left pays for few of them with half the noise. It makes clearer what was found.
In the first sweep the model grows slowly, so that what chance has put into it does not keep out what has its turn later.

Public: sizes, noise, noisy answers and models of them decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, hypot, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism.pool import LIGHT, Pool
from understudy.model import CELL_BYTES, Model

STANDS_OUT = 2.0
"""A marginal stands out when it changed so many times as much as noise and chance together would have it."""
FEW = 0.1
"""Nothing is left to find when no more than this share of a sweep's marginals stood out."""
FEWEST = 4
"""When none stands out, this part of those that may be chosen at a time are: one in so many."""
REACH = 2
"""The noise is not halved for fewer rounds than so many times as are chosen at a time."""
GROWTH = 4
"""In the first sweep the model may grow so many times before the next estimate, and to so many times what is light …"""
START = LIGHT // 8
"""… or to this size, whatever it was before."""


@dataclass(frozen=True)
class Seen:
    """A marginal that was measured: how far the model moved, beside what noise and chance alone would do."""

    clique: Clique
    change: float
    noise: float
    chance: float

    @property
    def still(self) -> bool:
        """Whether it changed no more than by the noise: Algorithm 3 anneals then."""
        return self.change <= self.noise

    @property
    def stands_out(self) -> bool:
        """Whether there is more to it than noise and chance."""
        return self.change > STANDS_OUT * hypot(self.noise, self.chance)

    @property
    def clear(self) -> bool:
        """Whether the noise is below what chance does."""
        return self.noise <= self.chance


@dataclass(frozen=True)
class Rounds:
    """What some rounds that were played together led to."""

    model: Model
    annealed: bool
    seen: Sequence[Seen]
    """Those that fitted into the model together, and were measured."""


class Turns:
    """How many are chosen before the next estimate, for how long with one noise, and what stood out so far."""

    def __init__(self, pool: Pool, together: int) -> None:
        self.pool, self.number, self._most = pool, together, together
        self.sweeps = not pool.all_pairs and pool.config.adaptive
        self.found: list[Clique] = []
        self._length = max(ceil(len(pool.domain) / together), pool.sweep)
        self._seen: list[Seen] = []
        self._estimates = self._with_this_noise = 0

    def within(self, limit: int, size: int) -> int:
        """Return the bytes that a model of ``size`` may grow to now, of ``limit``."""
        if not self.sweeps or self._estimates >= self._length:
            return limit
        pairs = CELL_BYTES * sum(self.pool.domain.sizes) ** 2 // len(self.pool.domain)  # of a tree of typical pairs
        return min(limit, max(GROWTH * size, START), max(GROWTH * LIGHT, pairs))

    @property
    def over(self) -> bool:
        """Whether the next estimate ends a sweep."""
        return self.sweeps and self._with_this_noise + 1 >= self._length

    def ended(self, done: Rounds, number: int, affordable: float) -> bool:
        """Take note of rounds that ``number`` were chosen for; return whether nothing is left to find.

        So many rounds with half the noise are ``affordable``.
        """
        fitted, over = len(done.seen), self.over
        self.number = fitted if fitted < number else min(2 * self.number, self._most)
        if not self.sweeps:
            return False
        out = [seen.clique for seen in done.seen if seen.stands_out]
        self.found = list(dict.fromkeys([*self.found, *out]))
        self.number = max(1, min(self.number, max(2 * len(out), self._most // FEWEST)))
        self._seen += done.seen
        self._estimates, self._with_this_noise = self._estimates + 1, self._with_this_noise + 1
        if not done.annealed:
            return False
        nothing = over and nothing_new(self._seen)
        self._seen, self._with_this_noise = [], 0
        return nothing or affordable < REACH * self._most


def nothing_new(seen: Sequence[Seen]) -> bool:
    """Whether few marginals stood out, and noise would not have hidden them."""
    few = sum(s.stands_out for s in seen) <= FEW * len(seen)
    return few and 2 * sum(s.clear for s in seen) >= len(seen)


def by_chance(estimate: NDArray[np.float64]) -> float:
    """Return how far a table with these expected counts is from them on average, in L1."""
    return sqrt(2 / pi) * float(np.sqrt(np.maximum(estimate, 0.0)).sum())
