"""An upper bound on a distance that was only seen through noise: ‖a - b‖₁ from ‖a + z - b‖₁.

Public: it sees a released measurement and the public estimate that was made before it. Lemma 4 of
docs/bounds.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.privacy import Measurement
from understudy.privacy.noise import NoiseKind
from understudy.uncertainty.tails import LARGEST_LATTICE, Floats, half, log_mgf

Counts = NDArray[np.int64]

SLOPES = (1.0, 1.5, 3.0)
"""How steeply an excess of distance is charged: 1 suits a poor estimate, 3 one that is right up to the noise.

Each gets a third of the failure probability, so the least of the three bounds may be used.
"""


def distance_bound(measurement: Measurement, estimate: Counts, beta: float) -> float:
    """Return U with P(‖M(D) - estimate‖₁ > U) ≤ ``beta``; ``estimate`` must be fixed before the noise was
    drawn.

    Cells where the estimate is zero need no absolute value (counts are not negative), so noise averages out
    there.
    """
    seen = (measurement.values - estimate).reshape(-1)
    empty = estimate.reshape(-1) == 0
    signed, folded = float(seen[empty].sum()), float(np.abs(seen[~empty]).sum())
    seen_as = _Cells(measurement.noise, measurement.scale, int(empty.sum()), int((~empty).sum()))
    share = beta / len(SLOPES)
    return max(0.0, min(signed + slope * folded + _margin(seen_as, slope, share) for slope in SLOPES))


@dataclass(frozen=True)
class _Cells:
    """What is public about a measurement before it is looked at; ``empty`` cells have an estimate of zero."""

    noise: NoiseKind
    scale: float
    empty: int
    full: int


@lru_cache(maxsize=1024)
def _margin(cells: _Cells, slope: float, beta: float) -> float:
    """Return what Lemma 4 adds to ``Σ_empty y + slope Σ_full |y - c|``, at the t that suits a perfect
    estimate.

    t is chosen from public sizes alone, before the measurement is looked at.
    """
    if slope > 1 and (cells.scale > LARGEST_LATTICE or cells.full == 0):
        return inf
    spread = cells.scale if cells.noise == "gaussian" else sqrt(2) * cells.scale
    centre = sqrt(2 * log(1 / beta) / (cells.empty + cells.full)) / (spread * slope)
    steepest = (6.0 if cells.noise == "gaussian" else 0.5) / (slope * cells.scale)  # where lattice sums are safe
    tried = np.minimum(centre * np.geomspace(0.2, 5, 17), steepest)
    parts = [_parts(cells, slope, float(t), beta) for t in tried]
    return min(parts, key=lambda part: part[1])[0]


def _parts(cells: _Cells, slope: float, t: float, beta: float) -> tuple[float, float]:
    """Return the margin at (slope, t), and the bound that it would give were the estimate exact."""
    signed = cells.empty * _drift(cells.noise, cells.scale, t)
    mean, excess = _folded(cells.noise, cells.scale, slope, slope * t) if cells.full else (0.0, 0.0)
    margin = signed + cells.full * excess + log(1 / beta) / t
    return margin, margin + slope * cells.full * mean


def _drift(noise: NoiseKind, scale: float, t: float) -> float:
    """log E exp(t z) / t: what a signed cell may fall short of its mean by, on the scale of t."""
    return float(log_mgf(noise, scale, np.array([t]))[0]) / t


@lru_cache(maxsize=4096)
def _folded(noise: NoiseKind, scale: float, slope: float, t: float) -> tuple[float, float]:
    """Return E|z|, and max_d (|d| - slope · κ(d)) with κ(d) = -log E exp(-t |d + z|) / t."""
    limit = _drift(noise, scale, t)  # |d| - κ(d) never exceeds this
    if slope == 1 or scale > LARGEST_LATTICE:
        return sqrt(2 / pi) * scale if noise == "gaussian" else scale, limit
    k, p = half(noise, scale)
    kappa = _kappa(k, p, t)
    beyond = float(k[-1]) * (1 - slope) + slope * limit  # every larger d gives less than this
    return float(p @ k), max(float(np.max(k - slope * kappa)), beyond)


def _kappa(k: Floats, p: Floats, t: float) -> Floats:
    """κ(d) for d = k: E exp(-t |d+z|) is a sum over z ≥ -d and one over z < -d, both kept running."""
    two = np.concatenate([p[:0:-1] / 2, p[:1], p[1:] / 2])  # P(z) for z = -reach … reach
    z = np.concatenate([-k[:0:-1], k])
    above = np.cumsum((two * np.exp(-t * z))[::-1])[::-1]  # E[exp(-tz); z ≥ z_j]
    below = np.concatenate([[0.0], np.cumsum(two * np.exp(t * z))])  # E[exp(tz); z < z_j]
    j = len(k) - 1 - np.arange(len(k))  # where z = -d
    return np.asarray(-np.log(np.exp(-t * k) * above[j] + np.exp(t * k) * below[j]) / t)
