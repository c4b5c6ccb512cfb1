"""Fits: the optimum is reached, by either solver, from any observations; what is impossible stays so."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import nnls

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import InternalError
from understudy.model import Dual, Fit, GraphicalModel, MatrixQuery, MirrorDescent, Observation, fit
from understudy.model.observation import combine, estimate_total
from understudy.privacy import Product

from .small import BruteForce, clique_sets, domains, random_zeros

CLOSE = Dual(smoothing=0.01, tolerance=1e-6)
"""As near to the unregularised optimum as is sensible to ask."""


@st.composite
def observed(draw: st.DrawFn, attributes: int = 4, *, queries: bool = False) -> tuple[Domain, list[Observation]]:
    """Draw noisy marginals of a random table of 1000 records, and random sums of their cells if asked."""
    domain = draw(domains(attributes))
    cliques = draw(clique_sets(domain)) or [domain.attributes[:1]]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    truth = rng.dirichlet(np.full(domain.cells(), 0.3)) * 1000
    found = []
    for i, clique in enumerate(cliques):
        exact = projection(domain, clique) @ truth
        if not queries or i == 0:
            found.append(_noisy(clique, exact.reshape(domain.shape(clique)), None, rng))
        if queries:
            query = MatrixQuery(rng.integers(0, 2, size=(3, exact.size)).astype(float), domain.shape(clique))
            found.append(_noisy(clique, query.matrix @ exact, query, rng))
    return domain, found


def _noisy(clique: Clique, exact: NDArray[np.float64], query: MatrixQuery | None, rng: np.random.Generator) -> Observation:
    sigma = float(rng.uniform(1, 30))
    return Observation(clique, exact + rng.normal(scale=sigma, size=exact.shape), sigma, query)


def projection(domain: Domain, clique: Clique) -> NDArray[np.float64]:
    """Return the matrix that takes the flat joint table to the flat marginal on ``clique``."""
    joint = np.eye(domain.cells()).reshape(*domain.sizes, -1)
    away = tuple(i for i, a in enumerate(domain) if a not in clique)
    return joint.sum(axis=away).reshape(domain.cells(clique), -1)


def least_loss(
    domain: Domain, observations: list[Observation], total: float, allowed: NDArray[np.bool_]
) -> tuple[float, NDArray[np.float64]]:
    """Minimise over all tables of mass ``total`` with a solver that knows nothing of models; return a best table too."""
    rows, values = [], []
    for o in observations:
        matrix = projection(domain, o.clique)
        rows.append((matrix if o.query is None else o.query.matrix @ matrix) / o.sigma)  # type: ignore[attr-defined]
        values.append(np.ravel(o.values) / o.sigma)
    heavy = 1e5 / total
    matrix = np.vstack([*rows, np.full((1, domain.cells()), heavy)])[:, allowed.ravel()]
    target = np.concatenate([*values, [heavy * total]])
    table, _ = nnls(matrix, target, maxiter=10_000)
    table *= total / table.sum()
    residual = matrix[:-1] @ table - target[:-1]
    return float(residual @ residual) / 2, table


def assert_optimal(found: Fit, observations: list[Observation], allowed: NDArray[np.bool_] | None = None) -> None:
    """Check a default fit: loss + τ total × (divergence from uniform) is not above that of the best table, but for 2 %.

    τ is at most the smoothing over the geometric mean of the standard deviations, as the solver says.
    """
    domain, total = found.model.domain, found.model.total
    everywhere = np.ones(domain.sizes, dtype=bool)
    best, table = least_loss(domain, observations, total, everywhere if allowed is None else allowed)
    tau = Dual().smoothing / np.exp(np.mean([np.log(o.sigma) for o in combine(observations)]))
    own = found.model.marginal(domain.attributes)
    excess = tau * (_negative_entropy(table) - _negative_entropy(own.ravel()))
    assert best - 1e-6 <= found.loss <= 1.02 * (best + max(0.0, excess)) + 0.05


def _negative_entropy(table: NDArray[np.float64]) -> float:
    """Return total × Σ p log p: the divergence from uniform, up to a constant."""
    positive = table[table > 0]
    return float(positive @ np.log(positive / table.sum()))


@settings(deadline=None, max_examples=40)
@given(observed())
def test_the_optimum_is_that_of_a_generic_solver(problem: tuple[Domain, list[Observation]]) -> None:
    domain, observations = problem
    found = fit(domain, observations, solver=Dual(tolerance=1e-6))
    assert_optimal(found, observations)


@settings(deadline=None, max_examples=30)
@given(observed(attributes=3, queries=True))
def test_general_queries_reach_the_same_optimum(problem: tuple[Domain, list[Observation]]) -> None:
    domain, observations = problem
    found = fit(domain, observations, solver=Dual(tolerance=1e-6))
    assert_optimal(found, observations)


@settings(deadline=None, max_examples=30)
@given(observed(), st.integers(0, 2**32))
def test_zeros_are_respected_and_cost_no_more_than_they_must(problem: tuple[Domain, list[Observation]], seed: int) -> None:
    domain, observations = problem
    zeros = random_zeros(domain, [domain.attributes[:2], domain.attributes[-2:]], np.random.default_rng(seed))
    found = fit(domain, observations, zeros=zeros, solver=Dual(tolerance=1e-6))
    possible = np.isfinite(BruteForce(GraphicalModel(domain, {}, 1.0, zeros)).joint)
    assert np.all(found.model.marginal(domain.attributes)[~possible] == 0)
    assert_optimal(found, observations, possible)


@settings(deadline=None, max_examples=30)
@given(observed(attributes=3))
def test_repeated_marginals_count_as_if_combined(problem: tuple[Domain, list[Observation]]) -> None:
    """Two observations of one marginal weigh as one of their mean: the same model, and the losses differ by a constant."""
    domain, observations = problem
    again = [Observation(o.clique, o.values[..., ::-1].copy(), 2 * o.sigma) for o in observations]
    merged = combine([*observations, *again])
    assert len(merged) == len(observations)
    together = fit(domain, [*observations, *again], solver=CLOSE, total=1000.0)
    apart = fit(domain, merged, solver=CLOSE, total=1000.0)
    for o, m in zip(observations, merged, strict=True):
        np.testing.assert_allclose(m.sigma, (o.sigma**-2 + (2 * o.sigma) ** -2) ** -0.5)
        np.testing.assert_allclose(m.values, 0.8 * o.values + 0.2 * o.values[..., ::-1])
        np.testing.assert_allclose(together.model.marginal(o.clique), apart.model.marginal(o.clique))


@settings(deadline=None, max_examples=20)
@given(observed(attributes=3))
def test_both_solvers_reach_the_same_loss(problem: tuple[Domain, list[Observation]]) -> None:
    domain, observations = problem
    dual = fit(domain, observations, solver=CLOSE)
    mirror = fit(domain, observations, solver=MirrorDescent(), max_iterations=3000)
    assert dual.loss * 0.99 - 0.1 <= mirror.loss <= dual.loss * 1.05 + 1  # slow where the noise levels differ much


@settings(deadline=None, max_examples=20)
@given(observed())
def test_more_steps_never_lose(problem: tuple[Domain, list[Observation]]) -> None:
    domain, observations = problem
    losses = [fit(domain, observations, solver=MirrorDescent(), max_iterations=k).loss for k in (1, 2, 4, 8, 16)]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(losses))


def consistent(
    domain: Domain, cliques: list[Clique], concentration: float = 1.0
) -> tuple[list[Observation], NDArray[np.float64]]:
    truth = np.random.default_rng(3).dirichlet(np.full(domain.cells(), concentration)) * 500
    return [Observation(c, (projection(domain, c) @ truth).reshape(domain.shape(c)), 0.1) for c in cliques], truth


def test_consistent_answers_are_reproduced() -> None:
    domain = Domain.of({"a": 2, "b": 3, "c": 4, "d": 1, "e": 2})
    observations, _ = consistent(domain, [("a", "b"), ("b", "c"), ("c", "d"), ("e",)])
    found = fit(domain, observations, solver=CLOSE)
    assert found.model.total == pytest.approx(500)
    for o in observations:
        np.testing.assert_allclose(found.model.marginal(o.clique), o.values, atol=0.02)


def test_one_attribute() -> None:
    found = fit(Domain.of({"a": 3}), [Observation(("a",), np.array([5.0, 0.0, 15.0]), 1.0)], solver=CLOSE)
    np.testing.assert_allclose(found.model.marginal(["a"]), [5, 0, 15], atol=0.05)


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0], [-50.0, -3.0, -7.0], [-1e6, 1e6, 5.0], [1e9, 1.0, 0.0]])
@pytest.mark.parametrize("solver", [Dual(), MirrorDescent()])
def test_odd_values_give_a_model_all_the_same(values: list[float], solver) -> None:  # type: ignore[no-untyped-def]
    found = fit(Domain.of({"a": 3, "b": 2}), [Observation(("a",), np.array(values), 10.0)], solver=solver)
    table = found.model.marginal(["a", "b"])
    assert np.all(np.isfinite(table))
    assert np.all(table >= 0)
    assert table.sum() == pytest.approx(found.model.total)
    assert found.model.total >= 1


def test_the_total_is_the_best_guess_from_all_marginals() -> None:
    """Sums 100 and 130 with variances 2·1 and 4·4: weights 8 and 1."""
    observations = [
        Observation(("a",), np.array([60.0, 40.0]), 1.0),
        Observation(("b",), np.array([60.0, 40.0, 20.0, 10.0]), 2.0),
    ]
    assert estimate_total(observations) == pytest.approx((8 * 100 + 130) / 9)
    assert fit(Domain.of({"a": 2, "b": 4}), observations).model.total == pytest.approx((8 * 100 + 130) / 9)
    assert fit(Domain.of({"a": 2, "b": 4}), observations, total=70.0).model.total == 70.0


def test_sums_that_tell_every_cell_say_the_total_too() -> None:
    """The last prefix is the total, of variance 4, beside 2 of the cells. A sum of some cells says nothing."""
    prefixes, some = Product([np.tril(np.ones((3, 3), np.int64))]), Product([np.array([[1, 1, 0]])])
    observations = combine(
        [
            Observation(("a",), np.array([60.0, 40.0]), 1.0),
            Observation(("c",), np.array([50.0, 80.0, 112.0]), 2.0, prefixes),
            Observation(("c",), np.array([900.0]), 0.1, some),
        ]
    )
    assert estimate_total(observations) == pytest.approx((2 * 100 + 112) / 3)


def test_a_warm_start_is_ahead_across_a_changed_tree() -> None:
    """A clique more closes a cycle and changes the tree; the old potentials still save most of the way."""
    domain = Domain.of(dict.fromkeys("abcde", 5))
    observations, _ = consistent(domain, [*pairwise("abcde"), ("a", "e")], concentration=0.01)
    rng = np.random.default_rng(1)
    noisy = [Observation(o.clique, o.values + rng.normal(size=(5, 5)), 1.0) for o in observations]
    solver = Dual(smoothing=0.1, tolerance=1e-5)
    first = fit(domain, noisy[:4], solver=solver)
    cold, warm = (fit(domain, noisy, start=s, solver=solver, max_iterations=2) for s in (None, first.model))
    assert warm.loss < 0.5 * cold.loss
    cold, warm = (fit(domain, noisy, start=s, solver=solver) for s in (None, first.model))
    assert warm.loss == pytest.approx(cold.loss, rel=0.02, abs=0.1)
    assert fit(domain, noisy, start=cold.model, solver=solver).iterations == 0


def test_the_result_says_how_it_ended() -> None:
    domain = Domain.of({"a": 3, "b": 2})
    observations, _ = consistent(domain, [("a", "b")])
    assert fit(domain, observations, max_iterations=1, solver=MirrorDescent()).reason == "iteration limit"
    assert fit(domain, observations, target_loss=1e9).reason == "target loss reached"
    found = fit(domain, observations, solver=CLOSE)
    assert found.reason == "converged"
    assert found.residual == pytest.approx(found.loss / 3)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf])
def test_noise_that_makes_no_sense_is_refused(sigma: float) -> None:
    with pytest.raises(InternalError, match="sigma"):
        Observation(("a",), np.zeros(2), sigma)


def test_answers_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(InternalError, match="finite"):
        Observation(("a",), np.array([0.0, np.nan]), 1.0)
    with pytest.raises(InternalError, match="at least one"):
        fit(Domain.of({"a": 2}), [])


def test_forbidden_cells_pull_nothing() -> None:
    """An answer of 100 in a cell that cannot occur leaves the cell at 0 and the rest a distribution."""
    zeros = (Zeros(("a",), np.array([[2]])),)
    found = fit(Domain.of({"a": 3}), [Observation(("a",), np.array([10.0, 20.0, 100.0]), 1.0)], zeros=zeros, total=30.0)
    table = found.model.marginal(["a"])
    assert table[2] == 0
    np.testing.assert_allclose(table[:2], [10, 20], atol=0.3)
