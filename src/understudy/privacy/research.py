"""Seeded noise for experiments that must repeat. NOT PRIVATE: whoever knows or guesses the seed can remove
the noise.

May see private counts and scores; everything made with it is marked not private.
"""

from __future__ import annotations

from math import expm1, floor
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise import Counts, add_saturating, require_int64


class ResearchNoise:
    """The distributions of ``SecureNoise`` to float accuracy, from a seeded generator. NOT PRIVATE."""

    private: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = np.random.default_rng(seed)

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        """Return ``counts`` plus discrete Gaussian noise of scale ``sigma`` on each cell."""
        noise = _discrete_gaussian(require_int64(counts).size, sigma, self._rng)
        return add_saturating(counts, noise.reshape(counts.shape))

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Return ``counts`` plus discrete Laplace noise of ``scale`` on each cell."""
        noise = _discrete_laplace(require_int64(counts).size, scale, self._rng)
        return add_saturating(counts, noise.reshape(counts.shape))

    def select(self, scores: Counts, scale: float) -> int:
        """Return an index drawn with P(i) ∝ exp(scores[i] / scale), by the largest plus Gumbel noise."""
        unsigned = require_int64(scores).astype(np.uint64)  # differences first, modulo 2^64: they are exact
        below = (unsigned[scores.argmax()] - unsigned).astype(np.float64)
        return int(np.argmax(self._rng.gumbel(size=scores.size) - below / scale))

    def __repr__(self) -> str:
        return f"ResearchNoise(seed={self._seed}, NOT PRIVATE)"


def _discrete_laplace(size: int, scale: float, rng: np.random.Generator) -> Counts:
    """Return draws with P(k) ∝ exp(-|k| / scale): the difference of two geometric ones."""
    success = -expm1(-1 / scale)
    return rng.geometric(success, size) - rng.geometric(success, size)


def _discrete_gaussian(size: int, sigma: float, rng: np.random.Generator) -> Counts:
    """Return draws with P(k) ∝ exp(-k² / (2 sigma²)): Laplace proposals, kept with the ratio (Canonne et al.
    2020).
    """
    width = floor(sigma) + 1
    parts: list[Counts] = []
    missing = size
    while missing:
        proposal = _discrete_laplace(missing + missing // 2 + 16, width, rng)
        kept = proposal[rng.random(proposal.size) < _kept(proposal, sigma, width)][:missing]
        parts.append(kept)
        missing -= kept.size
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _kept(proposal: Counts, sigma: float, width: int) -> NDArray[np.float64]:
    distance = (np.abs(proposal) - sigma * (sigma / width)) / sigma
    return np.exp(-(distance**2) / 2)
