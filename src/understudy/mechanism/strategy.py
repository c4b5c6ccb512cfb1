"""How a marginal is measured when sums of its cells are asked for: the strategy that errs least on them. Public.

Of each attribute that has a map M, the strategies A of a short list are compared by what the answers M A⁺ z err by, with
noise z that pays for A: the sum of the row norms of M A⁺, times the largest column norm of A. Both are multiplicative in the
attributes, so the best of each makes the best of the product. Weights are whole numbers, as the door wants them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.mechanism.config import NoiseName
from understudy.model import one_thread
from understudy.privacy import Product, Unit
from understudy.privacy.maps import REACH

FINE = 2**10
"""The largest weight of a strategy that is made of real numbers."""
BRANCHES = (2, 4, 8)
"""Of hierarchies."""
LOST = 1e-6
"""What a strategy cannot tell of a query, relatively, is rounding."""
SETTLED, MOST_STEPS = 1e-3, 60
"""The optimised strategy is taken when its columns' weights change by no more than this, or after so many steps."""
LARGEST_OPTIMISED = 128
"""Of attributes with more values the optimised one takes too long."""
LARGEST = 256
"""Attributes of more values are measured value by value."""

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Strategy:
    """What is measured of a marginal, for the sake of a query."""

    measured: Product | None
    """None: the cells."""
    error: float
    """The L1 error of all the query's answers, expected of a measurement whose noise errs by 1 on average."""

    def scale(self, unit: Unit, noise: NoiseName) -> float:
        """Return how many times the noise on cells the noise on the answers is, at the same cost."""
        if self.measured is None:
            return 1.0
        if noise == "gaussian":
            return sqrt(self.measured.l2_squared(unit) / unit.l2_squared)
        return self.measured.l1(unit) / unit.l1


@lru_cache(maxsize=4096)
def strategy_for(query: Product) -> Strategy:
    """Return the best strategy of the list; where its weights are too large together, the best whose weights are not."""
    chosen = _chosen(query, REACH)
    if prod(_heaviest(how) for how, _ in chosen) >= REACH:
        chosen = _chosen(query, int((REACH - 1) ** (1 / len(query.axes))))
    axes = [size if how is None else how for size, (how, _) in zip(query.shape, chosen, strict=True)]
    plain = all(isinstance(one, int) for one in axes)
    return Strategy(None if plain else Product(axes), prod(error for _, error in chosen))


def _chosen(query: Product, most: int) -> list[tuple[Whole | None, float]]:
    return [(None, float(m)) if isinstance(m, int) else _best(m.shape, m.tobytes(), most) for m in query.axes]


def _heaviest(how: Whole | None) -> int:
    """Return the largest sum of the weights of an answer."""
    return 1 if how is None else int(np.abs(how).sum(axis=1).max())


@lru_cache(maxsize=256)
def _best(shape: tuple[int, int], stored: bytes, most: int) -> tuple[Whole | None, float]:
    """Return the strategy for one attribute with this map, and what the answers err by for a noise of 1.

    The weights of an answer of it come to at most ``most``.
    """
    query = np.frombuffer(stored, dtype=np.int64).reshape(shape)
    listed = strategies(query) if shape[1] <= LARGEST else ()
    some: list[Whole | None] = [None, *(how for how in listed if _heaviest(how) <= most)]
    found = [(how, _row_norms(query, how)) for how in some]
    return min(found, key=lambda one: one[1] * (1.0 if one[0] is None else column_norm(one[0])))


def strategies(query: Whole) -> Iterator[Whole]:
    """Yield what might be measured: optimised or falling sums, hierarchies, and the query itself."""
    values = query.shape[1]
    made = optimised(query) if values <= LARGEST_OPTIMISED else None
    if made is not None:
        yield made
    yield falling(values)
    for branches in BRANCHES:
        if branches < values:
            yield hierarchy(values, branches)
    if len(query) <= values:
        yield query


def optimised(query: Whole) -> Whole | None:
    """Return the sums that err least in squares on the query, of all that every record moves equally far.

    X = AᵀA minimises the trace of MᵀM X⁻¹ where its diagonal is 1. Its dual has a fixed point, which is iterated (Denisov,
    McMahan, Rush, Smith and Thakurta, 2022). Of all A with AᵀA = X the triangular one is taken: that of prefixes and of
    ranges has no weight below 0. None where the query does not tell every value.
    """
    with one_thread():  # the same digits on any number of cores
        square = query.T.astype(np.float64) @ query
        if np.linalg.matrix_rank(square) < len(square):
            return None
        weights = np.sqrt(np.diag(square))
        for _ in range(MOST_STEPS):
            before, weights = weights, np.diag(_root(square * np.sqrt(np.outer(weights, weights))))
            if np.abs(weights / before - 1).max() <= SETTLED:
                break
        roots = np.sqrt(np.outer(weights, weights))
        best = _root(square * roots) / roots
        upper = np.linalg.cholesky(best[::-1, ::-1])[::-1, ::-1]
    return np.asarray(np.rint(FINE * upper.T / np.sqrt(np.diag(best).max())), dtype=np.int64)


def _root(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the square root of a symmetric matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def falling(values: int) -> Whole:
    """Return the square root of the matrix of prefixes: sums whose weights fall with the distance, as 1, 1/2, 3/8, 5/16.

    Two of them in a row are the prefixes. The error of these is within a small factor of the least that there is
    (Henzinger, Upadhyay and Upadhyay, 2023).
    """
    steps = np.arange(1, values)
    weights = np.cumprod(np.append(1.0, (2 * steps - 1) / (2 * steps)))
    back = np.subtract.outer(np.arange(values), np.arange(values))
    return np.asarray(np.rint(FINE * np.where(back >= 0, weights[np.maximum(back, 0)], 0.0)), dtype=np.int64)


def hierarchy(values: int, branches: int) -> Whole:
    """Return each value, and sums of neighbours: of ``branches`` at first, then of as many of these."""
    at, levels, width = np.arange(values), [np.eye(values, dtype=np.int64)], branches
    while width < values:
        levels.append((at // width == np.arange(-(-values // width))[:, None]).astype(np.int64))
        width *= branches
    return np.vstack(levels)


def column_norm(matrix: Whole) -> float:
    """Return the largest L2 norm of a column: how far one record moves the answers."""
    return sqrt(float((matrix.astype(np.float64) ** 2).sum(axis=0).max()))


def _row_norms(query: Whole, strategy: Whole | None) -> float:
    """Return the sum of the norms of the rows of M A⁺; infinite where A does not tell all of M."""
    told = query.astype(np.float64)
    if strategy is not None:
        known = strategy.astype(np.float64)
        told = query @ np.linalg.pinv(known)
        if np.abs(told @ known - query).max() > LOST * np.abs(query).max():
            return inf
    return float(np.sqrt((told**2).sum(axis=1)).sum())
