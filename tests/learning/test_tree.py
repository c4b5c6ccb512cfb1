"""Bins from noisy counts: divided as far as the ladder goes, ended at round numbers, bounded by what may be rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy import learn_schema
from understudy.learning.nodes import Node, decades
from understudy.learning.tree import Leaf, bins
from understudy.privacy import Door


def depth(node: Node) -> int:
    return 1 + depth(node.children()[0]) if node.children() else 0


@pytest.mark.parametrize("families", [(0,), (0, 1), (2,), (3,)])
def test_levels_say_how_often_a_node_can_be_divided(families: tuple[int, ...]) -> None:
    for node in decades(families):
        assert node.levels == depth(node), node
        for child in node.children()[:2]:
            assert child.levels == depth(child), child


def leaves(rows: dict[int, float], sigma: float = 1.0, *, unsure: tuple[int, ...] = ()) -> list[Leaf]:
    """Leaves of width 10 from their starts; multiples of 100 are rounder."""
    return [Leaf(Node((0,), 1, low, low + 10), n, sigma, low not in unsure, low % 100 == 0) for low, n in rows.items()]


def test_a_bin_may_end_at_a_rounder_number_with_half_the_mass() -> None:
    found = bins(leaves(dict.fromkeys(range(300, 1940, 10), 100.0)))
    assert {100 * k for k in range(3, 19)} <= {int(low) for low, _ in found}
    assert (found[0][0], found[-1][1]) == (300, 1940)


@pytest.mark.parametrize(("rows", "kept"), [(1.4, False), (1.6, True)])
def test_what_is_likely_beside_what_is_sure_stays_within_the_bounds(rows: float, kept: bool) -> None:
    found = bins(leaves({10: rows, 20: 100.0, 30: 100.0, 40: rows, 50: rows}, unsure=(10, 40, 50)))
    assert (found[0][0], found[-1][1]) == ((10, 50) if kept else (20, 40))


def test_bounds_leave_out_no_rows_that_noisy_counts_tell_of() -> None:
    found = bins(leaves({10: -3.0, 20: 2.0, 30: 100.0, 40: 3.0, 50: -2.0}, sigma=5.0))
    assert (found[0][0], found[-1][1]) == (30, 50)  # 10 and 20 have -1 together, 40 and 50 have 1


def test_texts_get_all_that_numbers_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    doors: list[Door] = []
    ask = Door.ask

    def noted(door: Door, question: Any) -> Any:
        doors.append(door)
        return ask(door, question)

    monkeypatch.setattr(Door, "ask", noted)
    rng = np.random.default_rng(2)
    table = {"age": rng.integers(0, 99, 4000), "a": ["x", "y"] * 2000, "paid": ["yes", "no"] * 2000, "b": ["u", "v"] * 2000}
    learnt = learn_schema({name: list(values) for name, values in table.items()}, epsilon=2)
    assert list(learnt.domain) == ["age", "a", "paid", "b"]
    assert 0.999 * doors[-1].filter.rho < doors[-1].filter.spent <= doors[-1].filter.rho
