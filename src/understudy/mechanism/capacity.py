"""How large the model may grow: to a size that was set, or as far as time allows, by how the run itself goes.

Public: the clock stands still while the table is read and while a choice is drawn, whose times depend on the rows. What it
shows is how long fits and answers of models took, which work on noisy answers alone; and arithmetic with exact counts, and
noise on them, whose work is the same whatever the counts are. What is decided by it is put on record: a run that is resumed
decides the same.
"""

from __future__ import annotations

from understudy.mechanism.config import MEGABYTE, RoundsConfig
from understudy.mechanism.forecast import ACROSS, CHECKED, DEARER, rounds_between, standing_out
from understudy.mechanism.pace import STEPS, Pace, times_large
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import RoundBudget

AIMED = 0.9
"""Of the time limit: what a round costs does not grow evenly with the model, and a model cannot be made smaller again."""
SMALL, GROWTH = 12 * MEGABYTE, 2
"""A model may grow so many times in a round, or from a small one to that, so that the next is planned by what it costs."""
FIT_STEPS, NEAR, LAST_STEPS = 60, 0.15, 2 * STEPS
"""A byte of the model costs so many steps of a fit in each round, a part of one for each candidate, and at the end more. The
steps are those of a small model, as they were measured; those of one that is larger than the cache take twice as long."""


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
        rounds, shares = shares_to_come(float(run.spent / run.rho), float(budget.total / run.rho), self._between(budget))
        candidates = len(run.rounds[-1].candidates) if run.rounds else len(run.domain)
        largest = GROWTH * max(run.size, SMALL)
        dearest = times_large(largest)
        each = pace.rates.byte * (FIT_STEPS + NEAR * candidates) / number
        end = pace.rates.byte * (LAST_STEPS + dearest * ACROSS * min(len(run.workload.closure), CHECKED))
        left = AIMED * self._config.time_limit - pace.elapsed - pace.steady - pace.growing
        left += run.size * (rounds * each + end) - rounds / number * pace.usual_seconds
        return min(max(left, 0.0) / max(shares * each + end, 1e-300), largest / float(run.share_with(budget, number)))

    def _between(self, budget: RoundBudget) -> float:
        """Return about how many rounds there are from one annealing to the next: as forecast, and as it went so far."""
        run, made = self._run, self._run.rounds
        first = made[0].measurement.scale if made else self._config.scale_for(budget.measure, run.door.unit)
        expected = rounds_between(run.domain, standing_out(run.workload, self._pace.rows, first))
        annealed = [r.index for r in made if r.annealed]
        return (expected + max(annealed, default=0)) / (1 + len(annealed))


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
