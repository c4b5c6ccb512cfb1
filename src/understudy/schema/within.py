"""How the rows of a column lie inside its bins, how uncertain that still is, and what a sum of the column tells of it.

Public: computed from noisy answers. A *finer code* is one of ``Binned.rounded``; each lies in one code of the column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.looks import Looks
from understudy.schema.spread import spread_of
from understudy.schema.weights import fine_weights

Floats = NDArray[np.float64]

CLOSE = 1e-6
"""A sum is what it should be when no more than this part of it is missing."""
PASSES = 20
"""So often at most what is missing is shared out: rows that would go below 0 leave the rest to others."""
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Within:
    """The rows of each finer code, and the variance of each; those of a bin together are taken as they are."""

    bins: NDArray[np.integer]
    """The code that each lies in; rising, and none is left out."""
    rows: Floats
    variances: Floats

    @classmethod
    def of(cls, column: Binned, rows: Floats, looks: Looks) -> Within:
        """Return it by noisy counts of the finer bins; ``rows`` are those of the codes.

        As many rows as are expected may be missing, or there may be as many more.
        """
        counts, variances = looks.rounded(column)
        weights = fine_weights(column, rows, counts, variances)
        inside = np.append(weights, rows[column.places.ordinary :])
        likely = inside**2 + inside
        return cls(column.coarse_of_rounded, inside, variances * likely / (likely + np.maximum(variances, TINY)))

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        return np.searchsorted(self.bins, np.arange(int(self.bins[-1]) + 1))

    def _summed(self, numbers: Floats) -> Floats:
        """Add up what lies in the same bin, along the last axis."""
        return np.asarray(np.add.reduceat(numbers, self._starts, axis=-1))

    def per_row(self, weights: Floats) -> Floats:
        """Return what a row of each bin has of a sum by these weights, on average."""
        whole = self._summed(self.rows)
        number = self._summed(np.ones(len(self.rows)))
        shares = np.where(whole[self.bins] > 0, self.rows / np.maximum(whole, TINY)[self.bins], 1 / number[self.bins])
        return self._summed(shares * weights)

    def covariance(self, one: Floats, other: Floats) -> Floats:
        """Return that of two sums, by their weights in the last axis; the rows of each bin add up, whatever they are."""
        spread = self.variances
        apart = self._summed(spread * one) * self._summed(spread * other) / np.maximum(self._summed(spread), TINY)
        return np.asarray((spread * one * other).sum(axis=-1) - apart.sum(axis=-1))

    def told(self, weights: Floats, answer: float, variance: float) -> Within:
        """Return how rows lie once a sum is told, with noise of this variance: a posterior mean."""
        held = max(float(self.covariance(weights, weights)), 0.0)
        expected = float(weights @ self.rows)
        goal = expected + held / max(held + variance, TINY) * (answer - expected)
        return replace(self, rows=self.moved(weights, goal))

    def moved(self, weights: Floats, goal: float) -> Floats:
        """Return rows with which a sum is ``goal``: each moved by how uncertain it is, none below 0, as many in each bin."""
        rows, spread, whole = self.rows, self.variances, self._summed(self.rows)
        for _ in range(PASSES):
            middle = self._summed(spread * weights) / np.maximum(self._summed(spread), TINY)
            way = spread * (weights - middle[self.bins])
            step = float(weights @ way)
            if step <= 0 or abs(goal - float(weights @ rows)) <= CLOSE * abs(goal):
                break
            rows = np.maximum(rows + (goal - float(weights @ rows)) / step * way, 0.0)
            rows = rows * (whole / np.maximum(self._summed(rows), TINY))[self.bins]
            spread = np.where(rows > 0, spread, 0.0)
        return rows


def fine_values(column: Binned) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the value in the middle of each finer bin, and which finer codes have one: all but missing."""
    assert column.rounded is not None
    spread = spread_of(column.rounded, None)
    return spread.means(), np.isin(np.arange(column.rounded.size), spread.codes())
