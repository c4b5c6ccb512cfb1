"""Broken noises, kept on purpose: each breaks one promise, and a test shows that the check of that promise
rejects it.
"""

from __future__ import annotations

import numpy as np

from understudy.privacy.noise import Counts, Noise


class HalfScale:
    """Half the noise that is paid for. On selection this is also the coefficient that only monotone scores
    allow.
    """

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self.private = noise.private

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        return self._noise.gaussian(counts, sigma / 2)

    def laplace(self, counts: Counts, scale: float) -> Counts:
        return self._noise.laplace(counts, scale / 2)

    def select(self, scores: Counts, scale: float) -> int:
        return self._noise.select(scores, scale / 2)


class PermuteAndFlip(HalfScale):
    """Another private selection, with other probabilities than the exponential mechanism's."""

    def __init__(self, noise: Noise) -> None:
        super().__init__(noise)
        self._rng = np.random.default_rng(5)

    def select(self, scores: Counts, scale: float) -> int:
        top = scores.max()
        for i in self._rng.permutation(scores.size):
            if self._rng.random() < np.exp((scores[i] - top) / scale):
                return int(i)
        raise AssertionError("the best candidate is always kept")


class ThroughFloat32(HalfScale):
    """Counts that take a detour through float32, as on a graphics card."""

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        return self._noise.gaussian(counts.astype(np.float32).astype(np.int64), sigma)


class ThroughFloat64(HalfScale):
    """Counts that take a detour through float64."""

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        return self._noise.gaussian(counts.astype(np.float64).astype(np.int64), sigma)


class Wrapping(HalfScale):
    """Noise drawn apart and added in int64 arithmetic, which wraps round at its ends."""

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        return counts + self._noise.gaussian(np.zeros_like(counts), sigma)
