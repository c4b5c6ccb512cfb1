"""Small tables and doors for the tests of mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.privacy import Budget, Door, ResearchNoise, Unit
from understudy.source import MemorySource

SMALL = Domain.of({"a": 2, "b": 3, "c": 4, "d": 2})

MakeDoor = Callable[..., Door]


def correlated(domain: Domain, rows: int, seed: int) -> NDArray[np.int64]:
    """A table in which each column follows the one before it, most of the time."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, domain.sizes[0], rows)]
    for size in domain.sizes[1:]:
        follows = rng.random(rows) < 0.7
        columns.append(np.where(follows, columns[-1] % size, rng.integers(0, size, rows)))
    return np.column_stack(columns)


@pytest.fixture
def make_door() -> MakeDoor:
    def make(
        *,
        domain: Domain = SMALL,
        rows: int = 300,
        seed: int = 0,
        rho: Fraction | float = Fraction(1, 2),
        unit: Unit = Unit.ADD_REMOVE,
        codes: NDArray[np.int64] | None = None,
    ) -> Door:
        table = correlated(domain, rows, seed) if codes is None else codes
        source = MemorySource.of_codes(table, domain)
        return Door(source, Budget.of(rho=rho), unit=unit, noise=ResearchNoise(seed))

    return make
