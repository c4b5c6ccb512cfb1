"""Public data: half of a table is public, the other half private; and public tables that are worth less, or nothing.

A cell is a table, an ε, a mechanism, a seed and what the public table is, such as ``adult 0.1 aim 41 half``. Results are
appended to benchmarks/results/public.jsonl; a cell that is there is not run again. With ``--summary`` the error without
public data is divided by that with it. Which rows are public follows from the seed, as the noise does.

Runs are seeded (research noise), so that they can be repeated. Tables are public; nothing here is private.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import aim2
import tables
from reference_sets import ROOT
from understudy.mechanism import mechanism
from understudy.mechanism.public import Public
from understudy.metrics import workload_error
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource

RESULTS = ROOT / "benchmarks" / "results" / "public.jsonl"
DELTA = 1e-9
KINDS = {
    "none": "no public data",
    "half": "the other half of the table",
    "drifted": "half of that: the rows with the smaller values of the first column, mostly",
    "shuffled": "the other half, each column shuffled by itself",
    "uniform": "as many rows, all values alike",
    "recoded": "the other half, the codes of each column renamed at random",
}


def kinds(table: tables.Table, codes: NDArray[Any], rng: np.random.Generator) -> Iterator[tuple[str, NDArray[Any] | None]]:
    """Make each kind of public table out of the public half."""
    sizes = table.domain.sizes
    yield "none", None
    yield "half", codes
    yield "shuffled", np.column_stack([rng.permutation(column) for column in codes.T])
    yield "uniform", np.column_stack([rng.integers(0, size, len(codes)) for size in sizes])
    yield "recoded", np.column_stack([rng.permutation(size)[column] for size, column in zip(sizes, codes.T, strict=True)])
    order = np.argsort(codes[:, 0] + rng.random(len(codes)) * max(2, sizes[0] // 4))
    yield "drifted", codes[order[: len(order) // 2]]


def run(table: tables.Table, epsilon: str, how: str, seed: str, wanted: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run the cells of one seed."""
    rng = np.random.default_rng(int(seed))
    order, half = rng.permutation(len(table.codes)), len(table.codes) // 2
    private = MemorySource.of_codes(np.asfortranarray(table.codes[order[half:]]), table.domain)
    workload = table.workload("all-3way")
    real = private.count(workload.cliques)
    for kind, codes in kinds(table, table.codes[order[:half]], rng):
        if kind not in wanted:
            continue
        began, used = time.process_time(), mechanism(how)
        public = (
            None if codes is None else Public(MemorySource.of_codes(np.asfortranarray(codes.astype(np.int32)), table.domain))
        )
        budget = Budget.of(epsilon=float(epsilon), delta=DELTA)
        door = Door(private, budget, noise=ResearchNoise(int(seed)), expect=used.expects(workload))
        outcome = used.run(door, workload, public=public)
        made = MemorySource.of_codes(outcome.draw(np.random.default_rng(int(seed))), table.domain).count(workload.cliques)
        yield (
            kind,
            {
                "error": workload_error(workload, real, made),
                "used": outcome.public is not None and outcome.public.used,
                "cpu_seconds": round(time.process_time() - began, 1),
            },
        )


def summary(found: dict[str, dict[str, Any]]) -> str:
    """Write the error without public data over that with each kind of it, of the same seeds, and how often it is used."""
    results: dict[tuple[str, str, str], dict[str, dict[str, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for key, line in found.items():
        table, epsilon, how, seed, kind = key.split(" ")
        results[table, epsilon, how][kind][seed] = line
    lines = [f"| table, ε, mechanism | {' | '.join(KINDS)} |", f"|---|{'---:|' * len(KINDS)}"]
    for setting, of in sorted(results.items()):
        shown = [f"{np.mean([line['error'] for line in of['none'].values()]):.3f}"]
        for kind in list(KINDS)[1:]:
            both = [(of["none"][seed], line) for seed, line in of[kind].items() if seed in of["none"]]
            ratio = sum(none["error"] for none, _ in both) / sum(line["error"] for _, line in both) if both else 0.0
            shown.append(f"{ratio:.2f} ({sum(line['used'] for _, line in both)} of {len(both)} used)" if both else "")
        lines.append(f"| {' '.join(setting)} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=["titanic"])
    parser.add_argument("--epsilons", nargs="+", default=["0.1"])
    parser.add_argument("--mechanisms", nargs="+", default=["aim"])
    parser.add_argument("--seeds", nargs="+", default=["41"])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--summary", action="store_true")
    asked = parser.parse_args()
    for name in [] if asked.summary else asked.tables:
        table = tables.Table.load(name)
        for place in [(e, how, seed) for e in asked.epsilons for how in asked.mechanisms for seed in asked.seeds]:
            known = aim2.stored(RESULTS)
            missing = [kind for kind in asked.kinds if " ".join((name, *place, kind)) not in known]
            for kind, result in run(table, *place, missing) if missing else ():
                with RESULTS.open("a") as file:
                    file.write(json.dumps({"cell": " ".join((name, *place, kind)), **result}) + "\n")
    print(summary(aim2.stored(RESULTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
