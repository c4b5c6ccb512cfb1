"""A part of a workload: never more than asked for, each marginal as likely as any other, small ones before large ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.sampling import some_of, some_of_closure
from understudy.workload import Workload

DOMAIN = Domain(tuple(f"c{i:03}" for i in range(500)), (3,) * 500)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_all_are_taken_where_they_fit_and_nothing_is_drawn() -> None:
    draw = rng()
    before = draw.bit_generator.state
    six = list(combinations("abcd", 2))
    assert some_of(six, 6, draw) == six
    assert draw.bit_generator.state == before


def test_a_part_keeps_the_order_and_every_one_may_come_up() -> None:
    """Each of 45 is taken with probability 1/3: in 300 draws between 60 and 140 times, but for one in a million."""
    cliques = list(combinations("abcdefghij", 2))
    drawn = [some_of(cliques, 15, rng(seed)) for seed in range(300)]
    assert all(len(set(part)) == 15 and part == sorted(part) for part in drawn)
    times = [sum(c in part for part in drawn) for c in cliques]
    assert 60 < min(times) <= max(times) < 140


@pytest.mark.parametrize(("most", "sizes"), [(100, {1}), (600, {1, 2}), (125_250, {1, 2}), (126_000, {1, 2, 3})])
def test_of_twenty_million_a_few_are_taken_the_columns_first(most: int, sizes: set[int]) -> None:
    found = some_of_closure(Workload.all_kway(DOMAIN, 3), most, rng())
    assert len(found) == len(set(found)) == most
    assert {len(clique) for clique in found} == sizes
    if most >= 500:
        assert [c for c in found if len(c) == 1] == [(name,) for name in DOMAIN]


def test_a_closure_that_fits_is_taken_whole() -> None:
    small = Workload.of(Domain.of({"a": 2, "b": 3, "c": 4}), [("a", "b"), ("c",)])
    assert some_of_closure(small, 10, rng()) == list(small.closure)


def test_blocks_hold_what_fits_and_a_large_one_stands_alone() -> None:
    domain = Domain.of({"a": 2, "b": 3, "c": 50})
    cliques = [("a",), ("b",), ("a", "b"), ("a", "c"), ("b",)]
    assert list(domain.blocks(cliques, 6)) == [[("a",), ("b",)], [("a", "b")], [("a", "c")], [("b",)]]
    assert list(domain.blocks([], 6)) == []
