"""Bounds and intervals for marginals that a measurement contains: Theorems 1 and 3 of docs/bounds.md.

Public: from released measurements alone. Which measurements there are depends on the noise of earlier ones, so each is
used by itself with a share of the failure probability, and their average with a radius that no choice can spoil.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.privacy import Measurement
from understudy.uncertainty.estimator import Seen, averaged, seen
from understudy.uncertainty.tails import cell_radius, l1_radius

Floats = NDArray[np.float64]

FIRST, AVERAGE, LATER = 0.4, 0.5, 0.1
"""Shares of the failure probability: for the first measurement that contains the marginal, for the average of all, and for
all later ones by themselves. They are fixed before anything is drawn."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Counts with one radius for all cells: ``values`` ± ``radius`` holds the truth."""

    values: Floats
    radius: float
    sigma: float


def distance(clique: Clique, found: Sequence[Seen], target: Floats, beta: float) -> float:
    """Return U with P(‖M_r(D) - target‖₁ > U) ≤ ``beta``, for any public target (Theorem 1)."""
    ways = [
        (one.values, l1_radius(one.terms(), beta * share)) for one, share in zip(found, _shares(len(found)), strict=True)
    ]
    if _can_average(found):
        mean = averaged(clique, found)
        ways.append((mean.values, average_radius(found[0].variances, mean.precision, AVERAGE * beta)))
    return min(_through(values, radius, target) for values, radius in ways)


def reading(
    measurements: Sequence[Measurement], clique: Clique, beta: float, *, together: int = 1, at_once: int = 1
) -> Reading | None:
    """Return the counts of ``clique`` with the least radius, or None when no measurement contains it (Theorem 3).

    Any ``at_once`` sums of ``together`` cells are all within the radius with probability 1 - ``beta``.
    """
    found = [replace(one, repeats=one.repeats * together) for one in seen(measurements, clique)]
    if not found:
        return None
    share = beta / at_once
    ways = []
    for one, part in zip(found, _shares(len(found)), strict=True):
        ((term, _),) = one.terms()
        ways.append(Reading(one.values, cell_radius((term,), part * share), sqrt(term.variance)))
    if _can_average(found):
        mean = averaged(clique, found)
        one_cell = average_radius(found[0].variances.reshape(-1)[:1], mean.precision.reshape(-1)[:1], AVERAGE * share)
        ways.append(Reading(mean.values, one_cell, mean.sigma))
    return min(ways, key=lambda way: way.radius)


def rows_bound(measurements: Sequence[Measurement], beta: float) -> float:
    """Return a number that the rows of the table exceed with probability at most ``beta``."""
    total = reading(measurements, (), beta)
    return inf if total is None else max(0.0, float(total.values) + total.radius)


def average_radius(first: Floats, precision: Floats, beta: float) -> float:
    """Return R with P(‖M_r(D) - ȳ‖₁ > R) ≤ ``beta``, however measurements were chosen (Lemma 6). Gaussian noise only.

    ``first`` are the variances of the first measurement, cell by cell; ``precision`` is that of the average.
    """
    noisy = np.isfinite(precision)
    if not noisy.any():
        return 0.0
    v = precision[noisy]
    u = v * first[noisy] / sqrt(precision.size)  # τ² v, with τ² settled when the first measurement is about to be made
    most = float(np.log1p(u).sum()) + 2 * log(1 / beta)
    return sqrt(most * float(((1 + u) / (u * v)).sum()))


def _through(values: Floats, radius: float, target: Floats) -> float:
    """‖target - y⁺‖₁ + R - ‖y⁻‖₁, since counts are not negative and ‖y - M(D)‖₁ ≤ R."""
    positive = np.maximum(values, 0.0)
    used_up = float((positive - values).sum())
    return float(np.abs(target - positive).sum()) + max(0.0, radius - used_up)


def _shares(count: int) -> list[float]:
    """Return the share of each measurement by itself; what is still to come never needs more than ``LATER``."""
    return [FIRST, *(LATER / (j * (j + 1)) for j in range(1, count))]


def _can_average(found: Sequence[Seen]) -> bool:
    return len(found) > 1 and all(one.noise == "gaussian" for one in found)
