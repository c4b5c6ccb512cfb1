"""What a mechanism hands back: the model, every measurement, and a record of each round that bounds can be
read from.

Public: all of it was released by the door or computed from what was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import InternalError
from understudy.mechanism.events import RoundEnded
from understudy.mechanism.looking import LEAST_DEVIATION
from understudy.model import Fit, Model, Observation, total_stddev
from understudy.privacy import Charge, Distances, Measurement, Selection, Unit
from understudy.sampling import some_of_closure
from understudy.workload import Workload

MOST_ROWS = 10_000_000
"""Rows of a synthetic table unless more are asked for: where noise is large, the noisy total can be any number."""

ASKED_AGAIN = 1 << 22
"""Cells of the finished model's marginals that are kept: the check, the table and the bounds ask for the same ones."""

UNKNOWN_ROWS = 1_000
"""Rows of a synthetic table, unless others are asked for, where noisy counts do not tell how many the private one has."""

MOST_REFINED = 1 << 13
"""Marginals that a synthetic table is refined towards."""


def is_told(total: float, stddev: float | None) -> bool:
    """Whether a noisy number of rows says how many there are: twice its deviation is less than the number itself."""
    return stddev is None or 2 * stddev < total


class Estimator(Protocol):
    """Fits a model to noisy marginals; ``understudy.model.fit`` is one."""

    def __call__(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        zeros: Sequence[Zeros] = (),
        start: Model | None = None,
    ) -> Fit[Model]:
        """Return the fit."""
        ...


@dataclass(frozen=True)
class PublicUse:
    """A public table that the run was given."""

    rows: int
    digest: str
    used: bool
    """Whether the model starts from it: whether it was found to be nearer to the table than the noisy columns."""


@dataclass(frozen=True, eq=False)
class Round:
    """One turn of the loop: what was chosen from what, how it was measured, and what that led to."""

    index: int
    candidates: tuple[Clique, ...]
    penalties: Sequence[float]
    """One for each candidate: what was taken off its L1 distance before the weight was applied."""
    selection: Selection
    measurement: Measurement
    change: float
    """‖M_r(p_t) - M_r(p_{t-1})‖₁ on the chosen marginal."""
    threshold: float
    """What the noise of the measurement alone would be expected to come to; a smaller change anneals."""
    annealed: bool
    final: bool
    size: int
    """JT-SIZE of the model after the round, in bytes."""
    limit: int
    """What it was allowed to grow to; one that was larger already stays."""
    seconds: float
    before: Model | None = field(repr=False)
    """p_{t-1}, that the candidates were scored by. Kept while this is some candidate's last round, or a late one."""

    @property
    def clique(self) -> Clique:
        """The marginal that was chosen."""
        return self.selection.clique

    @property
    def rho(self) -> Fraction:
        """What the round cost, exactly."""
        return self.selection.rho + self.measurement.rho

    def ended(self, spent: float) -> RoundEnded:
        """Return the news of its end, when ``spent`` is spent in all."""
        news = (self.index, self.clique, self.change, self.threshold, self.annealed, spent, self.size, self.seconds)
        return RoundEnded(*news)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished run. ``model`` is None for a mechanism that only answers queries."""

    mechanism: str
    workload: Workload
    model: Model | None = field(repr=False)
    measurements: tuple[Measurement, ...] = field(repr=False)
    rounds: tuple[Round, ...] = field(repr=False)
    selections: tuple[Selection, ...] = field(repr=False)
    """Every choice, those of the rounds and those made without a round."""
    answers: Mapping[Clique, NDArray[np.int64]] = field(repr=False)
    """Noisy answers to the workload, for a mechanism that has no model; otherwise empty."""
    zeros: tuple[Zeros, ...] = field(repr=False)
    fit: Fit[Model] | None = field(repr=False)
    unit: Unit
    private: bool
    rho: Fraction
    """What the run was allowed to spend."""
    charges: tuple[Charge, ...] = field(repr=False)
    ended: Literal["budget", "time"]
    most_rounds: int
    """No run with these settings can have more rounds than this, whatever it finds."""
    seconds: float
    compared: tuple[Distances, ...] = field(default=(), repr=False)
    """Noisy distances of earlier models from the table, that choices were made by."""
    distances: Distances | None = field(default=None, repr=False)
    """How far the model turned out to be from the table, where a part of the budget was kept for that."""
    inside: tuple[Measurement, ...] = field(default=(), repr=False)
    """Where inside their bins the values of columns lie, with noise: counts of finer bins, and then sums over them."""
    public: PublicUse | None = None
    """The public table that the run was given, if any."""

    @property
    def total_stddev(self) -> float | None:
        """The standard deviation of the noise on the model's total; None where nothing was measured that tells it."""
        return total_stddev(
            Observation(m.clique, m.values.astype(np.float64), max(m.sigma, LEAST_DEVIATION), m.query)
            for m in self.measurements
        )

    @property
    def spent(self) -> Fraction:
        """What the run did spend, exactly."""
        return sum((charge.rho for charge in self.charges), Fraction(0))

    def draw(self, rng: np.random.Generator, rows: int | None = None, most: int | None = None) -> NDArray[np.int32]:
        """Return a synthetic table as codes, near to the model on W_+ (on a part of it, where it has very many marginals).

        As many rows as the model's total by default, or ``UNKNOWN_ROWS`` where noise is as large as that; and ``most`` then,
        where memory allows no more.
        """
        if self.model is None:
            raise InternalError(f"{self.mechanism} made no model to draw a table from.")
        limit = MOST_ROWS if most is None else min(most, MOST_ROWS)
        told = round(self.model.total) if is_told(self.model.total, self.total_stddev) else UNKNOWN_ROWS
        wanted = min(max(told, 0), limit) if rows is None else rows
        importance = self.workload.importance
        near = {r: importance[r] for r in some_of_closure(self.workload, MOST_REFINED, rng)}
        return self.model.generate(wanted, rng, near=near)
