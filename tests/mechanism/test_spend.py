"""Whatever the configuration, a run spends its whole budget and never more, and its record says on what."""

from fractions import Fraction
from functools import partial
from math import isfinite

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy.domain import Domain
from understudy.errors import BudgetError, CapacityError
from understudy.mechanism import MECHANISMS, mechanism
from understudy.model import fit
from understudy.privacy import UNITS, Unit
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor

QUICK = partial(fit, max_iterations=30)
"""What is spent does not depend on how well the model fits."""

LAST_UNIT = Fraction(1, 2**50)
"""A float scale can be off by one unit in its last place, so this share of the budget may stay unspent."""

options = st.fixed_dictionaries(
    {},
    optional={
        "rounds": st.integers(4, 40),
        "alpha": st.sampled_from([0.1, 0.5, 0.9, 0.99]),
        "noise": st.sampled_from(["gaussian", "laplace"]),
        "initial": st.sampled_from(["independent", "uniform"]),
        "candidates": st.sampled_from(["closure", "workload"]),
        "criterion": st.sampled_from(["aim", "mwem"]),
        "adaptive": st.booleans(),
        "max_size": st.sampled_from([400, 2000, 10**6]),
        "check": st.sampled_from([0, 0.001, 0.3]),
    },
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(MECHANISMS)),
    options=options,
    rho=st.fractions(min_value=Fraction(1, 10**4), max_value=50),
    unit=st.sampled_from(UNITS),
    rows=st.sampled_from([0, 1, 50, 500]),
    seed=st.integers(0, 3),
)
def test_the_whole_budget_and_never_more(
    *,
    make_door: MakeDoor,
    name: str,
    options: dict[str, object],
    rho: Fraction,
    unit: Unit,
    rows: int,
    seed: int,
) -> None:
    door = make_door(rho=rho, unit=unit, rows=rows, seed=seed)
    workload = Workload.of(SMALL, [(["a", "b"], 1), (["b", "c"], 3), (["d"], 0.5)])
    taken = {option: value for option, value in options.items() if option in MECHANISMS[name].takes}
    try:
        outcome = mechanism(name, **taken).run(door, workload, estimator=QUICK)
    except CapacityError:  # some models cannot be so small
        assert door.filter.spent == 0
        assert options["max_size"] == 400
        return
    assert rho * (1 - LAST_UNIT) <= door.filter.spent <= rho
    assert outcome.spent == door.filter.spent == sum(c.rho for c in door.filter.charges)
    measured = sum((m.rho for m in outcome.measurements), Fraction(0))
    chosen = sum((s.rho for s in outcome.selections), Fraction(0))
    compared = sum((d.rho for d in (*outcome.compared, outcome.distances) if d is not None), Fraction(0))
    assert measured + chosen + compared == outcome.spent
    assert outcome.rho == rho
    assert len(outcome.rounds) <= outcome.most_rounds or not outcome.rounds
    if outcome.model is not None:
        for marginal in outcome.model.marginals(workload.closure):
            assert np.isfinite(marginal).all()
            assert (marginal >= 0).all()
        assert isfinite(outcome.model.total)


@pytest.mark.parametrize("name", ["aim", "mwem"])
def test_the_check_comes_last_and_costs_its_share(make_door: MakeDoor, name: str) -> None:
    door, workload = make_door(rho=2), Workload.all_kway(SMALL, 2)
    outcome = mechanism(name, check=0.25).run(door, workload, estimator=QUICK)
    assert outcome.distances is not None
    assert set(outcome.distances.cliques) == set(workload.closure)
    assert door.filter.charges[-1].rho == outcome.distances.rho
    assert float(outcome.distances.rho) == pytest.approx(0.5)
    assert mechanism(name, check=0).run(make_door(), workload, estimator=QUICK).distances is None


def test_the_largest_marginals_are_not_checked_where_all_would_take_too_much(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 10, "b": 10, "c": 10, "d": 10})
    workload = Workload.all_kway(domain, 3)
    outcome = mechanism("aim", max_size=8 * 500).run(make_door(domain=domain), workload, estimator=QUICK)
    assert outcome.distances is not None
    lengths = sorted(len(r) for r in outcome.distances.cliques)
    assert lengths == [1] * 4 + [2] * 6 + [3]  # 4 × 500 ≥ 4 × 10 + 6 × 100 + 1000


def test_a_door_partly_spent_leaves_the_rest(make_door: MakeDoor) -> None:
    door = make_door(rho=1)
    door.measure(("a",), scale=1.0)
    outcome = mechanism("aim").run(door, Workload.all_kway(SMALL, 2))
    assert outcome.rho == Fraction(1, 2)
    assert Fraction(1) * (1 - LAST_UNIT) <= door.filter.spent <= 1
    assert outcome.spent <= Fraction(1, 2)


def test_a_door_without_budget_is_refused(make_door: MakeDoor) -> None:
    door = make_door(rho=Fraction(1, 2))
    door.measure(("a",), scale=1.0)
    with pytest.raises(BudgetError, match="Nothing is left"):
        mechanism("aim").run(door, Workload.all_kway(SMALL, 2))


@pytest.mark.parametrize("epsilon_like", [Fraction(1, 10**9), Fraction(10**4)])
def test_extreme_budgets_stay_finite(make_door: MakeDoor, epsilon_like: Fraction) -> None:
    outcome = mechanism("aim", rounds=12).run(make_door(rho=epsilon_like), Workload.all_kway(SMALL, 2))
    assert outcome.model is not None
    assert all(np.isfinite(m).all() for m in outcome.model.marginals(outcome.workload.closure))


def test_one_attribute(make_door: MakeDoor) -> None:
    domain = Domain.of({"only": 5})
    for name in MECHANISMS:
        door = make_door(domain=domain)
        outcome = mechanism(name).run(door, Workload.all_kway(domain, 3))
        assert door.filter.spent <= door.filter.rho
        assert all(m.clique in ((), ("only",)) for m in outcome.measurements)
