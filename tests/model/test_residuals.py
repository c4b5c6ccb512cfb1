"""Overlapping marginals are combined before a fit, exactly; what they share is not moved several times over."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.model import NUMPY, Observation, fit
from understudy.model.observation import combine
from understudy.model.preconditioner import Preconditioner
from understudy.model.problem import Point, Problem
from understudy.privacy import Matrix as LinearMatrix

from .small import clique_sets

Matrix = NDArray[np.float64]
Numbers = Any
"""Vectors of NumPy's, where an engine's are expected, or came back."""


def projection(domain: Domain, clique: Clique) -> Matrix:
    """Return the matrix that takes the flat joint table to the flat marginal on ``clique``."""
    joint = np.eye(domain.cells()).reshape(*domain.sizes, -1)
    away = tuple(i for i, a in enumerate(domain) if a not in clique)
    return np.asarray(joint.sum(axis=away).reshape(domain.cells(clique), -1))


def centring(domain: Domain, clique: Clique) -> Matrix:
    """Return the matrix that centres every axis of a flat table on ``clique``."""
    matrix: Matrix = np.ones((1, 1))
    for a in clique:
        matrix = np.asarray(np.kron(matrix, np.eye(domain[a]) - 1 / domain[a]), dtype=np.float64)
    return matrix


@st.composite
def problems(draw: st.DrawFn) -> tuple[Problem, np.random.Generator]:
    """Draw noisy marginals that overlap and disagree; some of them lie inside others."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    domain = Domain(tuple("abcd"[: len(sizes)]), tuple(sizes))
    cliques = draw(clique_sets(domain)) or [domain.attributes[:1]]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    inside = [c[1:] for c in cliques if len(c) > 1][: draw(st.integers(0, 2))]
    found = [Observation(c, 50 + rng.normal(scale=9, size=domain.shape(c)), rng.uniform(1, 9)) for c in (*cliques, *inside)]
    return Problem(domain, found, (), 1000.0, NUMPY), rng


def answers(problem: Problem, table: Matrix) -> Numbers:
    domain = problem.residuals.domain
    return np.concatenate([projection(domain, clique) @ table for clique in problem.residuals.cliques])


@settings(deadline=None, max_examples=40)
@given(problems())
def test_the_loss_is_that_of_all_the_observations(drawn: tuple[Problem, np.random.Generator]) -> None:
    problem, rng = drawn
    domain = problem.residuals.domain
    table = rng.dirichlet(np.ones(domain.cells())) * problem.total
    found = problem.loss(Point(np.zeros(0), answers(problem, table), 0.0))
    errors = [(projection(domain, o.clique) @ table - o.values.ravel()) / o.sigma for o in problem.observations]
    assert found == pytest.approx(sum(float(e @ e) for e in errors) / 2)


@settings(deadline=None, max_examples=40)
@given(problems())
def test_the_combined_marginals_are_the_least_squares_of_all(drawn: tuple[Problem, np.random.Generator]) -> None:
    """Beside a generic solver's, over all tables of the total, with negative cells allowed."""
    problem, _ = drawn
    domain = problem.residuals.domain
    rows = [projection(domain, o.clique) / o.sigma for o in problem.observations]
    heavy = 1e4
    matrix = np.vstack([*rows, np.full((1, domain.cells()), heavy)])
    target = np.concatenate([*(o.values.ravel() / o.sigma for o in problem.observations), [heavy * problem.total]])
    best = np.linalg.lstsq(matrix, target, rcond=None)[0]
    combined: Numbers = problem.values
    np.testing.assert_allclose(combined, answers(problem, best), atol=1e-3)
    residual = matrix[:-1] @ best - target[:-1]
    assert problem.inconsistency == pytest.approx(float(residual @ residual) / 2, rel=1e-4, abs=1e-4)


