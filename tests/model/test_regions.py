"""Regions agree where they overlap; the rest follows from them: beside exact models, and where no exact model can be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import FormatError, SchemaError, UserError
from understudy.model import (
    CLOSER,
    CLOSER_REGIONS,
    Fit,
    GraphicalModel,
    Observation,
    RegionModel,
    fit,
    fit_regions,
    load_model,
    save_model,
    tree_size,
)
from understudy.model.consistency import RegionProblem
from understudy.model.observation import MatrixQuery
from understudy.model.regions import information

ROWS = 20_000


def table(domain: Domain, seed: int = 1) -> NDArray[np.int64]:
    """Records of five kinds of people, in which a column is often that before it."""
    rng = np.random.default_rng(seed)
    kind, columns = rng.integers(0, 5, ROWS), list[NDArray[np.int64]]()
    for size in domain.sizes:
        own = rng.dirichlet(np.full(size, 0.4), 5).cumsum(axis=1)[kind]
        drawn = (rng.random(ROWS)[:, None] > own).sum(axis=1).clip(0, size - 1)
        follows = rng.random(ROWS) < 0.3
        columns.append(np.where(follows, columns[-1] % size, drawn) if columns else drawn)
    return np.column_stack(columns)


def counts(domain: Domain, codes: NDArray[np.signedinteger], clique: Clique) -> NDArray[np.float64]:
    shape = domain.shape(clique)
    cells = np.ravel_multi_index(tuple(codes[:, domain.index(a)] for a in clique), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def noisy(domain: Domain, cliques: Sequence[Clique], sigma: float, seed: int = 2) -> list[Observation]:
    rng, codes = np.random.default_rng(seed), table(domain)
    return [Observation(c, counts(domain, codes, c) + rng.normal(0, sigma, domain.shape(c)), sigma) for c in cliques]


def regions(domain: Domain, observations: Sequence[Observation], zeros: Sequence[Zeros] = ()) -> Fit[RegionModel]:
    return fit_regions(domain, observations, zeros=zeros, solver=CLOSER_REGIONS)


def apart(one: Sequence[NDArray[np.float64]], two: Sequence[NDArray[np.float64]]) -> float:
    """The mean L1 distance, as a share of the rows."""
    return float(np.mean([np.abs(a - b).sum() for a, b in zip(one, two, strict=True)])) / ROWS


SMALL = Domain.of({"a": 5, "b": 4, "c": 3, "d": 5, "e": 4, "f": 2})
EVERY = [c for size in (1, 2, 3) for c in combinations(SMALL, size)]
TREE: list[Clique] = [("a", "b"), ("b", "c"), ("b", "d"), ("d", "e", "f")]
RING: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("a", "f")]
PAIRS = list(combinations(SMALL, 2))
TRIPLES = list(combinations(SMALL, 3))


@pytest.mark.parametrize(
    ("cliques", "measured", "others"),
    [(TREE, 0.003, 0.004), (RING, 0.006, 0.015), (PAIRS, 0.004, 0.008), (TRIPLES, 0.015, 0.010)],
    ids=["tree", "ring", "pairs", "triples"],
)
def test_it_is_the_exact_model_where_that_is_a_tree_and_near_it_where_not(
    cliques: list[Clique], measured: float, others: float
) -> None:
    """The noise itself is 0.01 to 0.04 of the rows away from the truth on what was measured."""
    observations = noisy(SMALL, cliques, 20.0)
    found = regions(SMALL, observations)
    exact = fit(SMALL, observations, solver=CLOSER).model
    assert found.reason == "converged"
    assert apart(found.model.marginals(cliques), exact.marginals(cliques)) < measured
    assert apart(found.model.marginals(EVERY), exact.marginals(EVERY)) < others


@pytest.mark.parametrize("sigma", [5.0, 50.0, 500.0])
def test_regions_agree_where_they_overlap_and_are_not_negative(sigma: float) -> None:
    model = regions(SMALL, noisy(SMALL, TRIPLES, sigma)).model
    assert set(model.cliques) == set(TRIPLES)
    for part in [*combinations(SMALL, 1), *PAIRS]:
        said = [
            found.sum(axis=tuple(i for i, a in enumerate(clique) if a not in part))
            for clique, found in model.tables.items()
            if set(part) <= set(clique)
        ]
        assert max(float(np.abs(one - said[0]).sum()) for one in said) < 0.01 * model.total
    assert all((found >= 0).all() for found in model.tables.values())
    assert all(float(found.sum()) == pytest.approx(model.total) for found in model.tables.values())


def test_a_step_follows_the_slope() -> None:
    """What the solver takes for the gradient is that of the sum of the regions' log Z."""
    pair = MatrixQuery(np.random.default_rng(3).normal(size=(2, 8)), (4, 2))
    answers = Observation(("b", "f"), np.array([3.0, 9.0]), 4.0, pair)
    problem = RegionProblem(SMALL, [*noisy(SMALL, RING, 20.0), answers], [])
    at = np.random.default_rng(0).normal(size=problem.layout.values.size)
    point, step = problem.evaluate(at), 1e-5
    for i in [*range(0, at.size, 7), at.size - 1]:
        up, down = at.copy(), at.copy()
        up[i], down[i] = at[i] + step, at[i] - step
        slope = (problem.evaluate(up).log_z - problem.evaluate(down).log_z) / (2 * step)
        assert float(point.answers[i]) / problem.total == pytest.approx(slope, abs=1e-6)


