"""aim2: AIM with six changes, each stated and measured in docs/aim2.md. Sees no counts; costs what AIM costs.

1. The penalty is honest. What measuring a marginal costs in error is judged after the fit, not before it (``penalty.py``):
   in the score, and in the test that anneals. So larger and sparser marginals are worth their price.
2. A marginal is weighed by the share of it that a query has.
3. The room that it would take up in the model counts against it.
4. A part of the budget is kept, and what the model rests on is measured once more at the end, by need (``again.py``).
5. The last fit is to shrunken answers. Each measured marginal is drawn towards what the model said of it before it was
   measured, by as much as its noise deserves (``understudy.model.shrinkage``).
6. The last fit is held to what all answers together say of each single column (``anchors.py``).

All are computed from earlier answers of the door and the noise levels, all of it public.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism.again import kept_for_the_end
from understudy.mechanism.aim import Aim, algorithm_1
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import RANKING, as_candidates, expected_noise
from understudy.mechanism.config import AimConfig, RoundsConfig, one_of
from understudy.mechanism.judge import Judge, Paper
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.penalty import DROWNED, fitted_errors, penalties
from understudy.mechanism.running import Run
from understudy.model import CELL_BYTES, Model, Observation, shrunk, tree_sizes_with
from understudy.privacy import Candidate
from understudy.workload import Workload

Penalty = Literal["fitted", "noise"]

LEAST_LEFT = 1 / 16
"""Of marginals that are too noisy for AIM, those with up to so many times as many cells are looked at."""
ROOM = 2048
"""Cells of the model for each time that the noise of a cell goes into the rows: more share what is no more than noise."""
CROWDING = 0.1
"""A marginal that would take all the room must be wrong by this share of the rows more than one that takes none."""
SIZED = 3_000
"""Of more marginals the trees are not sized."""
SUMS_LEFT = 0.6
"""Sums that were measured err by about this part of their noise after a fit, which keeps all counts at or above zero."""
SMALL = 2
"""Marginals of so many attributes are judged first: what holds one that drowns is drowned, too (docs/aim2.md)."""


@dataclass(frozen=True)
class Aim2Config(RoundsConfig):
    """The settings of AIM's rounds, and a switch for each change."""

    penalty: Penalty = "fitted"
    """Take off what a measurement errs by after the fit, or by its noise alone as AIM does."""
    shrinkage: bool = True
    """Fit the last model to shrunken answers."""
    again: bool = True
    """Keep a share of the budget, and measure what the model rests on once more with it, by need."""
    columns: bool = True
    """Hold the last fit to what all answers say of each single column."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        one_of("penalty", self.penalty, get_args(Penalty))
        super().__post_init__()

    @property
    def as_aim(self) -> AimConfig:
        """What is the same in AIM."""
        return AimConfig(**{f.name: getattr(self, f.name) for f in fields(RoundsConfig)})


@dataclass(frozen=True)
class Aim2(Mechanism):
    """The adaptive and iterative mechanism, judged otherwise."""

    config: Aim2Config = field(default_factory=Aim2Config)
    takes_public = True

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "aim2"

    @property
    def follows(self) -> bool:
        """Whether it models derived columns: as AIM does."""
        return Aim(self.config.as_aim).follows

    @property
    def every_column(self) -> bool:
        """Whether its last fit is held to each single column."""
        return self.config.columns

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run may ask for, so that a door can count them in one pass."""
        return Aim(self.config.as_aim).expects(workload)

    def execute(self, run: Run) -> Outcome:
        """Play Algorithm 1, judged otherwise."""
        config = self.config.as_aim
        again = kept_for_the_end(run.workload) if self.config.again else Fraction(0)
        judging = Fitted if self.config.penalty == "fitted" else Paper
        judge: Judge = judging(config, again, self.config.columns)
        return algorithm_1(run, Shrinking(judge) if self.config.shrinkage else judge)


def _growth(run: Run, choices: Sequence[Clique], room: int) -> NDArray[np.float64]:
    """Return what part of the room each of ``choices`` would take up; nothing where they are too many to be sized."""
    if not run.estimation.graphical or len(choices) > SIZED:
        return np.zeros(len(choices))
    sizes = np.array(tree_sizes_with(run.domain, run.model_cliques, choices), dtype=np.float64)
    return np.clip((sizes - run.size) / max(room, 1), 0.0, 1.0)


def _small_parts(clique: Clique) -> Iterator[Clique]:
    """Yield what a marginal holds of those that are judged first, itself too."""
    return chain.from_iterable(combinations(clique, size) for size in range(1, SMALL + 1))


