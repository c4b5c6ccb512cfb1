"""Which marginals a round looks at: those of W_+ that could win, and of many those that the model has grown towards.

Public: sizes, noise and noisy answers decide, so that a run that is resumed looks at the same ones.

A marginal r can gain at most as much as it can be wrong. Its L1 error is at most 2N̂, twice the rows as estimated. And where
all one-way marginals are right, it is at most 4 Σ η_a N̂ over r without its largest η, η_a being the share of the rows that
do not have a's most frequent value: tables that agree on one-way marginals differ only on rows that are rare in all but one
attribute. To this comes what the noise on the one-way marginals can do. Where √(2/π) σ n_r is more, the score of r is below
zero, and a one-way marginal scores higher; as σ falls, r comes back. The second bound holds as far as the one-way marginals
do, and is used where there are very many marginals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, gcd, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Combinations, Domain
from understudy.mechanism.candidates import errors_of
from understudy.mechanism.config import AimConfig
from understudy.model import junction_tree
from understudy.privacy import Measurement, Unit
from understudy.workload import Workload, norm

LISTED = 3_000
"""A rule for no more marginals than this is listed: all triples of 25 attributes."""
PAIRS = 6_000
"""Of more pairs than this, those inside the model's cliques are looked at, and about so many others in turn."""
OTHERS = 1_200
"""Of larger sets, so many that the model has not grown towards are looked at in a round, others in the next."""
MOST_GROWN = 20_000
"""Of sets that the model has grown towards, no more than this are looked at."""
LIGHT = 2**20
"""Of a model of more bytes than this, fewer of these are looked at, in proportion: to ask it takes as much longer …"""
LEAST_EFFORT = 0.1
"""… but no less than this part of them."""
MOST_CELLS = 2**25
"""All that a round looks at have no more cells than this: the smallest, where there are more."""
CLEAR = 2.0
"""So many standard deviations are taken off the noisy count of the most frequent value."""

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Reach:
    """How wrong marginals can be, in rows: ``rows`` are all, ``rare[a]`` are without a's most frequent value, and
    ``noise[a]`` is what noise on a's one-way marginal comes to. One more entry, 0, stands for no attribute.
    """

    rows: float
    rare: NDArray[np.float64]
    noise: NDArray[np.float64]

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement], rows: float, noise: float) -> Reach:
        """Take the clearest one-way measurement of each attribute; ``noise`` is expected of a measurement of scale 1."""
        rare, off = np.append(np.full(len(domain), rows), 0.0), np.zeros(len(domain) + 1)
        clearest: dict[str, Measurement] = {}
        for m in measurements:
            if len(m.clique) == 1 and m.query is None:
                known = clearest.get(m.clique[0])
                clearest[m.clique[0]] = m if known is None or m.scale < known.scale else known
        for attribute, m in clearest.items():
            at, top = domain.index(attribute), float(m.values.max()) - CLEAR * m.sigma
            rare[at] = min(max(rows - top, 0.0), rows)
            off[at] = noise * m.scale * m.values.size
        return cls(rows, rare, off)

    def most(self, index: Rows) -> NDArray[np.float64]:
        """Return how wrong the marginals on the attributes in each row of ``index`` can be (-1: none)."""
        rare = self.rare[index]
        dependent = 4 * (rare.sum(axis=1) - rare.max(axis=1))
        return np.asarray(np.minimum(2 * self.rows, dependent + self.noise[index].sum(axis=1)))


def many(marginals: Sequence[Clique]) -> bool:
    """Whether there are too many to be listed."""
    return isinstance(marginals, Combinations) and len(marginals) > LISTED


def take_turns(marginals: Sequence[Clique]) -> bool:
    """Whether there are too many even of the pairs, so that these take turns."""
    return isinstance(marginals, Combinations) and many(marginals) and len(marginals.of_size(2)) > PAIRS


