"""How strong the interactions are that a model lacks: learnt from the noisy distances of the model from the table.

Public: empirical Bayes on released numbers. The distance of a marginal that nothing measured is what the noise, the sampling
of rows and the missing interactions come to. The first two are known; what is left over tells the third. One distance is
often less than its own noise, but there are hundreds: they share a log-normal distribution of strengths, whose two
parameters are averaged over by what all distances say of them, and each marginal then has its own posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GRID = np.concatenate([[0.02], np.geomspace(0.05, 3.2, 13)])
"""Strengths: the deviation of the factor that an expected count is off by."""
CENTRES = np.log(np.geomspace(0.03, 1.5, 14))
WIDTHS = np.array([0.5, 1.0, 1.5])
PRIOR_CENTRE, PRIOR_WIDTH = np.log(0.35), 1.0
"""What is believed of the centre where no distance says anything."""
MODEL_ERROR = 0.1
"""Part of an expected distance that the expectation itself may be off by."""


@dataclass(frozen=True, eq=False)
class Strengths:
    """The distribution of strengths over marginals: a weight for each centre and width, and what these say of ``GRID``."""

    weights: Floats
    """Of each pair of a centre and a width; they add up to 1."""

    @classmethod
    def learnt(cls, likelihoods: Floats) -> Strengths:
        """Learn it from log-likelihoods: a row for each marginal, a column for each strength of ``GRID``."""
        shares = _shares()
        prior = np.repeat(-0.5 * ((CENTRES - PRIOR_CENTRE) / PRIOR_WIDTH) ** 2, len(WIDTHS))
        top = likelihoods.max(axis=1, keepdims=True)
        logs = prior + (np.log(np.exp(likelihoods - top) @ shares.T + 1e-300)).sum(axis=0)
        weights = np.exp(logs - logs.max())
        return cls(weights / weights.sum())

    def of(self, likelihood: Floats | None) -> Floats:
        """Return the probability of each strength, for a marginal with this log-likelihood (None: nothing is known)."""
        mixed: Floats = self.weights @ _shares()
        if likelihood is not None:
            mixed = mixed * np.exp(likelihood - likelihood.max())
        return np.asarray(mixed / mixed.sum())


def log_likelihood(distance: float, expected: Floats, sigma: float) -> Floats:
    """Return that of each strength, where it lets so large a distance be expected and the noise has scale ``sigma``."""
    variance = sigma**2 + (MODEL_ERROR * expected) ** 2
    return np.asarray(-0.5 * (distance - expected) ** 2 / variance - 0.5 * np.log(variance))


def _shares() -> Floats:
    """Return the share of each strength, for each pair of a centre and a width."""
    logs = np.log(GRID)
    rows = [np.exp(-0.5 * ((logs - centre) / width) ** 2) for centre in CENTRES for width in WIDTHS]
    return np.array([row / row.sum() for row in rows])
