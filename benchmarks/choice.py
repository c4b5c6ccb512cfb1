"""The choice of a mechanism (``mechanism="auto"``) beside every fixed one, over the settings that were run.

``run`` adds cells to benchmarks/results/choice.jsonl: a table, a workload, an ε, a seed and a mechanism, with the error of
its synthetic table. One that is there is not run again. ``summary`` compares the choice with the best mechanism of each
setting, over these cells and those of the grid. The choice is made from the schema, the workload, ε and the rows alone.

Runs are seeded (research noise), so that they can be repeated. Tables are public; nothing here is private.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from math import exp, log
from typing import Any

import numpy as np

import aim2
import tables
from grid import provenance
from reference_sets import ROOT
from understudy.errors import CapacityError
from understudy.mechanism import MECHANISMS
from understudy.mechanism.choosing import Case, forecasts
from understudy.privacy import Budget, Unit

RESULTS = ROOT / "benchmarks" / "results"
STORED = RESULTS / "choice.jsonl"
DELTA, SIZE = 1e-9, 80 * 2**20
CLOSE = 1.03
"""A choice whose error is no more than so many times the best one's is as good as the best."""
SMALL = ("all-1way", "target-2way", "few", "all-2way")
Setting = tuple[str, str, float]
"""Table, workload, ε."""


def run(asked: argparse.Namespace) -> None:
    """Run the cells that are not on file; a mechanism that refuses a workload is left out."""
    known = aim2.stored(STORED)
    for table in asked.tables:
        for workload in asked.workloads or SMALL:
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
                            file.write(json.dumps({"cell": key, "commit": provenance.commit(), **found}) + "\n")
                        print(key, round(found["error"], 4), found["cpu_seconds"], flush=True)


def trials() -> dict[Setting, dict[str, list[float]]]:
    """Return the errors of each mechanism's model in each setting, one for each seed, from every file that has one.

    Of the model, since drawing rows adds an error that has nothing to do with the mechanism.
    """
    found: dict[Setting, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in (RESULTS / "aim2.jsonl", STORED):
        for key, line in aim2.stored(path).items():
            table, workload, epsilon, _, how = key.split(" ")
            if "model_error" in line:
                found[table, workload, float(epsilon)][how].append(line["model_error"])
    for name in ("grid", "family", "quick"):
        for text in (RESULTS / f"{name}.jsonl").read_text().splitlines():
            line: dict[str, Any] = json.loads(text)
            error = line["result"].get("model_error") if line["status"] == "done" else None
            if error is not None:
                found[line["dataset"], line["workload"], line["epsilon"]][line["mechanism"]].append(error["l1"])
    return {setting: {how: e for how, e in of.items() if ":" not in how} for setting, of in found.items()}


def errors() -> dict[Setting, dict[str, float]]:
    """Return the means of these."""
    return {setting: {how: float(np.mean(e)) for how, e in of.items()} for setting, of in trials().items()}


def picked(setting: Setting) -> str:
    """Return the mechanism that is chosen; δ = 1e-9, 80 MB, and the number of rows known, as it is for research tables."""
    table, workload, epsilon = setting
    loaded = _load(table)
    case = Case(
        loaded.workload(workload), Budget.of(epsilon=epsilon, delta=DELTA).rho, Unit.ADD_REMOVE, SIZE, len(loaded.codes)
    )
    return next(iter(forecasts(case)))


def judged(found: dict[Setting, dict[str, float]]) -> Iterator[tuple[Setting, str, float, str]]:
    """Give for each setting in which the choice was run: the choice, its error over that of the best, and the best.

    Mechanisms that make no table are left out, and settings in which fewer than two were run.
    """
    for setting, of in sorted(found.items()):
        tables = {how: error for how, error in of.items() if how in MECHANISMS and MECHANISMS[how].modelled}
        chosen = picked(setting)
        if chosen in tables and len(tables) > 1:
            best = min(tables, key=tables.__getitem__)
            yield setting, chosen, tables[chosen] / tables[best], best


def uncertainty(one: list[float], other: list[float]) -> float:
    """Return the standard error of the ratio of two means, relatively; not a number where one of them is of one seed."""
    parts = [np.var(e, ddof=1) / len(e) / np.mean(e) ** 2 if len(e) > 1 else np.nan for e in (one, other)]
    return float(np.sqrt(np.sum(parts)))


def told(setting: Setting, chosen: str, best: str, each: dict[Setting, dict[str, list[float]]]) -> str:
    """The standard error of a ratio, with the seeds of both; the choice itself has none."""
    one, other = (each.get(setting, {}).get(how, []) for how in (chosen, best))
    if chosen == best or not one or not other:
        return f" | {len(one)}"
    return f"{uncertainty(one, other):.2f} | {len(one)}, {len(other)}"


def summary(found: dict[Setting, dict[str, float]], each: dict[Setting, dict[str, list[float]]] | None = None) -> str:
    """Write the settings, worse ones first, and then the choice beside each fixed mechanism where both were run."""
    rows = sorted(judged(found), key=lambda row: -row[2])
    lines = ["| table, workload, ε | chosen | over the best | best | ± | seeds |", "|---|---|---:|---|---:|---:|"]
    lines += [
        f"| {' '.join(map(str, s))} | {how} | {ratio:.3f} | {best} | {told(s, how, best, each or {})} |"
        for s, how, ratio, best in rows
    ]
    ratios = np.array([row[2] for row in rows])
    lines.append(
        f"\n{len(rows)} settings: within 3 % of the best in {np.mean(ratios <= CLOSE):.0%}, "
        f"at worst {ratios.max():.2f} of it, "
        f"{exp(float(np.log(ratios).mean())):.3f} in geometric mean."
    )
    for how in MECHANISMS:
        both = [log(found[s][how] / found[s][chosen]) for s, chosen, _, _ in rows if how in found[s]]
        if both:
            lines.append(f"Over the choice, {how}: {exp(float(np.mean(both))):.3f} ({len(both)} settings)")
    return "\n".join(lines)


@cache
def _load(name: str) -> tables.Table:
    return tables.Table.load(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "summary"])
    parser.add_argument("--tables", nargs="+", default=["titanic"])
    parser.add_argument("--workloads", nargs="+", help="small ones are run, and all are summed up, unless told")
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--seeds", nargs="+", default=["4001", "4002"])
    parser.add_argument("--mechanisms", nargs="+", default=["aim", "aim2", "independent", "hdmm+pgm", "residuals"])
    asked = parser.parse_args()
    if asked.what == "run":
        run(asked)
    else:
        chosen = {s: of for s, of in errors().items() if s[0] in asked.tables and s[1] in (asked.workloads or [s[1]])}
        print(summary(chosen, trials()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
