"""Sums of numeric columns that are asked for at the end of a run: which, and for how much each. Public numbers only.

What a mechanism measures says how many rows each value has, and its noise on few rows of large values moves the mean and
the total of a column most. One noisy sum of the column tells these directly. It is the sum of clipped values, less a
middle: the larger the largest weight, the more noise it takes. Where to clip, and how much each column gets, follows from
what is known of its counts by then (``anchors.Known``): the expected relative errors of all means together fall fastest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.mechanism.anchors import Known

FINE = 2**16
"""The largest weight of a sum: weights are whole numbers."""
ENDS = 24
"""So many values are tried as ends to clip at."""
MIDDLES = (0.0, 0.5, 1.0)
"""What is taken off lies so far on the way from the mean to halfway between both ends."""
PARTS = 40
"""What there is to spend is given out in so many parts."""
AROUND_ZERO = 0.25
"""A mean nearer to 0 than this part of the mean size of values is as large as that: errors are relative to it."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of one column that may be asked for, with what each would tell of the mean."""

    weights: Floats
    """One sum a row, the largest weight 1."""
    variance: float
    """Of the total about its mean, as it is known now; errors are relative, so it is that of a share."""
    explained: Floats
    own: Floats
    """Of each sum: its squared covariance with the total, and its own variance, without the noise."""
    noise: float
    """The variance of the noise on a sum that costs 1."""

    @classmethod
    def of(cls, known: Known, values: Floats, counted: NDArray[np.bool_], noise: float) -> Sums | None:
        """Return the sums of a column whose codes have these values; codes not ``counted`` have none (missing)."""
        rows = np.where(counted, known.counts, 0.0)
        largest = float(np.abs(values[counted]).max(initial=0.0))
        if rows.sum() <= 0 or largest <= 0:
            return None
        values = values / largest  # errors are relative, and squares of declared numbers may be beyond floats
        mean = float(rows @ values) / float(rows.sum())
        size = max(abs(mean), AROUND_ZERO * float(rows @ np.abs(values)) / float(rows.sum())) * float(rows.sum())
        target = np.where(counted, values - mean, 0.0)
        clipped = _clipped(values, rows, counted)
        if size <= 0 or not len(clipped):
            return None
        explained = known.covariance(target, clipped) ** 2 / size**2
        own = known.covariance(clipped, clipped) + known.of_rows(clipped)
        return cls(clipped, float(known.covariance(target, target)) / size**2, explained, own, noise)

    def left(self, rho: float) -> tuple[float, int]:
        """Return the relative deviation of the mean once the best sum is told for ``rho``, and which sum that is."""
        if rho <= 0:
            return self.variance**0.5, 0
        told = self.explained / (self.own + self.noise / rho)
        best = int(np.argmax(told))
        return max(self.variance - float(told[best]), 0.0) ** 0.5, best


def _clipped(values: Floats, rows: Floats, counted: NDArray[np.bool_]) -> Floats:
    """Return weights: values between two ends, less a middle; their largest is 1."""
    levels = np.unique(values[counted])
    levels = levels[np.unique(np.linspace(0, len(levels) - 1, ENDS).round().astype(int))]
    found = []
    for i, low in enumerate(levels):
        for high in levels[i + 1 :]:
            inside = np.clip(values, low, high)
            mean = float(rows @ inside) / float(rows.sum())
            for part in MIDDLES:
                weights = np.where(counted, inside - (mean + part * ((low + high) / 2 - mean)), 0.0)
                found.append(weights / np.abs(weights).max())
    return np.array(found)


def shared(columns: Mapping[str, Sums], rho: float) -> dict[str, float]:
    """Return what each column's sum may cost, ``rho`` in all: part by part to where the relative error falls most."""
    found = dict.fromkeys(columns, 0.0)
    part = rho / PARTS
    now = {name: sums.left(0.0)[0] for name, sums in columns.items()}
    then = {name: sums.left(part)[0] for name, sums in columns.items()}
    for _ in range(PARTS if columns else 0):
        name = max(columns, key=lambda one: now[one] - then[one])
        found[name] += part
        now[name], then[name] = then[name], columns[name].left(found[name] + part)[0]
    return {name: cost for name, cost in found.items() if cost > 0}
