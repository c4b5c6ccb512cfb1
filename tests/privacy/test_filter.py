"""Costs are exact, and no path of charges, however it was chosen, spends more than the budget."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from math import inf, nextafter
from threading import Barrier, BrokenBarrierError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.domain import Domain
from understudy.errors import BudgetError, BudgetExceeded, InternalError
from understudy.privacy import (
    UNITS,
    Charge,
    Door,
    Filter,
    Unit,
    gaussian_cost,
    laplace_cost,
    laplace_scale_for,
    selection_cost,
    selection_epsilon_for,
    sigma_for,
)

from .fakes import TableSource

units = st.sampled_from(UNITS)
rhos = st.builds(Fraction, st.integers(1, 10**12), st.integers(1, 10**12))
tiny = st.builds(lambda n, k: Fraction(n, 10**k), st.integers(1, 10**6), st.integers(0, 300))


@pytest.mark.promise(8)
@pytest.mark.promise(17)
def test_costs_are_the_textbook_ones() -> None:
    assert gaussian_cost(10.0, Unit.ADD_REMOVE) == Fraction(1, 200)
    assert gaussian_cost(10.0, Unit.REPLACE) == Fraction(1, 100)
    assert laplace_cost(4.0, Unit.ADD_REMOVE) == Fraction(1, 32)
    assert laplace_cost(4.0, Unit.REPLACE) == Fraction(1, 8)
    assert selection_cost(0.5) == Fraction(1, 32)


def test_costs_are_exact_in_the_float_that_was_given() -> None:
    assert gaussian_cost(0.1, Unit.ADD_REMOVE) == 1 / (2 * Fraction(0.1) ** 2) != 50


@given(rhos | tiny, units)
def test_sigma_is_the_smallest_that_rho_buys(rho: Fraction, unit: Unit) -> None:
    sigma = sigma_for(rho, unit)
    assert gaussian_cost(sigma, unit) <= rho < gaussian_cost(nextafter(sigma, 0), unit)


@given(rhos | tiny, units)
def test_laplace_scale_is_the_smallest_that_rho_buys(rho: Fraction, unit: Unit) -> None:
    scale = laplace_scale_for(rho, unit)
    assert laplace_cost(scale, unit) <= rho < laplace_cost(nextafter(scale, 0), unit)


@given(rhos | tiny)
def test_epsilon_is_the_largest_that_rho_buys(rho: Fraction) -> None:
    epsilon = selection_epsilon_for(rho)
    assert selection_cost(epsilon) <= rho < selection_cost(nextafter(epsilon, inf))


@pytest.mark.promise(8)
@given(rhos, st.lists(rhos, max_size=30))
def test_no_sequence_of_charges_exceeds_the_budget(rho: Fraction, costs: list[Fraction]) -> None:
    budget, accepted = Filter(rho), Fraction(0)
    for cost in costs:
        try:
            budget.charge(cost, "test")
        except BudgetExceeded:
            assert accepted + cost > rho
        else:
            accepted += cost
        assert budget.spent == accepted == sum((c.rho for c in budget.charges), Fraction(0)) <= rho
        assert budget.remaining == rho - accepted


def anneal(budget: Filter, unit: Unit, *, attributes: int, rounds: int, alpha: Fraction, learned: list[bool]) -> int:
    """Algorithms 1 and 3 as far as costs go; ``learned`` stands for each round's annealing condition."""
    rho = budget.rho
    sigma, epsilon = sigma_for(alpha * rho / rounds, unit), selection_epsilon_for((1 - alpha) * rho / rounds)
    for _ in range(attributes):
        budget.charge(gaussian_cost(sigma, unit), "one-way")
    t, last = 0, False
    while not last:
        if t and not learned[t % len(learned)]:
            sigma, epsilon = sigma / 2, epsilon * 2
        last = budget.remaining <= 2 * (gaussian_cost(sigma, unit) + selection_cost(epsilon))
        if last:
            epsilon = selection_epsilon_for((1 - alpha) * budget.remaining)
        budget.charge(selection_cost(epsilon), "select")
        if last:
            sigma = sigma_for(budget.remaining, unit)
        budget.charge(gaussian_cost(sigma, unit), "measure")
        t += 1
    return t


