"""A model as large as time allows (``--max-size auto --time-limit T``) beside models of fixed sizes.

    python benchmarks/capacity.py adult 10 0 auto:60 20MB 80MB       table, ε, seed, then sizes
    python benchmarks/capacity.py                                    no cells: print the comparison

A cell is the whole command, from a Parquet file to the saved release with its report, in a process of its own: wall
seconds, with the start of Python, and the error of the saved table on all 3-way marginals. A fixed size has no limit; it
fits in one when it ended within it. One that takes longer than GIVEN_UP is ended. Results are appended to
benchmarks/results/capacity.jsonl; the last line of a cell counts. Runs are seeded (research noise); how far one with a time
limit comes depends on the machine too. ``benchmarks/large_page.py`` writes docs/large.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tables
import understudy
import wide
from grid import provenance
from reference_sets import ROOT
from understudy.metrics import workload_error
from understudy.quantities import parse_size
from understudy.source import MemorySource

RESULTS = ROOT / "benchmarks" / "results" / "capacity.jsonl"
DELTA = "1e-9"
RULE = 3
"""The revision of the rule by which a model grows: the results of several are stored."""
GIVEN_UP = 420
"""Seconds of processor time, for a fixed size."""
Line = dict[str, Any]


def run(name: str, epsilon: float, seed: int, size: str) -> Line:
    """One cell: ``size`` is such as 80MB, or auto:60 with seconds."""
    table = tables.Table.load(name)
    kind, _, limit = size.partition(":")
    told: Line = {"table": name, "epsilon": epsilon, "seed": seed, "size": kind, "limit": float(limit) if limit else None}
    told |= {"rule": RULE} if limit else {}
    with tempfile.TemporaryDirectory() as place:
        data, schema = wide.written(table, Path(place))
        command = ["synthesize", data, "-s", schema, "-e", str(epsilon), "--delta", DELTA, "--seed", str(seed)]
        command += ["--max-size", kind, "-o", f"{place}/release", *(["--time-limit", f"{limit}s"] if limit else [])]
        told |= wide.ran(command, Path(place) / "log", None, GIVEN_UP)
        if told["exit"]:
            return told | {"said": (Path(place) / "log").read_text()[-300:].replace(place, "")}
        release = understudy.load(Path(place) / "release")
        told |= {"rounds": len(release.manifest.rounds), "ended": release.manifest.mechanism.ended}
        told["tree_mb"] = round(release.manifest.model.size / 2**20, 2)
        told["limits_mb"] = [round((r.limit or 0) / 2**20, 1) for r in release.manifest.rounds][::5]
        codes = release.codes
    workload = table.workload("all-3way")
    real, made = (source.count(workload.cliques) for source in (table.source, MemorySource.of_codes(codes, table.domain)))
    return told | {"error": workload_error(workload, real, made)}


def megabytes(size: str) -> float:
    """Of a fixed size, such as 80MB."""
    return parse_size(size) / 2**20


def latest(lines: Iterable[Line]) -> dict[tuple[Any, ...], Line]:
    """The last line of each cell that ended, by each revision of the rule."""
    names = ("table", "epsilon", "seed", "size", "limit", "rule")
    return {tuple(r.get(name) for name in names): r for r in lines if "error" in r}


def missed(lines: Iterable[Line]) -> str:
    """Which limits were missed, in words."""
    late = [r for r in latest(lines).values() if r["limit"] and r["seconds"] > r["limit"]]
    words = [f"{r['table']}, ε = {r['epsilon']:g}, {r['limit']:.0f} s: {r['seconds']:.0f} s, rule {r['rule']}" for r in late]
    return "; ".join(words) + "." if words else "none."


def compared(lines: Iterable[Line]) -> list[str]:
    """Each run under a limit beside the best of the fixed sizes that end within it; the worst ratio first."""
    last, found = latest(lines), []
    for (name, epsilon, seed, size, limit, _), auto in last.items():
        if size != "auto":
            continue
        same = [r for r in last.values() if (r["table"], r["epsilon"], r["seed"]) == (name, epsilon, seed)]
        fixed = [r for r in same if r["size"] != "auto" and r["seconds"] <= limit]
        if fixed:
            best = min(fixed, key=lambda r: float(r["error"]))
            found.append((auto["error"] / best["error"], auto, best))
    rows = ["| table, ε, seed | rule | limit, s | auto took, s | model, MB | error | best fixed | took, s | error | ratio |"]
    rows.append("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for ratio, auto, best in sorted(found, key=lambda one: -one[0]):
        rows.append(
            f"| {auto['table']}, {auto['epsilon']:g}, {auto['seed']} | {auto['rule']} | {auto['limit']:.0f} "
            f"| {auto['seconds']:.0f} | {auto['tree_mb']:.3g} | {auto['error']:.4f} | {best['size']} "
            f"| {best['seconds']:.0f} | {best['error']:.4f} | {ratio:.3f} |"
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cell", nargs="*", metavar="TABLE EPSILON SEED SIZE…")
    parser.add_argument("--beside", default="", help="what else the machine did, for the record")
    asked = parser.parse_args()
    if not asked.cell:
        print("\n".join(compared(json.loads(line) for line in RESULTS.read_text().splitlines())))
        return 0
    name, epsilon, seed, *sizes = asked.cell
    if not tables.available(name):
        print(f"skipped: {name} is not there")
        return 0
    for size in sizes:
        line = run(name, float(epsilon), int(seed), size) | {
            "commit": provenance.commit(),
            "cores": len(os.sched_getaffinity(0)),
            "beside": asked.beside,
        }
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
