"""aim2 beside aim, with the same seeds: the error of the synthetic table and the CPU seconds of a run.

A cell is a table, a workload, an ε, a seed and a mechanism with its options, such as ``adult all-3way 1 9001 aim2``. Each
is run in a process of its own and appended to benchmarks/results/aim2.jsonl at once; one that is there is not run again.
With ``--summary`` the stored cells are compared, worse ones first.

``--old`` compares with ``aim`` as it was at commit 51ff5bb instead: with the errors and times that are stored of it in the
results of the grid and beside it, cell by cell with the same seed. Only aim2 is run then, with these seeds.
``--checkout FOLDER`` runs ``aim`` of that commit's checkout there, as ``aim@51ff5bb``, where nothing is stored of it.

Runs are seeded (research noise), so that they can be repeated. Tables are public; nothing here is private.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import product
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np

import beside
import tables
from grid import provenance
from grid.cells import Cell
from reference_sets import ROOT
from understudy.mechanism import mechanism
from understudy.metrics import workload_error, workload_error_l2, workload_error_max
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload

RESULTS = ROOT / "benchmarks" / "results" / "aim2.jsonl"
DELTA = 1e-9
MOST_JUDGED, DRAWN = 20_000, 2_000
"""Of a workload of more marginals, so many are drawn to judge by."""
BASE, OLD = "aim", "aim@51ff5bb"
OLD_RESULTS = [ROOT / "benchmarks" / "results" / name for name in ("grid.jsonl", "beside.jsonl")]
PEER_RESULTS = ROOT / "benchmarks" / "results" / "peers.jsonl"
OLD_COMMITS = ("51ff5bb", "a6213fd", "3165750", "ff680cf", "48688cc", "4843724", "9ad7aca")
"""Commits up to 51ff5bb whose ``aim`` chooses, measures and fits as that one's does."""


def options_of(text: str) -> tuple[str, dict[str, Any]]:
    """Read a mechanism with options, such as ``aim2:shrinkage=false``."""
    name, _, rest = text.partition(":")
    pairs = [part.split("=") for part in rest.split(",") if part]
    return name, {
        key: json.loads(value) if value in ("true", "false") or value[0].isdigit() else value for key, value in pairs
    }


def some_of(workload: Workload) -> Workload:
    """Return the workload, or as many of its marginals as can be held at once, drawn in the same way each time."""
    if len(workload.cliques) <= MOST_JUDGED:
        return workload
    places = np.random.default_rng(7).choice(len(workload.cliques), DRAWN, replace=False)
    cliques = [workload.cliques[int(place)] for place in places]
    return Workload.of(workload.domain, [(clique, workload.importance[clique]) for clique in cliques])