@pytest.mark.promise(8)
@settings(max_examples=200, deadline=None)
@given(
    rho=rhos,
    unit=units,
    attributes=st.integers(1, 20),
    per=st.integers(1, 16),
    alpha=st.fractions(Fraction(1, 100), Fraction(99, 100)),
    learned=st.lists(st.booleans(), min_size=1, max_size=40),
)
def test_annealing_spends_the_budget_and_never_more(
    *, rho: Fraction, unit: Unit, attributes: int, per: int, alpha: Fraction, learned: list[bool]
) -> None:
    """The last round uses what is left up to the last unit: one float less noise would have been refused."""
    budget = Filter(rho)
    anneal(budget, unit, attributes=attributes, rounds=per * attributes + 1, alpha=alpha, learned=learned)
    assert sum((c.rho for c in budget.charges), Fraction(0)) == budget.spent <= rho
    last = budget.charges[-1].rho
    sigma = sigma_for(last, unit)
    assert gaussian_cost(nextafter(sigma, 0), unit) - last > budget.remaining
    assert budget.remaining < last * Fraction(1, 2**50)


@pytest.mark.promise(8)
def test_a_refusal_changes_nothing_and_says_what_to_do() -> None:
    budget = Filter(Fraction(1, 2))
    budget.charge(Fraction(1, 3), "first")
    with pytest.raises(BudgetExceeded, match=r"second: costs rho = 0.2, but 0.166667 is left.*Nothing was read"):
        budget.charge(Fraction(1, 5), "second")
    assert [c.purpose for c in budget.charges] == ["first"]
    assert budget.charge(Fraction(1, 6), "the rest").rho == Fraction(1, 6)
    assert budget.remaining == 0
    with pytest.raises(BudgetExceeded):
        budget.charge(Fraction(1, 10**300), "a hair more")


@pytest.mark.promise(8)
def test_a_hair_too_much_shows_in_the_message() -> None:
    with pytest.raises(BudgetExceeded, match=r"costs rho = 1, but 1 is left \(over by 1e-40\)"):
        Filter(Fraction(1)).charge(1 + Fraction(1, 10**40), "test")


@pytest.mark.parametrize("cost", [Fraction(0), Fraction(-1), 0.5, 1, True, "1", None])
def test_only_exact_costs_above_zero_are_charged(cost: object) -> None:
    budget = Filter(Fraction(10))
    with pytest.raises(InternalError):
        budget.charge(cost, "test")  # type: ignore[arg-type]
    assert budget.spent == 0


@pytest.mark.promise(8)
def test_a_filter_cannot_be_copied_refilled_or_edited() -> None:
    budget = Filter(Fraction(1))
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BudgetError, match="cannot be copied"):
            duplicate(budget)
    for name in ("rho", "spent", "remaining", "charges"):
        with pytest.raises(AttributeError):
            setattr(budget, name, Fraction(0))


class Meeting(Filter):
    """A filter whose every check waits for the other thread's: whoever may check while another does, will."""

    def __init__(self, rho: Fraction) -> None:
        super().__init__(rho)
        self._both = Barrier(2)

    def check(self, cost: Fraction, purpose: str) -> Charge:
        found = super().check(cost, purpose)
        with suppress(BrokenBarrierError):
            self._both.wait(0.5)
        return found


@pytest.mark.promise(8)
def test_threads_that_race_never_overspend() -> None:
    """Both ask for all of the budget; were the check not under the same lock as the sum, both would have it, every time."""
    budget = Meeting(Fraction(1))

    def grab(_: int) -> int:
        try:
            budget.charge(Fraction(1), "thread")
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(grab, range(2))) == 1
    assert budget.remaining == 0


def test_repr_shows_the_state() -> None:
    budget = Filter(Fraction(1, 2))
    budget.charge(Fraction(1, 8), "test")
    assert repr(budget) == "Filter(spent 0.125 of rho = 0.5 in 1 charges)"


@pytest.mark.promise(8)
@pytest.mark.promise(9)
def test_two_doors_with_one_filter_cannot_overspend_together() -> None:
    """Threads ask two doors at once for more than there is: just so much is accepted, and nothing else is read."""
    domain = Domain.of({"a": 2})
    shared, sources = Filter(Fraction(1, 2)), [TableSource(domain, [(0,)]), TableSource(domain, [(1,)])]
    doors = [Door(source, shared) for source in sources]
    assert all(door.filter is shared for door in doors)

    def ask(number: int) -> bool:
        try:
            doors[number % 2].measure(("a",), scale=3.0)
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        accepted = sum(pool.map(ask, range(40)))
    assert accepted == 9, "each costs 1/18"
    assert shared.remaining == 0
    reads = [list(source.calls) for source in sources]
    with pytest.raises(BudgetExceeded):
        doors[0].measure(("a",), scale=1e6)
    assert [source.calls for source in sources] == reads
