"""Cells of the grid by this checkout beside another one's, the same seeds: ``make bench-beside OLD=folder``.

Each cell runs twice, one after the other, each in a process of its own on the same cores. What is done is appended to
benchmarks/results/beside.jsonl at once and not run again, so that a comparison can be stopped and goes on. Prints, for each
setting, both mean errors, the mean ratio new/old with its standard error, and both mean CPU times, worst ratio first.

``--reuse FILE`` takes the other checkout's cells from stored results of the grid where they have the same seed: an error of
a seeded run is the same each time on the same kind of machine; its time is then that of another day.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from grid import provenance
from grid.cells import Cell
from reference_sets import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "beside.jsonl"
LIMIT = 3600.0
Line = dict[str, Any]


def lines() -> list[Line]:
    """All that was stored so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def commit_of(folder: Path) -> str:
    """The commit of a checkout."""
    done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run_cell(folder: Path, cell: Cell, seed: int) -> Line:
    """One cell by the code of ``folder``."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, str(folder / "benchmarks" / "run_cell.py"), "--cell", cell.key, "--seed", str(seed)]
        command += ["--limit", str(LIMIT), "--scratch", scratch]
        paths = os.pathsep.join(str(folder / part) for part in ("src", "benchmarks"))
        with subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}) as process:
            process.wait()
        found: Line = json.loads((Path(scratch) / "result.json").read_text())
    if found["status"] != "done":
        raise SystemExit(f"{cell.key} in {folder.name}: {found['message']}")
    result = found["result"]
    kept = ("cpu_seconds", "seconds", "peak_mb", "rounds", "tree_mb")
    return {"error": result["error"]["l1"], **{name: result[name] for name in kept if name in result}}


def stored(file: Path | None) -> dict[tuple[str, int], Line]:
    """Cells of the grid that are already known, by key and seed."""
    found: dict[tuple[str, int], Line] = {}
    for text in [] if file is None else file.read_text().splitlines():
        line = json.loads(text)
        if line["status"] == "done":
            result = line["result"]
            known = {"error": result["error"]["l1"], "cpu_seconds": result["cpu_seconds"], "seconds": result["seconds"]}
            found[line["cell"], line["seed"]] = {**known, "commit": line["versions"]["commit"], "stored": True}
    return found


def compare(cells: list[Cell], old: Path, base: int, reuse: Path | None) -> None:
    """Run what is missing, and store it."""
    sides, known = {"old": old, "new": ROOT}, stored(reuse)
    commits = {side: commit_of(folder) for side, folder in sides.items()}
    done = {(line["cell"], line["seed"], line["side"], line["commit"]) for line in lines()}
    done |= {(line["cell"], line["seed"], line["side"], "stored") for line in lines() if line.get("stored")}
    for cell, (side, folder) in product(cells, sides.items()):
        seed = cell.seed(base)
        if {(cell.key, seed, side, commits[side]), (cell.key, seed, side, "stored")} & done:
            continue
        again = known.get((cell.key, seed)) if side == "old" else None
        found = again or {**run_cell(folder, cell, seed), "commit": commits[side]}
        about = {"cell": cell.key, "seed": seed, "side": side, "machine": provenance.machine()}
        with RESULTS.open("a") as file:
            file.write(json.dumps(about | found) + "\n")
        print(f"{cell.key:40} {side} {found['error']:.4f} {found['cpu_seconds']:8.1f} s", flush=True)


def paired(all_lines: list[Line]) -> Iterator[tuple[tuple[str, ...], list[tuple[Line, Line]]]]:
    """By setting, the pairs of the same seed; of several results of one cell, the last."""
    latest = {(line["cell"], line["seed"], line["side"]): line for line in all_lines}
    groups: dict[tuple[str, ...], list[tuple[Line, Line]]] = defaultdict(list)
    for (key, seed, side), new in latest.items():
        before = latest.get((key, seed, "old"))
        if side == "new" and before:
            groups[tuple(key.split(" ")[:4])].append((before, new))
    yield from groups.items()


def table(all_lines: list[Line]) -> list[str]:
    """The comparison as lines of Markdown, the worst ratio first, and the geometric mean of all settings."""
    rows: list[tuple[float, str]] = []
    logs: list[float] = []
    for (name, workload, mechanism, epsilon), pairs in paired(all_lines):
        ratios = np.array([new["error"] / old["error"] for old, new in pairs])
        off = ratios.std(ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else float("nan")
        mean = {k: [np.mean([p[i][k] for p in pairs]) for i in (0, 1)] for k in ("error", "cpu_seconds")}
        logs.append(float(np.log(ratios).mean()))
        text = f"| {name} | {workload} | {mechanism} | {epsilon} | {len(pairs)} | "
        text += f"{mean['error'][0]:.4f} | {mean['error'][1]:.4f} | "
        text += f"{ratios.mean():.3f} ± {off:.3f} | {mean['cpu_seconds'][0]:.1f} | {mean['cpu_seconds'][1]:.1f} |"
        rows.append((float(ratios.mean()), text))
    head = "| table | workload | mechanism | ε | seeds | error, old | error, new | new/old | CPU s, old | CPU s, new |"
    last = (
        f"Geometric mean of new/old over {len(logs)} settings: {np.exp(np.mean(logs)):.4f}." if logs else "Nothing stored."
    )
    return [head, "|---|---|---|---:|---:|---:|---:|---:|---:|---:|", *(t for _, t in sorted(rows, reverse=True)), "", last]


def main() -> None:
    """Compare, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, help="another checkout of this repository")
    parser.add_argument("--tables", nargs="*", default=["titanic", "adult", "salary", "fire", "msnbc"])
    parser.add_argument("--workload", default="all-3way")
    parser.add_argument("--mechanism", default="aim")
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--trials", nargs="*", type=int, default=list(range(5)))
    parser.add_argument("--seed", type=int, default=0, help="of the grid")
    parser.add_argument("--reuse", type=Path, help="stored results of the grid")
    chosen = parser.parse_args()
    if chosen.old:
        settings = product(chosen.trials, chosen.epsilons, chosen.tables)
        cells = [Cell(name, chosen.workload, epsilon, trial, chosen.mechanism) for trial, epsilon, name in settings]
        compare(cells, chosen.old.resolve(), chosen.seed, chosen.reuse)
    print("\n".join(table(lines())))


if __name__ == "__main__":
    main()
