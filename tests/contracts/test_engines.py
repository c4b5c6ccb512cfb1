"""Every engine infers, answers and differentiates as multiplying everything out does; fits on it end in the same model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from model.small import BruteForce, counts, models, random_zeros, subsets
from understudy.domain import Domain, Zeros
from understudy.errors import SchemaError, UserError
from understudy.model import (
    CLOSER,
    Dual,
    Engine,
    GraphicalModel,
    MatrixQuery,
    MirrorDescent,
    Observation,
    Solver,
    fit,
    make_engine,
    rounding_distance,
)
from understudy.model.network import Network
from understudy.model.observation import Layout
from understudy.model.sums import Sum

from . import dense
from .engines import UNDER_CONTRACT, made

BELOW_DOUBLES = 1e-250
"""Probabilities so small that the products they come from may underflow."""
DOMAIN = Domain.of({"a": 3, "b": 4, "c": 2, "d": 5, "e": 3})
CHAIN = list(pairwise(DOMAIN))
ZERO = Zeros(("b", "c"), np.array([[0, 1], [2, 0]]))
TIGHT = Dual(tolerance=1e-10)
EVERYTHING = subsets(DOMAIN, 5)


@pytest.fixture(params=UNDER_CONTRACT)
def under_test(request: pytest.FixtureRequest) -> Engine:
    return made(request.param)


def on(model: GraphicalModel, under_test: Engine) -> GraphicalModel:
    return GraphicalModel(model.domain, model.parameters, model.total, model.zeros, engine=under_test)


def chained(magnitude: float, zeros: tuple[Zeros, ...] = (), total: float = 1000.0) -> GraphicalModel:
    rng = np.random.default_rng(5)
    return GraphicalModel(DOMAIN, {pair: magnitude * rng.uniform(-1, 1, DOMAIN.shape(pair)) for pair in CHAIN}, total, zeros)


def observed(seed: int = 0) -> list[Observation]:
    """Noisy answers about overlapping marginals, one of them a general query."""
    rng = np.random.default_rng(seed)
    answers = [Observation(pair, rng.uniform(0, 200, DOMAIN.shape(pair)), 5.0 + i) for i, pair in enumerate(CHAIN)]
    matrix = rng.integers(0, 2, (3, DOMAIN.cells(("a", "c")))).astype(np.float64)
    query = MatrixQuery(matrix, DOMAIN.shape(("a", "c")))
    return [*answers, Observation(("a", "c"), rng.uniform(0, 500, 3), 4.0, query)]


@pytest.mark.parametrize("name", UNDER_CONTRACT)
def test_every_marginal_and_log_z_of_random_models_with_zeros(name: str) -> None:
    """Random trees, parts, nested cliques, zeros, and potentials up to 1000, which need logarithms."""
    engine = made(name)

    @settings(deadline=None, max_examples=60)
    @given(models())
    def holds(drawn: GraphicalModel) -> None:
        model, truth = on(drawn, engine), BruteForce(drawn)
        assert np.isclose(model.log_z, truth.log_z, rtol=1e-9, atol=1e-9)
        for clique, got in zip(subsets(drawn.domain), model.marginals(subsets(drawn.domain)), strict=True):
            np.testing.assert_allclose(got, truth.marginal(clique), rtol=1e-9, atol=drawn.total * BELOW_DOUBLES)
            assert np.all(got[np.isneginf(truth.log_marginal(clique))] == 0), f"{clique}: a forbidden cell is not 0"

    holds()


@pytest.mark.parametrize("magnitude", [0.0, 1.0, 40.0, 3000.0])
@pytest.mark.parametrize("zeros", [(), (ZERO,)], ids=["", "zeros"])
def test_marginals_inside_and_outside_of_the_cliques(under_test: Engine, magnitude: float, zeros: tuple[Zeros, ...]) -> None:
    model = on(chained(magnitude, zeros), under_test)
    truth = BruteForce(model)
    for clique, got in zip(EVERYTHING, model.marginals(EVERYTHING), strict=True):
        assert isinstance(got, np.ndarray)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, truth.marginal(clique), rtol=1e-9, atol=1e-240, err_msg=str(clique))


def test_single_precision_is_right_to_a_hundred_thousandth(under_test: Engine) -> None:
    model = on(chained(5.0, (ZERO,)), under_test)
    exact = model.marginals(EVERYTHING)
    for rough, want in zip(model.marginals(EVERYTHING, precision="single"), exact, strict=True):
        np.testing.assert_allclose(rough, want, rtol=1e-4, atol=1e-5 * model.total)
        assert np.all(np.asarray(rough)[want == 0] == 0)


@pytest.mark.parametrize("zeros", [(), (ZERO,)], ids=["", "zeros"])
def test_answers_are_the_gradient_of_log_z(under_test: Engine, zeros: tuple[Zeros, ...]) -> None:
    """Against central differences, at random parameters; forbidden cells have gradient 0."""
    layout = Layout(Network(DOMAIN, [o.clique for o in observed()], zeros), observed())
    objective = under_test.objective(layout)
    at = np.random.default_rng(1).uniform(-1, 1, layout.values.size)

    def log_z(parameters: NDArray[np.float64]) -> float:
        return objective.evaluate(under_test.vector(parameters))[1]

    answers, _ = objective.evaluate(under_test.vector(at))
    step = 1e-5 * np.eye(at.size)
    slopes = [(log_z(at + one) - log_z(at - one)) / 2e-5 for one in step]
    np.testing.assert_allclose(under_test.numpy(answers), slopes, rtol=1e-6, atol=1e-8)


def test_a_later_step_changes_nothing_that_was_handed_out(under_test: Engine) -> None:
    """The memory that steps share must not show."""
    layout = Layout(Network(DOMAIN, [o.clique for o in observed()], (ZERO,)), observed())
    objective, rng = under_test.objective(layout), np.random.default_rng(2)
    first, second = (under_test.vector(rng.uniform(-1, 1, layout.values.size)) for _ in range(2))
    answers, log_z = objective.evaluate(first)
    calibrated = objective.calibrate(first)
    before = under_test.numpy(answers).copy()
    objective.evaluate(second)
    np.testing.assert_array_equal(under_test.numpy(answers), before)
    np.testing.assert_allclose(calibrated.log_z, log_z, rtol=1e-12)
    again = [table.ravel() for table in calibrated.marginals([o.clique for o in layout.observations], 1.0, "double")]
    np.testing.assert_allclose(layout.forward(np.concatenate(again)), before, rtol=1e-9)


@pytest.mark.parametrize(
    "solver", [TIGHT, replace(CLOSER, tolerance=TIGHT.tolerance), MirrorDescent()], ids=["dual", "closer", "mirror"]
)
@pytest.mark.parametrize("zeros", [(), (ZERO,)], ids=["", "zeros"])
def test_a_fit_ends_where_it_ends_on_numpy(under_test: Engine, solver: Solver[Any], zeros: Sequence[Zeros]) -> None:
    """The optimum is one; stopped early, fits would differ by the rounding on their way."""
    limit = 40 if isinstance(solver, MirrorDescent) else 2000
    want = fit(DOMAIN, observed(), zeros=zeros, solver=solver, max_iterations=limit)
    got = fit(DOMAIN, observed(), zeros=zeros, solver=solver, max_iterations=limit, engine=under_test)
    assert got.reason == want.reason
    assert got.model.engine is under_test
    for table, wanted in zip(got.model.marginals(EVERYTHING), want.model.marginals(EVERYTHING), strict=True):
        np.testing.assert_allclose(table, wanted, atol=1e-6 * want.model.total)
        assert np.array_equal(table == 0, wanted == 0)


def test_a_fit_to_exact_answers_reproduces_them_and_starts_warm(under_test: Engine) -> None:
    truth = chained(1.0)
    exact = [Observation(pair, truth.marginal(pair), 0.01) for pair in CHAIN]
    found = fit(DOMAIN, exact, total=truth.total, engine=under_test)
    assert found.reason == "converged"
    for o in exact:
        np.testing.assert_allclose(found.model.marginal(o.clique), o.values, atol=0.05)
    again = fit(DOMAIN, exact, total=np.float64(truth.total), start=found.model, engine=under_test)
    assert again.iterations == 0


def test_rows_are_as_near_to_the_model_as_rounding_allows(under_test: Engine) -> None:
    model = on(chained(2.0, (ZERO, *random_zeros(DOMAIN, [("d", "e")], np.random.default_rng(4)))), under_test)
    rows = model.generate(500, np.random.default_rng(3))
    for pair in CHAIN:
        found = counts(DOMAIN, rows, pair)
        assert np.abs(found - model.marginal(pair) / 2).sum() <= rounding_distance(model, pair, 500).most + 1e-6
        assert np.all(found[model.marginal(pair) == 0] == 0)


def test_refined_rows_come_nearer_on_all_triples_and_keep_off_the_zeros(under_test: Engine) -> None:
    wall = Zeros(("a", "c", "e"), np.argwhere(np.random.default_rng(3).random((3, 2, 3)) < 0.3))
    model = on(chained(1.0, (ZERO, wall)), under_test)
    triples = subsets(DOMAIN, 3)
    rounded, refined, again = (
        model.generate(2000, np.random.default_rng(3), near=near) for near in (None, *[dict.fromkeys(triples, 1.0)] * 2)
    )

    def distance(rows: NDArray[np.int32]) -> float:
        expected = zip(triples, model.marginals(triples), strict=True)
        return sum(float(np.abs(counts(DOMAIN, rows, clique) - 2.0 * table).sum()) for clique, table in expected)

    assert distance(refined) < 0.6 * distance(rounded)
    np.testing.assert_array_equal(refined, again)
    for zero in model.zeros:
        assert np.all(counts(DOMAIN, refined, zero.clique)[tuple(np.asarray(zero.cells).T)] == 0)


def test_rows_where_logarithms_are_needed(under_test: Engine) -> None:
    model = on(chained(2000.0), under_test)
    mode = np.unravel_index(BruteForce(model).joint.argmax(), DOMAIN.sizes)
    assert np.all(model.generate(50, np.random.default_rng(3)) == mode)


def test_a_conditioned_model_stays_on_its_engine(under_test: Engine) -> None:
    model = on(chained(1.0), under_test)
    held = model.given({"c": 1})
    assert held.engine is under_test
    np.testing.assert_allclose(held.marginal(["a"]), model.marginal(["a", "c"])[:, 1])


def test_zeros_that_leave_nothing_are_refused(under_test: Engine) -> None:
    nothing = [Zeros(("a",), np.arange(3)[:, None]), Zeros(("c", "d"), np.argwhere(np.ones((2, 5), bool)))]
    only_together = (
        Zeros(("a", "c"), np.argwhere(np.ones((3, 2)) * [1, 0])),
        Zeros(("c", "e"), np.argwhere(np.ones((2, 3)) * [[0], [1]])),
    )
    for zeros in ((nothing[0],), (nothing[1],), only_together):
        with pytest.raises(SchemaError, match="forbid every"):
            _ = on(GraphicalModel(DOMAIN, {}, 1.0, zeros), under_test).log_z


def test_vectors_go_in_and_come_out_as_they_are(under_test: Engine) -> None:
    values = np.random.default_rng(0).normal(size=7)
    vector = under_test.vector(values)
    np.testing.assert_array_equal(under_test.numpy(vector), values)
    half = 0.5 * (vector + 2.0 * vector) / 3.0 - vector
    np.testing.assert_allclose(under_test.numpy(half), -values / 2)
    np.testing.assert_array_equal(under_test.numpy(1.0 / vector.clip(min=0.5)), 1.0 / np.maximum(values, 0.5))
    assert float(vector @ vector) == pytest.approx(float(values @ values))
    assert float(abs(-vector).max()) == np.abs(values).max()


@pytest.mark.parametrize("remembered", [0, 1, 5])
def test_the_inverse_curvature_is_that_of_the_bfgs_formula(under_test: Engine, remembered: int) -> None:
    """Against matrices: H ← (1 - ρ s yᵀ) H (1 - ρ y sᵀ) + ρ s sᵀ for each pair, from a diagonal."""
    rng = np.random.default_rng(remembered)
    diagonal, gradient = rng.uniform(0.5, 2, 7), rng.normal(size=7)
    steps = rng.normal(size=(remembered, 7))
    changes = steps @ (np.eye(7) + 0.1 * np.ones((7, 7)))
    rhos = [1.0 / float(s @ y) for s, y in zip(steps, changes, strict=True)]
    inverse = np.diag(diagonal)
    for s, y, rho in zip(steps, changes, rhos, strict=True):
        turned = np.eye(7) - rho * np.outer(s, y)
        inverse = turned @ inverse @ turned.T + rho * np.outer(s, s)
    memory = [(under_test.vector(s), under_test.vector(y), rho) for s, y, rho in zip(steps, changes, rhos, strict=True)]
    first = under_test.vector(diagonal)
    found = under_test.two_loop(under_test.vector(gradient), memory, lambda q: q * first)
    np.testing.assert_allclose(under_test.numpy(found), inverse @ gradient, rtol=1e-10)


TABLES = [
    [((7,), (0,))],
    [((5, 3, 4), (1,)), ((5, 3, 4), (0, 2)), ((5, 3, 4), ()), ((5, 3, 4), (0, 1, 2))],
    [((30, 40), (0,)), ((30, 40), (1,)), ((2, 3), (0,))],
    [((9, 20, 11), (axis,)) for axis in range(3)] + [((3, 9, 50), (1,)), ((3, 9, 50), (2,)), ((600, 2, 3), (1,))],
    [((4, 9, 8, 7), over) for over in [(1, 2), (0, 3), (0, 1, 2, 3), ()]] + [((1, 1), (0, 1)), ((), ())],
]


@pytest.mark.parametrize("tables", TABLES)
def test_tables_are_summed_by_place_and_handed_back(under_test: Engine, tables: list[tuple[Any, Any]]) -> None:
    """Small tables and large ones, several sums of each; sums that meet at the same places; cells and places of none."""
    rng, sums, starts, cells, place = np.random.default_rng(len(tables)), list[Sum](), dict[Any, int](), 3, 0
    for shape, over in tables:
        if shape not in starts:
            starts[shape], cells = cells, cells + int(np.prod(shape)) + 2
        sums.append(Sum(starts[shape], shape, over, place // 2))
        place += sums[-1].sums
    places = max(one.place + one.sums for one in sums) + 2
    numbers, by_place = rng.normal(size=cells), rng.normal(size=places)
    folded, unfolded = np.zeros(places), np.zeros(cells)
    for one in sums:
        table = numbers[one.start : one.start + one.cells].reshape(one.shape)
        folded[one.place : one.place + one.sums] += table.sum(axis=one.over).ravel()
        handed = np.expand_dims(by_place[one.place : one.place + one.sums].reshape(table.sum(axis=one.over).shape), one.over)
        unfolded[one.start : one.start + one.cells] += np.broadcast_to(handed, one.shape).ravel()
    folding = under_test.folding(sums, cells, places)
    np.testing.assert_allclose(under_test.numpy(folding.fold(under_test.vector(numbers))), folded, atol=1e-11)
    np.testing.assert_allclose(under_test.numpy(folding.unfold(under_test.vector(by_place))), unfolded, atol=1e-12)


def test_engines_are_asked_for_by_name() -> None:
    assert make_engine("numpy").name == "numpy"
    with pytest.raises(UserError, match='no engine "nunpy"'):
        make_engine("nunpy")


def test_a_whole_engine_fits_in_sixty_lines() -> None:
    lines = Path(dense.__file__).read_text().splitlines()
    assert len([line for line in lines if line.strip()]) < 60
