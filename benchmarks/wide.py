"""Wide tables: time, peak memory and error of a whole run, on made-up tables with a planted structure and on a real one.

    python benchmarks/wide.py                            every case
    python benchmarks/wide.py planted all-2way 1         one: table, workload, epsilon

Each case is a process of its own; the peak is that of the whole process. The error is that of the synthetic table on
marginals of the workload drawn with a fixed seed: to count all of them would take longer than the run.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tables
from understudy.domain import Clique, Domain
from understudy.mechanism import Outcome, mechanism
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload

DELTA = 1e-9
DRAWN = 2_000
CASES = [
    ("planted", "all-2way", 1.0),
    ("planted", "all-3way", 1.0),
    ("planted", "all-2way", 10.0),
    ("hundred", "all-3way", 1.0),
    ("stroke", "all-3way", 1.0),
]


def planted(columns: int = 300, rows: int = 100_000, seed: int = 0) -> tuple[tables.Table, list[Clique]]:
    """Columns of 2 to 20 values. A third follow another column half of the time: these are the planted pairs."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([2, 3, 5, 8, 12, 20], columns, p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.1])
    codes = np.empty((rows, columns), dtype=np.int32, order="F")
    pairs: list[Clique] = []
    for i, size in enumerate(sizes):
        shares = rng.dirichlet(np.full(size, 0.7))
        codes[:, i] = rng.choice(size, rows, p=shares)
        if i and rng.random() < 1 / 3:
            parent = int(rng.integers(i))
            follows = rng.random(rows) < 0.5
            codes[:, i] = np.where(follows, rng.permutation(sizes[parent])[codes[:, parent]] % size, codes[:, i])
            pairs.append((f"x{parent:03}", f"x{i:03}"))
    domain = Domain.of({f"x{i:03}": int(size) for i, size in enumerate(sizes)})
    return tables.Table.of("planted", domain, codes), pairs


def hundred(columns: int = 48, rows: int = 100_000, seed: int = 0) -> tuple[tables.Table, list[Clique]]:
    """Columns of 100 values each, half of them a noisy copy of the one before."""
    rng = np.random.default_rng(seed)
    codes = np.empty((rows, columns), dtype=np.int32, order="F")
    for i in range(columns):
        codes[:, i] = np.minimum(rng.exponential(15, rows), 99)
        if i % 2:
            follows = rng.random(rows) < 0.7
            codes[:, i] = np.where(follows, np.clip(codes[:, i - 1] + rng.integers(-2, 3, rows), 0, 99), codes[:, i])
    domain = Domain.of({f"x{i:03}": 100 for i in range(columns)})
    return tables.Table.of("hundred", domain, codes), [(f"x{i - 1:03}", f"x{i:03}") for i in range(1, columns, 2)]


def made(name: str) -> tuple[tables.Table, list[Clique]]:
    """Make or read a table, with the pairs that were planted in it."""
    if name == "planted":
        return planted()
    return hundred() if name == "hundred" else (tables.Table.load(name), [])


def drawn_error(table: tables.Table, workload: Workload, codes: NDArray[Any]) -> float:
    """The error of ``codes`` on some marginals of the workload."""
    places = np.random.default_rng(7).choice(len(workload.cliques), min(DRAWN, len(workload.cliques)), replace=False)
    cliques = [workload.cliques[int(place)] for place in places]
    synthetic = MemorySource.of_codes(codes, table.domain)
    total = 0.0
    for k in range(0, len(cliques), 20):
        some = cliques[k : k + 20]
        for real, made_up in zip(table.source.count(some), synthetic.count(some), strict=True):
            total += float(np.abs(real - made_up).sum())
    return total / len(cliques) / len(table.codes)


def found(outcome: Outcome, pairs: Sequence[Clique]) -> int:
    """How many planted pairs lie inside something that was measured."""
    measured = [set(m.clique) for m in outcome.measurements if len(m.clique) > 1]
    return sum(any(set(pair) <= clique for clique in measured) for pair in pairs)


def case(name: str, queries: str, epsilon: float) -> dict[str, Any]:
    """One run, from codes in memory to a synthetic table."""
    table, pairs = made(name)
    workload = Workload.parse(queries, table.domain)
    before, worked = time.perf_counter(), time.process_time()
    aim = mechanism("aim")
    budget = Budget.of(epsilon=epsilon, delta=DELTA)
    door = Door(table.source, budget, noise=ResearchNoise(0), expect=aim.expects(workload))
    outcome = aim.run(door, workload)
    rounds_done = time.perf_counter() - before
    codes = outcome.draw(np.random.default_rng(0))
    told = {
        "table": name,
        "workload": queries,
        "epsilon": epsilon,
        "seconds": round(time.perf_counter() - before, 1),
        "of_rounds": round(rounds_done, 1),
        "cpu_seconds": round(time.process_time() - worked, 1),
        "rounds": len(outcome.rounds),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    return told | {
        "found": f"{found(outcome, pairs)} of {len(pairs)}",
        "error": round(drawn_error(table, workload, codes), 4),
    }


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(case(sys.argv[1], sys.argv[2], float(sys.argv[3]))), flush=True)
        return
    for one in CASES:
        if tables.available(one[0]) or one[0] in ("planted", "hundred"):
            subprocess.run([sys.executable, __file__, *map(str, one)], check=False)


if __name__ == "__main__":
    main()
