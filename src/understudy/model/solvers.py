"""Ways of fitting: a solver has ``init``, ``step`` and ``done``; the driver in ``estimation`` runs any of them.

Public numbers only. All of them move the parameters of a ``Problem``; a model's log-potentials are linear in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Protocol, TypeVar

import numpy as np

from understudy.model.engine import Pair, Vector
from understudy.model.preconditioner import Preconditioner
from understudy.model.problem import Point, Problem


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
    loss: float
    """The loss, nearly; exactly where the gradient is 0."""
    memory: tuple[Pair, ...] = ()
    stuck: bool = False


@dataclass(frozen=True)
class Dual:
    """L-BFGS on the dual of the entropy-regularised problem: loss + τ × (total × divergence from uniform).

    The dual is smooth and unconstrained: total × log Z(θ) − θ·y + ½ τ θ·Qθ. Here y is what all observations say together,
    and Qθ weighs each residual of the potentials by the variance with which it was observed (``Problem.pull``): σ² for a
    marginal that overlaps no other. The gradient vanishes at the optimum, where an error of τσ² records moves a
    log-potential by 1; the loss there tends to the unregularised optimum as τ goes to 0. That pull is a part of the noise,
    and also of the square root of the total (the deviation of the largest counts in a sample), which is less in a small
    table under much noise.
    """

    smoothing: float = 0.2
    """The pull of a typical answer, as a part of its standard deviation or of √total / 6, whichever is less."""
    tolerance: float = 3e-3
    """Stop when the squared gradient, in units of the noise, is this small a part of the noise level."""
    memory: int = 6
    """Steps that a direction is made by. With this preconditioner 12 save none, and take longer where cells are many."""
    shrinking: bool = False
    """Whether cells of a lone one-way marginal that do not stand out of the noise are shrunk to their mean (James-Stein)."""

    def init(self, problem: Problem, start: Point) -> DualState:
        """Begin at ``start``; or at 0, where a start that was fitted without shrinking is worse than none."""
        found = self._state(problem, start)
        if not self.shrinking:
            return found
        return min(found, self._state(problem, problem.evaluate(0.0 * start.parameters)), key=lambda state: state.value)

    def step(self, problem: Problem, state: DualState) -> DualState:
        """Go along the quasi-Newton direction, as far as the value falls."""
        direction = self._direction(problem, state)
        slope = float(state.gradient @ direction)
        length = min(1.0, 5.0 / max(float(abs(direction).max()), 1e-300))  # potentials are logarithms: no leaps
        for _ in range(30):
            point = problem.evaluate(state.point.parameters + length * direction)
            found = self._state(problem, point)
            if found.value <= state.value + 1e-4 * length * slope + 1e-12 * abs(state.value):
                return replace(found, memory=self._remember(state, found))
            curvature = found.value - state.value - slope * length
            length = float(np.clip(-slope * length**2 / (2 * curvature), 0.1 * length, 0.6 * length))
        return replace(state, memory=(), stuck=not state.memory or state.stuck)

    def done(self, problem: Problem, state: DualState) -> str | None:
        """Stop when what is left to gain is small beside the noise."""
        if state.stuck:
            return "no further descent"
        if problem.squared(state.gradient) <= self.tolerance * min(problem.noise_level, state.loss):
            return "converged"
        return None

    def _smoothing(self, problem: Problem) -> float:
        """Return τ."""
        typical = problem.typical_sigma
        return self.smoothing * min(typical, sqrt(problem.total) / 6) / typical**2

    def _state(self, problem: Problem, point: Point) -> DualState:
        theta, tau = point.parameters, self._smoothing(problem)
        pull = tau * problem.pull(theta)
        loss = problem.inconsistency + tau * float(theta @ pull) / 2
        if self.shrinking:
            drawn = problem.shrinkage * theta
            pull, loss = pull + drawn, loss + float((drawn / problem.sigma**2) @ drawn) / 2
        value = problem.total * point.log_z - float(theta @ problem.values) + float(theta @ pull) / 2
        return DualState(point, value, point.answers - problem.values + pull, loss)

    def _curvature(self, problem: Problem, point: Point) -> Vector:
        """Return the diagonal of the curvature, about: count + τσ²."""
        pull: Vector = self._smoothing(problem) * problem.sigma**2
        return point.answers.clip(min=0.0) + (pull + problem.shrinkage if self.shrinking else pull)

    def _direction(self, problem: Problem, state: DualState) -> Vector:
        """Two-loop recursion, with the preconditioner as the first guess of the inverse curvature."""
        first = Preconditioner.of(problem, self._curvature(problem, state.point))

        def guess(q: Vector) -> Vector:
            if not state.memory:
                return first(q)
            _, y, rho = state.memory[-1]
            return 1.0 / (rho * first.square(y)) * first(q)

        return -problem.engine.two_loop(state.gradient, state.memory, guess)

    def _remember(self, state: DualState, found: DualState) -> tuple[Pair, ...]:
        s, y = found.point.parameters - state.point.parameters, found.gradient - state.gradient
        bend = float(s @ y)
        if bend <= 1e-12 * sqrt(float(s @ s)) * sqrt(float(y @ y)):
            return state.memory
        return (*state.memory, (s, y, 1.0 / bend))[-self.memory :]


CLOSER = Dual(smoothing=0.1, tolerance=3e-4, shrinking=True)
"""For a model that is kept: less smoothing and a closer fit are a little more accurate, and take more steps.

Not for the rounds of a mechanism, which look for what is wrong with a model: shrinking hides it from them.
"""


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
        gradient = problem.slope(state.point)
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
