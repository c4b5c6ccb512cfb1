"""Checks of samples against exact distributions. Each says whether the sample passes at ``FALSE_ALARM``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-9
"""The probability that one check rejects a correct sampler, by the χ² and normal limits. At the counts used here the true
tails are heavier, by a factor of five at most; all checks of one run of the tests together stay below 1e-6.
"""

_LEAST_EXPECTED = 40.0


def gaussian_weights(k: NDArray[np.int64], sigma: float) -> NDArray[np.float64]:
    return np.exp(-(k.astype(float) ** 2) / (2 * sigma**2))


def laplace_weights(k: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    return np.exp(-np.abs(k) / scale)


def exact_noise(
    weights: Callable[[NDArray[np.int64], float], NDArray[np.float64]], scale: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all integers that matter (beyond them lies less than 1e-15) and their exact probabilities."""
    reach = int(40 * scale) + 40
    k = np.arange(-reach, reach + 1)
    weight = weights(k, scale)
    return k, weight / weight.sum()


def fits_counts(observed: NDArray[np.int64], probabilities: NDArray[np.float64]) -> bool:
    """χ² of observed counts against exact probabilities; neighbours are pooled to expect 40 or more."""
    starts = _pools(probabilities * observed.sum())
    o, e = np.add.reduceat(observed, starts), np.add.reduceat(probabilities * observed.sum(), starts)
    return bool(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(e) - 1) > FALSE_ALARM)


def _pools(expected: NDArray[np.float64]) -> list[int]:
    """Return where each pool of bins starts; what is left over at the end joins the last."""
    before = np.cumsum(expected) - expected
    last = int(np.searchsorted(before, before[-1] + expected[-1] - _LEAST_EXPECTED))
    starts = [0]
    for i in range(1, last):
        if before[i] - before[starts[-1]] >= _LEAST_EXPECTED:
            starts.append(i)
    return starts


def fits_noise(draws: NDArray[np.int64], k: NDArray[np.int64], probabilities: NDArray[np.float64]) -> bool:
    """χ² of integer draws against their exact distribution; a draw beyond all of ``k`` fails at once."""
    if draws.min() < k[0] or draws.max() > k[-1]:
        return False
    return fits_counts(np.bincount(draws - k[0], minlength=k.size), probabilities)


def fits_moments(draws: NDArray[np.int64], k: NDArray[np.int64], probabilities: NDArray[np.float64]) -> bool:
    """Mean and variance against the exact ones, each within what half of ``FALSE_ALARM`` allows."""
    x = k.astype(float)
    variance, fourth = float((probabilities * x**2).sum()), float((probabilities * x**4).sum())
    limit = float(stats.norm.isf(FALSE_ALARM / 4))
    sample = draws.astype(float)
    mean_off = abs(sample.mean()) / np.sqrt(variance / sample.size)
    square_off = abs((sample**2).mean() - variance) / np.sqrt((fourth - variance**2) / sample.size)
    return bool(max(mean_off, square_off) < limit)
