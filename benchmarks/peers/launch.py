"""Runs a peer on one cell, in its own environment and process, under a time limit, and says how it ended.

``run_cell`` is what a runner calls. The tables are benchmark data: nothing here is private.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from peers import environments
from peers.cell import write_table

Status = Literal["done", "failed", "timeout", "not installed"]


@dataclass(frozen=True)
class Ended:
    """How a cell ended: the synthetic codes and the report when done, else a message and how far it got."""

    status: Status
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of the process and of those of its children that it waited for."""
    message: str = ""
    codes: NDArray[np.int32] | None = None
    report: dict[str, Any] = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)


def run_cell(
    peer: str,
    mechanism: str,
    codes: NDArray[Any],
    domain: dict[str, int],
    *,
    epsilon: float,
    delta: float,
    workload: str = "all-3way",
    seed: int = 0,
    limit: float = 300.0,
) -> Ended:
    """Run one cell. The limit, in seconds, covers the whole process; setting up the environment is not counted."""
    environment = environments.ensure(peer)
    if environment.python is None:
        return Ended("not installed", message=environment.message)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        table, sizes = write_table(folder, codes, domain)
        command = [str(environment.python), str(environments.PEERS[peer].script)]
        command += ["--table", str(table), "--domain", str(sizes), "--mechanism", mechanism, "--epsilon", repr(epsilon)]
        command += ["--delta", repr(delta), "--workload", workload, "--seed", str(seed)]
        command += ["--out", str(folder / "synthetic.npy"), "--progress", str(folder / "progress.json")]
        return run_command(command, folder, limit)


def run_command(command: list[str], folder: Path, limit: float) -> Ended:
    """Run a script that writes synthetic.npy, synthetic.json and progress.json into the folder; stop it at the limit."""
    start, before = time.perf_counter(), processor_seconds()
    with (folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(command, stdout=errors, stderr=errors, start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            pass
        finally:  # also when the runner itself is interrupted
            stopped = process.poll() is None
            if stopped:
                stop(process)
    wall, cpu = time.perf_counter() - start, processor_seconds() - before
    progress = read_json(folder / "progress.json")
    if stopped:
        return Ended("timeout", wall, cpu, reached(progress, limit), progress=progress)
    if process.returncode != 0:
        return Ended("failed", wall, cpu, failure(folder, progress, process.returncode), progress=progress)
    report = read_json(folder / "synthetic.json")
    return Ended("done", wall, cpu, codes=np.load(folder / "synthetic.npy"), report=report, progress=progress)


def processor_seconds() -> float:
    """Processor time of all children so far that have ended and were waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, politely at first."""
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)


def reached(progress: dict[str, Any], limit: float) -> str:
    """Say how far a run got that was stopped."""
    rounds = progress.get("rounds", 0)
    last = f"; last: {progress['message']}" if progress.get("message") else ""
    return f"stopped after {limit:.0f} s, {rounds} {'round' if rounds == 1 else 'rounds'} done{last}"


def failure(folder: Path, progress: dict[str, Any], status: int) -> str:
    """Say why a run failed: its own message, or else the last line it wrote, or the signal that ended it."""
    if progress.get("stage") == "failed":
        return str(progress["message"])
    lines = (folder / "errors.txt").read_text(errors="replace").strip().splitlines()
    ended = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return f"{ended}: {lines[-1].strip()[:400]}".replace(f"{environments.ROOT}/", "") if lines else ended


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file; nothing when it is not there."""
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text())
    return found
