"""All 3-way marginals of msnbc and fire: in memory beside mbi 2.0, and from Parquet out of core.

Run by ``make bench-counting``; exits with 1 when a bar is missed. mbi lives in a virtual environment of its own
(.venv-mbi, made here when absent) and every timing runs in a process of its own, in turn.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
DATASETS = ROOT.parent / "shared" / "datasets"
RESULTS = ROOT / "benchmarks" / "results" / "counting.json"
PEER = ROOT / ".venv-mbi"
NAMES = ("msnbc", "fire")
REPEATS = 5
COPIES = 10

LEAST_SPEEDUP = 3.0
MOST_TIME_GROWTH = 1.25 * COPIES
MOST_PEAK_GROWTH = 1.1
"""From COPIES to twice as many."""
MOST_PEAK_BYTES = 10**9

Counts = list[NDArray[Any]]


def domain_of(name: str) -> dict[str, int]:
    sizes: dict[str, int] = json.loads((DATASETS / f"{name}-domain.json").read_text())
    return sizes


def cliques_of(name: str) -> list[tuple[str, ...]]:
    return list(itertools.combinations(domain_of(name), 3))


def digest(counts: Counts, divisor: int = 1) -> str:
    """Hash exact counts; with a divisor, of a table that many times shorter."""
    result = hashlib.sha256()
    for count in counts:
        whole = np.asarray(count).astype(np.int64)
        if (whole % divisor).any():
            return "not a multiple"
        result.update((whole // divisor).tobytes())
    return result.hexdigest()


def best(action: Callable[[], Counts], repeats: int = REPEATS) -> tuple[float, Counts]:
    """Return the shortest time of several, after one that does not count, and the last result."""
    result, times = action(), []
    for _ in range(repeats):
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
    return min(times), result


def peak_bytes() -> int:
    """Return the largest resident size of this process (not of its parent, as getrusage would)."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def time_mbi(name: str) -> dict[str, Any]:
    from mbi import Dataset, Domain

    sizes, table = domain_of(name), pq.read_table(DATASETS / f"{name}.parquet")
    domain = Domain(tuple(sizes), tuple(sizes.values()))
    data = Dataset({column: table[column].to_numpy() for column in sizes}, domain)
    seconds, counts = best(lambda: [np.asarray(data.project(c).values) for c in cliques_of(name)])
    return {"seconds": seconds, "digest": digest(counts), "version": version("mbi")}


def time_memory(name: str) -> dict[str, Any]:
    from understudy.schema import Schema
    from understudy.source import open_source

    sizes, table = domain_of(name), pq.read_table(DATASETS / f"{name}.parquet")
    schema, cliques = Schema.from_domain(sizes), cliques_of(name)
    codes = np.stack([table[column].to_numpy() for column in sizes], axis=1)
    seconds, counts = best(lambda: open_source(codes, schema).count(cliques))
    source = open_source(codes, schema)
    again, _ = best(lambda: source.count(cliques))
    from_arrow, arrow_counts = best(lambda: open_source(table, schema).count(cliques))
    return {
        "seconds": seconds,
        "count_alone_seconds": again,
        "arrow_seconds": from_arrow,
        "rows": table.num_rows,
        "marginals": len(cliques),
        "digest": digest(counts),
        "arrow_digest": digest(arrow_counts),
    }


def time_parquet(name: str, path: str, copies: int) -> dict[str, Any]:
    from understudy.schema import Schema
    from understudy.source.files import FilesReader
    from understudy.source.tables import StreamedSource

    schema = Schema.from_domain(domain_of(name))
    source = StreamedSource(FilesReader(path, list(schema.domain)), schema)
    seconds, counts = best(lambda: source.count(cliques_of(name)), repeats=1)
    return {"seconds": seconds, "peak_bytes": peak_bytes(), "digest": digest(counts, copies)}


def write_copies(name: str, path: Path, copies: int) -> None:
    table = pq.read_table(DATASETS / f"{name}.parquet")
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(copies):
            writer.write_table(table)


def time_copies(name: str, folder: Path, copies: int) -> dict[str, Any]:
    path = folder / f"{name}-{copies}.parquet"
    write_copies(name, path, copies)
    return worker(sys.executable, "--parquet", name, str(path), str(copies))


