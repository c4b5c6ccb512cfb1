"""How a table departs from a model that leaves out some of what its columns have to do with each other. Public: simulated.

Two parts. Rows are a sample: a count that no measurement holds departs from what the model expects of it as a Poisson count
does, however right the model is. And the model lacks interactions that nothing measured: each expectation is multiplied by
a factor of mean 1 and deviation ``strength``, in part smooth along the columns. What was measured of the same columns
stays: the departure has no part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique

Floats = NDArray[np.float64]

SMOOTH = 0.75
"""Part of the variance of departures that is smooth: real interactions shift means, which unrelated factors would not."""
STEEPEST = 3.0
"""The logarithm of the largest smooth factor."""
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
        expected = expected * _factors(expected, strength, rng)
    drawn = rng.poisson(expected).astype(np.float64)
    axes = [tuple(i for i, a in enumerate(clique) if a not in part) for part in parts]
    wanted = [table.sum(axis=out, keepdims=True) for out in axes]
    for _ in range(SWEEPS):
        for out, want in zip(axes, wanted, strict=True):
            have = drawn.sum(axis=out, keepdims=True)
            drawn = drawn * np.divide(want, have, out=np.ones_like(have), where=have > 0)
    return drawn


def scores(table: Floats, axis: int) -> Floats:
    """Return of each code of a column the share of rows below it, with mean 0 and variance 1; shaped for the table."""
    rows = table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
    share = rows / max(float(rows.sum()), 1e-300)
    found = np.cumsum(share) - share / 2
    found -= share @ found
    found /= max(float(share @ found**2) ** 0.5, 1e-300)
    return np.asarray(found.reshape([rows.size if i == axis else 1 for i in range(table.ndim)]))


def _factors(table: Floats, strength: float, rng: np.random.Generator) -> Floats:
    """Return a factor for each cell, of mean about 1: a part of its variance is smooth along the columns."""
    rough = strength * (1 - SMOOTH) ** 0.5
    tilt = np.clip(strength * SMOOTH**0.5 * _tilt(table, rng), -STEEPEST, STEEPEST)
    return np.asarray(np.exp(tilt) * rng.gamma(rough**-2, rough**2, table.shape))


def _tilt(table: Floats, rng: np.random.Generator) -> Floats:
    """Return numbers of variance about 1 that rise or fall along each column, more or less for each cell of the others."""
    found = np.zeros(table.shape)
    for axis in range(table.ndim):
        shape = [1 if i == axis else n for i, n in enumerate(table.shape)]
        found += rng.normal(size=shape) * scores(table, axis)
    return np.asarray(found / table.ndim**0.5)
