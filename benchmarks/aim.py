"""AIM on real tables: time, accuracy, bounds and structural zeros, beside mbi 2.0 and the paper. ``make bench-aim``.

Cells are run one after another, each in a process of its own; every finished cell is appended to
benchmarks/results/aim.jsonl at once, and is not run again. ``--only PREFIX`` runs some; ``--fresh`` runs them again.
The summary, docs/accuracy.md, is written from that file; exits with 1 when a bar is missed.

Runs are seeded (research noise, the same distributions as the secure sampler's), so that they can be repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tables
from grid import provenance
from reference_sets import DATASETS, ROOT, peak_mb
from understudy.mechanism import Outcome, mechanism
from understudy.mechanism.events import Event, RoundEnded
from understudy.metrics import workload_error
from understudy.model.threads import workers
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.schema import DeclaredZeros
from understudy.source import MemorySource
from understudy.uncertainty import Evidence, TableMarginals, bounds

PEER = ROOT / ".venv-mbi"
RESULTS = ROOT / "benchmarks" / "results" / "aim.jsonl"
PAGE = ROOT / "docs" / "accuracy.md"
DELTA = 1e-9
TRIALS = 5

TARGETS = {"titanic": 0.64, "adult": 0.130, "salary": 0.155, "fire": 0.055, "msnbc": 0.040}
PAPER_FIRE = {0.1: 0.141, 1.0: 0.052, 10.0: 0.038}
PAPER_FIRE_ZEROS = {0.1: 0.153, 1.0: 0.053, 10.0: 0.032}
PAPER_RATIOS = {"supported": 4.4, "unsupported": 8.3}
SECONDS = {"adult": 8.0, "salary": 30.0, "fire": 60.0, "msnbc": 120.0}
FASTER = {"adult": 100.0, "fire": 20.0}
EQUAL = 1.05
"""Within 5 % of a published mean of five counts as equal."""
ABOUT = 1.2
"""What "about" allows in a bar stated in seconds."""
BOUNDED = 10.0
"""The ε at which bounds are compared with true errors."""
PEER_SECONDS = 60.0
"""mbi begins no further round after this long; one round always ends."""


class Table:
    """A table of codes with its all-3way workload."""

    def __init__(self, name: str) -> None:
        loaded = tables.Table.load(name)
        self.domain, self.source, self.empty_pairs = loaded.domain, loaded.source, loaded.empty_pairs
        self.workload = loaded.workload("all-3way")

    def run(
        self, epsilon: float, seed: int, zeros: list[DeclaredZeros] | None = None
    ) -> tuple[Outcome, NDArray[Any], list[float]]:
        """Run AIM and generate: the outcome, the records, and the seconds of each round."""
        rounds: list[float] = []

        def note(event: Event) -> None:
            if isinstance(event, RoundEnded):
                rounds.append(event.seconds)

        aim = mechanism("aim")
        budget = Budget.of(epsilon=epsilon, delta=DELTA)
        door = Door(self.source, budget, noise=ResearchNoise(seed), expect=aim.expects(self.workload))
        outcome = aim.run(door, self.workload, zeros=zeros or [], on_event=note)
        return outcome, outcome.draw(np.random.default_rng(seed)), rounds


def cell_error(name: str, epsilon: str, seed: str) -> dict[str, Any]:
    """One run: error of the synthetic table and of the model, time from the open table to the records."""
    table = Table(name)
    start = time.perf_counter()
    outcome, records, rounds = table.run(float(epsilon), int(seed))
    seconds = time.perf_counter() - start
    real = table.source.count(table.workload.cliques)
    synthetic = MemorySource.of_codes(records, table.domain).count(table.workload.cliques)
    assert outcome.model is not None
    more = {"bounds": bound_ratios(table, outcome, records)} if float(epsilon) == BOUNDED else {}
    return {
        "error": workload_error(table.workload, real, synthetic),
        "model_error": workload_error(table.workload, real, outcome.model.marginals(table.workload.cliques)),
        "seconds": seconds,
        "rounds": len(rounds),
        "round_seconds": float(np.mean(rounds)),
        "first_round_seconds": rounds[0],
        "tree_mb": outcome.model.size / 2**20,
        "peak_mb": peak_mb(),
    } | more


def cell_speed(name: str) -> dict[str, Any]:
    """Time of the whole mechanism with generation, at ε = 1; meant to run while the machine does nothing else."""
    result = cell_error(name, "1", "0")
    return {key: result[key] for key in ("seconds", "rounds", "round_seconds", "peak_mb")}


def cell_zeros(name: str, epsilon: str, seed: str) -> dict[str, Any]:
    """The same with the impossible combinations declared; none may be generated."""
    table = Table(name)
    zeros = table.empty_pairs()
    outcome, records, _ = table.run(float(epsilon), int(seed), zeros)
    real = table.source.count(table.workload.cliques)
    made = MemorySource.of_codes(records, table.domain)
    broken = sum(
        int(count[tuple(z.cells.T)].sum()) for z, count in zip(zeros, made.count([z.clique for z in zeros]), strict=True)
    )
    return {
        "error": workload_error(table.workload, real, made.count(table.workload.cliques)),
        "forbidden": sum(len(z.cells) for z in zeros),
        "generated_forbidden": broken,
        "rounds": len(outcome.rounds),
    }


def bound_ratios(table: Table, outcome: Outcome, records: NDArray[Any]) -> dict[str, Any]:
    """Bound over true error of every marginal of the closure, by kind."""
    cliques = list(table.workload.closure)
    made = TableMarginals(table.domain, records)
    found = bounds(Evidence.of(outcome), made, confidence=0.95)
    real = dict(zip(cliques, table.source.count(cliques), strict=True))
    synthetic = dict(zip(cliques, made.marginals(cliques), strict=True))
    ratios: dict[str, list[float]] = {"supported": [], "unsupported": []}
    exceeded = 0
    for clique, bound in found.items():
        error = float(np.abs(real[clique] - synthetic[clique]).sum())
        exceeded += error > bound.value
        ratios[bound.kind].append(round(bound.value / max(error, 1.0), 4))
    return {"ratios": ratios, "exceeded": exceeded, "unbounded": len(cliques) - len(found)}


def cell_peer(name: str) -> dict[str, Any]:
    """The first rounds of a recorded run on mbi's inference, beside the same rounds here."""
    table = Table(name)
    outcome, _, seconds = table.run(1.0, 0)
    assert outcome.model is not None
    first = len(outcome.measurements) - len(outcome.rounds)
    arrays = {f"y{k}": m.values for k, m in enumerate(outcome.measurements)}

    def described(k: int) -> dict[str, Any]:
        one = outcome.measurements[k]
        return {"clique": one.clique, "sigma": one.sigma, "array": f"y{k}"}

    record = {
        "domain": dict(zip(table.domain.attributes, table.domain.sizes, strict=True)),
        "total": outcome.model.total,
        "initial": [described(k) for k in range(first)],
        "rounds": [described(first + k) | {"candidates": r.candidates} for k, r in enumerate(outcome.rounds)],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rounds.json").write_text(json.dumps(record))
        np.savez(Path(folder) / "values.npz", **arrays)  # type: ignore[arg-type]
        command = [str(PEER / "bin" / "python"), str(ROOT / "benchmarks" / "aim_mbi.py"), folder, str(PEER_SECONDS)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    peer = json.loads(done.stdout.strip().splitlines()[-1])
    theirs = [r["fit"] + r["score"] for r in peer["rounds"]]
    return {
        "mbi": peer["rounds"],
        "ours": seconds[: len(theirs)],
        "times": float(np.mean(theirs) / np.mean(seconds[: len(theirs)])),
    }


CELLS: dict[str, Callable[..., dict[str, Any]]] = {
    "error": cell_error,
    "speed": cell_speed,
    "zeros": cell_zeros,
    "peer": cell_peer,
}


def wanted() -> Iterator[tuple[str, ...]]:
    """All cells, the most telling first."""
    for name in TARGETS:
        for seed in range(TRIALS):
            yield ("error", name, "1", str(seed))
    for name in SECONDS:
        yield ("speed", name)
    for name in SECONDS:
        yield ("peer", name)
    for epsilon in ("0.1", "10"):
        for seed in range(TRIALS):
            yield ("error", "fire", epsilon, str(seed))
    for epsilon in ("0.1", "1", "10"):
        for seed in range(2):
            yield ("zeros", "fire", epsilon, str(seed))


def known() -> dict[str, dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {line["cell"]: line for line in lines}


def run_missing(only: str, done: set[str]) -> None:
    stamp = {
        "version": version("understudy"),
        "cores": workers(),
        "python": platform.python_version(),
        "commit": provenance.commit(),
    }
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")}
    for cell in wanted():
        key = " ".join(cell)
        if key in done or not key.startswith(only):
            continue
        ran = subprocess.run(
            [sys.executable, __file__, "--cell", *cell], check=True, capture_output=True, text=True, env=environment
        )
        result = json.loads(ran.stdout.strip().splitlines()[-1])
        line = {"cell": key, "when": datetime.now(UTC).isoformat(timespec="seconds")} | stamp | result
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(key, {k: v for k, v in result.items() if not isinstance(v, list | dict)}, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help='run only cells that begin so, such as "error adult"')
    parser.add_argument("--fresh", action="store_true", help="run again what was run before; a later result counts")
    arguments = parser.parse_args()
    if arguments.cell:
        print(json.dumps(CELLS[arguments.cell[0]](*arguments.cell[1:])))
        return 0
    if not DATASETS.exists():
        print(f"skipped: {DATASETS} is not there")
        return 0
    from engine import ensure_peer

    ensure_peer()
    run_missing(arguments.only, set() if arguments.fresh else set(known()))
    from aim_page import summarise

    return summarise(known(), PAGE)


if __name__ == "__main__":
    sys.exit(main())
