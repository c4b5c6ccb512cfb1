"""The two-loop recursion of L-BFGS by operators: what an engine does that has no faster way. Public numbers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from understudy.model.engine.protocol import Pair, Vector


def two_loop(gradient: Vector, memory: Sequence[Pair], first: Callable[[Vector], Vector]) -> Vector:
    """Return the inverse curvature that ``memory`` (oldest first) tells, times ``gradient``; ``first`` guesses it.

    No number is turned into a ``float`` on the way, so that a device need not be waited for.
    """
    q = 1.0 * gradient  # its own memory: what follows writes into it
    weights = []
    for s, y, rho in reversed(memory):
        weights.append(rho * (s @ q))
        q -= weights[-1] * y
    q = first(q)
    for (s, y, rho), weight in zip(memory, reversed(weights), strict=True):
        q += s * (weight - rho * (y @ q))
    return q
