"""The fits of seeded runs, played again: steps and seconds, beside another checkout's. ``make bench-fits OLD=folder``.

A run of AIM is recorded once (what it measured, and when it fitted a model), in build/fits. Then the same sequence of fits
is made by the code of this checkout, and by that of the other where one is given, each in a process of its own: every fit
starts from the model before it, and the last one is the closer fit of a finished run. Seconds are of the processor, on one
core, so that other work on the machine tells little. Writes benchmarks/results/fits.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tables
from grid import provenance
from reference_sets import ROOT
from understudy.domain import Domain
from understudy.mechanism import mechanism
from understudy.model import CLOSER, Observation, fit
from understudy.privacy import Budget, Door, ResearchNoise

CASES = (("adult", 1.0), ("adult", 10.0), ("fire", 0.1), ("fire", 1.0), ("fire", 10.0), ("made", 1.0))
RECORDS = ROOT / "build" / "fits"
RESULTS = ROOT / "benchmarks" / "results" / "fits.json"
DELTA = 1e-9
LAST_STEPS = 1200
MADE_ROWS, MADE_SIZES = 5_000_000, (4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 25)


def made(rng: np.random.Generator) -> tables.Table:
    """Five million rows × 12 columns; each column depends on two before it."""
    sizes = [int(size) for size in rng.permutation(MADE_SIZES)]
    columns: list[NDArray[np.int32]] = []
    for i, size in enumerate(sizes):
        above = list(rng.choice(i, size=min(i, 2), replace=False)) if i else []
        key = np.zeros(MADE_ROWS, dtype=np.int64)
        for j in above:
            key = key * sizes[j] + columns[j]
        shares = rng.dirichlet(np.full(size, 0.5), size=int(np.prod([sizes[j] for j in above], dtype=np.int64)))
        bounds, drawn = np.cumsum(shares, axis=1), rng.random(MADE_ROWS)
        column = np.empty(MADE_ROWS, dtype=np.int32)
        for part in np.array_split(np.arange(MADE_ROWS), 20):
            column[part] = np.minimum((drawn[part, None] > bounds[key[part]]).sum(axis=1), size - 1)
        columns.append(column)
    domain = Domain.of({f"c{i}": size for i, size in enumerate(sizes)})
    return tables.Table.of("made", domain, np.asfortranarray(np.column_stack(columns)))


def record(name: str, epsilon: float) -> Path:
    """Run AIM once with a fixed seed; keep what was measured, and after how many measurements the first model was fitted."""
    file = RECORDS / f"{name}-{epsilon:g}.npz"
    if file.exists():
        return file
    table = made(np.random.default_rng(7)) if name == "made" else tables.Table.load(name)
    aim, workload = mechanism("aim"), table.workload("all-3way")
    door = Door(table.source, Budget.of(epsilon=epsilon, delta=DELTA), noise=ResearchNoise(0), expect=aim.expects(workload))
    outcome = aim.run(door, workload)
    head = {
        "sizes": dict(zip(table.domain.attributes, table.domain.sizes, strict=True)),
        "cliques": [m.clique for m in outcome.measurements],
        "sigmas": [float(m.sigma) for m in outcome.measurements],
        "first": len(outcome.measurements) - len(outcome.rounds),
    }
    arrays: dict[str, Any] = {f"y{k}": m.values for k, m in enumerate(outcome.measurements)}
    RECORDS.mkdir(parents=True, exist_ok=True)
    np.savez(file, head=np.array(json.dumps(head)), **arrays)
    return file


def replay(file: Path) -> dict[str, Any]:
    """Make the fits of a record."""
    with np.load(file) as stored:
        head = json.loads(str(stored["head"]))
        observed = [
            Observation(tuple(clique), stored[f"y{k}"].astype(np.float64), sigma)
            for k, (clique, sigma) in enumerate(zip(head["cliques"], head["sigmas"], strict=True))
        ]
    domain, began, steps, model = Domain.of(head["sizes"]), time.process_time(), [], None
    for k in range(head["first"], len(observed) + 1):
        found = fit(domain, observed[:k], start=model)
        model = found.model
        steps.append(found.iterations)
    rounds = time.process_time() - began
    last = fit(domain, observed, start=model, solver=CLOSER, max_iterations=LAST_STEPS)
    return {
        "fits": len(steps),
        "steps": sum(steps),
        "seconds": round(rounds, 2),
        "last_steps": last.iterations,
        "last_seconds": round(time.process_time() - began - rounds, 2),
        "loss": round(last.loss, 1),
    }


def replayed(checkout: Path, file: Path) -> dict[str, Any]:
    """Make the fits with the code of a checkout."""
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}:{ROOT / 'benchmarks'}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--replay", str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, help="another checkout, to compare with")
    parser.add_argument("--only", default="", help='run only cases that begin so, such as "adult 10"')
    parser.add_argument("--replay", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.replay:
        print(json.dumps(replay(arguments.replay)))
        return 0
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, epsilon in CASES:
        case = f"{name} {epsilon:g}"
        if not case.startswith(arguments.only) or not (name == "made" or tables.available(name)):
            continue
        file = record(name, epsilon)
        results[case] = {"commit": provenance.commit(), "new": replayed(ROOT, file)}
        if arguments.old:
            results[case]["old"] = replayed(arguments.old, file)
        print(case, json.dumps(results[case]), flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
