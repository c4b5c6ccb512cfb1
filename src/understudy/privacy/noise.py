"""What a source of noise must do, and the integer arithmetic that they share.

May see private counts and scores: a noise source gets exact numbers and gives back noisy ones.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InternalError

Counts = NDArray[np.int64]
NoiseKind = Literal["gaussian", "laplace"]

INT64 = np.iinfo(np.int64)


class Noise(Protocol):
    """Draws noise on integers. ``private`` says whether what it makes may be released."""

    @property
    def private(self) -> bool:
        """Whether the noise comes from the secure generator."""
        ...

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        """Return ``counts`` plus discrete Gaussian noise: P(k) ∝ exp(-k² / (2 sigma²)), saturating, same
        shape.
        """
        ...

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Return ``counts`` plus discrete Laplace noise: P(k) ∝ exp(-|k| / scale), saturating, same shape."""
        ...

    def select(self, scores: Counts, scale: float) -> int:
        """Return an index, drawn with P(i) ∝ exp(scores[i] / scale)."""
        ...


def require_int64(values: Counts) -> Counts:
    """Return ``values``; anything but int64 is our own mistake, since a detour through floats would lose
    counts.
    """
    if not isinstance(values, np.ndarray) or values.dtype != np.int64:
        raise InternalError("Counts and scores must be int64 arrays on their way to the noise.")
    return values


def add_saturating(a: Counts, b: Counts) -> Counts:
    """Return ``a + b``; a sum beyond int64 stops at its nearest end instead of wrapping round."""
    total = np.add(a, b)
    wrapped = ((a ^ total) & (b ^ total)) < 0
    return np.where(wrapped, np.where(a < 0, INT64.min, INT64.max), total)
