"""Whether time allows another round: a time limit is for the whole run, up to the saved release.

Public: the clock stands still while the table is read, so that how long counting takes decides nothing. What comes after the
rounds is forecast from how long the same kinds of work took so far; the constants were measured, and say on what.
"""

from __future__ import annotations

from itertools import pairwise

from understudy.mechanism.running import Run

STEPS = 1000
"""Of the fits still to come, that of the last round and the closer one after it: 75 to 1,860 on five tables."""
TABLES = 20
"""The check, drawing and refining the table, bounds and report take about as long as judging all marginals so many times.

They took 15 to 57 times as long as the check on five tables; judging takes longer than the check.
"""
VALUE_SECONDS = 4e-6
"""To draw, refine and write one value: 1.5 millionths of a second, and several times that on a busy machine."""
REST = 1.0
"""Seconds for what depends on nothing."""


class Pace:
    """Asks before each round whether it must be the last.

    A round takes about as long as the last ones did; half as much again is allowed for the model's growth.
    """

    def __init__(self, run: Run, limit: float | None) -> None:
        self._run, self._limit = run, limit
        self._looks, self._room = [0.0], 0.0

    def is_last(self) -> bool:
        """Ask once a round, before it begins."""
        if self._limit is None:
            return False
        self._looks.append(self._run.look())
        longest = max(b - a for a, b in pairwise(self._looks[-3:]))
        # A run that is resumed had its first fits given, and took no time for them: the forecast never falls.
        self._room = max(self._room, self._run.note(f"room at look {len(self._looks) - 1}", self._forecast))
        return self._looks[-1] + 2 * 1.5 * longest + self._room > self._limit

    def _forecast(self) -> float:
        """Return about how many seconds the run takes after its last round."""
        run = self._run
        values = 0.0 if run.fit is None else max(run.fit.model.total, 0.0) * len(run.domain)
        return STEPS * run.step_seconds + TABLES * run.scoring_seconds + VALUE_SECONDS * values + REST
