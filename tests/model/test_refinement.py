"""Refined rows come nearer to the model, move into nothing impossible, and leave alone what they are told to."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.model import GraphicalModel, refinement, settling
from understudy.workload import Workload

from .small import counts, models, subsets


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def chained(attributes: int = 6, size: int = 5, total: float = 4000.0, zeros: tuple[Zeros, ...] = ()) -> GraphicalModel:
    """Neighbours depend on each other, so most triples are not inside a clique."""
    domain = Domain(tuple(f"x{i}" for i in range(attributes)), (size,) * attributes)
    draw = rng(1)
    pairs = [(f"x{i}", f"x{i + 1}") for i in range(attributes - 1)]
    return GraphicalModel(domain, {pair: draw.normal(size=(size, size)) for pair in pairs}, total, zeros)


def everything(domain: Domain, k: int = 3) -> dict[Clique, float]:
    return dict.fromkeys(subsets(domain, k), 1.0)


def objective(model: GraphicalModel, codes: NDArray[np.int32], near: dict[Clique, float]) -> float:
    """F of the module, from its definition."""
    found = 0.0
    for clique, expected in zip(near, model.marginals(list(near)), strict=True):
        e = expected * (len(codes) / model.total)
        found += near[clique] * float((np.square(counts(model.domain, codes, clique) - e) / (e + 1)).sum())
    return found


def distance(model: GraphicalModel, codes: NDArray[np.int32], cliques: list[Clique]) -> float:
    rows = len(codes)
    pairs = zip(cliques, model.marginals(cliques), strict=True)
    return sum(float(np.abs(counts(model.domain, codes, c) - e * (rows / model.total)).sum()) / rows for c, e in pairs)


def test_refined_rows_are_much_nearer_to_the_model_than_rounded_ones() -> None:
    model = chained()
    triples = list(combinations(model.domain.attributes, 3))
    rounded = model.generate(4000, rng(2))
    refined = model.generate(4000, rng(2), near=everything(model.domain))
    assert distance(model, refined, triples) < 0.6 * distance(model, rounded, triples)
    quadruples = list(combinations(model.domain.attributes, 4))
    assert distance(model, refined, quadruples) < distance(model, rounded, quadruples)


@pytest.mark.parametrize("zeros", [(), (Zeros(("x0", "x1"), np.array([[0, 0], [1, 2]])),)])
def test_rows_of_columns_alone_are_left_as_they_were_rounded(zeros: tuple[Zeros, ...]) -> None:
    """Unless combinations are forbidden, which ties columns."""
    domain = Domain(("x0", "x1", "x2"), (3, 4, 5))
    model = GraphicalModel(domain, {(a,): rng(1).normal(size=domain[a]) for a in domain}, 500.0, zeros)
    rounded, refined = model.generate(500, rng(2)), model.generate(500, rng(2), near=everything(domain))
    assert np.array_equal(rounded, refined) == (not zeros)


def test_later_passes_bring_rows_nearer(monkeypatch: pytest.MonkeyPatch) -> None:
    model, found = chained(), list[float]()
    for passes in (1, refinement.PASSES):
        monkeypatch.setattr(refinement, "PASSES", passes)
        rows = model.generate(4000, rng(2), near=everything(model.domain))
        found.append(distance(model, rows, list(combinations(model.domain.attributes, 3))))
    assert found[1] < 0.95 * found[0]


def test_a_second_pass_is_made_only_where_it_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    model, near = chained(), everything(chained().domain)
    work = sum(5 * sum(a in clique for clique in near) for a in model.domain.attributes)
    monkeypatch.setattr(refinement, "CHEAP", 2 * 4000 * work)
    twice = model.generate(4000, rng(2), near=near)
    monkeypatch.setattr(refinement, "CHEAP", 2 * 4000 * work - 1)
    bounded = model.generate(4000, rng(2), near=near)
    monkeypatch.setattr(refinement, "PASSES", 1)
    np.testing.assert_array_equal(bounded, model.generate(4000, rng(2), near=near))
    assert not np.array_equal(bounded, twice)


@settings(max_examples=60, deadline=None)
@given(models(), st.integers(0, 400), st.integers(0, 2**32))
def test_the_objective_does_not_rise_and_nothing_impossible_is_made(model: GraphicalModel, rows: int, seed: int) -> None:
    """Where nothing is left to gain, two rows of one batch may still go to the same cell: a little a marginal."""
    near = everything(model.domain)
    before = model.generate(rows, rng(seed))
    after = before.copy(order="F")
    refinement.refine(model, after, near, rng(seed))
    slack = 1e-3 * (1 + rows) + 0.5 * len(near)
    assert objective(model, after, near) <= objective(model, before, near) * 1.05 + slack
    assert after.shape == before.shape
    assert np.all((after >= 0) & (after < np.array(model.domain.sizes)))
    for zero in model.zeros:
        assert counts(model.domain, after, zero.clique)[tuple(np.asarray(zero.cells).T)].sum() == 0


def test_a_wall_that_no_marginal_shows_is_kept() -> None:
    """Of four attributes together half is forbidden; refinement on pairs alone would walk into it."""
    draw = rng(3)
    wall = np.argwhere(draw.random((5, 5, 5, 5)) < 0.5)
    model = chained(zeros=(Zeros(("x0", "x2", "x3", "x5"), wall),))
    near = everything(model.domain, 2)
    codes = model.generate(3000, rng(4), near=near)
    assert (codes != model.generate(3000, rng(4))).any()
    assert counts(model.domain, codes, ("x0", "x2", "x3", "x5"))[tuple(wall.T)].sum() == 0


def test_without_walls_it_would_be_walked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    wall = np.argwhere(rng(3).random((5, 5, 5, 5)) < 0.5)
    model = chained(zeros=(Zeros(("x0", "x2", "x3", "x5"), wall),))
    monkeypatch.setattr(refinement, "FORBIDDEN", np.float32(0))
    codes = model.generate(3000, rng(4), near=everything(model.domain, 2))
    assert counts(model.domain, codes, ("x0", "x2", "x3", "x5"))[tuple(wall.T)].sum() > 0


def test_given_values_stay_given() -> None:
    model = chained()
    codes = model.generate(500, rng(5), given={"x1": 3}, near=everything(model.domain))
    assert set(codes[:, 1]) == {3}


def test_what_is_not_asked_for_stays_as_it_was() -> None:
    model = chained()
    plain = model.generate(1000, rng(6))
    assert np.array_equal(plain, model.generate(1000, rng(6), near={}))
    assert np.array_equal(plain, model.generate(1000, rng(6), near={("x0", "x1"): 0.0}))
    refined = model.generate(1000, rng(6), near={("x0", "x3"): 1.0})
    assert np.array_equal(plain[:, [1, 2, 4, 5]], refined[:, [1, 2, 4, 5]])
    assert not np.array_equal(plain[:, [0, 3]], refined[:, [0, 3]])


def test_it_can_be_repeated_and_weights_are_relative() -> None:
    model = chained()
    near = everything(model.domain)
    first = model.generate(800, rng(7), near=near)
    assert np.array_equal(first, model.generate(800, rng(7), near=near))
    assert np.array_equal(first, model.generate(800, rng(7), near=dict.fromkeys(near, 1024.0)))
    assert not np.array_equal(first, model.generate(800, rng(8), near=near))


def test_what_weighs_more_ends_nearer() -> None:
    model = chained()
    ones, twos = [("x0", "x2", "x4")], [("x1", "x3", "x5")]
    near = {ones[0]: 1.0, twos[0]: 1.0, **dict.fromkeys(combinations(model.domain.attributes, 3), 1.0)}
    favoured = [model.generate(2000, rng(s), near={**near, ones[0]: 50.0}) for s in range(5)]
    even = [model.generate(2000, rng(s), near=near) for s in range(5)]
    assert np.mean([distance(model, c, ones) for c in favoured]) < 0.8 * np.mean([distance(model, c, ones) for c in even])


def test_the_books_agree_with_the_rows_after_every_pass() -> None:
    model = chained()
    codes = model.generate(1500, rng(9))
    cliques = subsets(model.domain, 3)
    tables = [
        refinement._Table.of(tuple(model.domain.index(a) for a in c), e * (1500 / model.total), 1.0, codes)
        for c, e in zip(cliques, model.marginals(cliques), strict=True)
    ]
    for attribute in range(6):
        before = codes.copy(order="F")
        pass_ = refinement._Pass(attribute, tables, [], codes, model.domain.sizes)
        pass_.run(rng(attribute).permutation(1500), rng(attribute))
        others = [a for a in range(6) if a != attribute]
        assert np.array_equal(before[:, others], codes[:, others])
        start = 0
        for clique, table in zip(cliques, tables, strict=True):
            e = model.marginal(clique) * (1500 / model.total)
            np.testing.assert_allclose(table.over, counts(model.domain, codes, clique) - e, atol=1e-3)
            if attribute in table.positions:  # the slopes that rows were offered values by are those of the books
                lines = pass_._last(table.positions, (2 * table.over + 1) * table.price)
                np.testing.assert_allclose(pass_.slope[start : start + len(lines)], lines, atol=1e-2)
                start += len(lines)


def crowd(seed: int) -> int:
    """Of two values the second is too rare: half the rows would gain by moving, a twentieth must. How far off?"""
    model = GraphicalModel(Domain.of({"a": 2}), {}, 100_000.0)
    codes = np.zeros((100_000, 1), np.int32, order="F")
    codes[:45_000] = 1
    refinement.refine(model, codes, {("a",): 1.0}, rng(seed))
    return abs(int(codes.sum()) - 50_000)


def test_rows_that_would_rush_to_one_cell_do_not_overshoot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement._Pass, "settle", lambda *_: None)
    assert max(crowd(seed) for seed in range(4)) < 50


def test_they_would_if_nothing_were_learnt_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "FIRST_SHARE", 0.5)
    monkeypatch.setattr(refinement._Pass, "_learn", lambda *_: None)
    monkeypatch.setattr(refinement._Pass, "settle", lambda *_: None)
    assert max(crowd(seed) for seed in range(4)) > 100


def test_no_more_is_done_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = chained()
    near = everything(model.domain)
    plain = model.generate(4000, rng(10))
    cells = sum(5 * sum(a in c for c in near) for a in model.domain.attributes)
    monkeypatch.setattr(refinement, "MOST_WORK", 100 * cells)
    some = model.generate(4000, rng(10), near=near)
    assert 0 < (plain != some).sum(axis=0).max() <= 100
    monkeypatch.setattr(refinement, "MOST_CELLS", 4)
    assert np.array_equal(plain, model.generate(4000, rng(10), near=near))
    monkeypatch.setattr(refinement, "MOST_WORK", 1 << 32)
    monkeypatch.setattr(refinement, "MOST_CELLS", 30)
    ones = model.generate(4000, rng(10), near={(a,): 1.0 for a in model.domain.attributes})
    assert np.array_equal(ones, model.generate(4000, rng(10), near=near))


def tailed(total: float = 20_000.0) -> GraphicalModel:
    """A column whose values are ever rarer, beside four others that depend on it."""
    domain, draw = Domain.of({"tail": 16, "a": 6, "b": 6, "c": 6, "d": 6}), rng(12)
    tables = {("tail", other): 0.3 * draw.normal(size=(16, 6)) - 0.7 * np.arange(16)[:, None] / 4 for other in "abcd"}
    return GraphicalModel(domain, tables, total)


def test_rare_values_are_not_drawn_more_often_than_the_model_has_them() -> None:
    """Each value of a single column has the model's number of rows, up to one."""
    model = tailed()
    near = everything(model.domain, 2)
    codes = model.generate(20_000, rng(13), near=near)
    for attribute, expected in zip(model.domain, model.marginals([(a,) for a in model.domain]), strict=True):
        assert np.abs(counts(model.domain, codes, (attribute,)) - expected).max() < 1.01


