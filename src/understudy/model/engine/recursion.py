"""The two-loop recursion of L-BFGS by the operators of vectors: what an engine does that has no faster way. Public numbers only."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.model.engine.protocol import Pair, Vector

FIRST_STEP = 0.3
"""Of the diagonal's step, while there is no memory: overlapping answers pull the same potentials several times over."""


def two_loop(gradient: Vector, first: Vector, memory: Sequence[Pair]) -> Vector:
    """Return the inverse curvature that ``memory`` tells times ``gradient``; ``first`` is the guess to begin with, a diagonal.

    No number is turned into a ``float`` on the way, so that a device need not be waited for.
    """
    q = 1.0 * gradient  # its own memory: what follows writes into it
    weights = []
    for s, y, rho in reversed(memory):
        weights.append(rho * (s @ q))
        q -= weights[-1] * y
    q *= first
    if memory:
        _, y, rho = memory[-1]
        q *= 1.0 / (rho * (y @ (first * y)))
    else:
        q *= FIRST_STEP
    for (s, y, rho), weight in zip(memory, reversed(weights), strict=True):
        q += s * (weight - rho * (y @ q))
    return q
