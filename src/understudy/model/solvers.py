"""Ways of fitting: a solver has ``init``, ``step`` and ``done``; the driver in ``estimation`` runs any of them.

Public numbers only. All of them move one parameter an answer; a model's log-potentials are linear in the parameters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.model.engine import Calibrated, Engine, Objective, Pair, Vector
from understudy.model.network import Flat
from understudy.model.observation import Layout, Observation


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise the sum of ``(answer - value)² / (2 sigma²)`` over distributions of mass ``total``.

    Vectors (one number an answer) are the engine's; everything else is decided on plain numbers.
    """

    layout: Layout
    total: float
    engine: Engine

    def evaluate(self, parameters: Vector) -> Point:
        """Run inference at ``parameters``, and keep what a solver needs of it."""
        answers, log_z = self._objective.evaluate(parameters)
        return Point(parameters, self.total * answers, log_z)

    def calibrate(self, parameters: Vector) -> Calibrated:
        """Run inference at ``parameters``, and keep all of it."""
        return self._objective.calibrate(parameters)

    def residual(self, point: Point) -> Vector:
        """Return (answer - value) / sigma: about 1 in each place for the truth itself."""
        return (point.answers - self.values) / self.sigma

    def loss(self, point: Point) -> float:
        """Return the objective."""
        residual = self.residual(point)
        return float(residual @ residual) / 2

    @cached_property
    def _objective(self) -> Objective:
        return self.engine.objective(self.layout)

    @cached_property
    def values(self) -> Vector:
        """The noisy answers."""
        return self.engine.vector(self.layout.values)

    @cached_property
    def sigma(self) -> Vector:
        """The standard deviation of each answer's noise."""
        return self.engine.vector(self.layout.sigma)

    @cached_property
    def movable(self) -> Vector:
        """1 for each answer that the potentials can change, 0 for one that is the same in every possible table."""
        nothing = self.engine.vector(np.zeros(self.layout.values.size))
        at_rest = self.engine.numpy(self.evaluate(nothing).answers) / self.total
        moving = np.ones(at_rest.size)
        for o, start, end in zip(self.layout.observations, self.layout.bounds, self.layout.bounds[1:], strict=False):
            if o.query is None:
                part = at_rest[start:end]
                moving[start:end] = (part > 0) & (part < 1 - 1e-12)
        return self.engine.vector(moving)

    @cached_property
    def typical_sigma(self) -> float:
        """The geometric mean of the observations' standard deviations."""
        return float(np.exp(np.mean([np.log(o.sigma) for o in self.layout.observations])))

    @cached_property
    def shrinkage(self) -> Vector:
        """How strongly each answer is drawn to its neighbours: only where nothing else tells about its attribute."""
        told = Counter(attribute for o in self.layout.observations for attribute in o.clique)
        pieces = [shrinkage(o) * (told[o.clique[0]] == 1 if o.clique else 0) for o in self.layout.observations]
        return self.engine.vector(np.concatenate(pieces))

    @property
    def noise_level(self) -> float:
        """The loss that the truth itself would have, about: half the number of answers."""
        return self.layout.values.size / 2


@dataclass(frozen=True)
class Point:
    """Parameters, and the answers that they give."""

    parameters: Vector
    answers: Vector
    log_z: float


class State(Protocol):
    """Where a solver is."""

    @property
    def point(self) -> Point:
        """The best point so far."""


S = TypeVar("S", bound=State)


class Solver(Protocol[S]):
    """How to start, how to improve, and when it is enough."""

    def init(self, problem: Problem, start: Point) -> S:
        """Begin at ``start``."""

    def step(self, problem: Problem, state: S) -> S:
        """Improve once."""

    def done(self, problem: Problem, state: S) -> str | None:
        """Say why to stop, or None to go on."""


@dataclass(frozen=True)
class DualState:
    """Position, gradient and the memory of curvature."""

    point: Point
    value: float
    gradient: Vector
    memory: tuple[Pair, ...] = ()
    stuck: bool = False