def test_settled_columns_cost_pairs_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tailed()
    near, pairs = everything(model.domain, 2), list(combinations(model.domain.attributes, 2))
    settled = model.generate(20_000, rng(13), near=near)
    monkeypatch.setattr(refinement._Pass, "settle", lambda *_: None)
    left = model.generate(20_000, rng(13), near=near)
    off = [np.abs(counts(model.domain, c, ("tail",)) - model.marginal(("tail",))).max() for c in (settled, left)]
    assert off[1] > 5 * off[0]  # what is mended
    assert distance(model, settled, pairs) < 1.05 * distance(model, left, pairs)


@pytest.mark.parametrize("excess", [1, 50])
def test_the_cheapest_rows_are_moved_while_there_are_too_many_and_too_few(excess: int) -> None:
    """Three values: too many of the first, too few of the others; what is forbidden stays."""
    surplus = np.array([excess, -excess // 2 - 1, -(excess - excess // 2 - 1)])
    costs = np.stack([np.zeros(60), np.arange(60.0), 1e12 * (np.arange(60) < 5) + 0.5], axis=1).astype(np.float32)
    rows, values = settling.moves(np.zeros(60, np.intp), costs, surplus, 1e11)
    assert len(set(rows.tolist())) == len(rows) == min(excess, 55 + 5)
    assert {int(v) for v in np.unique(values)} <= {1, 2}
    assert not any(row < 5 and value == 2 for row, value in zip(rows, values, strict=True))
    assert (np.bincount(values, minlength=3)[1:] <= -surplus[1:]).all()


@pytest.mark.parametrize("places", [0, 1, 4096, 4097, 30_000])
def test_the_cheapest_come_first_and_equal_ones_in_their_order(places: int) -> None:
    price = rng(places).integers(0, 900, places).astype(np.float32)
    found = list(settling.cheapest_first(price, 700.0))
    order = np.argsort(price, kind="stable")
    np.testing.assert_array_equal(np.concatenate([np.empty(0, np.intp), *found]), order[price[order] < 700.0])
    assert all(part.size <= settling.AT_ONCE for part in found)


@pytest.mark.parametrize("rows", [0, 1, 2, 17])
def test_few_rows(rows: int) -> None:
    model = chained()
    codes = model.generate(rows, rng(11), near=everything(model.domain))
    assert codes.shape == (rows, 6)


def test_a_model_of_no_rows_gives_rows_all_the_same() -> None:
    model = GraphicalModel(Domain.of({"a": 2, "b": 3}), {}, 0.0)
    assert model.generate(5, rng(), near=everything(model.domain)).shape == (5, 2)


def test_importance_is_the_largest_weight_above() -> None:
    domain = Domain.of({"a": 2, "b": 2, "c": 2})
    workload = Workload.of(domain, [(("a", "b"), 3.0), (("b", "c"), 1.0)])
    assert workload.importance == {("a",): 3.0, ("b",): 3.0, ("c",): 1.0, ("a", "b"): 3.0, ("b", "c"): 1.0}
