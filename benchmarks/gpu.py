"""AIM with its models on a GPU, beside the processor: time, error, memory. ``make bench-gpu``; needs a GPU and PyTorch.

Prints one line of JSON a run; docs/gpu.md was written from such lines. Runs are seeded (research noise). A run that takes
longer than LIMIT is given up, and says so.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from typing import Any

import numpy as np

import tables
from reference_sets import DATASETS
from understudy.mechanism import mechanism
from understudy.metrics import workload_error
from understudy.model import engine_on
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource

CELLS = (("fire", 1.0, 80), ("fire", 1.0, 1280), ("fire", 10.0, 1280), ("msnbc", 10.0, 80))
"""Table, ε, and the model's limit in MB."""
SEEDS = 3
LIMIT = 900.0


def run(name: str, epsilon: float, size: int, seed: int, device: str) -> dict[str, Any]:
    """Run AIM from the open table to the rows."""
    table = tables.Table.load(name)
    workload, aim = table.workload("all-3way"), mechanism("aim", max_size=size << 20)
    began = time.perf_counter()
    budget, expected = Budget.of(epsilon=epsilon, delta=1e-9), aim.expects(workload)
    door = Door(table.source, budget, noise=ResearchNoise(seed), expect=expected)
    outcome = aim.run(door, workload, engine=engine_on(device))
    rows = outcome.draw(np.random.default_rng(seed))
    seconds = time.perf_counter() - began
    assert outcome.model is not None
    made = MemorySource.of_codes(rows, table.domain).count(workload.cliques)
    error = workload_error(workload, table.source.count(workload.cliques), made)
    found = {"table": name, "epsilon": epsilon, "max_size_mb": size, "seed": seed, "device": device}
    return found | {"seconds": seconds, "error": error, "rounds": len(outcome.rounds), "tree_mb": outcome.model.size / 2**20}


def main() -> int:
    if not DATASETS.exists():
        print(f"skipped: {DATASETS} is not there")
        return 0
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for device in ("cuda", "cpu"):
            for cell in CELLS:
                for seed in range(SEEDS):
                    try:
                        found = pool.apply_async(run, (*cell, seed, device)).get(timeout=LIMIT)
                    except multiprocessing.TimeoutError:
                        print(
                            json.dumps({"cell": cell, "seed": seed, "device": device, "given_up_after": LIMIT}), flush=True
                        )
                        return 1
                    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
