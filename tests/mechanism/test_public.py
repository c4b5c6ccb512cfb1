"""Public data: near, it helps; far, it is left out; what it costs is one question, and nothing else depends on it."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Domain, Zeros
from understudy.errors import InternalError
from understudy.mechanism import Outcome, mechanism
from understudy.mechanism.public import Prior, Public
from understudy.mechanism.starting import ASIDE, SURE
from understudy.metrics import workload_error
from understudy.model import Model, Observation, fit
from understudy.source import MemorySource
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

from .conftest import MakeDoor, correlated
from .test_aim import Replay

DOMAIN = Domain.of({"a": 5, "b": 6, "c": 4, "d": 3})
PAIRS = Workload.all_kway(DOMAIN, 2)
ROWS = 2_000
RHO = Fraction(1, 200)
CODES = correlated(DOMAIN, 2 * ROWS, 5)
NEAR, REAL = CODES[:ROWS], CODES[ROWS:]
FAR = np.zeros_like(NEAR)


def counted(codes: NDArray[Any]) -> MemorySource:
    return MemorySource.of_codes(codes, DOMAIN)


def run(make_door: MakeDoor, public: NDArray[Any] | None, seed: int = 0, how: str = "aim") -> Outcome:
    door = make_door(domain=DOMAIN, codes=REAL, seed=seed, rho=RHO)
    return mechanism(how).run(door, PAIRS, public=None if public is None else Public(counted(public)))


def error(outcome: Outcome) -> float:
    assert outcome.model is not None
    return workload_error(PAIRS, counted(REAL).count(PAIRS.cliques), outcome.model.marginals(PAIRS.cliques))


@pytest.mark.parametrize("how", ["aim", "aim2"])
def test_a_near_table_helps_and_a_far_one_is_left_out(make_door: MakeDoor, how: str) -> None:
    """At seeds 0 to 2 near public data has a third of the error or less."""
    without = np.mean([error(run(make_door, None, seed, how)) for seed in range(3)])
    near = [run(make_door, NEAR, seed, how) for seed in range(3)]
    far = [run(make_door, FAR, seed, how) for seed in range(3)]
    assert all(o.public is not None and o.public.used and o.public.rows == ROWS for o in near)
    assert not any(o.public is not None and o.public.used for o in far)
    assert np.mean([error(o) for o in near]) < without / 2
    assert np.mean([error(o) for o in far]) < 1.3 * without


def test_it_costs_one_question_and_the_budget_is_spent_once(make_door: MakeDoor) -> None:
    without, beside = run(make_door, None), run(make_door, NEAR)
    assert len(beside.compared) == 1
    assert len(without.compared) == 0
    (asked,) = beside.compared
    kept = 1 - Fraction(5, 1000)
    assert asked.rho <= ASIDE * kept * RHO
    assert asked.rho == pytest.approx(float(ASIDE * kept * RHO), rel=1e-6)
    assert asked.sigma == pytest.approx(sqrt(len(asked.values) / (2 * asked.rho)))
    assert beside.spent <= RHO
    assert float(beside.spent) == pytest.approx(float(without.spent), rel=1e-9)


def test_with_much_budget_the_question_costs_no_more_than_it_needs(make_door: MakeDoor) -> None:
    door = make_door(domain=DOMAIN, codes=REAL, rho=Fraction(1))
    outcome = mechanism("aim").run(door, PAIRS, public=Public(counted(NEAR)))
    (asked,) = outcome.compared
    assert asked.rho < ASIDE / 10
    difference = asked.sigma * sqrt(2 / (len(asked.values) / 2))
    assert difference == pytest.approx(SURE * ROWS, rel=0.1)
    assert float(outcome.spent) == pytest.approx(1.0, rel=1e-9)


def test_equal_rounds_leave_room_for_the_question(make_door: MakeDoor) -> None:
    door = make_door(domain=DOMAIN, codes=REAL, rho=RHO)
    outcome = mechanism("aim", adaptive=False, rounds=80).run(door, PAIRS, public=Public(counted(NEAR)))
    assert len(outcome.rounds) == 80
    assert outcome.spent <= RHO


@pytest.mark.promise(10)
@pytest.mark.parametrize("how", ["aim", "aim2"])
@pytest.mark.parametrize("public", [NEAR, FAR], ids=["near", "far"])
def test_control_flow_depends_on_the_table_only_through_answers(make_door: MakeDoor, how: str, public: NDArray[Any]) -> None:
    door = make_door(domain=DOMAIN, codes=REAL, rho=RHO)
    first = mechanism(how).run(door, PAIRS, public=Public(counted(public)))
    replay: Any = Replay(door, first)
    again = mechanism(how).run(replay, PAIRS, public=Public(counted(public)))
    assert [r.clique for r in first.rounds] == [r.clique for r in again.rounds]
    assert error(first) == error(again)


def test_a_fit_without_news_is_the_prior() -> None:
    prior = Public(counted(NEAR)).model(PAIRS, (), 1 << 20).model
    seen = [Observation(("a",), prior.marginal("a"), 1.0)]
    found = fit(DOMAIN, seen, prior=prior.parameters).model
    for clique in PAIRS.cliques:
        np.testing.assert_allclose(found.marginal(clique), prior.marginal(clique), atol=0.02 * ROWS)


def test_a_fit_keeps_what_the_prior_says_beside_the_news() -> None:
    """New columns, old dependence: the odds ratios of a pair stay as they were."""
    prior = Public(counted(NEAR)).model(PAIRS, (), 1 << 20).model
    news = np.array([1000.0, 400.0, 300.0, 200.0, 100.0])
    found = fit(DOMAIN, [Observation(("a",), news, 1.0)], prior=prior.parameters).model
    np.testing.assert_allclose(found.marginal("a"), news, rtol=0.03)

    def given(model: Model) -> NDArray[np.float64]:
        pair = model.marginal(("a", "b"))
        return np.asarray(pair / pair.sum(axis=1, keepdims=True))

    np.testing.assert_allclose(given(found), given(prior), atol=1e-6)


def test_a_fit_goes_on_from_where_the_last_one_ended() -> None:
    prior = Public(counted(NEAR)).model(PAIRS, (), 1 << 20).model
    seen = [Observation((a,), 1.1 * prior.marginal(a), 3.0) for a in DOMAIN]
    cold = fit(DOMAIN, seen, prior=prior.parameters)
    warm = fit(DOMAIN, seen, prior=prior.parameters, start=cold.model)
    assert warm.iterations <= 1 < cold.iterations


def test_answers_that_noise_can_explain_are_drawn_to_the_public_model() -> None:
    prior = Prior(Public(counted(NEAR)).model(PAIRS, (), 1 << 20).model, ROWS)
    truth, rng = [counted(REAL).count([(a,)])[0] for a in DOMAIN], np.random.default_rng(0)
    seen = [
        Observation((a,), counts + rng.normal(0, 300.0, counts.shape), 300.0)
        for a, counts in zip(DOMAIN, truth, strict=True)
    ]

    def off(found: list[Observation]) -> float:
        """The sum of a marginal is no part of it: a fit takes it from all of them together."""
        errors = [o.values - counts for o, counts in zip(found, truth, strict=True)]
        return sum(float(np.abs(e - e.mean()).sum()) for e in errors)

    assert off(prior.drawn(seen)) < off(seen) / 3
    assert [o.values.sum() for o in prior.drawn(seen)] == pytest.approx([o.values.sum() for o in seen])


def test_answers_that_contradict_the_public_model_stand() -> None:
    prior = Prior(Public(counted(NEAR)).model(PAIRS, (), 1 << 20).model, ROWS)
    seen = [Observation((a,), counted(FAR).count([(a,)])[0].astype(float), 2.0) for a in DOMAIN]
    for old, new in zip(seen, prior.drawn(seen), strict=True):
        np.testing.assert_allclose(new.values, old.values, atol=15.0)


def test_the_public_model_is_near_its_table_and_small() -> None:
    made = Public(counted(NEAR)).model(PAIRS, (), 1 << 20).model
    found = workload_error(PAIRS, counted(NEAR).count(PAIRS.cliques), made.marginals(PAIRS.cliques))
    assert found < 0.1
    assert made.size <= (1 << 20) / 16


def test_a_mechanism_without_use_for_it_is_not_given_it(make_door: MakeDoor) -> None:
    with pytest.raises(InternalError, match="no use for public data"):
        mechanism("mst").run(make_door(domain=DOMAIN, codes=REAL), PAIRS, public=Public(counted(NEAR)))


@pytest.mark.promise(37)
@pytest.mark.parametrize("public", [NEAR, FAR], ids=["near", "far"])
def test_bounds_hold_as_without_it(make_door: MakeDoor, public: NDArray[Any]) -> None:
    """Of ten bounds at 95 % in each of ten runs more than a fifth fail by chance once in 10^7, were they independent."""
    wrong = many = 0
    for seed in range(10):
        outcome = run(make_door, public, seed)
        assert outcome.model is not None
        found = bounds(Evidence.of(outcome), confidence=0.95, cliques=PAIRS.closure)
        for clique, bound in found.items():
            truth = counted(REAL).count([clique])[0]
            wrong += float(np.abs(outcome.model.marginal(clique) - truth).sum()) > bound.value
            many += 1
    assert many >= 100
    assert wrong <= many / 5


@pytest.mark.parametrize("option", [{"initial": "uniform"}, {"noise": "laplace"}, {"criterion": "mwem"}], ids=str)
def test_the_switches_of_aim_go_with_it(make_door: MakeDoor, option: dict[str, Any]) -> None:
    door = make_door(domain=DOMAIN, codes=REAL, rho=RHO)
    outcome = mechanism("aim", **option).run(door, PAIRS, public=Public(counted(NEAR)))
    assert outcome.public is not None
    assert outcome.public.used
    assert outcome.spent <= RHO


def test_structural_zeros_are_kept(make_door: MakeDoor) -> None:
    """Of rows that the public table has in impossible cells, too."""
    zero = Zeros(("a", "b"), np.array([[0, 0], [1, 1]]))
    real = REAL[~(((REAL[:, 0] == 0) & (REAL[:, 1] == 0)) | ((REAL[:, 0] == 1) & (REAL[:, 1] == 1)))]
    door = make_door(domain=DOMAIN, codes=real, rho=RHO)
    outcome = mechanism("aim").run(door, PAIRS, zeros=[zero], public=Public(counted(NEAR)))
    assert outcome.public is not None
    assert outcome.public.used
    assert outcome.model is not None
    assert outcome.model.marginal(("a", "b"))[[0, 1], [0, 1]].tolist() == [0.0, 0.0]


def test_a_small_capacity_leaves_the_columns() -> None:
    made = Public(counted(NEAR)).model(PAIRS, (), 16 * 100).model
    assert {len(clique) for clique in made.parameters} == {1}


def test_columns_are_not_held_to_noise_where_a_public_model_says_more(make_door: MakeDoor) -> None:
    """On adult at ε = 0.1 with half of it public the error was half as large again with them held."""

    def made(public: NDArray[Any], columns: bool) -> list[NDArray[np.float64]]:
        door = make_door(domain=DOMAIN, codes=REAL, seed=3, rho=RHO)
        outcome = mechanism("aim2", columns=columns).run(door, PAIRS, public=Public(counted(public)))
        assert outcome.model is not None
        return outcome.model.marginals([("a",), ("b",)])

    near = zip(made(NEAR, True), made(NEAR, False), strict=True)
    far = zip(made(FAR, True), made(FAR, False), strict=True)
    assert all(np.array_equal(one, other) for one, other in near)
    assert not all(np.array_equal(one, other) for one, other in far)
