"""Residuals in passes: what the workload lacks is measured, and what is known is not paid for again."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from understudy.domain import Domain, Zeros
from understudy.errors import CapacityError
from understudy.mechanism import mechanism
from understudy.mechanism.hdmm import Residuals, moved, variances
from understudy.mechanism.need import Needs, dependence
from understudy.mechanism.residuals import centred
from understudy.model import Observation, fit
from understudy.privacy import UNITS, Centred, Unit
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor, correlated

WEIGHTED = Workload.of(SMALL, [(["a", "b"], 1), (["b", "c", "d"], 3), (["d"], 0.5)])


def columns_known(workload: Workload, rows: float, precision: float) -> Residuals:
    """Return even columns, each known as well as the next."""
    found = {b: np.full(SMALL.shape(b), rows if not b else 0.0) for b in variances(workload) if len(b) < 2}
    return Residuals(SMALL, found, dict.fromkeys(found, precision))


def split_of(workload: Workload, rows: float, precision: float, departures: dict[tuple[str, ...], float], rho: float):  # type: ignore[no-untyped-def]
    needs, known = Needs.of(workload, Unit.ADD_REMOVE), columns_known(workload, rows, precision)
    for b in departures:
        known = Residuals(SMALL, known.values, {**known.precisions, b: precision})
    model = fit(SMALL, columns_known(workload, rows, precision).marginals()).model
    return dict(zip(needs.residuals, needs.split(model, known, departures, rho).tolist(), strict=True))


@pytest.mark.parametrize("unit", UNITS)
def test_all_of_the_budget_is_spent_and_every_pass_asks_for_residuals(make_door: MakeDoor, unit: Unit) -> None:
    door = make_door(unit=unit, rho=Fraction(1, 2))
    outcome = mechanism("residuals").run(door, WEIGHTED)
    assert float(door.filter.remaining) == pytest.approx(0, abs=1e-9)
    assert {m.clique for m in outcome.measurements} <= set(variances(WEIGHTED))
    assert all(isinstance(m.query, Centred) or not m.clique for m in outcome.measurements)
    first = {m.clique for m in outcome.measurements[:5]}
    assert first == {b for b in variances(WEIGHTED) if len(b) < 2}


def test_what_departs_from_its_parts_is_measured_and_what_does_not_is_not() -> None:
    """Of two residuals known alike, the one that is as its parts say gets nothing more."""
    workload = Workload.of(SMALL, [["a", "b"], ["c", "d"]])
    some = split_of(workload, 30.0, 0.01, {("a", "b"): 1e3, ("c", "d"): 0.0}, 0.1)
    assert some["c", "d"] < 0.1 * some["a", "b"]
    other = split_of(workload, 30.0, 0.01, {("a", "b"): 0.0, ("c", "d"): 1e3}, 0.1)
    assert other["a", "b"] < 0.1 * other["c", "d"]


def test_what_would_drown_is_not_measured() -> None:
    """With noise far above what a pair usually departs by, columns get it all."""
    split = split_of(WEIGHTED, 1000.0, 1e-6, {}, 1e-6)
    assert sum(part for b, part in split.items() if len(b) < 2) > 0.95
    clear = split_of(WEIGHTED, 1e6, 1.0, {}, 1.0)
    assert sum(part for b, part in clear.items() if len(b) > 1) > 0.5


def test_no_other_split_leaves_less() -> None:
    """Moving a part of the budget from any residual to any other leaves more error, as the formula has it."""
    needs, known = Needs.of(WEIGHTED, Unit.ADD_REMOVE), columns_known(WEIGHTED, 1e5, 1.0)
    model = fit(SMALL, known.marginals()).model
    parts = needs.split(model, known, {}, 1.0)
    start = np.array([known.precisions.get(b, 0.0) for b in needs.residuals])
    prior = np.array([1 / guess(model, b) if len(b) > 1 else 0.0 for b in needs.residuals])

    def error(split: np.ndarray) -> float:
        left = dict(zip(needs.residuals, 1 / (start + prior + split / needs.prices), strict=True))
        held = [[b for b in left if set(b) <= set(r)] for r in WEIGHTED.cliques]
        worth = {b: SMALL.cells(b) * own(b) for b in left}  # little noise: what a fit leaves is in proportion to it
        squares = [sum(worth[b] * left[b] for b in each) for each in held]
        return float(np.array(WEIGHTED.query_weights) @ np.sqrt(squares))

    for i, j in combinations(range(len(parts)), 2):
        for share in (0.3, -0.3):
            moved_part = share * min(parts[i], parts[j])
            other = parts.copy()
            other[i] += moved_part
            other[j] -= moved_part
            assert moved_part == 0 or error(other) > error(parts)


def own(residual: tuple[str, ...]) -> float:
    """Return what a unit of variance on a residual comes to over the cells of the marginal on its attributes."""
    return variances(Workload.of(SMALL, [residual]))[residual] if residual else 1.0


def test_the_noise_of_columns_counts_though_a_fit_clears_most_cells_of_their_pair() -> None:
    """Few of the pair's cells have rows, so little of its noise outlasts a fit: that of its columns does."""
    domain = Domain.of({"a": 40, "b": 40})
    few = centred(np.where(np.arange(40) < 4, 2500.0, 0.0))
    values = {(): np.array(1e4), ("a",): few, ("b",): few}
    known = Residuals(domain, values, dict.fromkeys(values, 1e-5))
    needs = Needs.of(Workload.of(domain, [["a", "b"]]), Unit.ADD_REMOVE)
    split = needs.split(fit(domain, known.marginals()).model, known, {}, 1e-4)
    assert split[needs.residuals.index(("a",))] + split[needs.residuals.index(("b",))] > 0.9


