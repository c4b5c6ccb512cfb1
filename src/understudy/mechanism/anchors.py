"""One-way marginals for the last fit, from all that was measured of a column. Public: noisy answers alone.

A fit keeps every cell of every marginal at or above zero, so the noise on thousands of empty cells adds up to rows that are
not there, most of them in the rare values of a column; its mean and its total suffer first. What all measurements say of the
column alone, averaged by inverse variance and then made a distribution, errs half as much. The last fit is held to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.model import Observation

FIRM = 10.0
"""An anchor counts as if its noise were so many times smaller than it is."""

Floats = NDArray[np.float64]


def anchored(observations: Sequence[Observation], attributes: Iterable[str], total: float) -> list[Observation]:
    """Return the observations, and an anchor for each of ``attributes`` that was measured."""
    anchors = [_anchor(observations, attribute, total) for attribute in attributes]
    return [*observations, *(anchor for anchor in anchors if anchor is not None)]


def _anchor(observations: Sequence[Observation], attribute: str, total: float) -> Observation | None:
    """Return the column's rows by all marginals that have it, none below zero, ``total`` in all."""
    plain = [o for o in observations if o.query is None and attribute in o.clique]
    if not plain or total <= 0:
        return None
    summed = [_summed(o, attribute) for o in plain]
    weights = np.array([1 / variance for _, variance in summed])
    mean = sum((w * values for w, (values, _) in zip(weights, summed, strict=True)), np.zeros(1)) / weights.sum()
    return Observation((attribute,), on_simplex(mean, total), float(weights.sum() ** -0.5) / FIRM)


def _summed(observation: Observation, attribute: str) -> tuple[Floats, float]:
    """Sum the other columns out; return the rows of each value, and the variance of their noise."""
    axis = observation.clique.index(attribute)
    values = observation.values.sum(axis=tuple(i for i in range(observation.values.ndim) if i != axis))
    return values, observation.sigma**2 * observation.values.size / values.size


def on_simplex(values: Floats, total: float) -> Floats:
    """Return the nearest numbers of at least 0 that add up to ``total``."""
    falling = np.sort(values)[::-1]
    above = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(falling > above)[-1])
    return np.asarray(np.maximum(values - above[last], 0.0), dtype=np.float64)
