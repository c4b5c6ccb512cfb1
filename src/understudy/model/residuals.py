"""What overlapping marginals say together: the residual of each, that no smaller marginal tells. Public numbers only.

A marginal is the sum of the residuals of all subsets of its attributes, as in an analysis of variance: the residual of a
set is what remains of its marginal when every axis is centred. Residuals of different sets are orthogonal. So the noisy
marginals that hold a set tell its residual independently of everything else, and are combined by inverse variance, which
loses nothing. Without this, a fit has to find out by itself, in hundreds of steps, how marginals that disagree about what
they share are to meet.

This module says what is added up where; ``understudy.model.problem`` has an engine do it. Cells of the *maximal* observed
cliques come first (one parameter each); their *parts* are their marginals on all smaller sets; *shared* are the
residuals that parts of different cliques have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.model.network import Flat
from understudy.model.observation import Observation
from understudy.model.sums import Sum


class Residuals:
    """Where parts and residuals lie, what they weigh, and the table that the observations add up to.

    ``observations`` are marginals, each clique once.
    """

    def __init__(self, domain: Domain, observations: Sequence[Observation]) -> None:
        self.domain = domain
        self.observed = {o.clique: o for o in observations}
        self.cliques = _maximal(list(self.observed))
        self.lengths = np.array([domain.cells(clique) for clique in self.cliques], dtype=np.int64)
        self._place_parts()
        self._place_shared()
        self._weigh()

    def _place_parts(self) -> None:
        """Number the cells: parts with one attribute less are sums of the clique's cells, smaller ones sums of theirs."""
        fans = [_fan(self.domain, clique) for clique in self.cliques]
        self.parts = [(i, subset) for i, fan in enumerate(fans) for subset in fan.subsets]
        self.part_lengths = np.array([self.domain.cells(subset) for _, subset in self.parts], dtype=np.int64)
        self.part_cells = int(self.part_lengths.sum())
        starts = np.cumsum([0, *self.lengths]).tolist()
        places = np.cumsum([0, *(fan.cells for fan in fans)]).tolist()
        self.from_cliques = [one.moved(a, b) for fan, a, b in zip(fans, starts, places, strict=False) for one in fan.first]
        self.from_parts = [one.moved(b, b) for fan, b in zip(fans, places, strict=False) for one in fan.later]

    def _place_shared(self) -> None:
        """Number the residuals' cells; ``axes`` say which cells each axis is summed over when it is centred."""
        self.sets = sorted({subset for _, subset in self.parts if subset}, key=lambda s: (len(s), s))
        self.set_lengths = np.array([self.domain.cells(s) for s in self.sets], dtype=np.int64)
        self.set_cells = int(self.set_lengths.sum())
        self._set_starts = dict(zip(self.sets, (np.cumsum(self.set_lengths) - self.set_lengths).tolist(), strict=True))
        self.shared = [
            Sum(start, (length,), (), self._set_starts[s])
            for (_, s), start, length in zip(self.parts, self._part_starts(), self.part_lengths.tolist(), strict=True)
            if s
        ]
        self.axes = [self._axis(k) for k in range(max(map(len, self.sets), default=0))]

    def _axis(self, k: int) -> tuple[list[Sum], Flat]:
        """Return the sums of residuals over their k-th axis, and for each of them one over the number of cells summed."""
        sums, shares, end = [], [np.zeros(0)], 0
        for s, start in self._set_starts.items():
            if k < len(s):
                sums.append(Sum(start, self.domain.shape(s), (k,), end))
                shares.append(np.full(sums[-1].sums, 1.0 / self.domain[s[k]]))
                end += sums[-1].sums
        return sums, np.concatenate(shares)

    def _weigh(self) -> None:
        """Work out the weights of ``understudy.model.problem.Problem.pull`` and the combined residuals."""
        variance = np.array([self.observed[c].sigma ** 2 for c in self.cliques])
        owner = np.array([i for i, _ in self.parts], dtype=np.int64)
        sign = np.array([(-1.0) ** (len(self.cliques[i]) - len(s)) for i, s in self.parts])
        share = self.part_lengths / self.lengths[owner]
        self.part_share: Flat = np.repeat(1.0 / self.lengths[owner], self.part_lengths)
        self.part_alone: Flat = np.repeat(sign * share, self.part_lengths)
        self.part_variance: Flat = np.repeat(variance[owner], self.part_lengths)
        precision, sums = dict.fromkeys(self.sets, 0.0), {s: np.zeros(self.domain.shape(s)) for s in self.sets}
        for o in self.observed.values():
            for s, axes in _subsets(o.clique):
                if s in precision:
                    weight = self.domain.cells(s) / (o.sigma**2 * o.values.size)
                    precision[s] += weight
                    sums[s] += weight * (o.values.sum(axis=axes) if axes else o.values)
        combined = [_centred(sums[s]).ravel() / precision[s] for s in self.sets]
        self.residual: Flat = np.concatenate([np.zeros(0), *combined])
        self.set_sizes: Flat = np.repeat(self.set_lengths.astype(np.float64), self.set_lengths)
        self.set_variance: Flat = np.repeat([1.0 / precision[s] for s in self.sets], self.set_lengths)

    def told(self) -> tuple[Flat, Flat]:
        """Return, for each cell of the parts, what was observed of it and how precisely, each observation once."""
        values, precision = np.zeros(self.part_cells), np.zeros(self.part_cells)
        seen = set(self.cliques)
        for (_, s), start, length in zip(self.parts, self._part_starts(), self.part_lengths, strict=True):
            if s in self.observed and s not in seen:
                seen.add(s)
                values[start : start + length] = self.observed[s].values.ravel()
                precision[start : start + length] = self.observed[s].sigma ** -2
        return values, precision

    def overlap(self) -> Flat:
        """Return, for each cell of the parts, the factor of its conditional mean in E = 1 − Σ factor × conditional mean.

        The factors are such that E multiplies a function of a set of attributes that is orthogonal to those of smaller sets
        by 1/√k, where k cliques hold the set.
        """
        holders = Counter(subset for _, subset in self.parts)
        factors: dict[tuple[int, Clique], float] = {}
        for i, s in self.parts:  # larger sets first
            above = sum(factors[i, t] for t in _fan(self.domain, self.cliques[i]).subsets if set(s) < set(t))
            factors[i, s] = 1.0 - holders[s] ** -0.5 - above
        return np.repeat(list(factors.values()), self.part_lengths)

    def _part_starts(self) -> list[int]:
        return [int(start) for start in np.cumsum(self.part_lengths) - self.part_lengths]