def guess(model, residual: tuple[str, ...]) -> float:  # type: ignore[no-untyped-def]
    off = dependence(len(residual), len(residual) - 1) / np.sqrt(2 / np.pi)
    return float(off**2 * np.mean(model.marginal(residual) ** 2))


def test_a_residual_costs_what_moves_it() -> None:
    needs = Needs.of(WEIGHTED, Unit.REPLACE)
    assert needs.prices.tolist() == [moved(SMALL, b, Unit.REPLACE) ** 2 / 2 for b in needs.residuals]


def test_repeated_answers_are_one_of_less_noise() -> None:
    one = Observation(("a",), np.array([3.0, -3.0]), 2.0, Centred((2,)))
    known = Residuals.of(Domain.of({"a": 2}), [one, Observation(("a",), np.array([9.0, -9.0]), 1.0, one.query)])
    assert known.precisions["a",] == pytest.approx(2**2 / 4 + 2**2)
    alone = [Residuals.of(Domain.of({"a": 2}), [o]).values["a",] for o in (one,)]
    assert known.values["a",] == pytest.approx((1 * alone[0] + 4 * 3 * alone[0]) / 5)


def test_a_centred_table_is_its_residual() -> None:
    table = np.arange(24.0).reshape(2, 3, 4) ** 2
    assert centred(table) == pytest.approx(np.asarray(Centred(table.shape).forward(table)).reshape(table.shape) / table.size)


def test_the_model_is_near_the_table_and_bounded(make_door: MakeDoor) -> None:
    codes = correlated(SMALL, 3000, 1)
    two = Workload.all_kway(SMALL, 2)
    outcome = mechanism("residuals").run(make_door(codes=codes, rho=5), two)
    assert outcome.model is not None
    for i, j in combinations(range(4), 2):
        counts = np.zeros((SMALL.sizes[i], SMALL.sizes[j]))
        np.add.at(counts, (codes[:, i], codes[:, j]), 1)
        clique = (SMALL.attributes[i], SMALL.attributes[j])
        assert np.abs(outcome.model.marginal(clique) - counts).sum() < 0.03 * 3000
    assert set(bounds(Evidence.of(outcome))) == set(two.closure)


def test_an_attribute_of_one_value_and_impossible_combinations(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 2, "one": 1, "b": 3})
    zeros = Zeros(("a", "b"), np.array([[0, 1], [1, 2]]))
    outcome = mechanism("residuals").run(make_door(domain=domain, rho=5), Workload.all_kway(domain, 2), zeros=[zeros])
    assert {m.clique for m in outcome.measurements} <= {(), ("a",), ("b",), ("a", "b")}
    assert outcome.model is not None
    assert (outcome.model.marginal(("a", "b"))[tuple(zeros.cells.T)] == 0).all()


def test_a_workload_that_no_tree_holds_is_refused_with_its_size(make_door: MakeDoor) -> None:
    domain = Domain.of(dict.fromkeys("abcdefgh", 10))
    door = make_door(domain=domain, rho=Fraction(1, 2))
    with pytest.raises(CapacityError, match=r"takes 763 MB, but max_size is 80 MB"):
        mechanism("residuals").run(door, Workload.all_kway(domain, 2))
    assert door.filter.spent == 0


def test_no_answer_of_next_to_no_precision_is_fitted() -> None:
    """Columns that are known as well as their pair says, and hardly better: such an answer kept a fit from ending."""
    domain = Domain.of({"a": 3, "b": 4})
    values = {b: np.zeros(domain.shape(b)) for b in [(), ("a",), ("b",), ("a", "b")]}
    even = {b: float(domain.cells(b)) for b in values}
    known = Residuals(domain, values, {**even, ("a",): even["a",] * 1.001})
    assert [o.clique for o in known.marginals()] == [("a", "b")]
    clearer = Residuals(domain, values, {**even, ("a",): even["a",] * 1.5})
    assert [o.clique for o in clearer.marginals()] == [("a",), ("a", "b")]
