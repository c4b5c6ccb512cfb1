"""The runner: the same cell gives the same error, a stopped run goes on, and what fails is booked with its reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import run_grid
from benchmarks.conftest import BENCHMARKS
from benchmarks.lines import line as made
from grid import runner, store, summary
from grid.cells import CONFIGURATIONS, EPSILONS, Cell
from grid.plans import PLANS
from grid.runner import Settings
from tables import EXAMPLE_ROWS, Table

QUICK = Cell("example", "all-2way", 1.0, 0, "independent")


def run(cells: list[Cell], path: Path, **settings: object) -> list[store.Line]:
    runner.run(cells, path, Settings(**settings), lambda line: None)  # type: ignore[arg-type]
    return store.read(path)


def test_a_cell_gives_the_same_error_again_alone_or_beside_another(tmp_path: Path) -> None:
    cells = [Cell("example", "all-2way", 1.0, trial, "aim:T=4") for trial in range(2)]
    alone = run(cells, tmp_path / "alone.jsonl")
    beside = {line["cell"]: line for line in run(cells, tmp_path / "beside.jsonl", jobs=2)}
    assert [line["status"] for line in alone] == ["done", "done"]
    for line in alone:
        assert line["result"]["error"] == beside[line["cell"]]["result"]["error"]
        assert line["result"]["bounds"]["medians"] == beside[line["cell"]]["result"]["bounds"]["medians"]
    first, second = (line["result"]["error"]["l1"] for line in alone)
    assert first != second


def test_a_line_says_all_that_it_should(tmp_path: Path) -> None:
    [line] = run([QUICK], tmp_path / "results.jsonl")
    assert line["private"] is False
    assert {"understudy", "commit", "numpy", "opendp", "python"} <= line["versions"].keys()
    assert line["machine"].keys() == {"cores", "cpu", "memory_gb", "system"}
    assert os.uname().nodename not in json.dumps(line["machine"])
    result = line["result"]
    assert result["error"].keys() == result["model_error"].keys() == {"l1", "l2", "max"}
    assert 0 < result["seconds"] <= line["seconds"]
    assert result["start_mb"] <= result["peak_mb"]
    assert abs(result["rows"] - EXAMPLE_ROWS) < 1_000


def test_cells_that_have_a_result_are_not_run_again_unless_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with store.appending(path) as file:
        store.append(file, {"cell": QUICK.key, "base_seed": 0, "status": "failed", "message": "of old"})
    assert len(run([QUICK], path)) == 1
    lines = run([QUICK], path, retry="failed")
    assert [line["status"] for line in lines] == ["failed", "done"]
    assert len(run([QUICK], path, retry="failed")) == 2
    assert len(run([QUICK], path, retry="all")) == 3


def test_a_result_of_another_seed_is_not_the_one_that_is_asked_for() -> None:
    lines = [made("aim", 0.5, base_seed=0), made("mwem", 0.5, base_seed=1)]
    cells = [Cell.parse(line["cell"]) for line in lines]
    assert [[cell.mechanism for cell in runner.missing(cells, lines, seed)] for seed in (0, 1)] == [["mwem"], ["aim"]]
    assert runner.missing(cells, [*lines, made("mwem", 0.5, base_seed=0)], 0) == []


def test_what_fails_and_what_takes_too_long_is_booked(tmp_path: Path) -> None:
    failing = Cell("example", "all-9way", 1.0, 0, "gaussian+pgm")
    [failed] = run([failing], tmp_path / "failed.jsonl")
    assert failed["status"] == "failed"
    assert "CapacityError" in failed["message"]
    [late] = run([QUICK], tmp_path / "late.jsonl", limit=0.05)
    assert late["status"] == "timeout"
    assert "0.05 s" in late["message"]


def test_no_cell_begins_after_the_time_is_over(tmp_path: Path) -> None:
    assert run([QUICK], tmp_path / "results.jsonl", minutes=0.0) == []


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_loses_the_cell_in_flight_and_goes_on(tmp_path: Path, kind: signal.Signals) -> None:
    """A quick cell, then one that would take long: stop the runner in the second, and no process is left behind."""
    path, script = tmp_path / "results.jsonl", tmp_path / "start.py"
    cells = [QUICK, Cell("example", "all-3way", 1.0, 0, "aim:T=256")]
    script.write_text(
        f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r})\nfrom pathlib import Path\n"
        "from grid.cells import Cell\nfrom grid.runner import Settings, run\n"
        f"run([Cell.parse(k) for k in {[c.key for c in cells]!r}], Path({str(path)!r}), Settings(), print)\n"
    )
    started = subprocess.Popen([sys.executable, str(script)], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        child = _wait_for_second(path, started)
    finally:
        os.kill(started.pid, kind)
        started.wait(300)
    assert [line["cell"] for line in store.read(path)] == [QUICK.key]
    _wait_until_gone(child)
    assert [cell.key for cell in runner.missing(cells, store.read(path), 0)] == [cells[1].key]


def _wait_for_second(path: Path, started: subprocess.Popen[bytes]) -> int:
    """Return the process of the second cell, once it is there."""
    until = time.monotonic() + 300
    while time.monotonic() < until and started.poll() is None:
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        if len(store.read(path)) == 1 and children:
            time.sleep(0.3)
            return int(children[0])
        time.sleep(0.05)
    raise AssertionError("the second cell did not begin")


def _wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.05)
    raise AssertionError("the cell's process outlived the runner")


def test_seeds_differ_between_cells_and_bases_and_stay_as_they_are() -> None:
    cells = PLANS["stored"].cells
    assert len({cell.seed(0) for cell in cells}) == len(cells)
    assert QUICK.seed(0) != QUICK.seed(1)
    assert Cell("titanic", "all-3way", 1.0, 0, "aim").seed(0) == 205440917271310


def test_plans_name_cells_that_exist() -> None:
    assert EPSILONS == (0.01, 0.03162, 0.1, 0.3162, 1.0, 3.162, 10.0, 31.62, 100.0)
    for plan in PLANS.values():
        cells = plan.cells
        assert len(set(cells)) == len(cells) > 0
        assert all(Cell.parse(cell.key) == cell for cell in cells)
        assert all(cell.mechanism in CONFIGURATIONS or cell.is_peer for cell in cells)
    assert all(configuration.make() for configuration in CONFIGURATIONS.values())


def test_workloads_are_the_same_every_time() -> None:
    table = Table.load("example")
    assert table.workload("skewed") == Table.load("example").workload("skewed")
    assert all(table.target in clique for clique in table.workload("target").cliques)


def test_what_ran_out_of_time_once_is_left_alone_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    trials = [Cell("example", "all-2way", 1.0, trial, "independent") for trial in range(3)]
    assert [line["status"] for line in run(trials[:2], path, limit=0.05, give_up=True)] == ["timeout"]
    assert len(run(trials, path, give_up=True)) == 1
    assert [line["status"] for line in run(trials[2:], path)] == ["timeout", "done"]


def test_a_peer_that_does_not_install_is_booked_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    cells = [Cell("example", "all-2way", 1.0, trial, "nobody/aim") for trial in range(2)]
    for _ in range(2):
        runner.refuse(cells, path, Settings(), "did not install: no such thing")
    assert [(line["status"], line["message"]) for line in store.read(path)] == [
        ("failed", "did not install: no such thing")
    ] * 2


def test_every_line_of_a_peer_names_its_library_and_version(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    runner.refuse([Cell("example", "all-2way", 1.0, 0, "mbi/aim"), QUICK], path, Settings(), "did not install")
    assert [line["versions"].get("peer") for line in store.read(path)] == ["mbi 2.0.0", None]


def test_a_finished_plan_is_run_again_beside_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "quick.jsonl"
    before, now = made("aim", 0.5), made("aim", 0.5)
    now["result"] = now["result"] | {"seconds": 3.0}
    with store.appending(path) as file:
        store.append(file, before)
    cell = Cell.parse(before["cell"])
    other = Cell.parse(made("aim", 0.5, trial=1)["cell"])
    assert run_grid.set_aside(path, [cell, other]) is None  # not finished: go on with it
    assert path.exists()
    aside = run_grid.set_aside(path, [cell])
    assert aside is not None
    assert not path.exists()
    words = summary.compared([now], store.latest(store.read(aside)))
    assert "1 of 1 cells have the same error; time is 1.50 times" in words
    now["result"] = now["result"] | {"error": {"l1": 0.5001}}
    assert "0 of 1" in summary.compared([now], store.latest(store.read(aside)))


def test_only_a_whole_file_is_set_aside_and_never_over_more_than_it_has(tmp_path: Path) -> None:
    path, lines = tmp_path / "quick.jsonl", [made("aim", 0.5, trial=trial) for trial in range(2)]
    cells = [Cell.parse(line["cell"]) for line in lines]
    with store.appending(path) as file:
        for line in lines:
            store.append(file, line)
    assert run_grid.set_aside(path, cells[:1]) is None
    assert len(store.read(path)) == 2
    aside = run_grid.set_aside(path, cells)
    assert aside is not None
    with store.appending(path) as file:
        store.append(file, lines[0])
    assert run_grid.set_aside(path, cells[:1]) == aside  # to compare with; the part stays in its file
    assert (len(store.read(path)), len(store.read(aside))) == (1, 2)


def test_cells_are_chosen_by_word() -> None:
    chosen = run_grid.selected(PLANS["quick"], "titanic aim epsilon=1 trial=2")
    assert [cell.key for cell in chosen] in ([], ["titanic all-3way aim 1 2"])  # none where the tables are not there
    assert run_grid.words(QUICK) == {"example", "all-2way", "independent", "epsilon=1", "trial=0"}


def test_what_the_quick_plan_has_done_is_not_run_again_by_another(tmp_path: Path) -> None:
    with store.appending(tmp_path / "quick.jsonl") as file:
        store.append(file, made("aim", 0.5) | {"base_seed": 0})
        store.append(file, made("mwem", 0.5) | {"base_seed": 0, "status": "failed"})
    assert run_grid.done_beside(PLANS["main"], tmp_path, 0) == {made("aim", 0.5)["cell"]}
    assert run_grid.done_beside(PLANS["main"], tmp_path, 1) == set()
    assert run_grid.done_beside(PLANS["quick"], tmp_path, 0) == set()
