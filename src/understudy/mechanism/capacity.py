"""How large the model may grow: to a size that was set, or as far as time allows, by how the run itself goes.

Public, and no leak: the clock stands still while the table is read, so what it shows is how long fits and answers of models
took, which work on noisy answers alone. What is decided by it is put on record: a run that is resumed decides the same.
"""

from __future__ import annotations

from understudy.mechanism.config import MEGABYTE, RoundsConfig
from understudy.mechanism.forecast import rounds_to_come
from understudy.mechanism.pace import Pace
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import RoundBudget

AIMED = 0.8
"""Of the time limit: what a round costs does not grow evenly with the model, and a model cannot be made smaller again."""
SMALL = 8 * MEGABYTE
"""A smaller model takes as long as this one: each step and each marginal has a price of its own."""
GROWTH = 3
"""Times that a model may grow in a round, so that the next is planned by what it costs."""
FEWEST_BETWEEN = 10
"""Rounds from one annealing to the next, until the run shows that there are more."""


class Capacity:
    """MAX-SIZE, asked for before each round."""

    def __init__(self, run: Run, config: RoundsConfig, pace: Pace) -> None:
        self._run, self._config, self._pace = run, config, pace

    def now(self, budget: RoundBudget, number: int = 1) -> float:
        """Return MAX-SIZE for ``number`` rounds that cost ``budget`` each; the model may grow to the share spent of it."""
        if self._config.capacity == "fixed":
            return self._config.max_size
        name = f"capacity of round {len(self._run.rounds) + 1}"
        return min(self._run.note(name, lambda: self._affordable(budget, number)), self._config.max_size)

    def _affordable(self, budget: RoundBudget, number: int) -> float:
        """Return the size at which the rounds to come, with models that grow towards it, and the end take what time is left.

        A model twice as large takes twice as long, in each round and at the end.
        """
        assert self._config.time_limit is not None
        run, spent, size = self._run, float(self._run.share_with(budget, number)), max(self._run.size, SMALL)
        rounds = rounds_to_come(float(run.remaining / budget.total), self._between()) / number
        cost = rounds * self._pace.round_seconds * (1 + spent) / 2 + self._pace.growing
        left = AIMED * self._config.time_limit - self._pace.elapsed - self._pace.steady
        return min(max(left, 0.0) / max(cost, 1e-9), GROWTH / spent) * size

    def _between(self) -> float:
        """Return about how many rounds there are from one annealing to the next, by those so far."""
        made = self._run.rounds
        return max(FEWEST_BETWEEN, len(made) / max(1, sum(r.annealed for r in made)))
