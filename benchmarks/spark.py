"""All 3-way marginals on Spark, two threads on this machine: fire, and made-up tables of several lengths, beside DuckDB.

Run by ``make bench-spark``; needs Java. CPU seconds are those of Java and of all Python processes together, memory is the
largest that one process of each kind had.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from understudy.domain import Clique
from understudy.schema import Schema
from understudy.source import open_source

ROOT = Path(__file__).resolve().parent.parent
FIRE = ROOT.parent / "shared" / "datasets"
RESULTS = ROOT / "benchmarks" / "results" / "spark.json"
COMPARED = 25
"""Marginals that are compared with DuckDB's, spread over all of them."""
TICK = os.sysconf("SC_CLK_TCK")


def family() -> Iterator[tuple[str, list[str]]]:
    """Yield this process and all below it, with the numbers of /proc/PID/stat after the name."""
    stats = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = entry.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        stats[int(entry.parent.name)] = (name, rest.split())
    ours = {os.getpid()}
    for pid in sorted(stats):
        if int(stats[pid][1][1]) in ours:
            ours.add(pid)
    for pid in ours & stats.keys():
        yield stats[pid]


class Watch:
    """The CPU seconds of the family since the start, and its peaks of memory by kind of process, looked at every 0.2 s."""

    def __enter__(self) -> Watch:
        self.peaks: dict[str, float] = {}
        self._began, self._before, self._done = time.perf_counter(), self._cpu(), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._began, self._cpu() - self._before
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.2):
            for name, numbers in family():
                kind = "java" if name == "java" else "python"
                size = int(numbers[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
                self.peaks[kind] = max(self.peaks.get(kind, 0.0), size)

    def _cpu(self) -> float:
        return sum(sum(map(int, numbers[11:15])) for _, numbers in family()) / TICK


def measure(spark: Any, path: Path, schema: Schema, cliques: list[Clique]) -> dict[str, Any]:
    frame = spark.read.parquet(str(path))
    with Watch() as watch:
        counts = open_source(frame, schema).count(cliques)
    total = int(counts[0].sum())
    alike = all(_same(path, cliques[i], counts[i]) for i in range(0, len(cliques), max(1, len(cliques) // COMPARED)))
    peaks = {f"{kind}_mb": round(size) for kind, size in watch.peaks.items()}
    return (
        {"rows": total, "marginals": len(cliques), "s": round(watch.wall, 2), "cpu_s": round(watch.cpu, 2)}
        | peaks
        | {"as_duckdb": alike}
    )


def _same(path: Path, clique: Clique, counts: Any) -> bool:
    names = ", ".join(f'"{name}"' for name in clique)
    files = str(path / "*.parquet") if path.is_dir() else str(path)
    found = duckdb.sql(f"SELECT {names}, count(*) FROM '{files}' GROUP BY ALL").fetchnumpy()
    *codes, rows = (np.asarray(column, np.int64) for column in found.values())
    table = np.zeros_like(counts)
    table[tuple(codes)] = rows
    return bool((table == counts).all())


def made_up(path: Path, rows: int, sizes: dict[str, int]) -> None:
    """Write a table of codes in files of two million rows."""
    path.mkdir()
    rng = np.random.default_rng(rows)
    for part, start in enumerate(range(0, rows, 2_000_000)):
        n = min(2_000_000, rows - start)
        table = pa.table({name: rng.integers(0, size, n, dtype=np.int16) for name, size in sizes.items()})
        pq.write_table(table, path / f"{part}.parquet")


def session() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    made = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(1 << 16)).getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000, 100_000_000])
    asked = parser.parse_args()
    sizes = json.loads((FIRE / "fire-domain.json").read_text())
    schema = Schema.from_domain(sizes)
    cliques = list(itertools.combinations(sizes, 3))
    spark = session()
    measure(spark, FIRE / "fire.parquet", schema, cliques[:3])  # Java and the Python processes are warm after that
    found = [{"table": "fire"} | measure(spark, FIRE / "fire.parquet", schema, cliques)]
    print(found[-1], flush=True)
    for rows in asked.rows:
        with tempfile.TemporaryDirectory() as folder:
            made_up(Path(folder) / "t", rows, sizes)
            found.append({"table": "made-up"} | measure(spark, Path(folder) / "t", schema, cliques))
        print(found[-1], flush=True)
    when = datetime.now(UTC).isoformat(timespec="minutes")
    document = {"when": when, "cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1), "runs": found}
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
