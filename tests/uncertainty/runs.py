"""Small seeded runs for the tests of bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.mechanism import Outcome, mechanism
from understudy.model import fit
from understudy.privacy import Budget, Door, ResearchNoise, Unit
from understudy.privacy.noise import Noise
from understudy.source import MemorySource
from understudy.uncertainty import Evidence
from understudy.workload import Workload

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 5, "d": 2})
WEIGHTED = Workload.of(DOMAIN, [(["a", "b", "c"], 1.0), (["a", "d"], 20.0), (["b", "d"], 0.2), (["c", "d"], 5.0)])
QUICK = partial(fit, max_iterations=40)
"""The bounds hold whatever the fit: an unfinished one is as good a test, and there are many runs."""


@dataclass(frozen=True, eq=False)
class Run:
    outcome: Outcome
    truth: dict[Clique, NDArray[np.int64]]

    @property
    def evidence(self) -> Evidence:
        return Evidence.of(self.outcome)

    def error(self, clique: Clique) -> float:
        assert self.outcome.model is not None
        return float(np.abs(self.outcome.model.marginals([clique])[0] - self.truth[clique]).sum())


DETERMINED_DOMAIN = Domain.of({"city": 12, "region": 4, "age": 6, "kind": 3})
DETERMINED = Workload.all_kway(DETERMINED_DOMAIN, 2)
REGION_OF = np.arange(12) % 4
OTHER_REGION = Zeros(("city", "region"), np.argwhere(REGION_OF[:, None] != np.arange(4)))
"""The region follows from the city."""


def play(
    codes: NDArray[np.integer],
    workload: Workload,
    generator: Noise,
    *,
    rho: float = 0.3,
    unit: Unit = Unit.ADD_REMOVE,
    zeros: Sequence[Zeros] = (),
    **options: Any,
) -> Run:
    """AIM on a table of codes."""
    source = MemorySource.of_codes(codes, workload.domain)
    truth = dict(zip(workload.closure, source.count(workload.closure), strict=True))
    door = Door(source, Budget.of(rho=rho), unit=unit, noise=generator)
    made = mechanism("aim", **{"rounds": 12, **options}).run(door, workload, estimator=QUICK, zeros=zeros)
    return Run(made, truth)


def one_run(seed: int, *, rho: float = 0.3, rows: int = 400, **options: Any) -> Run:
    """AIM on a correlated, uneven table of its own, with noise of its own."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(3, rows, p=rng.dirichlet([1, 1, 1]))]
    for size in (4, 5, 2):
        follows = rng.random(rows) < 0.6
        columns.append(np.where(follows, (columns[-1] + 1) % size, rng.integers(0, size, rows)))
    return play(np.column_stack(columns), WEIGHTED, ResearchNoise(seed + 10_000), rho=rho, **options)


def determined_codes(rng: np.random.Generator, rows: int = 1500) -> NDArray[np.int64]:
    """A table in which the region follows from the city, as OTHER_REGION declares."""
    city = rng.choice(12, rows, p=rng.dirichlet(np.ones(12)))
    age, kind = rng.integers(0, 6, rows), rng.integers(0, 3, rows)
    return np.column_stack([city, REGION_OF[city], age, kind])


def determined_run(seed: int, *, rows: int = 1500, rho: float = 0.05, **options: Any) -> Run:
    """AIM on such a table."""
    codes = determined_codes(np.random.default_rng(seed), rows)
    return play(codes, DETERMINED, ResearchNoise(seed), rho=rho, zeros=[OTHER_REGION], **options)
