"""Which marginals a round looks at: none that could win is left out, and what is left out follows from public numbers."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.domain import Clique, Domain
from understudy.mechanism import AimConfig, aim, mechanism, pool
from understudy.mechanism.pool import Pool, Reach
from understudy.model import junction_tree
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload

from .conftest import MakeDoor, correlated

WIDE = Domain.of({f"x{i:02}": 2 + i % 4 for i in range(30)})


def far(domain: Domain, rows: float = 1e9) -> Reach:
    """A reach that leaves out nothing."""
    return Reach(rows, np.append(np.full(len(domain), rows), 0.0), np.zeros(len(domain) + 1))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 4), min_size=2, max_size=4), st.integers(1, 60))
def test_tables_with_the_same_one_way_marginals_are_never_farther_apart_than_their_reach(
    seed: int, sizes: list[int], rows: int
) -> None:
    """The second table has each column of the first in another order."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({f"x{i}": size for i, size in enumerate(sizes)})
    first = np.column_stack([rng.choice(s, rows, p=rng.dirichlet(np.full(s, 0.3))) for s in sizes])
    second = np.column_stack([rng.permutation(column) for column in first.T])
    tops = [np.bincount(column).max() for column in first.T]
    reach = Reach(rows, np.array([*(rows - top for top in tops), 0.0]), np.zeros(len(sizes) + 1))
    every = tuple(range(len(sizes)))
    (one,), (two,) = (MemorySource.of_codes(t, domain).count([domain.attributes]) for t in (first, second))
    assert np.abs(one - two).sum() <= reach.most(np.array([every]))[0] + 1e-9


def test_the_reach_is_read_off_the_clearest_noisy_answers(make_door: MakeDoor) -> None:
    door = make_door(rho=100)
    measured = [door.measure(["a"], scale=3.0), door.measure(["a"], scale=1.0), door.measure(["b", "c"], scale=1.0)]
    reach = Reach.of(door.domain, measured, 300.0, 0.8)
    clearest = measured[1]
    assert reach.rare[0] == pytest.approx(300 - (clearest.values.max() - 2 * clearest.sigma))
    assert reach.noise[0] == pytest.approx(0.8 * 1.0 * 2)
    assert (reach.rare[1:-1] == 300).all()
    assert (reach.rare[-1], reach.noise[-1]) == (0.0, 0.0)


def test_what_noise_would_drown_is_left_out_and_comes_back_as_noise_falls() -> None:
    domain = Domain.of({"a": 2, "b": 10, "c": 50})
    known = Pool(Workload.all_kway(domain, 3), AimConfig())
    every = list(known.everything)
    assert known.worthwhile(far(domain), 1.0, [], 1) == every
    some = known.worthwhile(far(domain, 100.0), 9.0, [], 1)  # 2 · 100 rows pay for 22 cells
    assert some == [("a",), ("b",), ("c",), ("a", "b")]
    assert known.worthwhile(far(domain, 100.0), 1.5, [], 1) == [*some, ("a", "c")]


def test_of_many_pairs_those_of_columns_that_hardly_vary_are_left_out() -> None:
    """All rows but 10 have the same x03: pairs with it err by 40 rows at most, which pay for 8 cells."""
    known = Pool(Workload.all_kway(WIDE, 3), AimConfig())
    reach = far(WIDE, 1000.0)
    reach.rare[3] = 10.0
    pairs = {r for r in known.worthwhile(reach, 5.0, [], 1) if len(r) == 2}
    assert {r for r in combinations(WIDE, 2) if r not in pairs} == {
        r for r in combinations(WIDE, 2) if "x03" in r and WIDE.cells(r) >= 8
    }


def test_of_very_many_pairs_those_of_the_model_and_others_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LISTED", 100)
    monkeypatch.setattr(pool, "PAIRS", 90)
    known = Pool(Workload.all_kway(WIDE, 2), AimConfig())
    measured = [("x00", "x01", "x02"), ("x05", "x20")]
    edges = {("x00", "x01"), ("x00", "x02"), ("x01", "x02"), ("x05", "x20")}
    rounds = [known.worthwhile(far(WIDE), 1.0, measured, turn) for turn in range(10)]
    for found in rounds[:5]:  # of 90 // 30 attributes each; the tenth begins again
        assert len(found) == len(set(found))
        assert {(a,) for a in WIDE} | edges <= set(found)
        assert 84 <= sum(len(r) == 2 for r in found) <= 88
    assert {r for found in rounds for r in found if len(r) == 2} == set(combinations(WIDE, 2))


def test_of_too_many_cells_the_smallest_marginals_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain.of({"a": 2, "b": 10, "c": 50})
    monkeypatch.setattr(pool, "MOST_CELLS", 200)
    known = Pool(Workload.all_kway(domain, 3), AimConfig())
    assert known.worthwhile(far(domain), 1.0, [], 1) == [("a",), ("b",), ("c",), ("a", "b"), ("a", "c")]


def lacking(clique: Clique, edges: set[frozenset[str]]) -> int:
    return sum(frozenset(pair) not in edges for pair in combinations(clique, 2))


