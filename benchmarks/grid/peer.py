"""Runs one cell of a peer: hands its adapter the codes, gets synthetic codes back, and computes the error itself.

Sees a public research table. The adapter runs in the peer's own environment, which ``make bench-peers`` sets up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from grid.cells import DELTA, Cell
from reference_sets import ROOT
from tables import Table, errors
from understudy.metrics import subsampling_fraction
from understudy.source import MemorySource

ADAPTERS = ROOT / "benchmarks" / "peers"
TAIL = 600


class PeerFailed(Exception):
    """The peer gave no usable table: ``status`` is failed or timeout."""

    def __init__(self, status: str, message: str, spent: dict[str, float]) -> None:
        super().__init__(message)
        self.status, self.spent = status, spent


def run(cell: Cell, seed: int, scratch: Path, limit: float) -> dict[str, Any]:
    """Run it within ``limit`` seconds; time and memory are those of the adapter's process."""
    peer, mechanism = cell.mechanism.split("/")
    table = Table.load(cell.dataset)
    np.savez(scratch / "codes.npz", codes=table.codes)
    (scratch / "domain.json").write_text(json.dumps(dict(zip(table.domain.attributes, table.domain.sizes, strict=True))))
    spent = _adapter(_command(peer, mechanism, cell, seed, scratch), scratch, limit)
    return spent | _compared(table, cell, scratch / "synthetic.npy", spent)


def _command(peer: str, mechanism: str, cell: Cell, seed: int, scratch: Path) -> list[str]:
    python = ROOT / f".venv-{peer}" / "bin" / "python"
    if not python.exists():
        raise PeerFailed("failed", f".venv-{peer} is not there: it could not be installed, or was not asked for", {})
    command = [str(python), str(ADAPTERS / f"{peer}.py"), "--table", str(scratch / "codes.npz")]
    command += ["--domain", str(scratch / "domain.json"), "--mechanism", mechanism, "--epsilon", f"{cell.epsilon:g}"]
    command += ["--delta", f"{DELTA:g}", "--workload", cell.workload, "--seed", str(seed % 2**31)]
    return [*command, "--out", str(scratch / "synthetic.npy"), "--progress", str(scratch / "progress.json")]


def _adapter(command: list[str], scratch: Path, limit: float) -> dict[str, float]:
    """Wait for the adapter; what it used is read off its own process, from start to end."""
    began = time.perf_counter()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with (scratch / "peer.txt").open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, process_group=0
        )
        try:
            status, used = _wait(process.pid, began + limit)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    process.returncode = os.waitstatus_to_exitcode(status)
    spent = {"seconds": time.perf_counter() - began, "cpu_seconds": used.ru_utime + used.ru_stime}
    spent["peak_mb"] = used.ru_maxrss / 1024
    if spent["seconds"] >= limit and process.returncode == -signal.SIGKILL:
        raise PeerFailed("timeout", f"did not finish within {limit:g} s", spent)
    if process.returncode != 0:
        raise PeerFailed("failed", said(scratch) or f"ended with status {process.returncode}", spent)
    return spent


def _wait(pid: int, until: float) -> tuple[int, Any]:
    while True:
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            return status, used
        if time.perf_counter() > until:
            os.killpg(pid, signal.SIGKILL)
            _, status, used = os.wait4(pid, 0)
            return status, used
        time.sleep(0.02)


def said(scratch: Path) -> str:
    """The last line that the adapter printed: of a traceback, the exception. Folders of this machine are left out."""
    file = scratch / "peer.txt"
    lines = file.read_text(errors="replace").strip().splitlines() if file.exists() else []
    return lines[-1].replace(str(ROOT), ".").replace(str(scratch), ".")[:TAIL] if lines else ""


def _compared(table: Table, cell: Cell, file: Path, spent: dict[str, float]) -> dict[str, Any]:
    if not file.exists():
        raise PeerFailed("failed", "wrote no synthetic table", spent)
    codes = np.load(file, allow_pickle=False)
    sizes = np.array(table.domain.sizes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or not np.issubdtype(codes.dtype, np.integer):
        raise PeerFailed("failed", f"its table is {codes.dtype}, shaped {codes.shape}: not rows of codes", spent)
    if len(codes) and ((codes < 0) | (codes >= sizes)).any():
        raise PeerFailed("failed", "its table has codes outside the domain", spent)
    workload = table.workload(cell.workload)
    real = table.source.count(workload.cliques)
    error = errors(workload, real, MemorySource.of_codes(codes, table.domain).count(workload.cliques))
    fraction = subsampling_fraction(workload, real, error["l1"]).fraction
    return {"error": error, "rows": len(codes), "subsampling": fraction if np.isfinite(fraction) else None}
