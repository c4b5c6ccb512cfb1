"""Every budget that is accepted works: from the least to the largest epsilon, with every mechanism, unit and noise.

A run that fails after it has spent has lost the budget, so a budget that cannot work must be refused before.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import Release, load, plan, synthesize
from understudy.errors import BudgetError
from understudy.mechanism import outcome
from understudy.privacy import Budget
from understudy.privacy.budget import DELTAS, EPSILONS, RHOS
from understudy.report import render_report
from understudy.request import unit_of
from understudy.schema import parse_schema
from understudy.source import MemorySource

SCHEMA = parse_schema(
    """
[columns.a]
kind = "categorical"
values = ["x", "y"]
nullable = true
[columns.b]
kind = "integer"
min = 0
max = 9
bins = 2
nullable = true
[columns.c]
kind = "boolean"
other = false
""",
    source="small.toml",
)
RNG = np.random.default_rng(3)
FIRST = RNG.integers(0, 3, 90)
CODES = np.column_stack([FIRST, (FIRST + RNG.integers(0, 2, 90)) % 3, RNG.integers(0, 2, 90)]).astype(np.int32)
MAKING = ("aim", "aim2", "mwem", "independent", "gaussian+pgm")
ENDS: list[dict[str, float]] = [
    {"epsilon": EPSILONS[0], "delta": DELTAS[0]},
    {"epsilon": EPSILONS[1], "delta": DELTAS[0]},
    {"rho": RHOS[0]},
    {"rho": RHOS[1]},
]
GRID: list[dict[str, float]] = [
    {"epsilon": 10.0**e, "delta": d} for e in (-6, -4, -2, 0, 2, 3, 4, 6) for d in (1e-100, 1e-9)
]


def made(mechanism: str, **settings: Any) -> Release:
    settings = {"rows": 60, "workload": "all-2way", "progress": False, **settings}
    release = synthesize(CODES, SCHEMA, mechanism=mechanism, **settings)
    assert release.spent <= release.rho
    return release


def looked_at(release: Release) -> None:
    """Make everything that can be made of a release."""
    for text in (render_report(release), repr(release), release.card, release._repr_html_(), release.marginal("a", "b")):
        assert "nan" not in str(text).lower().replace("finance", "")
    assert all(bound.value >= 0 for bound in release.bounds.values())
    release.intervals(*release.measurements[-1].clique)
    release.sample(3)


def ends() -> list[Any]:
    """The largest budgets with every mechanism; the least, whose fits take longest, with one every day."""
    cases = [(mechanism, budget) for mechanism in MAKING for budget in ENDS]
    quick = [case for case in cases if max(case[1].values()) >= 1 or case in (("aim", ENDS[0]), ("independent", ENDS[2]))]
    marked = [(case, () if case in quick else pytest.mark.audit) for case in cases]
    return [pytest.param(*case, id=f"{case[0]} {case[1]}", marks=marks) for case, marks in marked]


@pytest.mark.promise(6)
@pytest.mark.parametrize(("mechanism", "budget"), ends())
def test_the_ends_of_what_is_accepted_work(mechanism: str, budget: dict[str, float]) -> None:
    noise, unit = ("laplace", "replace") if mechanism in ("mwem", "independent") else ("gaussian", "add-remove")
    looked_at(made(mechanism, **budget, noise=noise, unit=unit))


@pytest.mark.audit
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", MAKING)
def test_whatever_is_accepted_works(mechanism: str, unit: str, noise: str) -> None:
    """Every second run with seeded noise, which has limits of its own."""
    for turn, budget in enumerate([*ENDS, *GRID]):
        looked_at(made(mechanism, **budget, unit=unit, noise=noise, seed=None if turn % 2 else 1))


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("mechanism", MAKING)
def test_with_the_largest_epsilon_the_counts_are_exact(mechanism: str, noise: str) -> None:
    """False alarms: a cell is off with probability below 2 exp(-1/b), b < 0.01 the largest scale; less than 1e-40."""
    release = made(mechanism, epsilon=EPSILONS[1], noise=noise, rows=None)
    assert release.measurements
    for m in release.measurements:
        (exact,) = MemorySource.of_codes(CODES, SCHEMA.domain).count([m.clique])
        assert np.array_equal(m.values, exact)
        assert np.abs(release.model.marginal(m.clique) - exact).max() < 0.5
    assert len(release.codes) == len(CODES)


NUMBERS = """
[columns.x]
kind = "real"
min = {low}
max = {high}
bins = 3
nullable = true
[columns.y]
kind = "boolean"
other = false
"""
RANGES = [(-1e300, 1e300), (0.0, 1e300), (0.0, 1e-300), (0.0, 1e-320), (1.0, 1.0 + 4e-15), (-1.0, 1.0)]


def with_sums(low: float, high: float, **settings: Any) -> Release:
    """Make a table whose column of numbers is asked for inside its bins, and for a sum."""
    inside = [low, high, float("nan"), None, *(low + (high / 2 - low / 2) * RNG.random(60)).tolist()]
    table = {"x": inside, "y": [True, False] * 32, "who": [i // 9 for i in range(64)]}
    text = 'person = "who"\nrows_per_person = 5\n' + NUMBERS.format(low=low, high=high)
    release = synthesize(table, parse_schema(text), workload="all-2way", rows=40, progress=False, **settings)
    assert release.rho * Fraction(999, 1000) < release.spent <= release.rho
    return release


@pytest.mark.promise(6)
@pytest.mark.parametrize("mechanism", ["aim2", "mst"])
@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_of_every_size_that_is_accepted_are_summed(low: float, high: float, mechanism: str) -> None:
    release = with_sums(low, high, epsilon=30, seed=0, mechanism=mechanism)
    asked = [charge.purpose for charge in release.spend if charge.purpose.startswith("measure 1 sum ")]
    assert len(asked) == (mechanism == "aim2")  # MST may have measured groups of values, and then counts these once more
    values = [x for x in release.table["x"] if x is not None]
    assert all(low <= x <= high for x in values)


@pytest.mark.promise(6)
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", [*ENDS, {"epsilon": 1e4, "delta": 1e-9}], ids=str)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_sums_are_asked_for_with_every_budget_that_is_accepted(budget: dict[str, float], unit: Any, tmp_path: Path) -> None:
    with_sums(-1.0, 1.0, unit=unit, out=tmp_path / "r", **budget)  # or its counts, where noise says that there is no row
    assert load(tmp_path / "r").inside


def test_a_plan_can_be_made_for_whatever_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.planning.MOST_REHEARSED", 500)
    for budget in ENDS:
        found = plan(SCHEMA, rows=10**9, **budget, workload="all-2way", time_limit=0, rehearse=True)
        assert found.rehearsal is not None


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"epsilon": 1.01e6, "delta": 1e-9}, "epsilon = 1.01e+06 is not accepted; choose one from 1e-06 to 1e+06"),
        ({"epsilon": 9e-7, "delta": 1e-9}, "epsilon = 9e-07 is not accepted"),
        ({"epsilon": 1, "delta": 1e-101}, "delta = 1e-101 is not accepted; choose one from 1e-100"),
        ({"rho": 2e9}, "rho = 2e+09 is not accepted; choose one from 1e-18 to 1e+09"),
        ({"rho": 1e-300}, "rho = 1.00000e-300 is not accepted"),
    ],
)
def test_other_budgets_are_refused(budget: dict[str, float], said: str) -> None:
    with pytest.raises(BudgetError) as refused:
        Budget.of(**budget)
    assert said in str(refused.value)


@pytest.mark.promise(6)
@given(st.floats(-6, 6), st.floats(-100, -0.01))
def test_a_budget_in_the_range_is_never_refused(epsilon: float, delta: float) -> None:
    low, high = EPSILONS
    budget = Budget.of(epsilon=min(max(10.0**epsilon, low), high), delta=max(10.0**delta, DELTAS[0]))
    assert RHOS[0] <= budget.rho <= RHOS[1]


def test_noise_does_not_decide_how_much_memory_a_table_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "MOST_ROWS", 50)
    release = made("independent", epsilon=1.0, seed=1, rows=None)
    assert len(release.codes) == 50
    assert release.weight == pytest.approx(release.manifest.table.total / 50)


@pytest.mark.promise(17)
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
def test_a_rehearsal_is_of_the_unit_that_is_planned(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made_: list[Release] = []

    def keeping(*args: Any, **settings: Any) -> Release:
        made_.append(synthesize(*args, **settings))
        return made_[-1]

    monkeypatch.setattr("understudy.planning.synthesize", keeping)
    plan(SCHEMA, rows=50, epsilon=1, unit=unit, time_limit=0)
    assert [release.unit for release in made_] == [unit_of(unit, SCHEMA)]
