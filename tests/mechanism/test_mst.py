"""MST: the columns, then a tree of the pairs that depend most, each with a third of the budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from understudy.domain import Domain, Zeros
from understudy.mechanism import mechanism
from understudy.mechanism.compression import FREQUENT
from understudy.privacy import Groups
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor, correlated

TWO_WAY = Workload.all_kway(SMALL, 2)


def test_each_step_takes_a_third(make_door: MakeDoor) -> None:
    outcome = mechanism("mst", check=0).run(make_door(rho=6), TWO_WAY)
    costs = [charge.rho for charge in outcome.charges]
    columns, choices, pairs = costs[:4], costs[4:7], costs[7:]
    assert len(pairs) == 3
    for part in (columns, choices):
        assert float(sum(part)) == pytest.approx(2.0, rel=1e-9)
    assert sum(costs) <= 6 < sum(costs) * (1 + Fraction(1, 10**9))


def test_a_chain_is_found_as_a_tree(make_door: MakeDoor) -> None:
    domain = Domain.of(dict.fromkeys("abcdef", 4))
    door = make_door(domain=domain, codes=correlated(domain, 5000, 1), rho=10)
    outcome = mechanism("mst").run(door, Workload.all_kway(domain, 2))
    assert {m.clique for m in outcome.measurements[6:]} == {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")}


def test_the_tree_has_no_circle_whatever_the_noise(make_door: MakeDoor) -> None:
    for seed in range(5):
        outcome = mechanism("mst").run(make_door(rho=Fraction(1, 100), seed=seed), TWO_WAY)
        pairs = [m.clique for m in outcome.measurements[4:]]
        assert len(pairs) == 3 == len(set(pairs))
        reached = {pairs[0][0]}
        for _ in pairs:
            reached |= {a for pair in pairs if set(pair) & reached for a in pair}
        assert reached == set(SMALL)


def test_rare_values_are_measured_together_and_told_apart_by_their_columns(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 6, "b": 2})
    rng = np.random.default_rng(3)
    a = rng.choice(6, 4000, p=[0.5, 0.49, 0.004, 0.003, 0.002, 0.001])
    door = make_door(domain=domain, codes=np.column_stack([a, a % 2]), rho=Fraction(1, 500))
    outcome = mechanism("mst").run(door, Workload.all_kway(domain, 2))
    column, pair = outcome.measurements[0], outcome.measurements[-1]
    rare = column.values < FREQUENT * column.sigma
    assert isinstance(pair.query, Groups)
    assert pair.query.coarse == (int((~rare).sum()) + 1, 2)
    assert (pair.query.groups[0][rare] == 0).all()
    assert rare[2:].any()
    assert outcome.model is not None
    assert outcome.model.marginal(("a",)).shape == (6,)


def test_a_single_column_takes_all_of_the_budget(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 5})
    outcome = mechanism("mst", check=0).run(make_door(domain=domain, rho=1), Workload.all_kway(domain, 1))
    assert [m.clique for m in outcome.measurements] == [("a",)]
    assert float(outcome.measurements[0].rho) == pytest.approx(1.0)


def test_pairs_that_do_not_fit_are_left_out(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 200, "b": 200, "c": 2})
    door = make_door(domain=domain, codes=correlated(domain, 1000, 2), rho=10)
    outcome = mechanism("mst", max_size=20_000).run(door, Workload.all_kway(domain, 2))
    assert ("a", "b") not in {m.clique for m in outcome.measurements}


def test_impossible_combinations_stay_so(make_door: MakeDoor) -> None:
    zeros = Zeros(("a", "b"), np.array([[0, 1], [1, 2]]))
    outcome = mechanism("mst").run(make_door(rho=5), TWO_WAY, zeros=[zeros])
    assert outcome.model is not None
    assert (outcome.model.marginal(("a", "b"))[tuple(zeros.cells.T)] == 0).all()


def test_every_marginal_of_the_workload_has_a_bound(make_door: MakeDoor) -> None:
    outcome = mechanism("mst").run(make_door(rho=5), TWO_WAY)
    assert set(bounds(Evidence.of(outcome))) == set(TWO_WAY.closure)
