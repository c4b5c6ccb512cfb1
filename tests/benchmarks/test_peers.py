"""The peers' adapters without the peers: arguments, files, budget, progress, and what is said when something fails."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.conftest import BENCHMARKS
from grid.peer import used
from peers import cell, environments, launch
from understudy.privacy import Budget

DOMAIN = {"age": 4, "income>50K": 2}
CODES = np.array([[0, 1], [3, 0], [2, 1]])


def arguments(folder: Path, **changed: str) -> list[str]:
    given = {
        "table": str(folder / "codes.npz"),
        "domain": str(folder / "domain.json"),
        "mechanism": "aim",
        "epsilon": "1",
        "delta": "1e-9",
        "out": str(folder / "synthetic.npy"),
        "progress": str(folder / "progress.json"),
    } | changed
    return [part for name, value in given.items() for part in (f"--{name}", value)]


def test_arguments_are_read(tmp_path: Path) -> None:
    given = cell.parse(arguments(tmp_path, workload="all-2way", seed="7"), ["aim", "mst"])
    assert (given.mechanism, given.epsilon, given.delta, given.workload, given.seed) == ("aim", 1.0, 1e-9, "all-2way", 7)


@pytest.mark.parametrize("changed", [{"mechanism": "mst"}, {"workload": "all-9way"}, {"epsilon": "one"}])
def test_arguments_it_cannot_serve_are_refused(tmp_path: Path, changed: dict[str, str]) -> None:
    with pytest.raises(SystemExit):
        cell.parse(arguments(tmp_path, **changed), ["aim"])


def test_table_and_domain_survive_their_files(tmp_path: Path) -> None:
    codes, domain = cell.read_table(*cell.write_table(tmp_path, CODES, DOMAIN))
    assert np.array_equal(codes, CODES)
    assert list(domain.items()) == list(DOMAIN.items())


@pytest.mark.parametrize(
    "codes", [np.array([[4, 0]]), np.array([[0, -1]]), np.array([[0]]), np.array([0, 1]), np.array([[0.0, 1.0]])]
)
def test_codes_that_are_not_of_the_domain_are_refused(codes: Any) -> None:
    with pytest.raises(ValueError, match="codes"):
        cell.check_codes(codes, DOMAIN)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (1.0, 1e-9), (10.0, 1e-6), (100.0, 1e-9)])
def test_the_peers_get_the_budget_that_ours_gets(epsilon: float, delta: float) -> None:
    assert cell.rho_of(epsilon, delta) == pytest.approx(float(Budget.of(epsilon=epsilon, delta=delta).rho), rel=1e-6)


def run_main(folder: Path, synthesise: Any) -> int:
    cell.write_table(folder, CODES, DOMAIN)
    status: int = cell.main("numpy", ["aim"], synthesise, arguments(folder))
    return status


def test_a_run_writes_codes_report_and_progress(tmp_path: Path) -> None:
    def synthesise(given: Any, progress: Any) -> Any:
        progress.round_done("first")
        print("a line of the library")
        return cell.Made(given.codes[:2], ["a note"], {"fits": 3})

    assert run_main(tmp_path, synthesise) == 0
    report = json.loads((tmp_path / "synthetic.json").read_text())
    progress = json.loads((tmp_path / "progress.json").read_text())
    assert np.array_equal(np.load(tmp_path / "synthetic.npy"), CODES[:2])
    assert (report["version"], report["rows"], report["notes"]) == (np.__version__, 2, ["a note"])
    assert (report["rounds"], report["fits"]) == (1, 3)
    assert report["seconds"] > 0
    assert report["own_peak_mb"] == report["peak_mb"] > 0
    assert progress["own_peak_mb"] == progress["peak_mb"] > 0
    assert (progress["stage"], progress["rounds"], progress["message"]) == ("done", 1, "a line of the library")


def test_a_library_that_raises_leaves_its_message(tmp_path: Path) -> None:
    def synthesise(given: Any, progress: Any) -> Any:
        progress.round_done()
        raise RuntimeError(f'FFI("Traceback (most recent call last):\n  File "{BENCHMARKS}/x.py"\nbudget: 0.2 > 0.1\n")\n")')

    assert run_main(tmp_path, synthesise) == 1
    progress = json.loads((tmp_path / "progress.json").read_text())
    assert (progress["stage"], progress["rounds"]) == ("failed", 1)
    assert progress["message"].startswith("RuntimeError: ")
    assert "budget: 0.2 > 0.1" in progress["message"]
    assert not (tmp_path / "synthetic.npy").exists()


def test_codes_outside_the_domain_count_as_a_failure(tmp_path: Path) -> None:
    assert run_main(tmp_path, lambda given, progress: cell.Made(given.codes + 3, [])) == 1
    assert "go beyond" in json.loads((tmp_path / "progress.json").read_text())["message"]


MEASURE = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); from peers import cell; print(cell.peak_mb())"
FAT = [sys.executable, "-c", "x = b'x' * 400_000_000"]


def test_a_run_is_not_charged_with_the_memory_of_the_process_that_started_it() -> None:
    ballast = np.ones(50_000_000)
    done = subprocess.run([sys.executable, "-c", MEASURE], check=True, capture_output=True, text=True)
    assert ballast.nbytes == 400_000_000
    assert 5 < float(done.stdout) < 200


def test_a_run_is_charged_with_the_memory_of_its_own_children() -> None:
    program = f"import subprocess; subprocess.run({FAT!r}, check=True); {MEASURE}"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert 380 < float(done.stdout) < 800


def test_messages_carry_no_path_of_this_machine() -> None:
    assert cell.message_of(OSError(f"no {BENCHMARKS}/peers")) == "OSError: no benchmarks/peers"


SCRIPT = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "progress.json").write_text(json.dumps({progress}))
{then}
"""


