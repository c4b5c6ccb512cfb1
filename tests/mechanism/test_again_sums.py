"""What is measured once more where sums are asked for: blocks add up to what queries err by, the split makes it least."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.mechanism import Outcome, mechanism
from understudy.mechanism.again_sums import AGAIN_SUMS, LEAST, Needs, needs_of, parts_of, strategies_of
from understudy.mechanism.config import NoiseName
from understudy.mechanism.strategy import strategy_for
from understudy.privacy import Budget, Door, Measurement, Product, ResearchNoise, Unit
from understudy.source import MemorySource
from understudy.workload import Workload

DOMAIN = Domain.of({"age": 12, "sex": 2, "job": 5})
PAIRS = [("age", "sex"), ("age", "job")]
WORKLOAD = Workload.of(DOMAIN, [{"attributes": pair, "prefixes": "age"} for pair in PAIRS])
PREFIXES = np.tril(np.ones((12, 12)))


def door(unit: Unit = Unit.ADD_REMOVE) -> Door:
    rng = np.random.default_rng(1)
    job = rng.integers(0, 5, 4000)
    age = np.clip(rng.normal(4 + job, 2, 4000), 0, 11).astype(int)
    rows = np.stack([age, rng.integers(0, 2, 4000), job], axis=1).astype(np.int64)
    source = MemorySource.of_codes(rows, DOMAIN)
    return Door(source, Budget.of(epsilon=1, delta=1e-9), unit=unit, noise=ResearchNoise(3))


def played(noise: NoiseName = "gaussian", unit: Unit = Unit.ADD_REMOVE) -> Outcome:
    return mechanism("aim2", check=0, noise=noise).run(door(unit), WORKLOAD)


def at_the_end(outcome: Outcome) -> list[Measurement]:
    last = max(k for k, m in enumerate(outcome.measurements) if m is outcome.rounds[-1].measurement)
    return list(outcome.measurements[last + 1 :])


@pytest.mark.parametrize("unit", [Unit.ADD_REMOVE, Unit.REPLACE])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_all_that_was_kept_is_spent_on_parts_of_what_was_measured(noise: NoiseName, unit: Unit) -> None:
    outcome = played(noise, unit)
    more = at_the_end(outcome)
    before = outcome.measurements[: -len(more)]
    assert {m.clique for m in more} <= set(parts_of(DOMAIN, before))
    assert len({m.clique for m in more}) == len(more) > 0
    spent = sum((m.rho for m in more), Fraction(0))
    assert float(spent / outcome.rho) == pytest.approx(float(AGAIN_SUMS), rel=1e-6)
    assert min(float(m.rho / spent) for m in more) > LEAST / 2
    assert outcome.spent <= outcome.rho


def test_what_has_sums_is_measured_as_before_and_groups_by_their_cells() -> None:
    outcome = played()
    ways = strategies_of(WORKLOAD, outcome.measurements, parts_of(DOMAIN, outcome.measurements))
    for m in at_the_end(outcome):
        assert m.query is ways[m.clique]
        assert (m.query is None) == ("age" not in m.clique)
    for clique, how in ways.items():
        earlier = [m.query for m in outcome.measurements if m.clique == clique and m.query is not None]
        assert all(how is query for query in earlier)


def posterior(precisions: dict[tuple[str, ...], float], how: Product) -> float:
    """Return the mean variance of the prefixes of age by job, by all answers about both: the exact Gaussian posterior."""
    (strategy, _), square = how.axes, np.zeros((60, 60))
    assert not isinstance(strategy, int)
    gram = (strategy.T @ strategy) / (strategy**2).sum(axis=0).max()
    shape = {("age", "job"): np.kron(gram, np.eye(5)), ("age",): np.kron(gram, np.ones((5, 5)))}
    shape["job",] = np.kron(np.ones((12, 12)), np.eye(5))
    for clique, precise in precisions.items():
        square += precise * shape[clique]
    wanted = np.kron(PREFIXES, np.eye(5))
    return float(np.mean(((wanted @ np.linalg.inv(square)) * wanted).sum(axis=1)))


@pytest.mark.parametrize("more", [{}, {("job",): 0.5}, {("age",): 2.0}, {("job",): 2.0, ("age",): 0.3}])
def test_blocks_say_what_an_exact_posterior_says(more: dict[tuple[str, ...], float]) -> None:
    """Up to a part: prefixes do not fall into blocks exactly. With the pair alone it is exact."""
    query = WORKLOAD.queried["age", "job"]
    how = strategy_for(query).measured
    assert isinstance(how, Product)
    spent = {("age", "job"): 1.0, **more}
    ways = {r: strategy_for(WORKLOAD.queried[r]).measured if r in WORKLOAD.queried else None for r in spent}
    needs = needs_of(WORKLOAD, (), ways, Unit.ADD_REMOVE, "gaussian")
    precise = needs.tells @ np.array(list(spent.values()))
    found = float(needs.worth[WORKLOAD.cliques.index(("age", "job"))] @ (1 / precise))
    # strategies are in whole weights, and the column norm of one may differ from that of the other by the rounding
    assert found == pytest.approx(posterior(spent, how), rel=0.1 if more else 1e-2)


def test_the_split_is_the_least() -> None:
    """No part of the budget is better spent elsewhere: the objective rises wherever a little of it is moved."""
    ways = strategies_of(WORKLOAD, (), parts_of(DOMAIN, played().measurements))
    needs = needs_of(WORKLOAD, (), ways, Unit.ADD_REMOVE, "gaussian")

    def error(shares: NDArray[np.float64]) -> float:
        return float(needs.counts @ np.sqrt(needs.worth @ (1 / np.maximum(needs.tells @ shares, 1e-12))))

    best = needs.split(1.0)
    best = best / best.sum()
    assert error(best) < error(np.full(len(best), 1 / len(best)))
    for k in np.flatnonzero(best > 0.01):
        for j in range(len(best)):
            moved = best.copy()
            moved[k] -= 0.01
            moved[j] += 0.01
            assert error(moved) >= error(best) * (1 - 1e-4)


def test_what_is_known_already_gets_less() -> None:
    listed = parts_of(DOMAIN, played().measurements)
    ways = strategies_of(WORKLOAD, (), listed)
    fresh = needs_of(WORKLOAD, (), ways, Unit.ADD_REMOVE, "gaussian")
    pair = listed.index(("age", "job"))
    known = Needs(fresh.counts, fresh.worth, fresh.known + fresh.tells[:, pair], fresh.tells)
    assert known.split(1.0)[pair] < fresh.split(1.0)[pair]


def test_the_sizes_of_groups_get_more_where_more_queries_have_them() -> None:
    """Queries that were not measured themselves count by what they have in common with those that were."""

    def share(columns: int) -> float:
        domain = Domain.of({**{f"n{k}": 12 for k in range(columns)}, "job": 5})
        asked = [{"attributes": (f"n{k}", "job"), "prefixes": f"n{k}"} for k in range(columns)]
        workload = Workload.of(domain, asked)
        ways = strategies_of(workload, (), [("job",), ("n0", "job")])
        return float(needs_of(workload, (), ways, Unit.ADD_REMOVE, "gaussian").split(1.0)[0])

    assert share(6) > share(3) > 0


def test_totals_alone_tell_nothing_of_the_rows() -> None:
    """A sum with weights of one column: how many rows there are does not follow from it."""
    workload = Workload.of(DOMAIN, [{"attributes": ("age", "job"), "weights": {"age": list(range(12))}}])
    how = Product([np.arange(12)[None, :], 5])
    needs = needs_of(workload, (), {("age", "job"): how}, Unit.ADD_REMOVE, "gaussian")
    assert needs.tells[0, 0] == 0.0
    assert needs.split(1.0).tolist() == [1.0]