def worker(python: Path | str, *arguments: str) -> dict[str, Any]:
    """Run one timing in a fresh process, and return what it prints."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "JAX_PLATFORMS": "cpu"}
    command = [str(python), str(Path(__file__)), *arguments]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return result


def peer_python() -> Path:
    """Return the Python of the environment with mbi, making it when it is not there."""
    python = PEER / "bin" / "python"
    if not (PEER / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEER)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1"]
        subprocess.run(install, check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--group", "oracle", "pyarrow"]
        subprocess.run(install, check=True, cwd=ROOT)
        (PEER / ".ready").touch()
    return python


def measure(name: str, folder: Path) -> dict[str, Any]:
    return {
        "mbi": worker(peer_python(), "--mbi", name),
        "memory": worker(sys.executable, "--memory", name),
        "parquet": time_copies(name, folder, 1),
        "parquet_long": time_copies(name, folder, COPIES),
        "parquet_longer": time_copies(name, folder, 2 * COPIES),
    }


def bars(name: str, found: dict[str, Any]) -> list[tuple[str, float, str, bool]]:
    """Return what was asked, what was found, the bar, and whether it was met."""
    mbi, memory, short, long, longer = (found[key] for key in found)
    speedup, growth = mbi["seconds"] / memory["seconds"], long["seconds"] / short["seconds"]
    peaks = longer["peak_bytes"] / long["peak_bytes"]
    digests = {part["digest"] for part in found.values()} | {memory["arrow_digest"]}
    rows, more, peak = f"{COPIES} times the rows", f"{COPIES} to {2 * COPIES} times the rows", longer["peak_bytes"]
    return [
        (f"{name}: times faster than mbi, coding included", speedup, f">= {LEAST_SPEEDUP}", speedup >= LEAST_SPEEDUP),
        (f"{name}: different results among all ways", len(digests), "= 1", len(digests) == 1),
        (f"{name}: {rows}, times the time", growth, f"<= {MOST_TIME_GROWTH}", growth <= MOST_TIME_GROWTH),
        (f"{name}: {more}, times the peak", peaks, f"<= {MOST_PEAK_GROWTH}", peaks <= MOST_PEAK_GROWTH),
        (f"{name}: peak MB from Parquet", peak / 1e6, f"<= {MOST_PEAK_BYTES / 1e6:.0f}", peak <= MOST_PEAK_BYTES),
    ]


def report(name: str, found: dict[str, Any]) -> bool:
    memory = found["memory"]
    print(f"{name}: {memory['rows']:,} rows, {memory['marginals']} marginals of 3 attributes")
    print(f"  mbi {found['mbi']['version']}, Dataset.project       {found['mbi']['seconds']:8.3f} s")
    print(f"  understudy, from a code array     {memory['seconds']:8.3f} s")
    print(f"  understudy, from an Arrow table   {memory['arrow_seconds']:8.3f} s")
    print(f"  understudy, counting again        {memory['count_alone_seconds']:8.3f} s")
    lengths = {
        "parquet": "from Parquet",
        "parquet_long": f"{COPIES} times longer",
        "parquet_longer": f"{2 * COPIES} times longer",
    }
    for key, words in lengths.items():
        part = found[key]
        print(f"  understudy, {words:<21} {part['seconds']:8.3f} s, peak {part['peak_bytes'] / 1e6:.0f} MB")
    rows = bars(name, found)
    for words, value, bar, met in rows:
        print(f"  {'ok  ' if met else 'MISS'} {words}: {value:.3g} (bar {bar})")
    return all(met for *_, met in rows)


def machine() -> dict[str, Any]:
    packages = {package: version(package) for package in ("understudy", "numpy", "duckdb", "pyarrow")}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "packages": packages,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mbi", nargs=1, help=argparse.SUPPRESS)
    parser.add_argument("--memory", nargs=1, help=argparse.SUPPRESS)
    parser.add_argument("--parquet", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.mbi:
        print(json.dumps(time_mbi(options.mbi[0])))
    elif options.memory:
        print(json.dumps(time_memory(options.memory[0])))
    elif options.parquet:
        name, path, copies = options.parquet
        print(json.dumps(time_parquet(name, path, int(copies))))
    else:
        return run_all()
    return 0


def run_all() -> int:
    if not DATASETS.exists():
        print(f"skipped: there are no datasets at {os.path.relpath(DATASETS, ROOT)}")
        return 0
    results, met = machine(), True
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            results[name] = measure(name, Path(folder))
            met &= report(name, results[name])
    results["met"] = met
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
