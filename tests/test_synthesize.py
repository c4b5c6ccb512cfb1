"""synthesize: what it refuses, before any spend; what it promises; and what it leaves on record when it fails."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console
from threadpoolctl import threadpool_info, threadpool_limits

import understudy
from release_tables import quick, schema, table
from understudy.domain import Clique
from understudy.errors import BudgetError, FormatError, SchemaError, SourceError, UserError, WorkloadError
from understudy.ledger import Ledger, Run
from understudy.mechanism import Event, Failed, Finished, Measured, RunStarted
from understudy.progress import Display
from understudy.quantities import parse_size, parse_time, show_size, show_time
from understudy.request import Output
from understudy.schema import parse_schema
from understudy.source import MemorySource


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make reading a count an error: whoever is refused must not have read."""

    def count(self: MemorySource, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        raise AssertionError("the table was read")

    monkeypatch.setattr(MemorySource, "count", count)


WRONG: list[tuple[dict[str, Any], type[UserError], str]] = [
    ({"epsilon": None}, BudgetError, "epsilon"),
    ({"epsilon": "1"}, BudgetError, "number"),
    ({"epsilon": -1}, BudgetError, "above 0"),
    ({"epsilon": 1, "rho": 0.1}, BudgetError, "two budgets"),
    ({"delta": 2}, BudgetError, "delta"),
    ({"workload": "all-3wya"}, WorkloadError, "all-3way"),
    ({"workload": "target:agee"}, SchemaError, 'Did you mean "age"'),
    ({"workload": []}, WorkloadError, "empty"),
    ({"mechanism": "gaussian"}, UserError, r"gaussian\+pgm"),
    ({"mechanism": "aimm"}, UserError, 'Did you mean "aim"'),
    ({"unit": "person"}, UserError, "add-remove or replace"),
    ({"rows": -1}, UserError, "rows"),
    ({"rows": 2.5}, UserError, "rows"),
    ({"max_size": "big"}, UserError, "80MB"),
    ({"max_size": 10}, UserError, "max_size"),
    ({"time_limit": "soon"}, UserError, "10m"),
    ({"confidence": 1.0}, UserError, "confidence"),
    ({"seed": -3}, UserError, "seed"),
    ({"alhpa": 0.5}, UserError, 'Did you mean "alpha"'),
]


@pytest.mark.parametrize(("wrong", "kind", "says"), WRONG, ids=lambda v: str(v) if isinstance(v, dict) else "")
@pytest.mark.usefixtures("unread")
def test_wrong_settings_are_refused_before_any_read(wrong: dict[str, Any], kind: type[UserError], says: str) -> None:
    with pytest.raises(kind, match=says):
        quick(table(20), **{"mechanism": "aim", **wrong})


@pytest.mark.usefixtures("unread")
def test_drafts_missing_columns_and_strange_tables_are_refused() -> None:
    draft = parse_schema('[table]\ndraft = true\n[columns.age]\nkind = "integer"\nmin=0\nmax=9\nother=0\n')
    with pytest.raises(SchemaError, match="draft"):
        understudy.synthesize(table(20), draft, epsilon=1)
    with pytest.raises(SourceError, match='no column "sex"'):
        quick(table(20).drop_columns(["sex"]))
    with pytest.raises(SourceError, match="not a table"):
        quick(object())


@pytest.mark.usefixtures("unread")
def test_places_that_cannot_be_written_are_refused_with_nothing_on_record(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="Nothing was spent"):
        quick(table(20), out=tmp_path / "file" / "r")
    (tmp_path / "there").mkdir()
    with pytest.raises(UserError, match="exists already"):
        quick(table(20), out=tmp_path / "there")
    (tmp_path / "r.ledger").write_text("mine")
    with pytest.raises(FormatError, match="not a ledger"):
        quick(table(20), out=tmp_path / "r")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "r.ledger", "there"]
    assert (tmp_path / "r.ledger").read_text() == "mine"


def test_delta_has_a_public_default_and_the_budget_is_what_was_asked() -> None:
    made = quick(table(100), epsilon=0.7)
    assert (made.epsilon, made.delta) == (0.7, 1e-9)
    assert made.spent <= made.rho
    by_rho = quick(table(100), epsilon=None, rho=Fraction(1, 10))
    assert by_rho.rho == Fraction(1, 10)
    assert by_rho.delta == 1e-9
    assert by_rho.epsilon > 0


def test_the_number_of_synthetic_rows_comes_from_noisy_numbers() -> None:
    """Same seed, same noise: were the table's own number used anywhere, the totals would not follow the noise."""
    totals = [quick(table(500), seed=seed, epsilon=0.3).arrow.num_rows for seed in range(6)]
    assert len(set(totals)) > 3
    assert all(100 < total < 900 for total in totals)


def test_a_seed_repeats_everything_and_secure_runs_differ() -> None:
    first, second = quick(table(200), seed=4), quick(table(200), seed=4)
    assert first.arrow.equals(second.arrow)
    assert not quick(table(200), seed=5).arrow.equals(first.arrow)
    one, two = quick(table(200), seed=None), quick(table(200), seed=None)
    assert any((a.values != b.values).any() for a, b in zip(one.measurements, two.measurements, strict=True))


@pytest.mark.parametrize("name", ["aim", "mwem", "independent", "gaussian+pgm"])
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
def test_every_mechanism_and_unit_makes_a_release(name: str, unit: str) -> None:
    made = quick(table(200), mechanism=name, unit=unit, workload="all-2way")
    assert made.manifest.mechanism.name == name
    assert made.manifest.privacy.unit == unit.replace("-", "_")
    assert made.spent <= made.rho
    assert made.arrow.schema == schema().arrow_schema