def run_cell(table_name: str, workload_name: str, epsilon: str, seed: str, how: str) -> dict[str, Any]:
    """Run one cell: errors of the synthetic table and of the model, CPU and wall seconds, rounds and the tree's size."""
    table = tables.Table.load(table_name)
    workload = table.workload(workload_name)
    name, options = options_of(how)
    used = mechanism(name, **options)
    door = Door(
        table.source,
        Budget.of(epsilon=float(epsilon), delta=DELTA),
        noise=ResearchNoise(int(seed)),
        expect=used.expects(workload),
    )
    cpu, wall = time.process_time(), time.perf_counter()
    outcome = used.run(door, workload)
    records = outcome.draw(np.random.default_rng(int(seed)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    judged = some_of(workload)
    real = table.source.count(judged.cliques)
    made = MemorySource.of_codes(records, table.domain).count(judged.cliques)
    assert outcome.model is not None
    return {
        "error": workload_error(judged, real, made),
        "error_l2": workload_error_l2(judged, real, made),
        "error_max": workload_error_max(judged, real, made),
        "model_error": workload_error(judged, real, outcome.model.marginals(judged.cliques)),
        "cpu_seconds": round(cpu, 3),
        "seconds": round(wall, 3),
        "rounds": len(outcome.rounds),
        "tree_mb": outcome.model.size / 2**20,
    }


def stored(path: Path) -> dict[str, dict[str, Any]]:
    """Return the cells on file; a later line counts."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {line["cell"]: line for line in map(json.loads, lines)}


def old_cells() -> dict[str, dict[str, Any]]:
    """Return what is stored of ``aim`` at the old commit, by the keys of this file."""
    found: dict[str, dict[str, Any]] = {}
    for path in OLD_RESULTS:
        for line in map(json.loads, path.read_text().splitlines()):
            table, workload, name, epsilon, _ = line["cell"].split(" ")
            if "side" in line:
                commit, error, cpu = line["commit"], line["error"], line["cpu_seconds"]
            elif line["status"] == "done":
                result = line["result"]
                commit, error, cpu = line["versions"]["commit"], result["error"]["l1"], result["cpu_seconds"]
            else:
                continue
            if name == "aim" and line.get("side") != "new" and commit.startswith(OLD_COMMITS):
                key = f"{table} {workload} {epsilon} {line['seed']} {OLD}"
                found[key] = {"error": error, "cpu_seconds": cpu}
    return found


def run_apart(cell: tuple[str, ...], checkout: Path | None) -> dict[str, Any]:
    """Run a cell in a process of its own; that of the old commit by its checkout."""
    if cell[-1] == OLD and checkout:
        table, workload, epsilon, seed, _ = cell
        return beside.run_cell(checkout, Cell(table, workload, float(epsilon), 0, BASE), int(seed))
    ran = subprocess.run([sys.executable, __file__, "--cell", *cell], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    return found


def run_missing(cells: Iterable[tuple[str, ...]], path: Path, checkout: Path | None) -> None:
    """Run what is not on file, one process after another."""
    for cell in cells:
        key = " ".join(cell)
        if key in stored(path):
            continue
        result = run_apart(cell, checkout)
        stamp = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "commit": provenance.commit()}
        with path.open("a") as file:
            file.write(json.dumps({"cell": key} | stamp | result) + "\n")
        print(key, {k: round(v, 4) for k, v in result.items()}, flush=True)


def compared(found: dict[str, dict[str, Any]], how: str, to: str = BASE) -> Iterator[tuple[str, float, float, int, float]]:
    """Give for each (table, workload, ε): its name, the mean log ratio of errors, its standard error, seeds, CPU ratio."""
    logs: dict[str, list[float]] = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    for key, line in found.items():
        *place, seed, used = key.split(" ")
        base = found.get(" ".join([*place, seed, to]))
        if used == how and base:
            logs[" ".join(place)].append(log(base["error"] / line["error"]))
            times[" ".join(place)].append(log(line["cpu_seconds"] / base["cpu_seconds"]))
    for place, values in logs.items():
        spread = float(np.std(values, ddof=1)) / sqrt(len(values)) if len(values) > 1 else float("nan")
        yield place, float(np.mean(values)), spread, len(values), exp(float(np.mean(times[place])))


def summary(found: dict[str, dict[str, Any]], to: str = BASE) -> str:
    """Write a table for each mechanism: the error of aim over its own (above 1 is better), worse cells first."""
    lines: list[str] = []
    for how in sorted({key.split(" ")[-1] for key in found} - {to}):
        rows = sorted(compared(found, how, to), key=lambda row: row[1])
        if not rows:
            continue
        lines += [
            f"\n**{how}**\n",
            f"| table, workload, ε | ratio | ± | seeds | CPU time of {to} |",
            "|---|---:|---:|---:|---:|",
        ]
        lines += [f"| {place} | {exp(m):.3f} | {exp(m) * s:.3f} | {n} | × {t:.2f} |" for place, m, s, n, t in rows]
        middle = exp(float(np.mean([row[1] for row in rows])))
        lines.append(f"| geometric mean | {middle:.3f} | | | × {exp(float(np.mean([log(row[4]) for row in rows]))):.2f} |")
    return "\n".join(lines)


def beside_peers(found: dict[str, dict[str, Any]]) -> str:
    """Write aim2's errors (L1, L2, largest) and the peers' in each cell of a peer; starred: not above aim2's."""
    errors: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for line in map(json.loads, PEER_RESULTS.read_text().splitlines()):
        if line["status"] == "done" and "/" in line["mechanism"]:
            place = f"{line['dataset']} {line['workload']} {line['epsilon']:g}"
            errors[place, line["mechanism"]].append(tuple(line["result"]["error"][name] for name in ("l1", "l2", "max")))
    for key, line in found.items():
        *place, _, how = key.split(" ")
        if how == "aim2" and "error_l2" in line:
            errors[" ".join(place), how].append((line["error"], line["error_l2"], line["error_max"]))
    places = sorted({place for place, how in errors if how != "aim2"} & {place for place, how in errors if how == "aim2"})
    lines = ["| table, workload, ε | mechanism | runs | L1 | L2 | largest |", "|---|---|---:|---:|---:|---:|"]
    for place in places:
        for (_, how), values in sorted(
            (item for item in errors.items() if item[0][0] == place), key=lambda item: item[0][1] != "aim2"
        ):
            own = np.mean(errors[place, "aim2"], axis=0)
            marks = [
                "*" if how != "aim2" and mine >= other else ""
                for mine, other in zip(own, np.mean(values, axis=0), strict=True)
            ]
            shown = " | ".join(
                f"{mark}{value:.4f}{mark}" for value, mark in zip(np.mean(values, axis=0), marks, strict=True)
            )
            lines.append(f"| {place} | {how} | {len(values)} | {shown} |")
    return "\n".join(lines)


def wanted(asked: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Give the cells to run, one table after another."""
    known = [key.split(" ")[:4] for key in old_cells()] if asked.old else []
    mechanisms = [
        OLD if asked.checkout and how == BASE else how for how in asked.mechanisms if not (asked.old and how == BASE)
    ]
    for place in product(asked.tables, asked.workloads, asked.epsilons):
        seeds = [seed for *at, seed in known if at == list(place)][: asked.most] if asked.old else asked.seeds
        yield from ((*place, seed, how) for seed, how in product(seeds, mechanisms))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--tables", nargs="+", default=["titanic"])
    parser.add_argument("--workloads", nargs="+", default=["all-3way"])
    parser.add_argument("--epsilons", nargs="+", default=["1"])
    parser.add_argument("--seeds", nargs="+", default=["9001"])
    parser.add_argument("--mechanisms", nargs="+", default=["aim", "aim2"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--old", action="store_true", help="with the seeds that are stored of the old commit")
    parser.add_argument("--checkout", type=Path, help="a checkout of the old commit, whose aim is run beside")
    parser.add_argument("--most", type=int, default=5, help="seeds of a cell, with --old")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--peers", action="store_true", help="what is stored, beside what is stored of the peers")
    asked = parser.parse_args()
    if asked.cell:
        print(json.dumps(run_cell(*asked.cell)))
        return 0
    if asked.peers:
        print(beside_peers(stored(asked.results)))
        return 0
    if not asked.summary:
        run_missing(wanted(asked), asked.results, asked.checkout)
    found = stored(asked.results)
    print(summary(found | old_cells(), OLD) if asked.old or asked.checkout else summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
