"""A plan answers from the schema alone, in seconds for any schema, and its forecasts grow with what is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import understudy
from release_tables import schema
from understudy import Schema, planning
from understudy.cli import main
from understudy.domain import Clique, Combinations
from understudy.errors import CapacityError, UserError
from understudy.mechanism.calibration import Rates
from understudy.mechanism.choosing import FORECASTS
from understudy.metrics import workload_error
from understudy.planning import REHEARSED
from understudy.privacy import Centred
from understudy.request import Request, budget_of
from understudy.source import MemorySource
from understudy.workload import Workload

SOME_MACHINE = Rates(clique=1e-4, byte=4e-10, marginal=5e-5, look=3e-8, value=5e-8)


def wide(columns: int, codes: int = 6) -> Schema:
    return Schema.from_domain({f"c{i}": codes for i in range(columns)})


@pytest.mark.parametrize(("columns", "codes"), [(500, 6), (48, 1001)])
def test_a_wide_schema_is_planned_without_a_rehearsal_and_nothing_is_listed(
    columns: int, codes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Combinations.__iter__

    def few(self: Combinations) -> Iterator[Clique]:
        assert len(self) <= 1000, "a plan listed the marginals of a wide workload"
        return listed(self)

    monkeypatch.setattr(Combinations, "__iter__", few)
    monkeypatch.setattr(planning, "calibrated", lambda: SOME_MACHINE)  # on a fast one even this may take seconds
    found = understudy.plan(wide(columns, codes), rows=20_000, epsilon=1)
    assert found.rehearsal is None
    assert found.unrehearsed == "a run is forecast to take more than 8 s"
    assert found.marginals > 18_000
    assert found.seconds > REHEARSED
    assert found.typical_memory <= found.memory < 2**31


def test_a_plan_says_what_no_time_limit_shortens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of 200 columns the table alone took twice the limit of ten seconds, and nothing had said so."""
    monkeypatch.setattr(planning, "calibrated", lambda: SOME_MACHINE)
    found = understudy.plan(wide(200), rows=20_000, epsilon=1, rehearse=False)
    assert 5 < found.table_seconds < found.seconds
    assert found.table_seconds > 4 * understudy.plan(wide(20), rows=2_000, epsilon=1, rehearse=False).table_seconds
    (tmp_path / "s.toml").write_text(
        "".join(f'[columns.c{i}]\nkind = "integer"\nmin = 0\nmax = 5\nother = 0\n' for i in range(200))
    )
    asked = ["plan", "-s", str(tmp_path / "s.toml"), "--epsilon", "1", "--no-rehearsal", "--rows"]
    said = "for the table after the rounds, which no time limit shortens"
    assert said in CliRunner().invoke(main, [*asked, "20000"]).output
    assert said not in CliRunner().invoke(main, [*asked, "10", "-w", "all-1way"]).output


def test_forecasts_grow_with_columns_rows_and_budget() -> None:
    def plan(columns: int, rows: int, epsilon: float) -> understudy.Plan:
        return understudy.plan(wide(columns, 20), rows=rows, epsilon=epsilon, rehearse=False)

    base = plan(20, 10_000, 1)
    for more in (plan(40, 10_000, 1), plan(20, 1_000_000, 1), plan(20, 10_000, 20)):
        assert more.seconds > base.seconds
        assert more.typical_memory > base.typical_memory
    assert plan(20, 10_000, 20).memory == base.memory  # what it may take does not depend on the budget


def test_a_rehearsal_is_made_where_it_takes_seconds_or_is_asked_for() -> None:
    settings = {"rows": 300, "epsilon": 1, "workload": "all-1way"}
    made, none = (understudy.plan(schema(), rehearse=how, **settings) for how in (None, False))  # type: ignore[arg-type]
    assert made.rehearsal is not None
    assert (none.rehearsal, made.unrehearsed, none.unrehearsed) == (None, "", "none was wanted")


def test_a_rehearsal_that_does_not_fit_is_refused_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"rows": 300, "epsilon": 1, "workload": "all-1way"}
    monkeypatch.setattr("understudy.mechanism.memory.memory_left", lambda memory=None: 1000)
    assert understudy.plan(schema(), **settings).unrehearsed == "it does not fit in memory"  # type: ignore[arg-type]
    with pytest.raises(CapacityError):
        understudy.plan(schema(), rehearse=True, **settings)  # type: ignore[arg-type]


