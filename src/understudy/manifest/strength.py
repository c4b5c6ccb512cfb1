"""How strong a promise is: how often somebody who attacks it is right, and from where on it is weak. Public.

Words are chosen by this number, and not by epsilon alone: a large delta is as weak as a large epsilon.
"""

from __future__ import annotations

import warnings
from math import ceil, exp

from understudy.errors import UnderstudyWarning
from understudy.privacy import Budget

LITTLE, NOT_LITTLE, CERTAIN = 0.75, 0.9, 0.9995
"""Somebody who is right more often than this: not little; much; told to be right 100% of the time. 50% is guessing."""
WEAK_EPSILON = 10.0
"""Beyond it the best guess may be right 99.995% of the time: one row may make an outcome 22,000 times likelier."""
WEAK_DELTA = 1e-4
"""Beyond it somebody must be expected to be out of the promise in a table of 10,000 people already, which is a small one."""


def success(epsilon: float, delta: float) -> float:
    """Return how often the best guess between two neighbours is right at even odds: (e^ε + δ) / (e^ε + 1)."""
    tiny = exp(-epsilon)
    return min((1 + delta * tiny) / (1 + tiny), 1.0)


def is_little(epsilon: float, delta: float) -> bool:
    """Whether a single row makes little difference; not where the promise may fail for somebody in a small table."""
    return success(epsilon, delta) <= LITTLE and delta <= WEAK_DELTA


def weakness(epsilon: float, delta: float) -> str:
    """Say why a promise is weak; empty where it is not."""
    found = []
    if epsilon > WEAK_EPSILON:
        right = ceil(success(epsilon, delta) * 100_000) / 1000
        found.append(
            f"epsilon = {epsilon:.6g} is a weak promise: whoever knows all other rows and guesses whether one was there may "
            f"be right {right:g}% of the time. 1 is usual, and above {WEAK_EPSILON:g} little is promised."
        )
    if delta > WEAK_DELTA:
        found.append(
            f"delta = {delta:.6g} is a weak promise: it is the chance that epsilon does not hold, and should be far below "
            "one over the number of people. 1e-9 is usual."
        )
    return " ".join(found)


def warn_of_weakness(budget: Budget, usual_delta: float) -> None:
    """Warn whoever called our caller, where the promise of a budget is weak; before anything is read."""
    delta = usual_delta if budget.delta is None else budget.delta
    text = weakness(budget.epsilon_at(delta), delta)
    if text:
        warnings.warn(text, UnderstudyWarning, stacklevel=3)
