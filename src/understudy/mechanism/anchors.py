"""One-way marginals for the last fit, from all that was measured of a column. Public: noisy answers alone.

A fit keeps every cell of every marginal at or above zero, so the noise on thousands of empty cells adds up to rows that are
not there, most of them in the rare values of a column; its mean and its total suffer first. What all measurements say of the
column alone, averaged by inverse variance and then made a distribution, errs half as much. The last fit is held to it.

Clipping that average at zero would still leave rows in tails that are empty: half of the noise. Codes that stand next to
each other have similar counts, so each count is first drawn towards a part of the larger one beside it, by as much as the
noise says (a posterior mean), unless it stands out: a value that many rows share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.model import Observation

FIRM = 10.0
"""An anchor counts as if its noise were so many times smaller than it is."""

FALL = 0.4
"""What is expected of a code, as a part of the larger count beside it; it may be off by as much as itself."""
SPIKES, END_SPIKES = 0.1, 0.5
"""How often a code stands out from those beside it; the first and the last of a column do more often."""
HIGH = 5.0
"""By how many deviations of the noise, about."""
FIRMLY = 3.0
"""Counts of so many deviations make room for the others when all must add up."""

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
    sigma = float(weights.sum() ** -0.5)
    return Observation((attribute,), settled(mean, sigma, total), sigma / FIRM)


def _summed(observation: Observation, attribute: str) -> tuple[Floats, float]:
    """Sum the other columns out; return the rows of each value, and the variance of their noise."""
    axis = observation.clique.index(attribute)
    values = observation.values.sum(axis=tuple(i for i in range(observation.values.ndim) if i != axis))
    return values, observation.sigma**2 * observation.values.size / values.size


def settled(values: Floats, sigma: float, total: float) -> Floats:
    """Return noisy counts of neighbouring codes as counts of at least 0 that add up to ``total``."""
    spikes = np.full(len(values), SPIKES)
    spikes[[0, -1]] = END_SPIKES
    rising = _one_by_one(values, spikes, sigma)
    falling = _one_by_one(values[::-1], spikes[::-1], sigma)[::-1]
    beside = np.maximum(np.append(0.0, rising[:-1]), np.append(falling[1:], 0.0))
    found = _posterior(values, FALL * beside, spikes, sigma)
    firm = found > FIRMLY * sigma
    left = total - float(found[~firm].sum())
    if left <= 0 or not firm.any():
        return on_simplex(values, total)
    found[firm] = on_simplex(found[firm], left)
    return found


def _one_by_one(values: Floats, spikes: Floats, sigma: float) -> Floats:
    """Return each count as the one before it, already settled, lets expect."""
    found = np.maximum(values, 0.0)
    for i in range(1, len(values)):
        found[i : i + 1] = _posterior(values[i : i + 1], FALL * found[i - 1 : i], spikes[i : i + 1], sigma)
    return found


def _posterior(values: Floats, expected: Floats, spikes: Floats, sigma: float) -> Floats:
    """Return the means of counts, given noisy ones: off from what is expected by as much as that is, or anything above."""
    off, noise = values - expected, sigma**2
    likely = expected**2 + expected + noise
    high = likely + HIGH**2 * noise
    odds = (1 - spikes) / spikes * np.sqrt(high / likely) * np.exp(-0.5 * off**2 * (1 / likely - 1 / high))
    spike = np.where(off > 0, 1 / (1 + odds), 0.0)
    found: Floats = np.maximum(expected + off * (spike + (1 - spike) * (1 - noise / likely)), 0.0)
    return found


def on_simplex(values: Floats, total: float) -> Floats:
    """Return the nearest numbers of at least 0 that add up to ``total``."""
    falling = np.sort(values)[::-1]
    above = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(falling > above)[-1])
    return np.asarray(np.maximum(values - above[last], 0.0), dtype=np.float64)
