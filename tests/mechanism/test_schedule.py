from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from understudy.mechanism.schedule import RoundBudget, allocate, equal_budget, first_budget, last_budget

fractions = st.fractions(min_value=Fraction(1, 1000), max_value=100)
shares = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100))


@given(fractions, st.integers(1, 500), shares)
def test_first_step_is_one_of_t_equal_rounds(rho: Fraction, rounds: int, alpha: Fraction) -> None:
    step = first_budget(rho, rounds, alpha)
    assert step.total * rounds == rho
    assert step.measure == alpha * step.total


@given(fractions, st.integers(1, 500), shares, st.integers(0, 40))
def test_equal_steps_and_initial_measurements_add_up(rho: Fraction, t: int, alpha: Fraction, k: int) -> None:
    step = equal_budget(rho, t, alpha, k)
    assert k * step.measure + t * step.total == rho


@given(fractions, fractions, fractions, shares)
def test_a_step_never_exceeds_what_is_left(left: Fraction, s: Fraction, m: Fraction, alpha: Fraction) -> None:
    step = RoundBudget(s, m).within(left, alpha)
    assert step.total <= left
    assert step.final == (left <= 2 * (s + m))
    if step.final:
        assert step.total == left == last_budget(left, alpha).total


def test_annealing_doubles_epsilon_and_halves_sigma() -> None:
    step = RoundBudget(Fraction(1, 8), Fraction(1, 2)).annealed()
    assert step.select == Fraction(2) ** 2 / 8
    assert step.measure == 1 / (2 * Fraction(1, 2) ** 2)


@given(fractions, st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_allocation_is_exact(rho: Fraction, parts: list[float]) -> None:
    found = allocate(rho, parts)
    assert sum(found) == rho
    assert found.index(max(found)) == parts.index(max(parts))