class Pool:
    """All that may ever be chosen: W_+, or W itself for MWEM's rule."""

    def __init__(self, workload: Workload, config: AimConfig, unit: Unit = Unit.ADD_REMOVE) -> None:
        self.domain, self.config = workload.domain, config
        self.everything = workload.closure if config.candidates == "closure" else workload.cliques
        self._sizes = np.append(np.array(self.domain.sizes, dtype=np.float64), 1.0)
        self.wide, self.all_pairs = many(self.everything), not take_turns(self.everything)
        layers = [self._of_size(k) for k in (1, 2) if k == 1 or self.all_pairs] if self.wide else [self.everything]
        self._first = [clique for layer in layers for clique in layer]
        self._index = self._positions(self._first)
        self._cells = self._sizes[self._index].prod(axis=1)
        self._worth = np.array([self._penalty(workload, r, unit) for r in self._first]) if workload.asked else self._cells

    def worthwhile(self, reach: Reach, noise: float, measured: Sequence[Clique], turn: int, size: int = 0) -> list[Clique]:
        """Return those that could win in round ``turn``, when noise of ``noise`` is expected on each cell and the model has
        ``size`` bytes.
        """
        keep = self._could_win(self._index, self._worth, reach, noise)
        found, cells = [self._first[i] for i in np.flatnonzero(keep)], self._cells[keep]
        if self.wide:
            most = 2 * reach.rows / noise
            effort = max(LEAST_EFFORT, min(1.0, LIGHT / max(size, 1)))
            looked_at = [*self._grown(measured, most), *self._others(turn, effort)]
            more = [r for r in dict.fromkeys(looked_at) if r in self.everything]
            index = self._positions(more)
            theirs = self._sizes[index].prod(axis=1)
            keep = self._could_win(index, theirs, reach, noise)
            found, cells = found + [more[i] for i in np.flatnonzero(keep)], np.append(cells, theirs[keep])
        if cells.sum() > MOST_CELLS:
            order = np.argsort(cells, kind="stable")
            found = [found[i] for i in np.sort(order[np.cumsum(cells[order]) <= MOST_CELLS])]
        return found or self.smallest

    @property
    def sweep(self) -> int:
        """In how many rounds every pair has its turn, while the model is light."""
        return 1 if self.all_pairs else ceil(len(self.domain) / max(1, PAIRS // len(self.domain)))

    @property
    def smallest(self) -> list[Clique]:
        """What fits if anything does: all of a short list, of a long one the one-way marginals or the smallest marginal."""
        if not self.wide:
            return list(self._first)
        assert isinstance(self.everything, Combinations)
        size, held = self.everything.layers[0]
        if size == 1:
            return list(self._of_size(1))
        others = sorted((a for a in self.domain if a != held), key=self.domain.__getitem__)
        return [self.domain.clique([*others[: size - (held is not None)], *([] if held is None else [held])])]

    def _could_win(self, index: Rows, cells: NDArray[np.float64], reach: Reach, noise: float) -> NDArray[np.bool_]:
        single = (index >= 0).sum(axis=1) <= 1
        most = reach.most(index) if self.wide else 2 * reach.rows
        return np.asarray(single | (noise * cells < most))

    def _penalty(self, workload: Workload, clique: Clique, unit: Unit) -> float:
        """Return for how many cells noise is taken off a marginal's score, where sums of marginals are asked for."""
        return errors_of(workload, clique, unit, self.config.noise) / norm(workload.queried.get(clique))

    def _of_size(self, size: int) -> Combinations:
        assert isinstance(self.everything, Combinations)
        return self.everything.of_size(size)

    def _positions(self, cliques: Sequence[Clique]) -> Rows:
        width = max(map(len, cliques), default=1)
        index = np.full((len(cliques), width), -1, dtype=np.intp)
        for row, clique in enumerate(cliques):
            index[row, : len(clique)] = [self.domain.index(a) for a in clique]
        return index

    def _grown(self, measured: Sequence[Clique], most: float) -> Iterator[Clique]:
        """Yield the sets of three attributes and more that lack at most one edge of the model's graph, and its edges too
        where pairs take turns.
        """
        assert isinstance(self.everything, Combinations)
        largest = max(size for size, _ in self.everything.layers)
        adjacent = _adjacent(self.domain, junction_tree(self.domain, measured).cliques)
        names = self.domain.attributes
        if not self.all_pairs:
            yield from ((names[i], names[j]) for i, around in enumerate(adjacent) for j in _bits(around >> i << i))
        for mask in _nearly_complete(adjacent, self.domain.sizes, largest, most):
            yield tuple(names[i] for i in _bits(mask))

    def _others(self, turn: int, effort: float) -> Iterator[Clique]:
        """Yield some of the others, in turn."""
        assert isinstance(self.everything, Combinations)
        if not self.all_pairs:
            yield from self._pairs(turn, effort)
        larger = [self._of_size(size) for size in sorted({size for size, _ in self.everything.layers}) if size > 2]
        for layer in larger:
            stride, some = _stride(len(layer)), int(effort * OTHERS / len(larger))
            yield from layer.at((turn * some + k) * stride % len(layer) for k in range(some))

    def _pairs(self, turn: int, effort: float) -> Iterator[Clique]:
        """Yield all pairs of some attributes, whose turn it is: the model answers those of one attribute together."""
        names, some = self.domain.attributes, max(1, int(effort * PAIRS / len(self.domain)))
        stride = _stride(len(names))
        for k in range(some):
            mine = (turn * some + k) * stride % len(names)
            yield from ((names[min(i, mine)], names[max(i, mine)]) for i in range(len(names)) if i != mine)


def _stride(length: int) -> int:
    """Return a step that comes to every place before it comes to one twice, far from the last ones each time."""
    step = max(1, int(length * (sqrt(5) - 1) / 2))
    while gcd(step, length) > 1:
        step += 1
    return step


def _adjacent(domain: Domain, cliques: Iterable[Clique]) -> list[int]:
    """Return, for each attribute, those that it shares a clique with, as bits."""
    found = [0] * len(domain)
    for clique in cliques:
        at = [domain.index(a) for a in clique]
        mask = sum(1 << i for i in at)
        for i in at:
            found[i] |= mask & ~(1 << i)
    return found


def _nearly_complete(adjacent: Sequence[int], sizes: Sequence[int], largest: int, most: float) -> list[int]:
    """Return the sets of 3 to ``largest`` attributes that lack at most one edge and have at most ``most`` cells."""
    complete = {
        1 << i | 1 << j: sizes[i] * sizes[j] for i, around in enumerate(adjacent) for j in _bits(around >> i + 1 << i + 1)
    }
    found: dict[int, int] = {}
    for _ in range(3, largest + 1):
        larger: dict[int, int] = {}
        for mask, cells in complete.items():
            for x in _bits(mask):
                common = ~mask
                for i in _bits(mask & ~(1 << x)):
                    common &= adjacent[i]
                for y in _bits(common):
                    if cells * sizes[y] <= most:
                        (larger if adjacent[x] >> y & 1 else found)[mask | 1 << y] = cells * sizes[y]
            if len(found) + len(larger) > MOST_GROWN:
                return [*found, *larger][:MOST_GROWN]
        found |= larger
        complete = larger
    return list(found)


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
