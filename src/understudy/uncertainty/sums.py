"""Bounds on the sums that a workload asks for: Theorem 5 of docs/bounds.md. Public: from what was released alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.model import along
from understudy.privacy import Measurement, Product
from understudy.uncertainty.bounds import Bound
from understudy.workload import Workload, norm

Floats = NDArray[np.float64]
TOLD = 1e-6
"""What a measurement does not tell of a sum, relatively, is rounding."""


@dataclass(frozen=True)
class SumBound:
    """How far off all sums of one query may be, added up; each number holds by itself with probability ``confidence``."""

    clique: Clique
    sums: int
    """How many there are."""
    measured: float | None
    """By the measurements of sums of this marginal; None where there are none that tell all of the query."""
    by_cells: float | None
    """By the bound on the marginal's cells, for a record is in so many sums at most; None where it has no bound."""
    confidence: float


def measured_bound(
    query: Product, measurements: Sequence[Measurement], clique: Clique, target: Floats, beta: float
) -> float | None:
    """Return U with P(‖Q (M_r(D) - target)‖₁ > U) ≤ ``beta`` for any public target: the least over the measurements of sums,
    of which the k-th has β/2^k. None where no measurement tells all of the query.
    """
    found = []
    ours = [m for m in measurements if m.clique == clique and isinstance(m.query, Product) and m.noise == "gaussian"]
    for k, m in enumerate(ours, start=1):
        assert isinstance(m.query, Product)
        told = list(_told(query, m.query))
        if all(one is not None for one in told):
            cells = along(m.values.reshape(m.query.parts).astype(np.float64), [one[1] for one in told if one])
            said = query.apply(cells - target)
            norms, blocks = prod(one[0] for one in told if one), prod(one[2] for one in told if one)
            found.append(float(np.abs(said).sum()) + radius(m.scale * norms, blocks, beta / 2**k))
    return min(found, default=None)


def radius(norms: float, blocks: int, beta: float) -> float:
    """Return R with P(‖B z‖₁ > R) ≤ ``beta``: ``norms`` is σ times the norms of all rows of B, which ``blocks`` independent
    parts share equally (Lemma 7).
    """
    return norms * sqrt(2 * (log(2) + log(1 / beta) / blocks))


def _told(query: Product, strategy: Product) -> Iterator[tuple[float, Floats | None, int] | None]:
    """For each attribute: the summed norms of the rows of Q A⁺, A⁺ (None: the identity), and how many independent parts
    there are. None where A does not tell all of Q.
    """
    for asked, how, size in zip(query.axes, strategy.axes, query.shape, strict=True):
        if isinstance(asked, int) and isinstance(how, int):
            yield float(size), None, size
            continue
        wanted = np.eye(size) if isinstance(asked, int) else asked.astype(np.float64)
        matrix = np.eye(size) if isinstance(how, int) else how.astype(np.float64)
        inverse = np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
        rows = wanted @ inverse
        if np.abs(rows @ matrix - wanted).max() > TOLD * np.abs(wanted).max():
            yield None
        else:
            yield float(np.sqrt((rows**2).sum(axis=1)).sum()), None if isinstance(how, int) else inverse, 1


def sum_bounds(
    workload: Workload,
    measurements: Sequence[Measurement],
    targets: Callable[[Clique], Floats],
    cells: Mapping[Clique, Bound],
    confidence: float = 0.95,
) -> dict[Clique, SumBound]:
    """Return the bounds of every query of sums, for ``targets`` (marginals); ``cells`` are the bounds on marginals, whose
    confidence is taken where there is one.
    """
    found = {}
    for clique in workload.asked:
        query, target = workload.queried[clique], np.asarray(targets(clique), dtype=np.float64)
        bound = cells.get(clique)
        level = confidence if bound is None else bound.confidence
        measured = measured_bound(query, measurements, clique, target, 1 - level)
        through = None if bound is None else norm(query) * bound.value
        found[clique] = SumBound(clique, query.answers, measured, through, level)
    return found
