"""Runs one cell of a peer: hands its script the codes, gets synthetic codes back, and computes the error itself.

Sees a public research table. The script runs in the peer's own environment, which ``make bench-peers`` sets up.
"""

from __future__ import annotations

from typing import Any

from grid.cells import DELTA, Cell
from grid.ours import fraction
from peers.launch import Ended, run_cell
from reference_sets import ROOT
from tables import Codes, Table, errors
from understudy.source import MemorySource


def run(cell: Cell, seed: int, limit: float) -> dict[str, Any]:
    """Run it within ``limit`` seconds: status, message, result, and how far it got."""
    peer, mechanism = cell.mechanism.split("/")
    table = Table.load(cell.dataset)
    domain = dict(zip(table.domain.attributes, table.domain.sizes, strict=True))
    ended = run_cell(
        peer,
        mechanism,
        table.codes,
        domain,
        epsilon=cell.epsilon,
        delta=DELTA,
        workload=cell.workload,
        seed=seed % 2**31,
        limit=limit,
    )
    found = {"status": ended.status, "message": ended.message.replace(str(ROOT), "."), "progress": ended.progress or None}
    if ended.codes is None:
        return found | {"result": used(ended)}
    return found | {"result": used(ended) | compared(table, cell.workload, ended.codes)}


def used(ended: Ended) -> dict[str, Any]:
    """Time and memory: the library's own, where it ended well, and the time of its process with imports and all."""
    kept = ("seconds", "compile_seconds", "peak_mb", "own_peak_mb", "rounds", "library", "version", "notes")
    found = {key: ended.report[key] for key in kept if key in ended.report}
    return found | {"process_seconds": ended.wall_seconds, "cpu_seconds": ended.cpu_seconds}


def compared(table: Table, workload_name: str, codes: Codes) -> dict[str, Any]:
    """How far off a table of codes is, by the same code as ours."""
    workload = table.workload(workload_name)
    real = table.source.count(workload.cliques)
    error = errors(workload, real, MemorySource.of_codes(codes, table.domain).count(workload.cliques))
    return {"error": error, "rows": len(codes), "subsampling": fraction(workload, real, error["l1"])}
