"""How a budget is cut into rounds: exact fractions for selection and measurement, and how they grow.

Public: pure arithmetic on the budget; nothing here depends on a table except through released answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class RoundBudget:
    """The cost of one round: ``select`` = ε²/8 and ``measure`` = 1/(2σ²) in the paper's terms."""

    select: Fraction
    measure: Fraction
    final: bool = False

    @property
    def total(self) -> Fraction:
        """What the round costs."""
        return self.select + self.measure

    def annealed(self, most: Fraction | None = None) -> RoundBudget:
        """Algorithm 3, lines 2–3: twice the ε and half the σ cost four times as much; measuring at ``most`` so much."""
        times = Fraction(4) if most is None else min(Fraction(4), most / self.measure)
        return RoundBudget(times * self.select, times * self.measure)

    def within(self, remaining: Fraction, alpha: Fraction) -> RoundBudget:
        """Algorithm 3, lines 8–11: when two such rounds do not fit any more, spend all that is left in one.

        Checked before the first round as well. The paper checks only after one, and its proof ("for any
        T ≥ d") misses that the measurements of Algorithm 2 may leave less than one round behind.
        """
        return last_budget(remaining, alpha) if remaining <= 2 * self.total else self

    def times(self, most: int, remaining: Fraction) -> int:
        """Return how many such rounds, at most ``most``, fit into what remains, with one more after them; at least one."""
        return max(1, min(most, int(remaining / self.total) - 1))


def last_budget(remaining: Fraction, alpha: Fraction) -> RoundBudget:
    """Return the round that uses ``remaining`` up."""
    return RoundBudget((1 - alpha) * remaining, alpha * remaining, final=True)


def first_budget(rho: Fraction, rounds: int, alpha: Fraction) -> RoundBudget:
    """Algorithm 1, lines 4 and 9: σ₀² = T / (2 α ρ) and ε₁² = 8 (1 - α) ρ / T."""
    return RoundBudget((1 - alpha) * rho / rounds, alpha * rho / rounds)


def equal_budget(rho: Fraction, rounds: int, alpha: Fraction, initial: int) -> RoundBudget:
    """Cut ``rho`` into equal rounds, after ``initial`` measurements at the same noise (no annealing).

    Without initial measurements this is σ² = T / (2 α ρ) and ε² = 8 (1 - α) ρ / T, as in MWEM+PGM.
    """
    measure = alpha * rho / (rounds + alpha * initial)
    return RoundBudget(measure * (1 - alpha) / alpha, measure)


def allocate(rho: Fraction, shares: Sequence[float]) -> list[Fraction]:
    """Split ``rho`` in proportion to ``shares``, exactly: the parts add up to ``rho``."""
    exact = [Fraction(share) for share in shares]
    total = sum(exact, Fraction(0))
    return [rho * share / total for share in exact]
