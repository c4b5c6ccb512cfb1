"""A mechanism obeys its own inequality on small tables: P(S | D) ≤ e^ε P(S | D') + δ, for many neighbours and many events.

The events are all that released numbers fall above, below or on: each cell of each measurement, each choice. Weak where the
claim is weak, but it assumes nothing: what a table gives away for certain shows in a few dozen runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.mechanism import MECHANISMS, Outcome, mechanism
from understudy.model import fit
from understudy.privacy import UNITS, Budget, Door, Noise, ResearchNoise, Unit, epsilon_of
from understudy.workload import Workload

from .attacks import Table
from .bounds import ALARM, at_least, at_most

pytestmark = [pytest.mark.statistical, pytest.mark.promise(22), pytest.mark.promise(17)]
DOMAIN = Domain.of({"a": 2, "b": 2})
RHO, DELTA = Fraction(1, 50), 0.01
EPSILON = epsilon_of(RHO, DELTA)
WORKLOAD = Workload.of(DOMAIN, [(["a", "b"], 1.0), (["a"], 1.0)])
Rows = list[tuple[int, int]]


def small_pairs(number: int, unit: Unit, seed: int = 0) -> Iterator[tuple[Rows, Rows]]:
    """Yield random neighbouring tables of few records; the first is empty, or has one."""
    rng = np.random.default_rng(seed)
    for size in [0, *rng.integers(0, 5, number - 1)]:
        rows = [(int(a), int(b)) for a, b in rng.integers(0, 2, (int(size), 2))]
        new, old = ((int(a), int(b)) for a, b in rng.integers(0, 2, (2, 2)))
        instead = (1 - new[0], new[1])
        yield (
            (rows, [*rows, new]) if unit == Unit.ADD_REMOVE else ([*rows, instead], [*rows, old if old != instead else new])
        )


def features(outcome: Outcome) -> list[float]:
    """Return the released numbers of a run: the first few measurements cell by cell, and what was chosen."""
    cells = [float(value) for m in outcome.measurements[:4] for value in m.values.flat]
    chosen = [float(hash_of(m.clique)) for m in outcome.measurements[:4]]
    return ([*cells, *[0.0] * 16])[:16] + ([*chosen, *[-1.0] * 4])[:4]


def hash_of(clique: tuple[str, ...]) -> int:
    return [(), ("a",), ("b",), ("a", "b")].index(clique)


def released(name: str, rows: Rows, unit: Unit, runs: int, noise: Callable[[], Noise | None]) -> NDArray[np.float64]:
    """Run many times; return runs × features."""
    options = {"rounds": 4} if name in ("aim", "aim2", "mwem") else {}
    how, table = mechanism(name, **options), Table(rows, DOMAIN)
    made = []
    for _ in range(runs):
        door = Door(table, Budget.of(rho=RHO), unit=unit, noise=noise())
        made.append(features(how.run(door, WORKLOAD, estimator=partial(fit, max_iterations=3))))
    return np.array(made)


def broken_events(one: NDArray[np.float64], two: NDArray[np.float64]) -> int:
    """Count the events whose chances break the inequality for certain: 1e-6 over all events and both directions."""
    events = [event for column in range(one.shape[1]) for event in _events(one[:, column], two[:, column])]
    alarm, runs = ALARM / (4 * len(events)), len(one)
    broken = 0
    for first, second in events:
        for p, q in ((first, second), (second, first)):
            broken += at_least(p, runs, alarm) > np.exp(EPSILON) * at_most(q, runs, alarm) + DELTA
    return broken


def _events(one: NDArray[np.float64], two: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    values = np.unique(np.quantile(np.concatenate([one, two]), np.linspace(0, 1, 9), method="nearest"))
    for value in values:
        for holds in (np.equal, np.less_equal, np.greater_equal):
            yield int(holds(one, value).sum()), int(holds(two, value).sum())


def seeded() -> Callable[[], Noise | None]:
    numbers = count()
    return lambda: ResearchNoise(next(numbers))


def secure() -> Callable[[], Noise | None]:
    return lambda: None


def checked(name: str, unit: Unit, noise: Any, pairs: int, runs: int) -> None:
    for rows, other in small_pairs(pairs, unit):
        one, two = (released(name, table, unit, runs, noise()) for table in (rows, other))
        assert broken_events(one, two) == 0, (rows, other)


@pytest.mark.parametrize("unit", UNITS)
def test_no_event_breaks_the_inequality_seeded(unit: Unit) -> None:
    checked("gaussian", unit, seeded, 4, 60)


@pytest.mark.audit
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_no_event_breaks_the_inequality(name: str, unit: Unit) -> None:
    pairs, runs = (20, 200) if name == "gaussian" else (3, 60)
    checked(name, unit, secure, pairs, runs)


class OnlyWhereSomebodyIs(ResearchNoise):
    """Mutant: noise on occupied cells alone, as when the domain is read off the data."""

    def gaussian(self, counts: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        return np.where(counts == 0, 0, super().gaussian(counts, sigma))


class Exact(ResearchNoise):
    """Mutant: no noise at all."""

    def gaussian(self, counts: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        return counts.copy()


@pytest.mark.parametrize("mutant", [OnlyWhereSomebodyIs, Exact])
@pytest.mark.parametrize("unit", UNITS)
def test_what_is_given_away_for_certain_is_found(mutant: type[ResearchNoise], unit: Unit) -> None:
    numbers = count()
    (pair,) = small_pairs(1, unit)
    one, two = (released("gaussian", rows, unit, 60, lambda: mutant(next(numbers))) for rows in pair)
    assert broken_events(one, two) > 0
