"""A mixture of products answers, conditions, generates and is saved as its definition says; its fits follow the loss."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.errors import FormatError, SchemaError, UserError
from understudy.model import Mixture, Observation, fit, load_model, relax, relaxation, save_model
from understudy.model.observation import MatrixQuery
from understudy.model.relaxation import Problem

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 2, "d": 5})
EVERY = [c for size in range(5) for c in combinations(DOMAIN, size)]


def mixture(seed: int = 0, components: int = 7, total: float = 500.0) -> Mixture:
    rng = np.random.default_rng(seed)
    tables = tuple(rng.dirichlet(np.full(size, 0.5), components) for size in DOMAIN.sizes)
    return Mixture(DOMAIN, tables, rng.dirichlet(np.ones(components)), total)


def joint(model: Mixture) -> NDArray[np.float64]:
    parts = zip(model.weights, *model.tables, strict=True)
    return model.total * sum(w * np.einsum("a,b,c,d->abcd", *rows) for w, *rows in parts)


def summed(table: NDArray[np.float64], clique: tuple[str, ...]) -> NDArray[np.float64]:
    return np.asarray(table.sum(axis=tuple(i for i, a in enumerate(DOMAIN) if a not in clique)))


@given(st.integers(0, 50))
def test_every_marginal_is_that_of_the_joint_distribution(seed: int) -> None:
    model = mixture(seed)
    whole = joint(model)
    for precision, least in (("double", 1e-12), ("single", 1e-6)):
        for clique, found in zip(EVERY, model.marginals(EVERY, precision=precision), strict=True):  # type: ignore[arg-type]
            np.testing.assert_allclose(found, summed(whole, clique), atol=least * model.total)
    np.testing.assert_allclose(model.marginal(["d", "a"]), summed(whole, ("a", "d")).T)


def test_some_components_at_a_time_are_as_good_as_all(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mixture()
    want = model.marginals(EVERY)
    monkeypatch.setattr("understudy.model.mixture.AT_ONCE", 30)
    for found, wanted in zip(model.marginals(EVERY), want, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_given_values_are_exact() -> None:
    model, whole = mixture(), joint(mixture())
    held = model.given({"b": 2, "d": 1})
    np.testing.assert_allclose(held.total, whole[:, 2, :, 1].sum())
    np.testing.assert_allclose(held.marginal(["a", "c"]), whole[:, 2, :, 1])
    rows = model.generate(40, np.random.default_rng(0), {"b": 2}, near={("a", "b"): 1.0})
    assert np.all(rows[:, 1] == 2)
    with pytest.raises(SchemaError, match="cannot be fixed at 4"):
        model.given({"b": 4})
    never = Mixture(DOMAIN, (np.tile([1.0, 0, 0], (7, 1)), *model.tables[1:]), model.weights, 1.0)
    with pytest.raises(SchemaError, match="No record can have a = 1"):
        never.given({"a": 1})


@pytest.mark.parametrize("method", ["round", "sample"])
def test_generated_rows_are_the_models(method: str) -> None:
    """200,000 rows are within 5 standard deviations of a sample in each of 120 cells: false alarms below 1e-4."""
    model = mixture()
    rows = model.generate(200_000, np.random.default_rng(1), method=method)  # type: ignore[arg-type]
    want = joint(model) * (200_000 / model.total)
    got = np.bincount(np.ravel_multi_index(tuple(rows.T), want.shape), minlength=want.size).reshape(want.shape)
    assert np.all(np.abs(got - want) <= 5 * np.sqrt(want) + 1)


def test_rounding_keeps_each_column_near() -> None:
    model = mixture()
    rows = model.generate(1_000, np.random.default_rng(2))
    for i, attribute in enumerate(DOMAIN):
        off = np.bincount(rows[:, i], minlength=DOMAIN[attribute]) - model.marginal([attribute]) * 2
        assert np.abs(off).max() <= 2 * model.weights.size


@pytest.mark.parametrize(("rows", "method", "says"), [(-1, "round", "-1 rows"), (2, "best", 'no method "best"')])
def test_what_cannot_be_generated_is_refused(rows: int, method: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        mixture().generate(rows, np.random.default_rng(0), method=method)  # type: ignore[arg-type]
    assert mixture().generate(0, np.random.default_rng(0)).shape == (0, 4)


@pytest.mark.parametrize("fixed", [{}, {"b": 2}])
def test_a_saved_mixture_comes_back(tmp_path: Path, fixed: dict[str, int]) -> None:
    model = mixture().given(fixed) if fixed else mixture()
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    assert isinstance(again, Mixture)
    assert list(again.told()) == list(model.told())
    assert again.total == model.total
    assert [z.clique for z in again.zeros] == [z.clique for z in model.zeros]
    assert again.size == model.size


def test_numbers_that_are_no_probabilities_are_damage(tmp_path: Path) -> None:
    model = mixture()
    wrong = [
        Mixture(DOMAIN, (model.tables[0] * 1.1, *model.tables[1:]), model.weights, 1.0),
        Mixture(DOMAIN, model.tables, model.weights - np.array([1, -1, 0, 0, 0, 0, 0]), 1.0),
    ]
    for one in wrong:
        save_model(one, tmp_path)
        with pytest.raises(FormatError, match="do not add up to 1"):
            load_model(tmp_path)


def observations(seed: int = 0, sigma: float = 3.0) -> list[Observation]:
    rng, whole = np.random.default_rng(seed), joint(mixture())
    cliques = [(), ("a",), ("a", "b"), ("b", "c", "d"), ("a", "b", "c", "d")]
    found = [
        Observation(c, summed(whole, c) + rng.normal(0, sigma, DOMAIN.shape(c)) if c else np.array(500.0), sigma)
        for c in cliques
    ]
    matrix = rng.normal(size=(2, 6))
    pair = MatrixQuery(matrix, (3, 2))
    return [*found, Observation(("a", "c"), pair.forward(summed(whole, ("a", "c"))), sigma, pair)]


def test_the_slope_is_that_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxation, "COMPONENTS", 5)
    problem = Problem(DOMAIN, observations())
    logits = np.random.default_rng(1).normal(size=(5, sum(DOMAIN.sizes)))
    _, slope = problem.evaluate(logits.astype(np.float32))
    clearest = min(o.sigma for o in problem.observations)
    slope = slope * (problem.total / clearest) ** 2 / 5  # in units of the loss: the slope is by shares, for each component
    step = 1e-2
    for component, code in [(0, 0), (1, 5), (2, 8), (3, 9), (4, 13)]:
        up, down = logits.copy(), logits.copy()
        up[component, code] += step
        down[component, code] -= step
        rise = (problem.evaluate(up)[0] - problem.evaluate(down)[0]) / (2 * step)
        assert slope[component, code] == pytest.approx(rise, rel=1e-2, abs=1e-2)


@pytest.mark.fitted
def test_a_fit_explains_what_a_mixture_can() -> None:
    found = relax(DOMAIN, observations(sigma=1.0), longer=4)
    assert found.residual < 1.5
    graphical = fit(DOMAIN, observations(sigma=1.0))
    apart = np.abs(found.model.marginal(["a", "b"]) - graphical.model.marginal(["a", "b"])).sum()
    assert apart < 0.02 * found.model.total


@pytest.mark.fitted
def test_a_fit_repeats_and_goes_on_from_another() -> None:
    one, two, other = (relax(DOMAIN, observations(seed)) for seed in (0, 0, 1))
    assert list(one.model.told()) == list(two.model.told())
    assert list(one.model.told()) != list(other.model.told())
    later = relax(DOMAIN, observations(), start=one.model)
    assert later.loss <= one.loss * 1.01


def test_of_very_many_observations_each_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(DOMAIN, observations())
    assert next(problem.deal(np.random.default_rng(0))) is None
    monkeypatch.setattr(relaxation, "AT_A_STEP", 50)  # the largest has 120 cells, and goes alone
    dealt = problem.deal(np.random.default_rng(0))
    seen: list[int] = []
    while len(seen) < len(problem.observations):
        some = next(dealt)
        assert some is not None
        cells = [DOMAIN.cells(problem.observations[i].clique) for i in some]
        assert len(some) == 1 or sum(cells) <= 50
        seen += some
    assert sorted(seen) == list(range(len(problem.observations)))
    wholes = [problem.evaluate(np.zeros((5, 14), np.float32), [i]) for i in range(len(problem.observations))]
    loss, slope = problem.evaluate(np.zeros((5, 14), np.float32))
    assert loss == pytest.approx(sum(part for part, _ in wholes))
    np.testing.assert_allclose(slope, sum(part for _, part in wholes), atol=1e-6)
