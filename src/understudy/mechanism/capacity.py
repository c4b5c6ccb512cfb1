"""How large the model may grow: to a size that was set, or as far as time allows, by how the run itself goes.

Public: the clock stands still while the table is read and while a choice is drawn, whose times depend on the rows. What it
shows is how long fits and answers of models took, which work on noisy answers alone; and arithmetic with exact counts, and
noise on them, whose work is the same whatever the counts are. What is decided by it is put on record: a run that is resumed
decides the same.
"""

from __future__ import annotations

from understudy.mechanism.config import MEGABYTE, RoundsConfig
from understudy.mechanism.forecast import ACROSS, CHECKED, DEARER
from understudy.mechanism.pace import STEPS, Pace
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import RoundBudget

AIMED = 0.9
"""Of the time limit: what a round costs does not grow evenly with the model, and a model cannot be made smaller again."""
SMALL, GROWTH = 8 * MEGABYTE, 3
"""A model may grow so many times in a round, or from a small one to that, so that the next is planned by what it costs."""
FEWEST_BETWEEN = 10
"""Rounds from one annealing to the next, until the run shows that there are more."""
FIT_STEPS, NEAR, END_MARGIN = 30, 0.15, 1.5
"""A byte of the model costs so many steps of a fit in each round, a part of one for each candidate, and at the end more."""


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
        """Return the size at which what is to come takes the time that is left: rounds and an end like those of the model as
        it is, and what each byte more adds to them. The model of a round has the share of its size that is spent by then.
        """
        assert self._config.time_limit is not None
        run, pace = self._run, self._pace
        rounds, shares = shares_to_come(float(run.spent / run.rho), float(budget.total / run.rho), self._between())
        candidates = len(run.rounds[-1].candidates) if run.rounds else len(run.domain)
        each = pace.rates.byte * (FIT_STEPS + NEAR * candidates) / number
        end = END_MARGIN * pace.rates.byte * (STEPS + ACROSS * min(len(run.workload.closure), CHECKED))
        left = AIMED * self._config.time_limit - pace.elapsed - pace.steady - pace.growing
        left += run.size * (rounds * each + end) - rounds / number * pace.round_seconds
        most = GROWTH * max(run.size, SMALL) / float(run.share_with(budget, number))
        return min(max(left, 0.0) / max(shares * each + end, 1e-300), most)

    def _between(self) -> float:
        """Return about how many rounds there are from one annealing to the next, by those so far."""
        made = self._run.rounds
        return max(FEWEST_BETWEEN, len(made) / max(1, sum(r.annealed for r in made)))


def shares_to_come(spent: float, cost: float, between: float) -> tuple[float, float]:
    """Return about how many rounds are to come, and the sum of the shares of the budget that are spent by the end of each.

    ``spent`` is the share that is gone, ``cost`` that of the next round; after ``between`` rounds they are dearer.
    """
    rounds = shares = 0.0
    while spent < 1 and cost > 0:
        some = min(between, (1 - spent) / cost)
        rounds, shares = rounds + some, shares + some * (spent + some * cost / 2)
        spent, cost = spent + some * cost, DEARER * cost
        if some < between:
            break
    return rounds, shares
