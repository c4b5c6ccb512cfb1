"""A classifier that tries to tell real rows from synthetic ones: pMSE, and the area under the ROC curve.

NOT PRIVATE where one of the tables is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from understudy.measures.learning import OneHot, area_under_curve, fit_logistic
from understudy.measures.rows import Rows

MOST_ROWS, MOST_VALUES = 10_000, 1_000_000
"""Of each table, at most so many rows, and so many values."""
MOST_PAIRS, MOST_CELLS = 60, 4_096
"""Pairs of columns whose combinations the classifier sees: so many, drawn at random of those with so few cells."""
SEED = 2
LOOSE = 1e-3
"""The penalty of the fit behind pMSE, whose null expectation is that of a fit without one."""


@dataclass(frozen=True)
class Distinction:
    """How well real rows can be told from synthetic ones."""

    rows: int
    """Of each table."""
    pmse: float
    """Mean squared distance of the propensity scores from 1/2, by logistic regression on all columns (Snoke et al. 2018)."""
    pmse_ratio: float
    """Over what is expected of rows drawn from a right model of the table, (k - 1)/(8 N): 1 is perfect, as in synthpop.

    Two independent samples of one population have 2; a table that matches the counts better than a draw has less than 1.
    """
    auc: float
    """Of a logistic regression on columns and pairs, fitted to half of the rows and tried on the others: 1/2 is perfect."""
    pairs: int
    """Pairs whose combinations that regression saw."""


def distinguish(real: Rows, made: Rows) -> Distinction | None:
    """Try to tell the tables apart; None where one has fewer than 2 rows."""
    domain, rng = real.schema.domain, np.random.default_rng(SEED)
    most = max(2, min(MOST_ROWS, MOST_VALUES // len(domain), real.sampled, made.sampled))
    ours, theirs = real.some(most, rng), made.some(most, rng)
    if min(len(ours), len(theirs)) < 2:
        return None
    features = OneHot(np.concatenate([ours, theirs]), domain.sizes)
    synthetic = np.arange(2 * most) >= most
    pmse = _pmse(features, synthetic)
    expected = (features.parameters - 1) / 8 / len(synthetic)
    pairs = _pairs(domain.sizes, rng)
    auc = _auc(features.crossed(pairs), synthetic, rng)
    return Distinction(most, pmse, pmse / expected if expected else 1.0, auc, len(pairs))


def _pmse(features: OneHot, synthetic: np.ndarray) -> float:
    scores = fit_logistic(features, synthetic.astype(np.intp), 2, LOOSE).probabilities(features)[:, 1]
    return float(np.square(scores - synthetic.mean()).mean())


def _pairs(sizes: tuple[int, ...], rng: np.random.Generator) -> list[tuple[int, int]]:
    small = [(a, b) for a, b in combinations(range(len(sizes)), 2) if sizes[a] * sizes[b] <= MOST_CELLS]
    if len(small) <= MOST_PAIRS:
        return small
    return [small[i] for i in np.sort(rng.choice(len(small), MOST_PAIRS, replace=False))]


def _auc(features: OneHot, synthetic: np.ndarray, rng: np.random.Generator) -> float:
    """Fit on half of each table, try on the other half."""
    half = len(synthetic) // 4
    order = np.concatenate([rng.permutation(np.flatnonzero(synthetic == kind)) for kind in (False, True)])
    ours, theirs = np.split(order, 2)
    fitted, tried = np.concatenate([ours[:half], theirs[:half]]), np.concatenate([ours[half:], theirs[half:]])
    model = fit_logistic(features.take(fitted), synthetic[fitted].astype(np.intp), 2)
    area = area_under_curve(model.probabilities(features.take(tried))[:, 1], synthetic[tried])
    return 0.5 if area is None else area
