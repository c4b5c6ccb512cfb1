"""Conversions between rho and (epsilon, delta) are tight and never unsafe; wrong budgets are refused in plain
words.
"""

from __future__ import annotations

from fractions import Fraction
from math import nan

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, ZCDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf  # type: ignore[import-untyped]

from understudy.errors import BudgetError
from understudy.privacy import Budget, epsilon_of, rho_of

EPSILONS = [1e-6, 1e-4, 0.01, 0.1, 1.0, 3.7, 10.0, 100.0, 1e3, 1e6]
DELTAS = [1e-100, 1e-15, 1e-9, 1e-6, 1e-3, 0.1, 0.5]


def least_epsilon(rho: Fraction, delta: float) -> mpf:
    """The proposition's epsilon in 50-digit arithmetic, minimised over alpha: a second implementation."""
    with mp.workdps(50):
        r, d = mpf(rho.numerator) / rho.denominator, mpf(delta)

        def at(v: mpf) -> mpf:
            u = mp.exp(v)
            return (1 + u) * r - mp.log1p(1 / u) - mp.log(d * (1 + u)) / u

        low, high = mpf(-60), mpf(110)
        while high - low > mpf(10) ** -22:  # the valley is flat: its floor is then known to about 40 digits
            a, b = low + (high - low) * mpf("0.382"), low + (high - low) * mpf("0.618")
            low, high = (low, b) if at(a) < at(b) else (a, high)
        return max(mpf(0), at((low + high) / 2))


@pytest.mark.promise(6)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rho_is_safe_and_tight(epsilon: float, delta: float) -> None:
    rho = Budget.of(epsilon=epsilon, delta=delta).rho
    assert least_epsilon(rho, delta) <= epsilon
    assert least_epsilon(rho * (1 + Fraction(1, 10**9)), delta) > epsilon


@pytest.mark.promise(6)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("exponent", range(-18, 10, 3))
def test_epsilon_is_safe_and_tight(exponent: int, delta: float) -> None:
    rho = Fraction(10) ** exponent
    least = least_epsilon(rho, delta)
    assert least <= epsilon_of(rho, delta) <= least * (1 + mpf("1e-9"))


@pytest.mark.promise(6)
@settings(max_examples=40, deadline=None)
@given(
    st.floats(-6, 6).map(lambda e: 10.0**e),
    st.floats(-100, -0.31).map(lambda e: 10.0**e),
)
def test_conversions_are_safe_anywhere(epsilon: float, delta: float) -> None:
    rho = Fraction(rho_of(epsilon, delta))
    assert least_epsilon(rho, delta) <= epsilon
    assert epsilon_of(rho, delta) >= least_epsilon(rho, delta)
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.promise(6)
def test_a_conversion_in_plain_floats_would_be_caught() -> None:
    """Mutant: one part in 10^15 more rho, as an unlucky rounding would give, breaks the promise that is
    tested above.
    """
    caught = [least_epsilon(Fraction(rho_of(e, d)) * (1 + Fraction(1, 10**15)), d) > e for e in EPSILONS for d in DELTAS]
    assert all(caught)


@pytest.mark.promise(7)
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
@pytest.mark.parametrize("rho", [1e-4, 0.015, 0.5, 8.0])
def test_a_second_accountant_agrees(rho: float, delta: float) -> None:
    orders = 1 + np.exp(np.linspace(-4, 9, 4000))
    other = RdpAccountant(orders=orders).compose(ZCDpEvent(rho)).get_epsilon(delta)
    assert epsilon_of(Fraction(rho), delta) == pytest.approx(other, rel=1e-5)
    assert epsilon_of(Fraction(rho), delta) <= other * (1 + 1e-12)


@pytest.mark.promise(7)
@pytest.mark.parametrize("sigma", [1.0, 5.0, 30.0])
def test_an_exact_accountant_of_the_gaussian_is_never_above_ours(sigma: float) -> None:
    exact = PLDAccountant().compose(GaussianDpEvent(sigma)).get_epsilon(1e-6)
    ours = epsilon_of(Fraction(1, 2) / Fraction(sigma) ** 2, 1e-6)
    assert exact <= ours <= 1.25 * exact


def test_known_figures() -> None:
    assert float(Budget.of(epsilon=1, delta=1e-9).rho) == pytest.approx(0.014973057, rel=1e-6)
    assert Budget.of(rho=Fraction(1, 3)).rho == Fraction(1, 3)
    assert Budget.of(rho=0.1).rho == Fraction(0.1)
    assert Budget.of(rho=np.int64(2)).rho == 2


def test_a_budget_says_what_it_was_made_from() -> None:
    budget = Budget.of(epsilon=2, delta=1e-6)
    assert (budget.epsilon, budget.delta, budget.epsilon_at(1e-6)) == (2.0, 1e-6, 2.0)
    assert budget.epsilon_at(1e-9) > 2 > budget.epsilon_at(1e-4)
    in_rho = Budget.of(rho=0.5)
    assert (in_rho.epsilon, in_rho.delta) == (None, None)


@pytest.mark.promise(6)
def test_fractions_are_rounded_to_the_safe_side() -> None:
    budget = Budget.of(epsilon=Fraction(1, 3), delta=Fraction(1, 10**9))
    assert budget.epsilon is not None
    assert Fraction(budget.epsilon) <= Fraction(1, 3)
    assert budget.delta is not None
    assert Fraction(budget.delta) <= Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("given_", "part"),
    [
        ({}, "both epsilon and delta"),
        ({"epsilon": 1}, "both epsilon and delta"),
        ({"delta": 1e-9}, "both epsilon and delta"),
        ({"epsilon": 1, "delta": 1e-9, "rho": 1}, "rho alone"),
        ({"delta": 1e-9, "rho": 1}, "rho alone"),
        ({"epsilon": 0, "delta": 1e-9}, "epsilon must be above 0, not 0"),
        ({"epsilon": -2.5, "delta": 1e-9}, "epsilon must be above 0, not -2.5"),
        ({"epsilon": nan, "delta": 1e-9}, "epsilon must be a finite number"),
        ({"epsilon": float("inf"), "delta": 1e-9}, "epsilon must be a finite number"),
        ({"epsilon": "1", "delta": 1e-9}, "epsilon must be a number, not '1' (str)"),
        ({"epsilon": True, "delta": 1e-9}, "epsilon must be a number"),
        ({"epsilon": 1j, "delta": 1e-9}, "epsilon must be a number"),
        ({"epsilon": 1, "delta": 0}, "delta must lie between 0 and 1"),
        ({"epsilon": 1, "delta": 1}, "delta must lie between 0 and 1"),
        ({"epsilon": 1, "delta": -1e-9}, "delta must lie between 0 and 1"),
        ({"epsilon": 1, "delta": nan}, "delta must be a finite number"),
        ({"epsilon": 1, "delta": Fraction(1, 10**400)}, "delta must lie between 0 and 1"),
        ({"epsilon": 1e-300, "delta": 1e-300}, "choose one from 1e-06 to 1e+06"),
        ({"epsilon": 10**400, "delta": 1e-9}, "choose one from 1e-06 to 1e+06"),
        ({"rho": 0}, "rho must be above 0, not 0"),
        ({"rho": -1}, "rho must be above 0"),
        ({"rho": nan}, "rho must be a finite number"),
        ({"rho": "a lot"}, "rho must be a number, not 'a lot'"),
    ],
)
def test_wrong_budgets_are_refused_in_plain_words(given_: dict[str, object], part: str) -> None:
    with pytest.raises(BudgetError) as caught:
        Budget.of(**given_)
    assert part in str(caught.value)
