"""Strategies: what is measured for the sake of sums of cells, and what that errs by."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.mechanism import Aim
from understudy.mechanism.aim2 import Aim2
from understudy.mechanism.candidates import errors_of
from understudy.mechanism.strategy import column_norm, falling, hierarchy, optimised, strategy_for
from understudy.privacy import Budget, Door, Product, ResearchNoise, Unit, linear_scale_for
from understudy.source import MemorySource
from understudy.workload import Workload

UNITS = [Unit(kind, rows) for kind in ("add-remove", "replace") for rows in (1, 3)]  # type: ignore[arg-type]


def prefixes(size: int) -> np.ndarray:
    return np.tril(np.ones((size, size), np.int64))


def test_falling_sums_twice_are_prefixes() -> None:
    half = falling(12) / falling(12)[0, 0]
    assert np.allclose(half @ half, prefixes(12), atol=5e-3)


def test_a_hierarchy_has_each_value_once_in_every_level() -> None:
    made = hierarchy(10, 3)
    assert made.shape == (10 + 4 + 2, 10)
    assert (made.sum(axis=0) == 3).all()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("query", [Product([prefixes(16), 3]), Product([prefixes(3)]), Product([2, np.array([[1, 5, 9]])])])
def test_the_expected_error_is_what_the_noise_makes(query: Product, unit: Unit) -> None:
    """2,000 draws: the mean is within 5 % of what was expected, by more than five of its standard deviations."""
    how, rng, rho = strategy_for(query), np.random.default_rng(3), 0.01
    assert how.measured is not None or query.shape == (3,)
    if how.measured is None:
        return
    scale = linear_scale_for(Fraction(rho), how.measured, "gaussian", unit)
    rows = [how.measured.forward(c.reshape(query.shape)) for c in np.eye(int(np.prod(query.shape)))]
    asked = [query.forward(c.reshape(query.shape)) for c in np.eye(int(np.prod(query.shape)))]
    told = np.array(asked).T @ np.linalg.pinv(np.array(rows).T)
    made = np.abs(told @ rng.normal(0, scale, (told.shape[1], 2000))).sum(axis=0).mean()
    cells = (unit.l2_squared / (2 * rho)) ** 0.5
    assert how.error * how.scale(unit, "gaussian") * (2 / np.pi) ** 0.5 * cells == pytest.approx(made, rel=0.05)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (8, 8, 8), (12, 12, 12, 12), (50, 50, 50), (300, 20, 20)])
def test_prefixes_of_many_attributes_have_a_strategy(sizes: tuple[int, ...]) -> None:
    """The best of each attribute would have weights that are too large together."""
    query = Product([prefixes(size) for size in sizes])
    how = strategy_for(query)
    assert np.isfinite(how.error)
    cells = np.prod([np.sqrt(np.arange(1, size + 1)).sum() for size in sizes])
    assert how.error * how.scale(Unit.ADD_REMOVE, "gaussian") <= cells * (1 + 1e-9)


def test_one_weighted_sum_is_measured_by_itself() -> None:
    query = Product([4, np.array([[1, 5, 9, 40]])])
    how = strategy_for(query).measured
    assert how is not None
    assert how.parts == (4, 1)


def test_prefixes_by_group_err_less_by_their_strategy_than_by_cells() -> None:
    domain = Domain.of({"age": 24, "sex": 2})
    workload = Workload.of(domain, [{"attributes": ["age", "sex"], "prefixes": "age"}])
    cells = np.sqrt(np.arange(1, 25)).sum() * 2
    assert errors_of(workload, ("age", "sex"), Unit.ADD_REMOVE, "gaussian") < 0.6 * cells
    assert errors_of(workload, ("sex",), Unit.ADD_REMOVE, "gaussian") == 2


def table(rows: int = 20_000) -> tuple[Domain, MemorySource]:
    rng = np.random.default_rng(1)
    group, place, age = rng.integers(0, 8, rows), rng.integers(0, 6, rows), rng.integers(0, 40, rows)
    pay = np.clip(age // 2 + 2 * group + rng.integers(0, 6, rows), 0, 39)
    domain = Domain.of({"group": 8, "place": 6, "age": 40, "pay": 40})
    return domain, MemorySource.of_codes(np.stack([group, place, age, pay], axis=1), domain)


def workloads(domain: Domain) -> tuple[Workload, Workload]:
    pairs = [[by, of] for by in ("group", "place") for of in ("age", "pay")]
    asked = [{"attributes": pair, "prefixes": pair[1]} for pair in pairs]
    return Workload.of(domain, pairs), Workload.of(domain, asked)


@pytest.mark.parametrize("mechanism", [Aim(), Aim2()])
def test_a_workload_of_prefixes_is_measured_by_its_strategy_and_nearer(mechanism: Aim | Aim2) -> None:
    domain, source = table()
    plain, asked = workloads(domain)
    real = source.count(plain.cliques)
    error: dict[bool, list[float]] = {True: [], False: []}
    for seed, by_prefix in product(range(6), (True, False)):
        door = Door(source, Budget.of(rho=0.02), noise=ResearchNoise(seed))
        done = mechanism.run(door, asked if by_prefix else plain)
        assert done.model is not None
        queries = {m.query.kind for m in done.measurements if m.query is not None}
        assert queries == ({"product"} if by_prefix else set())
        gaps = [asked.errors(r, done.model.marginal(r) - x) for r, x in zip(asked.cliques, real, strict=True)]
        error[by_prefix].append(sum(float(np.abs(gap).sum()) for gap in gaps))
        assert door.filter.remaining < Budget.of(rho=0.02).rho / 1000
    assert sum(error[True]) < 0.95 * sum(error[False])


def error_of(query: np.ndarray, strategy: np.ndarray) -> float:
    told = query @ np.linalg.pinv(strategy.astype(float))
    return float(np.sqrt((told**2).sum(axis=1)).sum()) * column_norm(strategy)


@pytest.mark.parametrize("values", [8, 24, 40])
def test_optimised_sums_err_less_than_any_other(values: int) -> None:
    at = np.arange(values)
    ranges = np.array([(low <= at) & (at <= high) for low in at for high in at[low:]], dtype=np.int64)
    for query, part in ((prefixes(values), 0.96), (ranges, 0.9)):
        made = optimised(query)
        assert made is not None
        others = [falling(values), hierarchy(values, 2), hierarchy(values, 4), np.eye(values, dtype=np.int64)]
        assert error_of(query, made) < part * min(error_of(query, other) for other in others)
        assert made.min() >= 0
        norms = np.sqrt((made.astype(float) ** 2).sum(axis=0))
        assert norms.max() < 1.01 * norms.min()


def test_sums_that_do_not_tell_every_value_have_no_optimised_strategy() -> None:
    assert optimised(np.array([[1, 2, 3], [1, 1, 1]])) is None
