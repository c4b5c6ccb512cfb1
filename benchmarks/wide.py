"""Wide and long tables: time, peak memory and error of the whole command, on made-up tables and on a real one.

    python benchmarks/wide.py                            every case
    python benchmarks/wide.py planted all-2way 1         one: table, workload, epsilon
    python benchmarks/wide.py --address-space 2          every case, in a process that may use 2 GB of addresses (ulimit -v)

Each result is appended to benchmarks/results/wide.jsonl; the last of a case is shown in docs/scaling.md, which
``python benchmarks/wide.py --page`` writes again.

A case is ``understudy plan`` and ``understudy synthesize`` with their defaults, from a Parquet file to the saved release,
each in a process of its own whose peak is told. The error is that of the synthetic table, on marginals of the workload drawn
with a fixed seed where to count all of them would take longer than the run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import tables
import understudy
from grid import provenance
from reference_sets import ROOT
from understudy.domain import Clique, Domain
from understudy.source import MemorySource
from understudy.workload import Workload

RESULTS = ROOT / "benchmarks" / "results" / "wide.jsonl"
PAGE, HEAD, NEXT = ROOT / "docs" / "scaling.md", "## Wide and long tables: the whole command", "## Ten billion rows"
DELTA = 1e-9
DRAWN = 2_000
CASES = [
    ("stroke", "all-3way", 1.0),
    ("planted", "all-2way", 1.0),
    ("planted", "all-2way", 10.0),
    ("planted", "all-3way", 1.0),
    ("planted", "all-3way", 10.0),
    ("hundred", "all-3way", 1.0),
    ("long", "all-3way", 1.0),
]
Made = tuple[tables.Table, list[Clique]]


def planted(columns: int = 300, rows: int = 100_000, seed: int = 0) -> Made:
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


def hundred(columns: int = 48, rows: int = 100_000, seed: int = 0) -> Made:
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


def long(columns: int = 12, rows: int = 5_000_000, seed: int = 0) -> Made:
    """Columns of 4 to 25 values, each a blurred mixture of the two before it: many rows, so that much can be learnt."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 26, columns)
    codes = np.empty((rows, columns), dtype=np.int32, order="F")
    for i, size in enumerate(sizes):
        codes[:, i] = np.minimum(rng.exponential(size / 4, rows), size - 1)
        if i > 1:
            mixed = (codes[:, i - 1] + 2 * codes[:, i - 2] + rng.integers(0, 3, rows)) % size
            codes[:, i] = np.where(rng.random(rows) < 0.6, mixed, codes[:, i])
    domain = Domain.of({f"x{i:03}": int(size) for i, size in enumerate(sizes)})
    return tables.Table.of("long", domain, codes), [tuple(pair) for pair in pairwise(domain.attributes)][1:]


MADE = {"planted": planted, "hundred": hundred, "long": long}


def drawn_error(table: tables.Table, workload: Workload, codes: NDArray[Any]) -> float:
    """The error of ``codes`` on some marginals of the workload, scaled to the number of real rows."""
    places = np.random.default_rng(7).choice(len(workload.cliques), min(DRAWN, len(workload.cliques)), replace=False)
    cliques = [workload.cliques[int(place)] for place in places]
    synthetic = MemorySource.of_codes(codes, table.domain)
    share, total = len(table.codes) / len(codes), 0.0
    for k in range(0, len(cliques), 20):
        some = cliques[k : k + 20]
        for real, made_up in zip(table.source.count(some), synthetic.count(some), strict=True):
            total += float(np.abs(real - share * made_up).sum())
    return total / len(cliques) / len(table.codes)


def found(measured: Sequence[Clique], pairs: Sequence[Clique]) -> int:
    """How many planted pairs lie inside something that was measured."""
    cliques = [set(clique) for clique in measured if len(clique) > 1]
    return sum(any(set(pair) <= clique for clique in cliques) for pair in pairs)


def ran(command: list[str], log: Path, addresses: int | None, cpu_seconds: int | None = None) -> dict[str, Any]:
    """Run one command of understudy; tell how it ended, its time and its peak memory."""

    def limited() -> None:
        if addresses:
            resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
        if cpu_seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))

    before = time.perf_counter()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "understudy", *command],
            stdout=out,
            stderr=out,
            preexec_fn=limited,  # noqa: PLW1509
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "exit": process.returncode,
        "seconds": round(time.perf_counter() - before, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": usage.ru_maxrss // 1024,
    }