@settings(deadline=None, max_examples=40)
@given(problems())
def test_the_pull_weighs_the_residuals_of_the_potentials(drawn: tuple[Problem, np.random.Generator]) -> None:
    """½ θ·Qθ is half the sum over all sets of the squared residual of the potentials over the precision of the answers'."""
    problem, rng = drawn
    domain, cliques = problem.residuals.domain, problem.residuals.cliques
    theta: Numbers = rng.normal(size=problem.layout.values.size)
    joint = sum(projection(domain, c).T @ piece for c, piece in zip(cliques, problem.layout.split(theta), strict=True))
    told = combine(problem.observations)
    expected = 0.0
    for s in {s for c in cliques for k in range(1, len(c) + 1) for s in combinations(c, k)}:
        mean = projection(domain, s) @ joint * domain.cells(s) / domain.cells()
        residual = centring(domain, s) @ mean
        precision = sum(domain.cells(s) / (o.sigma**2 * o.values.size) for o in told if set(s) <= set(o.clique))
        expected += float(residual @ residual) / precision
    assert float(theta @ problem.pull(theta)) == pytest.approx(expected)


@settings(deadline=None, max_examples=40)
@given(problems())
def test_the_preconditioner_is_symmetric_and_positive(drawn: tuple[Problem, np.random.Generator]) -> None:
    problem, rng = drawn
    size = problem.layout.values.size
    one: Numbers = rng.normal(size=size)
    two: Numbers = rng.normal(size=size)
    diagonal: Numbers = rng.uniform(0.1, 100, size)
    by = Preconditioner.of(problem, diagonal)
    assert float(one @ by(two)) == pytest.approx(float(two @ by(one)), rel=1e-6, abs=1e-9)
    assert by.square(one) == pytest.approx(float(one @ by(one)))
    assert by.square(one) >= 0


def test_where_attributes_are_independent_the_preconditioner_undoes_the_overlap() -> None:
    """Three pairs share ``a``. B times a change of the answers is a change of the potentials that brings it about."""
    domain = Domain.of({"a": 3, "b": 2, "c": 4, "d": 2})
    pairs = [("a", "b"), ("a", "c"), ("a", "d")]
    problem = Problem(domain, [Observation(p, np.ones(domain.shape(p)), 1.0) for p in pairs], (), 1000.0, NUMPY)
    rng = np.random.default_rng(5)
    joint: Matrix = np.ones(1)
    for a in domain:
        joint = np.asarray(np.kron(joint, rng.dirichlet(np.full(domain[a], 3.0))), dtype=np.float64)
    features = np.vstack([projection(domain, p) for p in pairs])
    curvature = 1000.0 * (features * joint @ features.T - np.outer(features @ joint, features @ joint))
    gradient: Numbers = curvature @ rng.normal(size=features.shape[0])
    counts: Numbers = 1000.0 * features @ joint
    moved: Numbers = Preconditioner.of(problem, counts)(gradient)
    np.testing.assert_allclose(curvature @ moved, gradient, rtol=1e-6, atol=1e-6)


def test_marginals_that_disagree_are_fitted_in_few_steps() -> None:
    """Every pair of four attributes, and each alone, all with noise of their own: 530 steps where each has its say."""
    domain = Domain.of(dict.fromkeys("abcd", 6))
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.full(domain.cells(), 0.01)) * 100_000
    found = []
    for clique in [*combinations(domain, 2), *((a,) for a in domain)]:
        exact = (projection(domain, clique) @ truth).reshape(domain.shape(clique))
        found.append(Observation(clique, exact + rng.normal(scale=20, size=exact.shape), 20.0))
    fitted = fit(domain, found)
    assert fitted.reason == "converged"
    assert fitted.iterations <= 130


def test_a_fit_needs_no_marginal_that_was_measured_cell_by_cell() -> None:
    """Nothing tells how many rows there are, so the model has a mass of 1; it used to fail."""
    asked = LinearMatrix(np.array([[1, 1, 0], [0, 1, 1]]), (3,))
    model = fit(Domain.of({"a": 3, "b": 2}), [Observation(("a",), np.array([0.5, 0.75]), 0.01, asked)]).model
    assert model.total == 1.0
    np.testing.assert_allclose(model.marginal(("a",)), [0.25, 0.25, 0.5], atol=0.02)
