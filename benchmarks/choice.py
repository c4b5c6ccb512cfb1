"""The choice of a mechanism (``mechanism="auto"``) beside every fixed one, over the settings that were run.

``run`` adds cells to benchmarks/results/choice.jsonl: a table, a workload, an ε, a seed and a mechanism, with the error of the
synthetic table. One that is there is not run again. ``summary`` compares the choice with the best mechanism of each setting,
over these cells and those of the grid. The choice is made from the schema, the workload, ε and the number of rows alone.

Runs are seeded (research noise), so that they can be repeated. Tables are public; nothing here is private.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from typing import Any

import numpy as np

import aim2
from reference_sets import ROOT
from understudy.errors import CapacityError

RESULTS = ROOT / "benchmarks" / "results"
STORED = RESULTS / "choice.jsonl"
Setting = tuple[str, str, float]
"""Table, workload, ε."""


def run(asked: argparse.Namespace) -> None:
    """Run the cells that are not on file; a mechanism that refuses a workload is left out."""
    known = aim2.stored(STORED)
    for table in asked.tables:
        for workload in asked.workloads:
            for epsilon in asked.epsilons:
                for seed in asked.seeds:
                    for how in asked.mechanisms:
                        key = " ".join((table, workload, epsilon, seed, how))
                        if key in known:
                            continue
                        try:
                            found = aim2.run_cell(table, workload, epsilon, seed, how)
                        except CapacityError:
                            continue
                        with STORED.open("a") as file:
                            file.write(json.dumps({"cell": key, **found}) + "\n")
                        print(key, round(found["error"], 4), found["cpu_seconds"], flush=True)


def errors() -> dict[Setting, dict[str, float]]:
    """Return the mean error of each mechanism in each setting, from every file that has one."""
    found: dict[Setting, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in (RESULTS / "aim2.jsonl", STORED):
        for key, line in aim2.stored(path).items():
            table, workload, epsilon, _, how = key.split(" ")
            found[table, workload, float(epsilon)][how].append(line["error"])
    for name in ("grid", "family", "quick"):
        for text in (RESULTS / f"{name}.jsonl").read_text().splitlines():
            line: dict[str, Any] = json.loads(text)
            if line["status"] == "done" and (line["result"].get("error") or {}).get("l1") is not None:
                setting = line["dataset"], line["workload"], line["epsilon"]
                found[setting][line["mechanism"]].append(line["result"]["error"]["l1"])
    means = {setting: {how: float(np.mean(e)) for how, e in of.items()} for setting, of in found.items()}
    return {setting: {how: e for how, e in of.items() if ":" not in how} for setting, of in means.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run"])
    parser.add_argument("--tables", nargs="+", default=["titanic"])
    parser.add_argument("--workloads", nargs="+", default=["all-1way", "target-2way", "few", "all-2way"])
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--seeds", nargs="+", default=["4001", "4002"])
    parser.add_argument("--mechanisms", nargs="+", default=["aim", "aim2", "independent", "hdmm+pgm"])
    run(parser.parse_args())
    return 0


if __name__ == "__main__":
    sys.exit(main())