def test_workloads_by_value_and_by_file(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps([{"attributes": ["sex", "age"], "weight": 2.0}]))
    for workload in ([(["age", "sex"], 2.0)], str(path), understudy.Workload.of(schema().domain, [(["age", "sex"], 2.0)])):
        made = quick(table(50), workload=workload)
        assert made.manifest.workload.name == "custom"
        assert made.workload.cliques == (("age", "sex"),)
        assert made.workload.query_weights == (2.0,)
    assert quick(table(50), workload="target:sex").manifest.workload.name == "target:sex"


def test_events_are_told_and_nothing_is_shown_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    told: list[Event] = []
    understudy.synthesize(table(50), schema(), epsilon=1, workload="all-1way", seed=0, progress=told.append)
    assert isinstance(told[-1], Finished)
    understudy.synthesize(table(50), schema(), epsilon=1, workload="all-1way", seed=0)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_shows_rounds_budget_size_and_time_left() -> None:
    screen, clock, lines = io.StringIO(), iter(range(10_000)), []
    with Display(Console(file=screen, force_terminal=True, width=120), clock=lambda: float(next(clock))) as display:

        def follow(event: Event) -> None:
            display(event)
            lines.append((display.share, display.line()))

        quick(table(100), mechanism="aim", progress=follow)
    shares = [share for share, _ in lines]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    for part in ("round 3", "budget 5", "model", "left"):
        assert any(part in line for _, line in lines), part
    assert "drawing the table" in screen.getvalue()


def test_what_is_left_is_no_more_than_the_time_limit_leaves() -> None:
    now = [0.0]
    with Display(Console(file=io.StringIO()), clock=lambda: now[0], limit=100.0) as display:
        display(RunStarted("aim", 3, 3, 1.0))
        assert display.left() == 100
        now[0] = 40.0
        display(Measured(0, ("a",), 3, 1.0, 0.1))
        assert display.left() == 60  # by the budget 360
        display(Measured(0, ("b",), 3, 1.0, 0.7))
        assert display.left() == pytest.approx(10)
        assert "about 10 s left" in display.line()
        now[0] = 130.0
        assert display.left() == 0


def test_a_run_that_time_ended_says_so_on_its_card() -> None:
    assert "time limit" in quick(table(100), mechanism="aim", workload="all-2way", time_limit=0).card
    assert "time limit" not in quick(table(100)).card


class Stop(Exception):
    pass


def unfinished(out: Output) -> list[Run]:
    """What the run's own ledger says about runs that did not end well."""
    return [run for run in Ledger(out.ledger).state().runs if run.state != "finished"]


def test_a_run_that_fails_leaves_what_it_spent_on_record(tmp_path: Path) -> None:
    told: list[Event] = []

    def stop(event: Event) -> None:
        told.append(event)
        if len(told) == 6:
            raise Stop

    out = Output(tmp_path / "r", report=False)
    with pytest.raises(Stop) as caught:
        quick(table(50), out=out, progress=stop)
    assert "stays spent" in caught.value.__notes__[0]
    (entry,) = unfinished(out)
    assert entry.state == "stopped"
    assert entry.charged == entry.counts
    assert isinstance(told[-1], Failed)
    assert told[-1].spent == pytest.approx(float(entry.counts))
    assert not out.folder.exists()
    # A later run does well; what the first one spent is still there.
    quick(table(50), out=out)
    assert [e.name for e in unfinished(out)] == [entry.name]
    assert understudy.load(out.folder).manifest.run != entry.name


def test_the_whole_budget_is_on_record_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, seen, count = Output(tmp_path / "r", report=False), [], MemorySource.count

    def watched(self: MemorySource, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        seen.extend(Ledger(out.ledger).state().runs)
        return count(self, cliques)

    monkeypatch.setattr(MemorySource, "count", watched)
    made = quick(table(50), out=out)
    assert seen
    assert seen[0].state == "running"
    assert seen[0].counts == made.rho
    assert seen[0].name == made.manifest.run
    assert not out.ledger.exists()


def test_a_failed_save_keeps_the_spend_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("understudy.release.storage.write_into", full)
    out = Output(tmp_path / "r", report=False)
    with pytest.raises(UserError, match="No space left") as caught:
        quick(table(50), out=out)
    assert "stays spent" in caught.value.__notes__[0]
    (entry,) = unfinished(out)
    assert entry.counts > 0
    assert [p.name for p in tmp_path.iterdir()] == ["r.ledger"]


def test_sizes_and_times_as_people_write_them() -> None:
    assert [parse_size(s) for s in ("80MB", "1.5 GB", "512", "2k", 7)] == [80 * 2**20, 3 * 2**29, 512, 2048, 7]
    assert [parse_time(t) for t in ("10m", "90s", "1h30m", "2 hours", "45", 3)] == [600, 90, 5400, 7200, 45, 3]
    for size in ("", "MB", "-1MB", "80 apples", True, 0):
        with pytest.raises(UserError):
            parse_size(size)
    for time in ("", "m", "-1s", "ten", None):
        with pytest.raises(UserError):
            parse_time(time)  # type: ignore[arg-type]
    assert (show_size(80 * 2**20), show_time(75), show_time(4000)) == ("80 MB", "1 min 15 s", "1 h 06 min")
    assert [show_size(size) for size in (1000 * 2**20, 12_100 * 2**30, 5000 * 2**40)] == ["1,000 MB", "11.8 TB", "5,000 TB"]


def test_a_run_keeps_blas_to_one_thread_and_gives_the_others_back() -> None:
    """Threads that wait for small products spin: on many cores they had taken more time than the run."""

    def threads() -> set[int]:
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    seen: set[int] = set()
    with threadpool_limits(2, "blas"):
        quick(table(60), progress=lambda _: seen.update(threads()))
        assert threads() == {2}
    assert seen == {1}