def test_all_pairs_of_thirty_attributes(tmp_path: Path) -> None:
    """One tree of these takes 10^31 bytes. The model is nearer to the table than the noise, and so are its records."""
    domain = Domain.of({f"x{i}": 10 for i in range(30)})
    pairs = list(combinations(domain, 2))
    assert tree_size(domain, pairs) > 10**30
    observations = noisy(domain, pairs, 20.0)
    model = regions(domain, observations).model
    truth = [counts(domain, table(domain), c) for c in pairs]
    noise = apart([o.values for o in observations], truth)
    rows = model.generate(ROWS, np.random.default_rng(0))
    assert apart(model.marginals(pairs), truth) < 0.95 * noise
    assert apart([counts(domain, rows, c) for c in pairs], truth) < 0.95 * noise
    some = list(combinations(domain.attributes[:8], 3))
    alone = fit(
        domain, [Observation(o.clique, o.values, o.sigma) for o in noisy(domain, [(a,) for a in domain], 20.0)]
    ).model
    wanted = [counts(domain, table(domain), c) for c in some]
    assert apart(model.marginals(some), wanted) < 0.5 * apart(alone.marginals(some), wanted)
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    assert isinstance(again, RegionModel)
    assert list(again.told()) == list(model.told())
    assert all(np.array_equal(a, b) for a, b in zip(again.marginals(some), model.marginals(some), strict=True))


def test_combinations_stay_impossible_in_answers_and_records() -> None:
    """Also those of attributes that no region has together."""
    zeros = [Zeros(("a", "b"), np.array([[0, 0], [1, 2]])), Zeros(("c", "f"), np.array([[2, 1]]))]
    model = regions(SMALL, noisy(SMALL, [*TREE, ("a", "b", "c")], 50.0), zeros=zeros).model
    rows = model.generate(5_000, np.random.default_rng(0))
    held = model.generate(500, np.random.default_rng(0), {"c": 2}, near={("a", "f"): 1.0})
    for zero in zeros:
        for clique in (zero.clique, SMALL.clique((*zero.clique, "d"))):
            found = model.marginal((*zero.clique, *(a for a in clique if a not in zero.clique)))
            assert (found[tuple(zero.cells.T)] == 0).all()
        assert (counts(SMALL, rows, zero.clique)[tuple(zero.cells.T)] == 0).all()
        assert (counts(SMALL, held, zero.clique)[tuple(zero.cells.T)] == 0).all()
    assert (held[:, SMALL.index("c")] == 2).all()


