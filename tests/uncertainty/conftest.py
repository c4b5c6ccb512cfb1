"""Small seeded runs for the tests of bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism import Outcome, mechanism
from understudy.model import fit
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 5, "d": 2})
WEIGHTED = Workload.of(DOMAIN, [(["a", "b", "c"], 1.0), (["a", "d"], 20.0), (["b", "d"], 0.2), (["c", "d"], 5.0)])
QUICK = partial(fit, max_iterations=40)
"""The bounds hold whatever the fit: an unfinished one is as good a test, and there are many runs."""


@dataclass(frozen=True, eq=False)
class Run:
    outcome: Outcome
    truth: dict[Clique, NDArray[np.int64]]

    def error(self, clique: Clique) -> float:
        assert self.outcome.model is not None
        return float(np.abs(self.outcome.model.marginals([clique])[0] - self.truth[clique]).sum())


def one_run(seed: int, *, rho: float = 0.3, rows: int = 400, **options: object) -> Run:
    """AIM on a correlated, uneven table of its own, with noise of its own."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(3, rows, p=rng.dirichlet([1, 1, 1]))]
    for size in (4, 5, 2):
        follows = rng.random(rows) < 0.6
        columns.append(np.where(follows, (columns[-1] + 1) % size, rng.integers(0, size, rows)))
    source = MemorySource.of_codes(np.column_stack(columns), DOMAIN)
    truth = dict(zip(WEIGHTED.closure, source.count(WEIGHTED.closure), strict=True))
    door = Door(source, Budget.of(rho=rho), noise=ResearchNoise(seed + 10_000))
    made = mechanism("aim", **{"rounds": 12, **options}).run(door, WEIGHTED, estimator=QUICK)
    return Run(made, truth)
