"""A run that does not fit in memory is refused before it spends; what it may take follows from public facts alone."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import understudy
from release_tables import schema, table
from understudy.cli import main
from understudy.domain import Domain
from understudy.errors import CapacityError, Spent
from understudy.ledger import Ledger
from understudy.mechanism import aim, mechanism, memory, pool
from understudy.mechanism.aim import FEWEST_CHECKED
from understudy.mechanism.candidates import allowed, held_at_once
from understudy.mechanism.config import MEGABYTE
from understudy.mechanism.memory import peak_memory, require_memory
from understudy.mechanism.outcome import MOST_ROWS
from understudy.planning import stand_in
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.release.synthetic import ROWS_TOGETHER
from understudy.request import Request
from understudy.schema import Schema
from understudy.source import MemorySource
from understudy.workload import Workload

LIMITED = """
import os, resource, sys
if name := os.environ.get("AUDIT_MUTANT"):
    from audit.mutants import by_name, install
    install(by_name(name))()
import numpy as np
import understudy
from understudy.request import Request
from understudy.schema import Schema

folder, above = sys.argv[1], int(sys.argv[2])
schema = Schema.from_domain({f"c{i}": 60 for i in range(6)})
codes = np.random.default_rng(0).integers(0, 60, (500, 6), dtype=np.int32)
settings = {"rho": 1, "workload": "all-3way", "max_size": "1MB", "time_limit": 0, "ledger": f"{folder}/b.ledger"}
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + above
resource.setrlimit(resource.RLIMIT_AS, (size, size))
try:
    understudy.synthesize(codes, schema, dataset="wide", progress=False, **settings)
except Exception as error:
    print(type(error).__name__, error.spent.rho, error.spent.counts)
else:
    print("done")