def test_a_limit_on_memory_is_planned_with() -> None:
    settings = {"rows": 1000, "epsilon": 1, "rehearse": False}
    free, tight = (understudy.plan(wide(20), memory=limit, **settings) for limit in (None, "500MB"))  # type: ignore[arg-type]
    assert tight.max_size < free.max_size
    assert tight.memory <= 500 * 2**20 < free.memory


@pytest.mark.parametrize("max_size", ["auto", "80MB"])
def test_no_model_is_larger_than_one_table_of_all_columns(max_size: str) -> None:
    few = understudy.plan(wide(4), rows=300, epsilon=1, max_size=max_size, mechanism="aim2", rehearse=False)
    assert few.max_size == 8 * 6**4
    assert few.least_size < few.max_size
    one = understudy.plan(wide(1), rows=300, epsilon=1, workload="all-1way", max_size=max_size, rehearse=False)
    assert one.least_size == one.max_size == 8 * 6


def test_a_rehearsal_of_a_wide_workload_compares_some_of_its_marginals_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declared = Schema.from_domain({f"c{i}": 2 + i % 3 for i in range(9)})
    domain, rng = declared.domain, np.random.default_rng(3)
    codes = planning.stand_in(declared, 400, rng)
    release = understudy.synthesize(codes, declared, epsilon=1, workload="all-1way", seed=1)
    workload = Workload.parse("all-3way", domain)
    real = MemorySource.of_codes(codes, domain)
    exact = workload_error(workload, real.count(workload.cliques), release.table_marginals(workload.cliques))
    assert planning.rehearsed_error(workload, codes, release) == pytest.approx(exact)

    counted: list[int] = []
    count = MemorySource.count

    def noted(self: MemorySource, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        counted.append(sum(map(domain.cells, cliques)))
        return count(self, cliques)

    monkeypatch.setattr(MemorySource, "count", noted)
    monkeypatch.setattr(planning, "MOST_COMPARED", 40)
    monkeypatch.setattr(planning, "AT_ONCE", 200)
    assert planning.rehearsed_error(workload, codes, release) == pytest.approx(exact, rel=0.15)  # 40 of 84, seeded
    assert len(counted) > 3
    assert max(counted) <= 200
    assert sum(counted) <= 40 * 64


def test_what_is_planned_is_what_would_be_chosen() -> None:
    settings: dict[str, Any] = {"rows": 300, "epsilon": 5, "workload": "all-1way"}
    found = understudy.plan(schema(), **settings)
    asked = Request.of(schema(), budget_of(5, None, None), "all-1way", rows=300)
    assert found.mechanism == asked.mechanism.name == "residuals"
    assert found.forecasts == asked.forecasts
    assert found.rehearsal is not None
    assert (found.most_rounds, found.rehearsal.rounds) == (0, 0)
    assert found.rehearsal.size == found.least_size == found.max_size
    named = understudy.plan(schema(), mechanism="aim2", rehearse=False, **settings)
    assert (named.mechanism, named.forecasts) == ("aim2", {})
    assert named.most_rounds > 0
    with pytest.raises(UserError, match=r'made for auto, aim2, .*, not for "mst"'):
        understudy.plan(schema(), mechanism="mst", **settings)
    with pytest.raises(UserError, match='There is no mechanism "aimm"'):
        understudy.plan(schema(), mechanism="aimm", **settings)


@pytest.mark.parametrize("name", sorted(FORECASTS))
def test_the_first_noise_is_what_a_run_puts_on_columns(name: str) -> None:
    """Of columns that are measured by residuals, what both together put on a cell."""
    declared, rows = Schema.from_domain({"a": 5, "b": 3, "c": 4}), 400
    pairs, told = [["a", "b"], ["b", "c"]], {"epsilon": 2.0, "mechanism": name}
    found = understudy.plan(declared, rows=rows, workload=pairs, rehearse=False, **told)  # type: ignore[arg-type]
    codes = planning.stand_in(declared, rows, np.random.default_rng(3))
    release = understudy.synthesize(codes, declared, workload=pairs, seed=1, progress=False, **told)  # type: ignore[arg-type]
    first: dict[Clique, float] = {}
    for m in release.measurements:
        first.setdefault(m.clique, m.sigma / (m.query.whole if isinstance(m.query, Centred) else 1))
    for column in found.columns:
        n, own = column.codes, first[(column.name,)]
        expected = own if () not in first else sqrt((1 - 1 / n) * own**2 + (first[()] / n) ** 2)
        assert column.noise == pytest.approx(min(2.0, sqrt(2 / pi) * expected * n / rows), rel=0.02)
