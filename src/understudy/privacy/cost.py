"""What each private question costs in zCDP, in exact fractions, and the parameters that a given cost buys.

Public: costs depend on parameters and on the unit of privacy, never on a table.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import inf, isfinite, isqrt, nextafter
from numbers import Integral, Real

from understudy.errors import BudgetError
from understudy.privacy.unit import Unit

_ROOT_BITS = 64
"""Bits kept of an integer square root before it is rounded to a float; more than a float has."""


def exact(value: object, name: str) -> Fraction:
    """Return the number ``value`` as the fraction that it is, exactly; refuse anything that is not a finite
    number.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BudgetError(f"{name} must be a number, not {value!r} ({type(value).__name__}).")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Integral):
        return Fraction(int(value))  # through int: NumPy's integers would go on to overflow
    number = float(value)
    if not isfinite(number):
        raise BudgetError(f"{name} must be a finite number, not {number}.")
    return Fraction(number)


def positive(value: object, name: str) -> Fraction:
    """Return ``value`` as an exact fraction above zero, or say what is wrong with it."""
    fraction = exact(value, name)
    if fraction <= 0:
        raise BudgetError(f"{name} must be above 0, not {value}.")
    return fraction


def gaussian_cost(sigma: float, unit: Unit) -> Fraction:
    """Return the rho of a marginal with discrete Gaussian noise of scale ``sigma``: l2² / (2 sigma²),
    exactly.
    """
    return unit.l2_squared / (2 * positive(sigma, "sigma") ** 2)


def laplace_cost(scale: float, unit: Unit) -> Fraction:
    """Return the rho of a marginal with discrete Laplace noise: epsilon² / 2 with epsilon = l1 / scale,
    exactly.
    """
    return (unit.l1 / positive(scale, "The scale of the noise")) ** 2 / 2


def selection_cost(epsilon: float) -> Fraction:
    """Return the rho of the exponential mechanism at ``epsilon``: epsilon² / 8, exactly."""
    return positive(epsilon, "epsilon") ** 2 / 8


def distances_cost(sigma: float, count: int, unit: Unit) -> Fraction:
    """Return the rho of ``count`` L1 distances with Gaussian noise of scale ``sigma`` on each: one record moves them all."""
    return count * unit.score**2 / (2 * positive(sigma, "sigma") ** 2)


def sigma_for(rho: Fraction, unit: Unit) -> float:
    """Return the smallest float sigma whose exact cost is at most ``rho``: the least noise that it buys."""
    return root_above(unit.l2_squared / (2 * positive(rho, "rho")))


def distances_sigma_for(rho: Fraction, count: int, unit: Unit) -> float:
    """Return the smallest float sigma at which ``count`` distances cost at most ``rho``."""
    return root_above(count * unit.score**2 / (2 * positive(rho, "rho")))


def laplace_scale_for(rho: Fraction, unit: Unit) -> float:
    """Return the smallest float scale of Laplace noise whose exact cost is at most ``rho``."""
    return root_above(unit.l1**2 / (2 * positive(rho, "rho")))


def selection_epsilon_for(rho: Fraction) -> float:
    """Return the largest float epsilon whose selection cost is at most ``rho``: the sharpest choice that it
    buys.
    """
    return _root_below(8 * positive(rho, "rho"))


def show(rho: Fraction) -> str:
    """Write ``rho`` in six digits, whatever its size."""
    value = Context(prec=6).divide(Decimal(rho.numerator), Decimal(rho.denominator))
    return f"{float(value):.6g}" if 1e-300 < value < 1e300 or not value else f"{value:e}"


def float_below(value: Fraction) -> float:
    """Return the largest float that is at most ``value``."""
    near = _to_float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)


def float_above(value: Fraction) -> float:
    """Return the smallest float that is at least ``value``."""
    near = _to_float(value)
    return near if Fraction(near) >= value else nextafter(near, inf)


def _root_below(value: Fraction) -> float:
    """Return the largest float whose exact square is at most ``value``."""
    root = _root_near(value)
    while Fraction(root) ** 2 > value:
        root = nextafter(root, 0.0)
    while Fraction(up := nextafter(root, inf)) ** 2 <= value:
        root = up
    return root


def root_above(value: Fraction) -> float:
    """Return the smallest float whose exact square is at least ``value``."""
    below = _root_below(value)
    return below if Fraction(below) ** 2 == value else nextafter(below, inf)


def _root_near(value: Fraction) -> float:
    """Return a float within two units in the last place of the root, however large or small ``value`` is."""
    shift = max(0, _ROOT_BITS - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    root = isqrt((value.numerator << (2 * shift)) // value.denominator)
    return _to_float(Fraction(root, 1 << shift))


def _to_float(value: Fraction) -> float:
    """Round to the nearest float; a value beyond the range of floats is refused."""
    try:
        return float(value)
    except OverflowError:
        raise BudgetError("A privacy parameter is beyond the range of floating point; choose a less extreme one.") from None
