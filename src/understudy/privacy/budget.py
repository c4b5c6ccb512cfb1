"""The budget of a run, and the filter that accepts or refuses each charge before anything is read.

Public: a filter sees costs and purposes, never counts. All sums are exact fractions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import NoReturn, SupportsIndex

from understudy.errors import BudgetError, BudgetExceeded, InternalError
from understudy.privacy.conversion import checked_delta, epsilon_of, rho_of
from understudy.privacy.cost import float_below, positive, show

EPSILONS, DELTAS, RHOS = (1e-6, 1e6), (1e-100, 1.0), (1e-18, 1e9)
"""The budgets that are accepted: with each, every mechanism runs to its end (tests/test_extremes.py)."""


@dataclass(frozen=True)
class Budget:
    """How much a run may disclose. Make one with ``Budget.of``; ``rho`` is what is spent from, exactly."""

    rho: Fraction
    epsilon: float | None = None
    delta: float | None = None

    @classmethod
    def of(cls, *, epsilon: object = None, delta: object = None, rho: object = None) -> Budget:
        """Make a budget from ``epsilon`` and ``delta`` together, or from ``rho`` alone (zCDP)."""
        if rho is not None:
            if epsilon is not None or delta is not None:
                raise BudgetError("Give epsilon and delta, or rho alone: together they would be two budgets.")
            return cls(_within(positive(rho, "rho"), RHOS, "rho"))
        if epsilon is None or delta is None:
            raise BudgetError("Give both epsilon and delta (say epsilon=1, delta=1e-9), or rho alone.")
        epsilon_float = float_below(_within(positive(epsilon, "epsilon"), EPSILONS, "epsilon"))
        delta_float = checked_delta(delta)
        _within(Fraction(delta_float), DELTAS, "delta")
        return cls(Fraction(rho_of(epsilon_float, delta_float)), epsilon_float, delta_float)

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon that this budget means at any ``delta``, rounded up."""
        if self.epsilon is not None and delta == self.delta:
            return self.epsilon
        return epsilon_of(self.rho, delta)


def _within(value: Fraction, accepted: tuple[float, float], name: str) -> Fraction:
    """Return ``value``; one beyond the range in which a run is known to end well is refused, before anything is spent."""
    least, most = accepted
    if not Fraction(least) <= value <= Fraction(most):
        raise BudgetError(f"{name} = {show(value)} is not accepted; choose one from {least:g} to {most:g}.")
    return value


@dataclass(frozen=True)
class Charge:
    """One accepted cost, and what it was for. ``purpose`` names attributes and parameters only."""

    rho: Fraction
    purpose: str


class Filter:
    """Accepts charges while their exact sum stays within ``rho``; refuses the rest. It only ever grows
    fuller.

    Costs may be chosen adaptively, from earlier answers (a privacy filter). A filter can be neither copied
    nor used in a forked process, since each copy would spend the same budget again.
    """

    def __init__(self, rho: Fraction) -> None:
        self.__limit = positive(rho, "rho")
        self.__spent = Fraction(0)
        self.__charges: list[Charge] = []
        self.__lock = Lock()
        self.__process = os.getpid()

    @property
    def rho(self) -> Fraction:
        """The whole budget."""
        return self.__limit

    @property
    def spent(self) -> Fraction:
        """The sum of all accepted charges, exactly."""
        return self.__spent

    @property
    def remaining(self) -> Fraction:
        """What a further charge may cost at most, exactly; never negative."""
        return self.__limit - self.__spent

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was spent on what, in order."""
        return tuple(self.__charges)

    def charge(self, cost: Fraction, purpose: str) -> Charge:
        """Accept ``cost`` and record it, or raise ``BudgetExceeded`` and record nothing."""
        with self.__lock:
            charge = self.check(cost, purpose)
            self.__spent += charge.rho
            self.__charges.append(charge)
        return charge

    def check(self, cost: Fraction, purpose: str) -> Charge:
        """Raise what ``charge`` would raise; record nothing either way."""
        if not isinstance(cost, Fraction) or cost <= 0:
            raise InternalError(f"A charge must be an exact fraction above 0, not {cost!r} ({purpose}).")
        if os.getpid() != self.__process:
            raise BudgetError("This budget belongs to another process; a forked copy would spend it twice.")
        if cost > self.remaining:
            raise BudgetExceeded(_refusal(cost, purpose, self.remaining))
        return Charge(cost, purpose)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise BudgetError("A filter cannot be copied or pickled: each copy would spend the same budget again.")

    def __repr__(self) -> str:
        return f"Filter(spent {show(self.spent)} of rho = {show(self.rho)} in {len(self.__charges)} charges)"


def _refusal(cost: Fraction, purpose: str, remaining: Fraction) -> str:
    wanted, left = show(cost), show(remaining)
    gap = f" (over by {show(cost - remaining)})" if wanted == left else ""
    return (
        f"{purpose}: costs rho = {wanted}, but {left} is left{gap}. "
        "Nothing was read. Use more noise, ask for less, or set a larger budget."
    )
