"""Whether time allows another round: a time limit is for the whole run, up to the saved release.

Public: the clock stands still while the table is read or a choice is drawn, so that how long these take decides nothing.
What comes after the rounds is forecast from how long the same kinds of work took so far, as is on record of them, so that a
run that is resumed forecasts the same; the constants were measured, and say on what.
"""

from __future__ import annotations

from dataclasses import astuple, fields
from functools import cached_property
from itertools import pairwise

import numpy as np

from understudy.mechanism.calibration import Rates, measured
from understudy.mechanism.candidates import units
from understudy.mechanism.config import MEGABYTE
from understudy.mechanism.forecast import ACROSS, table_seconds
from understudy.mechanism.running import Run

STEPS = 300
"""Of the fits still to come, that of the last round and the closer one after it: 150 to 260 on five tables where models are
large, and up to 1,200 where they are so small that it does not matter."""
CHECKED, BOUNDED = 20_000, 10 << 11
"""Marginals that are looked at after the rounds, at most: of the finished model, once; of the last rounds', for bounds."""
MOST_CELLS = 1 << 24
"""Cells of each of these kinds, at most."""
MARGIN = 2.0
"""They are asked for in double precision, of models that are calibrated anew."""
LARGE, LARGER = 1.5, 120 * MEGABYTE
"""A byte of the finished model takes so many times as long as one of a small model, and of a large one in proportion to its
size: on one table 1.5 times as long at 150 MB and 5.4 times at 660 MB."""
TABLE_MARGIN = 1.5
"""Times that drawing, refining and writing a table may take of what is forecast."""
FEW = 5
"""Rounds that the next are reckoned by."""
REST = 1.0
"""Seconds for what depends on nothing."""


class Pace:
    """Asks before each round whether it must be the last.

    A round takes about as long as the last ones did; half as much again is allowed for the model's growth.
    """

    def __init__(self, run: Run, limit: float | None) -> None:
        self._run, self._limit = run, limit
        self._looks, self.rows = [0.0], 0.0

    @cached_property
    def rates(self) -> Rates:
        """How fast this machine is, by the run's own clock: what else it is busy with counts. Takes a second."""
        size = len(fields(Rates))
        found = self._run.note_array("rates of this machine", size, lambda: np.array(astuple(measured(self._run.clock))))
        return Rates(*found.tolist())

    def is_last(self) -> bool:
        """Ask once a round, before it begins."""
        if self._limit is None:
            return False
        run, look = self._run, len(self._looks)
        self.rows = max(run.note(f"rows at look {look}", run.estimated_rows), 0.0)
        run.unit_seconds = run.note(f"pace at look {look}", lambda: run.unit_seconds)
        self._looks.append(run.look())
        return self.elapsed + 2 * 1.5 * self.round_seconds + self.growing + self.steady > self._limit

    @property
    def elapsed(self) -> float:
        """When it was asked last, in seconds since the run began."""
        return self._looks[-1]

    @property
    def round_seconds(self) -> float:
        """The longer of the last two rounds."""
        return max(b - a for a, b in pairwise(self._looks[-3:]))

    @property
    def usual_seconds(self) -> float:
        """What the last few rounds took each: one by one they differ, by how many steps their fits took."""
        some = self._looks[-FEW - 1 :]
        return (some[-1] - some[0]) / (len(some) - 1)

    @property
    def growing(self) -> float:
        """About how many seconds the run takes after its last round, for work that grows with the model."""
        run = self._run
        across = ACROSS * self.rates.byte * run.size * min(len(run.workload.closure), CHECKED)  # candidates may all be near
        return STEPS * run.step_seconds + max(MARGIN * run.unit_seconds * _looked_at(run), times_large(run.size) * across)

    @property
    def steady(self) -> float:
        """The same for work that does not."""
        return TABLE_MARGIN * table_seconds(self._run.workload, self.rows, self.rates) + REST


def times_large(size: float) -> float:
    """Return how many times as long as of a small model a byte of one takes to be looked at, when the model is finished."""
    return max(LARGE, size / LARGER)


def _looked_at(run: Run) -> float:
    """Return how much work it is to look at all marginals that are looked at after the rounds."""
    whole, cells = len(run.workload.closure), run.workload.cells
    parts = [min(whole, CHECKED), min(2 * whole, BOUNDED)]
    return sum(units(part, min(cells * part / whole, MOST_CELLS)) for part in parts)