class _Fan:
    """One clique's parts: the sets, and the sums that give them, among the clique's own cells and parts."""

    def __init__(self, domain: Domain, clique: Clique) -> None:
        self.subsets = [s for size in range(len(clique) - 1, -1, -1) for s in combinations(clique, size)]
        sizes = [domain.cells(s) for s in self.subsets]
        starts = dict(zip(self.subsets, np.cumsum([0, *sizes]).tolist(), strict=False))
        self.cells = sum(sizes)

        def summed(part: Clique, whole: Clique, start: int) -> Sum:
            over = tuple(axis for axis, a in enumerate(whole) if a not in part)
            return Sum(start, domain.shape(whole), over, starts[part])

        direct = [s for s in self.subsets if len(s) == len(clique) - 1]
        self.first = [summed(s, clique, 0) for s in direct]
        self.later: list[Sum] = []
        below = Counter(dict.fromkeys(direct, 0))
        for s in self.subsets[len(direct) :]:
            holds = min((d for d in direct if set(s) <= set(d)), key=lambda d: (below[d], domain.cells(d)))
            below[holds] += 1
            self.later.append(summed(s, holds, starts[holds]))


@lru_cache(maxsize=4096)
def _fan(domain: Domain, clique: Clique) -> _Fan:
    return _Fan(domain, clique)


def _maximal(cliques: Sequence[Clique]) -> tuple[Clique, ...]:
    """Return the cliques that lie inside no other; each is compared with those that share its rarest attribute."""
    holders: dict[str, list[frozenset[str]]] = {}
    for clique in cliques:
        for a in clique:
            holders.setdefault(a, []).append(frozenset(clique))

    def inside(clique: Clique) -> bool:
        own = frozenset(clique)
        others = min((holders[a] for a in clique), key=len) if clique else [frozenset(c) for c in cliques]
        return any(own < other for other in others)

    return tuple(sorted(clique for clique in cliques if not inside(clique)))


@lru_cache(maxsize=4096)
def _subsets(clique: Clique) -> list[tuple[Clique, tuple[int, ...]]]:
    """Return each subset that is not empty, with the axes to sum over."""

    def found() -> Iterator[tuple[Clique, tuple[int, ...]]]:
        for size in range(1, len(clique) + 1):
            for s in combinations(clique, size):
                yield s, tuple(i for i, a in enumerate(clique) if a not in s)

    return list(found())


def _centred(table: NDArray[np.float64]) -> NDArray[np.float64]:
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table