def run_script(folder: Path, then: str, limit: float = 20.0, **progress: Any) -> Any:
    script = folder / "script.py"
    script.write_text(SCRIPT.format(progress=progress, then=then))
    return launch.run_command([sys.executable, str(script), str(folder)], folder, limit)


def test_a_run_past_its_limit_says_how_far_it_got(tmp_path: Path) -> None:
    start = time.perf_counter()
    ended = run_script(tmp_path, "time.sleep(900)", limit=10.0, rounds=3, message="chose age")
    assert time.perf_counter() - start < 600
    assert (ended.status, ended.progress["rounds"]) == ("timeout", 3)
    assert ended.message == "stopped after 10 s, 3 rounds done; last: chose age"


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    ended = run_script(tmp_path, "sum(range(3_000_000)); sys.exit(1)", stage="failed", message="ValueError: no")
    assert (ended.status, ended.message) == ("failed", "ValueError: no")
    spent = used(ended)
    assert spent.keys() == {"process_seconds", "cpu_seconds"}
    assert spent["cpu_seconds"] > 0.01


def test_a_run_that_dies_says_how(tmp_path: Path) -> None:
    ended = run_script(tmp_path, "import os; print('last words', flush=True); os.kill(os.getpid(), 9)")
    assert (ended.status, ended.message) == ("failed", "ended by SIGKILL: last words")


def test_a_peer_that_does_not_install_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(command: Sequence[str]) -> str:
        if "venv" in command:
            Path(command[-1]).mkdir()
            return ""
        assert command[-1] == "no-such-library==9.9"
        return "ERROR: No matching distribution"

    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "failure", run)
    found = environments.ensure_peer(environments.Peer("absent", "no-such-library", "9.9", ("aim",)))
    assert (found.python, found.message) == (None, "did not install: ERROR: No matching distribution")
    assert not (tmp_path / ".venv-absent").exists()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("pass", ""),
        (
            "import sys; sys.exit('WARNING: slow\\nERROR: no version\\nERROR: nothing found')",
            "ERROR: no version | ERROR: nothing found",
        ),
        ("import sys; sys.exit('killed halfway')", "killed halfway"),
        ("import sys; sys.exit(3)", "exit status 3"),
    ],
)
def test_a_failed_command_is_told_by_its_errors(program: str, said: str) -> None:
    assert environments.failure([sys.executable, "-c", program]) == said


def test_a_command_that_is_not_there_is_told() -> None:
    assert "no-such-program" in environments.failure(["no-such-program"])


def test_a_peer_for_another_python_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    found = environments.ensure_peer(environments.Peer("old", "old-library", "1.0", ("aim",), pythons=((2, 3), (2, 4))))
    assert found.message == "did not install: old-library 1.0 needs Python >= 2.3, < 2.4; none was found"


def test_a_launch_without_an_environment_is_not_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = environments.Environment("mbi", None, message="did not install: no network")
    monkeypatch.setattr(environments, "ensure", lambda name: absent)
    ended = launch.run_cell("mbi", "aim", CODES, DOMAIN, epsilon=1.0, delta=1e-9)
    assert (ended.status, ended.message) == ("not installed", "did not install: no network")


def test_an_environment_must_have_what_is_asked_for() -> None:
    peer = environments.Peer("some", "library", "2.0", ("aim",), beside=("pinned==1.5", "any"))
    assert environments.satisfied(peer, {"library": "2.0", "pinned": "1.5", "any": "7"})
    for broken in ({"library": "2.1"}, {"pinned": "1.6"}):
        assert not environments.satisfied(peer, {"library": "2.0", "pinned": "1.5", "any": "7"} | broken)
    assert not environments.satisfied(peer, {"library": "2.0", "pinned": "1.5"})


def test_an_unknown_peer_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no peer 'mib'; the peers are mbi"):
        environments.ensure("mib")


def test_every_peer_has_its_script_and_exact_pins() -> None:
    for peer in environments.PEERS.values():
        pins = peer.pins.read_text().splitlines()
        assert peer.script.exists()
        assert f"{peer.distribution}=={peer.version}" in pins
        assert all("==" in line for line in pins)
