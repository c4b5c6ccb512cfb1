"""The first guess of a fit's curvature, turned round: how far a gradient should move the parameters. Public numbers only.

Alone, a clique's potential moves by the gradient over the count. But k cliques that share a set of attributes would make
the same move on it each, and together go k times too far. So each moves 1/k of the way there: of the move, the conditional
mean given a shared set is damped to that part. Were the attributes independent, that would undo the overlap exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.model.engine import Vector
from understudy.model.problem import Problem


@dataclass(frozen=True)
class Preconditioner:
    """B = E D⁻¹ Eᵀ: D is the diagonal of the curvature, E damps by 1/√k. So B is positive definite, or nearly."""

    problem: Problem
    diagonal: Vector
    damping: Vector
    """For each cell of the parts, how much of the conditional mean to take away, over the part's share of the diagonal."""

    @classmethod
    def of(cls, problem: Problem, diagonal: Vector) -> Preconditioner:
        """Make it for curvature with this diagonal."""
        return cls(problem, diagonal, problem.overlap / problem.parts(diagonal))

    def __call__(self, gradient: Vector) -> Vector:
        """Return B times the gradient."""
        damped = self._damped(gradient)
        return damped / self.diagonal - self.problem.of_parts(self.damping * self.problem.parts(damped))

    def square(self, gradient: Vector) -> float:
        """Return the gradient times B times the gradient."""
        damped = self._damped(gradient)
        return float(damped @ (damped / self.diagonal))

    def _damped(self, gradient: Vector) -> Vector:
        return gradient - self.diagonal * self.problem.of_parts(self.damping * self.problem.parts(gradient))