@pytest.mark.parametrize("k", [3, 4])
def test_of_many_all_pairs_and_what_lacks_an_edge_at_most(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "OTHERS", 0)
    known = Pool(Workload.all_kway(WIDE, k), AimConfig())
    assert known.wide
    measured = [("x00", "x01", "x02"), ("x02", "x03"), ("x03", "x04"), ("x10", "x11"), ("x11", "x12"), ("x10", "x12")]
    edges = {frozenset(pair) for clique in junction_tree(WIDE, measured).cliques for pair in combinations(clique, 2)}
    want = {r for size in range(1, k + 1) for r in combinations(WIDE, size) if size < 3 or lacking(r, edges) <= 1}
    found = known.worthwhile(far(WIDE), 1.0, measured, 1)
    assert len(found) == len(set(found))
    assert set(found) == want


def test_others_come_in_turn_and_are_the_same_each_time() -> None:
    known = Pool(Workload.all_kway(WIDE, 3), AimConfig())
    turns = [set(known.worthwhile(far(WIDE), 1.0, [], turn)) for turn in (1, 2, 1)]
    assert turns[0] == turns[2]
    assert len(turns[0] - turns[1]) > 500


@pytest.mark.parametrize("size", [0, 3 * pool.LIGHT, 100 * pool.LIGHT])
def test_every_pair_has_its_turn_however_large_the_model_is(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large model is asked about fewer pairs in a round, and not always about the same."""
    monkeypatch.setattr(pool, "PAIRS", 200)
    known = Pool(Workload.all_kway(WIDE, 3), AimConfig())
    assert not known.all_pairs
    rounds = [known.worthwhile(far(WIDE), 1.0, [], turn, size) for turn in range(len(WIDE))]
    seen = {r for found in rounds for r in found if len(r) == 2}
    assert seen == set(combinations(WIDE, 2))
    assert len([r for r in rounds[0] if len(r) == 2]) <= 200


def test_a_list_of_queries_is_looked_at_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LISTED", 3)
    queries = [("x00", "x05", "x09"), ("x03", "x04")]
    workload = Workload.of(WIDE, queries)
    assert Pool(workload, AimConfig()).worthwhile(far(WIDE), 1.0, [], 1) == list(workload.closure)


@pytest.mark.parametrize(("k", "held", "want"), [(3, None, ("x00", "x04", "x08")), (3, "x03", ("x00", "x03", "x04"))])
def test_of_a_wide_workload_alone_the_smallest_stands_in(
    k: int, held: str | None, want: Clique, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "OTHERS", 0)
    monkeypatch.setattr(pool, "LISTED", 3)
    workload = Workload.all_kway(WIDE, k) if held is None else Workload.target(WIDE, held, k)
    known = Pool(workload, AimConfig(candidates="workload"))
    assert known.smallest == known.worthwhile(far(WIDE), 1.0, [], 1) == [want]


def test_one_way_marginals_of_a_wide_table_get_more_of_the_budget() -> None:
    config = AimConfig()
    assert [aim.wide_share(d, config) for d in (2, 16)] == [0, 0]
    assert aim.wide_share(32, config) == 2 * config.share / 16
    assert aim.wide_share(500, config) == aim.MOST_FIRST
    assert aim.wide_share(500, AimConfig(adaptive=False)) == aim.wide_share(500, AimConfig(initial="uniform")) == 0


def door_of(rows: int, rho: Fraction) -> Door:
    source = MemorySource.of_codes(correlated(WIDE, rows, 0), WIDE)
    return Door(source, Budget.of(rho=rho), noise=ResearchNoise(1))


def test_a_wide_run_measures_one_way_marginals_twice_and_spends_its_budget() -> None:
    rho = Fraction(1, 10)
    outcome = mechanism("aim", rounds=200).run(door_of(400, rho), Workload.all_kway(WIDE, 3))
    first, again = outcome.measurements[:30], outcome.measurements[30:60]
    assert [m.clique for m in first] == [m.clique for m in again] == [(a,) for a in WIDE]
    by_size = {m.values.size: m.scale for m in again}
    assert by_size[2] / by_size[5] == pytest.approx((5 / 2) ** (1 / 3), rel=1e-3)  # cost in proportion to n^(2/3)
    share = sum(m.rho for m in [*first, *again]) / (rho * Fraction(995, 1000))
    assert float(share) == pytest.approx(float(min(aim.MOST_FIRST, Fraction(9, 10) * 30 / 200)), rel=1e-6)
    assert float(outcome.spent) == pytest.approx(float(rho), rel=1e-6)
    assert outcome.spent <= rho


def test_a_wide_run_with_clear_one_way_marginals_measures_them_once() -> None:
    outcome = mechanism("aim", rounds=600).run(door_of(20_000, Fraction(20)), Workload.all_kway(WIDE, 1))
    assert [m.clique for m in outcome.measurements[:30]] == [(a,) for a in WIDE]
    assert outcome.measurements[30:] == tuple(r.measurement for r in outcome.rounds)
