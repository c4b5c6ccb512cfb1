"""Bins from noisy counts: divided as far as the ladder goes, ended at round numbers, bounded by what may be rows."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest

from understudy import learn_schema
from understudy.learning.bins import bins
from understudy.learning.nodes import Node, decades
from understudy.learning.tree import Leaf
from understudy.privacy import Door, Linear
from understudy.schema.declaration import Date


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
    nodes = {low: Node((0,), 1, low, low + 10, low // 10 if low > 0 else 1000, 1) for low in rows}  # 1000 is not divided
    return [Leaf(nodes[low], n, sigma, low not in unsure, low % 100 == 0) for low, n in rows.items()]


def test_bins_start_at_round_numbers() -> None:
    found = bins(leaves(dict.fromkeys(range(300, 2000, 10), 100.0), sigma=20.0))
    assert {100 * k for k in range(3, 20)} <= {int(low) for low, _ in found}
    assert all(low % 50 == 0 for low, _ in found)
    assert (found[0][0], found[-1][1]) == (300, 2000)


def test_a_wide_leaf_is_cut_at_round_numbers_though_noise_hides_its_rows() -> None:
    zero, wide = Node((0,), 0, 0, 1), Node((0,), 1, 1000, 10000, 0, 3)
    found = bins([Leaf(zero, 9000.0, 100.0, True, True), Leaf(wide, 4000.0, 100.0, True, True)])
    assert found[0][1] == 1000
    assert all(low % 1000 == 0 for low, _ in found)
    assert len(found) > 4
    assert found[-1][1] == 10000


def test_few_single_values_have_a_bin_each() -> None:
    singles = [Leaf(Node((0,), 1, day, day + 1), 30.0, 5.0, True, False) for day in range(1, 32)]
    assert bins(singles) == [(day, day + 1) for day in range(1, 32)]


@pytest.mark.parametrize(("rows", "kept"), [(1.4, False), (1.6, True)])
def test_what_is_likely_beside_what_is_sure_stays_within_the_bounds(rows: float, kept: bool) -> None:
    found = bins(leaves({-20: rows, -10: 100.0, 30: 100.0, 40: rows, 50: rows}, unsure=(-20, 40, 50)))
    assert (found[0][0], found[-1][1]) == ((-20, 50) if kept else (-10, 40))


@pytest.mark.parametrize(("rows", "kept"), [(-0.1, False), (0.1, True)])
def test_what_may_lie_below_what_is_sure_towards_zero_stays_within_the_bounds(rows: float, kept: bool) -> None:
    found = bins(leaves({0: rows, 10: rows, 20: 100.0, 30: 100.0}, unsure=(0, 10)))
    assert (found[0][0], found[-1][1]) == (10 if kept else 20, 40)
    days = bins([Leaf(Node((2,), 1, low, low + 10), 1.4 + low, 1.0, low > 0, False) for low in (0, 10, 20)])
    assert days[0][0] == 10  # a day is no nearer to zero than another


def test_bounds_leave_out_no_rows_that_noisy_counts_tell_of() -> None:
    found = bins(leaves({10: -3.0, 20: 2.0, 30: 100.0, 40: 3.0, 50: -2.0}, sigma=5.0))
    assert (found[0][0], found[-1][1]) == (30, 50)  # 10 and 20 have -1 together, 40 and 50 have 1


def test_what_plainly_is_text_is_told_by_a_glance(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    ask = Door.ask

    def noted(door: Door, question: Any) -> Any:
        asked.extend([question.clique] if isinstance(question, Linear) else [])
        return ask(door, question)

    monkeypatch.setattr(Door, "ask", noted)
    rows: dict[str, list[Any]] = {
        "town": [("Paris", "Lyon", None)[i % 3] for i in range(6000)],
        "died": [["N", "N", "J"][i % 3] for i in range(6000)],
        "code": [["Paris", "01055"][i % 2] for i in range(6000)],
        "size": ["?" if i % 5 == 0 else "1" for i in range(6000)],
    }
    learnt = learn_schema(rows, epsilon=8, seed=0)
    times = {name: asked.count((name,)) for name in rows}
    assert (times["town"], times["died"], times["code"]) == (1, 2, 2)
    assert times["size"] > 2
    assert {one.name: one.kind for one in learnt.columns} == {
        **dict.fromkeys(("town", "died", "code"), "categorical"),
        "size": "integer",
    }
    assert set(learnt["died"].labels) >= {"N", "J"}
    assert learnt["town"].nullable


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


def test_what_lies_beyond_all_likely_rows_is_a_bin_of_its_own() -> None:
    noisy = {10: 3.0, 20: -2.0, **dict.fromkeys(range(30, 90, 10), 300.0), 90: -4.0, 100: 5.0, 110: 2.0, 120: 1.0}
    found = bins(leaves(noisy, sigma=5.0))
    assert found[0] == (10, 30)
    assert found[-1] == (90, 130)
    assert (found[1][0], found[-2][1]) == (30, 90)


def test_a_value_that_many_rows_have_is_a_bin_of_its_own() -> None:
    singles = [Leaf(Node((0,), 1, low, low + 1), 700.0 if low == 115 else 20.0, 1.0, True, False) for low in range(100, 131)]
    wide = [Leaf(Node((0,), 1, low, low + 10), 1000.0, 1.0, True, False) for low in range(200, 500, 10)]
    assert (115, 116) in bins([*singles, *wide])


@pytest.mark.parametrize(("days", "monthly"), [(720, True), (60, False)])
def test_days_are_divided_where_there_are_few_months(days: int, monthly: bool) -> None:
    start = np.datetime64("2021-01-01")
    rows = {"day": (start + np.random.default_rng(1).integers(0, days, 20_000)).astype(str).tolist()}
    (column,) = learn_schema(rows, epsilon=4, seed=0).declaration.columns.values()
    assert isinstance(column, Date)
    assert column.edges is not None
    inside = [day for day in column.edges if date(2021, 1, 1) < day < date(2022, 12, 1)]
    assert len(inside) > 10
    assert all(day.day == 1 for day in inside) is monthly
