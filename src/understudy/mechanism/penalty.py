"""How far off a marginal is expected to be once it is measured *and fitted*: the penalty of aim2. Public numbers only.

The paper takes √(2/π) σ for each cell, the error of the noise itself. But a fit is not negative and keeps the total, so
that most of the noise on a sparse marginal falls away again. Take the model's marginal m for the truth, let z be the noise
and let the fit be the projection max(0, m + z - t), with the level t at which the total is kept on average. With
S(x) = E max(0, z - x), and all of it in scales of the noise,

    Σ S(t - m) = Σ m   gives t,   and   Σ E|max(0, m + z - t) - m| = 2 n S(t)

(docs/aim2.md has the proof). Cells are first gathered by size, so that the time is that of one pass over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import erfc, exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.mechanism.config import NoiseName

Floats = NDArray[np.float64]
Tails = Callable[[Floats], tuple[Floats, Floats]]
"""S(x) = E max(0, z - x) and P(z > x), for noise z of scale 1 and x ≥ 0."""

DROWNED = 0.7
"""A marginal that would still err by more than this share of the records is drowned: the paper's penalty keeps it out."""
LEAST, MOST, PER_OCTAVE = -6, 6, 4
"""Cells of 2^LEAST to 2^MOST scales are gathered in PER_OCTAVE bins a doubling; S is as good as linear in m outside."""
BINS = PER_OCTAVE * (MOST - LEAST) + 2
MANTISSA, BIAS = 23, 127
"""How a float32 is laid out: its bits from the exponent's down to the first two of the mantissa number the bins."""
FARTHEST, PLACES = 12, 500
"""The tails of Gaussian noise are tabled up to so many scales, at so many places in each."""
STEPS, CLOSE = 60, 1e-4
"""Newton's method for t, in scales of the noise."""


def fitted_errors(marginals: Sequence[NDArray[np.floating]], scale: float, noise: NoiseName) -> Floats:
    """Return Σ E|fit - m| for each marginal m, were it measured with ``noise`` of this scale."""
    cells, mass = np.zeros((len(marginals), BINS)), np.zeros((len(marginals), BINS))
    for row, marginal in enumerate(marginals):
        cells[row], mass[row] = _gathered(marginal, scale)
    level = _level(cells, mass, TAILS[noise])
    return np.asarray(2 * scale * cells.sum(axis=1) * TAILS[noise](level)[0])


def penalties(errors: Floats, noise_errors: Floats, rows: float) -> Floats:
    """Return what to take off each candidate's distance: the error of its fit, or of its noise where it would drown."""
    return np.where(errors <= DROWNED * rows, errors, noise_errors)


def _gathered(marginal: NDArray[np.floating], scale: float) -> tuple[NDArray[np.intp], Floats]:
    """Return how many cells there are of each size, and what they sum to, in scales of the noise."""
    flat = marginal.reshape(-1)
    which = np.multiply(flat, 1.0 / scale, dtype=np.float32).view(np.int32) >> (MANTISSA - PER_OCTAVE.bit_length() + 1)
    which -= (BIAS + LEAST) * PER_OCTAVE - 1
    np.maximum(which, 0, out=which)
    np.minimum(which, BINS - 1, out=which)
    places = which.astype(np.intp)
    return np.bincount(places, minlength=BINS), np.bincount(places, weights=flat, minlength=BINS).astype(np.float64) / scale


def _level(cells: Floats, mass: Floats, tails: Tails) -> Floats:
    """Return t for each row, the root of Σ S(t - m) - Σ m. That falls and is convex: Newton's steps from 0 stay below it.

    Rows that have come close are left out of the next step.
    """
    size, total, level = mass / np.maximum(cells, 1), mass.sum(axis=1), np.zeros(len(cells))
    left = np.arange(len(cells))
    for _ in range(STEPS):
        x = level[left, None] - size[left]
        over, above = tails(np.abs(x))
        over, above = over + np.maximum(-x, 0.0), np.where(x < 0, 1 - above, above)
        below = (cells[left] * over).sum(axis=1) - total[left]
        step = np.maximum(below / np.maximum((cells[left] * above).sum(axis=1), 1e-300), 0.0)
        level[left] += step
        left = left[step > CLOSE]
        if not left.size:
            break
    return level


def _gaussian_tails(x: Floats) -> tuple[Floats, Floats]:
    """Read both off one table: their values, and how they go on to the next place."""
    where = np.minimum(x, FARTHEST) * PLACES
    place = where.astype(np.intp)
    values, rises = _gaussian_table()
    found = values[place] + (where - place)[..., None] * rises[place]
    return found[..., 0], found[..., 1]


@cache
def _gaussian_table() -> tuple[Floats, Floats]:
    places = np.arange(FARTHEST * PLACES + 1) / PLACES
    above = np.array([erfc(x / sqrt(2)) / 2 for x in places])
    density = np.array([exp(-x * x / 2) / sqrt(2 * pi) for x in places])
    values = np.stack([density - places * above, above], axis=1)
    values[-1] = 0.0
    return values, np.diff(values, axis=0, append=0.0)


def _laplace_tails(x: Floats) -> tuple[Floats, Floats]:
    half = np.exp(-x) / 2
    return half, half


TAILS: dict[str, Tails] = {"gaussian": _gaussian_tails, "laplace": _laplace_tails}
