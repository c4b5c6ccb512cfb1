"""The unit of privacy is a value, and its sensitivities are what neighbours really do to a marginal."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import FormatError, InternalError
from understudy.privacy import UNITS, Budget, Door, Unit, distances_cost, gaussian_cost, laplace_cost
from understudy.privacy.scoring import distance

from .fakes import TableSource
from .test_door import DOMAIN, ROWS, candidate

MANY = [Unit(kind, rows) for kind in ("add-remove", "replace") for rows in (1, 2, 3)]  # type: ignore[arg-type]


def moved(unit: Unit, rng: np.random.Generator, cells: int) -> np.ndarray:
    """Return what a random neighbour does to a marginal: often the worst, with all records in one cell."""
    cell = rng.integers(cells, size=unit.rows) if rng.random() < 0.5 else np.full(unit.rows, rng.integers(cells))
    added = np.bincount(cell, minlength=cells)
    if unit.kind == "add-remove":
        return added * rng.choice([-1, 1])
    other = rng.integers(cells, size=unit.rows) if rng.random() < 0.5 else np.full(unit.rows, rng.integers(cells))
    return added - np.bincount(other, minlength=cells)


@pytest.mark.promise(8)
@pytest.mark.promise(11)
@pytest.mark.promise(17)
@pytest.mark.parametrize("unit", MANY)
def test_sensitivities_are_the_most_that_a_neighbour_moves(unit: Unit) -> None:
    """Never above, and reached: by 400 random neighbours, of which about one in four is the worst."""
    rng = np.random.default_rng(0)
    changes = [moved(unit, rng, 5) for _ in range(400)]
    estimate = rng.uniform(0, 9, 5)
    counts = rng.integers(20, 30, 5)
    assert max(int(np.abs(c).sum()) for c in changes) == unit.l1
    assert max(int((c**2).sum()) for c in changes) == unit.l2_squared
    assert max(abs(distance(counts + c, estimate) - distance(counts, estimate)) for c in changes) <= unit.score


@pytest.mark.promise(8)
@pytest.mark.parametrize("unit", MANY)
def test_costs_follow_from_the_unit(unit: Unit) -> None:
    one, k = Unit(unit.kind), unit.rows
    assert gaussian_cost(3.0, unit) == k**2 * gaussian_cost(3.0, one)
    assert laplace_cost(3.0, unit) == k**2 * laplace_cost(3.0, one)
    assert distances_cost(3.0, 4, unit) == k**2 * distances_cost(3.0, 4, one)
    door = Door(TableSource(DOMAIN, ROWS), Budget.of(rho=1000), unit=unit)
    door.measure(("age",), scale=3.0)
    door.measure(("age",), scale=3.0, noise="laplace")
    door.distances([candidate("age"), candidate("sex")], sigma=3.0)
    chosen = door.select([candidate("age")], epsilon=1.0)
    expected = [gaussian_cost(3.0, unit), laplace_cost(3.0, unit), distances_cost(3.0, 2, unit), chosen.rho]
    assert [c.rho for c in door.filter.charges] == expected
    assert chosen.scale == 2 * 2**20 * unit.l1


def test_a_unit_is_a_value() -> None:
    assert Unit("add-remove") == Unit.ADD_REMOVE != Unit.REPLACE == Unit("replace", rows=1)
    assert len({Unit("replace"), Unit.REPLACE, Unit("replace", 2)}) == 2
    assert [unit.value for unit in UNITS] == ["add_remove", "replace"]
    assert Unit("replace", 3).value == "replace of 3 rows"
    assert [Unit.of(unit.value) for unit in UNITS] == list(UNITS)
    for unit in (Unit("replace", 3), Unit("add-remove", 1, "patient"), Unit("replace", 12, "a of 3 rows\nof one b")):
        assert Unit.of(unit.value) == unit
    for wrong in ("household", "add_remove of 0 rows", "add_remove of rows", "replaced"):
        with pytest.raises(FormatError, match="add_remove or replace"):
            Unit.of(wrong)


@pytest.mark.promise(17)
def test_budgets_add_up_where_the_same_is_protected() -> None:
    persons = Unit("add-remove", 5, "patient")
    assert persons.adds_to(Unit("add-remove", 2, "patient"))
    for other in (Unit.ADD_REMOVE, Unit("replace", 5, "patient"), Unit("add-remove", 5, "household"), Unit("add-remove", 5)):
        assert not persons.adds_to(other)
        assert not other.adds_to(persons)
    assert not Unit("add-remove", 5).adds_to(Unit.ADD_REMOVE)


@pytest.mark.parametrize(("kind", "rows"), [("person", 1), ("replace", 0), ("replace", True), ("add-remove", 1.5)])
def test_what_is_no_unit_is_refused(kind: str, rows: int) -> None:
    with pytest.raises(InternalError, match="unit of privacy"):
        Unit(kind, rows)  # type: ignore[arg-type]