"""
"""A wide table (20 marginals of 216,000 cells: 35 MB) where so many bytes of address space are left."""


def limited(folder: Path, above: int) -> tuple[str, Ledger]:
    ledger = Ledger.create(folder / "b.ledger")
    ledger.declare("wide", Budget.of(rho=1))
    command = [sys.executable, "-c", LIMITED, str(folder), str(above)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() + done.stderr, ledger


def needed() -> int:
    workload = Workload.parse("all-3way", Schema.from_domain({f"c{i}": 60 for i in range(6)}).domain)
    return peak_memory(workload, mechanism("aim", max_size=MEGABYTE).expects(workload), MEGABYTE)


@pytest.mark.promise(35)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of address space are told by /proc")
def test_a_run_that_would_not_fit_is_refused_with_nothing_on_record(tmp_path: Path) -> None:
    said, ledger = limited(tmp_path, 100 * MEGABYTE)
    assert said == "CapacityError 0 0"
    assert ledger.state().runs == ()


@pytest.mark.audit
@pytest.mark.promise(35)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of address space are told by /proc")
def test_a_run_that_is_accepted_fits(tmp_path: Path) -> None:
    """Address space is left for what the estimate says, and for no more."""
    said, ledger = limited(tmp_path, needed() + memory.ADDRESSES + MEGABYTE)
    assert said == "done"
    assert ledger.state().runs[0].state == "finished"


@pytest.mark.promise(35)
def test_the_refusal_says_how_much_what_is_there_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_left", lambda: iter([2**40, 50 * MEGABYTE]))
    monkeypatch.setattr(MemorySource, "count", None)  # whoever reads now fails otherwise
    says = r"may take .* MB of memory, and this process may use 50 MB.*--memory.*workload.*--max-size.*Nothing was spent"
    with pytest.raises(CapacityError, match=says) as caught:
        understudy.synthesize(table(20), schema(), rho=1, out=tmp_path / "r")
    assert caught.value.spent == Spent()
    assert list(tmp_path.iterdir()) == []


def test_the_estimate_grows_with_what_is_asked_for() -> None:
    loads = [Workload.parse(name, schema().domain) for name in ("all-1way", "all-2way", "all-3way")]
    asked = [(load, mechanism("aim").expects(load)) for load in loads]
    sizes = [peak_memory(*one, 2**20) for one in asked]
    assert sizes == sorted(set(sizes))
    more = len(loads[2].closure) - len(loads[0].closure)
    assert sizes[2] - sizes[0] == (16 + memory.CELL_BYTES) * (loads[2].cells - loads[0].cells) + memory.EACH * more
    assert peak_memory(*asked[0], 2**20) > peak_memory(*asked[0], 2**10)
    assert peak_memory(*asked[0], 2**20, rows=10**6) > sizes[0]


def test_what_is_counted_when_it_is_needed_takes_no_more_than_its_limit() -> None:
    """All triples of 300 columns have 10^9 cells; a workload that is measured whole is counted whole."""
    load = Workload.parse("all-3way", Schema.from_domain({f"c{i}": 6 for i in range(300)}).domain)
    one, all_ = (mechanism(name).expects(load) for name in ("aim", "gaussian"))
    assert peak_memory(load, one, 2**20) < 2**30 < 8 * load.cells < peak_memory(load, all_, 2**20)


@pytest.mark.promise(35)
def test_a_limit_makes_the_model_smaller_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"rho": 1, "workload": "all-2way", "progress": False, "seed": 1}
    free, tight = (synthesize_request(memory=size) for size in (None, "300MB"))
    assert free.mechanism.max_size == 80 * MEGABYTE
    assert 0 < tight.mechanism.max_size < 80 * MEGABYTE
    assert memory.PROCESS + tight.peak <= 300 * MEGABYTE < memory.PROCESS + free.peak
    monkeypatch.setattr(memory, "resident", lambda: memory.PROCESS)
    made = understudy.synthesize(table(20), schema(), memory="300MB", **settings)  # type: ignore[arg-type]
    assert made.manifest.mechanism.options["max_size"] == tight.mechanism.max_size
    monkeypatch.setattr(MemorySource, "count", None)  # whoever reads now fails otherwise
    with pytest.raises(CapacityError, match="--memory"):
        understudy.synthesize(table(20), schema(), memory="200MB", **settings)  # type: ignore[arg-type]


def synthesize_request(memory: str | None) -> Request:
    return Request.of(schema(), Budget.of(rho=1), "all-2way", memory=memory)


@pytest.mark.promise(14)
def test_no_more_rows_are_drawn_than_the_limit_allows_whatever_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless they are asked for; each then stands for more than one. What is free may depend on the table."""
    monkeypatch.setattr(memory, "VALUE_BYTES", 2**15)
    monkeypatch.setattr(memory, "ROW_BYTES", 0)
    monkeypatch.setattr(memory, "resident", lambda: memory.PROCESS)
    settings = {"epsilon": 50, "workload": "all-1way", "mechanism": "independent", "seed": 1, "progress": False}
    limit = memory.PROCESS + memory.FIXED + 90 * 9 * 2**15 + 2**17  # for the model, and less than a row
    load = Workload.parse("all-1way", schema().domain)
    made = understudy.synthesize(table(400), schema(), memory=2 * limit, **settings)  # type: ignore[arg-type]
    assert memory.rows_within(load, limit) == 90
    assert made.manifest.table.rows == pytest.approx(400, abs=30)
    monkeypatch.setattr(memory, "peak_memory", lambda *_: 0)
    monkeypatch.setattr("understudy.request.peak_memory", lambda *_: 0)
    few = understudy.synthesize(table(400), schema(), memory=limit, **settings)  # type: ignore[arg-type]
    assert few.manifest.table.rows == 90
    assert few.weight == pytest.approx(400 / 90, rel=0.05)
    more = understudy.synthesize(table(400), schema(), memory=limit, rows=120, **settings)  # type: ignore[arg-type]
    assert more.manifest.table.rows == 120
    monkeypatch.setattr(memory, "_left", lambda: iter([MEGABYTE]))
    assert memory.rows_within(load, None) is None
    monkeypatch.setattr(memory, "resident", lambda: 100 * limit)  # a private table in memory, say
    monkeypatch.setattr(memory, "memory_left", lambda limit=None: 0)
    assert memory.rows_within(load, limit) == 90


