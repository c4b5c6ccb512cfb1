"""Between rho (zCDP) and (epsilon, delta), by the paper's proposition "zCDP to DP", never on the unsafe side.

Public. Any alpha > 1 gives a valid guarantee, so alpha is searched for in plain floats; only the final
evaluation must be exact, and it is done in 60-digit decimals with a margin for their rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from math import exp, log, log1p, sqrt

from understudy.errors import BudgetError
from understudy.privacy.cost import exact, float_above, float_below, positive

_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_MARGIN = Decimal("1e-50")
"""Relative to the sum of the terms' magnitudes. The dozen operations below are each right to 1e-59, so this
covers them.
"""

_LOG_RANGE = (-60.0, 110.0)
"""Where log(alpha - 1) is searched for; far wider than any epsilon from 1e-12 to 1e12 needs."""

_GOLDEN = (sqrt(5) - 1) / 2
_STEPS = 120
"""Golden-section steps; the range shrinks by 0.618 each, to below the spacing of floats."""


def epsilon_of(rho: Fraction, delta: float) -> float:
    """Return an epsilon at which every rho-zCDP mechanism is (epsilon, delta)-DP; above the least by rounding
    alone.
    """
    rho, delta = positive(rho, "rho"), checked_delta(delta)
    rho_near, log_delta = _near(rho), log(delta)

    def bound(v: float) -> float:
        u = exp(v)
        return (1 + u) * rho_near - log1p(1 / u) - (log1p(u) + log_delta) / u

    with localcontext(_EXACT):
        u, terms = _terms(_minimise(bound), delta)
        first = (1 + u) * Decimal(rho.numerator) / Decimal(rho.denominator)
        value = first - sum(terms) + _MARGIN * (first + sum(map(abs, terms)))
        return max(0.0, float_above(Fraction(value)))


def rho_of(epsilon: float, delta: float) -> float:
    """Return a rho at which every rho-zCDP mechanism is (epsilon, delta)-DP; below the greatest by rounding
    alone.
    """
    epsilon_exact, delta = positive(epsilon, "epsilon"), checked_delta(delta)
    epsilon_near, log_delta = _near(epsilon_exact), log(delta)

    def loss(v: float) -> float:
        u = exp(v)
        return -(epsilon_near + log1p(1 / u) + (log1p(u) + log_delta) / u) / (1 + u)

    with localcontext(_EXACT):
        u, terms = _terms(_minimise(loss), delta)
        first = Decimal(epsilon_exact.numerator) / Decimal(epsilon_exact.denominator)
        value = (first + sum(terms) - _MARGIN * (first + sum(map(abs, terms)))) / (1 + u)
        rho = float_below(Fraction(value) * (1 - Fraction(1, 10**50)))
    if rho <= 0:
        raise BudgetError(f"epsilon = {epsilon} with delta = {delta} is too small to work with; raise one of them.")
    return rho


def checked_delta(delta: object) -> float:
    """Return ``delta`` as a float (rounded down, if it must be) strictly between 0 and 1, or say what is
    wrong.
    """
    value = exact(delta, "delta")
    if not 0 < value < 1 or float_below(value) == 0:
        raise BudgetError(f"delta must lie between 0 and 1, not {delta}; 1e-9 is a common choice.")
    return float_below(value)


def _terms(v: float, delta: float) -> tuple[Decimal, tuple[Decimal, ...]]:
    """Return u = alpha - 1, and the terms of epsilon = alpha rho - sum(terms), in the current decimal
    context.

    The proposition, solved for epsilon: alpha rho + log(1 - 1/alpha) - log(alpha delta) / (alpha - 1).
    """
    u = Decimal(exp(v))
    log_alpha = (1 + u).ln()
    return u, (-u.ln(), log_alpha, log_alpha / u, Decimal(delta).ln() / u)


def _near(value: Fraction) -> float:
    """Return a float near ``value`` for the search alone, whatever its size."""
    try:
        return float(value)
    except OverflowError:
        raise BudgetError("A privacy parameter is beyond the range of floating point.") from None


def _minimise(function: Callable[[float], float]) -> float:
    """Golden-section search. The functions here have one valley: log delta is convex in alpha at fixed
    epsilon and rho.
    """
    low, high = _LOG_RANGE
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(_STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = function(b)
    return (low + high) / 2