class Fitted:
    """Penalties, and what anneals, are errors expected after the fit. Noted: a resumed run goes by the same numbers."""

    def __init__(self, config: AimConfig, again: Fraction, every_column: bool) -> None:
        self.config, self.again, self.every_column = config, again, every_column
        self._errors: dict[Clique, float] = {}

    def least(self, scale: float) -> float:
        """Return a small part of the noise: a fit of a sparse marginal leaves no more."""
        return LEAST_LEFT * expected_noise(self.config, scale)

    def hopeful(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> Sequence[Clique]:
        """Leave out what is or holds a drowned pair, and so is drowned itself, unless it could win with all its noise."""
        small = [r for r in choices if len(r) <= SMALL]
        turn, noise = len(run.rounds) + 1, expected_noise(self.config, scale)

        def expected() -> NDArray[np.float64]:
            return np.append(fitted_errors(model.marginals(small, precision=RANKING), scale, self.config.noise), model.total)

        found = run.note_array(f"expected errors of small marginals in round {turn}", len(small) + 1, expected)
        rows = float(found[-1])
        drowned = {r for r, error in zip(small, found, strict=False) if error > DROWNED * rows}
        return [
            r
            for r in choices
            if len(r) <= 1 or noise * run.domain.cells(r) < 2 * rows or drowned.isdisjoint(_small_parts(r))
        ]

    def room(self, rows: float, scale: float) -> int:
        """Return so many cells for each time that the noise of a cell goes into the rows."""
        return int(CELL_BYTES * ROOM * rows / scale)

    def scored(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> list[Candidate]:
        """Line 13: q_r = w_r / |r| (‖M_r(D) - M_r(p)‖₁ - 2 n σ S(t)); where that drowns, the penalty is the paper's."""
        by_noise = as_candidates(model, choices, run.workload, self.config, scale, unit=run.door.unit)

        def expected() -> NDArray[np.float64]:
            estimated = run.timed(lambda: [c.estimate for c in by_noise])
            return np.append(fitted_errors(estimated, scale, self.config.noise), model.total)

        found = run.note_array(f"expected errors of round {len(run.rounds) + 1}", len(choices) + 1, expected)
        errors, rows = found[:-1], float(found[-1])
        self._errors = dict(zip(choices, errors.tolist(), strict=True))
        by_cells = np.array([c.query is None for c in by_noise])
        noise = np.array([c.penalty for c in by_noise])
        chosen = np.where(by_cells, penalties(errors, noise, rows), SUMS_LEFT * noise)
        chosen += CROWDING * rows * _growth(run, choices, self.room(rows, scale))
        whole = [1 if run.workload.asked else max(len(c.clique), 1) for c in by_noise]  # sums are weighed by their norm
        return [replace(c, weight=c.weight / n, penalty=float(p)) for c, n, p in zip(by_noise, whole, chosen, strict=True)]

    def threshold(self, run: Run, chosen: Candidate, scale: float) -> float:
        """Algorithm 3, line 1: what the model would change by if it had been right."""
        return self._errors[chosen.clique] if chosen.query is None else chosen.penalty

    def last(self, observations: Sequence[Observation]) -> Sequence[Observation]:
        """Return them as they are."""
        return observations


class Shrinking:
    """Judges as another, and remembers what was expected of each marginal before it was first measured."""

    def __init__(self, judge: Judge) -> None:
        self.config, self.again, self.every_column, self._judge = judge.config, judge.again, judge.every_column, judge
        self._before: dict[Clique, NDArray[np.float64]] = {}

    def least(self, scale: float) -> float:
        """Return the other's."""
        return self._judge.least(scale)

    def hopeful(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> Sequence[Clique]:
        """Return those that the other has hopes for."""
        return self._judge.hopeful(run, model, choices, scale)

    def room(self, rows: float, scale: float) -> int:
        """Return the other's."""
        return self._judge.room(rows, scale)

    def scored(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> list[Candidate]:
        """Line 13, by the other."""
        return self._judge.scored(run, model, choices, scale)

    def threshold(self, run: Run, chosen: Candidate, scale: float) -> float:
        """Algorithm 3, line 1, by the other."""
        if chosen.clique not in self._before and len(chosen.clique) > 1:
            name, shape = f"what was expected in round {len(run.rounds) + 1}", run.domain.shape(chosen.clique)
            noted = run.note_array(name, run.domain.cells(chosen.clique), lambda: chosen.estimate)
            self._before[chosen.clique] = noted.reshape(shape)
        return self._judge.threshold(run, chosen, scale)

    def last(self, observations: Sequence[Observation]) -> Sequence[Observation]:
        """Return them shrunk towards what was expected."""
        return shrunk(self._judge.last(observations), self._before)