@pytest.mark.promise(35)
@pytest.mark.parametrize("columns", [1, 12, 300])
@pytest.mark.parametrize("drawn", [0, None])
@pytest.mark.parametrize("model", [0, 2**20])
def test_as_many_rows_as_fit_fit(columns: int, drawn: int | None, model: int) -> None:
    load = Workload.parse("all-1way", Schema.from_domain({f"c{i}": 4 for i in range(columns)}).domain)
    for limit in (memory.PROCESS, memory.PROCESS + memory.FIXED, 300 * MEGABYTE, 2**30, 2**33):
        rows = memory.rows_within(load, limit, model, drawn)
        assert rows is not None
        room = limit - memory.PROCESS - memory.FIXED - memory.CELL_BYTES * load.cells - memory.MODELS * model
        assert memory.rows_memory(rows, columns, drawn) <= max(0, room)
        assert rows == MOST_ROWS or memory.rows_memory(rows + 1, columns, drawn) > room


@pytest.mark.promise(35)
def test_a_limit_on_addresses_limits_the_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run may take is asked before it spends, and the number of rows is only known afterwards."""
    monkeypatch.setattr(memory, "most_addresses", lambda: 2**31)
    load = Workload.parse("all-1way", Schema.from_domain({f"c{i}": 4 for i in range(100)}).domain)
    within = memory.rows_within(load, None)
    assert within is not None
    assert 0 < within == memory.rows_within(load, 2**31 - memory.ADDRESSES - memory.LIBRARIES)
    assert memory.rows_within(load, 2**33) == within


def test_what_is_promised_is_what_other_rooms_do() -> None:
    assert memory.DECODED == ROWS_TOGETHER
    assert memory.FEW == FEWEST_CHECKED


@pytest.mark.promise(14)
def test_how_much_memory_is_free_decides_nothing_about_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table may be in memory, and the size of the model is released. A limit on the group of processes counts."""
    real = memory._text
    monkeypatch.setattr(memory, "_groups", lambda: iter(()))
    monkeypatch.setattr(memory, "most_addresses", lambda: None)
    found = []
    for free in (100, 7_000_000):
        said = f"MemTotal: 8000000 kB\nMemFree: {free} kB\nMemAvailable: {free} kB\n"
        monkeypatch.setattr(memory, "_text", lambda path, said=said: said if path.name == "meminfo" else real(path))
        found.append(memory.growing_memory(None))
    assert found == [int(memory.MACHINE_SHARE * 1024 * 8_000_000)] * 2
    monkeypatch.setattr(memory, "_groups", lambda: iter([(memory.CONTROL, "memory.max", "memory.current")]))
    monkeypatch.setattr(memory, "_text", lambda path: "2000000" if path.name == "memory.max" else said)
    assert memory.growing_memory(None) == memory.MACHINE_SHARE * 2_000_000