@dataclass(frozen=True)
class Dual:
    """L-BFGS on the dual of the entropy-regularised problem: loss + τ × (total × divergence from uniform).

    The dual is smooth and unconstrained: total × log Z(θ) − θ·y + ½ Σ pull θ², with pull = τσ². Its gradient vanishes
    at the optimum, where a residual of ``pull`` records moves a log-potential by 1; the loss there tends to the
    unregularised optimum as τ goes to 0. The pull is a part of the noise, and also of the square root of the total
    (the deviation of the largest counts in a sample), which is less in a small table under much noise.
    """

    smoothing: float = 0.2
    """The pull of a typical answer, as a part of its standard deviation or of √total / 6, whichever is less."""
    tolerance: float = 3e-3
    """Stop when the squared gradient, in units of the noise, is this small a part of the noise level."""
    memory: int = 12
    shrinking: bool = False
    """Whether cells of a lone one-way marginal that do not stand out of the noise are shrunk to their mean (James-Stein)."""

    def init(self, problem: Problem, start: Point) -> DualState:
        """Begin at ``start``."""
        return DualState(start, *self._value(problem, start))

    def step(self, problem: Problem, state: DualState) -> DualState:
        """Go along the quasi-Newton direction, as far as the value falls."""
        direction = self._direction(problem, state)
        slope = float(state.gradient @ direction)
        length = min(1.0, 5.0 / max(float(abs(direction).max()), 1e-300))  # potentials are logarithms: no leaps
        for _ in range(30):
            point = problem.evaluate(state.point.parameters + length * direction)
            value, gradient = self._value(problem, point)
            if value <= state.value + 1e-4 * length * slope + 1e-12 * abs(state.value):
                return DualState(point, value, gradient, self._remember(state, point, gradient))
            curvature = value - state.value - slope * length
            length = float(np.clip(-slope * length**2 / (2 * curvature), 0.1 * length, 0.6 * length))
        return replace(state, memory=(), stuck=not state.memory or state.stuck)

    def done(self, problem: Problem, state: DualState) -> str | None:
        """Stop when what is left to gain is small beside the noise."""
        if state.stuck:
            return "no further descent"
        scaled = state.gradient / problem.sigma
        if float(scaled @ scaled) / 2 <= self.tolerance * min(problem.noise_level, problem.loss(state.point)):
            return "converged"
        return None

    def _pull(self, problem: Problem) -> Vector:
        """Return τσ² for each answer."""
        typical = problem.typical_sigma
        pull = self.smoothing * min(typical, problem.total**0.5 / 6)
        by_noise: Vector = pull * (problem.sigma / typical) ** 2
        return by_noise + problem.shrinkage if self.shrinking else by_noise

    def _value(self, problem: Problem, point: Point) -> tuple[float, Vector]:
        theta = point.parameters
        pull = self._pull(problem) * theta
        value = problem.total * point.log_z - float(theta @ problem.values) + float(theta @ pull) / 2
        return value, (point.answers - problem.values + pull) * problem.movable

    def _direction(self, problem: Problem, state: DualState) -> Vector:
        """Two-loop recursion; the first guess of the curvature is its diagonal, count + τσ²."""
        first = 1.0 / (state.point.answers.clip(min=0.0) + self._pull(problem))
        return -problem.engine.two_loop(state.gradient, first, state.memory)

    def _remember(self, state: DualState, point: Point, gradient: Vector) -> tuple[Pair, ...]:
        s, y = point.parameters - state.point.parameters, gradient - state.gradient
        bend = float(s @ y)
        if bend <= 1e-12 * sqrt(float(s @ s)) * sqrt(float(y @ y)):
            return state.memory
        return (*state.memory, (s, y, 1.0 / bend))[-self.memory :]


CLOSER = Dual(smoothing=0.1, shrinking=True)
"""For a model that is kept: less smoothing is a little more accurate, and takes more steps.

Not for the rounds of a mechanism, which look for what is wrong with a model: shrinking hides it from them.
"""

OUTSTANDING = 3.0
"""A cell this many standard deviations from the others is no noise."""

FEWEST = 8
"""Among fewer cells than this there is too little to learn how far the others lie apart."""

LARGEST_RATIO = 10.0
"""Noise is counted as at most so many times the signal's variance: more makes no difference but to the solver."""


def shrinkage(observation: Observation) -> Flat:
    """Return the pull of each cell of a one-way marginal towards the others like it: 0 where it stands out of the noise.

    Cells that do not stand out are known best by their mean; how far each departs from it is the less credible, the more
    the noise exceeds what they differ by. An error of ``pull`` records then moves a log-potential by 1: the mean count
    times noise variance over signal variance, the weight at which the entropy shrinks small departures by the right part.
    """
    values, variance = np.ravel(observation.values).astype(np.float64), observation.sigma**2
    pull = np.zeros(values.size)
    if observation.query is not None or len(observation.clique) != 1:
        return pull
    alike = _alike(values, OUTSTANDING * observation.sigma)
    if np.count_nonzero(alike) >= FEWEST:
        signal = max(float(np.var(values[alike], ddof=1)) - variance, variance / LARGEST_RATIO)
        pull[alike] = max(float(values[alike].mean()), 0.0) * variance / signal
    return pull


def _alike(values: Flat, reach: float) -> NDArray[np.bool_]:
    """Return which values lie within ``reach`` of the mean of those that do."""
    alike = np.ones(values.size, dtype=np.bool_)
    for _ in range(20):
        closer = np.abs(values - values[alike].mean()) <= reach
        if not closer.any() or np.array_equal(closer, alike):
            break
        alike = closer
    return alike


@dataclass(frozen=True)
class MirrorState:
    """Position and step size."""

    point: Point
    loss: float
    rate: float
    stuck: bool = False


@dataclass(frozen=True)
class MirrorDescent:
    """Entropic mirror descent with backtracking, as in the Private-PGM paper: θ ← θ − rate × gradient of the loss."""

    def init(self, problem: Problem, start: Point) -> MirrorState:
        """Begin at ``start``, with a rate that could not overshoot a single cell."""
        rate = float(np.min(problem.layout.sigma) ** 2) / problem.total
        return MirrorState(start, problem.loss(start), rate)

    def step(self, problem: Problem, state: MirrorState) -> MirrorState:
        """Take one step, shortened until the loss falls as the local model of it promises."""
        gradient = problem.residual(state.point) / problem.sigma
        rate = 2.0 * state.rate
        for _ in range(40):
            point = problem.evaluate(state.point.parameters - rate * gradient)
            loss = problem.loss(point)
            promised = float(gradient @ (state.point.answers - point.answers)) / 2
            if state.loss - loss >= promised:
                # Without a gain to speak of the rate would double for ever, until the potentials overflow.
                return MirrorState(point, loss, rate, stuck=promised <= 1e-12 * state.loss)
            rate /= 2
        return replace(state, stuck=True)

    def done(self, problem: Problem, state: MirrorState) -> str | None:
        """Stop when no step helps; the driver's limits do the rest."""
        return "no further descent" if state.stuck else None
