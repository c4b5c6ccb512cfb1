"""Train on synthetic, test on real: what a classifier learns from each table, tried on rows that neither has.

NOT PRIVATE where the tables are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.errors import UserError
from understudy.measures.learning import OneHot, area_under_curve, fit_logistic
from understudy.measures.rows import Rows

MOST_CLASSES = 50
MOST_ROWS, MOST_VALUES = 50_000, 4_000_000
"""A classifier is trained on at most so many rows, and so many values."""
SEED = 1
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Learnt:
    """How well a classifier did on the held-out rows."""

    rows: int
    """That it was trained on."""
    accuracy: float
    auc: float | None
    """Area under the ROC curve; of several classes, the mean of each against the others. None where there is one class."""


@dataclass(frozen=True)
class Prediction:
    """Predicting a column from all others."""

    target: str
    classes: int
    tested: int
    """Held-out rows."""
    real: Learnt
    """Trained on the real table."""
    synthetic: Learnt
    """Trained on the synthetic one."""
    most_frequent: float
    """The accuracy of always naming the most frequent class of the real table."""


def require_target(domain: Domain, target: str) -> None:
    """Refuse a column that cannot be a target."""
    if domain[target] > MOST_CLASSES:
        raise UserError(
            f'The target "{target}" has {domain[target]:,} values or bins; choose a column with at most {MOST_CLASSES}.'
        )
    if len(domain) < 2:
        raise UserError(f'There is no column to predict "{target}" from.')


def predict(target: str, real: Rows, made: Rows, held: Rows) -> Prediction:
    """Train on ``real`` and on ``made``, and test both on ``held``."""
    domain = real.schema.domain
    most = max(1, min(MOST_ROWS, MOST_VALUES // len(domain)))
    rng = np.random.default_rng(SEED)
    ours, theirs, test = (rows.some(most, rng) for rows in (real, made, held))
    if not len(ours) or not len(theirs) or not len(test):
        raise UserError("A table without rows teaches nothing: the real, the synthetic and the held-out one all need rows.")
    position = domain.index(target)
    common = int(np.bincount(ours[:, position]).argmax())
    return Prediction(
        target,
        domain[target],
        len(test),
        _learnt(domain, position, ours, test),
        _learnt(domain, position, theirs, test),
        float((test[:, position] == common).mean()),
    )


def _learnt(domain: Domain, position: int, train: Codes, test: Codes) -> Learnt:
    others = [i for i in range(len(domain)) if i != position]
    sizes = tuple(domain.sizes[i] for i in others)
    model = fit_logistic(OneHot(train[:, others], sizes), train[:, position], domain.sizes[position])
    chances = model.probabilities(OneHot(test[:, others], sizes))
    truth = test[:, position]
    areas = [area_under_curve(chances[:, k], truth == k) for k in _named(chances.shape[1])]
    known = [area for area in areas if area is not None]
    accuracy = float((chances.argmax(axis=1) == truth).mean())
    return Learnt(len(train), accuracy, float(np.mean(known)) if known else None)


def _named(classes: int) -> range:
    """Return the classes to average over: of two, one says all."""
    return range(1, 2) if classes == 2 else range(classes)