def test_given_values_are_those_of_the_exact_model_on_a_tree() -> None:
    observations = noisy(SMALL, TREE, 5.0)
    model, exact = regions(SMALL, observations).model, fit(SMALL, observations, solver=CLOSER).model
    held, wanted = model.given({"b": 2, "f": 1}), exact.given({"b": 2, "f": 1})
    assert held.total == pytest.approx(wanted.total, rel=0.03)
    assert apart(held.marginals(EVERY), wanted.marginals(EVERY)) < 0.01 * wanted.total / ROWS * 3
    assert held.marginal(["b"])[2] == pytest.approx(held.total)
    with pytest.raises(SchemaError, match="cannot be fixed at 4"):
        model.given({"b": 4})
    never = regions(SMALL, observations, zeros=[Zeros(("b",), np.array([[3]]))]).model
    with pytest.raises(SchemaError, match="No record can have b = 3"):
        never.given({"b": 3})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("share", [1e-320, 0.0])
def test_a_share_next_to_nothing_is_divided_by_nowhere(share: float) -> None:
    """Such shares are left where counts are 0 and noise is small; rows with such a value may be asked for all the same."""
    domain = Domain.of({"a": 3, "b": 2, "c": 2})
    ab, bc, ac = (
        np.array([[6.0, 2.0], [1.0, 3.0], [share, share]]),
        np.array([[4.0, 3.0], [2.0, 3.0]]),
        np.array([[6.0, 2.0]]),
    )
    ac = np.concatenate([ac, [[3.0, 1.0], [share, share]]])
    model = RegionModel(domain, {("a", "b"): ab * 10, ("b", "c"): bc * 10, ("a", "c"): ac * 10}, 120.0)
    assert np.isfinite(model.marginal(["a", "b", "c"])).all()
    held = model.given({"a": 2})
    assert 0 < held.total < 1e-100
    assert held.marginal(["a"])[2] == pytest.approx(held.total)
    rows = model.generate(50, np.random.default_rng(0), given={"a": 2})
    assert (rows[:, 0] == 2).all()


def test_what_nothing_tells_of_is_even() -> None:
    model = regions(SMALL, noisy(SMALL, [("a", "b")], 5.0)).model
    np.testing.assert_allclose(model.marginal(["c", "d"]), model.total / 15, rtol=1e-3)
    only = regions(SMALL, [Observation((), np.array(700.0), 3.0)]).model
    np.testing.assert_allclose(only.marginal(["c", "d"]), 700 / 15, rtol=1e-3)
    assert only.marginal([]) == pytest.approx(700)


def test_linear_queries_are_fitted_too() -> None:
    """Nobody measured c with f; a sum of theirs is known all the same."""
    sums = MatrixQuery(np.array([[1.0, 0, 0, 0, 1, 0]]), (3, 2))
    told = sums.forward(counts(SMALL, table(SMALL), ("c", "f")))
    without = regions(SMALL, noisy(SMALL, TREE, 5.0)).model
    model = regions(SMALL, [*noisy(SMALL, TREE, 5.0), Observation(("c", "f"), told, 5.0, sums)]).model
    assert ("c", "f") in model.cliques
    assert abs(sums.forward(without.marginal(["c", "f"])) - told)[0] > 100
    assert abs(sums.forward(model.marginal(["c", "f"])) - told)[0] < 10


def test_records_by_sampling_are_those_of_the_core() -> None:
    model = regions(SMALL, noisy(SMALL, PAIRS, 5.0)).model
    one, two = (m.generate(100, np.random.default_rng(0), method="sample") for m in (model, model.core))
    assert np.array_equal(one, two)
    assert isinstance(model.core, GraphicalModel)
    with pytest.raises(UserError, match='no method "best"'):
        model.generate(2, np.random.default_rng(0), method="best")  # type: ignore[arg-type]


def test_information_is_none_of_independent_columns() -> None:
    assert information(np.outer([1.0, 2, 3], [4.0, 5])) == pytest.approx(0, abs=1e-12)
    assert information(np.eye(2)) == pytest.approx(np.log(2))


def test_tables_that_are_no_marginals_are_damage(tmp_path: Path) -> None:
    model = regions(SMALL, noisy(SMALL, TREE, 5.0)).model
    first, *others = model.tables
    for wrong in (model.tables[first] * 1.1, model.tables[first] - model.tables[first].max()):
        tables = {first: wrong, **{c: model.tables[c] for c in others}}
        save_model(RegionModel(SMALL, tables, model.total), tmp_path)
        with pytest.raises(FormatError, match="not marginals of the same mass"):
            load_model(tmp_path)
