"""HDMM+PGM: residuals of the closure, with the noise that is best for the workload, and a model of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from understudy.domain import Domain, Zeros
from understudy.errors import CapacityError
from understudy.mechanism import mechanism
from understudy.mechanism.hdmm import as_marginals, moved, rebuilt, variances
from understudy.model import Observation
from understudy.privacy import UNITS, Centred, Unit
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor, correlated

TWO_WAY = Workload.all_kway(SMALL, 2)
WEIGHTED = Workload.of(SMALL, [(["a", "b"], 1), (["b", "c", "d"], 3), (["d"], 0.5)])


def everything(workload: Workload, codes: np.ndarray) -> dict[tuple[str, ...], np.ndarray]:
    """Return the exact residuals of a table."""
    found = {}
    for clique in variances(workload):
        places = [SMALL.index(a) for a in clique]
        counts = np.zeros(SMALL.shape(clique), np.int64)
        np.add.at(counts, tuple(codes[:, places].T), 1) if clique else counts.__iadd__(len(codes))
        exact = counts if not clique else Centred(counts.shape).exact(counts) / counts.size
        found[clique] = np.asarray(exact, float).reshape(SMALL.shape(clique))
    return found


def test_residuals_add_up_to_the_marginals() -> None:
    codes = correlated(SMALL, 500, 3)
    residuals = everything(WEIGHTED, codes)
    counts = np.zeros(SMALL.shape(("b", "c", "d")))
    np.add.at(counts, tuple(codes[:, 1:].T), 1)
    assert np.allclose(rebuilt(SMALL, ("b", "c", "d"), residuals), counts)


@pytest.mark.parametrize("unit", UNITS)
def test_no_other_split_has_a_smaller_error(make_door: MakeDoor, unit: Unit) -> None:
    outcome = mechanism("hdmm+pgm", check=0).run(make_door(unit=unit), WEIGHTED)
    spent = np.array([float(m.rho) for m in outcome.measurements])
    moves = np.array([moved(SMALL, m.clique, unit) for m in outcome.measurements])
    weights = np.array([variances(WEIGHTED)[m.clique] for m in outcome.measurements])
    sigmas = [m.scale / (m.query.whole if isinstance(m.query, Centred) else 1) for m in outcome.measurements]

    def error(costs: np.ndarray) -> float:
        return float((weights * moves**2 / (2 * costs)).sum())

    assert np.allclose(np.square(sigmas), moves**2 / (2 * spent))
    for i, j in combinations(range(len(spent)), 2):
        for share in (0.01, -0.01):
            other = spent.copy()
            other[i] += share * min(spent[i], spent[j])
            other[j] -= share * min(spent[i], spent[j])
            assert error(other) > error(spent)


def test_the_error_is_what_the_formula_says(make_door: MakeDoor) -> None:
    """The squared error of the rebuilt workload, over many runs; within 4 standard errors or so of its mean."""
    codes, found, expected = correlated(SMALL, 300, 0), [], 0.0
    truth = everything(WEIGHTED, codes)
    for seed in range(60):
        door = make_door(seed=seed, codes=codes, rho=2)
        answers = mechanism("hdmm+pgm", check=0).run(door, WEIGHTED, estimator=_no_fit).measurements
        seen = {m.clique: _residual(m) for m in answers}
        expected = sum(variances(WEIGHTED)[m.clique] * (m.scale / _whole(m)) ** 2 for m in answers)
        gaps = [(c, w, rebuilt(SMALL, c, seen) - rebuilt(SMALL, c, truth)) for c, w in _queries(WEIGHTED)]
        found.append(sum(w * float((gap**2).sum()) for _, w, gap in gaps))
    assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / np.sqrt(len(found)))


def _no_fit(domain, observations, *, zeros=(), start=None):  # type: ignore[no-untyped-def]
    from understudy.model import fit

    return fit(domain, observations, zeros=zeros, start=start, max_iterations=1)


def _whole(m) -> int:  # type: ignore[no-untyped-def]
    return m.query.whole if m.query else 1


def _residual(m) -> np.ndarray:  # type: ignore[no-untyped-def]
    return m.query.adjoint(m.values.astype(float)) / m.query.whole**2 if m.query else m.values.astype(float)


def _queries(workload: Workload) -> list[tuple[tuple[str, ...], float]]:
    return list(zip(workload.cliques, workload.query_weights, strict=True))


def test_marginals_for_the_fit_agree_with_the_residuals_and_with_each_other() -> None:
    exact = everything(WEIGHTED, correlated(SMALL, 500, 3))
    answers = [
        Observation(c, r if not c else Centred(r.shape).forward(r), 2.0 * r.size, Centred(r.shape) if c else None)
        for c, r in exact.items()
    ]
    made = as_marginals(SMALL, answers)
    assert {o.clique for o in made} >= set(WEIGHTED.cliques) - {("d",)}
    for o in made:
        assert np.allclose(o.values, rebuilt(SMALL, o.clique, exact))


def test_the_model_is_near_the_table(make_door: MakeDoor) -> None:
    codes = correlated(SMALL, 3000, 1)
    outcome = mechanism("hdmm+pgm").run(make_door(codes=codes, rho=5), TWO_WAY)
    assert outcome.model is not None
    for i, j in combinations(range(4), 2):
        counts = np.zeros((SMALL.sizes[i], SMALL.sizes[j]))
        np.add.at(counts, (codes[:, i], codes[:, j]), 1)
        clique = (SMALL.attributes[i], SMALL.attributes[j])
        assert np.abs(outcome.model.marginal(clique) - counts).sum() < 0.03 * 3000
    assert set(bounds(Evidence.of(outcome))) == set(TWO_WAY.closure)


def test_an_attribute_of_one_value_and_impossible_combinations(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 2, "one": 1, "b": 3})
    zeros = Zeros(("a", "b"), np.array([[0, 1], [1, 2]]))
    outcome = mechanism("hdmm+pgm").run(make_door(domain=domain, rho=5), Workload.all_kway(domain, 2), zeros=[zeros])
    assert {m.clique for m in outcome.measurements} == {(), ("a",), ("b",), ("a", "b")}
    assert outcome.model is not None
    assert (outcome.model.marginal(("a", "b"))[tuple(zeros.cells.T)] == 0).all()
    assert outcome.model.marginal(("one", "b")).shape == (1, 3)


def test_a_workload_that_no_tree_holds_is_refused_with_its_size(make_door: MakeDoor) -> None:
    domain = Domain.of(dict.fromkeys("abcdefgh", 10))
    door = make_door(domain=domain, rho=Fraction(1, 2))
    with pytest.raises(CapacityError, match=r"takes 763 MB, but max_size is 80 MB"):
        mechanism("hdmm+pgm").run(door, Workload.all_kway(domain, 2))
    assert door.filter.spent == 0


def test_no_marginal_for_the_fit_is_next_to_nothing(make_door: MakeDoor) -> None:
    """What rounding leaves of a precision is none: a fit with a noise of a billion rows does not end."""
    domain = Domain.of({"a": 2, "b": 7, "c": 15, "d": 5, "e": 2})
    star = Workload.target(domain, "a", 2)
    codes = correlated(domain, 2000, 1)
    outcome = mechanism("hdmm+pgm", check=0).run(make_door(domain=domain, codes=codes, rho=1), star)
    answers = [Observation(m.clique, m.values.astype(float), m.sigma, m.query) for m in outcome.measurements]
    made = as_marginals(domain, answers)
    assert {o.clique for o in made} == set(star.cliques)
    assert max(o.sigma for o in made) < 100


def test_what_is_asked_of_a_column_besides_does_not_take_the_place_of_its_residual() -> None:
    """Counts of a column of numbers are asked for once more at the end of a run."""
    exact = everything(TWO_WAY, correlated(SMALL, 500, 3))
    answers = [
        Observation(c, r if not c else Centred(r.shape).forward(r), 2.0 * r.size, Centred(r.shape) if c else None)
        for c, r in exact.items()
    ]
    counts = Observation(("a",), rebuilt(SMALL, ("a",), exact), 5.0)
    made = as_marginals(SMALL, [*answers, counts])
    assert made[-1] is counts
    for o in made:
        assert np.allclose(o.values, rebuilt(SMALL, o.clique, exact))
