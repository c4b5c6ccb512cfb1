"""The classifier finds the optimum of its objective; the area under the curve is what its definition says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from understudy.measures.learning import OneHot, area_under_curve, fit_logistic


def made(rows: int, classes: int, seed: int = 0) -> tuple[OneHot, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 3, rows), rng.integers(0, 5, rows)]).astype(np.int32)
    return OneHot(codes, (3, 5)), (codes[:, 0] + (rng.random(rows) < 0.3)) % classes


@pytest.mark.parametrize("classes", [2, 4])
def test_the_fit_is_the_optimum_that_scipy_finds(classes: int) -> None:
    features, truth = made(400, classes)
    dense = np.column_stack([np.eye(3)[features.codes[:, 0]], np.eye(5)[features.codes[:, 1]]])

    def loss(flat: np.ndarray) -> float:
        weights = flat.reshape(9, classes - 1)
        logits = np.column_stack([np.zeros(400), dense @ weights[1:] + weights[0]])
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return float(-logs[np.arange(400), truth].sum() + np.square(weights[1:]).sum() / 2)

    best = optimize.minimize(loss, np.zeros(9 * (classes - 1)))
    found = fit_logistic(features, truth, classes)
    assert loss(np.vstack([found.intercept, found.weights]).reshape(-1)) == pytest.approx(best.fun, rel=1e-6)
    assert found.probabilities(features).sum(axis=1) == pytest.approx(np.ones(400))


def test_parameters_that_can_be_told_apart_are_counted() -> None:
    features = OneHot(np.array([[0, 1], [2, 1], [0, 1]], np.int32), (4, 5))
    assert features.parameters == 1 + 1 + 0
    crossed = features.crossed([(0, 1)])
    assert crossed.sizes == (4, 5, 20)
    assert crossed.codes[:, 2].tolist() == [1, 11, 1]


def test_area_under_the_curve_by_hand() -> None:
    scores, positive = np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, False, True, True])
    assert area_under_curve(scores, positive) == pytest.approx((2 + 1.5) / 4)
    assert area_under_curve(-scores, positive) == pytest.approx(1 - (2 + 1.5) / 4)
    assert area_under_curve(scores, np.zeros(4, bool)) is None
