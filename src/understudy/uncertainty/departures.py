"""How a table departs from a model that leaves out some of what its columns have to do with each other. Public: simulated.

Two parts. Rows are a sample: a count that no measurement holds departs from what the model expects of it as a Poisson count
does, however right the model is. And the model lacks interactions that nothing measured: each expectation is multiplied by
a factor of mean 1 and deviation ``strength``. What was measured of the same columns stays: the departure has no part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique

Floats = NDArray[np.float64]

SWEEPS = 8
"""Of iterative proportional fitting, which gives the measured parts their counts back."""


def measured_parts(clique: Clique, measured: Iterable[Clique]) -> list[Clique]:
    """Return the largest parts of ``clique`` that a measurement contains; ``clique`` itself where one contains all of it."""
    held = {tuple(a for a in clique if a in m) for m in map(frozenset, measured)}
    found = [part for part in held if part and not any(set(part) < set(other) for other in held)]
    return sorted(found)


def departed(table: Floats, clique: Clique, parts: Sequence[Clique], strength: float, rng: np.random.Generator) -> Floats:
    """Return counts as a table might have them of which ``table`` is what a model expects; ``parts`` keep their counts."""
    if clique in parts:
        return table
    expected = np.maximum(table, 0.0)
    if strength > 0:
        expected = expected * rng.gamma(strength**-2, strength**2, table.shape)
    drawn = rng.poisson(expected).astype(np.float64)
    axes = [tuple(i for i, a in enumerate(clique) if a not in part) for part in parts]
    wanted = [table.sum(axis=out, keepdims=True) for out in axes]
    for _ in range(SWEEPS):
        for out, want in zip(axes, wanted, strict=True):
            have = drawn.sum(axis=out, keepdims=True)
            drawn = drawn * np.divide(want, have, out=np.ones_like(have), where=have > 0)
    return drawn
