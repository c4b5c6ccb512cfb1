"""What is measured once more at the end where sums are asked for: each marginal by its need. Public numbers only.

What is known of a query is split into blocks. For a set t of its columns, the block t is what it says of the contrasts of
these (what their values differ by, once their total is known), added up over all other columns. Measuring sums of r at the
cost p tells each block t ⊆ r: with the precision p / Π v_a, over the columns a of r outside t, where v_a is the variance of
the total of a under the strategy in use, and less or more by how that strategy errs on the contrasts. With Q the precision
that a block is known with already, a query s of n_s answers errs by n_s √(Σ_t K_st / (Q_t + Σ_r p_r T_tr)), where K is what
a unit of variance in a block comes to in an answer. The split makes the sum over all queries least, for a given Σ p.

It is convex. So the sizes of groups, which all queries of a group have in common, get more, and what the rounds happened to
measure twice gets less. A query that was not measured itself counts by the blocks that were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism.config import NoiseName
from understudy.mechanism.strategy import LOST, Strategy, strategy_for
from understudy.privacy import LinearMap, Measurement, Product, Unit
from understudy.workload import Workload, norm

AGAIN_SUMS = Fraction(2, 5)
"""The share of the budget that is kept for it."""
LEAST = 2e-3
"""What would get a smaller part of it is left out."""
MOST = 1_000
"""Of more marginals, the smallest are looked at."""
STEPS = 150
POWER = 0.6
"""A step multiplies each part of the budget by its slope to this power."""
TINY = 1e-12

Floats = NDArray[np.float64]
Map = NDArray[np.int64] | int
"""What is asked, or measured, of a column: a matrix, or the number of its values where these stay as they are."""


@dataclass(frozen=True)
class Needs:
    """What each query errs by, as a function of what is spent on each marginal."""

    counts: Floats
    """n_s: the weight of a query times its answers, for each of those that a record is in."""
    worth: Floats
    """K, queries × blocks."""
    known: Floats
    """Q of each block."""
    tells: Floats
    """T, blocks × marginals."""

    def split(self, whole: float) -> Floats:
        """Return the share of each marginal of ``whole``; 0 where it would be too small."""
        parts = np.full(self.tells.shape[1], whole / self.tells.shape[1])
        for _ in range(STEPS):
            precise = np.maximum(self.known + self.tells @ parts, TINY * whole)
            errors = np.sqrt(self.worth @ (1 / precise))
            weights = np.divide(self.counts, errors, out=np.zeros_like(errors), where=errors > 0)
            slopes = self.tells.T @ ((weights @ self.worth) / precise**2)
            if not slopes.any():
                break
            parts = parts * (slopes / slopes.max()) ** POWER
            parts *= whole / parts.sum()
        shares = parts / whole
        shares[shares < LEAST] = 0.0
        return shares if shares.any() else np.ones(len(shares))


def parts_of(domain: Domain, measurements: Sequence[Measurement]) -> list[Clique]:
    """Return the marginals that were measured, and what they hold: the smallest, where they are many."""
    whole = dict.fromkeys(m.clique for m in measurements)
    found = {t for r in whole for size in range(1, len(r) + 1) for t in combinations(r, size)}
    return sorted(found, key=lambda t: (len(t), domain.cells(t), t))[:MOST]


def strategies_of(
    workload: Workload, measurements: Sequence[Measurement], listed: Sequence[Clique]
) -> Mapping[Clique, LinearMap | None]:
    """Return how each of ``listed`` is measured: as its sums were, or by the strategy for them; None: its cells."""
    asked = {m.clique: m.query for m in measurements if m.query is not None}
    queried = workload.queried
    best = {r: strategy_for(queried[r]).measured if r in queried else None for r in listed if r not in asked}
    return {r: asked[r] if r in asked else best[r] for r in listed}


def needs_of(
    workload: Workload,
    measurements: Sequence[Measurement],
    ways: Mapping[Clique, LinearMap | None],
    unit: Unit,
    noise: NoiseName,
) -> Needs:
    """Work out what each query errs by, of all that was measured and may be: ``ways`` has the marginals that may be."""
    domain, blocks = workload.domain, list(dict.fromkeys(t for r in ways for t in _subsets(r)))
    place = {t: k for k, t in enumerate(blocks)}
    asked = {s: _axes(domain, s, workload.query(s)) for s in workload.cliques}
    alone = {a: how for axes in asked.values() for a, how in axes.items()}
    reference = {a: domain[a] for a in alone} | _strategies_by_column(domain, ways)
    worth, counts = np.zeros((len(asked), len(blocks))), np.zeros(len(asked))
    for i, (s, axes) in enumerate(asked.items()):
        each = {a: _known(how, reference[a]) for a, how in axes.items()}
        answers = prod(how if isinstance(how, int) else len(how) for how in axes.values())
        counts[i] = workload.query_weights[i] * answers / norm(workload.query(s))
        for t in _subsets(s):
            if t in place:
                worth[i, place[t]] = prod(one.contrasts if a in t else one.share for a, one in each.items())

    def told(clique: Clique, how: LinearMap | None) -> Floats:
        """Return the precision of each block for a unit of the budget."""
        found, axes = np.zeros(len(blocks)), _axes(domain, clique, how)
        each = {a: _known(alone[a], axes[a]) for a in clique}
        base = {a: _known(alone[a], reference[a]).contrasts for a in clique}
        scale = 1.0 if not isinstance(how, Product) else Strategy(how, 0.0).scale(unit, noise)
        for t in _subsets(clique):
            if t in place:
                factors = [_ratio(base[a], one.contrasts) if a in t else 1 / one.total for a, one in each.items()]
                found[place[t]] = prod(factors) / scale**2
        return found

    tells = np.stack([told(r, how) for r, how in ways.items()], axis=1)
    known = sum((float(m.rho) * told(m.clique, m.query) for m in measurements), np.zeros(len(blocks)))
    return Needs(counts, worth, known, tells)


@dataclass(frozen=True)
class Known:
    """What one column's answers err by, measured with a noise of variance 1."""

    total: float
    """The variance of the column's total; infinite where it is not told."""
    contrasts: float
    """The variance of an answer, on average, that is left when the total is known."""
    share: float
    """What a unit of variance in the total comes to in an answer, on average."""


