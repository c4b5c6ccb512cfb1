"""Models on a GPU beside the processor: time, error, memory. ``make bench-gpu``; needs a GPU and PyTorch.

A run goes from the open table to the refined rows, in a process of its own. Each is appended to benchmarks/results/gpu.jsonl
at once, and one that is there is not run again. One that takes longer than ``--limit`` is given up, and stored as such. Runs
are seeded (research noise). With ``--summary`` the table of docs/gpu.md is written from what is stored.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import tables
from grid import provenance
from reference_sets import DATASETS, ROOT
from understudy.mechanism import mechanism
from understudy.metrics import workload_error
from understudy.model import engine_on
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource

RESULTS = ROOT / "benchmarks" / "results" / "gpu.jsonl"
CELLS = ("fire all-3way 1 80", "fire all-3way 1 1280", "fire all-3way 10 1280", "msnbc all-3way 10 80")
"""Table, workload, ε, and the model's limit in MB."""
SEEDS = (0, 1, 2)
LIMIT = 900.0


def run(cell: str, name: str, seed: int, device: str) -> dict[str, Any]:
    """Run a mechanism from the open table to the rows."""
    table_name, queries, epsilon, size = cell.split(" ")
    table = tables.Table.load(table_name)
    workload, used = table.workload(queries), mechanism(name, max_size=int(size) << 20)
    began = time.perf_counter()
    budget, expected = Budget.of(epsilon=float(epsilon), delta=1e-9), used.expects(workload)
    door = Door(table.source, budget, noise=ResearchNoise(seed), expect=expected)
    outcome = used.run(door, workload, engine=engine_on(device))
    rows = outcome.draw(np.random.default_rng(seed))
    seconds = time.perf_counter() - began
    assert outcome.model is not None
    made = MemorySource.of_codes(rows, table.domain).count(workload.cliques)
    error = workload_error(workload, table.source.count(workload.cliques), made)
    found = {"seconds": round(seconds, 2), "error": error, "rounds": len(outcome.rounds)}
    return found | {"tree_mb": outcome.model.size / 2**20} | _on_gpu(device)


def _on_gpu(device: str) -> dict[str, Any]:
    """What PyTorch took of the GPU's memory, and which GPU it was."""
    if device == "cpu":
        return {}
    import torch

    return {"gpu_gb": round(torch.cuda.max_memory_reserved() / 1e9, 1), "gpu": torch.cuda.get_device_name()}


def stored(path: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the runs on file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_missing(asked: argparse.Namespace) -> None:
    """Run what is not on file, in the order that was asked for."""
    keys = ("cell", "mechanism", "seed", "device")
    known = {tuple(line[key] for key in keys) for line in stored(asked.results)}
    about = {"commit": provenance.commit(), "machine": provenance.machine()}
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for device, how, cell, seed in product(asked.devices, asked.mechanisms, asked.cells, asked.seeds):
            if (one := (cell, how, seed, device)) in known:
                continue
            try:
                found = pool.apply_async(run, one).get(timeout=asked.limit)
            except multiprocessing.TimeoutError:
                found = {"given_up_after": asked.limit}
            line = dict(zip(keys, one, strict=True)) | found | about
            text = json.dumps(line | {"when": datetime.now(UTC).isoformat(timespec="seconds")})
            with asked.results.open("a") as file:
                file.write(text + "\n")
            print(text, flush=True)
            if "given_up_after" in found:  # its process is still at work
                return


def summary(lines: list[dict[str, Any]]) -> str:
    """Write the table of docs/gpu.md: seconds and errors from the least to the most, of the devices that were run."""
    runs: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        runs[line["mechanism"], line["cell"]][line["device"]].append(line)
    devices = [device for device in ("cuda", "cpu") if any(device in sides for sides in runs.values())]
    heads = {"cuda": ["GPU, s", "error", "GPU memory, GB"], "cpu": ["processor, s", "error"]}
    columns = [head for device in devices for head in heads[device]]
    rows = [
        f"| mechanism | table, workload, ε, largest model | {' | '.join(columns)} |",
        f"|---|---|{'---:|' * len(columns)}",
    ]
    for (how, cell), sides in sorted(runs.items()):
        *place, size = cell.split(" ")
        numbers = []
        for device in devices:
            numbers += [_range(sides[device], "seconds", ".0f"), _range(sides[device], "error", ".3f")]
            numbers += [_range(sides[device], "gpu_gb", ".1f")] if device == "cuda" else []
        rows.append(f"| `{how}` | {' '.join(place)}, {size} MB | {' | '.join(numbers)} |")
    return "\n".join(rows)


def _range(lines: list[dict[str, Any]], name: str, form: str) -> str:
    values = [line[name] for line in lines if name in line]
    given_up = [f"given up after {line['given_up_after']:.0f}" for line in lines if "given_up_after" in line]
    low, high = (format(edge(values), form) if values else "" for edge in (min, max))
    ends = low if low == high else f"{low}–{high}"
    return ", ".join(text for text in (ends, *(given_up if name == "seconds" else ())) if text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--mechanisms", nargs="+", default=["aim", "aim2"])
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--devices", nargs="+", default=["cuda", "cpu"])
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a run, after which it is given up")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--summary", action="store_true")
    asked = parser.parse_args()
    if not asked.summary:
        if not DATASETS.exists():
            print(f"skipped: {DATASETS} is not there")
            return 0
        run_missing(asked)
    print(summary(stored(asked.results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