def written(table: tables.Table, folder: Path) -> tuple[str, str]:
    """Write the table as Parquet, and its domain."""
    data, schema = folder / "table.parquet", folder / "domain.json"
    names = table.domain.attributes
    pq.write_table(pa.table({name: table.codes[:, i] for i, name in enumerate(names)}), data)
    schema.write_text(json.dumps(dict(zip(names, table.domain.shape(names), strict=True))))
    return str(data), str(schema)


def case(name: str, queries: str, epsilon: float, addresses: int | None) -> dict[str, Any]:
    """Plan and run, from the file to the saved release."""
    table, pairs = MADE[name]() if name in MADE else (tables.Table.load(name), [])
    told: dict[str, Any] = {"table": name, "workload": queries, "epsilon": epsilon}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data, schema = written(table, folder)
        budget = ["-w", queries, "-e", str(epsilon), "--delta", str(DELTA)]
        rows = str(len(table.codes))
        told["plan"] = ran(["plan", "-s", schema, "--rows", rows, *budget], folder / "plan", addresses)
        told["forecast"] = re.findall(r"^  (?:time|memory) +(.*)", (folder / "plan").read_text(), re.MULTILINE)
        told["run"] = ran(
            ["synthesize", data, "-s", schema, *budget, "--seed", "1", "-o", f"{place}/release"], folder / "run", addresses
        )
        if told["run"]["exit"]:
            return told | {"said": (folder / "run").read_text()[-600:].replace(place, "")}
        release = understudy.load(folder / "release")
        measured = [measurement.clique for measurement in release.measurements]
        codes = release.codes
    error = drawn_error(table, Workload.parse(queries, table.domain), codes)
    return told | {"measured": len(measured), "found": f"{found(measured, pairs)} of {len(pairs)}", "error": round(error, 4)}


def section(lines: Iterable[dict[str, Any]]) -> str:
    """The last result of each case, as a part of docs/scaling.md."""
    lines = list(lines)
    cores = " or ".join(sorted({str(r["cores"]) for r in lines}))
    last = {(r["table"], r["workload"], r["epsilon"], r["addresses_gb"]): r for r in lines}
    rows = ["| table | workload | ε | addresses | plan, s | run, s | CPU s | peak, MB | error | planted pairs found |"]
    rows.append("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for r in last.values():
        limit = f"{r['addresses_gb']:g} GB" if r["addresses_gb"] else "free"
        ended = f"{r['run']['seconds']:.0f} | {r['run']['cpu_seconds']:.0f} | {r['run']['peak_mb']} | {r.get('error', '')}"
        pairs = r.get("found", "") if "0 of 0" not in r.get("found", "") else ""
        told = f"{ended} | {pairs}" if not r["run"]["exit"] else "refused | | | |"
        rows.append(f"| {r['table']} | {r['workload']} | {r['epsilon']:g} | {limit} | {r['plan']['seconds']:.0f} | {told} |")
    return f"""{HEAD}

`understudy plan`, then `understudy synthesize` with its defaults, each in a process of its own, from a Parquet file to the
saved release with its report, bound to {cores} of two cores while other work ran on the machine; written by
`benchmarks/wide.py`. *stroke* has 110 columns and 19,434 rows. *planted* is made
up: 300 columns of 2 to 20 values and 100,000 rows, of which 107 pairs depend on each other, two of them hardly. *hundred*
has 48 columns of 100 values, *long* 5,000,000 rows of 12 columns. Errors are those of the synthetic table on up to 2,000
marginals of the workload. "Addresses" is a limit on the memory that the process may ask for (`ulimit -v`); what does not
fit is refused before anything is spent, and told what to change.

{chr(10).join(rows)}

"""


def write_page() -> None:
    """Put the section into the page, before the last one."""
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    text = PAGE.read_text()
    before, _, rest = text.partition(HEAD if HEAD in text else NEXT)
    PAGE.write_text(before + section(lines) + NEXT + (rest.partition(NEXT)[2] if HEAD in text else rest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", metavar="TABLE WORKLOAD EPSILON")
    parser.add_argument("--address-space", type=float, metavar="GB")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page")
    asked = parser.parse_args()
    if asked.page:
        write_page()
        return
    addresses = int(asked.address_space * 1e9) if asked.address_space else None
    cases = [(asked.case[0], asked.case[1], float(asked.case[2]))] if asked.case else CASES
    for name, queries, epsilon in cases:
        if name in MADE or tables.available(name):
            line = {
                "commit": provenance.commit(),
                "cores": len(os.sched_getaffinity(0)),
                "addresses_gb": asked.address_space,
            }
            line |= case(name, queries, epsilon, addresses)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)
    write_page()


if __name__ == "__main__":
    main()
