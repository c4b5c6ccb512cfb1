"""Shrinkage of noisy marginals towards what a model said before they were measured: empirical Bayes. Public numbers only.

The residual R = y - p, cell by cell, is a departure from the model plus noise N(0, σ²). Departures are taken to come from a
mixture of N(0, (s p^g)²) over a grid of s, with a wide one for what stands out; its weights are those of the largest
likelihood (Stephens' adaptive shrinkage), and so is g out of 0, ½ and 1. Each cell is moved ``PART`` of the way from its
value to its posterior mean. The sum of the marginal stays: what was taken off is spread over all its cells, which changes
no fit (the total of a model is fixed, so a constant in every cell moves nothing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.model.observation import Observation, combine

Floats = NDArray[np.float64]

PART = 0.5
"""Not all the way: the model of then was made before later measurements corrected it."""
SPREADS = np.concatenate([[0.0], np.geomspace(0.05, 20, 9)])
"""s, in units of σ for a typical cell."""
POWERS = (0.0, 0.5, 1.0)
WIDE = 10.0
"""The spread of what stands out, in σ."""
LEAST_COUNT = 0.05
"""Expected counts below this count as this."""
STEPS = 30
"""Of the EM algorithm."""
FEWEST = 30
"""Among fewer cells there is too little to learn a mixture from: they are left as they are."""


def shrunk(observations: Sequence[Observation], before: Mapping[Clique, Floats]) -> list[Observation]:
    """Return the observations, repeated ones combined, each drawn towards ``before`` where that says what was expected."""
    return [_drawn(o, before[o.clique]) if _fit_for_it(o, before) else o for o in combine(observations)]


def _fit_for_it(observation: Observation, before: Mapping[Clique, Floats]) -> bool:
    return observation.query is None and observation.clique in before and observation.values.size >= FEWEST


def _drawn(observation: Observation, before: Floats) -> Observation:
    residual = observation.values - before
    off = PART * (1 - kept_of(residual, before, observation.sigma)) * residual
    return Observation(observation.clique, observation.values - off + off.mean(), observation.sigma)


def kept_of(residual: Floats, before: Floats, sigma: float) -> Floats:
    """Return the part of each residual that its posterior mean keeps, shaped; among few cells all of it."""
    if residual.size < FEWEST:
        return np.ones(residual.shape)
    expected = np.maximum(np.asarray(before, dtype=np.float64).ravel(), LEAST_COUNT)
    return _kept(residual.ravel(), expected, sigma).reshape(residual.shape)


def _kept(residual: Floats, before: Floats, sigma: float) -> Floats:
    """Return the part of each residual that the posterior mean keeps, by the power that explains them best."""
    found = [_posterior(residual, _variances(before, power, sigma), sigma**2) for power in POWERS]
    return max(found, key=lambda one: one[0])[1]


def _variances(before: Floats, power: float, sigma: float) -> Floats:
    """Return the variance of a departure, for each component of the mixture and each cell."""
    scale = before**power
    scale *= sigma / np.sqrt(np.mean(scale**2))
    signal = (SPREADS[:, None] * scale) ** 2
    return np.concatenate([signal, np.full((1, before.size), (WIDE * sigma) ** 2)])


def _posterior(residual: Floats, signal: Floats, noise: float) -> tuple[float, Floats]:
    """Fit the mixture's weights by EM; return the log-likelihood, and the part of each residual that is kept on average."""
    total = signal + noise
    logs = -0.5 * (np.log(total) + residual**2 / total)
    top = logs.max(axis=0)
    likely, weights = np.exp(logs - top), np.full(len(signal), 1.0 / len(signal))
    for _ in range(STEPS):
        share = weights[:, None] * likely
        share /= share.sum(axis=0)
        weights = share.mean(axis=1) + 1e-12
        weights /= weights.sum()
    likelihood = float((np.log((weights[:, None] * likely).sum(axis=0)) + top).sum())
    return likelihood, (share * (signal / total)).sum(axis=0)
