"""Logistic regression on codes, and the area under the ROC curve: enough to ask what a table teaches.

Pure functions on arrays. One learner, without settings to tune, so that figures of different releases can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

STEPS, MEMORY, FLAT = 100, 10, 1e-5
"""L-BFGS: steps at most, steps that it remembers, and the largest slope at which it stops."""


@dataclass(frozen=True, eq=False)
class OneHot:
    """Rows × features, each feature a code below its size: what logistic regression sees as that many indicators."""

    codes: NDArray[np.int32]
    sizes: tuple[int, ...]

    @property
    def indicators(self) -> int:
        """Columns of the design matrix, without the intercept."""
        return sum(self.sizes)

    @property
    def parameters(self) -> int:
        """What can be told apart: an intercept, and of each feature one less than the values that occur."""
        occurring = [len(np.unique(self.codes[:, i])) for i in range(len(self.sizes))]
        return 1 + sum(number - 1 for number in occurring if number)

    def times(self, weights: Floats) -> Floats:
        """Return the design matrix times weights (indicators × classes)."""
        found = np.zeros((len(self.codes), weights.shape[1]))
        start = 0
        for i, size in enumerate(self.sizes):
            found += weights[start : start + size][self.codes[:, i]]
            start += size
        return found

    def transposed(self, rows: Floats) -> Floats:
        """Return the transposed design matrix times rows × classes."""
        parts = [
            np.column_stack([np.bincount(self.codes[:, i], rows[:, k], size) for k in range(rows.shape[1])])
            for i, size in enumerate(self.sizes)
        ]
        return np.concatenate([np.zeros((0, rows.shape[1])), *parts])

    def crossed(self, pairs: Sequence[tuple[int, int]]) -> OneHot:
        """Add the combinations of some pairs of features."""
        more = [self.codes[:, a] * self.sizes[b] + self.codes[:, b] for a, b in pairs]
        sizes = (*self.sizes, *(self.sizes[a] * self.sizes[b] for a, b in pairs))
        return OneHot(np.column_stack([self.codes, *more]).astype(np.int32), sizes)

    def take(self, rows: Ints) -> OneHot:
        """Return some of the rows."""
        return OneHot(self.codes[rows], self.sizes)


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted multinomial logistic regression; the first class is the one the others are compared with."""

    intercept: Floats
    weights: Floats

    def probabilities(self, features: OneHot) -> Floats:
        """Return the probability of each class for each row."""
        return np.exp(_log_probabilities(features.times(self.weights) + self.intercept))


def fit_logistic(features: OneHot, classes: Ints, number: int, ridge: float = 1.0) -> Logistic:
    """Fit by maximum likelihood with a penalty of ``ridge``/2 times the squared weights (not on the intercept)."""
    rows, others = len(classes), number - 1
    truth = np.zeros((rows, number))
    truth[np.arange(rows), classes] = 1.0

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(-1, others)
        intercept, rest = weights[0], weights[1:]
        logs = _log_probabilities(features.times(rest) + intercept)
        surplus = (np.exp(logs) - truth)[:, 1:]
        slope = np.vstack([surplus.sum(axis=0), features.transposed(surplus) + ridge * rest]) / rows
        loss = -float(logs[np.arange(rows), classes].sum()) + ridge / 2 * float(np.square(rest).sum())
        return loss / rows, slope.reshape(-1)

    found = minimise(objective, np.zeros((1 + features.indicators) * others)).reshape(-1, others)
    return Logistic(found[0], found[1:])


def _log_probabilities(logits: Floats) -> Floats:
    full = np.column_stack([np.zeros(len(logits)), logits])
    top = full.max(axis=1, keepdims=True)
    shifted = full - top
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def minimise(objective: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """Minimise a smooth convex function by L-BFGS with a backtracking line search."""
    at, (value, slope) = start, objective(start)
    steps: list[tuple[Floats, Floats]] = []
    for _ in range(STEPS):
        if np.abs(slope).max(initial=0.0) < FLAT:
            break
        direction = -_inverse_curvature(slope, steps)
        length = 1.0 if steps else 1.0 / max(float(np.abs(slope).sum()), 1e-300)
        descent = float(direction @ slope)
        while True:
            there = at + length * direction
            lower, next_slope = objective(there)
            if lower <= value + 1e-4 * length * descent:
                break
            length /= 2
            if length < 1e-12:
                return at
        move, turn = there - at, next_slope - slope
        if float(move @ turn) > 1e-12 * float(turn @ turn):
            steps = [*steps[-MEMORY + 1 :], (move, turn)]
        at, value, slope = there, lower, next_slope
    return at


def _inverse_curvature(slope: Floats, steps: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Apply the inverse Hessian as the last steps know it, by the two-loop recursion."""
    found, shares = slope.copy(), []
    for move, turn in reversed(steps):
        share = float(move @ found) / float(move @ turn)
        shares.append(share)
        found -= share * turn
    if steps:
        move, turn = steps[-1]
        found *= float(move @ turn) / float(turn @ turn)
    for (move, turn), share in zip(steps, reversed(shares), strict=True):
        found += (share - float(turn @ found) / float(move @ turn)) * move
    return found


def area_under_curve(scores: Floats, positive: NDArray[np.bool_]) -> float | None:
    """Return the chance that a positive row scores above a negative one, ties counted half; None without both kinds."""
    ours, theirs = np.sort(scores[~positive]), scores[positive]
    if not len(ours) or not len(theirs):
        return None
    below, up_to = np.searchsorted(ours, theirs, side="left"), np.searchsorted(ours, theirs, side="right")
    return float((below + up_to).mean() / 2 / len(ours))
