"""Numbers at their ends: counts that floats cannot hold, tables of nobody, budgets from 1e-6 to 1e3."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

import understudy
from release_tables import schema, table
from understudy.domain import Clique, Domain
from understudy.mechanism import MECHANISMS, mechanism
from understudy.mechanism.outcome import UNKNOWN_ROWS
from understudy.model import fit
from understudy.privacy import UNITS, Budget, Candidate, Door, Unit
from understudy.workload import Workload

DOMAIN = Domain.of({"a": 2, "b": 3})
LARGE = [2**24 + 1, 2**31 - 1, 2**31, 2**53 + 1]
QUIET = 0.01
"""A sigma at which a non-zero draw has probability below 10^-2000."""


class Crowd:
    """A table whose every record is alike, however many there are."""

    domain = DOMAIN

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        found = []
        for clique in cliques:
            counts = np.zeros(self.domain.shape(clique), np.int64)
            counts[(0,) * len(clique)] = self._rows
            found.append(counts)
        return found


@pytest.mark.promise(4)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("rows", [0, *LARGE])
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_measurement_of_a_run_is_exact_where_there_is_no_noise(name: str, rows: int, unit: Unit) -> None:
    """With a budget so large that noise is zero, what is measured is the table, to the last record."""
    door = Door(Crowd(rows), Budget.of(rho=10**7), unit=unit)
    outcome = mechanism(name, **({"rounds": 4} if name in ("aim", "aim2", "mwem") else {})).run(
        door, Workload.all_kway(DOMAIN, 2), estimator=partial(fit, max_iterations=5)
    )
    quiet = [m for m in outcome.measurements if m.sigma < 0.02]
    assert quiet
    for measured in quiet:
        assert measured.values.dtype == np.int64
        exact = Crowd(rows).count([measured.clique])[0]
        assert (measured.values == (exact if measured.query is None else measured.query.exact(exact))).all()
    assert door.filter.spent <= door.filter.rho


@pytest.mark.promise(5)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("rows", [0, *LARGE, 2**62])
def test_selection_wraps_at_no_size(rows: int, unit: Unit) -> None:
    """What is off by as much as counts wins over what is off by one record, until both count as 2^40 (which is stated)."""
    far = Candidate(("a",), 1.0, 0.0, np.array([-(2.0**41), 0.0]))
    near = Candidate(("b",), 1.0, 0.0, np.array([rows + 1.0, 0.0, 0.0]))
    for candidates in ([far, near], [near, far]):
        chosen = Door(Crowd(rows), Budget.of(rho=10**9), unit=unit).select(candidates, epsilon=10.0).clique
        assert chosen == ("a",) or rows > 2**40


@pytest.mark.promise(6)
@pytest.mark.promise(8)
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "epsilon", [1e-6, 1.0, 1e3, *(pytest.param(e, marks=pytest.mark.audit) for e in (1e-4, 1e-2, 30.0))]
)
def test_budgets_of_any_size_make_a_release(epsilon: float, unit: str) -> None:
    made = understudy.synthesize(
        table(40),
        schema(),
        epsilon=epsilon,
        workload="all-1way",
        mechanism="independent",
        rows=20,
        unit=unit,
        progress=False,
    )
    assert made.spent <= made.rho
    assert made.arrow.num_rows == 20
    assert made.rho - made.spent < made.rho * Fraction(1, 2**40)
    assert all(np.isfinite(bound.table) for bound in made.manifest.bounds)


@pytest.mark.promise(14)
@pytest.mark.parametrize("mechanism", [name for name in sorted(MECHANISMS) if name != "gaussian"])
def test_a_table_of_nobody_makes_a_release(mechanism: str) -> None:
    made = understudy.synthesize(
        table(0),
        schema(),
        epsilon=0.5,
        **({"rounds": 20} if mechanism in ("aim", "aim2") else {}),
        workload="all-1way",
        mechanism=mechanism,
        progress=False,
        max_size="1MB",
    )
    told = made.manifest.table.told
    assert made.arrow.num_rows == (round(made.model.total) if told else UNKNOWN_ROWS)
    assert told or "unknown, for the noise is as large as the counts" in made.card
    assert made.private
