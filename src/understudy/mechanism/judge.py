"""What a round goes by: the penalty of each candidate, when to anneal, and what the last fit is made to.

The algorithm in ``aim.py`` is the same for AIM and for what goes beyond it; they differ in their judge. Sees no counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from sys import maxsize
from typing import Protocol

from understudy.domain import Clique
from understudy.mechanism.candidates import as_candidates, errors_of, expected_noise
from understudy.mechanism.config import AimConfig
from understudy.mechanism.running import Run
from understudy.model import Model, Observation
from understudy.privacy import Candidate


class Judge(Protocol):
    """Judges the candidates of one run, round by round, by public numbers."""

    @property
    def config(self) -> AimConfig:
        """The settings of the run."""
        ...

    def least(self, scale: float) -> float:
        """Return what a penalty comes to for each cell, at least: what cannot win by that is not looked at."""
        ...

    def hopeful(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> Sequence[Clique]:
        """Leave out what turns out not to be able to win, before it is asked of the model."""
        ...

    def room(self, rows: float, scale: float) -> int:
        """Return the bytes that the model may take at most, whatever its limit: more would not be worth the time."""
        ...

    def scored(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> list[Candidate]:
        """Line 13: give each candidate its weight and its penalty; ``scale`` is the noise it would be measured with."""
        ...

    def threshold(self, run: Run, chosen: Candidate, scale: float) -> float:
        """Algorithm 3, line 1: a change of the chosen marginal that is no larger than this anneals. Asked once a round."""
        ...

    @property
    def again(self) -> Fraction:
        """The share of the budget that is kept for what is measured once more when the rounds are over. Nothing is kept
        where pairs take turns: what was found is made clearer then in any case.
        """
        ...

    @property
    def every_column(self) -> bool:
        """Whether the last fit is held to what all answers say of each column alone, not of numbers only."""
        ...

    def last(self, observations: Sequence[Observation]) -> Sequence[Observation]:
        """Return what the model that is handed out is fitted to."""
        ...


@dataclass(frozen=True)
class Paper:
    """As printed: both are the error expected of the noise alone, and the last fit is to the answers as they are."""

    config: AimConfig
    again: Fraction = Fraction(0)
    """Not in the paper."""
    every_column: bool = False
    """Nor is this."""

    def least(self, scale: float) -> float:
        """Return √(2/π) σ; 1 for MWEM's rule."""
        return expected_noise(self.config, scale) if self.config.criterion == "aim" else 1.0

    def hopeful(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> Sequence[Clique]:
        """Return all of them."""
        return choices

    def room(self, rows: float, scale: float) -> int:
        """Return no limit of its own."""
        return maxsize

    def scored(self, run: Run, model: Model, choices: Sequence[Clique], scale: float) -> list[Candidate]:
        """Take √(2/π) σ off for each cell."""
        return as_candidates(model, choices, run.workload, self.config, scale, unit=run.door.unit)

    def threshold(self, run: Run, chosen: Candidate, scale: float) -> float:
        """Return √(2/π) σ n, or what is expected of the noise on the sums that are asked for."""
        return expected_noise(self.config, scale) * errors_of(run.workload, chosen.clique, run.door.unit, self.config.noise)

    def last(self, observations: Sequence[Observation]) -> Sequence[Observation]:
        """Return them as they are."""
        return observations