def _known(asked: Map, measured: Map) -> Known:
    query = np.eye(asked, dtype=np.int64) if isinstance(asked, int) else asked
    if isinstance(measured, int):
        return _worked_out(query.shape, query.tobytes(), None, b"")
    return _worked_out(query.shape, query.tobytes(), measured.shape, measured.tobytes())


@lru_cache(maxsize=1024)
def _worked_out(shape: tuple[int, ...], query: bytes, by: tuple[int, ...] | None, strategy: bytes) -> Known:
    wanted = np.frombuffer(query, dtype=np.int64).reshape(shape).astype(np.float64)
    spread, ones, told = np.eye(shape[1]), np.ones(shape[1]), True
    if by is not None:
        known = np.frombuffer(strategy, dtype=np.int64).reshape(by).astype(np.float64)
        inverse = np.linalg.pinv(known)
        spread = inverse @ inverse.T
        told = bool(np.abs(ones @ inverse @ known - 1).max() <= LOST)
    variances = ((wanted @ spread) * wanted).sum(axis=1)
    if not told:
        return Known(inf, float(variances.mean()), 0.0)
    total, moved = float(ones @ spread @ ones), wanted @ spread @ ones
    left = float(np.mean(variances - moved**2 / total))
    return Known(total, left if left > TINY * float(variances.mean()) else 0.0, float(np.mean((moved / total) ** 2)))


def _axes(domain: Domain, clique: Clique, how: LinearMap | None) -> dict[str, Map]:
    """Return what is asked of each column; of what is no product of maps, its values."""
    axes = how.axes if isinstance(how, Product) else [domain[a] for a in clique]
    return dict(zip(clique, axes, strict=True))


def _strategies_by_column(domain: Domain, ways: Mapping[Clique, LinearMap | None]) -> dict[str, Map]:
    """Return a strategy of each column that has one: contrasts are counted by it."""
    found = {a: how for r, way in ways.items() for a, how in _axes(domain, r, way).items()}
    return {**found, **{a: h for r, way in ways.items() for a, h in _axes(domain, r, way).items() if not isinstance(h, int)}}


def _subsets(clique: Clique) -> list[Clique]:
    return [t for size in range(len(clique) + 1) for t in combinations(clique, size)]


def _ratio(one: float, other: float) -> float:
    return one / other if other > 0 else 1.0