def test_limits_of_control_groups_count_for_all_that_are_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both versions of control groups; files that the system only caches are given up for us."""
    (tmp_path / "memory" / "outer" / "inner").mkdir(parents=True)
    (tmp_path / "outer").mkdir()
    (tmp_path / "memory" / "outer" / "memory.limit_in_bytes").write_text("3000000\n")
    (tmp_path / "memory" / "outer" / "memory.usage_in_bytes").write_text("1000000\n")
    (tmp_path / "outer" / "memory.max").write_text("5000000\n")
    (tmp_path / "outer" / "memory.current").write_text("1000000\n")
    (tmp_path / "outer" / "memory.stat").write_text("anon 7\ninactive_file 500\n")
    (tmp_path / "memory.max").write_text("max\n")
    real = memory._text

    def text(path: Path) -> str:
        return "4:memory:/outer/inner\n0::/outer\n1:cpu:/\n" if path == Path("/proc/self/cgroup") else real(path)

    monkeypatch.setattr(memory, "_text", text)
    monkeypatch.setattr(memory, "CONTROL", tmp_path)
    assert {2_000_000, 4_000_500} <= set(memory._left())


def test_where_no_limit_is_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Iterator[int]:
        return iter(())

    monkeypatch.setattr(memory, "_left", none)
    require_memory(2**60)


def test_a_made_up_table_of_many_codes_takes_little_memory() -> None:
    wide = Schema.from_domain({"a": 20_000})
    tracemalloc.start()
    made = stand_in(wide, 5_000, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made.shape == (5_000, 1)
    assert peak < 50 * MEGABYTE  # rows × codes would be 800 MB


def test_a_plan_says_when_a_run_would_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text('{"a": 50, "b": 50}')
    asked = ["plan", "-s", str(tmp_path / "a.json"), "--rows", "100", "-e", "1", "--no-rehearsal"]
    assert "refused" not in CliRunner().invoke(main, asked).output
    monkeypatch.setattr(memory, "_left", lambda: iter([10 * MEGABYTE]))
    monkeypatch.setattr(sys.modules["understudy.cli.plan"], "resident", lambda: 100 * MEGABYTE)  # not as large as tests grow
    assert re.search("That is more than the .* MB that there are: refused", CliRunner().invoke(main, asked).output)
    monkeypatch.setattr(memory, "_left", lambda: iter([]))
    assert "refused" in CliRunner().invoke(main, [*asked, "--memory", "100MB"]).output


@pytest.mark.promise(35)
def test_candidates_whose_estimates_would_take_too_much_are_left_out() -> None:
    """The largest first, by sizes that are public; one always stays."""
    domain = Schema.from_domain({"a": 10, "b": 20, "c": 30}).domain
    everything = [("a", "b", "c"), ("c",), ("a", "b"), ("a",), ("b", "c")]
    assert held_at_once(domain, everything, 10_000) == everything
    assert held_at_once(domain, everything, 6_840) == everything
    assert held_at_once(domain, everything, 6_839) == everything[1:]
    assert held_at_once(domain, everything, 240) == [("c",), ("a", "b"), ("a",)]
    assert held_at_once(domain, everything, 5) == [("a",)]
    wide = Schema.from_domain({f"c{i}": 1001 for i in range(48)}).domain
    some = allowed(wide, [], list(Workload.all_kway(wide, 2).closure), 2**40)
    assert sum(map(wide.cells, some)) <= memory.COMPARED
    assert len(some) == 48 + (memory.COMPARED - 48 * 1001) // 1001**2


@pytest.mark.promise(35)
def test_regions_that_are_chosen_together_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would have had room by itself; all of them had taken three times as much as a round may."""
    monkeypatch.setattr(pool, "LISTED", 100)
    monkeypatch.setattr(pool, "PAIRS", 200)
    monkeypatch.setattr(aim, "together", lambda pool: 10)
    domain, rng, rows = Domain.of({f"x{i:02}": 20 for i in range(30)}), np.random.default_rng(1), 2_000
    shared = rng.integers(0, 20, (rows, 1))
    codes = np.where(rng.random((rows, 30)) < 0.7, shared, rng.integers(0, 20, (rows, 30)))
    door = Door(MemorySource.of_codes(codes, domain), Budget.of(rho=10), noise=ResearchNoise(1))
    outcome = mechanism("aim", estimator="regions", max_size=200_000).run(door, Workload.all_kway(domain, 2))
    assert max(len([r for r in outcome.rounds if r.size == one.size]) for one in outcome.rounds) > 1
    pair = 8 * 20 * 20  # where none fits, the smallest is taken all the same
    assert all(r.size <= r.limit + pair for r in outcome.rounds)
