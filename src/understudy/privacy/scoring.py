"""The integer scores that selection chooses by, as pure functions, so that their sensitivity can be tested.

May see private counts: a score is private until the door has chosen by it under budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import WorkloadError
from understudy.privacy.maps import LinearMap
from understudy.privacy.noise import Counts
from understudy.privacy.unit import Unit

TOP_WEIGHT = 2**20
"""The integer weight of the heaviest candidate; the others are in proportion."""

TOP_DISTANCE = 2**40
"""Distances (and penalties) above this count as this, so that no score can reach 2^62, let alone overflow."""

N = TypeVar("N", np.int64, np.float64)

_BLOCK = 2**15
"""Cells summed at once: few enough to stay in the processor's cache, and for a sum of 2^40s to stay in range."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A marginal that may be measured next. Public: weight, penalty and estimate come from the model and the
    workload.

    Its score is ``weight * (‖counts - round(estimate)‖₁ - penalty)``, with a ``query`` that of the query's answers. A
    candidate of weight 0 scores 0 whatever the table; it may still be chosen, when nothing scores better. The estimate
    may be given as a function, which is called when a score is first needed: a run that is resumed does not score again
    what it has chosen already.
    """

    clique: Clique
    weight: float
    penalty: float
    estimated: NDArray[np.float64] | Callable[[], NDArray[np.float64]] = field(repr=False)
    query: LinearMap | None = None
    """What is asked of the marginal; None: its cells."""

    def __post_init__(self) -> None:
        """Refuse what cannot be scored, so that nothing can fail once a choice has been paid for."""
        if not (isfinite(self.weight) and self.weight >= 0):
            raise WorkloadError(f"{self._name}: the weight must be finite and at least 0, not {self.weight}.")
        if not isfinite(self.penalty):
            raise WorkloadError(f"{self._name}: the penalty must be finite, not {self.penalty}.")
        if not callable(self.estimated):
            _ = self.estimate

    @cached_property
    def estimate(self) -> NDArray[np.float64]:
        """The public model's answer on the marginal."""
        found = self.estimated() if callable(self.estimated) else self.estimated
        if not isfinite(float(found.sum())):
            raise WorkloadError(f"{self._name}: the estimate holds numbers that are not finite.")
        return found

    def moved(self, unit: Unit) -> int:
        """Return how far its distance may move between neighbours."""
        return unit.score if self.query is None else self.query.l1(unit)

    def asked(self, counts: Counts) -> Counts:
        """Return the exact answers about ``counts``: themselves, or those of the query."""
        return counts if self.query is None else self.query.exact(counts)

    @property
    def expected(self) -> NDArray[np.float64]:
        """The same of the estimate."""
        return self.estimate if self.query is None else self.query.forward(self.estimate)

    def gap(self, other: NDArray[np.float64]) -> float:
        """Return the L1 distance of another public estimate from its own, in the query's answers."""
        apart = other - self.estimate
        return float(np.abs(apart if self.query is None else self.query.forward(apart)).sum())

    @property
    def _name(self) -> str:
        return f"Candidate ({', '.join(self.clique)})"


def integer_weights(weights: Sequence[float]) -> Counts:
    """Scale public weights so that the largest is 2^20, and round; a weight above 0 becomes at least 1."""
    top = max(weights, default=0.0)
    if top == 0:
        raise WorkloadError("There is nothing to choose from: give at least one candidate with a weight above 0.")
    real = np.asarray(weights, dtype=np.float64)
    scaled = np.rint(real / top * TOP_WEIGHT).astype(np.int64)
    return np.maximum(scaled, real > 0)


def rounded(estimate: NDArray[np.float64]) -> Counts:
    """Round a public estimate to integers, so that its distance to the counts is an integer too."""
    return _within(np.rint(estimate), TOP_DISTANCE).astype(np.int64)


def _within(numbers: NDArray[N], reach: int) -> NDArray[N]:
    """Return ``numbers`` kept within ``reach`` of 0: ``np.clip``, which takes longer than the work for small tables."""
    return np.maximum(np.minimum(numbers, reach), -reach)


def distance(counts: Counts, estimate: NDArray[np.float64]) -> int:
    """Return min(‖counts - rounded(estimate)‖₁, 2^40), exactly; one record more or less moves it by at most 1."""
    return next(distances([counts], [estimate]))


def distances(counts: Iterable[Counts], estimates: Iterable[NDArray[np.float64]]) -> Iterator[int]:
    """Yield ``distance`` of each of the counts from its estimate; small ones are worked out together.

    The counts are taken as they are needed, some at a time.
    """
    waiting: list[tuple[Counts, NDArray[np.float64]]] = []
    cells = 0
    for exact, estimate in zip(counts, estimates, strict=True):
        if cells + exact.size > _BLOCK and waiting:
            yield from _together(waiting)
            waiting, cells = [], 0
        waiting.append((exact.reshape(-1), estimate.reshape(-1)))
        cells += exact.size
    if waiting:
        yield from _together(waiting)


def _together(pairs: list[tuple[Counts, NDArray[np.float64]]]) -> list[int]:
    """Return the distance of each pair; several have no more cells in all than a block."""
    if len(pairs) == 1:
        return [_distance(*pairs[0])]
    ends = np.cumsum([exact.size for exact, _ in pairs])
    apart = _apart(np.concatenate([exact for exact, _ in pairs]), np.concatenate([estimate for _, estimate in pairs]))
    sums = np.add.reduceat(apart, np.append(0, ends[:-1]))
    return [min(int(found), TOP_DISTANCE) for found in sums]


def _distance(counts: Counts, estimate: NDArray[np.float64]) -> int:
    total = 0
    for start in range(0, counts.size, _BLOCK):
        apart = _apart(counts[start : start + _BLOCK], estimate[start : start + _BLOCK])
        total = min(total + int(apart.sum()), TOP_DISTANCE)
    return total


def _apart(counts: Counts, estimate: NDArray[np.float64]) -> Counts:
    """Return how far each count is from its estimate, at most 2^40.

    ``rounded`` keeps within 2^40, so a count beyond 2^42 is more than 2^40 away whatever it is.
    """
    cells = _within(counts, 4 * TOP_DISTANCE)
    cells -= rounded(estimate)
    np.abs(cells, out=cells)
    np.minimum(cells, TOP_DISTANCE, out=cells)
    return cells


def scores(counts: Iterable[Counts], candidates: Sequence[Candidate]) -> Counts:
    """Return one integer score per candidate. Each moves by at most ``weight * candidate.moved(unit)`` between
    neighbours.
    """
    weights = integer_weights([c.weight for c in candidates]).tolist()
    asked = (c.asked(exact) for c, exact in zip(candidates, counts, strict=True))
    far = distances(asked, (c.expected for c in candidates))
    found = [w * away - _penalty(w, c.penalty) for w, away, c in zip(weights, far, candidates, strict=True)]
    return np.array(found, dtype=np.int64)


def _penalty(weight: int, penalty: float) -> int:
    """Return the public part of a score, as an integer below 2^60."""
    return round(weight * min(max(penalty, -TOP_DISTANCE), TOP_DISTANCE))
